"""NLS settings: what a session starts with, and which values ALTER SESSION may set."""

from __future__ import annotations

import re

from standin.interface import OraError
from standin.zones import REGIONS

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
    "NLS_TIME_FORMAT": "HH.MI.SSXFF AM",
    "NLS_TIMESTAMP_FORMAT": "DD-MON-RR HH.MI.SSXFF AM",
    "NLS_TIME_TZ_FORMAT": "HH.MI.SSXFF AM TZR",
    "NLS_TIMESTAMP_TZ_FORMAT": "DD-MON-RR HH.MI.SSXFF AM TZR",
    "NLS_DUAL_CURRENCY": "$",
    "NLS_COMP": "BINARY",
    "NLS_LENGTH_SEMANTICS": "BYTE",
    "NLS_NCHAR_CONV_EXCP": "FALSE",
    "TIME_ZONE": "+00:00",
}
_ZONE = re.compile(r"[+-]?\d{1,2}:\d{2}$")


def checked_nls(name: str, value: str) -> str:
    """Return the value as the session keeps it; raise the error that Oracle raises for a bad one."""
    if name == "NLS_NUMERIC_CHARACTERS" and (len(value) != 2 or value[0] == value[1]):
        raise OraError(12705, "Cannot access NLS data files or invalid environment specified")
    if name in ("NLS_DATE_LANGUAGE", "NLS_LANGUAGE", "NLS_CALENDAR", "NLS_SORT", "NLS_COMP"):
        value = value.upper()
        if name != "NLS_SORT" and value not in ("AMERICAN", "ENGLISH", "GREGORIAN", "BINARY"):
            raise OraError(3001, f"unimplemented feature: {name} = {value}")
    if name == "TIME_ZONE":
        if value.upper() in ("UTC", "GMT", "DBTIMEZONE", "LOCAL"):
            return "+00:00" if value.upper() in ("DBTIMEZONE", "LOCAL") else value.upper()
        if not _ZONE.match(value) and value not in REGIONS:
            raise OraError(1882, "timezone region not found")
    return value
