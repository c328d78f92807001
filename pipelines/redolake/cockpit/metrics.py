"""Metrics of a pipeline in the text format of Prometheus, from the ledger alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from redolake.cockpit.values import BatchLine, Overview, State
from redolake.reconcile.table_state import Fault
from redolake.records.batches.spec import ChangeKind
from redolake.values.terms import TERMS, RowCounts

Sample = tuple[str, dict[str, str], float | None]

HELP = {
    "redolake_unreadable": "1 for a pipeline that cannot be read, of which nothing else is said, else 0",
    "redolake_health": "1 for the pipeline's present state, 0 for the others",
    "redolake_lag_seconds": "age of the SCN up to which each live table is complete in Delta",
    "redolake_applied_scn": "last SCN that each live table has, itself included",
    "redolake_source_contact_age_seconds": "since a step last got an answer from Oracle",
    "redolake_runway_hours": "time until redo that is needed may be deleted; none while no log was ever deleted",
    "redolake_runway_short": "1 if the runway is below the pipeline's own thresholds, or redo is lost, else 0",
    "redolake_unread_redo_bytes": "archived redo that is not read yet",
    "redolake_redo_bytes_per_hour": "redo that the database wrote per hour of the last day",
    "redolake_waiting_windows": "landed windows that are not applied yet",
    "redolake_window_rows": "change rows of the last landed window",
    "redolake_window_redo_bytes": "redo that was mined for it",
    "redolake_latency_seconds": "time from a change to Delta by term, of the last window",
    "redolake_mined_bytes_per_second": "redo that a LogMiner session reads per second",
    "redolake_mined_rows_per_second": "change rows that a LogMiner session lands per second",
    "redolake_batch_seconds": "duration of the last batch and of its parts",
    "redolake_batch_rows": "rows of the last batch: read, changed by kind, masked, NULL by rule, and by what became of them",
    "redolake_batch_timestamp_seconds": "first and last commit of its changes, and when it landed and was applied",
    "redolake_batch_running_seconds": "duration of the batch that is under way, 0 for none",
    "redolake_open_transactions": "transactions that were open at the end of the last batch",
    "redolake_open_transaction_rows": "change rows carried over for them",
    "redolake_oldest_transaction_seconds": "age of the oldest of them",
    "redolake_tables": "tables by state",
    "redolake_tables_right": "captured tables that are as the source, as far as the ledger knows",
    "redolake_tables_not_right": "captured tables that are not as the source, by why",
    "redolake_snapshot_read_ratio": "part of a table's snapshot that is read, 0 to 1, while it is read",
    "redolake_snapshot_rows_per_second": "rows of it that are read per second, by the process that said so last",
    "redolake_snapshot_seconds_left": "time until it is read, at that rate",
    "redolake_declared_gaps": "declared gaps that some captured table lacks",
    "redolake_rows_changed": "rows changed in the last 24 hours, by kind",
    "redolake_ddl_changes": "changes of tables by followed DDL in the last 24 hours, by kind",
    "redolake_missing_logs": "archived logs that are needed and lost",
    "redolake_quarantined_keys": "keys whose rows are known to be wrong, and not worked off",
    "redolake_null_by_rule_values": "values that are NULL by rule, by the last comparison of all rows or the load",
    "redolake_histories": "histories of rows that have begun",
    "redolake_history_bytes": "size of all of them",
    "redolake_histories_differing": "histories that said something else than their table when they were last compared",
    "redolake_window_changes": "change rows of the last applied window by what became of them",
    "redolake_tables_differing": "tables whose last comparison found a difference",
}


def samples(found: Overview) -> Iterator[Sample]:
    """Return the samples of one pipeline, of an overview that has every table. Facts that are not known have no sample."""
    own, health = {"pipeline": found.pipeline}, found.health
    for state in get_args(State):
        yield "redolake_health", {**own, "state": state}, float(state == health.state)
    known = None if health.known_at is None else (found.at - health.known_at).total_seconds()
    runway = found.runway or {}
    yield "redolake_lag_seconds", own, health.lag_seconds
    yield "redolake_applied_scn", own, health.complete_to_scn
    yield "redolake_source_contact_age_seconds", own, known
    yield "redolake_runway_hours", own, None if runway.get("is_floor") else runway.get("hours_left")
    yield "redolake_runway_short", own, None if found.runway is None else float(runway["state"] != "enough")
    yield "redolake_unread_redo_bytes", own, runway.get("unread_bytes")
    yield "redolake_redo_bytes_per_hour", own, runway.get("bytes_per_hour")
    yield "redolake_waiting_windows", own, found.waiting_windows
    landed = next((window for window in found.windows if window.landed_at is not None), None)
    yield "redolake_window_rows", own, None if landed is None else landed.rows
    yield "redolake_window_redo_bytes", own, None if landed is None else landed.redo_bytes
    for term in found.latency.terms:
        yield "redolake_latency_seconds", {**own, "term": term.name}, term.seconds
    yield "redolake_mined_bytes_per_second", own, found.latency.mined_bytes_per_second
    yield "redolake_mined_rows_per_second", own, found.latency.mined_rows_per_second
    for part, seconds in found.last_batch_seconds.items():
        yield "redolake_batch_seconds", {**own, "part": part}, seconds
    for batch in found.batches[:1]:
        for kind, rows in batch_rows(batch).items():
            yield "redolake_batch_rows", {**own, "kind": kind}, rows
        for event in ("first_commit", "last_commit", "landed", "applied"):
            at = getattr(batch, f"{event}_at")
            yield "redolake_batch_timestamp_seconds", {**own, "event": event}, None if at is None else at.timestamp()
    yield "redolake_batch_running_seconds", own, 0 if found.batch is None else found.batch.seconds
    yield "redolake_open_transactions", own, found.transaction_count
    yield "redolake_open_transaction_rows", own, found.transaction_rows
    ages = [one.age_seconds for one in found.transactions if one.age_seconds is not None]
    yield "redolake_oldest_transaction_seconds", own, max(ages, default=None if found.transaction_count else 0)
    for state, number in found.table_counts.items():
        yield "redolake_tables", {**own, "state": state}, number
    yield "redolake_tables_right", own, health.right_tables
    for fault in get_args(Fault):
        yield "redolake_tables_not_right", {**own, "why": fault}, len(health.faults.get(fault, ()))
    yield from snapshot_samples(found)
    yield "redolake_declared_gaps", own, health.open_gaps
    for kind, rows in RowCounts.sums(found.tables).items():
        yield "redolake_rows_changed", {**own, "kind": kind}, rows
    for kind in get_args(ChangeKind):
        yield "redolake_ddl_changes", {**own, "kind": kind}, found.ddl.get(kind, 0)
    yield "redolake_missing_logs", own, 0 if found.recovery is None else len(found.recovery.missing)
    captured = [table for table in found.tables if table.is_captured]
    yield "redolake_quarantined_keys", own, sum(table.quarantined_keys for table in captured)
    yield "redolake_null_by_rule_values", own, sum(table.nulled for table in captured)
    begun = [table.history.state for table in found.tables if table.history is not None and table.history.state is not None]
    yield "redolake_histories", own, len(begun)
    yield "redolake_history_bytes", own, sum(state.bytes or 0 for state in begun)
    yield "redolake_histories_differing", own, len(health.faults.get("history differs", ()))
    applied = next((window for window in found.windows if window.parts), None)
    for counted in () if applied is None else applied.parts:
        yield "redolake_window_changes", {**own, "kind": counted.name}, counted.rows
    yield "redolake_tables_differing", own, len(health.faults.get("differs", ()))


def snapshot_samples(found: Overview) -> Iterator[Sample]:
    """Return how far each table is that is being read."""
    for table in found.tables:
        fact = table.loaded if table.is_captured and table.snapshot else None
        if fact is not None and fact.state == "reading":
            own = {"pipeline": found.pipeline, "table": table.table}
            yield "redolake_snapshot_read_ratio", own, fact.share
            yield "redolake_snapshot_rows_per_second", own, fact.rows_per_second
            yield "redolake_snapshot_seconds_left", own, fact.seconds_left


def batch_rows(batch: BatchLine) -> dict[str, int]:
    """Return the rows of a batch by kind. `read` are all change rows, and those by what became of them are parts of these."""
    return {"read": batch.read, **{term.metric: batch.count(term) for term in TERMS if term.metric}}


def prometheus_text(overviews: Sequence[Overview], unreadable: Sequence[str] = ()) -> str:
    """Return all samples, each metric with its help and type once; `unreadable` are the names of the other pipelines."""
    every: list[Sample] = [("redolake_unreadable", {"pipeline": name}, 1.0) for name in unreadable]
    every += (("redolake_unreadable", {"pipeline": found.pipeline}, 0.0) for found in overviews)
    every += (sample for found in overviews for sample in samples(found))
    lines: list[str] = []
    for name, text in HELP.items():
        own = [sample for sample in every if sample[0] == name and sample[2] is not None]
        if own:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", *map(line, own)]
    return "".join(f"{one}\n" for one in lines)


def line(sample: Sample) -> str:
    name, labels, value = sample
    assert value is not None
    return f"{name}{{{','.join(pairs(labels.items()))}}} {value:.15g}"


def pairs(labels: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in labels:
        escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        yield f'{name}="{escaped}"'
