"""Delivery with large objects that capture reads again: all other values are in the redo.

A row that was read again is true AS OF its window's end, so the newest one of a key is right at the end of the batch. A change
that does not touch an object leaves the target's value as it is.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery.changes import decode_range, filled_events
from pipelines.apply.delivery.objects import decode_objects
from pipelines.apply.delivery.prepared import NetChanges, TableRange
from pipelines.apply.large_objects import (
    files_of,
    named_objects,
    of_objects,
    read_again,
    unfound,
    with_row_ids,
    with_values,
    without_objects,
)
from pipelines.apply.looks import Plan
from pipelines.apply.net import net_change
from pipelines.errors import RedoNotUnderstood
from pipelines.values.delivery import RereadValues


def net_changes(context: ApplyContext, part: TableRange, delivery: RereadValues) -> Plan[NetChanges]:
    decoded = decode_range(context, part, without_objects(part.committed.frame), shows_touched=True)
    decoded = with_row_ids(decoded, part.key)
    happened, missing = yield from filled_events(context, part, decoded, delivery.columns, objects=True)
    net = net_change(happened, part.key, objects=True, rows_vanish=part.commit_range.rows_vanish)
    net, of_objects_alone = with_objects(context, part, delivery, decoded, net)
    return NetChanges(net, part.committed.count - of_objects_alone, missing, delivery.columns)


def with_objects(
    context: ApplyContext, part: TableRange, delivery: RereadValues, decoded: DataFrame, net: DataFrame
) -> tuple[DataFrame, int]:
    """Return the net changes with the large objects that were read again, and the number of changes of large objects."""
    task, commit_range, version = part.task, part.commit_range, part.version
    columns = tuple(version.column(i) for i in delivery.columns)
    files = files_of(context.windows, task, commit_range.start - 1)
    again = read_again(context.spark, files, version, columns, task, context.translation)
    changed = of_objects(part.committed.frame)
    count, late = changed.count(), any(file.late for file in files)
    objects, unnamed = named_objects(decode_objects(context, part, changed), part.key)
    if count and not late and (missing := unfound(objects, again, decoded, part.key) + unnamed.count()):
        names = ", ".join(column.name for column in columns)
        raise RedoNotUnderstood(
            f"{missing} change(s) of large objects belong to rows that were neither read again nor deleted ({names})",
            cure=f"run `redolake snapshot {task.table} --replace`; where it comes again, leave the columns out "
            "(`exclude_columns`)",
            table=task.table,
            scn=commit_range.last_scn,
        )
    return with_values(net, objects, again, version.key, columns, late=late), count
