"""Decode a range's changes of large objects."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.prepared import TableRange
from redolake.apply.landed.decoded import Target, decode
from redolake.apply.objects.large_objects import OF_OBJECT
from redolake.values.logminer import NO_ROWID


def decode_objects(context: ApplyContext, part: TableRange, changed: DataFrame, *, has_pieces: bool = False) -> DataFrame:
    """Return the changes of large objects with the key that their text shows (b<id>). Without a ROWID they have the
    placeholder. With `has_pieces`, what they do is wanted too."""
    columns = tuple(part.table.columns[i] for i in part.key)
    target = Target(columns, part.key, frozenset(), also=OF_OBJECT, has_pieces=has_pieces)
    task = part.task
    decoded = decode(changed, part.known_versions, task.course.rules, target, context.translation, task.course.mined_names)
    return decoded if part.version.organization != "index" else decoded.withColumn("row_id", F.lit(NO_ROWID))
