"""Transactions that were open at the SCN to which a database is rewound: their changes, read from redo, and their rollback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from standin.engine.database.database import Database
from standin.engine.transactions.transaction import Xid
from standin.redo_file import Op, RedoRecord, from_batch, read_records, to_batch

_ENDS = (Op.COMMIT, Op.ROLLBACK)
_UNDONE_BY = {Op.INSERT: Op.DELETE, Op.DELETE: Op.INSERT, Op.UPDATE: Op.UPDATE, Op.UNSUPPORTED: Op.UNSUPPORTED}


def changes_open_at(database: Database, scn: int) -> list[RedoRecord]:
    """Return the START records and remaining changes of the transactions open at `scn`, in order.

    A parallel server ends with its coordinator, whose end may be in another thread.
    """
    begun: dict[tuple[int, Xid], tuple[int, Xid | None]] = {}
    ended: set[tuple[int, Xid | None]] = set()
    for record in _records(database, scn, (Op.START, *_ENDS)):
        if record.op == Op.START:
            begun[record.con_id, record.xid] = record.con_id, record.pxid
        else:
            ended.add((record.con_id, record.xid))
    changes: dict[tuple[int, Xid], list[RedoRecord]] = {x: [] for x, parent in begun.items() if not ended & {x, parent}}
    undone_ahead: set[tuple[int, str, int]] = set()  # addresses of undo rows that precede the rows they undo
    for record in _records(database, scn, (Op.START, *_UNDONE_BY)) if changes else ():
        own, address = changes.get((record.con_id, record.xid)), (record.thread, record.rs_id, record.ssn)
        if own is None or (address in undone_ahead and not record.rollback):
            continue
        if not record.rollback:
            own.append(record)
        elif own[-1].row_id == record.row_id and _UNDONE_BY.get(Op(own[-1].op)) == record.op:
            own.pop()
        else:
            undone_ahead.add(address)
    return [record for records in changes.values() for record in records]


def _records(database: Database, scn: int, ops: tuple[Op, ...]) -> Iterator[RedoRecord]:
    wanted = pa.array([int(op) for op in ops], pa.int16())
    for batch in _redo_until(database, scn):
        yield from from_batch(batch.filter(pc.is_in(batch.column("op"), wanted)))


def _redo_until(database: Database, scn: int) -> Iterator[pa.RecordBatch]:
    """Yield this incarnation's redo, thread by thread, from archived logs (or their backups) and online logs."""
    state = database.state
    archived: dict[tuple[int, int], Path] = {}
    for copy in state.archived:
        if copy.resetlogs_id == state.incarnation.resetlogs_id:
            path = database.archived_logs.readable_copy(copy)
            if path is not None:
                archived.setdefault((copy.thread, copy.sequence), path)
    for thread in state.threads.values():
        online = {log.sequence: log for log in thread.logs if log.status != "UNUSED"}
        sequences = {sequence for number, sequence in archived if number == thread.number} | online.keys()
        for sequence in sorted(sequences):
            if sequence in online:
                batches: Iterator[pa.RecordBatch] = iter([to_batch(online[sequence].records)])
            else:
                batches = read_records(archived[thread.number, sequence])
            for batch in batches:
                yield batch.filter(pc.less_equal(batch.column("scn"), scn))


def roll_back(database: Database, changes: Sequence[RedoRecord]) -> None:
    """Write the undo of each change, newest first, and end each transaction, in the redo of the first open thread."""
    thread = next((t.number for t in database.state.threads.values() if t.is_open), None)
    if thread is None:
        return
    for record in reversed(changes):
        undo = replace(record, thread=thread, sequence=0, block=0, offset=0)
        if record.op == Op.START:
            database.redo.write(replace(undo, op=Op.ROLLBACK))
        else:
            before = {} if record.op == Op.INSERT else {k: record.before.get(k) for k in record.after or record.before}
            database.redo.write(replace(undo, op=_UNDONE_BY[Op(record.op)], rollback=True, before={}, after=before))
