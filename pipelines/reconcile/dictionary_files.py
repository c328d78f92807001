"""The dictionary's description of the captured tables, written once for each planned window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipelines import crash
from pipelines.context import Workplace
from pipelines.records.dictionary_reading import DictionaryReading
from pipelines.scn import ChainPosition
from pipelines.table import DictionaryTable, TableId

FOLDER = "baselines"


@crash.writer
def write_reading(work: Workplace, resetlogs_id: int, scn: int, dictionary: Mapping[TableId, DictionaryTable]) -> None:
    """Two plans at one SCN read the same dictionary: the first one's file stays."""
    file = f"{FOLDER}/{ChainPosition(resetlogs_id, scn).name}.json"
    if work.landing.read(DictionaryReading, file) is None:
        work.landing.write_once(file, DictionaryReading(resetlogs_id, scn, tuple(dictionary.values())))


def readings(work: Workplace, resetlogs_id: int, start: int, end: int | None = None) -> Iterator[tuple[DictionaryTable, ...]]:
    """Yield what was read at an SCN in [start, end) of the incarnation, newest first; without an end, also in later ones."""
    first, last = ChainPosition(resetlogs_id, start), None if end is None else ChainPosition(resetlogs_id, end)
    for name in reversed(work.landing.names(FOLDER)):
        position = ChainPosition.parse(name.removesuffix(".json"))
        if first <= position and (last is None or position < last):
            found = work.landing.read(DictionaryReading, f"{FOLDER}/{name}")
            assert found is not None, "a file that was listed"
            yield found.tables
