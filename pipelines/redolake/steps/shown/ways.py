"""What makes a table right, by what the ledger knows of it."""

from __future__ import annotations

from redolake.config import Pipeline
from redolake.context import open_to_read
from redolake.errors import ConfigurationError, Finding
from redolake.reconcile.cures import Way, ways_of
from redolake.reconcile.table_state import TableLine, table_lines
from redolake.steps.shared.named_tables import named_table


def look_up_ways(pipeline: Pipeline, name: str) -> tuple[TableLine, tuple[Way, ...]]:
    """Return how the table is, and the ways that make it right. Raises ConfigurationError for a name that means no table, and
    for one that the ledger does not know yet."""
    with open_to_read(pipeline) as context:
        table = named_table(context, name, past=True)
        found = next(
            (line for line in table_lines(pipeline, context.ledger.reading(windows=1)) if line.table == str(table)), None
        )
    if found is None:
        raise ConfigurationError([Finding(str(table), "is not in the ledger yet", f"`redolake snapshot {table}`")])
    return found, ways_of(found)
