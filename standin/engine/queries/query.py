"""Compiles SELECT: a query over one relation to a SelectPlan; every other goes to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Compiled, Fn, Frame, NotCompilable, Outer, Rows, Scope, SubQuery
from standin.engine.expressions.known_types import with_constructors
from standin.engine.queries.access import conjuncts, is_rownum_limit
from standin.engine.queries.aggregates import AGGREGATES, Aggregate, aggregate_of
from standin.engine.queries.analytic import AnalyticQuery
from standin.engine.queries.grouped import compile_grouped
from standin.engine.queries.nested_cursors import NestedCursors, has_cursors
from standin.engine.queries.relations import Relation, relation_of
from standin.engine.queries.select_plan import SelectPlan
from standin.engine.queries.target import target_of
from standin.engine.queries.union_all import union_all
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import identifier, parse_as_written
from standin.engine.types.datatypes import NUMBER
from standin.interface import ColumnInfo, OraError


class QueryPlan(Protocol):
    columns: tuple[ColumnInfo, ...]

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]: ...

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]: ...

    def stands(self, session: EngineSession) -> bool:
        """Return whether a DDL has left the plan as it was."""


def compile_query(session: EngineSession, text: str) -> QueryPlan:
    tree = parse_as_written(text)
    if isinstance(tree, exp.Select) and has_cursors(tree):
        return NestedCursors(session, tree, compile_query, column_name)
    if isinstance(tree, exp.Union) and (plan := union_all(session, tree, compile_query)) is not None:
        return plan
    try:
        if isinstance(tree, exp.Select) and tree.args.get("group"):
            return compile_grouped(tree, lambda view: compile_select(session, view, ""), column_name)
        if isinstance(tree, exp.Select):
            return compile_select(session, with_constructors(session, tree), text)
    except NotCompilable:
        pass  # DuckDB knows the rest of SQL, and raises an error for what it lacks
    return AnalyticQuery(session, text)


def subquery_compiler(session: EngineSession, *, correlated: bool = False) -> SubQuery:
    """Return the compiler of subqueries: it gives their columns and a function that returns their rows.

    Correlated ones are compiled for DML only: DuckDB runs those of queries.
    """

    def compiled(node: exp.Query, outer: Outer | None) -> tuple[tuple[ColumnInfo, ...], Rows]:
        query = node.this if isinstance(node, exp.Subquery) else node
        if not isinstance(query, exp.Select):
            raise NotCompilable("set operation")
        try:
            plan = compile_select(session, query, "", outer if correlated else None, correlated=correlated)
        except OraError as error:
            if error.code == 904 and not correlated:  # possibly a column of the outer query
                raise NotCompilable("correlated subquery") from None
            raise
        return plan.columns, lambda frame, row: list(plan.tuples(frame.session, _inner(frame, row)))

    return compiled


def _inner(frame: Frame, row: Any) -> Frame:
    inner = Frame(frame.session, frame.binds, frame.now)
    inner.outer, inner.outer_row = frame, row
    return inner


_NEEDS_DUCKDB = ("joins", "group", "having", "windows", "with_", "laterals", "pivots", "match", "qualify", "sample")


def compile_select(
    session: EngineSession, tree: exp.Select, text: str, outer: Outer | None = None, *, correlated: bool = False
) -> SelectPlan:
    if any(tree.args.get(part) for part in _NEEDS_DUCKDB):
        raise NotCompilable("more than one relation")
    source = tree.args.get("from_")
    if source is None:
        raise OraError(923, "FROM keyword not found where expected")
    if not isinstance(source.this, exp.Table):
        raise NotCompilable("subquery")
    relation = relation_of(session, source.this)
    if outer is not None:
        relation = replace(relation, scope=replace(relation.scope, outer=outer))
    subquery = subquery_compiler(session, correlated=correlated)
    levels = None
    if (connect := tree.args.get("connect")) is not None:
        levels, relation = _levels(connect, relation), replace(relation, scope=_with_level(relation.scope))
    compiler = Compiler(relation.scope, subquery)
    names, values, aggregates = _projections(tree, relation, compiler)
    where, limits = _without_rownum(tree.args.get("where"), compiler)
    distinct = tree.args.get("distinct") is not None
    order = _order(tree, values, compiler) if not aggregates else ()
    locks = tree.args.get("locks") or []
    if locks and (aggregates or distinct or relation.store is None):
        raise OraError(2014, "cannot select FOR UPDATE from view with DISTINCT, GROUP BY, etc.")
    if locks:
        assert relation.store is not None
        require_on(session.account, "UPDATE", relation.store.definition)
    target = None
    if relation.store is not None:
        condition = exp.Where(this=where) if where is not None else None
        target = target_of(relation.store, relation.scope, condition, subquery)
    condition_run = compiler.compile(where).run if where is not None else None
    return SelectPlan(
        text, relation, tuple(names), tuple(values), tuple(aggregates), condition_run, tuple(limits), _fetch(tree, compiler),
        order, distinct, target, _wait_of(locks), compiler.row_address or bool(target and target.row_address),
        _referenced(tree, relation), len(list(tree.find_all(exp.Select))) > 1, levels,
    )  # fmt: skip


def _levels(connect: exp.Connect, relation: Relation) -> tuple[Fn, int]:
    """Return the number of rows that CONNECT BY LEVEL <= n makes of DUAL's one, as (n, 0), or (n, -1) for `<`."""
    condition, is_dual = connect.args["connect"], relation.store is None and relation.view is None
    counts = isinstance(condition, exp.LTE | exp.LT) and identifier(condition.this) in ("LEVEL", "ROWNUM")
    if not (is_dual and counts) or connect.args.get("start") is not None:
        raise NotCompilable("CONNECT BY of a hierarchy")
    return Compiler(EMPTY_SCOPE).compile(condition.expression).run, -1 if isinstance(condition, exp.LT) else 0


def _with_level(scope: Scope) -> Scope:
    return replace(scope, columns={**scope.columns, "LEVEL": (len(scope.columns), NUMBER)})


def _column_names(tree: exp.Expression) -> set[str]:
    return {identifier(c.this) for c in tree.find_all(exp.Column)}


def _referenced(tree: exp.Select, relation: Relation) -> frozenset[str]:
    if any(isinstance(p, exp.Star) or (isinstance(p, exp.Column) and isinstance(p.this, exp.Star)) for p in tree.expressions):
        return frozenset(relation.scope.columns)
    return frozenset(_column_names(tree) & relation.scope.columns.keys())


def _projections(
    tree: exp.Select, relation: Relation, compiler: Compiler
) -> tuple[list[ColumnInfo], list[Compiled], list[Aggregate]]:
    """Return the selected names and values, and the aggregates whose results the values are computed from, if there are any."""
    if any(_aggregates_in(node) for node in tree.expressions):
        return _aggregated(tree, compiler, relation.scope.outer)
    infos: list[ColumnInfo] = []
    values: list[Compiled] = []
    for node in tree.expressions:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            for at, info in relation.shown:
                infos.append(info)
                values.append(_plain(at, info))
            continue
        compiled = compiler.compile(node.this if isinstance(node, exp.Alias) else node)
        infos.append(replace(compiled.info, name=column_name(node)))
        values.append(compiled)
    return infos, values, []


def _aggregates_in(node: exp.Expression) -> list[exp.Anonymous]:
    if isinstance(node, exp.Subquery):
        return []
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES:
        return [node]
    return [found for child in node.iter_expressions() for found in _aggregates_in(child)]


def _aggregated(
    tree: exp.Select, compiler: Compiler, outer: Outer | None
) -> tuple[list[ColumnInfo], list[Compiled], list[Aggregate]]:
    """Compile expressions over aggregates: each aggregate is a column of the one row that the expressions read."""
    infos, values, aggregates = list[ColumnInfo](), list[Compiled](), list[Aggregate]()
    columns: dict[str, tuple[int, ColumnInfo]] = {}
    for node in tree.expressions:
        inner = (node.this if isinstance(node, exp.Alias) else node).copy()
        holder = exp.Paren(this=inner)
        for found in _aggregates_in(holder):
            aggregates.append(aggregate_of(found, compiler))
            name = f"aggregate {len(columns)}"
            columns[name] = (len(columns), aggregates[-1].info)
            found.replace(exp.column(exp.to_identifier(name, quoted=True)))
        try:
            compiled = Compiler(Scope(columns, outer=outer)).compile(holder)
        except OraError as error:
            if error.code == 904:  # a plain column beside an aggregate
                raise NotCompilable("aggregate with a plain value") from None
            raise
        infos.append(replace(compiled.info, name=column_name(node)))
        values.append(compiled)
    return infos, values, aggregates


def _plain(at: int, info: ColumnInfo) -> Compiled:
    return Compiled(lambda row, f: row[at], info)


def column_name(node: exp.Expression) -> str:
    """Return the column's name: the alias, the column, or the expression's text without blanks."""
    if isinstance(node, exp.Alias):
        return identifier(node.args["alias"])
    if isinstance(node, exp.Column):
        return identifier(node.this)
    return str(node.sql(dialect="oracle")).upper().replace(" ", "")


def _without_rownum(where: exp.Where | None, compiler: Compiler) -> tuple[exp.Expression | None, list[tuple[Fn, int]]]:
    """Split `ROWNUM <= n` off the condition, as (n, 0) for `<=` and (n, -1) for `<`."""
    rest: list[exp.Expression] = []
    limits: list[tuple[Fn, int]] = []
    for part in conjuncts(where):
        if is_rownum_limit(part):
            limits.append((compiler.compile(part.expression).run, -1 if isinstance(part, exp.LT) else 0))
        elif "ROWNUM" in _column_names(part):
            raise NotCompilable("ROWNUM inside a condition")
        else:
            rest.append(part)
    return (exp.and_(*rest, copy=False) if rest else None), limits


def _fetch(tree: exp.Select, compiler: Compiler) -> tuple[Fn | None, Fn | None]:
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression if limit is not None else None
    if isinstance(limit, exp.Fetch) and (options := limit.args.get("limit_options")) is not None:
        if options.args.get("percent") or options.args.get("with_ties"):
            raise NotCompilable("FETCH with PERCENT or TIES")
        count = count or exp.Literal.number(1)
    return (
        compiler.compile(count).run if count is not None else None,
        compiler.compile(offset.expression).run if offset is not None else None,
    )


def _order(tree: exp.Select, values: Sequence[Compiled], compiler: Compiler) -> tuple[tuple[Fn, bool, bool], ...]:
    """Return (key, descending, nulls first) for each ORDER BY item. A position or alias means a selected value."""
    node = tree.args.get("order")
    if node is None:
        return ()
    aliases = {identifier(p.args["alias"]): i for i, p in enumerate(tree.expressions) if isinstance(p, exp.Alias)}
    items = []
    for item in node.expressions:
        key, descending = item.this, bool(item.args.get("desc"))
        if isinstance(key, exp.Literal) and not key.is_string:
            position = int(key.name) - 1
            if not 0 <= position < len(values):
                raise OraError(1785, "ORDER BY item must be the number of a SELECT-list expression")
            run = values[position].run
        elif isinstance(key, exp.Column) and identifier(key.this) in aliases and not key.args.get("table"):
            if any(isinstance(p, exp.Star) for p in tree.expressions):
                raise NotCompilable("ORDER BY an alias with *")
            run = values[aliases[identifier(key.this)]].run
        else:
            run = compiler.compile(key).run
        first = item.args.get("nulls_first")
        items.append((run, descending, bool(first) if first is not None else descending))
    return tuple(items)


def _wait_of(locks: Sequence[exp.Expression]) -> float | bool | None:
    """Return the seconds that FOR UPDATE waits: None without limit, 0 for NOWAIT. Return False without FOR UPDATE."""
    if not locks:
        return False
    wait = locks[0].args.get("wait")
    if wait is False:
        raise OraError(3001, "unimplemented feature: SKIP LOCKED")
    if wait is None or wait is True:  # sqlglot's True is NOWAIT
        return 0.0 if wait else None
    return float(wait.name)
