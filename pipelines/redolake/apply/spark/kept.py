"""Rows that the executors keep while a batch reads them several times."""

from __future__ import annotations

from collections import defaultdict

from pyspark.sql import DataFrame

from redolake.apply.spark.session import is_connect
from redolake.values.table import TableId


class KeptRows:
    """Hold what the executors keep for the tables of one batch. Tables are applied side by side."""

    def __init__(self) -> None:
        self._of_tables: defaultdict[TableId, list[DataFrame]] = defaultdict(list)

    def keep(self, table: TableId, rows: DataFrame) -> DataFrame:
        """Keep the rows in the executors: MERGE plans its source several times, with everything it is computed from.

        The count that follows computes them; an eager checkpoint would run a job of its own for that.
        """
        kept = rows.localCheckpoint(eager=False)
        self._of_tables[table].append(kept)
        return kept

    def let_go(self, table: TableId) -> None:
        """Free what is kept for the table. Nothing may read it afterwards."""
        for rows in self._of_tables.pop(table, ()):
            let_go(rows)


def let_go(rows: DataFrame) -> None:
    """Free the rows in the executors if they are kept there.

    Spark itself frees them only after Java has found that nothing refers to them, which takes it several batches: meanwhile
    they fill the heap, are written to disk, and Java looks for garbage without end. Connect has no call for this.
    """
    if is_connect(rows.sparkSession):
        return
    plan = rows._jdf.logicalPlan()
    if plan.getClass().getSimpleName() == "LogicalRDD":
        plan.rdd().unpersist(False)
