"""Say each cure in the words of Amazon RDS, whose master user has neither SYSDBA nor ALTER DATABASE nor ALTER SYSTEM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from redolake.errors import Finding, SourceRefused
from redolake.source.oracle import Source

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
SHORTEST_HOURS = 24


@dataclass(frozen=True, slots=True)
class RdsFacts:
    """What only Amazon RDS has. `retention_hours` is None where the user may not read it."""

    retention_hours: int | None


def read_rds(source: Source) -> RdsFacts | None:
    """Return None on any other platform."""
    if not source.query("rds_user"):
        return None
    try:
        rows = source.query("rds_retention")
    except SourceRefused:
        return RdsFacts(None)
    return RdsFacts(int(rows[0].value or 0) if rows else 0)


def rds_findings(rds: RdsFacts, found: Iterable[Finding]) -> list[Finding]:
    """Return the findings with cures that the master user can run, and one about the retention of archived logs."""
    return [*cures_on_rds(found), retention_finding(rds.retention_hours)]


def retention_finding(hours: int | None) -> Finding:
    if hours is None:
        what = "RDS deletes archived logs after `archivelog retention hours`, which this user may not read (show_configuration)"
        return Finding("retention", what, severity="note")
    if hours >= SHORTEST_HOURS:
        return Finding("retention", f"RDS keeps archived logs for {hours} hours", severity="note")
    what = f"RDS deletes archived logs after {hours} hours: redo that a pause of the pipeline would still need"
    cure = f"{UTIL}.set_configuration('archivelog retention hours', '48'); COMMIT"
    return Finding("retention", what, cure, "warning")


def cures_on_rds(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings with cures that the master user can run."""
    for finding in findings:
        yield replace(finding, cure=cure_on_rds(finding.cure))


def cure_on_rds(cure: str) -> str:
    cure = SYS_GRANT.sub(lambda m: f"{UTIL}.grant_sys_object('{m[2]}', '{m[3].upper()}', '{m[1]}')", cure)
    for words, instead in WORDS:
        cure = words.sub(instead, cure)
    return cure
