"""Which rows are read again: those that a change of a window touches, once their transaction has ended."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from redolake.context import Run
from redolake.errors import LandingDamaged
from redolake.records.windows import SliceRecord, WindowManifest
from redolake.steps.capture.reread.keys import key_names
from redolake.steps.shared.redo_rows import own_rows, table_of
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.logminer import LARGE_OBJECT_CHANGES, NO_ROWID, PARTS_OF_VALUES, Mined
from redolake.values.redo import CHANGES, TRANSACTION_ENDS, Operation, names_no_transaction
from redolake.values.table import TableId

log = logging.getLogger(__name__)

UNRESOLVED = 2  # STATUS of a row with COL n
# What must be known of a change to read its row again. `sql_redo` is NULL unless the row has no ROWID.
LATER = pa.schema(
    [
        ("table", pa.string()),
        ("con_id", pa.int32()),
        ("xid", pa.string()),
        ("pxid", pa.string()),
        ("scn", pa.int64()),
        ("row_id", pa.string()),
        ("operation_code", pa.int32()),
        ("rollback", pa.bool_()),
        ("status", pa.int32()),
        ("info", pa.string()),
        ("seg_owner", pa.string()),
        ("table_name", pa.string()),
        ("sql_redo", pa.string()),
    ]
)
READ = (*(name for name in LATER.names if name != "table"), "object_id")
MAY_TOUCH = (Operation.INSERT, Operation.UPDATE, *LARGE_OBJECT_CHANGES)
MAY_CHANGE = (*CHANGES, Mined.UNSUPPORTED, *LARGE_OBJECT_CHANGES)


def waiting_after(
    context: Run, window: WindowManifest, ids: Mapping[int, TableId], described: dict[TableId, DictionaryTable]
) -> pa.Table:
    """Return the rows that wait at the end of a landed window for that of their transaction. Where their file is damaged, they
    are found once more: in the window's redo, and among those that waited before it."""
    windows = context.landing.windows
    try:
        waiting = windows.reread_later(window)
    except LandingDamaged as error:
        log.warning("the rows are found in the redo of window %s once more: %s", window.name, error)
        touched, ends = touched_rows(context, window.name, ids, [window], described)
        earlier = next((one for one in windows.newest_first() if one.end_position == window.start_position), None)
        before = [] if earlier is None else [waiting_after(context, earlier, ids, described)]
        return by_end(pa.concat_tables([*before, touched]), ends)[1]
    return LATER.empty_table() if waiting is None else waiting


def touched_rows(
    context: Run,
    window: str,
    object_ids: Mapping[int, TableId],
    records: Sequence[SliceRecord | WindowManifest],
    described: dict[TableId, DictionaryTable],
) -> tuple[pa.Table, pa.Table]:
    """Return the changes after which a large object may have another value, and the ends of transactions."""
    ids = {number: table for number, table in object_ids.items() if table in described}
    names = {one.in_oracle: table for table, one in described.items()}
    keyed = {table: (one, key_names(context, one)) for table, one in described.items()}
    changes, ends = [LATER.empty_table()], []
    codes = MAY_CHANGE if any(one.rereads_rows for one in described.values()) else MAY_TOUCH
    for batch in context.landing.windows.redo_columns(window, records, READ):
        own = own_rows(batch, ids, names, codes)
        is_end = pc.is_in(own["operation_code"], pa.array(TRANSACTION_ENDS, pa.int32()))
        ends.append(pa.Table.from_batches([own.filter(is_end)]))
        rows = []
        for row in own.filter(pc.invert(pc.or_(is_end, own["rollback"]))).to_pylist():
            table = table_of(row, ids, names)
            if table is not None and touches(row, *keyed[table]):
                is_found = row["row_id"] not in (None, NO_ROWID)
                rows.append({**row, "table": str(table), "sql_redo": None if is_found else row["sql_redo"]})
        changes.append(pa.Table.from_pylist(rows, LATER))
    named = ("con_id", "xid", "scn", "operation_code")
    ended = pa.concat_tables([one.select(named) for one in ends]) if ends else pa.table({name: [] for name in named})
    return pa.concat_tables(changes), ended


def touches(row: Mapping[str, object], table: DictionaryTable, key: Sequence[str]) -> bool:
    """Return whether the row must be read again: a large object may have another value, or the row another key. Text in a value
    may look like a name, and then the row is read for nothing."""
    if names_no_row(row):
        return False
    if table.rereads_rows:
        return True
    if row["operation_code"] not in MAY_TOUCH:
        return False
    if row["operation_code"] != Operation.UPDATE or row["status"] == UNRESOLVED:
        return True
    text = str(row["sql_redo"])
    if any(f'"{c.name}" = ' in text for c in table.large_objects):
        return True
    return any(text.count(f'"{name}" = ') > 1 for name in key)


def names_no_row(row: Mapping[str, object]) -> bool:
    """Return whether the row says nothing of the table's row: a locator without a text, because nothing changes before a write,
    which names it; or a part of a value that another row has begun."""
    is_locator = row["operation_code"] == Mined.SELECT_LOB_LOCATOR and row["sql_redo"] is None
    return (is_locator or row["operation_code"] in PARTS_OF_VALUES) and row["row_id"] in (None, NO_ROWID)


def by_end(touched: pa.Table, ends: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows of transactions that have committed, and those of open ones. Rows of an unknown transaction are read at
    once: they hold their table."""
    ended: dict[tuple[int, str], list[tuple[int, bool]]] = {}
    for end in sorted(ends.to_pylist(), key=lambda row: row["scn"]):
        ended.setdefault((end["con_id"], end["xid"]), []).append((end["scn"], end["operation_code"] == Operation.COMMIT))
    now, later = [], []
    for number, row in enumerate(touched.select(["con_id", "xid", "pxid", "scn"]).to_pylist()):
        uses = [ended.get((row["con_id"], xid), []) for xid in (row["xid"], row["pxid"])]  # Oracle reuses xids
        first = [next((committed for scn, committed in use if scn >= row["scn"]), None) for use in uses]
        if names_no_transaction(row["xid"]) or any(first):
            now.append(number)
        elif first == [None, None]:
            later.append(number)
    return touched.take(pa.array(now, pa.int64())), touched.take(pa.array(later, pa.int64()))
