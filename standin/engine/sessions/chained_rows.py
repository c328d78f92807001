"""Rows of blockchain tables: a COMMIT gives each its place in a chain, and a hash of its values and of the row before it."""

from __future__ import annotations

from hashlib import sha512

from standin.engine.database.database import Database
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.transactions.transaction import Transaction
from standin.redo_file import Op

_CHAIN = 0  # of the 32 that each instance may have


def chain_rows(database: Database, tx: Transaction) -> None:
    """Fill the columns of the chain in the rows that the transaction has inserted, each by an UPDATE."""
    if database.options.chained_rows == "insert":
        return
    for undo in [undo for undo in tx.undo if undo.op is Op.INSERT and undo.store.definition.chains is not None]:
        store = undo.store
        stored = store.rows[undo.row][-1].values
        assert stored is not None, "rows of a blockchain table are not deleted"
        new = chained(store, tx.thread, store.padded(stored))
        changed = frozenset(at for at, value in enumerate(new) if value is not store.padded(stored)[at])
        database.rows.update(tx, store, undo.row, stored, new, changed)


def chained(store: TableStore, instance: int, values: Row) -> Row:
    """Return the values of a row that is the next in the instance's chain."""
    chains, positions = store.definition.chains, store.layout.position
    assert chains is not None
    number, last = chains.get(instance, (0, b""))
    content = store.layout.encode(values, range(len(values))).values()
    digest = sha512(last + b"|".join(value or b"" for value in content)).digest()
    chains[instance] = (number + 1, digest)
    own = {"INST_ID": instance, "CHAIN_ID": _CHAIN, "SEQ_NUM": number + 1, "HASH": digest}
    new = list(values)
    for name, value in own.items():
        new[positions[f"ORABCTAB_{name}$"]] = value
    return tuple(new)
