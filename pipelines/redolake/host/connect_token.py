"""The token of a Spark Connect server: where it is found, and which addresses need one."""

from __future__ import annotations

from ipaddress import ip_address

TOKEN = "REDOLAKE_SPARK_TOKEN"


def is_loopback(host: str) -> bool:
    """Return whether only processes of this machine reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
