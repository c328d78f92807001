"""Redolake's columns in a table: where a row's last change comes from, and whether it deleted the row."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from redolake.values.redo import Operation
from redolake.values.target_options import DELETED, TargetOptions


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """`changed` is SQL over a net change, `loaded` over a row of a snapshot with its `scn`; `needs` are columns of a change."""

    type: str
    changed: str
    loaded: str = "NULL"
    needs: tuple[str, ...] = ()


OPERATION = f"CASE WHEN op = 'D' THEN 'delete' WHEN operation_code = {Operation.INSERT:d} THEN 'insert' ELSE 'update' END"
OWN_COLUMNS = {
    "_commit_scn": OwnColumn("bigint", "commit_scn", "{scn}"),
    "_commit_time": OwnColumn("timestamp_ntz", "commit_at", needs=("commit_at",)),
    "_op": OwnColumn("string", OPERATION, "'load'"),
    "_xid": OwnColumn("string", "xid", needs=("xid",)),
    "_redo_thread": OwnColumn("int", "commit_thread"),
    DELETED: OwnColumn("boolean", "op = 'D'", "false"),
}
TYPES: dict[str, T.DataType] = {
    "bigint": T.LongType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "string": T.StringType(),
    "int": T.IntegerType(),
    "boolean": T.BooleanType(),
}


def own_fields(options: TargetOptions) -> list[T.StructField]:
    return [T.StructField(name, TYPES[OWN_COLUMNS[name].type], True) for name in options.own_columns]


def of_change(options: TargetOptions) -> list[Expression]:
    """Return the columns' values after a net change, under their names."""
    return [F.expr(OWN_COLUMNS[name].changed).cast(OWN_COLUMNS[name].type).alias(name) for name in options.own_columns]


def of_load(options: TargetOptions, scn: int) -> dict[str, Expression]:
    own = {name: OWN_COLUMNS[name] for name in options.own_columns}
    return {name: F.expr(column.loaded.format(scn=scn)).cast(column.type) for name, column in own.items()}


def needed_columns(options: TargetOptions) -> tuple[str, ...]:
    """Return the columns of changes that the table's own columns are made of, apart from those of every change."""
    return tuple(dict.fromkeys(need for name in options.own_columns for need in OWN_COLUMNS[name].needs))


def live(rows: DataFrame, options: TargetOptions) -> DataFrame:
    """Return the rows that are not marked as deleted."""
    return rows.filter(~F.col(DELETED)) if options.deletes == "mark" else rows
