"""Assemble the transactions of a batch, and check that each row that was read is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow.compute as pc

from redolake.apply.commit_ranges import ddl_scns, stop_scn
from redolake.apply.context import ApplyContext
from redolake.assemble.assembled import AssembledBatch, assemble_batch, no_changes
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.parked import find_resting, with_resting
from redolake.assemble.row_accounting import check_balance
from redolake.job.damaged_files import check_carried
from redolake.job.without_spark import NoSpark
from redolake.land.cures import mine_again
from redolake.land.files import Files
from redolake.land.parquet import read_columns
from redolake.records.batches.carry import ParkedRows
from redolake.records.batches.manifest import RowAccount
from redolake.records.batches.spec import Course, Redo, TableTask
from redolake.values.delivery import widest
from redolake.values.scn import ScnRange


@dataclass(frozen=True, slots=True)
class Assembly:
    """`read` contains the rows that were read; `batch` also counts parked rows that were not. `balances` has each table's row
    account."""

    read: AssembledBatch
    batch: AssembledBatch
    rests: Sequence[ParkedRows]
    balances: Sequence[RowAccount]

    @property
    def rows(self) -> int:
        return sum(balance.landed + balance.carried_in for balance in self.balances)


def assemble(context: ApplyContext, redo: Redo, captured: Sequence[CapturedTable]) -> Assembly:
    spark, scns, keep = context.spark, context.scns, partial(context.kept.keep, None)
    if isinstance(spark, NoSpark):
        nothing = no_changes(spark, newest_time(redo))
        return Assembly(nothing, nothing, (), check_accounts(redo, nothing, captured))
    rests = [] if redo.dropped else find_resting(spark, redo.windows, redo.parked, captured)
    carry_in = (*redo.carry_in, *(file for one in redo.parked if one not in rests for file in one.files))
    check_carried(redo, carry_in)
    read = assemble_batch(
        spark, scns, redo.windows, carry_in, captured, redo.container, redo.dropped, redo.doubtful_scn, redo.open_in, keep
    )
    batch = with_resting(read, rests, captured)
    return Assembly(read, batch, rests, check_accounts(redo, batch, captured))


def newest_time(redo: Redo) -> str | None:
    """Return the time of the newest landed row, by the database host's clock (InputCounts.read_to)."""
    parts = (
        pc.max(rows["at"]).as_py()
        for window in redo.windows
        for folder, _, name in (file.rpartition("/") for file in window.files)
        for rows in read_columns(Files(folder), [name], ["at"], {}, mine_again(window.name))
    )
    newest = max((at for at in parts if at is not None), default=None)
    return None if newest is None else newest.strftime("%Y-%m-%d %H:%M:%S")


def captured_table(task: TableTask, number: int, found: int | None, scns: ScnRange) -> CapturedTable:
    course, position = task.course, -1 if found is None else found
    return CapturedTable(
        number=number,
        id=task.table,
        names=course.names,
        object_ids=tuple(sorted({i for version in course.versions for i in version.object_ids})),
        rows_have_rowids=all(version.organization != "index" for version in course.versions),
        position=position,
        stop_scn=stop_scn(task, scns),
        open_since=task.destination.open_since,
        ddl_scns=ddl_scns(task, scns, position),
        no_large_objects=leaves_out_objects(course),
        plain_columns=plain_columns(course),
        delivery=widest(course.deliveries),
    )


def plain_columns(course: Course) -> tuple[str, ...]:
    names = {column.name for version in course.versions for column in version.columns if version.hides_rowids}
    return tuple(sorted(names - {name for version in course.versions for name in version.large_columns}))


def leaves_out_objects(course: Course) -> bool:
    """Return whether columns are left out, and none of the others is one that redo of a large object can concern."""
    left_out = any(version.left_out for version in course.versions)
    return left_out and not any(version.has_large_objects for version in course.versions)


def check_accounts(redo: Redo, batch: AssembledBatch, captured: Sequence[CapturedTable]) -> list[RowAccount]:
    """Return each table's row account. Raise InvariantBroken unless the rows of every table and every window add up."""
    balances = [batch.accounting.balance(table.number, batch.input_counts) for table in captured]
    for table, balance in zip(captured, balances, strict=True):
        check_balance(balance, table=table.id)
    for name, account in batch.accounting.accounts(redo.windows, batch.input_counts).items():
        check_balance(account, window=name)
    return balances
