"""What the rows of a table must satisfy: NOT NULL and CHECK before a row is written, keys and references after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from standin.engine.access import table_scope
from standin.engine.expressions import Compiler
from standin.engine.frame import Fn, Frame, NotCompilable
from standin.engine.layout import Row
from standin.engine.parse import parse_as_written
from standin.engine.storage import Index, TableStore
from standin.engine.transactions import Transaction
from standin.interface import OraError
from standin.model import Constraint

if TYPE_CHECKING:
    from standin.engine.instance import Database

Key = tuple[Any, ...]


def checks_of(store: TableStore) -> tuple[tuple[str, Fn], ...]:
    """Name and condition of each CHECK, compiled once per state of the definition."""
    if store.compiled_checks is None:
        store.compiled_checks = _compiled(store)
    return store.compiled_checks


def _compiled(store: TableStore) -> tuple[tuple[str, Fn], ...]:
    """The CHECK conditions the evaluator knows; others are accepted and not enforced."""
    compiler, found = Compiler(table_scope(store, None)), []
    for constraint in store.definition.constraints:
        if constraint.kind == "C" and constraint.check and constraint.enabled and not constraint.check.endswith("IS NOT NULL"):
            try:
                condition = parse_as_written(f"select 1 from dual where {constraint.check}").args["where"].this
                found.append((constraint.name, compiler.compile(condition).run))
            except NotCompilable:
                continue
    return tuple(found)


def require_not_null(store: TableStore, values: Row, *, updating: bool) -> None:
    for i in store.layout.not_null:
        if values[i] is None:
            where = f'("{store.definition.owner}"."{store.definition.name}"."{store.layout.names[i]}")'
            if updating:
                raise OraError(1407, f"cannot update {where} to NULL")
            raise OraError(1400, f"cannot insert NULL into {where}")


def require_checks(store: TableStore, checks: Iterable[tuple[str, Fn]], values: Row, frame: Frame) -> None:
    for name, condition in checks:
        if condition(values, frame) is False:
            raise OraError(2290, f"check constraint ({store.definition.owner}.{name}) violated")


class Keys:
    """Uniqueness and references, waiting for other transactions whose end decides. Under the database's lock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def require_unique(self, tx: Transaction, store: TableStore, row: int, values: Row, indexes: Iterable[Index]) -> None:
        for index in indexes:
            if not index.unique:
                continue
            key = index.key_of(values)
            while key is not None and len(index.entries.get(key, ())) > 1:
                owner = self._decider(tx, store, index, key, row)
                if owner is None:
                    break
                self._database.transactions.wait_for(tx.session, owner)

    def _decider(self, tx: Transaction, store: TableStore, index: Index, key: Key, row: int) -> Transaction | None:
        """Raises ORA-00001 for a row that has the key; else the open transaction on which it depends, if any."""
        for other in tuple(index.entries.get(key, ())):
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
        """ORA-02291 when a foreign key of the row refers to nothing."""
        for constraint in store.definition.constraints:
            if constraint.kind != "R" or not constraint.enabled:
                continue
            positions = [store.layout.position[name] for name in constraint.columns]
            key = tuple(values[i] for i in positions)
            if None in key or (changed is not None and changed.isdisjoint(positions)):
                continue
            parent, index = self._parent_of(store, constraint)
            if not self._exists(tx, parent, index, key):
                owner, name = store.definition.owner, constraint.name
                raise OraError(2291, f"integrity constraint ({owner}.{name}) violated - parent key not found")

    def require_no_children(self, tx: Transaction, store: TableStore, old: Row, new: Row | None) -> None:
        """ORA-02292 when a key that goes away is referred to."""
        for child, constraint in self._database.children_of(store):
            _, index = self._parent_of(child, constraint)
            key = index.key_of(old)
            if key is None or (new is not None and index.key_of(new) == key):
                continue
            own = next(i for i in child.indexes if i.name == constraint.name)
            if self._exists(tx, child, own, key):
                name = f"{child.definition.owner}.{constraint.name}"
                raise OraError(2292, f"integrity constraint ({name}) violated - child record found")

    def _parent_of(self, store: TableStore, constraint: Constraint) -> tuple[TableStore, Index]:
        parent = self._database.parent_of(store.definition, constraint)
        assert constraint.references is not None
        key = constraint.references[1]
        return parent, next(i for i in parent.indexes if i.name == key)

    def _exists(self, tx: Transaction, store: TableStore, index: Index, key: Key) -> bool:
        """Whether a row with the key is there for good; an open transaction that would change it is waited for."""
        while True:
            waiting: Transaction | None = None
            for row in tuple(index.entries.get(key, ())):
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
            self._database.transactions.wait_for(tx.session, waiting)
