"""A Spark Connect server: its URL from an Airflow connection, where its token is found, and which addresses need one."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from redolake.errors import ConfigurationError, Finding

TOKEN = "REDOLAKE_SPARK_TOKEN"
PORT = 15002
USER, SECRET, TLS, SESSION = "user_id", "token", "use_ssl", "session_id"
EXTRA = "__extra__"  # Airflow's name for JSON within a URI
NAME = re.compile(r"[a-z][a-z0-9_.-]*")  # of a header, which Spark makes of each parameter that it does not know
EXAMPLE = f"give it as sc://HOST:{PORT}/;use_ssl=true or spark-connect://:TOKEN@HOST:{PORT}/?use_ssl=true"
WITHOUT_TLS = f"leave `{TLS}` out; without TLS give the token as {TOKEN}"


def is_loopback(host: str) -> bool:
    """Return whether only processes of this machine reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def url_of_connection(text: str, name: str) -> str:
    """Return the URL for Spark of a connection as Airflow writes it, a URI or JSON, or of a URL for Spark, with all that it
    says: the user and the password, which is the token, too. Raises ConfigurationError, without the token, for what Spark would
    not get."""

    def refuse(what: str, cure: str = EXAMPLE) -> ConfigurationError:
        return ConfigurationError([Finding(f"spark.connection: {name}", what, cure)])

    try:
        place, given = _of_json(text) if text.lstrip().startswith("{") else _of_uri(text)
        host, port = place.hostname, place.port or PORT
    except (ValueError, TypeError, AttributeError):
        raise refuse(
            "is not the JSON of a connection" if text.lstrip().startswith("{") else "is no URL, or has no port"
        ) from None
    if not host:
        raise refuse("names no host")
    if place.fragment:
        raise refuse("has a `#`, behind which nothing is read", "write it as %23")
    if place.path.partition(";")[0].strip("/"):  # it may be a part of a token, as the name of a parameter may
        raise refuse("has a path or schema, and a Connect server has none", f"{EXAMPLE}; write a / in a token as %2F")
    parameters = dict[str, str]()
    for key, value in given:
        if (why := _why_refused(key, value, parameters)) is not None:
            raise refuse(why)
        if value is not None:
            parameters[key] = str(value).lower() if key == TLS else str(value)
    if SECRET in parameters and parameters.get(TLS) == "false" and host != "localhost":
        raise refuse(f"`{TLS}` is false, and Spark sends a `{SECRET}` of its URL with TLS only", WITHOUT_TLS)
    address = f"[{host}]" if ":" in host else host
    pairs = ";".join(f"{key}={quote(value, safe='')}" for key, value in parameters.items())
    return f"sc://{address}:{port}" + (f"/;{pairs}" if pairs else "")


def _why_refused(key: str, value: Any, before: dict[str, str]) -> str | None:
    if key in before:
        return f"has `{key}` twice"
    if not NAME.fullmatch(key):
        return "a parameter has the name of none; write a ; in a token as %3B"
    if value is not None and (not isinstance(value, str | bool | int) or value == ""):
        return f"`{key}` has no value that Spark takes"
    if value is not None and key == TLS and str(value).lower() not in ("true", "false"):
        return f"`{TLS}` is neither true nor false"
    if value is not None and key == SESSION and not _is_uuid(str(value)):
        return f"`{SESSION}` is no UUID"
    return None


def _is_uuid(text: str) -> bool:
    try:
        return bool(uuid.UUID(text, version=4))
    except ValueError:
        return False


def _of_json(text: str) -> tuple[SplitResult, Iterable[tuple[str, Any]]]:
    body: dict[str, Any] = json.loads(text)
    host, port = str(body.get("host") or ""), body.get("port")
    place = urlsplit(f"{'' if '://' in host else 'sc://'}{host}{f':{int(port)}' if port else ''}/{body.get('schema') or ''}")
    own = ((USER, body.get("login") or None), (SECRET, body.get("password") or None))
    return place, [*((key, value) for key, value in own if value), *_of_path(place), *_of_extra(body.get("extra") or {})]


def _of_uri(text: str) -> tuple[SplitResult, Iterable[tuple[str, Any]]]:
    scheme, _, rest = text.strip().partition("://")
    place = urlsplit(f"{scheme.replace('_', '-')}://{rest}") if rest else urlsplit("")
    own = ((USER, place.username), (SECRET, place.password))
    query = parse_qsl(place.query, keep_blank_values=True)
    extra = [pair for key, value in query for pair in (_of_extra(value) if key == EXTRA else [(key, value)])]
    return place, [*((key, unquote(value)) for key, value in own if value), *_of_path(place), *extra]


def _of_path(place: SplitResult) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a URL for Spark, which are behind the first `;`."""
    for pair in filter(None, place.path.partition(";")[2].split(";")):
        key, _, value = pair.partition("=")
        yield key, unquote(value)


def _of_extra(extra: Any) -> list[tuple[str, Any]]:
    found: dict[str, Any] = json.loads(extra) if isinstance(extra, str) else extra
    return [pair for key, value in found.items() for pair in (_of_extra(value) if key == EXTRA else [(key, value)])]
