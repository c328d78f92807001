"""`history rebuild` and `history prune`: let the history of a table's rows begin earlier, or later."""

from __future__ import annotations

from typing import Annotated

from redolake.operations.declared import AnyTables, FromLogs, Logs, Moment, Option, Outcome, Table, Work, operation

FIRST = Moment("first")
Since = Annotated[
    Moment,
    Option(
        "From where on the history shall go: an SCN, a time with its zone, the name of a window, or `first`: the table's last "
        "load.",
        "From",
        "from",
    ),
]


@operation(
    "history rebuild",
    reason="Stored with the decision.",
    connects=lambda chosen: bool(chosen["from_logs"]),
    final=True,
)
def rebuild_history(work: Work, table: Table, from_scn: Since = FIRST, from_logs: FromLogs = False, logs: Logs = ()) -> Outcome:
    """Rebuild a table's history from an older SCN on, from the redo that has landed or from archived logs.

    The live table stays as it is.
    """
    from redolake import steps

    if work.execute:
        steps.check_reason("rebuilding a history", work.reason)
    found = steps.rebuild_history(
        work.pipeline, table, from_scn, execute=work.execute, reason=work.reason, by=work.by,
        from_logs=steps.logs_to_read(from_logs, logs, work.source), report=work.report, opens=work.opens,
    )  # fmt: skip
    return Outcome(found, (str(found),))


@operation("history prune", final=True)
def prune_histories(work: Work, tables: AnyTables = ()) -> Outcome:
    """Remove what histories say of times before `keep.history`: each then begins with the rows of then."""
    from redolake import steps

    found = steps.prune_histories(work.pipeline, tables or None, execute=work.execute, report=work.report, opens=work.opens)
    lines = tuple(map(str, found)) or ("No history has begun.",)
    return Outcome({"tables": found}, lines, is_all=all(one.begins_at is None for one in found))
