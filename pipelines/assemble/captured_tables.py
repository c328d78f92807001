"""Which captured table a redo row belongs to, by name or by object id, and how far that table is already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.redo import CONTROL
from pipelines.table import TableId


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A captured table in a batch: commits in (position, until) are wanted, cut into pieces at `cuts`."""

    number: int
    id: TableId
    object_ids: tuple[int, ...]
    position: int  # last SCN the target is complete to, -1 for none
    until: int
    cuts: tuple[int, ...] = ()


def add_table_numbers(rows: DataFrame, tables: Sequence[CapturedTable], container: str | None) -> DataFrame:
    """Adds `table`: the number of the row's table, NULL for control rows and for objects that are not captured; and
    `unknown_object`: the name is the table's, and the object is none that the table ever was.

    The id decides, for names are those of the dictionary that mined: the redo of a table that has the name since a RENAME, or
    a redefinition, shows it too.
    """
    by_name = {f"{s.id.owner}\0{s.id.name}": s.number for s in tables}
    by_id = {object_id: s.number for s in tables for object_id in s.object_ids}
    object_id = F.col("object_id").cast("bigint")
    own = _look_up(by_id, object_id)
    named = _look_up(by_name, F.concat(F.col("seg_owner"), F.lit("\0"), F.col("table_name")))
    captured = ~F.col("operation_code").isin(*CONTROL)
    if container is not None:
        captured = captured & F.col("con_name").eqNullSafe(container)
    has_ids = named.isin([s.number for s in tables if s.object_ids])
    unknown_object = own.isNull() & has_ids & (object_id != 0)
    return rows.withColumns(
        {
            "table_number": F.when(captured, F.coalesce(own, named)),
            "unknown_object": F.coalesce(captured & unknown_object, F.lit(False)),
        }
    )


def _look_up(numbers: dict[str, int] | dict[int, int], key: Expression) -> Expression:
    if not numbers:
        return F.lit(None).cast("int")
    entries: list[Expression] = []
    for known, number in numbers.items():
        entries += [F.lit(known) if isinstance(known, str) else F.lit(known).cast("bigint"), F.lit(number)]
    return F.try_element_at(F.create_map(*entries), key)
