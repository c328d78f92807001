"""Empty large objects, which the driver returns as NULL where it fetches values and not locators.

To Oracle EMPTY_CLOB() IS NOT NULL: a query says beside each value whether its length is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from redolake.source.quoting import quote
from redolake.source.text_check import Frame
from redolake.values.dictionary_table import DictionaryColumn
from redolake.values.empty import with_empty

PREFIX = "_empty_"
# LENGTH needs no privilege, and takes no BLOB by its manual; DBMS_LOB is granted to PUBLIC, unless somebody has revoked it.
LENGTHS = {"CLOB": "LENGTH({0})", "NCLOB": "LENGTH({0})", "BLOB": "DBMS_LOB.GETLENGTH({0})"}


@dataclass(frozen=True, slots=True)
class EmptyFlag:
    """The column `name` of a query says whether the large object `of` is empty."""

    name: str
    of: str
    length: str

    @property
    def item(self) -> str:
        """The expression: 1 for an empty object, else NULL."""
        return f"CASE WHEN {self.length.format(quote(self.of))} = 0 THEN 1 END AS {quote(self.name)}"


def flags_of(columns: Sequence[DictionaryColumn]) -> list[EmptyFlag]:
    """Return a flag for each large object of a query, under a name that no other column has."""
    taken = max((len(column.name) for column in columns if column.name.startswith(PREFIX)), default=0)
    return [
        EmptyFlag(f"{PREFIX}{number}".ljust(taken + 1, "_"), column.name, LENGTHS[column.type.name])
        for number, column in enumerate(columns)
        if column.type.name in LENGTHS
    ]


def with_empty_objects(answers: Iterable[Any], flags: Sequence[EmptyFlag]) -> Iterator[Any]:
    """Yield the frames without the flags, and with empty values in place of NULL where these say so."""
    if not flags:
        yield from answers
        return
    for answer in answers:
        rows = pa.table(answer)
        for flag in flags:
            is_empty, values = rows[flag.name].is_valid(), rows[flag.of]
            rows = rows.drop_columns([flag.name])
            rows = rows.set_column(rows.column_names.index(flag.of), flag.of, with_empty(values, is_empty))
        yield Frame(rows)
