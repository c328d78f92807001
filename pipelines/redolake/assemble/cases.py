"""Case expressions that stay one level deep: Spark Connect rejects expressions and plans deeper than a hundred levels."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F


def first_case(cases: Iterable[tuple[Expression, int]], otherwise: Expression) -> Expression:
    """Return an expression for the number of the first case that is true."""
    chain: Expression | None = None
    for holds, number in cases:
        chain = F.when(holds, number) if chain is None else chain.when(holds, number)
    return otherwise if chain is None else chain.otherwise(otherwise)
