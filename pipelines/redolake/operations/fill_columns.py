"""`fill-columns`: add the columns that a table lacks."""

from __future__ import annotations

from redolake.operations.declared import Outcome, Table, Work, operation


@operation("fill-columns", reason="Stored with the decision.", connects=True)
def fill_columns(work: Work, table: Table) -> Outcome:
    """Add the columns that a table lacks and pipelines.yml wants now, with their values, without a new snapshot: those that
    were left out, those that it computes, and those that it computes in another way.

    Only what these are made of and the key are read, AS OF the table's position, and they are added in one commit. Apply waits
    meanwhile.
    """
    from redolake import steps

    found = steps.fill_columns(
        work.pipeline, table, execute=work.execute, reason=work.reason, by=work.by,
        source=work.source, report=work.report, opens=work.opens,
    )  # fmt: skip
    return Outcome(found, tuple(found.lines))
