"""The range of a batch's keys: MERGE need not read a file of the target whose keys are all outside it.

New rows get their keys from a sequence, and most changes are of young rows. Delta knows the least and the greatest key of each
file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Row

from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.spark.quoting import quoted
from pipelines.apply.target import TargetColumn
from pipelines.values.table import TableVersion

# All files of a smaller table are read sooner than Delta compares a range with them.
LARGE_BYTES = 64 << 20
# The text of other types does not always give the same value when it is read again, and Delta keeps the beginning of a string.
WHOLE_NUMBER = re.compile(r"int|bigint|decimal\(\d+,0\)")


@dataclass(frozen=True, slots=True)
class KeyRange:
    column: TargetColumn
    low: int
    high: int

    def condition(self, target: str) -> str:
        name, type_ = f"{target}.{quoted(self.column.name)}", self.column.type
        return f"{name} >= CAST({self.low} AS {type_}) AND {name} <= CAST({self.high} AS {type_})"


def ranged_column(table: DeltaTable, version: TableVersion) -> TargetColumn | None:
    """Return the first column of the key, if the table is large and the column has whole numbers."""
    if table.bytes is None or table.bytes < LARGE_BYTES or not version.key:
        return None
    column = table.columns[version.key[0]]
    return column if WHOLE_NUMBER.fullmatch(column.type) else None


def key_range(column: TargetColumn | None, seen: Row) -> KeyRange | None:
    """Return the range by the answer to the look at the net changes; None where they have no keys."""
    return None if column is None or seen["low"] is None else KeyRange(column, int(seen["low"]), int(seen["high"]))
