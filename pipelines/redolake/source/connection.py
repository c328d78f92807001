"""Parse Airflow's AIRFLOW_CONN_<ID> values, URI or JSON, into connection parameters.

Nothing is connected here. Whatever is not understood becomes a finding; nothing is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import oracledb

from redolake.errors import ConfigurationError, Finding
from redolake.host.secrets import connection_variable
from redolake.source.driver_options import driver_options, flag

DEFAULT_PORT = 1521
EXAMPLE = "oracle://user:password@host:1521/service"


# Keys of extra that make up the DSNs or choose the driver's mode.
OWN_OPTIONS = (
    "dsn", "service_name", "sid", "protocol", "pdb_service", "pdb_dsn", "thick_mode", "lib_dir", "thick_mode_lib_dir",
    "thick_mode_config_dir", "pdb_only",
)  # fmt: skip
ALIAS = re.compile(r"[\w.$#-]+")  # of a tnsnames.ora
ELSEWHERE = re.compile(r"(?!tcps?://)[^:/?(]+://", re.IGNORECASE)  # a directory or a cloud's store has the DSN
NOT_SHOWN = "***"


@dataclass(frozen=True, slots=True)
class ConnectParams:
    """How to reach the source. The repr shows neither the password nor what may hold a wallet's: `extra` and the DSNs.

    `dsn` leads to the root, or to a database without containers; `pdb_dsn` to the tables' PDB, where a service is given for it.
    With `pdb_only` the root cannot be reached: `dsn` leads to the PDB, and redo is mined from inside it.
    """

    user: str
    password: str = field(repr=False)
    dsn: str = field(repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    thick: bool = False
    lib_dir: str | None = None
    pdb_dsn: str | None = field(default=None, repr=False)
    pdb_only: bool = False
    primary: ConnectParams | None = None  # of a standby, where the pipeline names one


@dataclass(frozen=True, slots=True)
class DsnParts:
    """What a DSN says without its secrets: `service` is its service or SID, the alias where it is one."""

    addresses: tuple[str, ...]
    service: str
    over_tls: bool = False


def parts_of(dsn: str) -> DsnParts | None:
    """Return the parts of a DSN as the driver reads them, None where it cannot. Only they are shown: other text in a DSN may
    be the password of a wallet, of a proxy, or of a user."""
    if ALIAS.fullmatch(dsn):
        return DsnParts((dsn,), dsn)
    params = oracledb.ConnectParams()
    try:
        if not ELSEWHERE.match(dsn):
            params.parse_connect_string(dsn)
    except (oracledb.Error, ValueError, TypeError):
        return None
    hosts, ports, protocols, services, sids = (
        value if isinstance(value, list) else [value]
        for value in (params.host, params.port, params.protocol, params.service_name, params.sid)
    )
    if not hosts[0]:
        return None
    shown = (f"[{host}]" if ":" in host else host for host in hosts)
    addresses = tuple(f"{host}:{port}" for host, port in zip(shown, ports, strict=True))
    return DsnParts(addresses, str(services[0] or sids[0] or ""), protocols[0] == "tcps")


def shown_dsn(dsn: str) -> str:
    """Return the DSN as messages may show it: protocol, addresses and service."""
    found = parts_of(dsn)
    if found is None:
        return NOT_SHOWN
    if found.addresses == (found.service,):
        return dsn
    return f"{'tcps://' if found.over_tls else ''}{','.join(found.addresses)}/{found.service}"


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
    if not str(body.get("port") or 0).isdigit():
        raise ConfigurationError([Finding(name, "has a port that is not a number", "write 1521")])
    return _params(
        name,
        scheme=str(body.get("conn_type", "oracle")),
        user=str(body.get("login") or ""),
        password=str(body.get("password") or ""),
        host=str(body.get("host") or ""),
        port=int(body.get("port") or 0) or None,
        service=str(body.get("schema") or ""),
        extra=_object(extra, name) if isinstance(extra, str) else dict(extra),
    )


def is_connection_set(conn_id: str, environ: Mapping[str, str]) -> bool:
    return bool(environ.get(connection_variable(conn_id), "").strip())


def connect_params(conn_id: str, environ: Mapping[str, str]) -> ConnectParams:
    """Return the connection `conn_id` of the environment, or raise ConfigurationError with all findings."""
    variable = connection_variable(conn_id)
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
    extra = {key: value for key, value in extra.items() if value is not None}
    if scheme != "oracle":
        findings.append(Finding(name, f"is of type {scheme!r}", "write oracle://... or conn_type oracle"))
    if not user and not extra.get("externalauth"):
        findings.append(Finding(name, "names no user", "add the common user (C##...)"))
    options = driver_options()
    findings += [_unknown_key(name, key) for key in sorted(set(extra) - set(options) - set(OWN_OPTIONS))]
    passed = {}
    for key, convert in {**options, "thick_mode": flag, "pdb_only": flag}.items():
        if key in extra:
            try:
                passed[key] = convert(extra[key])
            except ValueError as error:
                findings.append(Finding(name, f"extra {key} has a wrong value", str(error)))
    thick, pdb_only = bool(passed.pop("thick_mode", False)), bool(passed.pop("pdb_only", False))
    dsn = _dsn(host, port, service, extra)
    pdb_dsn = str(extra.get("pdb_dsn") or "")
    if extra.get("pdb_service") and not pdb_dsn:
        pdb_dsn = _dsn(host, port, "", {"protocol": extra.get("protocol"), "service_name": extra["pdb_service"]})
        if not pdb_dsn or extra.get("dsn"):
            findings.append(Finding(name, "names a pdb_service beside a complete dsn", "write pdb_dsn, complete too"))
    if pdb_only and pdb_dsn:
        findings.append(Finding(name, "is pdb_only and names a second service", "leave out pdb_service and pdb_dsn"))
    if not dsn:
        findings.append(Finding(name, "names no host and service", f"write {EXAMPLE}, or dsn in extra"))
    if findings:
        raise ConfigurationError(findings)
    if thick and extra.get("thick_mode_config_dir"):
        passed["config_dir"] = str(extra["thick_mode_config_dir"])
    lib_dir = extra.get("lib_dir") or extra.get("thick_mode_lib_dir")
    return ConnectParams(user, password, dsn, passed, thick, str(lib_dir) if lib_dir else None, pdb_dsn or None, pdb_only)


def _unknown_key(name: str, key: str) -> Finding:
    known = sorted((*driver_options(), *OWN_OPTIONS))
    close = get_close_matches(key, known, 1)
    cure = f"did you mean {close[0]}?" if close else f"remove it; these are known: {', '.join(known)}"
    return Finding(name, f"extra has the unknown key {key}", cure)


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
