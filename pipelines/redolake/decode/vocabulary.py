"""Every separator found so far, parsed once and held in arrays: redo SQL repeats a few hundred separators."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from redolake.decode.forms import Clause, Form
from redolake.decode.separators import END, Separator, read_separator
from redolake.values.table import TableId

BY_POSITION, NOTHING = -1, -2  # instead of a name: it is in the INSERT's column list; there is no column

T = TypeVar("T", str, TableId)

_NOT_UNDERSTOOD = Separator(0, END)


class SeparatorTable(NamedTuple):
    """One row per separator. The inline values and the columns of an INSERT are in flat arrays; here are start and count."""

    enters: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]
    opens_name: npt.NDArray[np.int32]
    opens_clause: npt.NDArray[np.int32]
    opens_form: npt.NDArray[np.int32]
    inline_start: npt.NDArray[np.int32]
    inline_count: npt.NDArray[np.int32]
    columns_start: npt.NDArray[np.int32]
    columns_count: npt.NDArray[np.int32]
    inline: npt.NDArray[np.int32]  # name, clause, form, index of the number or -1
    columns: npt.NDArray[np.int32]  # names


class Vocabulary:
    """The separators, names, tables and numbers of the statements parsed so far, each with a code."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.tables: list[TableId] = []
        self.numbers: list[str] = []
        self._name_codes: dict[str, int] = {}
        self._table_codes: dict[TableId, int] = {}
        self._separator_codes: dict[str, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._inline: list[tuple[int, ...]] = []
        self._columns: list[int] = []
        self._arrays: SeparatorTable | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def codes(self, separators: list[str]) -> npt.NDArray[np.int32]:
        """Return the code of each separator; a new one is parsed."""
        known = self._separator_codes
        return np.array([known[g] if g in known else self._learn(g) for g in separators], np.int32)

    def arrays(self) -> SeparatorTable:
        """Return the separators as arrays, indexed by code."""
        if self._arrays is None:
            fields = [f for f in SeparatorTable._fields if f not in ("inline", "columns")]
            columns = np.array(self._rows, np.int32).reshape(-1, len(fields)).T
            inline = np.ascontiguousarray(np.array(self._inline, np.int32).reshape(-1, 4).T)
            arrays = {f: np.ascontiguousarray(c) for f, c in zip(fields, columns, strict=True)}
            self._arrays = SeparatorTable(**arrays, inline=inline, columns=np.array(self._columns, np.int32))
        return self._arrays

    def _learn(self, text: str) -> int:
        separator = read_separator(text) or _NOT_UNDERSTOOD
        head, opens = separator.head, separator.opens
        self._rows.append(
            (
                separator.enters,
                separator.leaves,
                head.kind if head else 0,
                _code(self._table_codes, self.tables, head.table) if head else -1,
                self._name(opens.column) if opens else NOTHING,
                opens.clause if opens else Clause.VALUES,
                opens.form if opens else Form.TEXT,
                len(self._inline),
                len(separator.inline),
                len(self._columns),
                len(head.columns) if head else 0,
            )
        )
        for value in separator.inline:
            number = -1 if value.bare is None else len(self.numbers)
            if value.bare is not None:
                self.numbers.append(value.bare)
            self._inline.append((self._name(value.column), value.clause, value.form, number))
        if head:
            self._columns += [_code(self._name_codes, self.names, name) for name in head.columns]
        self._arrays = None
        return self._separator_codes.setdefault(text, len(self._rows) - 1)

    def _name(self, column: str | None) -> int:
        return BY_POSITION if column is None else _code(self._name_codes, self.names, column)


def _code(codes: dict[T, int], known: list[T], value: T) -> int:
    code = codes.setdefault(value, len(known))
    if code == len(known):
        known.append(value)
    return code
