"""Tables that a snapshot cannot read: why they are held, so that the others continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolake.context import Run, step
from redolake.errors import Finding, NotCapturable, RedolakeError
from redolake.steps.apply.batch import finding_of
from redolake.values.table import TableId


def hold_refused(context: Run, refused: Mapping[TableId, Sequence[Finding]]) -> tuple[Finding, ...]:
    """Hold tables that cannot be captured, and return why. Their redo is landed like that of others, so that a snapshot can
    follow as soon as they are cured."""
    position = context.ledger.position()
    assert position is not None, "the first snapshot has set it"
    held = []
    for table, findings in refused.items():
        cure = "; ".join(f.cure for f in findings if f.cure) + f"; then `redolake snapshot {table} --replace`"
        error = NotCapturable("; ".join(detail(table, f) for f in findings), cure=cure, table=table)
        context.ledger.add_table(table, position.scn)
        context.ledger.hold(table, error.as_dict())
        held.append(Finding(str(table), error.what, cure))
    return tuple(held)


def hold_unread(context: Run, table: str, error: RedolakeError) -> Finding:
    """Hold a table whose first contents could not be read, and return why. A table that has contents keeps them."""
    wanted = TableId.parse(table)
    entry = context.ledger.table(wanted)
    if entry is not None and entry.complete_to_scn is None:
        context.ledger.hold(wanted, error.as_dict())
    return finding_of(wanted, error.as_dict())


def detail(table: TableId, finding: Finding) -> str:
    """Return a finding of the table or of one of its columns without the table's name."""
    column = finding.subject.removeprefix(str(table)).removeprefix(".")
    return f"{column}: {finding.what}" if column else finding.what


@step
def capturable_tables(context: Run) -> list[str]:
    """Return the configured tables without those that are held and never had contents: they cannot be captured yet."""
    held = {entry.table for entry in context.ledger.tables("held") if entry.held_without_contents}
    return [str(table.id) for table in context.pipeline.tables if table.id not in held]
