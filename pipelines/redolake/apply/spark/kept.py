"""Rows that the executors keep while a batch reads them several times."""

from __future__ import annotations

from collections import defaultdict

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from redolake.apply.spark.session import is_connect
from redolake.host.spark_settings import KEPT
from redolake.values.table import TableId

TWICE = StorageLevel(True, True, False, True, 2)  # in memory, else on disk, on two executors


class KeptRows:
    """Hold what the executors keep for the tables of one batch. Tables are applied side by side."""

    def __init__(self, where: str = "local") -> None:
        self._where = where
        self._of_tables: defaultdict[TableId | None, list[DataFrame]] = defaultdict(list)

    @classmethod
    def of_session(cls, session: SparkSession) -> KeptRows:
        return cls(session.conf.get(KEPT, None) or "local")

    def keep(self, table: TableId | None, rows: DataFrame) -> DataFrame:
        """Keep the rows in the executors, for a table or for all: MERGE plans its source several times, with everything it is
        computed from. What is kept cannot be computed again, so that Delta's own retry of a source would find nothing either.

        The count that follows computes them; an eager checkpoint would run a job of its own for that.
        """
        kept = rows.localCheckpoint(False, *([TWICE] if self._where == "replicated" else ()))
        self._of_tables[table].append(kept)
        # Without the rows that are kept beside it, a reliable checkpoint would compute them twice.
        return kept.checkpoint(eager=False) if self._where == "checkpoint" else kept

    def let_go(self, table: TableId | None) -> None:
        """Free what is kept for the table, or for all. Nothing may read it afterwards.

        Spark itself frees it only after Java has found that nothing refers to it, which takes it several batches: meanwhile
        it fills the heap, is written to disk, and Java looks for garbage without end. Connect has no call for this.
        """
        for rows in self._of_tables.pop(table, ()):
            if not is_connect(rows.sparkSession):
                rows._jdf.logicalPlan().rdd().unpersist(False)
