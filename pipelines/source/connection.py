"""Parse Airflow's AIRFLOW_CONN_<ID> values, URI or JSON, into connection parameters.

Nothing is connected here. Whatever is not understood becomes a finding; nothing is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pipelines.errors import ConfigurationError, Finding

DEFAULT_PORT = 1521
EXAMPLE = "oracle://user:password@host:1521/service"


def _flag(value: object) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise ValueError("write true or false")
    return text in ("true", "1", "yes")


# Keys of a connection's extra that go to the driver under the same name, with their types.
DRIVER_OPTIONS: Mapping[str, Callable[[Any], object]] = {
    "wallet_location": str,
    "wallet_password": str,
    "config_dir": str,
    "proxy_user": str,
    "ssl_server_dn_match": _flag,
    "ssl_server_cert_dn": str,
    "tcp_connect_timeout": float,
    "expire_time": int,
    "retry_count": int,
    "retry_delay": int,
    "sdu": int,
    "use_sni": _flag,
    "https_proxy": str,
    "https_proxy_port": int,
    "mode": str,
    "edition": str,
    "disable_oob": _flag,
}
# Keys of extra that make up the DSN or choose the driver's mode.
OWN_OPTIONS = ("dsn", "service_name", "sid", "protocol", "thick_mode", "lib_dir", "thick_mode_lib_dir", "thick_mode_config_dir")


@dataclass(frozen=True, slots=True)
class ConnectParams:
    """How to reach the source. The repr shows neither the password nor `extra`, which may hold a wallet password."""

    user: str
    password: str = field(repr=False)
    dsn: str
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    thick: bool = False
    lib_dir: str | None = None


def connection_from_uri(text: str, name: str = "connection") -> ConnectParams:
    """Parse `oracle://user:password@host:1521/service?wallet_location=...`."""
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = _object(query.pop("__extra__", "{}"), name)
    try:
        port = parts.port
    except ValueError:
        raise ConfigurationError([Finding(name, "has a port that is not a number", f"write {EXAMPLE}")]) from None
    return _params(
        name,
        scheme=parts.scheme,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        host=unquote(parts.hostname or ""),
        port=port,
        service=unquote(parts.path.lstrip("/")),
        extra={**extra, **query},
    )


def connection_from_json(text: str, name: str = "connection") -> ConnectParams:
    """Parse Airflow's JSON form: conn_type, login, password, host, port, schema, extra."""
    body = _object(text, name)
    extra = body.get("extra") or {}
    return _params(
        name,
        scheme=str(body.get("conn_type", "oracle")),
        user=str(body.get("login") or ""),
        password=str(body.get("password") or ""),
        host=str(body.get("host") or ""),
        port=int(body["port"]) if body.get("port") else None,
        service=str(body.get("schema") or ""),
        extra=_object(extra, name) if isinstance(extra, str) else dict(extra),
    )


def connect_params(conn_id: str, environ: Mapping[str, str]) -> ConnectParams:
    """Return the connection `conn_id` of the environment, or raise ConfigurationError with all findings."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    text = environ.get(variable, "").strip()
    if not text:
        cure = f"export {variable}='{EXAMPLE}', or add the connection in Airflow"
        raise ConfigurationError([Finding(f"connection {conn_id}", f"{variable} is not set", cure)])
    return (connection_from_json if text.startswith("{") else connection_from_uri)(text, f"connection {conn_id}")


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        body = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        # The text contains a password, so the message shows neither the text nor the parser's excerpt.
        raise ConfigurationError(
            [Finding(name, f"is not JSON (character {error.pos})", "correct its quotes and commas")]
        ) from None
    if not isinstance(body, dict):
        raise ConfigurationError([Finding(name, "is JSON but not an object", "write it as {...}")])
    return body


def _params(
    name: str, *, scheme: str, user: str, password: str, host: str, port: int | None, service: str, extra: dict[str, Any]
) -> ConnectParams:
    findings = []
    if scheme != "oracle":
        findings.append(Finding(name, f"is of type {scheme!r}", "write oracle://... or conn_type oracle"))
    if not user:
        findings.append(Finding(name, "names no user", "add the common user (C##...)"))
    unknown = sorted(set(extra) - set(DRIVER_OPTIONS) - set(OWN_OPTIONS))
    if unknown:
        known = ", ".join(sorted((*DRIVER_OPTIONS, *OWN_OPTIONS)))
        findings.append(Finding(name, f"extra has unknown keys {', '.join(unknown)}", f"use these: {known}"))
    passed = {}
    for key, convert in DRIVER_OPTIONS.items():
        if key in extra and extra[key] is not None:
            try:
                passed[key] = convert(extra[key])
            except ValueError as error:
                findings.append(Finding(name, f"extra {key}: {error}", "correct the value"))
    dsn = _dsn(host, port, service, extra)
    if not dsn:
        findings.append(Finding(name, "names no host and service", f"write {EXAMPLE}, or dsn in extra"))
    if findings:
        raise ConfigurationError(findings)
    thick = _flag(extra.get("thick_mode", False))
    if thick and extra.get("thick_mode_config_dir"):
        passed["config_dir"] = str(extra["thick_mode_config_dir"])
    lib_dir = extra.get("lib_dir") or extra.get("thick_mode_lib_dir")
    return ConnectParams(user, password, dsn, passed, thick, str(lib_dir) if lib_dir else None)


def _dsn(host: str, port: int | None, service: str, extra: Mapping[str, Any]) -> str:
    if extra.get("dsn"):
        return str(extra["dsn"])
    if not host:
        return ""
    if extra.get("sid"):
        protocol = str(extra.get("protocol") or "tcp")
        address = f"(ADDRESS=(PROTOCOL={protocol})(HOST={host})(PORT={port or DEFAULT_PORT}))"
        return f"(DESCRIPTION={address}(CONNECT_DATA=(SID={extra['sid']})))"
    service = str(extra.get("service_name") or service)
    prefix = f"{extra['protocol']}://" if extra.get("protocol") else ""
    shown = f"[{host}]" if ":" in host else host
    return f"{prefix}{shown}:{port or DEFAULT_PORT}/{service}" if service else ""
