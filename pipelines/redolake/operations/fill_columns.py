"""`fill-columns`: add the columns that a table lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolake.operations.declared import Outcome, Table, operation

if TYPE_CHECKING:
    from redolake.context import Run


@operation("fill-columns", reason="Stored with the decision.", decides=True, connects=True)
def fill_columns(run: Run, table: Table) -> Outcome:
    """Add the columns that a table lacks and pipelines.yml wants now, with their values, without a new snapshot: those that
    were left out, those that it computes, and those that it computes in another way.

    Only what these are made of and the key are read, AS OF the table's position, and they are added in one commit. Apply waits
    meanwhile.
    """
    from redolake import steps

    found = steps.fill_columns(run, table)
    return Outcome(found, tuple(found.lines))
