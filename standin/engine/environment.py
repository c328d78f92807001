"""What a session can ask about itself (SYS_CONTEXT) and the NLS settings it starts with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from standin.interface import OraError
from standin.model import ROOT

if TYPE_CHECKING:
    from standin.engine.session import EngineSession

NLS_DEFAULTS = {
    "NLS_LANGUAGE": "AMERICAN",
    "NLS_TERRITORY": "AMERICA",
    "NLS_CURRENCY": "$",
    "NLS_ISO_CURRENCY": "AMERICA",
    "NLS_NUMERIC_CHARACTERS": ".,",
    "NLS_CALENDAR": "GREGORIAN",
    "NLS_DATE_FORMAT": "DD-MON-RR",
    "NLS_DATE_LANGUAGE": "AMERICAN",
    "NLS_SORT": "BINARY",
    "NLS_COMP": "BINARY",
    "NLS_TIME_FORMAT": "HH.MI.SSXFF AM",
    "NLS_TIMESTAMP_FORMAT": "DD-MON-RR HH.MI.SSXFF AM",
    "NLS_TIME_TZ_FORMAT": "HH.MI.SSXFF AM TZR",
    "NLS_TIMESTAMP_TZ_FORMAT": "DD-MON-RR HH.MI.SSXFF AM TZR",
    "NLS_DUAL_CURRENCY": "$",
    "NLS_LENGTH_SEMANTICS": "BYTE",
    "NLS_NCHAR_CONV_EXCP": "FALSE",
    "TIME_ZONE": "+00:00",
}
_ZONE = re.compile(r"[+-]?\d{1,2}:\d{2}$")


def checked_nls(name: str, value: str) -> str:
    if name == "NLS_NUMERIC_CHARACTERS" and (len(value) != 2 or value[0] == value[1]):
        raise OraError(12705, "Cannot access NLS data files or invalid environment specified")
    if name in ("NLS_DATE_LANGUAGE", "NLS_LANGUAGE", "NLS_CALENDAR", "NLS_SORT", "NLS_COMP"):
        value = value.upper()
        if name != "NLS_SORT" and value not in ("AMERICAN", "ENGLISH", "GREGORIAN", "BINARY"):
            raise OraError(3001, f"unimplemented feature: {name} = {value}")
    if name == "TIME_ZONE":
        if value.upper() in ("UTC", "GMT", "DBTIMEZONE", "LOCAL"):
            return "+00:00" if value.upper() in ("DBTIMEZONE", "LOCAL") else value.upper()
        if not _ZONE.match(value):
            raise OraError(1882, "timezone region not found")
    return value


_USERENV: dict[str, Callable[[EngineSession], str | None]] = {
    "CON_NAME": lambda s: s.database.state.container_name(s.container),
    "CON_ID": lambda s: str(s.container),
    "CDB_NAME": lambda s: s.database.state.name if s.database.state.is_cdb else None,
    "DB_NAME": lambda s: s.database.state.name if s.container in (0, ROOT) else s.database.state.pdb_name,
    "DB_UNIQUE_NAME": lambda s: s.database.state.unique_name,
    "DB_DOMAIN": lambda s: None,
    "DATABASE_ROLE": lambda s: "PRIMARY",
    "INSTANCE": lambda s: str(s.thread),
    "INSTANCE_NAME": lambda s: s.database.state.threads[s.thread].instance,
    "SERVER_HOST": lambda s: "standin",
    "SERVICE_NAME": lambda s: s.service,
    "SESSION_USER": lambda s: s.user,
    "CURRENT_USER": lambda s: s.user,
    "CURRENT_SCHEMA": lambda s: s.schema,
    "ISDBA": lambda s: "TRUE" if s.user == "SYS" else "FALSE",
    "SID": lambda s: str(s.number),
    "SESSIONID": lambda s: str(s.serial),
    "HOST": lambda s: s.machine,
    "TERMINAL": lambda s: None,
    "MODULE": lambda s: s.module or None,
    "ACTION": lambda s: s.action or None,
    "CLIENT_IDENTIFIER": lambda s: s.client_id or None,
    "CLIENT_PROGRAM_NAME": lambda s: s.program or None,
    "LANGUAGE": lambda s: f"{s.nls['NLS_LANGUAGE']}_{s.nls['NLS_TERRITORY']}.{s.database.state.characterset}",
    "LANG": lambda s: "US",
    "NLS_DATE_FORMAT": lambda s: s.nls["NLS_DATE_FORMAT"],
    "CLOUD_SERVICE": lambda s: None,
}


def context(session: EngineSession, space: str, key: str) -> str | None:
    if space.upper() != "USERENV":
        return None
    answer = _USERENV.get(key.upper())
    if answer is None:
        raise OraError(2003, "invalid USERENV parameter")
    return answer(session)
