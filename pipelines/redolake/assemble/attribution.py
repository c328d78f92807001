"""Find the captured table of each redo row, by object id or by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.valueless import valueless
from redolake.records.batches.spec import NameInRedo
from redolake.values.delivery import PLAIN, Delivery
from redolake.values.logminer import LARGE_OBJECT_CHANGES, Mined
from redolake.values.redo import CONTROL
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A captured table in a batch. It needs the commits in (position, stop_scn), split into commit ranges at `ddl_scns`.

    The rows of an index-organized table have no ROWIDs: `rows_have_rowids` is false.
    """

    number: int
    id: TableId
    object_ids: tuple[int, ...]
    position: int  # the target contains all commits up to this SCN; -1 for none
    stop_scn: int
    # Where the oldest transaction began that was open at `position`, if that is of a snapshot, or where another reader goes on.
    open_since: int | None = None
    ddl_scns: tuple[int, ...] = ()
    delivery: Delivery = PLAIN  # the widest under any of its versions
    no_large_objects: bool = False  # no version has a column that redo of a large object can concern
    plain_columns: tuple[str, ...] = ()  # columns that hold no large object in any version
    rows_have_rowids: bool = True
    names: tuple[NameInRedo, ...] = ()  # where it was renamed; empty for its own name alone


def add_table_numbers(rows: DataFrame, tables: Sequence[CapturedTable], container: str | None) -> DataFrame:
    """Add `table_number`, NULL for control rows and objects that are not captured, and `unknown_object`.

    `left_out` marks a change of a large object in a table all of whose large objects are left out, and INTERNAL rows, which say
    where a statement ends that writes large objects (undo.py). `is_reread` marks such a change in a table
    whose large objects are read again or assembled, and each change of a table whose rows are read again (valueless.py).

    `unknown_object` marks a row that has the table's name and an OBJECT_ID that the table never had. The id decides: LogMiner
    takes names from the dictionary at mining time, so after a RENAME or a redefinition another object's redo can have them.
    """
    names = [(one, s.number) for s in tables for one in s.names or (NameInRedo(s.id),)]
    by_name = {spelling(one.name): number for one, number in names if one.until is None}
    by_id = {object_id: s.number for s in tables for object_id in s.object_ids}
    object_id = F.col("object_id").cast("bigint")
    own = _look_up(by_id, object_id)
    name = F.concat(F.col("seg_owner"), F.lit("\0"), F.col("table_name"))
    former = [
        F.when((name == spelling(one.name)) & (F.col("scn") < one.until), F.lit(number))
        for one, number in names
        if one.until is not None
    ]
    named = F.coalesce(*former, _look_up(by_name, name))
    captured = ~F.col("operation_code").isin(*CONTROL)
    if container is not None:
        captured = captured & F.col("con_name").eqNullSafe(container)
    has_ids = named.isin([s.number for s in tables if s.object_ids])
    was_renamed = named.isin([s.number for s in tables if s.names])
    unknown_object = own.isNull() & has_ids & ((object_id != 0) | was_renamed)
    number, codes = F.when(captured, F.coalesce(own, named)), F.col("operation_code").isin(*LARGE_OBJECT_CHANGES)
    without, again = (
        [s.number for s in tables if s.no_large_objects],
        [s.number for s in tables if valueless(s.delivery) == "objects"],
    )
    whole = [s.number for s in tables if valueless(s.delivery) == "all"]
    is_end = F.col("operation_code") == Mined.INTERNAL
    numbered = rows.withColumns(
        {
            "table_number": number,
            "left_out": F.coalesce(is_end | (codes & number.isin(without)) if without else is_end, F.lit(False)),
            "is_reread": F.coalesce((codes & number.isin(again)) | number.isin(whole), F.lit(False))
            if again or whole
            else F.lit(False),
            "unknown_object": F.coalesce(captured & unknown_object, F.lit(False)),
        }
    )
    in_indexes = [s.number for s in tables if not s.rows_have_rowids]
    if not in_indexes:
        return numbered
    # Undo rows of such a table undo its changes in reverse order under either reading of LogMiner, and its key distinguishes
    # rows.
    has_none = F.coalesce(F.col("table_number").isin(in_indexes), F.lit(False))
    return numbered.withColumn("row_id", F.when(~has_none, F.col("row_id")))


def spelling(table: TableId) -> str:
    return f"{table.owner}\0{table.name}"


def _look_up(numbers: dict[str, int] | dict[int, int], key: Expression) -> Expression:
    if not numbers:
        return F.lit(None).cast("int")
    entries: list[Expression] = []
    for known, number in numbers.items():
        entries += [F.lit(known) if isinstance(known, str) else F.lit(known).cast("bigint"), F.lit(number)]
    return F.try_element_at(F.create_map(*entries), key)
