"""Write a table again with other columns, in one commit: where Delta, or a reader of it, knows no smaller way."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Writer
from redolake.apply.schema import OURS
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.spelling import one_spelling
from redolake.apply.table_log import COLUMN_ID
from redolake.apply.target import TargetColumn
from redolake.errors import ValueDoesNotFit
from redolake.values.common_type import DECIMAL
from redolake.values.table import TableId

log = logging.getLogger(__name__)

WHOLE_DIGITS = {"int": 10, "bigint": 20}  # that a decimal must have to hold one, by Delta's rules
NUMBERS = ("int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True, slots=True)
class Casting:
    """`misfit` is true where the new type cannot hold the value."""

    value: Expression
    misfit: Expression


def widens(old: str, new: str) -> bool:
    """Return whether Delta's type widening covers the change, so that no file is written again."""
    to = DECIMAL.fullmatch(new)
    if to is None:
        return (old, new) in {("int", "bigint"), ("int", "double"), ("float", "double")}
    whole, scale = int(to[1]) - int(to[2]), int(to[2])
    if old in WHOLE_DIGITS:
        return whole >= WHOLE_DIGITS[old]
    was = DECIMAL.fullmatch(old)
    return was is not None and scale >= int(was[2]) and whole >= int(was[1]) - int(was[2])


def choose_casting(name: str, old: str, new: str) -> Casting:
    """Return how a column's values become the new type; where the types have nothing in common, every value is a misfit."""
    value = F.col(quote(name))
    if old.startswith(NUMBERS) and new.startswith(NUMBERS):
        cast = value.try_cast(new)
        return Casting(cast, value.isNotNull() & ~value.eqNullSafe(cast.try_cast(old)))
    if new == "string" and old.startswith(NUMBERS):
        is_number = F.abs(value.cast("double")) < F.lit(float("inf"))  # Spark orders NaN above infinity
        return Casting(one_spelling(value.cast(new)), value.isNotNull() & ~is_number)
    return Casting(F.lit(None).cast(new), value.isNotNull())


def rewrite(writer: Writer, after: Mapping[int, TargetColumn]) -> None:
    """Leave the columns of `after`, under their names and types there. Raise ValueDoesNotFit before anything is written.

    Spark reads and writes file by file, so memory does not grow with the table. Older versions stay as they are.
    """
    table, kept, misfits, names = writer.table, [], {}, dict[str, str]()
    for field in table.schema.fields:
        column_id = field.metadata.get(COLUMN_ID)
        column = None if column_id is None else after.get(int(column_id))
        if column_id is not None and column is None:
            continue
        old, name = field.dataType.simpleString(), field.name if column is None else column.name
        value: Expression = F.col(quote(field.name))
        if column is not None and column.type != old:
            cast = choose_casting(field.name, old, column.type)
            value, misfits[name] = cast.value, cast.misfit
        metadata = {key: kept_ for key, kept_ in field.metadata.items() if key.startswith(OURS)}
        kept.append(value.alias(name, metadata=metadata))
        names[field.name] = name
    check_values(table, misfits, writer.terms.table)
    assert table.log is not None
    partitions = [names[name] for name in table.log.partition_columns() if name in names]
    writer.create(table.rows().select(*kept), partitions=partitions)


def check_values(table: DeltaTable, misfits: Mapping[str, Expression], table_id: TableId) -> None:
    if not misfits:
        return
    found = table.rows().agg(*(F.count_if(misfit).alias(name) for name, misfit in misfits.items())).collect()[0]
    for name in misfits:
        if found[name]:
            raise ValueDoesNotFit(
                f"{found[name]} values of {name} do not fit the column's new type",
                cure=f"run `redolake snapshot {table_id} --replace` to rebuild the table",
                table=table_id,
                column=name,
            )
