"""Delivery with large objects that are assembled from all their changes in the redo."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.changes import decode_range, filled_events
from redolake.apply.delivery.objects import decode_objects
from redolake.apply.delivery.prepared import NetChanges, TableRange
from redolake.apply.landed.check_changes import check_all, probe_changes
from redolake.apply.net.net_change import net_change
from redolake.apply.objects.assembling import assemble, of_rows, with_assembled, with_pieces, without_pieces
from redolake.apply.objects.large_objects import of_objects, without_objects
from redolake.apply.own_columns import live
from redolake.apply.spark.probes import Plan
from redolake.apply.target import TargetColumn
from redolake.values.delivery import Assembled


def net_changes(context: ApplyContext, part: TableRange, delivery: Assembled) -> Plan[NetChanges]:
    large = tuple(part.table.columns[i] for i in delivery.columns)
    decoded = decode_range(context, part, without_objects(part.committed.frame))
    decoded, objects, of_objects_alone = assemble_objects(context, part, delivery, large, decoded)
    happened, missing = yield from filled_events(context, part, decoded, delivery.columns)
    vanish, nulls = part.commit_range.rows_vanish, part.counts_nulls
    net = net_change(happened, part.key, rows_vanish=vanish, counts_nulls=nulls, asks_target=part.asks_target)
    net = with_assembled(net, objects, part.key, large, delivery.documents)
    missing = replace(missing, columns=(*missing.columns, *large))
    return NetChanges(net, part.committed.count - of_objects_alone, missing, delivery.columns)


def assemble_objects(
    context: ApplyContext, part: TableRange, delivery: Assembled, large: tuple[TargetColumn, ...], decoded: DataFrame
) -> tuple[DataFrame, DataFrame, int]:
    """Return the changes without large objects, the objects, and the number of changes of large objects."""
    changed, keep = of_objects(part.committed.frame), partial(context.kept.keep, part.task.table)
    count = changed.count()
    pieces = keep(of_rows(decode_objects(context, part, changed, has_pieces=True), part.key))
    check_all(part.task, probe_changes(pieces).answer(), count)
    both = keep(with_pieces(decoded, pieces, part.key))
    key, rows = [part.table.columns[i] for i in part.key], live(part.table.rows(), part.there.options)
    read_text = context.translation.read_text
    objects = assemble(both, rows, key, large, part.committed.count, delivery.documents, read_text, keep)
    return without_pieces(both, large), objects, count
