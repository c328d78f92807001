"""Gaps met so far, each read once, as arrays to index with: redo SQL repeats a few hundred gaps for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pipelines.decode.forms import Form, Side
from pipelines.decode.gaps import END, Gap, read_gap
from pipelines.table import TableId

BY_POSITION, NOTHING = -1, -2  # instead of a name: the column list of the INSERT tells it; no column is meant

T = TypeVar("T", str, TableId)

_NOT_UNDERSTOOD = Gap(0, END)


@dataclass(frozen=True, slots=True)
class GapTable:
    """One row per gap. The settled values and the columns of an INSERT lie flat, with start and count here."""

    enters: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]
    opens_name: npt.NDArray[np.int32]
    opens_side: npt.NDArray[np.int32]
    opens_form: npt.NDArray[np.int32]
    settled_start: npt.NDArray[np.int32]
    settled_count: npt.NDArray[np.int32]
    columns_start: npt.NDArray[np.int32]
    columns_count: npt.NDArray[np.int32]
    settled: npt.NDArray[np.int32]  # name, side, form, number of the bare text or -1
    columns: npt.NDArray[np.int32]  # names


class Vocabulary:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.tables: list[TableId] = []
        self.numbers: list[str] = []
        self._name_codes: dict[str, int] = {}
        self._table_codes: dict[TableId, int] = {}
        self._gap_codes: dict[str, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._settled: list[tuple[int, ...]] = []
        self._columns: list[int] = []
        self._arrays: GapTable | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def codes(self, gaps: list[str]) -> npt.NDArray[np.int32]:
        known = self._gap_codes
        return np.array([known[g] if g in known else self._learn(g) for g in gaps], np.int32)

    def arrays(self) -> GapTable:
        if self._arrays is None:
            fields = [f for f in GapTable.__slots__ if f not in ("settled", "columns")]
            columns = np.array(self._rows, np.int32).reshape(-1, len(fields)).T
            settled = np.array(self._settled, np.int32).reshape(-1, 4).T
            arrays = {f: np.ascontiguousarray(c) for f, c in zip(fields, columns, strict=True)}
            self._arrays = GapTable(**arrays, settled=settled, columns=np.array(self._columns, np.int32))
        return self._arrays

    def _learn(self, text: str) -> int:
        gap = read_gap(text) or _NOT_UNDERSTOOD
        head, opens = gap.statement, gap.opens
        self._rows.append(
            (
                gap.enters,
                gap.leaves,
                head.kind if head else 0,
                _code(self._table_codes, self.tables, head.table) if head else -1,
                self._name(opens.column) if opens else NOTHING,
                opens.side if opens else Side.VALUES,
                opens.form if opens else Form.TEXT,
                len(self._settled),
                len(gap.settled),
                len(self._columns),
                len(head.columns) if head else 0,
            )
        )
        for value in gap.settled:
            number = -1 if value.bare is None else len(self.numbers)
            if value.bare is not None:
                self.numbers.append(value.bare)
            self._settled.append((self._name(value.column), value.side, value.form, number))
        if head:
            self._columns += [_code(self._name_codes, self.names, name) for name in head.columns]
        self._arrays = None
        return self._gap_codes.setdefault(text, len(self._rows) - 1)

    def _name(self, column: str | None) -> int:
        return BY_POSITION if column is None else _code(self._name_codes, self.names, column)


def _code(codes: dict[T, int], known: list[T], value: T) -> int:
    code = codes.setdefault(value, len(known))
    if code == len(known):
        known.append(value)
    return code
