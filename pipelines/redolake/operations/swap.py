"""`swap`: put a whole copy of a table in its place, or put back what a swap has replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.errors import ConfigurationError, Finding
from redolake.operations.declared import Option, Outcome, Table, operation
from redolake.values.moment import check_copy

if TYPE_CHECKING:
    from redolake.context import Run

Copy = Annotated[str | None, Option("The whole copy, as a backfill to `copy` names it.", "Copy", check=check_copy)]
Undo = Annotated[bool, Option("Put back what the last swap of the table has replaced.")]


@operation("swap", reason="Stored with the commit.", decides=True)
def swap(run: Run, table: Table, copy: Copy = None, undo: Undo = False) -> Outcome:
    """Put a whole copy of a table in its live table's place, in one commit. What it replaces is kept as another copy.

    The copy is brought to the table's position first, so no row gets older; apply waits meanwhile.
    """
    from redolake import steps

    if (copy is None) != undo:
        what = "a copy and undo exclude each other" if undo else "neither a copy nor undo is chosen"
        raise ConfigurationError([Finding(f"swap of {table}", what, "choose one: --copy NAME (the field Copy), or --undo")])
    found = steps.swap_table(run, table, copy)
    return Outcome(found, tuple(found.lines))
