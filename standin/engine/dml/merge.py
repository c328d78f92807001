"""MERGE: a row of the source updates, and perhaps deletes, the rows that it matches; without one, it is inserted.

Rows are written in the order of the source. A row that is updated and deleted has both in the redo: not verified for Oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

from standin.engine.dml.dml import (
    InsertPlan,
    Result,
    Returning,
    Touched,
    UpdatePlan,
    begun,
    delete_row,
    follow_delete,
    inserted_columns,
    settings_of,
    values_of,
)
from standin.engine.dml.failing_rows import Attempts, PassesOver, attempt
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame, NotCompilable, Outer, Scope, SubQuery
from standin.engine.plsql.triggers import fire
from standin.engine.queries.access import table_scope
from standin.engine.queries.target import Target, target_of
from standin.engine.sessions.names import dml_target, require_mutable
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import lock_rows_of
from standin.engine.storage.layout import Row
from standin.engine.text.parse import identifier
from standin.interface import ColumnInfo, OraError

_NOTHING = Returning((), False)


def compile_merge(session: EngineSession, tree: exp.Merge, subquery: SubQuery) -> MergePlan:
    store, alias = dml_target(session, tree.this), identifier(tree.this.args.get("alias")) or None
    source_scope, rows = source_of(tree.args["using"], subquery)
    source = Compiler(source_scope, subquery)
    own = table_scope(store, alias)
    _require_unambiguous(tree, own, source_scope)
    scope = Scope(own.columns, own.qualifiers, own.is_table, Outer(source.column))
    compiler = Compiler(scope, subquery)
    on = tree.args["on"]
    plan = MergePlan(target_of(store, scope, exp.Where(this=on), subquery), rows)
    for when in tree.args["whens"].expressions:
        then = when.args["then"]
        if when.args.get("condition") is not None or when.args.get("source"):
            raise NotCompilable("WHEN with a condition")
        if isinstance(then, exp.Update) and when.args["matched"]:
            require_on(session.account, "UPDATE", store.definition)
            require_mutable(store.definition)
            settings = settings_of(store, then.expressions, compiler)
            plan.update = UpdatePlan(plan.target, settings, compiler.row_address, _NOTHING)
            _require_not_joined(on, own, plan.update.changed)
            plan.update_where, plan.delete_where = _condition(then, "where", compiler), _condition(then, "delete", compiler)
            if plan.delete_where is not None:
                require_on(session.account, "DELETE", store.definition)
        elif isinstance(then, exp.Insert) and not when.args["matched"]:
            named = then.this.expressions if isinstance(then.this, exp.Tuple) else None
            names = None if named is None else [identifier(column.this) for column in named]
            positions, defaults = inserted_columns(session, store, names)
            plan.values = values_of(then.expression.expressions, positions, defaults, source)
            plan.insert = InsertPlan(store, positions, defaults, [], None, _NOTHING)
            plan.insert_where = _condition(then, "where", source)
        else:
            raise NotCompilable("this branch of MERGE")
    return plan


def source_of(node: exp.Expression, subquery: SubQuery) -> tuple[Scope, Callable[[Frame], list[Row]]]:
    """Return the columns and the rows of a table, a view or a query, without those that only an Oracle row has, as ROWID."""
    alias = identifier(node.args.get("alias"))
    if isinstance(node, exp.Table):
        query: Any = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node))
        alias = alias or identifier(node.this)
    else:
        query = node.this
    columns, rows = subquery(query, None)
    numbered: dict[str, tuple[int, ColumnInfo]] = {info.name: (at, info) for at, info in enumerate(columns)}
    return Scope(numbered, frozenset({alias} if alias else ())), lambda frame: rows(frame, ())


def _require_unambiguous(tree: exp.Merge, own: Scope, source: Scope) -> None:
    assigned = {id(node.this) for node in tree.find_all(exp.EQ) if isinstance(node.parent, exp.Update)}
    conditions = [tree.args["on"], *(when.args["then"] for when in tree.args["whens"].expressions if when.args["matched"])]
    for column in (column for condition in conditions for column in condition.find_all(exp.Column)):
        name = identifier(column.this)
        if not column.args.get("table") and id(column) not in assigned and name in own.columns and name in source.columns:
            raise OraError(918, f'"{name}": column ambiguously defined')


def _require_not_joined(on: exp.Expression, own: Scope, changed: frozenset[int]) -> None:
    """Raise ORA-38104 for SET of a column of the ON clause."""
    for column in on.find_all(exp.Column):
        name, qualifier = identifier(column.this), identifier(column.args.get("table"))
        if (not qualifier or qualifier in own.qualifiers) and name in own.columns and own.columns[name][0] in changed:
            raise OraError(38104, f'columns referenced in the ON Clause cannot be updated: "{name}"')


def _condition(node: exp.Expression, name: str, compiler: Compiler) -> Fn | None:
    where = node.args.get(name)
    return None if where is None else compiler.compile(where.this).run


class _Pair(NamedTuple):
    """A row of the source with one that it matches: that row's number and values, or None."""

    source: Row
    row: int | None = None
    old: Row = ()


class _Change(NamedTuple):
    """A pair with the row's new values, and whether it is deleted after that."""

    pair: _Pair
    values: Row
    is_deleted: bool = False


@dataclass(slots=True)
class MergePlan:
    target: Target  # the rows that match a row of the source
    source: Callable[[Frame], list[Row]]
    update: UpdatePlan | None = None
    update_where: Fn | None = None
    delete_where: Fn | None = None
    insert: InsertPlan | None = None
    values: list[Fn] | None = None
    insert_where: Fn | None = None
    failing: PassesOver | None = None

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        store = self.target.store
        lock_rows_of(session, store)
        frame.outer = frame
        pairs = self.target.settled(session, frame, lambda: list(self._pairs(session, frame)), lambda pair: pair.row)
        triggers = fire(session, store, "INSERT") if self.insert else []
        if self.update:
            fire(session, store, "UPDATE", self.update.changed)
        if self.delete_where:
            fire(session, store, "DELETE")
        result, written, attempts = Result(store, _NOTHING, frame), [], begun(self.failing, session, frame)
        for pair, values, is_deleted in list(self._changes(session, frame, attempts, pairs)):
            if pair.row is None:
                assert self.insert is not None
                insert = partial(self.insert.write, session, frame, values, triggers)
                made = attempt(session, attempts, insert, partial(self.insert.failed, values))
                if made is not None:
                    result.add(*made)
                continue
            assert self.update is not None
            row = self.update.attempt_to_write(session, frame, attempts, pair.row, pair.old, values)
            if row is None:
                continue
            result.add(row, values)
            if is_deleted:
                delete_row(session, store, row)
                follow_delete(session, store, values, frame)
            else:
                written.append((row, pair.old, values))
        if self.update:
            self.update.require_keys(session, written)
        return result.touched()

    def _pairs(self, session: EngineSession, frame: Frame) -> Iterator[_Pair]:
        for source in self.source(frame):
            frame.outer_row = source
            found = self.target.matching(session, frame)
            yield from ([_Pair(source, row, old) for row, old in found] or [_Pair(source)])

    def _changes(
        self, session: EngineSession, frame: Frame, attempts: Attempts | None, pairs: list[_Pair]
    ) -> Iterator[_Change]:
        """Yield what the statement will write. Raise ORA-30926 for a row that two rows of the source change."""
        seen: set[int] = set()
        for pair in pairs:
            frame.outer_row = pair.source
            if pair.row is None:
                if self.values is not None and _holds(self.insert_where, pair.source, frame):
                    yield _Change(pair, tuple(value(pair.source, frame) for value in self.values))
            elif self.update is not None and _holds(self.update_where, pair.old, frame):
                if pair.row in seen:
                    raise OraError(30926, "unable to get a stable set of rows in the source tables")
                seen.add(pair.row)
                values = self.update.attempt_to_assign(session, frame, attempts, pair.row, pair.old)
                if values is None:
                    continue
                yield _Change(pair, values, self.delete_where is not None and bool(self.delete_where(values, frame)))


def _holds(condition: Fn | None, row: Row, frame: Frame) -> bool:
    return condition is None or bool(condition(row, frame))
