"""INSERT, UPDATE and DELETE: compiled once per text, run once per array row under the database's lock.

A plan collects its rows and waits for their locks. After a wait it collects them again, to see the new values, and then
changes them. The caller takes back the changes of a failed run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from standin.engine.access import table_scope
from standin.engine.constraints import checks_of, require_checks, require_not_null
from standin.engine.ddl_columns import with_virtual
from standin.engine.expressions import Compiler
from standin.engine.frame import EMPTY_SCOPE, Compiled, Fn, Frame, NotCompilable, Scope, SubQuery
from standin.engine.layout import Row
from standin.engine.names import dml_target
from standin.engine.parse import identifier, parse_as_written
from standin.engine.partitions import partition_of
from standin.engine.privileges import require_on
from standin.engine.session import EngineSession
from standin.engine.storage import TableStore
from standin.engine.table_locks import lock_rows_of
from standin.engine.target import Target, target_of
from standin.engine.triggers import before_insert, fire
from standin.engine.user_types import with_constructors
from standin.interface import OraError
from standin.model import Partition


@dataclass(slots=True)
class Touched:
    """The result of one run: number of rows, the last row's ROWID, RETURNING values per bind."""

    count: int
    rowid: str | None
    returning: list[list[Any]]


class DmlPlan(Protocol):
    def run(self, session: EngineSession, frame: Frame) -> Touched: ...


@dataclass(frozen=True, slots=True)
class Returning:
    values: tuple[Compiled, ...]
    row_address: bool

    def of(self, store: TableStore, row: int, values: Row, frame: Frame) -> list[Any]:
        frame.row_id = store.rowid(row)
        return [v.run(values, frame) for v in self.values]


def compile_dml(session: EngineSession, tree: exp.Expression, subquery: SubQuery) -> DmlPlan:
    tree = with_constructors(session, tree)
    try:
        if isinstance(tree, exp.Insert):
            return _insert(session, tree, subquery)
        if isinstance(tree, exp.Update):
            return _update(session, tree, subquery)
        if isinstance(tree, exp.Delete):
            return _delete(session, tree, subquery)
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in DML") from None
    raise OraError(3001, f"unimplemented feature: {tree.key.upper()}")


def _returning(tree: exp.Expression, scope: Scope) -> Returning:
    node = tree.args.get("returning")
    if node is None:
        return Returning((), False)
    compiler = Compiler(scope)
    return Returning(tuple(compiler.all(node.expressions)), compiler.row_address)


class _Result:
    """Collects the rows that a run changes."""

    def __init__(self, store: TableStore, returning: Returning, frame: Frame) -> None:
        self._store, self._returning, self._frame = store, returning, frame
        self._count, self._row = 0, -1
        self._values: list[list[Any]] = [[] for _ in returning.values]

    def add(self, row: int, values: Row) -> None:
        self._count, self._row = self._count + 1, row
        if self._values:
            for bucket, value in zip(self._values, self._returning.of(self._store, row, values, self._frame), strict=True):
                bucket.append(value)

    def touched(self) -> Touched:
        rowid = self._store.rowid(self._row) if self._count else None
        return Touched(self._count, rowid, self._values)


def _insert(session: EngineSession, tree: exp.Insert, subquery: SubQuery) -> DmlPlan:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    store = dml_target(session, target)
    require_on(session.account, "INSERT", store.definition)
    visible = [c.name for c in store.definition.shown]
    named = [identifier(c) for c in tree.this.expressions] if isinstance(tree.this, exp.Schema) else visible
    positions = [_position(store, name) for name in named]
    if len(set(positions)) < len(positions):
        raise OraError(957, "duplicate column name")
    for position in positions:
        _require_writable(store, position, updating=False)
    defaults = [_default_of(store, i) for i in range(len(store.definition.columns))]
    source = tree.expression
    if isinstance(source, exp.Values):
        rows = [t.expressions if isinstance(t, exp.Tuple) else [t] for t in source.expressions]
        compiled = [_values(row, positions, defaults, subquery) for row in rows]
        return InsertPlan(store, tuple(positions), tuple(defaults), compiled, None, _returning(tree, table_scope(store, None)))
    if source is None:
        raise OraError(926, "missing VALUES keyword")
    columns, run = subquery(source)
    _same_length(len(columns), len(positions))
    return InsertPlan(store, tuple(positions), tuple(defaults), [], run, _returning(tree, table_scope(store, None)))


def _position(store: TableStore, name: str) -> int:
    position = store.layout.position.get(name)
    if position is None:
        raise OraError(904, f'"{name}": invalid identifier')
    return position


def _require_writable(store: TableStore, position: int, *, updating: bool) -> None:
    """Raise the error for a value that only Oracle may write."""
    column = store.definition.columns[position]
    if column.kind == "guard":
        raise OraError(14148, "DML and DDL operations are not directly allowed on the guard-column.")
    if column.virtual is not None:
        if updating:
            raise OraError(54017, "UPDATE operation disallowed on virtual columns")
        raise OraError(54013, "INSERT operation disallowed on virtual columns")
    if column.identity == "ALWAYS":
        if updating:
            raise OraError(32796, "cannot update a generated always identity column")
        raise OraError(32795, "cannot insert into a generated always identity column")


def _same_length(given: int, wanted: int) -> None:
    if given > wanted:
        raise OraError(913, "too many values")
    if given < wanted:
        raise OraError(947, "not enough values")


def _is_default(node: exp.Expression) -> bool:
    if isinstance(node, exp.Column):
        return identifier(node.this) == "DEFAULT"
    return isinstance(node, exp.Var) and node.name.upper() == "DEFAULT"


def _values(row: Sequence[exp.Expression], positions: list[int], defaults: list[Fn | None], subquery: SubQuery) -> list[Fn]:
    _same_length(len(row), len(positions))
    compiler = Compiler(EMPTY_SCOPE, subquery)
    return [
        (defaults[at] or _null) if _is_default(node) else compiler.compile(node).run
        for at, node in zip(positions, row, strict=True)
    ]


def _null(row: Any, frame: Frame) -> None:
    return None


def _default_of(store: TableStore, position: int) -> Fn | None:
    text = store.definition.columns[position].default
    if text is None:
        return None
    expression = parse_as_written(f"select {text} from dual")
    return Compiler(EMPTY_SCOPE).compile(expression.expressions[0]).run


@dataclass(slots=True)
class InsertPlan:
    store: TableStore
    positions: tuple[int, ...]
    defaults: tuple[Fn | None, ...]
    rows: list[list[Fn]]
    query: Callable[[Frame], list[tuple[Any, ...]]] | None
    returning: Returning

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store = self.store
        lock_rows_of(session, store)
        checks = checks_of(store)
        result = _Result(store, self.returning, frame)
        database = session.database
        triggers = fire(session, store, "INSERT")
        given = self.query(frame) if self.query else [[value((), frame) for value in row] for row in self.rows]
        for values in given:
            complete = self._complete(values, frame)
            if triggers:
                complete = with_virtual(store, before_insert(session, store, complete, triggers, frame), frame)
            require_not_null(store, complete, updating=False)
            if checks:
                require_checks(store, checks, complete, frame)
            tx = database.transactions.of(session)
            part = partition_of(session, store, complete)
            row = database.rows.insert(tx, store, complete, part)
            database.keys.require_unique(tx, store, row, complete, store.indexes)
            if store.has_references:
                database.keys.require_parents(tx, store, complete, None)
            result.add(row, complete)
        return result.touched()

    def _complete(self, values: Sequence[Any], frame: Frame) -> Row:
        coercers, nls = self.store.layout.coercers, frame.nls
        complete: list[Any] = [None] * len(coercers)
        for position, default in enumerate(self.defaults):
            if default is not None and position not in self.positions:
                value = default((), frame)
                complete[position] = None if value is None else coercers[position](value, nls)
        for position, value in zip(self.positions, values, strict=True):
            default = self.defaults[position]
            if (
                value is None
                and default is not None
                and (
                    self.store.definition.columns[position].identity == "BY DEFAULT ON NULL"
                    or self.store.definition.columns[position].default_on_null
                )
            ):
                value = default((), frame)
            if value is not None and value != "":
                complete[position] = coercers[position](value, nls)
        layout = self.store.layout
        return with_virtual(self.store, layout.guarded(tuple(complete), layout.guard_bits), frame)


def _update(session: EngineSession, tree: exp.Update, subquery: SubQuery) -> DmlPlan:
    store, alias = dml_target(session, tree.this), identifier(tree.this.args.get("alias")) or None
    require_on(session.account, "UPDATE", store.definition)
    scope = table_scope(store, alias)
    compiler = Compiler(scope, subquery)
    settings: list[tuple[int, Fn]] = []
    for node in tree.expressions:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
            raise NotCompilable("SET of several columns")
        position = _position(store, identifier(node.this.this))
        _require_writable(store, position, updating=True)
        if _is_default(node.expression):
            settings.append((position, _default_of(store, position) or _null))
        else:
            settings.append((position, compiler.compile(node.expression).run))
    target = target_of(store, alias, tree.args.get("where"), subquery)
    return UpdatePlan(target, tuple(settings), compiler.row_address, _returning(tree, scope))


@dataclass(slots=True)
class UpdatePlan:
    target: Target
    settings: tuple[tuple[int, Fn], ...]
    row_address: bool
    returning: Returning

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store, database = self.target.store, session.database
        lock_rows_of(session, store)
        found = self.target.rows(session, frame)
        result = _Result(store, self.returning, frame)
        fire(session, store, "UPDATE", frozenset(position for position, _ in self.settings))
        changed = frozenset(position for position, _ in self.settings)
        checks = checks_of(store)
        written: list[tuple[int, Row, Row]] = []
        coercers = store.layout.coercers
        for row, old in found:
            if self.row_address:
                frame.row_id = store.rowid(row)
            new = list(old)
            for position, value_of in self.settings:
                value = value_of(old, frame)
                new[position] = None if value is None or value == "" else coercers[position](value, frame.nls)
            values = with_virtual(store, store.layout.guarded(tuple(new), changed), frame)
            require_not_null(store, values, updating=True)
            if checks:
                require_checks(store, checks, values, frame)
            tx = database.transactions.of(session)
            stored = store.rows[row][-1].values
            assert stored is not None
            part = partition_of(session, store, values)
            if part is not store.part_of.get(row):
                row = _move(session, store, row, stored, values, part)
            else:
                database.rows.update(tx, store, row, stored, values, changed | _followers(store, old, values))
            written.append((row, old, values))
            result.add(row, values)
        self._require_keys(session, changed, written)
        return result.touched()

    def _require_keys(self, session: EngineSession, changed: frozenset[int], written: list[tuple[int, Row, Row]]) -> None:
        """Check keys at the end of the statement: `set id = id + 1` may pass through keys in use."""
        store, database, tx = self.target.store, session.database, session.transaction
        touched = [i for i in store.indexes if not changed.isdisjoint(i.positions)]
        if tx is None or not touched:
            return
        for row, old, values in written:
            database.keys.require_unique(tx, store, row, values, touched)
            if store.has_references:
                database.keys.require_parents(tx, store, values, changed)
            database.keys.require_no_children(tx, store, old, values)


def _followers(store: TableStore, old: Row, new: Row) -> frozenset[int]:
    """Return the positions of the virtual columns, and of the guard column where it changed."""
    layout = store.layout
    guard = () if layout.guard is None or old[layout.guard] == new[layout.guard] else (layout.guard,)
    return frozenset((*guard, *(at for at, _ in layout.virtual)))


def _delete(session: EngineSession, tree: exp.Delete, subquery: SubQuery) -> DmlPlan:
    table = tree.this or tree.args["tables"][0]  # DELETE t, without FROM
    store, alias = dml_target(session, table), identifier(table.args.get("alias")) or None
    require_on(session.account, "DELETE", store.definition)
    target = target_of(store, alias, tree.args.get("where"), subquery)
    return DeletePlan(target, _returning(tree, table_scope(store, alias)))


@dataclass(slots=True)
class DeletePlan:
    target: Target
    returning: Returning

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store, database = self.target.store, session.database
        lock_rows_of(session, store)
        found = self.target.rows(session, frame)
        result = _Result(store, self.returning, frame)
        fire(session, store, "DELETE")
        for row, old in found:
            tx = database.transactions.of(session)
            stored = store.rows[row][-1].values
            assert stored is not None
            result.add(row, old)
            database.rows.delete(tx, store, row, stored)
        for _, old in found:
            _follow_delete(session, store, old, frame)
        return result.touched()


def _follow_delete(session: EngineSession, store: TableStore, old: Row, frame: Frame) -> None:
    """Run ON DELETE of the foreign keys that refer to a deleted row; raise ORA-02292 for child rows of the others."""
    database, tx = session.database, session.transaction
    assert tx is not None
    for child, constraint, rows in database.keys.children(tx, store, old):
        cleared = frozenset(child.layout.position[name] for name in constraint.columns)
        for row in rows:
            versions = child.rows.get(row)
            stored = versions[-1].values if versions else None
            if stored is None:  # a cycle of foreign keys has deleted it
                continue
            values = child.padded(stored)
            if constraint.on_delete == "CASCADE":
                database.rows.delete(tx, child, row, stored)
                _follow_delete(session, child, values, frame)
                continue
            new = with_virtual(child, tuple(None if i in cleared else v for i, v in enumerate(values)), frame)
            require_not_null(child, new, updating=True)
            database.rows.update(tx, child, row, stored, new, cleared | _followers(child, values, new))
    database.keys.require_no_children(tx, store, old, None)


def _move(session: EngineSession, store: TableStore, row: int, stored: Row, values: Row, part: Partition | None) -> int:
    """Move a row to another partition: a DELETE and an INSERT with another ROWID. Raise ORA-14402 unless that is allowed."""
    if not store.definition.row_movement:
        raise OraError(14402, "updating partition key column would cause a partition change")
    tx = session.database.transactions.of(session)
    session.database.rows.delete(tx, store, row, stored)
    return session.database.rows.insert(tx, store, values, part)
