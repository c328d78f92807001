"""Unique keys and foreign keys, checked after a row is written.

Where another open transaction decides, the check waits for its end. The caller holds the database's lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from standin.engine.database.tables import Tables
from standin.engine.storage.layout import Row
from standin.engine.storage.locks import Locks, RowOwner
from standin.engine.storage.storage import Index, TableStore
from standin.engine.transactions.transaction import Transaction
from standin.interface import OraError
from standin.model import Constraint

Key = tuple[Any, ...]


def unusable(store: TableStore, index: Index) -> OraError:
    name = f"{store.definition.owner}.{index.name}"
    return OraError(1502, f"index '{name}' or partition of such index is in unusable state")


class Keys:
    def __init__(self, tables: Tables, locks: Locks) -> None:
        self._tables, self._locks = tables, locks

    def require_unique(self, tx: Transaction, store: TableStore, row: int, values: Row, indexes: Iterable[Index]) -> None:
        """Raise ORA-00001 when another row has a key of this one in a unique index."""
        for index in indexes:
            if not index.unique:
                continue
            key = index.key_of(values)
            while key is not None and len(index.rows_with(key)) > 1:
                owner = self._deciding(tx, store, index, key, row)
                if owner is None:
                    break
                self._locks.wait_for(tx.session, owner)

    def _deciding(self, tx: Transaction, store: TableStore, index: Index, key: Key, row: int) -> RowOwner | None:
        """Return the open transaction whose end decides whether the key is free. Raise ORA-00001 when it is taken."""
        for other in tuple(index.rows_with(key)):
            versions = store.rows.get(other)
            if other == row or not versions:
                continue
            newest = versions[-1]
            if newest.tx is None or newest.tx is tx:
                if newest.values is not None and index.key_of(store.padded(newest.values)) == key:
                    raise OraError(1, f"unique constraint ({store.definition.owner}.{index.name}) violated")
            elif any(v.values is not None and index.key_of(store.padded(v.values)) == key for v in versions[-2:]):
                return newest.tx
        return None

    def require_parents(self, tx: Transaction, store: TableStore, values: Row, changed: frozenset[int] | None) -> None:
        """Raise ORA-02291 when a foreign key of the row has no parent row."""
        for constraint in store.definition.constraints:
            if constraint.kind != "R" or not constraint.enabled:
                continue
            positions = [store.layout.position[name] for name in constraint.columns]
            key = tuple(values[i] for i in positions)
            if None in key or (changed is not None and changed.isdisjoint(positions)):
                continue
            if constraint.deferred:
                tx.unchecked.add((store, constraint.name, key))
            else:
                self._require_parent(tx, store, constraint, key)

    def _require_parent(self, tx: Transaction, store: TableStore, constraint: Constraint, key: Key) -> None:
        parent, index = self._parent_of(store, constraint)
        if not index.usable:
            raise unusable(parent, index)
        if not self._exists(tx, parent, index, key):
            name = f"{store.definition.owner}.{constraint.name}"
            raise OraError(2291, f"integrity constraint ({name}) violated - parent key not found")

    def defer_children(self, tx: Transaction, store: TableStore, old: Row) -> None:
        """Leave it to `require_deferred` whether the key of a row that was deleted still has child rows."""
        for child, constraint in self._tables.children_of(store):
            key = self._parent_of(child, constraint)[1].key_of(old)
            if key is not None:
                tx.unchecked.add((child, constraint.name, key))

    def require_deferred(self, tx: Transaction) -> None:
        """Check the deferred foreign keys that the transaction touched. Raise ORA-02291 for child rows without a parent row."""
        for store, name, key in tx.unchecked:
            constraint = next((c for c in store.definition.constraints if c.name == name and c.enabled), None)
            if constraint is not None and self._exists(tx, store, self.index_of(store, name), key):
                self._require_parent(tx, store, constraint, key)

    def require_no_children(self, tx: Transaction, store: TableStore, old: Row, new: Row | None) -> None:
        """Raise ORA-02292 when a key that the change removes still has child rows."""
        for child, constraint in self._tables.children_of(store):
            _, index = self._parent_of(child, constraint)
            key = index.key_of(old)
            if key is None or (new is not None and index.key_of(new) == key):
                continue
            if constraint.on_delete != "NO ACTION" and new is None:
                continue  # the DELETE changes the child rows itself
            if constraint.deferred:
                tx.unchecked.add((child, constraint.name, key))
                continue
            own = self.index_of(child, constraint.name)
            if self._exists(tx, child, own, key):
                name = f"{child.definition.owner}.{constraint.name}"
                raise OraError(2292, f"integrity constraint ({name}) violated - child record found")

    def _parent_of(self, store: TableStore, constraint: Constraint) -> tuple[TableStore, Index]:
        parent = self._tables.parent_of(store.definition, constraint)
        assert constraint.references is not None
        return parent, self.index_of(parent, constraint.references[1])

    def index_of(self, store: TableStore, name: str) -> Index:
        """Return the index by which the engine enforces a key, or finds the rows of a foreign key."""
        return next(i for i in store.indexes if i.constraint == name)

    def children(self, tx: Transaction, store: TableStore, old: Row) -> list[tuple[TableStore, Constraint, list[int]]]:
        """Return the child rows that a DELETE of the row deletes too, or sets to NULL; wait until nobody else holds them."""
        found = []
        for child, constraint in self._tables.children_of(store):
            key = self._parent_of(child, constraint)[1].key_of(old)
            if constraint.on_delete == "NO ACTION" or key is None:
                continue
            index = self.index_of(child, constraint.name)
            rows = []
            for row in sorted(index.rows_with(key)):
                while (owner := child.owner_of(row)) is not None and owner is not tx:
                    self._locks.wait_for(tx.session, owner)
                versions = child.rows.get(row)
                values = versions[-1].values if versions else None
                if values is not None and index.key_of(child.padded(values)) == key:
                    rows.append(row)
            if rows:
                found.append((child, constraint, rows))
        return found

    def _exists(self, tx: Transaction, store: TableStore, index: Index, key: Key) -> bool:
        """Return whether a committed or own row has the key; wait for open transactions that would change one."""
        while True:
            waiting: RowOwner | None = None
            for row in tuple(index.rows_with(key)):
                versions = store.rows.get(row)
                if not versions:
                    continue
                newest = versions[-1]
                has_key = newest.values is not None and index.key_of(store.padded(newest.values)) == key
                if newest.tx is None or newest.tx is tx:
                    if has_key:
                        return True
                else:
                    waiting = newest.tx
            if waiting is None:
                return False
            self._locks.wait_for(tx.session, waiting)
