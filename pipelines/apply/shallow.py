"""Many of a kind, without depth: Spark Connect reads no expression or plan of more than a hundred levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def any_of(conditions: Iterable[Expression]) -> Expression:
    """Whether one of them holds; what is unknown does not."""
    return F.greatest(F.lit(False), F.lit(False), *conditions)


def united(parts: Sequence[DataFrame]) -> DataFrame:
    middle = len(parts) // 2
    return parts[0] if middle == 0 else united(parts[:middle]).unionByName(united(parts[middle:]))
