"""COUNT, SUM, MIN, MAX and AVG over all rows of one relation. Queries with GROUP BY go to DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from sqlglot import exp

from standin.engine.comparison import arithmetic
from standin.engine.datatypes import NUMBER
from standin.engine.expressions import Compiler
from standin.engine.frame import Fn, Frame
from standin.interface import ColumnInfo, OraError


def _sum(values: Iterable[Any]) -> Any:
    return reduce(lambda a, b: arithmetic("+", a, b), values)


def _average(values: Sequence[Any]) -> Any:
    return arithmetic("/", _sum(values), Decimal(len(values)))


AGGREGATES: dict[str, Callable[[Any], Any]] = {"COUNT": len, "SUM": _sum, "MIN": min, "MAX": max, "AVG": _average}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of the SELECT list. `value` is None for COUNT(*)."""

    fold: Callable[[Any], Any]
    value: Fn | None
    distinct: bool
    info: ColumnInfo
    counts: bool

    def of(self, rows: Sequence[tuple[int | None, Any]], frame: Frame, set_address: Callable[[int | None, Frame], None]) -> Any:
        """Return the result over numbered rows. `set_address` puts a row's address into the frame, for ROWID."""
        run, values = self.value, []
        if run is None:
            return len(rows)
        for number, row in rows:
            set_address(number, frame)
            if (value := run(row, frame)) is not None:
                values.append(value)
        if self.distinct:
            values = list(dict.fromkeys(values))
        return self.fold(values) if values or self.counts else None


def aggregate_of(node: exp.Anonymous, compiler: Compiler) -> Aggregate:
    name = str(node.this).upper()
    if len(node.expressions) != 1:
        raise OraError(909, "invalid number of arguments")
    argument, distinct = node.expressions[0], False
    if isinstance(argument, exp.Distinct):
        argument, distinct = argument.expressions[0], True
    if isinstance(argument, exp.Star):
        return Aggregate(len, None, False, NUMBER, True)
    value = compiler.compile(argument)
    info = value.info if name in ("MIN", "MAX") else NUMBER
    return Aggregate(AGGREGATES[name], value.run, distinct, info, name == "COUNT")
