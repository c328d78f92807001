"""Values that a partition's path cannot hold: Delta would write another value, or Spark would fail to write.

A path is `NAME=value`. Spark writes some characters of it as %XX, and NULL as a word of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.spark.shallow import any_of
from redolake.apply.spark.text import as_text
from redolake.apply.target import REPLACE, UPSERT, TargetColumn
from redolake.errors import ValueDoesNotFit
from redolake.values import frames
from redolake.values.table import TableId
from redolake.values.target_options import TargetOptions

LONGEST = 255  # bytes of a folder's name, on most file systems
MAPPED_NAME = 40  # characters of the name that column mapping gives a column
NULL_WORD = "__HIVE_DEFAULT_PARTITION__"
ESCAPED = r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]"""
UNESCAPED = ESCAPED.replace("[", "[^", 1)
WHAT = f"a text that no path of a partition can hold (more than {LONGEST} bytes, {NULL_WORD}, or with a character NUL)"


def unfit(name: str, value: Expression) -> Expression:
    """Return whether a text is no value of a partition's path. NULL is one."""
    in_path = F.octet_length(value) + 2 * F.length(F.regexp_replace(value, UNESCAPED, ""))
    room = LONGEST - 1 - max(3 * len(name.encode()), MAPPED_NAME)
    return value.isin("", NULL_WORD) | F.contains(value, F.lit("\0")) | (in_path > room)


def cure_of(table: TableId) -> str:
    return (
        f"take the column out of `partition_by` of {table} and run `redolake snapshot {table} --replace`; or change the value "
        f"in Oracle, and once capture has read that, run `redolake resume {table}`"
    )


def with_findings(
    changes: DataFrame, columns: Mapping[int, TargetColumn], key: Iterable[int], options: TargetOptions
) -> DataFrame:
    """Return changes, net or not, with a finding for a value that its partition's path cannot hold."""
    partitions = {*map(options.name, options.partition_by)}
    unfits = {
        c.name: unfit(c.name, F.col(frames.after(c.id)))
        for c in columns.values()
        if c.name in partitions and c.type == "string"
    }
    if not unfits:
        return changes
    stays = F.col("op").isin(UPSERT, REPLACE) if "op" in changes.columns else F.lit(True)
    name = F.coalesce(*(F.when(condition, F.lit(name)) for name, condition in unfits.items()))
    shown = [
        F.concat(F.lit(f"{columns[i].name} "), as_text(F.col(frames.key(i)))) for i in key if frames.key(i) in changes.columns
    ]
    row = [F.lit(" in the row with "), F.concat_ws(", ", *shown)] if shown else []
    what = F.concat(name, F.lit(f" contains {WHAT}"), *row)
    code = F.lit(ValueDoesNotFit.__name__)
    found = F.struct("commit_scn", F.col("commit_scn").alias("scn"), code.alias("code"), what.alias("what"))
    return changes.withColumn("finding", F.coalesce("finding", F.when(stays & any_of(unfits.values()), found)))
