"""CURSOR(query) in a SELECT list: the outer query runs with the columns that the inner one names, and each of its rows opens
one.

A nested cursor reads the data of the moment at which its row is fetched, in blocks of a few rows. It sees columns of the outer
query's relations, by their qualifier or where no relation of its own has the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from standin.engine.expressions.frame import Frame, NotCompilable
from standin.engine.queries.relations import relation_of
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import as_text, identifier
from standin.engine.types.values import to_number
from standin.interface import ColumnInfo, OraError, Rows

_ROWS = 20  # of a block: their nested cursors are opened together
_PSEUDO = frozenset({"ROWNUM", "LEVEL", "ROWID", "ORA_ROWSCN", "USER", "UID", "SYSDATE", "SYSTIMESTAMP", "CURRENT_SCHEMA"})


class Plan(Protocol):
    columns: tuple[ColumnInfo, ...]

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]: ...

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]: ...

    def stands(self, session: EngineSession) -> bool: ...


Compile = Callable[[EngineSession, str], Plan]


def has_cursors(tree: exp.Select) -> bool:
    return any(_inner(node) is not None for node in tree.expressions)


@dataclass(frozen=True, slots=True)
class _Nested:
    """One CURSOR(..): its query, and the columns of the outer result whose values are its last binds."""

    plan: Plan
    needs: tuple[str, ...]


class NestedCursors:
    """The plan of a query with CURSOR(..) in its SELECT list."""

    def __init__(
        self, session: EngineSession, tree: exp.Select, compiled: Compile, name_of: Callable[[exp.Expression], str]
    ) -> None:
        outer = tree.copy()
        self._binds = 1 + max((int(str(p.this)[1:]) for p in tree.find_all(exp.Placeholder)), default=-1)
        self._nested: dict[str, _Nested] = {}
        names: dict[str, str] = {}
        for number, node in enumerate(list(outer.expressions)):
            query = _inner(node)
            if query is None:
                continue
            column, needs = f"CURSOR {number}", []
            names[column] = name_of(node)
            for at, free in enumerate(_free_columns(session, query)):
                needs.append(f"{column} {at}")
                outer.append("expressions", exp.alias_(free.copy(), exp.to_identifier(needs[-1], quoted=True)))
                free.replace(exp.Placeholder(this=f"b{self._binds + at}"))
            self._nested[column] = _Nested(compiled(session, as_text(query)), tuple(needs))
            node.replace(exp.alias_(exp.Literal.number(number), exp.to_identifier(column, quoted=True)))
        self._outer, self._names = compiled(session, as_text(outer)), names
        self.columns = self._shown(self._outer.columns)

    def _shown(self, columns: Sequence[ColumnInfo]) -> tuple[ColumnInfo, ...]:
        extra = {name for nested in self._nested.values() for name in nested.needs}
        return tuple(
            ColumnInfo(self._names[c.name], "CURSOR", 1, 0, 0, 0) if c.name in self._nested else c
            for c in columns
            if c.name not in extra
        )

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]:
        return self._shown(self._outer.columns_for(frame))

    def stands(self, session: EngineSession) -> bool:
        return self._outer.stands(session) and all(nested.plan.stands(session) for nested in self._nested.values())

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        columns = self._outer.columns_for(frame)
        return self._opened(session, frame, columns, self._outer.open(session, frame))

    def _opened(
        self, session: EngineSession, frame: Frame, columns: Sequence[ColumnInfo], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        shown = self._shown(columns)
        for whole in batches:
            for start in range(0, whole.num_rows, _ROWS):
                batch = whole.slice(start, _ROWS)
                arrays = {c.name: array for c, array in zip(columns, batch.columns, strict=True)}
                kinds = {c.name: c for c in columns}
                for name, nested in self._nested.items():
                    needed = [[_plain(v, kinds[n]) for v in arrays[n].to_pylist()] for n in nested.needs]
                    rows = zip(*needed, strict=True) if needed else [()] * batch.num_rows
                    tokens = [session.keep_rows(self._run(session, frame, nested.plan, values)) for values in rows]
                    arrays[name] = pa.array(tokens, pa.int64())
                kept = [array for name, array in arrays.items() if not any(name in n.needs for n in self._nested.values())]
                yield pa.RecordBatch.from_arrays(kept, names=[c.name for c in shown])

    def _run(self, session: EngineSession, frame: Frame, plan: Plan, values: Sequence[Any]) -> Rows:
        inner = Frame(session, (), frame.now)
        inner.binds = [*frame.binds[: self._binds], *values]
        with session.database.lock:
            return Rows(plan.columns_for(inner), plan.open(session, inner))


def _plain(value: Any, info: ColumnInfo) -> Any:
    return to_number(value) if info.type == "NUMBER" and value is not None else value


def _inner(node: exp.Expression) -> exp.Query | None:
    """Return the query of CURSOR(query), None for another expression."""
    call = node.this if isinstance(node, exp.Alias) else node
    if not isinstance(call, exp.Anonymous) or str(call.this).upper() != "CURSOR":
        return None
    if len(call.expressions) != 1 or not isinstance(call.expressions[0], exp.Query):
        raise OraError(936, "missing expression")
    return call.expressions[0]


def _free_columns(session: EngineSession, query: exp.Query) -> list[exp.Column]:
    """Return the columns in a query that none of its own relations has."""
    return [
        column
        for column in list(query.find_all(exp.Column))
        if not isinstance(column.this, exp.Star) and not _is_bound(session, column, query)
    ]


def _is_bound(session: EngineSession, column: exp.Column, query: exp.Query) -> bool:
    node: exp.Expression | None = column
    while node is not None:
        if isinstance(node, exp.Select) and _has(session, node, column):
            return True
        node = None if node is query else node.parent
    return False


def _has(session: EngineSession, select: exp.Select, column: exp.Column) -> bool:
    name, qualifier = identifier(column.this), identifier(column.args.get("table"))
    if not qualifier and name in _PSEUDO:
        return True
    source = select.args.get("from_")
    relations = [*([source.this] if source else []), *(join.this for join in select.args.get("joins") or [])]
    for relation in relations:
        alias = identifier(relation.args.get("alias")) or (identifier(relation.this) if isinstance(relation, exp.Table) else "")
        if qualifier == alias if qualifier else name in _names_of(session, relation):
            return True
    return False


def _names_of(session: EngineSession, relation: exp.Expression) -> frozenset[str]:
    if isinstance(relation, exp.Table):
        return frozenset(relation_of(session, relation).scope.columns)
    if isinstance(relation, exp.Subquery) and isinstance(relation.this, exp.Query):
        return frozenset(identifier(e.args.get("alias")) or identifier(e.this) for e in relation.this.selects)
    raise NotCompilable("table expression")
