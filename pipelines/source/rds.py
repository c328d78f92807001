"""Say each cure in the words of Amazon RDS, whose master user has neither SYSDBA nor ALTER DATABASE nor ALTER SYSTEM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pipelines.errors import Finding
from pipelines.source.oracle import Source

UTIL = "EXECUTE rdsadmin.rdsadmin_util"
SYS_GRANT = re.compile(r"GRANT (SELECT|EXECUTE) ON SYS\.(\S+) TO ([^\s;]+)( CONTAINER ?= ?ALL)?")
WORDS = (
    (re.compile(r"SHUTDOWN IMMEDIATE;.*ALTER DATABASE OPEN"), "set the instance's backup retention to one day or more"),
    (
        re.compile(r"ALTER DATABASE ADD SUPPLEMENTAL LOG DATA \((PRIMARY KEY|ALL)\) COLUMNS"),
        rf"{UTIL}.alter_supplemental_logging('ADD', '\1')",
    ),
    (re.compile(r"(in the root: )?ALTER DATABASE ADD SUPPLEMENTAL LOG DATA"), f"{UTIL}.alter_supplemental_logging('ADD')"),
    (re.compile(r"ALTER DATABASE FORCE LOGGING"), f"{UTIL}.force_logging(p_enable => true)"),
    (re.compile(r"ALTER SYSTEM SET (\w+) = (\d+)( SCOPE = BOTH)?"), r"set \1 to \2 in the DB parameter group"),
    (re.compile(r"ALTER SYSTEM ARCHIVE LOG CURRENT"), f"{UTIL}.switch_logfile"),
)
RETENTION = Finding(
    "retention",
    "RDS deletes archived logs after `archivelog retention hours`, which only the master user sees (show_configuration)",
    severity="note",
)


def is_rds(source: Source) -> bool:
    return bool(source.query("rds_user"))


def cures_on_rds(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings with cures that the master user can run."""
    for finding in findings:
        yield replace(finding, cure=cure_on_rds(finding.cure))


def cure_on_rds(cure: str) -> str:
    cure = SYS_GRANT.sub(lambda m: f"{UTIL}.grant_sys_object('{m[2]}', '{m[3].upper()}', '{m[1]}')", cure)
    for words, instead in WORDS:
        cure = words.sub(instead, cure)
    return cure
