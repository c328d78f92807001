"""Tables that are read again whole because a DDL changed rows without redo: which DDLs need it, and whether it was done.

The rows that were read are those AS OF the window's end. So all commits from the DDL to that end become visible together, and a
table that stops in between stops before the DDL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redolake.context import Run
from redolake.errors import SchemaConflict
from redolake.records.batches.spec import ChangeKind, ColumnChange, HoldAt, WholeFile
from redolake.records.windows import WholeTable, WindowManifest
from redolake.schema import Derived
from redolake.schema.derive import Hold
from redolake.values.scn import Scn
from redolake.values.table import TableId

NEED_ROWS: frozenset[ChangeKind] = frozenset({"remove_rows", "fill_column"})


def steps_with_rows(steps: Sequence[ColumnChange], window: WindowManifest) -> tuple[ColumnChange, ...]:
    """Return the steps of the window that need the table's rows."""
    return tuple(step for step in steps if step.kind in NEED_ROWS and window.start <= step.scn < window.end)


def first_unread(derived: Derived, table: TableId, windows: Sequence[WindowManifest]) -> Hold | None:
    """Return the hold at the first statement for which capture has not read the table's rows."""
    for window in windows:
        for step in steps_with_rows(derived.steps, window):
            found = [one for one in window.whole if one.table == str(table) and step.scn in one.ddl]
            if all(one.file is None for one in found):
                return Hold(Scn(step.scn), unread(table, step, found, derived))
    return None


def unread(table: TableId, step: ColumnChange, found: Sequence[WholeTable], derived: Derived) -> SchemaConflict:
    what = "removed rows" if step.kind == "remove_rows" else f"gave older rows values in {step.column.name}"
    why = found[0].error if found else "the window had landed before `on_ddl` in pipelines.yml said `follow`"
    return SchemaConflict(
        f"a DDL {what}, and the table was not read again at the end of its window: {why}",
        cure=f"run `redolake snapshot {table} --replace` to read the table as it is now; "
        "with `on_ddl: {unknown_ddl: resnapshot}` this happens by itself",
        table=table,
        scn=int(step.scn),
        policy="unknown_ddl",
    )


def before_ddl(hold: HoldAt | None, steps: Sequence[ColumnChange], windows: Sequence[WindowManifest]) -> HoldAt | None:
    """Return the hold before the DDL that needs rows AS OF a window's end which the table does not reach."""
    if hold is None:
        return None
    for window in windows:
        first = min((int(step.scn) for step in steps_with_rows(steps, window)), default=window.end)
        if first < hold.at_scn < window.end:
            return replace(hold, at_scn=first)
    return hold


def files_of(context: Run, table: TableId, windows: Sequence[WindowManifest]) -> Iterator[WholeFile]:
    for window in windows:
        for one in window.whole:
            if one.table == str(table) and one.file is not None:
                yield WholeFile(one.scn, context.landing.windows.file_of(window, one.file), one.ddl)
