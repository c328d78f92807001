"""Conditions on the key of a change: whatever values of it a frame has (values/frames.py)."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import any_of
from redolake.values import frames
from redolake.values.frames import Kind

# Spark writes milliseconds if nobody says otherwise.
_IN_FULL = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def is_moved(key: Iterable[int], before: Kind = frames.key_before, after: Kind = frames.after) -> Expression:
    """Return whether the row has another key after the change. Never NULL."""
    return any_of(~F.col(before(i)).eqNullSafe(F.col(after(i))) for i in key)


def has_null(key: Iterable[int], side: Kind = frames.key) -> Expression:
    """Return whether a column of the key is NULL."""
    return any_of(F.col(side(i)).isNull() for i in key)


def key_text(key: Expression) -> Expression:
    """Return a struct with the columns of a key as text, which is another one for each key."""
    return F.to_json(key, _IN_FULL)


def lacks_key(names: Iterable[str]) -> Expression:
    """Return whether one of these columns of a table is NULL."""
    return any_of(F.col(quote(name)).isNull() for name in names)
