"""Gathers what preflight checks. A right that is missing becomes a finding, so that all are told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pipelines.errors import Finding, RedolakeError, SourceRefused, Terminal
from pipelines.redo import RedoFacts
from pipelines.source.dictionary import read_table
from pipelines.source.facts import (
    read_active_transactions,
    read_container_logging,
    read_current_scn,
    read_database,
    read_redo_facts,
)
from pipelines.source.oracle import Source
from pipelines.source.preflight import OpenedLog, ProbeResult
from pipelines.source.quoting import quoted
from pipelines.source.supplemental import Level
from pipelines.table import DictionaryTable, TableId

Read = TypeVar("Read")
# Each stands for one right; read_* above stop at the first one missing, these are asked one by one.
VIEWS = (
    "database", "release", "parameters", "online_logs", "archived_logs", "log_history", "incarnations", "redo_threads",
    "active_transactions", "prepared_transactions",
)  # fmt: skip
NO_SESSION = frozenset({1281, 1291, 1292, 1306, 1307})


def probe(source: Source, container: str | None, tables: Iterable[TableId]) -> ProbeResult:
    """Everything that can be read, and a finding for everything that cannot."""
    refused: list[Finding] = []

    def attempt(subject: str, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except SourceRefused as error:
            finding = Finding(subject, error.what, error.cure)
            if finding not in refused:
                refused.append(finding)
            return None

    attempt("container", lambda: source.use_container(None))
    for name in VIEWS:
        attempt(f"statement {name}", lambda name=name: source.query(name))  # type: ignore[misc]
    for finding in logminer_rights(source):
        refused.append(finding)
    database = None if refused else attempt("database", lambda: read_database(source))
    redo = None if refused else attempt("redo", lambda: read_redo_facts(source))
    zones = None if refused else attempt("time zone", lambda: source.query("database_time_zone"))
    if redo is not None:
        attempt("open transactions", lambda: read_active_transactions(source))
    is_cdb = database is not None and database.is_cdb
    containers = attempt("containers", lambda: source.query("visible_containers")) if is_cdb else None
    visible = attempt("containers", lambda: source.query("visible_tables")) if is_cdb else None
    found: dict[TableId, DictionaryTable] = {}
    neighbours: dict[str, tuple[str, ...]] = {}
    names = {row.name for row in containers or ()}
    logging: frozenset[Level] | None = frozenset()
    if database is not None and (container in names if is_cdb else container is None):
        attempt("container", lambda: source.use_container(container))
        logging = read_container_logging(source, container)
        scn = read_current_scn(source)
        for table in tables:
            read = attempt(str(table), lambda table=table: read_table(source, table))  # type: ignore[misc]
            if read is not None:
                found[table] = read
                attempt(str(table), lambda table=table: source.query_text(flashback_sql(table), {"scn": scn}, "flashback"))  # type: ignore[misc]
            elif table.owner not in neighbours:
                rows = attempt(table.owner, lambda table=table: source.query("tables_of_owner", owner=table.owner))  # type: ignore[misc]
                neighbours[table.owner] = tuple(row.table_name for row in rows or ())
        source.use_container(None)
    return ProbeResult(
        database=database,
        refused=tuple(refused),
        container=container,
        visible_containers={row.name: row.open_mode for row in containers or ()},
        visible_tables=int(visible[0].found) if visible else None,
        tables=found,
        neighbours=neighbours,
        redo=redo,
        newest_logs=tuple(opened_logs(source, redo)) if redo is not None else (),
        time_zone=zones[0].time_zone if zones else None,
        container_logging=logging,
    )


def flashback_sql(table: TableId) -> str:
    """Reads no row: whether the user may."""
    return f"SELECT 1 AS one FROM {quoted(table.owner)}.{quoted(table.name)} AS OF SCN :scn WHERE 1 = 0"


def opened_logs(source: Source, redo: RedoFacts) -> Iterable[OpenedLog]:
    """The newest archived log of each redo thread, opened by LogMiner from every destination: what this instance can read."""
    source.use_container(None)
    current = next((i.resetlogs_id for i in redo.incarnations if i.status == "CURRENT"), None)
    newest = {log.thread: log for log in redo.archived if log.resetlogs_id == current and log.claimed}  # they are in order
    for log in newest.values():
        for copy in log.claimed:
            yield OpenedLog(log.thread, log.sequence, copy.dest_id, str(copy.name), _refusal(source, str(copy.name)))


def _refusal(source: Source, name: str) -> str | None:
    try:
        source.call("new_logfile", file_name=name)
    except SourceRefused:
        return None  # a right is missing, which another finding says
    except Terminal as error:
        return error.what
    return None


def logminer_rights(source: Source) -> Iterable[Finding]:
    """Asked without a LogMiner session: who has the right is told that there is none, the others ORA-00942, 01031 or 06550."""
    asked: dict[str, Callable[[], object]] = {
        "probe_logmnr": lambda: source.call("probe_logmnr"),
        "start_logmnr": lambda: source.call("start_logmnr", start_scn=1, end_scn=2),
        "probe_contents": lambda: source.query("probe_contents"),
        "mined_logs": lambda: source.query("mined_logs"),
        "mining_parameters": lambda: source.query("mining_parameters"),
    }
    for name, ask in asked.items():
        try:
            ask()
        except SourceRefused as error:
            yield Finding(f"statement {name}", error.what, error.cure)
        except RedolakeError as error:
            if error.ora_code not in NO_SESSION:
                raise
