"""The range of a batch's keys: MERGE need not read a file of the target whose keys are all outside it.

New rows get their keys from a sequence, and most changes are of young rows. Delta knows the least and the greatest key of each
file.
"""

from __future__ import annotations

import re

from redolake.apply.spark.quoting import quote
from redolake.apply.target import KeyRange, Target, TargetColumn
from redolake.values.table import TableVersion

# All files of a smaller table are read sooner than Delta compares a range with them.
LARGE_BYTES = 64 << 20
# The text of other types does not always give the same value when it is read again, and Delta keeps the beginning of a string.
# More digits may be wrong there: delta-rs, which others compact tables with, cuts the statistics of a decimal at 2^63-1, and
# MERGE would pass over a file that has the key.
WHOLE_NUMBER = re.compile(r"int|bigint|decimal\((?:\d|1[0-8]),0\)")


def condition(keys: KeyRange, target: str) -> str:
    """Return as SQL whether a row of `target` may have one of the keys."""
    name, type_ = f"{target}.{quote(keys.column.name)}", keys.column.type
    return f"{name} >= CAST({keys.low} AS {type_}) AND {name} <= CAST({keys.high} AS {type_})"


def ranged_column(table: Target, version: TableVersion) -> TargetColumn | None:
    """Return the first column of the key, if the table is large and the column has whole numbers of at
    most 18 digits."""
    if table.bytes is None or table.bytes < LARGE_BYTES or not version.key:
        return None
    column = table.columns[version.key[0]]
    return column if WHOLE_NUMBER.fullmatch(column.type) else None
