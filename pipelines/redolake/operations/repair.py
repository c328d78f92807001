"""`repair`: read rows that differ again, and merge them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolake.operations.declared import OfKeys, Outcome, Table, Verdict, operation

if TYPE_CHECKING:
    from redolake.context import Run


@operation("repair", reason="Stored with the repair and in the Delta commit.", decides=True, connects=True)
def repair(run: Run, table: Table, keys: OfKeys = ()) -> Outcome:
    """Read rows that differ again AS OF the table's SCN, merge them in one commit, and compare them once more: those that the
    last comparison found, or those of the keys.

    Other rows stay as they are, and no row becomes older: apply waits meanwhile. A table that is held because another writer
    has changed its rows goes on afterwards.
    """
    from redolake import steps

    if not run.execute:
        found = steps.look_up_rows(run.pipeline, table, keys)
        return Outcome(found, (str(found),))
    made = steps.repair_table(run, table, keys)
    return Outcome(made.without_samples, made.lines, Verdict.DONE if made.equal else Verdict.DIFFERS)
