"""SYS_CONTEXT: the parameters of the USERENV namespace."""

from __future__ import annotations

from collections.abc import Callable

from standin.engine.sessions.session import EngineSession
from standin.interface import OraError
from standin.model import ROOT

_USERENV: dict[str, Callable[[EngineSession], str | None]] = {
    "CON_NAME": lambda s: s.database.state.container_name(s.container),
    "CON_ID": lambda s: str(s.container),
    "CDB_NAME": lambda s: s.database.state.name if s.database.state.is_cdb else None,
    "DB_NAME": lambda s: s.database.state.name if s.container in (0, ROOT) else s.database.state.pdb_name,
    "DB_UNIQUE_NAME": lambda s: s.database.state.unique_name,
    "DB_DOMAIN": lambda s: None,
    "DATABASE_ROLE": lambda s: s.database.standby.role if s.on_standby else "PRIMARY",
    "INSTANCE": lambda s: str(s.thread),
    "INSTANCE_NAME": lambda s: s.database.state.threads[s.thread].instance,
    "SERVER_HOST": lambda s: "standin",
    "SERVICE_NAME": lambda s: s.service.lower(),
    "SESSION_USER": lambda s: s.user,
    "CURRENT_USER": lambda s: s.user,
    "CURRENT_SCHEMA": lambda s: s.schema,
    "ISDBA": lambda s: "TRUE" if s.user == "SYS" else "FALSE",
    "SID": lambda s: str(s.number),
    "SESSIONID": lambda s: str(s.serial),
    "HOST": lambda s: s.machine,
    "TERMINAL": lambda s: s.terminal or None,
    "MODULE": lambda s: s.module or None,
    "ACTION": lambda s: s.action or None,
    "CLIENT_IDENTIFIER": lambda s: s.client_id or None,
    "CLIENT_PROGRAM_NAME": lambda s: s.program or None,
    "LANGUAGE": lambda s: f"{s.nls['NLS_LANGUAGE']}_{s.nls['NLS_TERRITORY']}.{s.database.state.characterset}",
    "LANG": lambda s: "US",
    "NLS_DATE_FORMAT": lambda s: s.nls["NLS_DATE_FORMAT"],
    "CLOUD_SERVICE": lambda s: None,
    "CLIENT_INFO": lambda s: s.client_info or None,
    "CURRENT_EDITION_NAME": lambda s: "ORA$BASE",
    "DBOP_NAME": lambda s: s.operation or None,
    "OS_USER": lambda s: s.os_user,
    "PROXY_USER": lambda s: s.proxy,
    "AUTHENTICATION_METHOD": lambda s: "PASSWORD",
    "NETWORK_PROTOCOL": lambda s: "tcp",
}


def context(session: EngineSession, space: str, key: str) -> str | None:
    """Return a parameter of USERENV or CLIENTCONTEXT; None for others. Raise ORA-02003 for an unknown one of USERENV."""
    if space.upper() == "CLIENTCONTEXT":
        return session.context.get(key.upper())
    if space.upper() != "USERENV":
        return None
    parameter = _USERENV.get(key.upper())
    if parameter is None:
        raise OraError(2003, "invalid USERENV parameter")
    return parameter(session)
