"""Choices between many: one level deep, for Spark Connect reads no expression or plan of more than a hundred."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F


def first_case(cases: Iterable[tuple[Expression, int]], otherwise: Expression) -> Expression:
    """The number of the first case that holds."""
    chain: Expression | None = None
    for holds, number in cases:
        chain = F.when(holds, number) if chain is None else chain.when(holds, number)
    return otherwise if chain is None else chain.otherwise(otherwise)
