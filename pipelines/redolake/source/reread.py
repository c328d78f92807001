"""Read columns of some rows again AS OF an SCN: rows by ROWID, or by key where the redo contains no ROWID.

Each row that is returned is true AS OF that SCN, however it was found: a ROWID may belong to another row by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redolake.source.empty_objects import flags_of, with_empty_objects
from redolake.source.oracle import Source
from redolake.source.quoting import quote
from redolake.source.snapshot import LARGE_OBJECT_ROWS, select_item, show_all_rows
from redolake.source.text_check import check_texts
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.logminer import NO_ROWID
from redolake.values.scn import Scn
from redolake.values.table import ROWID_NAME, TypeRule

BIND_LISTS = (1, 10, 100)  # rows per statement, so that statements stay few


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows to read: by ROWID, and by the values of the key, in the order of `key`."""

    table: DictionaryTable
    key: tuple[str, ...]
    columns: tuple[DictionaryColumn, ...]
    rowids: tuple[str, ...]
    keys: tuple[tuple[object, ...], ...] = ()
    rules: Mapping[str, TypeRule] = field(default_factory=dict)  # of texts that are not valid UTF-8
    converted: tuple[str, ...] = ()  # columns of a set that has no U+FFFD
    hidden: frozenset[str] = frozenset()  # columns whose values no error may contain


def read_again(source: Source, wanted: Wanted, scn: Scn, container: str | None) -> Iterator[Any]:
    """Yield frames with the key, the columns and `_rowid`; the first one even if no row is found."""
    show_all_rows(source, wanted.table, container)
    for rows in _chunks(wanted.rowids or ((NO_ROWID,) if not wanted.keys else ())):
        names = [f"r{number}" for number in range(len(rows))]
        condition = f"ROWID IN ({', '.join(f':{name}' for name in names)})"
        yield from _read(source, wanted, scn, condition, dict(zip(names, rows, strict=True)))
    for keys in _chunks(wanted.keys):
        binds = {f"k{n}_{m}": value for n, key in enumerate(keys) for m, value in enumerate(key)}
        one = [" AND ".join(f"{quote(name)} = :k{n}_{m}" for m, name in enumerate(wanted.key)) for n in range(len(keys))]
        yield from _read(source, wanted, scn, " OR ".join(f"({text})" for text in one), binds)


def _read(source: Source, wanted: Wanted, scn: Scn, condition: str, binds: Mapping[str, object]) -> Iterator[Any]:
    own = {column.name: column for column in wanted.table.captured}
    items = [select_item(own[name]) for name in wanted.key if name in own]
    flags = flags_of(wanted.columns)
    items += [*(select_item(column) for column in wanted.columns), *(flag.item for flag in flags)]
    items.append(f"ROWIDTOCHAR(ROWID) AS {quote(ROWID_NAME)}")
    table = f"{quote(wanted.table.in_oracle.owner)}.{quote(wanted.table.in_oracle.name)}"
    sql = f"SELECT {', '.join(items)}\n  FROM {table} AS OF SCN :scn\n WHERE {condition}"
    answers = source.arrow(sql, {**binds, "scn": int(scn)}, LARGE_OBJECT_ROWS, name=f"changed rows of {wanted.table.table}")
    answers = with_empty_objects(answers, flags)
    shown = (*(name for name in wanted.key if name not in wanted.hidden), ROWID_NAME)
    yield from check_texts(answers, wanted.table.table, shown, wanted.rules, wanted.converted)


def _chunks(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of the lengths of BIND_LISTS; the last row fills up the last list."""
    for start in range(0, len(rows), BIND_LISTS[-1]):
        chunk = list(rows[start : start + BIND_LISTS[-1]])
        length = next(size for size in BIND_LISTS if size >= len(chunk))
        yield [*chunk, *[chunk[-1]] * (length - len(chunk))]
