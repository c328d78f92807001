"""Delivery of a table without a key: its INSERTs are appended, and anything else is a finding."""

from __future__ import annotations

from pyspark.sql import functions as F

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery.changes import decode_range
from pipelines.apply.delivery.prepared import PreparedRange, TableRange, ToAppend
from pipelines.apply.landed.check_changes import check_all, probe_changes
from pipelines.apply.spark.probes import Plan
from pipelines.values.redo import Operation


def prepare(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    decoded = part.table.with_findings(decode_range(context, part), (), part.task.options)
    check_all(part.task, (yield probe_changes(decoded)), part.committed.count)
    inserts = decoded.filter(F.col("operation_code") == Operation.INSERT)
    if part.filter is not None:
        inserts = inserts.filter("passes")
    # Of a statement that writes large objects, some rows set nothing, and are no INSERT.
    is_each = part.filter is None and not part.version.hides_rowids
    return ToAppend(inserts, part.committed.count if is_each else inserts.count())
