"""The values of Redolake's columns in a table (values/own_columns.py)."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from redolake.apply.spark.types import parse_type
from redolake.values.own_columns import DELETED, OWN_COLUMNS
from redolake.values.target_options import TargetOptions


def own_fields(options: TargetOptions) -> list[T.StructField]:
    return [T.StructField(name, parse_type(OWN_COLUMNS[name].type), True) for name in options.own_columns]


def of_change(options: TargetOptions) -> list[Expression]:
    """Return the columns' values after a net change, under their names."""
    return [F.expr(OWN_COLUMNS[name].changed).cast(OWN_COLUMNS[name].type).alias(name) for name in options.own_columns]


def with_own_columns(net: pa.Table, options: TargetOptions) -> pa.Table:
    """Return net changes that this process has, with those columns."""
    rows = net.select(["op", *columns_of_change(options)]).to_pylist()
    for name in options.own_columns:
        own = OWN_COLUMNS[name]
        net = net.append_column(name, pa.array(map(own.value, rows), to_arrow_type(parse_type(own.type))))
    return net


def of_load(options: TargetOptions, scn: int) -> dict[str, Expression]:
    own = {name: OWN_COLUMNS[name] for name in options.own_columns}
    return {name: F.expr(column.loaded.format(scn=scn)).cast(column.type) for name, column in own.items()}


def columns_of_change(options: TargetOptions) -> tuple[str, ...]:
    """Return the columns of a change that those of the table are made of."""
    return tuple(dict.fromkeys(("operation_code", "commit_scn", "commit_thread", *needed_columns(options))))


def needed_columns(options: TargetOptions) -> tuple[str, ...]:
    """Return the columns of changes that the table's own columns are made of, apart from those of every change."""
    return tuple(dict.fromkeys(need for name in options.own_columns for need in OWN_COLUMNS[name].needs))


def live(rows: DataFrame, options: TargetOptions) -> DataFrame:
    """Return the rows that are not marked as deleted."""
    return rows.filter(~F.col(DELETED)) if options.deletes == "mark" else rows
