"""Airflow's AIRFLOW_CONN_<ID> values as parameters of a connection: URI or JSON in, one frozen value out.

Nothing is connected here, and what is not understood is a finding, not ignored.
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


# What may stand in a connection's extra, and its type; all of it goes to the driver under the same name ...
PASSED_ON: Mapping[str, Callable[[Any], object]] = {
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
# ... but these, which make the DSN or choose the driver's mode.
OURS = ("dsn", "service_name", "sid", "protocol", "thick_mode", "lib_dir", "thick_mode_lib_dir", "thick_mode_config_dir")


@dataclass(frozen=True, slots=True)
class ConnectParams:
    """How to reach the source. Neither the password nor `extra` (it may hold a wallet's) shows in a repr."""

    user: str
    password: str = field(repr=False)
    dsn: str
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    thick: bool = False
    lib_dir: str | None = None


def connection_from_uri(text: str, name: str = "connection") -> ConnectParams:
    """`oracle://user:password@host:1521/service?wallet_location=...`."""
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = _object(query.pop("__extra__", "{}"), name)
    try:
        port = parts.port
    except ValueError:
        raise ConfigurationError(
            [Finding(name, "has a port that is no number", "oracle://user:password@host:1521/service")]
        ) from None
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
    """Airflow's JSON form: conn_type, login, password, host, port, schema, extra."""
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
    """The connection `conn_id` of the environment; raises ConfigurationError with all findings."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    text = environ.get(variable, "").strip()
    if not text:
        cure = f"export {variable}='oracle://user:password@host:1521/service', or add the connection in Airflow"
        raise ConfigurationError([Finding(f"connection {conn_id}", f"{variable} is not set", cure)])
    return (connection_from_json if text.startswith("{") else connection_from_uri)(text, f"connection {conn_id}")


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        body = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        # The text holds a password, so neither it nor the parser's excerpt of it is shown.
        raise ConfigurationError([Finding(name, f"is not JSON (character {error.pos})", "mend its quotes")]) from None
    if not isinstance(body, dict):
        raise ConfigurationError([Finding(name, "is JSON, but no object", "write it as {...}")])
    return body


def _params(
    name: str, *, scheme: str, user: str, password: str, host: str, port: int | None, service: str, extra: dict[str, Any]
) -> ConnectParams:
    findings = []
    if scheme != "oracle":
        findings.append(Finding(name, f"is of type {scheme!r}", "write oracle://... or conn_type oracle"))
    if not user:
        findings.append(Finding(name, "names no user", "put the common user (C##...) into it"))
    unknown = sorted(set(extra) - set(PASSED_ON) - set(OURS))
    if unknown:
        known = ", ".join(sorted((*PASSED_ON, *OURS)))
        findings.append(Finding(name, f"extra has unknown {', '.join(unknown)}", f"known are: {known}"))
    passed = {}
    for key, convert in PASSED_ON.items():
        if key in extra and extra[key] is not None:
            try:
                passed[key] = convert(extra[key])
            except ValueError as error:
                findings.append(Finding(name, f"extra {key}: {error}", "correct it"))
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
