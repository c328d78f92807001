"""Derive from a statement's text the GRANTs that it needs."""

from __future__ import annotations

import re

FIXED_VIEW = re.compile(r"\b(G?V)\$(\w+)", re.IGNORECASE)
PACKAGE = re.compile(r"\b(DBMS_\w+)\s*\.", re.IGNORECASE)
DICTIONARY = re.compile(r"\b((?:DBA|CDB)_\w+|REDACTION_POLICIES)\b", re.IGNORECASE)
FLASHBACK = re.compile(r'\bFROM\s+("[^"]+"\."[^"]+")\s+AS\s+OF\s+SCN', re.IGNORECASE)
SET_CONTAINER = re.compile(r"\bSET\s+CONTAINER\s*=", re.IGNORECASE)
LOGMINER = re.compile(r"\b(V\$LOGMNR_CONTENTS|START_LOGMNR)\b", re.IGNORECASE)


def missing_grants(sql: str, user: str) -> str:
    """Return the GRANTs that the statement needs, separated by semicolons; empty when it needs none.

    Fixed views are granted by their underscored names: a GRANT on V$DATABASE itself raises ORA-02030.
    """
    who = user or "<user>"
    grants = [f"GRANT SELECT ON SYS.{m[1].upper()}_${m[2].upper()} TO {who}" for m in FIXED_VIEW.finditer(sql)]
    grants += [f"GRANT EXECUTE ON SYS.{m[1].upper()} TO {who}" for m in PACKAGE.finditer(sql)]
    grants += [f"GRANT SELECT ON SYS.{m[1].upper()} TO {who}" for m in DICTIONARY.finditer(sql)]
    grants += [f"GRANT SELECT, FLASHBACK ON {m[1]} TO {who}" for m in FLASHBACK.finditer(sql)]
    if LOGMINER.search(sql):
        grants.append(f"GRANT LOGMINING TO {who}")
    if SET_CONTAINER.search(sql):
        grants.append(f"GRANT SET CONTAINER TO {who} CONTAINER = ALL")
    return "; ".join(dict.fromkeys(grants))
