"""Combine many expressions or frames without deep plans: Spark Connect refuses more than a hundred levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def any_of(conditions: Iterable[Expression]) -> Expression:
    """Return whether one condition is true; NULL counts as false."""
    return F.greatest(F.lit(False), F.lit(False), *conditions)


def unite(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the union by name as a balanced tree."""
    middle = len(parts) // 2
    return parts[0] if middle == 0 else unite(parts[:middle]).unionByName(unite(parts[middle:]))
