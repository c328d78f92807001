"""COMMITTED_DATA_ONLY: whole transactions in the order of their commits, without what was rolled back.

A transaction without a commit in the range is not shown, and of one that began before the range the rows inside it are: what
Oracle does there is not verified. A change that a savepoint or a failed statement took back is left out with its undo row,
as published for 26ai. INTERNAL rows are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from standin.logminer.rows import MISSING_SCN
from standin.redo_file import DICTIONARY, Op, RedoRecord, from_batch, to_batch

# Columns of a record that only this form of mining knows.
COMMIT_SCN, COMMIT_AT, START_AT, NUMBER = "commit_scn", "commit_at", "start_at", "number_in_transaction"
Transaction = tuple[int, tuple[int, int, int]]  # CON_ID and XID of the coordinator


@dataclass(slots=True)
class _Changes:
    """The records of one open transaction that no rollback has taken back."""

    records: list[RedoRecord] = field(default_factory=list)
    started_at: datetime | None = None

    def add(self, record: RedoRecord) -> None:
        if record.op == Op.START:
            self.started_at = record.at
        if record.rollback:
            self._take_back(record)
        else:
            self.records.append(record)

    def _take_back(self, undo: RedoRecord) -> None:
        for at in range(len(self.records) - 1, -1, -1):
            record = self.records[at]
            if record.op not in _BARE and (record.object_id, record.row_id) == (undo.object_id, undo.row_id):
                del self.records[at]
                return


_BARE = frozenset({Op.START, Op.COMMIT, Op.ROLLBACK, Op.DDL})


def committed(batches: Iterable[pa.RecordBatch], learn: Callable[[str], None] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield a batch for each committed transaction, and those of missing logs where they are read.

    `learn` gets the definitions that the redo has between them, where a dictionary follows it.
    """
    open_transactions: dict[Transaction, _Changes] = {}
    for batch in batches:
        for record in from_batch(batch):
            key = (record.con_id, record.pxid or record.xid)
            if record.op == MISSING_SCN:
                yield _shown([record], record, None)
            elif record.op == Op.ROLLBACK and record.pxid is None:
                open_transactions.pop(key, None)
            elif record.info == DICTIONARY:
                if learn is not None:
                    learn(record.sql)
            elif record.op != Op.INTERNAL:
                changes = open_transactions.setdefault(key, _Changes())
                changes.add(record)
                if record.op == Op.COMMIT and record.pxid is None:
                    yield _shown(open_transactions.pop(key).records, record, changes.started_at)


def _shown(records: list[RedoRecord], commit: RedoRecord, started_at: datetime | None) -> pa.RecordBatch:
    """Return the records with the facts of their transaction. As Debezium has seen, a DDL and its START have no COMMIT_SCN."""
    batch, rows = to_batch(records), len(records)
    without = {Op.START, Op.DDL} if any(record.op == Op.DDL for record in records) else set()
    commit_scns = [None if record.op in without else commit.scn for record in records]
    batch = batch.append_column(COMMIT_SCN, pa.array(commit_scns, pa.int64()))
    batch = batch.append_column(COMMIT_AT, pa.array([commit.at] * rows, pa.timestamp("s")))
    batch = batch.append_column(START_AT, pa.array([started_at] * rows, pa.timestamp("s")))
    return batch.append_column(NUMBER, pa.array(range(1, rows + 1), pa.int64()))
