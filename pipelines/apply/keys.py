"""Conditions on the key of a change: k<id>, or b<id> before and a<id> after it (o<id> and n<id> while it is decoded)."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from pipelines.apply.shallow import any_of


def is_moved(key: Iterable[int], before: str = "b", after: str = "a") -> Expression:
    """Return whether the row has another key after the change. Never NULL."""
    return any_of(~F.col(f"{before}{i}").eqNullSafe(F.col(f"{after}{i}")) for i in key)


def has_null(key: Iterable[int], side: str = "k") -> Expression:
    """Return whether a column of the key is NULL."""
    return any_of(F.col(f"{side}{i}").isNull() for i in key)
