"""Types of columns in the lake, by their names in Spark SQL."""

from __future__ import annotations

import re

from pyspark.sql import types as T

_SIMPLE: dict[str, T.DataType] = {
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "timestamp": T.TimestampType(),
    "int": T.IntegerType(),
    "bigint": T.LongType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "boolean": T.BooleanType(),
    "date": T.DateType(),
}


def parse_type(text: str) -> T.DataType:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", text)
    return T.DecimalType(int(decimal[1]), int(decimal[2])) if decimal else _SIMPLE[text]
