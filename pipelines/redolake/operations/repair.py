"""`repair`: read rows that differ again, and merge them."""

from __future__ import annotations

from redolake.operations.declared import OfKeys, Outcome, Table, Verdict, Work, operation


@operation("repair", reason="Stored with the repair and in the Delta commit.", connects=True)
def repair(work: Work, table: Table, keys: OfKeys = ()) -> Outcome:
    """Read rows that differ again AS OF the table's SCN, merge them in one commit, and compare them once more: those that the
    last comparison found, or those of the keys.

    Other rows stay as they are, and no row becomes older: apply waits meanwhile. A table that is held because another writer
    has changed its rows goes on afterwards.
    """
    from redolake import steps

    if not work.execute:
        found = steps.look_up_rows(work.pipeline, table, keys)
        return Outcome(found, (str(found),))
    made = steps.repair_table(
        work.pipeline, table, keys=keys, reason=work.reason, by=work.by,
        source=work.source, report=work.report, opens=work.opens,
    )  # fmt: skip
    return Outcome(made.without_samples, made.lines, Verdict.DONE if made.equal else Verdict.DIFFERS)
