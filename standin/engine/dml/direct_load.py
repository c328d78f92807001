"""Direct-path loads: INSERT /*+ APPEND */ .. SELECT writes new blocks above all others, and no redo where none is asked for.

That is so where the table is NOLOGGING and the database does not force logging. Any other such statement is run, and logged,
as if it had no hint; so are those that Oracle does not load directly (triggers, foreign keys) or whose rows are not plain here.
A load excludes other DML of the table until its transaction ends, and the transaction itself from the table (ORA-12838).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import EXCLUSIVE, wait_for_table
from standin.engine.storage.layout import Row
from standin.engine.storage.locks import Stale, TableLock
from standin.engine.storage.segment import Version, pack
from standin.engine.storage.storage import UNCOMMITTED, TableStore
from standin.engine.transactions.transaction import Undo
from standin.engine.types.rowids import ROWS_OF_BLOCK
from standin.redo_file import Op


def asks_for_append(tree: exp.Insert) -> bool:
    hint = tree.args.get("hint")
    words = hint.expressions if hint is not None else ()  # a hint that is no call, as PARALLEL(t 2) is, is a text
    return any("APPEND" in (word if isinstance(word, str) else word.sql()).upper().split() for word in words)


def may_load(session: EngineSession, store: TableStore, *, has_triggers: bool) -> bool:
    """Return whether the table takes a direct-path load without redo."""
    table, layout = store.definition, store.layout
    logged = table.logging or session.database.state.force_logging
    special = table.partitioning or table.iot or table.temporary or table.cluster or layout.has_large or layout.virtual
    return not (logged or special or has_triggers or store.has_references)


def lock_for_load(session: EngineSession, store: TableStore) -> None:
    """Lock the table until the transaction ends. Raise Stale if it was altered meanwhile."""
    generation = store.generation
    wait_for_table(session, store, EXCLUSIVE)
    session.table_locks.append(TableLock(session, store.definition.object_id, EXCLUSIVE))
    if store.generation != generation:
        raise Stale


def load(session: EngineSession, store: TableStore, rows: Sequence[Row]) -> int:
    """Write the rows into new blocks, and return the number of the first. Raise ORA-00001 for a key that is in use."""
    tx, keys = session.database.transactions.of(session), session.database.keys
    first = -(-store.next_row // ROWS_OF_BLOCK) * ROWS_OF_BLOCK
    undo = Undo(store, first, Op.INSERT, None, Version(UNCOMMITTED, None, tx), new_version=True)
    for block in pack(rows, first, UNCOMMITTED, tx):
        store.rows.add(block)
        tx.versions.append(block)
        undo.loaded.append(block)
    store.next_row = first + len(undo.loaded) * ROWS_OF_BLOCK
    tx.undo.append(undo)
    for index in store.indexes:
        for row in index.load(rows, first):
            keys.require_unique(tx, store, row, rows[row - first], (index,))
    tx.parallel_tables.add(store)
    return first
