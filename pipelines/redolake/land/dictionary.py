"""The data dictionary as plans have read it. Each distinct content is kept once, named by its hash; a reading refers to it.

Readings are in folders of some hundred, so that a plan or a batch lists the newest ones alone, also on a disk, which lists a
folder as a whole. The first reading of a folder names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from redolake.errors import LandingDamaged
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import read_dictionary_again
from redolake.land.files import Files
from redolake.records.codec import DAMAGED, decode, encode
from redolake.records.dictionary import DictionaryContent, DictionaryReading
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import BEFORE_ALL, ChainPosition, Scn
from redolake.values.table import NOT_RENAMED, Renamed, TableId

UNDATED = Scn(0)
READINGS_IN_A_FOLDER = 500


@dataclass(frozen=True, slots=True)
class ReadDictionary:
    """One reading: the tables that it contains, each as of its own SCN."""

    scn: int
    later: Mapping[str, int]
    renamed: Mapping[str, str]
    _tables: Mapping[TableId, DictionaryTable]

    def table(self, table: TableId) -> DictionaryTable | None:
        found = self._tables.get(table)
        scn = Scn(self.later.get(str(table), self.scn))
        return None if found is None else replace(found, scn_before=scn, scn_after=scn)

    def object_ids(self) -> set[int]:
        """Return the ids of all tables that the reading describes, and of their partitions."""
        found = self._tables.values()
        return {number for one in found for number in (one.object_id, *(part.object_id for part in one.parts))}

    def lookup_name(self, table: TableId) -> TableId:
        """Return the name under which the reading looked for the table."""
        return TableId.parse(self.renamed[str(table)]) if str(table) in self.renamed else table


def readings_in(names: Iterable[str]) -> list[ChainPosition]:
    return [ChainPosition.parse(name.removesuffix(".json")) for name in names if name.endswith(".json")]


def folders_since(names: Iterable[str], since: ChainPosition) -> list[str]:
    """Return the folders that may have readings from a position on. A plan that has lost its lease may write after another, so
    a folder may have a reading that is newer than the first one of the next folder."""
    folders = sorted(name for name in names if name.startswith(layout.READINGS_FROM))
    older = [name for name in folders if name <= layout.readings_folder(since)]
    return folders[max(0, len(older) - 2) :]


def name_of(content: bytes) -> str:
    """Return the name of a content's file."""
    return hashlib.sha256(content).hexdigest()[:32]


class Dictionary:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._readings: dict[ChainPosition, ReadDictionary] = {}  # neither readings nor contents ever change
        self._names: dict[ChainPosition, str] = {}
        self._contents: dict[str, Mapping[TableId, DictionaryTable]] = {}
        self._folders: dict[ChainPosition, str] = {}  # of the readings that were listed

    @crash.writer
    def write_dictionary(
        self,
        resetlogs_id: int,
        scn: int,
        tables: Iterable[DictionaryTable],
        renamed: Renamed = NOT_RENAMED,
    ) -> None:
        """Write the dictionary as read at an SCN. Two plans at one SCN read the same, so the first file stays."""
        described = sorted(tables, key=lambda found: found.table)
        text = encode(DictionaryContent(tuple(replace(t, scn_before=UNDATED, scn_after=UNDATED) for t in described))).encode()
        name = name_of(text)
        later = {str(t.table): int(t.scn_before) for t in described if t.scn_before != scn}
        file = layout.dictionary_content(name)
        if not self._files.exists(file):
            self._files.create(file, text)
        position = ChainPosition(resetlogs_id, scn)
        self._files.create_record(
            layout.dictionary_file(position, self.folder_for(position)),
            DictionaryReading(resetlogs_id, scn, name, later, {str(table): str(name) for table, name in renamed.items()}),
        )

    def folder_for(self, position: ChainPosition) -> str:
        """Return the folder of readings for a new one: the newest, until it is full."""
        for newest in self._files.names(layout.DICTIONARY, layout.READINGS_FROM)[-1:]:
            there = self._files.names(f"{layout.DICTIONARY}/{newest}")
            if len(there) < READINGS_IN_A_FOLDER or f"{position.name}.json" in there:
                return newest
        return layout.readings_folder(position)

    def positions(self, since: ChainPosition = BEFORE_ALL) -> list[ChainPosition]:
        """Return where the dictionary was read, in order, from a position on."""
        after = "" if since == BEFORE_ALL else since.plus(-1).name + ".json"
        names = self._files.names(layout.DICTIONARY, after)
        found = dict.fromkeys(readings_in(names), "")
        for folder in folders_since(names, since):
            listed = readings_in(self._files.names(f"{layout.DICTIONARY}/{folder}", after))
            found.update((position, folder) for position in listed if position not in found)
        self._folders.update(found)
        return sorted(found)

    def file_of(self, position: ChainPosition) -> str:
        """Return the file of a reading."""
        if position not in self._folders:
            self.positions()
        return layout.dictionary_file(position, self._folders.get(position, ""))

    def at(self, position: ChainPosition) -> ReadDictionary:
        """Return the reading at a position of the list."""
        if position not in self._readings:
            file = self.file_of(position)
            reading = self._files.read_record(DictionaryReading, file)
            if reading is None or (reading.resetlogs_id, reading.scn) != (position.resetlogs_id, position.scn):
                what = "the file is gone" if reading is None else f"the file is the reading at SCN {reading.scn}"
                raise LandingDamaged(what, cure=DAMAGED, path=self._files.path_text(file))
            self._names[position] = reading.content
            self._readings[position] = ReadDictionary(
                reading.scn, reading.later, reading.renamed, self._content(reading.content)
            )
        return self._readings[position]

    def tables_at(self, position: ChainPosition) -> set[str]:
        """Return the tables that the reading at a position describes."""
        self.at(position)
        return {str(table) for table in self._content(self._names[position])}

    def content_at(self, position: ChainPosition) -> str:
        """Return the name of the content that the reading at a position refers to."""
        self.at(position)
        return self._names[position]

    def _content(self, name: str) -> Mapping[TableId, DictionaryTable]:
        if name not in self._contents:
            file = layout.dictionary_content(name)
            text = self._files.read(file)
            if text is None or name_of(text) != name:
                raise LandingDamaged(
                    "a dictionary reading refers to the file, and it is gone or was changed: its name is its hash",
                    cure=read_dictionary_again(file),
                    path=self._files.path_text(file),
                )
            content = decode(DictionaryContent, text, self._files.path_text(file))
            self._contents[name] = {table.table: table for table in content.tables}
        return self._contents[name]


class Readings:
    """The readings that were there at one moment: the folder is listed once for all tables of a batch. With `since`, those
    before that position are listed only where they are asked for."""

    def __init__(self, dictionary: Dictionary, since: ChainPosition = BEFORE_ALL) -> None:
        self._dictionary, self._since = dictionary, since
        self._positions = dictionary.positions(since)

    def newest_first(self, resetlogs_id: int, start: int, end: int | None = None) -> Iterator[ReadDictionary]:
        """Yield what was read at an SCN in [start, end) of the incarnation; without an end, also in later ones."""
        first, last = ChainPosition(resetlogs_id, start), None if end is None else ChainPosition(resetlogs_id, end)
        for position in self._descending(first):
            if last is None or position < last:
                yield self._dictionary.at(position)

    def first_after(self, table: TableId, resetlogs_id: int, scn: int) -> DictionaryTable | None:
        """Return the first description of the table that was read after an SCN of the incarnation, or in a later one."""
        read = (self._dictionary.at(position).table(table) for position in self._after(resetlogs_id, scn))
        return next((found for found in read if found is not None), None)

    def just_after(self, table: TableId, resetlogs_id: int, scn: int) -> DictionaryTable | None:
        """Return the description of the table in the very first reading after an SCN; None if that reading lacks it."""
        position = next(iter(self._after(resetlogs_id, scn)), None)
        return None if position is None else self._dictionary.at(position).table(table)

    def object_ids(self, resetlogs_id: int, start: int) -> set[int]:
        """Return the ids that any table or partition had in the readings from an SCN on, and in the last one before it."""
        before = next(self.newest_first(resetlogs_id, 0, start), None)
        read = (*self.newest_first(resetlogs_id, start), *(() if before is None else (before,)))
        return set[int]().union(*(reading.object_ids() for reading in read))

    def last_before(self, table: TableId, resetlogs_id: int, scn: int) -> DictionaryTable | None:
        """Return the last description of the table that was read at or before an SCN, in the incarnation or a later one."""
        read = (self._dictionary.at(p).table(table) for p in self._descending() if within(p, resetlogs_id, scn))
        return next((found for found in read if found is not None), None)

    def _descending(self, first: ChainPosition = BEFORE_ALL) -> Iterator[ChainPosition]:
        since = self._since
        yield from [position for position in reversed(self._positions) if position >= max(since, first)]
        if first < since:
            yield from [position for position in reversed(self._all()) if first <= position < since]

    def _after(self, resetlogs_id: int, scn: int) -> list[ChainPosition]:
        first = ChainPosition(resetlogs_id, scn + 1)
        return [p for p in (self._positions if first >= self._since else self._all()) if p >= first]

    def _all(self) -> list[ChainPosition]:
        if self._since != BEFORE_ALL:
            self._since, self._positions = BEFORE_ALL, self._dictionary.positions()
        return self._positions


def within(position: ChainPosition, resetlogs_id: int, last: int) -> bool:
    return position.resetlogs_id >= resetlogs_id and position.scn <= last
