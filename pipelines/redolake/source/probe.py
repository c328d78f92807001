"""Read the facts that preflight checks. A missing privilege becomes a finding, so that all are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from redolake.errors import Finding, RedolakeError, SourceRefused, Terminal
from redolake.host.progress import Progress, Report, silent
from redolake.source.dictionary import read_tables
from redolake.source.facts import (
    ALL_LOGS,
    ROLES,
    read_active_transactions,
    read_container,
    read_container_logging,
    read_current_scn,
    read_database,
    read_encoding,
    read_redo_facts,
)
from redolake.source.handover import oldest_kept_scn, require_local_undo
from redolake.source.oracle import Source
from redolake.source.policies import policy_findings
from redolake.source.preflight import READABLE, OpenedLog, ProbeResult
from redolake.source.quoting import quote
from redolake.source.rds import read_rds
from redolake.source.standby import standby_findings
from redolake.source.stored_objects import read_stored_objects
from redolake.source.table_list import special_tables
from redolake.values.ora_codes import ALTERED_SINCE, NO_SESSION
from redolake.values.redo import LogFile, RedoFacts
from redolake.values.scn import Scn
from redolake.values.table import NOT_RENAMED, Renamed, TableId

Read = TypeVar("Read")
# Each needs one privilege. The read_* functions stop at the first refused statement; these are tried one by one.
VIEWS = (
    "database", "release", "parameters", "online_logs", "archived_logs", "log_history", "incarnations", "redo_threads",
    "active_transactions", "prepared_transactions",
)  # fmt: skip
BINDS = {"archived_logs": {"since": ALL_LOGS}, "log_history": {"since": ALL_LOGS}}
REPORT_EVERY = 50


class Attempts:
    """Runs reads, and collects a finding for each one that Oracle refuses."""

    def __init__(self) -> None:
        self.refused: list[Finding] = []

    def __call__(self, subject: str, read: Callable[[], Read]) -> Read | None:
        """Return the result of `read`, or None where it is refused."""
        try:
            return read()
        except SourceRefused as error:
            finding = Finding(subject, error.what, error.cure)
            if finding not in self.refused:
                self.refused.append(finding)
            return None


def probe(
    source: Source,
    container: str | None,
    tables: Iterable[TableId],
    report: Report = silent,
    renamed: Renamed = NOT_RENAMED,
) -> ProbeResult:
    """Read everything that can be read, and return a finding for everything else. `report` gets the progress."""
    report("checking privileges, redo and parameters")
    attempt = Attempts()
    attempt("container", partial(source.use_container, None))
    for name in VIEWS:
        attempt(f"statement {name}", partial(source.query, name, **BINDS.get(name, {})))
    attempt.refused += missing_logminer_privileges(source)
    database = None if attempt.refused else attempt("database", partial(read_database, source))
    has_role = database is not None and database.role in ROLES  # another role is a finding of its own
    redo = attempt("redo", partial(read_redo_facts, source)) if has_role and not attempt.refused else None
    if redo is not None:
        attempt("open transactions", partial(read_active_transactions, source))
    if source.pdb_only and not attempt.refused:
        attempt("open transactions", partial(require_local_undo, source))
    is_cdb = database is not None and database.is_cdb
    containers = attempt("containers", partial(source.query, "visible_containers")) if is_cdb else None
    from_root = is_cdb and not source.pdb_only
    visible = attempt("containers", partial(source.query, "visible_tables")) if from_root else None
    open_names = {row.name for row in containers or () if row.open_mode in READABLE}
    result = ProbeResult(
        database=database,
        container=container,
        rds=read_rds(source),
        visible_containers={row.name: row.open_mode for row in containers or ()},
        visible_tables=int(visible[0].found) if visible else None,
        redo=redo,
    )
    if database is not None and (container in open_names if is_cdb else container is None):
        result = probe_tables(attempt, source, result, tuple(tables), report, renamed)
    newest_logs = () if redo is None else tuple(opened_logs(source, redo))
    of_standby = () if redo is None else tuple(standby_findings(source, container, oldest_kept_scn(redo)))
    return replace(result, refused=(*attempt.refused, *of_standby), newest_logs=newest_logs)


def probe_tables(
    attempt: Attempts,
    source: Source,
    result: ProbeResult,
    tables: Sequence[TableId],
    report: Callable[[str], None],
    renamed: Renamed,
) -> ProbeResult:
    """Add the tables of the result's container, their flashback privilege, and the names beside a table that is not found."""
    of_owner: dict[str, tuple[str, ...]] = {}
    refused = len(attempt.refused)
    attempt("container", partial(source.use_container, result.container))
    if len(attempt.refused) > refused:
        return result
    identity = attempt("container", partial(read_container, source, result.container))
    logging = read_container_logging(source, result.container)
    scn = read_current_scn(source)
    report(f"reading the dictionary of {len(tables)} table(s)")
    found = attempt("dictionary", partial(read_tables, source, tables, result.container, renamed)) or {}
    names = [one.in_oracle for one in found.values()]
    for start in range(0, len(names), REPORT_EVERY):
        line = f"reading tables AS OF an SCN: {start} of {len(names)}"
        report(Progress(line, "reading tables AS OF an SCN", start, len(names)))
        read_past_of(attempt, source, names[start : start + REPORT_EVERY], scn)
    for table in tables:
        if table not in found and table.owner not in of_owner:
            rows = attempt(table.owner, partial(source.query, "tables_of_owner", owner=table.owner))
            of_owner[table.owner] = tuple(row.table_name for row in rows or ())
    special = attempt("dictionary", partial(special_tables, source, {table.owner for table in tables})) or {}
    with_objects = [one.in_oracle for one in found.values() if one.large_objects]
    stored = attempt("large objects", partial(read_stored_objects, source, with_objects)) or {}
    encoding = attempt("character sets", partial(read_encoding, source, result.container))
    policies = attempt("policies", partial(policy_findings, source, names, result.container)) or ()
    source.use_container(None)
    return replace(
        result,
        encoding=encoding,
        policies=policies,
        stored_objects=stored,
        special=special,
        tables=found,
        tables_of_owner=of_owner,
        container_logging=logging,
        container_facts=identity,
    )


def read_past_of(attempt: Attempts, source: Source, tables: Sequence[TableId], scn: Scn) -> None:
    """Test with one statement whether the user may read the tables' past; only where it is refused, test each by itself."""
    try:
        if tables:
            source.query_text(flashback_of_sql(tables), {"scn": scn}, "flashback")
    except SourceRefused:
        for table in tables:
            attempt(str(table), partial(read_past, source, table, scn))


def read_past(source: Source, table: TableId, scn: Scn) -> None:
    """Raise SourceRefused unless the user may read the table's past. A DDL of the last seconds is not a missing privilege."""
    try:
        source.query_text(flashback_sql(table), {"scn": scn}, "flashback")
    except SourceRefused as error:
        if error.ora_code != ALTERED_SINCE:
            raise


def flashback_sql(table: TableId) -> str:
    """Return a SELECT without rows that tests whether the user may read the table's past."""
    return f"SELECT 1 AS one FROM {quote(table.owner)}.{quote(table.name)} AS OF SCN :scn WHERE 1 = 0"


def flashback_of_sql(tables: Iterable[TableId]) -> str:
    """Return a SELECT without rows that is refused unless the user may read the past of all the tables."""
    parts = (f"EXISTS (SELECT 1 FROM {quote(t.owner)}.{quote(t.name)} AS OF SCN :scn)" for t in tables)
    return f"SELECT 1 AS one FROM dual WHERE 1 = 0 AND ({' OR '.join(parts)})"


def opened_logs(source: Source, redo: RedoFacts) -> Iterable[OpenedLog]:
    """Let LogMiner open the newest archived log of each redo thread, from every destination."""
    source.use_container(None)
    current = next((i.resetlogs_id for i in redo.incarnations if i.status == "CURRENT"), None)
    newest = {log.thread: log for log in redo.archived if log.resetlogs_id == current and log.claimed}  # sorted by sequence
    for log in newest.values():
        for copy in log.claimed:
            yield OpenedLog(log.thread, log.sequence, copy.dest_id, str(copy.name), _refusal(source, log, str(copy.name)))


def _refusal(source: Source, log: LogFile, name: str) -> str | None:
    try:
        if source.pdb_only:
            source.call("start_logmnr_in_pdb", start_scn=int(log.first_scn), end_scn=int(log.first_scn))
            source.call("end_logmnr")
        else:
            source.call("new_logfile", file_name=name)
    except SourceRefused:
        return None  # another finding reports the missing privilege
    except Terminal as error:
        return error.what
    return None


def start_without_logs(source: Source) -> None:
    """Try START_LOGMNR where it fails for want of a log: none is added, and no PDB has redo of SCN 1."""
    if source.pdb_only:
        source.call("start_logmnr_in_pdb", start_scn=1, end_scn=2)
    else:
        source.call("start_logmnr")


def missing_logminer_privileges(source: Source) -> Iterable[Finding]:
    """Yield a finding per missing LogMiner privilege.

    Without a LogMiner session a user with the privilege gets an error that there is none; others get ORA-00942, 01031 or 06550.
    """
    calls: dict[str, Callable[[], object]] = {
        "probe_logmnr": lambda: source.call("probe_logmnr"),
        "start_logmnr": lambda: start_without_logs(source),
        "probe_contents": lambda: source.query("probe_contents"),
        "mined_logs": lambda: source.query("mined_logs"),
        "mining_parameters": lambda: source.query("mining_parameters"),
    }
    for name, run in calls.items():
        try:
            run()
        except SourceRefused as error:
            yield Finding(f"statement {name}", error.what, error.cure)
        except RedolakeError as error:
            if error.ora_code not in NO_SESSION:
                raise
