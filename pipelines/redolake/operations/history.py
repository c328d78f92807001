"""`history rebuild` and `history prune`: let the history of a table's rows begin earlier, or later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.operations.declared import AnyTables, FromLogs, Logs, Moment, Option, Outcome, Table, operation

if TYPE_CHECKING:
    from redolake.context import Run

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
def rebuild_history(run: Run, table: Table, from_scn: Since = FIRST, from_logs: FromLogs = False, logs: Logs = ()) -> Outcome:
    """Rebuild a table's history from an older SCN on, from the redo that has landed or from archived logs.

    The live table stays as it is.
    """
    from redolake import steps

    logs_to_read = steps.logs_to_read(from_logs, logs, run.source)
    found = steps.rebuild_history(run, table, str(run.shown or from_scn), from_logs=logs_to_read)
    return Outcome(found, (str(found),), shown=found.from_scn)


@operation("history prune", reason="Stored with the decision.", final=True)
def prune_histories(run: Run, tables: AnyTables = ()) -> Outcome:
    """Remove what histories say of times before `keep.history`: each then begins with the rows of then."""
    from redolake import steps

    found = steps.prune_histories(run, tables or None, shown=run.shown)
    none = "No history has begun." if run.shown is None else "Nothing was shown to be older, so nothing is removed."
    lines = tuple(map(str, found)) or (none,)
    older = {one.table: [one.before, one.begins_at, one.older] for one in found if one.begins_at is not None}
    return Outcome({"tables": found}, lines, shown=older, is_all=not older)
