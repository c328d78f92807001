"""How a commit range becomes one MERGE or append, one module for each delivery (pipelines/redolake/values/delivery.py).

`prepare_range` decodes the changes, checks them, and computes what is to be written. Nothing is committed.
"""

from __future__ import annotations

from typing import assert_never

from redolake.apply.context import ApplyContext
from redolake.apply.delivery import appended, keyed, reread_rows, whole_table
from redolake.apply.delivery.prepared import PreparedRange, TableRange
from redolake.apply.quarantine.divide import check_plain
from redolake.apply.spark.probes import Plan
from redolake.values.delivery import (
    PLAIN,
    Appended,
    Assembled,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
    WholeTable,
)


def prepare_range(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    """Raise the range's problem, or SchemaConflict for a target with other columns, before anything is decoded."""
    if part.committed.problem is not None:
        raise part.committed.problem
    part.check_columns(context.translation)
    check_plain(
        context, part.table, part.task, part.commit_range, is_plain=part.commit_range.delivery in (PLAIN, WholeTable(PLAIN))
    )
    return (yield from by_delivery(context, part))


def by_delivery(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    match part.commit_range.delivery:
        case Plain() | NullableKey() | RereadValues() | Assembled() as delivery:
            return keyed.prepare(context, part, delivery)
        case WholeTable() as delivery:
            return whole_table.prepare(context, part, delivery)
        case RereadRows():
            return reread_rows.prepare(context, part)
        case Appended():
            return appended.prepare(context, part)
        case other:
            assert_never(other)
