"""Delivery of a table whose changes LogMiner does not show: its changed rows come from the files of what capture has read."""

from __future__ import annotations

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery.prepared import PreparedRange, TableRange, ToMerge
from pipelines.apply.delta.merge import NetColumns
from pipelines.apply.looks import Plan
from pipelines.apply.whole_rows import whole_rows


def prepare(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    """Prepare a range. The rows of a batch's first range are those of the table's position, and of a later range those of the
    window's start, or later: its rows were read at the window's end."""
    yield from ()
    position = -1 if part.table.position is None or part.commit_range.number else part.table.position
    frame, windows = part.committed.frame, context.windows
    net = whole_rows(context.spark, frame, windows, part.task, part.version, position, context.translation)
    net = context.kept.keep(part.task.table, net)
    return ToMerge(net, NetColumns(part.key, filled=part.commit_range.filled))
