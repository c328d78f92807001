"""`backfill`: apply an old range again, beside the live tables or in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from redolake.errors import plain_lines
from redolake.operations.declared import AnyTables, FromLogs, Logs, Moment, Option, Outcome, Verdict, operation
from redolake.values.moment import FORMS, is_time

if TYPE_CHECKING:
    from redolake.config import Pipeline
    from redolake.context import Run
    from redolake.steps.ranges.shadows import RecordedBackfill

From = Annotated[Moment, Option(f"Changes that committed from here on: {FORMS}.", "From", "from")]
To = Annotated[Moment, Option("Changes that committed before this moment, in the same forms.", "To", "to")]
Target = Annotated[
    Any,
    Option(
        "What is made of the range.",
        choices={
            "shadow": "tables beside the live ones, with what committed in the range",
            "live": "rows that the range has touched are read again in the live tables",
            "copy": "whole copies of the tables at the range's end, for a swap",
            "changes": "every change as it is, in Delta tables",
            "files": "every change as it is, in Parquet files",
        },
    ),
]
Schema = Annotated[
    Any,
    Option(
        "Columns of the shadows.",
        choices={"historic": "those at the end of the range", "current": "those of today"},
    ),
]
Folder = Annotated[str, Option("With files: where they go, by its whole path, below the lake or `allowed_folders`.")]


def asks_source(chosen: Mapping[str, Any]) -> bool:
    return chosen["from_logs"] or chosen["target"] == "live" or any(is_time(chosen[end]) for end in ("from_scn", "to_scn"))


def record(pipeline: Pipeline, batch: str) -> Outcome:
    """Return what the job of a backfill has made."""
    from redolake import steps

    made = steps.record_backfill(pipeline, batch)
    return describe(made, asdict(made))


@operation(
    "backfill",
    reason="Stored with the commits to live tables, which need it.",
    decides=lambda chosen: chosen["target"] == "live",
    connects=asks_source,
    record=record,
)
def backfill(
    run: Run,
    from_scn: From,
    to_scn: To,
    tables: AnyTables = (),
    target: Target = "shadow",
    schema: Schema = "historic",
    from_logs: FromLogs = False,
    logs: Logs = (),
    folder: Folder = "",
) -> Outcome:
    """Apply an old SCN range, from the landing or from archived logs, to shadow tables, or read the rows of live tables again
    that it has touched.

    It ends as differing where some of these rows are not known, or a table stays as it is.
    """
    from redolake import steps

    if all(str(end).isdecimal() for end in (from_scn, to_scn)):
        steps.range_of(int(from_scn), int(to_scn))
    steps.refuse_unused(target, schema=schema, folder=folder, from_logs=from_logs, reason=run.reason)
    reads, chosen = steps.logs_to_read(from_logs, logs, run.source), (from_scn, to_scn, tables or None)
    if target == "live":
        filled = steps.backfill_live(run, *chosen, from_logs=reads)
        return Outcome(filled, filled.lines, Verdict.DONE if filled.is_whole else Verdict.DIFFERS)
    if target == "copy":
        copied = steps.copy_tables(run, *chosen)
        return Outcome(copied, copied.lines)
    if run.apart or not run.execute:
        prepared = steps.prepare_backfill(run, *chosen, not run.execute, schema, reads, target, folder)
        return Outcome(prepared, tuple(prepared.plan.splitlines()), rest=prepared.batch)
    made = steps.run_backfill(run, *chosen, schema=schema, from_logs=reads, target=target, folder=folder)
    assert made.recorded is not None
    details, result = made.prepared.details, asdict(made.prepared) | asdict(made.recorded)
    return describe(made.recorded, result, *(() if details is None else (f"{details.start} to {details.end}",)))


def describe(made: RecordedBackfill, result: Any, *head: str) -> Outcome:
    lines = []
    for one in made.tables:
        apart = ((one.unknown, "not known"), (one.filtered, "filtered"), (one.not_read, "not read"))
        rest = "".join(f", {count} {what}" for count, what in apart if count)
        lines.append(
            f"{one.table}: {one.inserted} inserted, {one.updated} updated, {one.deleted} deleted{rest}, in {one.target}"
        )
    return Outcome(result, plain_lines((*head, *lines)))
