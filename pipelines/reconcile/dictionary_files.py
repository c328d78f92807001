"""The dictionary's description of the captured tables, written once for each planned window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pipelines import crash
from pipelines.context import PipelineContext
from pipelines.land import layout
from pipelines.records.dictionary_reading import DictionaryReading
from pipelines.scn import ChainPosition
from pipelines.table import DictionaryTable, TableId


@crash.writer
def write_dictionary(
    context: PipelineContext, resetlogs_id: int, scn: int, dictionary: Mapping[TableId, DictionaryTable]
) -> None:
    """Write the dictionary as read at an SCN. Two plans at one SCN read the same, so the first file stays."""
    file = layout.dictionary_file(ChainPosition(resetlogs_id, scn))
    if context.landing.files.read_record(DictionaryReading, file) is None:
        context.landing.files.write_record_once(file, DictionaryReading(resetlogs_id, scn, tuple(dictionary.values())))


def reading_after(context: PipelineContext, table: TableId, resetlogs_id: int) -> Callable[[int], DictionaryTable | None]:
    """Return a function that gives the first description of the table that was read after an SCN of the incarnation."""

    def first_after(scn: int) -> DictionaryTable | None:
        found = None
        for tables in dictionary_readings(context, resetlogs_id, scn + 1):  # newest first
            found = next((t for t in tables if t.table == table), found)
        return found

    return first_after


def dictionary_readings(
    context: PipelineContext, resetlogs_id: int, start: int, end: int | None = None
) -> Iterator[tuple[DictionaryTable, ...]]:
    """Yield what was read at an SCN in [start, end) of the incarnation, newest first; without an end, also in later ones."""
    first, last = ChainPosition(resetlogs_id, start), None if end is None else ChainPosition(resetlogs_id, end)
    for name in reversed(context.landing.files.names(layout.DICTIONARY)):
        position = ChainPosition.parse(name.removesuffix(".json"))
        if first <= position and (last is None or position < last):
            found = context.landing.files.read_record(DictionaryReading, layout.dictionary_file(position))
            assert found is not None, "a file that was listed"
            yield found.tables
