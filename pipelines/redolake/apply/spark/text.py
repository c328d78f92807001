"""Values in errors and samples: valid text, whatever bytes a value has. A Connect client could not read the row otherwise."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from redolake.values.datatypes import OCTETS
from redolake.values.table import Column


def to_text(value: Expression, column: Column) -> Expression:
    """Return the value of a column as text: bytes in hexadecimal digits, as Oracle shows them."""
    return F.hex(value) if column.type.name in OCTETS else as_text(value)


def as_text(value: Expression) -> Expression:
    return F.make_valid_utf8(value.cast("string"))
