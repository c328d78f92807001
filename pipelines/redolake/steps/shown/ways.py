"""What makes a table right, by what the ledger knows of it."""

from __future__ import annotations

from redolake.context import Run, reader
from redolake.errors import ConfigurationError, Finding
from redolake.reconcile.cures import Way, ways_of
from redolake.reconcile.table_state import TableLine, table_lines
from redolake.steps.shared.named_tables import named_table

RECOVER = "`redolake recover` shows how it can continue"


@reader
def look_up_ways(context: Run, name: str) -> tuple[TableLine, tuple[Way, ...]]:
    """Return how the table is, and the ways that make it right; while redo is lost, that comes last. Raises ConfigurationError
    for a name that means no table, and for one that the ledger does not know yet."""
    table = named_table(context, name, past=True)
    reading = context.ledger.reading(windows=1)
    found = next((line for line in table_lines(context.configured, reading) if line.table == str(table)), None)
    if found is None:
        raise ConfigurationError([Finding(str(table), "is not in the ledger yet", f"`redolake snapshot {table}`")])
    ways = ways_of(found)
    if reading.loss is None or not found.is_captured:
        return found, ways
    return found, (*ways, Way(why=f"redo that it needs is lost, so it does not go on: {reading.loss.error['what']}. {RECOVER}"))
