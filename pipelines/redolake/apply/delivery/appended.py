"""Delivery of a table without a key: its INSERTs are appended, and anything else is a finding."""

from __future__ import annotations

from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.changes import decode_range
from redolake.apply.delivery.prepared import PreparedRange, TableRange, ToAppend
from redolake.apply.landed.check_changes import check_all, probe_changes
from redolake.apply.landed.mapped_changes import PASSES, filtered_by_window, probe_filtered
from redolake.apply.partitions import with_findings
from redolake.apply.spark.probes import Plan
from redolake.values.redo import Operation


def prepare(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    decoded = with_findings(decode_range(context, part), part.table.columns, (), part.there.options)
    seen = yield probe_changes(decoded, counts_nulls=part.counts_nulls)
    check_all(part.task, seen, part.committed.count)
    inserts = decoded.filter(F.col("operation_code") == Operation.INSERT)
    filtered = 0 if part.filter is None else (yield probe_filtered(decoded))["filtered"]
    if part.filter is not None:
        inserts = inserts.filter(PASSES)
    # A statement that writes large objects also has rows that set nothing and are no INSERT.
    count = inserts.count() if part.version.hides_rowids else part.committed.count - filtered
    nulled = seen["nulled"] if part.counts_nulls else 0
    return ToAppend(inserts, count, filtered, filtered_by_window(decoded) if filtered else {}, nulled=nulled)
