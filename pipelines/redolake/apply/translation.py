"""The functions of decode and schema that apply uses without importing those stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame

from redolake.values.delivery import Delivery
from redolake.values.table import OracleType, Rules, TableVersion, TypeRule

# Redo rows of one version -> the same columns but sql_redo, and error, error_sql (string), unknown (names), missing and
# assigned (column ids), nulled (where values may be NULL by rule), and the values before and after as o<id> and n<id>.
# The last arguments give column ids by the names in the redo, where these are not the version's, and the columns whose o<id> is
# wanted: each costs as much as an n<id>.
Decode = Callable[[DataFrame, TableVersion, Delivery, Rules, Mapping[str, int] | None, Collection[int]], DataFrame]
# The same of rows that this process has, whose names in the redo are the version's.
DecodeRows = Callable[[pa.RecordBatch, TableVersion, Delivery, Rules, Collection[int]], pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Translation:
    """`decode_pieces` decodes rows about large objects and adds what they do to one (apply.decoded.PIECE). `spark_type` returns
    DDL text, e.g. decimal(10,2); `cast_text` turns text, as redo would show the value, into a struct of `value`, `refused`,
    a reason or null, and `nulled`: whether it is NULL by rule. `read_text` reads bytes in the database's character set, or
    raises ValueError."""

    decode: Decode
    decode_rows: DecodeRows
    decode_pieces: Decode
    spark_type: Callable[[OracleType, TypeRule], str]
    cast_text: Callable[[Expression, OracleType, TypeRule], Expression]
    read_text: Callable[[bytes], str]
