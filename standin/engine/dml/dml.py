"""INSERT, UPDATE and DELETE: compiled once per text, run once per array row under the database's lock.

A plan collects its rows and waits for their locks. After a wait it collects them again, to see the new values, and then
changes them. The caller takes back the changes of a failed run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from sqlglot import exp

from standin.engine.ddl.columns import with_virtual
from standin.engine.ddl.partitions import partition_of
from standin.engine.dml.constraints import checks_of, require_checks, require_not_null, require_usable
from standin.engine.dml.direct_load import asks_for_append, load, lock_for_load, may_load
from standin.engine.dml.failing_rows import Attempts, FailedRow, PassesOver, attempt, failed_row, ignored_key
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Compiled, Fn, Frame, NotCompilable, Scope, SubQuery
from standin.engine.plsql.triggers import Triggers, before_insert, fire
from standin.engine.queries.access import table_scope
from standin.engine.queries.target import Target, target_of
from standin.engine.sessions.chained_rows import chained
from standin.engine.sessions.names import dml_target, require_mutable
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import lock_rows_of
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import identifier, parse_as_written
from standin.interface import OraError
from standin.model import Partition

Settings = tuple[tuple[tuple[int, ...], Fn], ...]  # the columns of each assignment of SET, and their values


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


def _returning(tree: exp.Expression, scope: Scope) -> Returning:
    node = tree.args.get("returning")
    if node is None:
        return Returning((), False)
    compiler = Compiler(scope)
    return Returning(tuple(compiler.all(node.expressions)), compiler.row_address)


class Result:
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


def compile_insert(session: EngineSession, tree: exp.Insert, subquery: SubQuery) -> DmlPlan:
    is_list = isinstance(tree.this, exp.Schema)
    store = dml_target(session, tree.this.this if is_list else tree.this)
    positions, defaults = inserted_columns(session, store, [identifier(c) for c in tree.this.expressions] if is_list else None)
    source, returning, failing = tree.expression, _returning(tree, table_scope(store, None)), ignored_key(tree, store)
    if isinstance(source, exp.Values):
        rows = [t.expressions if isinstance(t, exp.Tuple) else [t] for t in source.expressions]
        compiled = [values_of(row, positions, defaults, Compiler(EMPTY_SCOPE, subquery)) for row in rows]
        return InsertPlan(store, positions, defaults, compiled, None, returning, failing=failing)
    if source is None:
        raise OraError(926, "missing VALUES keyword")
    columns, run = subquery(source, None)
    require_length(len(columns), len(positions))
    appends = asks_for_append(tree) and not returning.values
    return InsertPlan(store, positions, defaults, [], lambda frame: run(frame, ()), returning, appends, failing)


def inserted_columns(
    session: EngineSession, store: TableStore, names: Sequence[str] | None
) -> tuple[tuple[int, ...], tuple[Fn | None, ...]]:
    """Return the positions of the columns that an INSERT names, without a list those of all, and every column's default."""
    require_on(session.account, "INSERT", store.definition)
    named = names if names is not None else [c.name for c in store.definition.shown]
    positions = tuple(_position(store, name) for name in named)
    if len(set(positions)) < len(positions):
        raise OraError(957, "duplicate column name")
    for position in positions:
        _require_writable(store, position, updating=False)
    return positions, tuple(_default_of(store, i) for i in range(len(store.definition.columns)))


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


def require_length(given: int, wanted: int) -> None:
    if given > wanted:
        raise OraError(913, "too many values")
    if given < wanted:
        raise OraError(947, "not enough values")


def is_default(node: exp.Expression) -> bool:
    if isinstance(node, exp.Column):
        return identifier(node.this) == "DEFAULT"
    return isinstance(node, exp.Var) and node.name.upper() == "DEFAULT"


def values_of(
    row: Sequence[exp.Expression], positions: Sequence[int], defaults: Sequence[Fn | None], compiler: Compiler
) -> list[Fn]:
    require_length(len(row), len(positions))
    return [
        (defaults[at] or _null) if is_default(node) else compiler.compile(node).run
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
    appends: bool = False
    failing: PassesOver | None = None

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        if (
            self.appends
            and self.failing is None
            and may_load(session, self.store, has_triggers=bool(fire(session, self.store, "INSERT")))
        ):
            return self._load(session, frame)
        lock_rows_of(session, self.store)
        result = Result(self.store, self.returning, frame)
        triggers = fire(session, self.store, "INSERT")
        given = self.query(frame) if self.query else [[value((), frame) for value in row] for row in self.rows]
        attempts = begun(self.failing, session, frame)
        for values in given:
            write = partial(self.write, session, frame, values, triggers)
            written = attempt(session, attempts, write, partial(self.failed, values))
            if written is not None:
                result.add(*written)
        return result.touched()

    def failed(self, values: Sequence[Any]) -> FailedRow:
        names = self.store.layout.names
        return FailedRow("I", {names[at]: value for at, value in zip(self.positions, values, strict=True)})

    def _load(self, session: EngineSession, frame: Frame) -> Touched:
        assert self.query is not None
        lock_for_load(session, self.store)
        rows = [self._complete(values, frame) for values in self.query(frame)]
        for row in rows:
            self._require_valid(row, frame)
        require_usable(session, self.store)
        first = load(session, self.store, rows) if rows else 0
        return Touched(len(rows), self.store.rowid(first + len(rows) - 1) if rows else None, [])

    def _require_valid(self, row: Row, frame: Frame) -> None:
        require_not_null(self.store, row, updating=False)
        if checks := checks_of(self.store):
            require_checks(self.store, checks, row, frame)

    def write(self, session: EngineSession, frame: Frame, values: Sequence[Any], triggers: Triggers) -> tuple[int, Row]:
        """Write a row, and return its number and values."""
        store, database = self.store, session.database
        complete = self._complete(values, frame)
        if triggers:
            complete = with_virtual(store, before_insert(session, store, complete, triggers, frame), frame)
        self._require_valid(complete, frame)
        require_usable(session, store)
        if store.definition.chains is not None and database.options.chained_rows == "insert":
            complete = chained(store, session.thread, complete)
        tx = database.transactions.of(session)
        row = database.rows.insert(tx, store, complete, partition_of(session, store, complete))
        database.keys.require_unique(tx, store, row, complete, store.indexes)
        if store.has_references:
            database.keys.require_parents(tx, store, complete, None)
        return row, complete

    def _complete(self, values: Sequence[Any], frame: Frame) -> Row:
        layout, nls = self.store.layout, frame.nls
        complete: list[Any] = [None] * len(layout.coercers)
        for position, default in enumerate(self.defaults):
            if default is not None and position not in self.positions:
                complete[position] = layout.stored(position, default((), frame), nls)
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
            complete[position] = layout.stored(position, value, nls)
        return with_virtual(self.store, layout.guarded(tuple(complete), layout.guard_bits), frame)


def begun(failing: PassesOver | None, session: EngineSession, frame: Frame) -> Attempts | None:
    return None if failing is None else failing.begin(session, frame)


def compile_update(session: EngineSession, tree: exp.Update, subquery: SubQuery) -> DmlPlan:
    store, alias = dml_target(session, tree.this), identifier(tree.this.args.get("alias")) or None
    require_on(session.account, "UPDATE", store.definition)
    require_mutable(store.definition)
    scope = table_scope(store, alias)
    compiler = Compiler(scope, subquery)
    settings = settings_of(store, tree.expressions, compiler)
    target = target_of(store, scope, tree.args.get("where"), subquery)
    return UpdatePlan(target, settings, compiler.row_address, _returning(tree, scope))


def settings_of(store: TableStore, nodes: Sequence[exp.Expression], compiler: Compiler) -> Settings:
    """Compile `a = value` and `(a, b) = (subquery)` of SET."""
    settings: list[tuple[tuple[int, ...], Fn]] = []
    for node in nodes:
        if not isinstance(node, exp.EQ):
            raise NotCompilable("SET of an object")
        names = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        positions = tuple(_position(store, identifier(name.this)) for name in names)
        for position in positions:
            _require_writable(store, position, updating=True)
        if isinstance(node.this, exp.Tuple):
            columns, row_of = compiler.row_of(node.expression)
            require_length(len(columns), len(positions))
            settings.append((positions, row_of))
        elif is_default(node.expression):
            settings.append((positions, _alone(_default_of(store, positions[0]) or _null)))
        else:
            settings.append((positions, _alone(compiler.compile(node.expression).run)))
    return tuple(settings)


def _alone(run: Fn) -> Fn:
    return lambda row, frame: (run(row, frame),)


@dataclass(slots=True)
class UpdatePlan:
    target: Target
    settings: Settings
    row_address: bool
    returning: Returning
    failing: PassesOver | None = None
    order: tuple[int, ...] = field(init=False)  # of the columns in SET
    changed: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.order = tuple(position for positions, _ in self.settings for position in positions)
        self.changed = frozenset(self.order)

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store = self.target.store
        lock_rows_of(session, store)
        found = self.target.rows(session, frame)
        result = Result(store, self.returning, frame)
        fire(session, store, "UPDATE", self.changed)
        written, attempts = [], begun(self.failing, session, frame)
        for row, old, values in [(row, old, self.attempt_to_assign(session, frame, attempts, row, old)) for row, old in found]:
            place = None if values is None else self.attempt_to_write(session, frame, attempts, row, old, values)
            if values is not None and place is not None:
                written.append((place, old, values))
                result.add(place, values)
        self.require_keys(session, written)
        return result.touched()

    def attempt_to_assign(
        self, session: EngineSession, frame: Frame, attempts: Attempts | None, row: int, old: Row
    ) -> Row | None:
        assign = partial(self.assigned, frame, row, old)
        return attempt(session, attempts, assign, partial(failed_row, "U", self.target.store, old, row))

    def attempt_to_write(
        self, session: EngineSession, frame: Frame, attempts: Attempts | None, row: int, old: Row, values: Row
    ) -> int | None:
        write = partial(self.write, session, frame, row, old, values)
        return attempt(session, attempts, write, partial(failed_row, "U", self.target.store, values, row))

    def assigned(self, frame: Frame, row: int, old: Row) -> Row:
        """Return the row's new values. All rows of a statement get theirs before it writes: subqueries see no change of it."""
        store = self.target.store
        if self.row_address:
            frame.row_id = store.rowid(row)
        new = list(old)
        for positions, values_of in self.settings:
            for position, value in zip(positions, values_of(old, frame), strict=True):
                new[position] = store.layout.stored(position, value, frame.nls)
        return with_virtual(store, store.layout.guarded(tuple(new), self.changed), frame)

    def write(self, session: EngineSession, frame: Frame, row: int, old: Row, values: Row) -> int:
        """Write a row, and return its number, which is another in another partition."""
        store, database = self.target.store, session.database
        require_not_null(store, values, updating=True)
        if checks := checks_of(store):
            require_checks(store, checks, values, frame)
        tx = database.transactions.of(session)
        stored = store.rows[row][-1].values
        assert stored is not None
        part = partition_of(session, store, values)
        if part is not store.part_of.get(row):
            return _move(session, store, row, stored, values, part)
        changed = self.changed | _followers(store, old, values)
        require_usable(session, store, changed)
        database.rows.update(tx, store, row, stored, values, changed, order=self.order)
        return row

    def require_keys(self, session: EngineSession, written: Sequence[tuple[int, Row, Row]]) -> None:
        """Check keys at the end of the statement: `set id = id + 1` may pass through keys in use."""
        store, database, tx, changed = self.target.store, session.database, session.transaction, self.changed
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


def compile_delete(session: EngineSession, tree: exp.Delete, subquery: SubQuery) -> DmlPlan:
    table = tree.this or tree.args["tables"][0]  # DELETE t, without FROM
    store, alias = dml_target(session, table), identifier(table.args.get("alias")) or None
    require_on(session.account, "DELETE", store.definition)
    require_mutable(store.definition)
    scope = table_scope(store, alias)
    return DeletePlan(target_of(store, scope, tree.args.get("where"), subquery), _returning(tree, scope))


@dataclass(slots=True)
class DeletePlan:
    target: Target
    returning: Returning
    failing: PassesOver | None = None

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store = self.target.store
        lock_rows_of(session, store)
        found = self.target.rows(session, frame)
        result = Result(store, self.returning, frame)
        fire(session, store, "DELETE")
        attempts = begun(self.failing, session, frame)
        if attempts is not None:
            for row, old in found:
                delete = partial(self._delete, session, frame, row, old)
                if attempt(session, attempts, delete, partial(failed_row, "D", store, old, row)):
                    result.add(row, old)
            return result.touched()
        for row, old in found:
            result.add(row, old)
            delete_row(session, store, row)
        for _, old in found:
            follow_delete(session, store, old, frame)
        return result.touched()

    def _delete(self, session: EngineSession, frame: Frame, row: int, old: Row) -> bool:
        delete_row(session, self.target.store, row)
        follow_delete(session, self.target.store, old, frame)
        return True


def delete_row(session: EngineSession, store: TableStore, row: int) -> None:
    stored = store.rows[row][-1].values
    assert stored is not None
    require_usable(session, store)
    session.database.rows.delete(session.database.transactions.of(session), store, row, stored)


def follow_delete(session: EngineSession, store: TableStore, old: Row, frame: Frame) -> None:
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
                require_usable(session, child)
                database.rows.delete(tx, child, row, stored)
                follow_delete(session, child, values, frame)
                continue
            new = with_virtual(child, tuple(None if i in cleared else v for i, v in enumerate(values)), frame)
            require_not_null(child, new, updating=True)
            changed = cleared | _followers(child, values, new)
            require_usable(session, child, changed)
            database.rows.update(tx, child, row, stored, new, changed)
    database.keys.require_no_children(tx, store, old, None)


def _move(session: EngineSession, store: TableStore, row: int, stored: Row, values: Row, part: Partition | None) -> int:
    """Move a row to another partition: a DELETE and an INSERT with another ROWID. Raise ORA-14402 unless that is allowed."""
    if not store.definition.row_movement:
        raise OraError(14402, "updating partition key column would cause a partition change")
    require_usable(session, store)
    tx = session.database.transactions.of(session)
    session.database.rows.delete(tx, store, row, stored)
    return session.database.rows.insert(tx, store, values, part)
