"""Remove what a history says of older times: the epoch that counts at an SCN then begins there, with the rows of that SCN.

One commit replaces the older rows by that copy, so a reader finds both or neither. What the history says of that SCN and of all
later ones stays as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.epochs import BEGAN, EPOCH, newest_epoch
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.session import run_query
from redolake.apply.table_log import COLUMN_ID, KEY_PLACE
from redolake.apply.target import Tag, Target, Terms
from redolake.values.history import COLUMNS
from redolake.values.history_sql import as_of_sql

VIEW = "redolake_older_history"
REMOVED = "what was older was removed"


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """`older` of `rows` rows are of times before SCN `scn`, where `epoch` counts."""

    scn: int
    epoch: int
    older: int
    rows: int

    @property
    def predicate(self) -> str:
        return f"_epoch < {self.epoch} OR (_epoch = {self.epoch} AND _commit_scn <= {self.scn})"


def find_cut(history: Target, limit: datetime) -> HistoryCut | None:
    """Return where the history can begin so that it still has all that was committed after the limit, by the database's clock.
    None where it has nothing older."""
    if history.log is None:
        return None
    last = history.rows().filter(F.col("_commit_time") <= F.lit(limit)).agg(F.max("_commit_scn")).collect()[0][0]
    begins = [(row["_epoch"], row["_commit_scn"]) for row in history.rows().filter(F.col("_op") == "begin").collect()]
    counting = max((epoch for epoch, since in begins if last is not None and since <= last), default=None)
    if last is None or counting is None or (counting, last) == min(begins):
        return None
    cut = HistoryCut(int(last), int(counting), 0, 0)
    counts = history.rows().agg(F.count_if(F.expr(cut.predicate)).alias("older"), F.count("*").alias("rows")).collect()[0]
    return HistoryCut(cut.scn, cut.epoch, int(counts["older"]), int(counts["rows"]))


def cut_history(
    history: Target,
    table: Target,
    cut: HistoryCut,
    metadata: Mapping[str, object],
    terms: Terms,
) -> None:
    """Carry out the cut. `table` is the live one, whose key may be newer than that of the history's columns."""
    fields = [*history.schema.fields, *table.schema.fields]
    keys = {field.metadata[COLUMN_ID] for field in fields if KEY_PLACE in field.metadata}
    app = "" if history.log is None else next(filter(EPOCH.search, history.log.txns()), "")  # so that the commit is ours
    tag = Tag("", 0, {**metadata, **began(history, cut), "app": app})
    with history.commit(terms, tag, "history cut") as writer:
        writer.replace(beginning(history, cut, keys), cut.predicate)


def began(history: Target, cut: HistoryCut) -> dict[str, object]:
    """Return since when the newest epoch counts after the cut."""
    newest = newest_epoch(history.log)
    if newest is not None and newest.number == cut.epoch:
        return dict(zip(BEGAN, (cut.scn, REMOVED), strict=True))
    assert history.log is not None
    noted = history.log.note_with(*BEGAN)
    return {name: noted[name] for name in BEGAN if name in noted}


def beginning(history: Target, cut: HistoryCut, keys: Collection[int]) -> DataFrame:
    """Return the rows with which the history begins at the cut."""
    fields = [field for field in history.schema.fields if COLUMN_ID in field.metadata]
    names = [field.name for field in fields]
    key = [field.name for field in fields if field.metadata[COLUMN_ID] in keys]
    history.rows().createOrReplaceTempView(VIEW)
    there = run_query(history.spark, f"SELECT * FROM ({as_of_sql(VIEW, names, key, quote, cut.scn)}) r")
    loaded = there.withColumns({"_op": F.lit("load"), "_image": F.lit("after"), "_note": F.lit(None).cast("string")})
    first = history.spark.range(1).select(F.lit("begin").alias("_op"), F.lit(REMOVED).alias("_note"))
    both = first.unionByName(loaded, allowMissingColumns=True).withColumns(
        {"_commit_scn": F.lit(cut.scn), "_scn": F.lit(cut.scn), "_seq": F.lit(0), "_epoch": F.lit(cut.epoch)}
    )
    have = set(both.columns)
    types = {field.name: field.dataType for field in history.schema.fields}
    order = [*COLUMNS, *(field.name for field in history.schema.fields if field.name not in COLUMNS)]
    return both.select(*((F.col(quote(name)) if name in have else F.lit(None)).cast(types[name]).alias(name) for name in order))
