"""COUNT, SUM, MIN, MAX and AVG over all rows of one relation. Queries with GROUP BY go to DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame
from standin.engine.types.comparison import arithmetic
from standin.engine.types.datatypes import NUMBER
from standin.interface import ColumnInfo, OraError


def _sum(total: Any, value: Any) -> Any:
    return arithmetic("+", total, value)


AGGREGATES: dict[str, Callable[[Any, Any], Any]] = {
    "COUNT": lambda total, value: total, "SUM": _sum, "MIN": min, "MAX": max, "AVG": _sum
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of the SELECT list. `value` is None for COUNT(*)."""

    name: str
    value: Fn | None
    distinct: bool
    info: ColumnInfo


class Running:
    """An aggregate over the rows that it was given so far."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._aggregate, self._fold = aggregate, AGGREGATES[aggregate.name]
        self._count = 0
        self._total: Any = None
        self._seen: set[Any] = set()

    def add(self, row: Any, frame: Frame) -> None:
        aggregate = self._aggregate
        value = 1 if aggregate.value is None else aggregate.value(row, frame)
        if value is None or (aggregate.distinct and value in self._seen):
            return
        if aggregate.distinct:
            self._seen.add(value)
        self._count += 1
        self._total = value if self._total is None else self._fold(self._total, value)

    def result(self) -> Any:
        if self._aggregate.name == "COUNT":
            return self._count
        return (
            arithmetic("/", self._total, Decimal(self._count)) if self._aggregate.name == "AVG" and self._count else self._total
        )


def aggregate_of(node: exp.Anonymous, compiler: Compiler) -> Aggregate:
    name = str(node.this).upper()
    if len(node.expressions) != 1:
        raise OraError(909, "invalid number of arguments")
    argument, distinct = node.expressions[0], False
    if isinstance(argument, exp.Distinct):
        argument, distinct = argument.expressions[0], True
    if isinstance(argument, exp.Star):
        return Aggregate("COUNT", None, False, NUMBER)
    value = compiler.compile(argument)
    info = value.info if name in ("MIN", "MAX") else NUMBER
    return Aggregate(name, value.run, distinct, info)
