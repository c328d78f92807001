"""Add a history that was made of older redo to the history of the live table, in one commit.

It becomes the newest epochs, so that it counts from its first SCN on; what the history said before stays. The stream continues
it: the commit has the position of the live table.
"""

from __future__ import annotations

from collections import Counter

from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delta.history import BEGAN, DeltaHistory, fields_of, newest_epoch, of_table
from redolake.apply.delta.schema import COLUMN_ID
from redolake.apply.delta.table import DeltaTable
from redolake.apply.spark.quoting import quote
from redolake.errors import SchemaConflict
from redolake.records.batches.spec import TableTask
from redolake.values import frames
from redolake.values.history import COLUMNS

REBUILT = "the history was rebuilt from redo"


def add_rebuilt(context: ApplyContext, history: DeltaHistory, table: DeltaTable, task: TableTask, made: DeltaHistory) -> int:
    """Append the rows of `made`, whose changes end where those of the live table do. Return how many epochs it has."""
    check_columns(made, task)
    there, epoch, last = of_table(table), newest_epoch(history.log), newest_epoch(made.log)
    assert last is not None, "a batch has begun it"
    before = 0 if epoch is None else epoch.number
    context.may_commit()
    history.claim(context, table, task)
    history.fit(context, table, task, 1 + (there.position or 0))
    for field in fields_of(made):
        if field.metadata[COLUMN_ID] not in history.columns:  # dropped since
            history.add_to_history(context, task, field, 1 + (there.position or 0))
    begins = (F.col("_op") == "begin") & (F.col("_epoch") == 1)
    rows = made.rows.select(
        *(F.col(name) for name in COLUMNS if name not in ("_epoch", "_note")),
        (F.col("_epoch") + before).alias("_epoch"),
        F.when(begins, F.lit(REBUILT)).otherwise(F.col("_note")).alias("_note"),
        *(F.col(quote(column.name)).alias(frames.after(i)) for i, column in made.columns.items()),
    )
    context.may_commit()
    newest = made.log.note_with(*BEGAN) if made.log is not None else {}
    began = (int(newest.get("epoch_since", 0)), REBUILT if last.number == 1 else str(newest.get("epoch_because", "")))
    history.append_epoch(context, table, task, rows, there, before + last.number, began)
    return last.number


def check_columns(made: DeltaHistory, task: TableTask) -> None:
    """Raise SchemaConflict where a column has changed its type in a way that gave it two columns of the history."""
    ids = Counter(field.metadata[COLUMN_ID] for field in fields_of(made))
    if twice := [made.columns[i].name for i, number in ids.items() if number > 1]:
        raise SchemaConflict(
            f"the type of {', '.join(twice)} has changed in the range, to one that holds no older values",
            cure="rebuild the history from a later SCN, after that change",
            table=task.table,
        )
