"""Queries that DuckDB computes: joins, GROUP BY, set operations, subqueries and streams.

Oracle's SQL is translated to DuckDB's and runs over Arrow tables of the same snapshots and views. A stream
(V$LOGMNR_CONTENTS) that is only filtered and projected runs batch by batch, which keeps its order and bounds memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from types import NoneType
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.transforms import eliminate_join_marks

from standin.engine.expressions.frame import Frame
from standin.engine.queries.access import conjuncts, is_rownum_limit
from standin.engine.queries.inference import UNKNOWN, Sources, infer_columns
from standin.engine.queries.meaning import MACROS, compare_by_types, with_oracles_meaning
from standin.engine.queries.oracle_types import (
    TOO_EXACT,
    check_digits,
    duck_table,
    oracle_batches,
    with_known_types,
)
from standin.engine.queries.policies import as_seen
from standin.engine.queries.relations import Relation, relation_of, snapshot_scn, unarchived
from standin.engine.sessions.catalog import ViewRows
from standin.engine.sessions.environment import context
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import KEPT_TREES, identifier, parse_for_duckdb
from standin.interface import ColumnInfo, OraError
from standin.zones import Zoned

_CONTEXT_COLUMNS = frozenset({"USER", "UID", "CURRENT_SCHEMA"})
_BOUND = (exp.Placeholder, exp.CurrentTimestamp, exp.Systimestamp, exp.CurrentDate, exp.Localtimestamp)
_FEW_ROWS, _KEPT_RESULTS = 200, 1000
# Equal values of these types are shown alike; with time zones that is not so.
_ONE_TEXT = frozenset({NoneType, str, int, Decimal, bytes, datetime})
_MARK = re.compile(r"redolake_bind_(\d+)_")

Input = tuple[str, tuple[ColumnInfo, ...], tuple[tuple[Any, ...], ...]]  # a name, its columns, its rows


class AnalyticQuery:
    """One query over DuckDB. Raises OraError for a name that cannot be resolved and for SQL that DuckDB does not know."""

    def __init__(self, session: EngineSession, text: str) -> None:
        nodes = _relation_nodes(text)
        self._relations = {f"r{number}": relation_of(session, node) for number, node in nodes}
        shapes = tuple((tuple(r.scope.columns.items()), r.shown) for r in self._relations.values())
        self._translated = _translation(text, shapes)
        self.columns: tuple[ColumnInfo, ...] = self._translated.columns
        if not self.columns or any(c.type == UNKNOWN for c in self.columns):
            self.columns = with_known_types(self.columns, self._empty_result(session).schema)

    def _empty_result(self, session: EngineSession) -> pa.Table:
        """Run the query over no rows and NULL binds, to learn the result types from DuckDB."""
        unbound = [None] * (
            1 + max((_number_of(p) for p in self._translated.bound if isinstance(p, exp.Placeholder)), default=-1)
        )
        inputs = tuple((name, tuple(info for _, info in self._wanted(name)), ()) for name in self._relations)
        return _result(self._sql(Frame(session, unbound, datetime(2000, 1, 1))), inputs)

    def _wanted(self, name: str) -> list[tuple[int, ColumnInfo]]:
        """Return the columns of a relation that the query refers to, with their positions."""
        names = self._translated.referenced[name]
        return [(at, info) for at, info in self._relations[name].scope.columns.values() if info.name in names]

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]:
        return self.columns

    def stands(self, session: EngineSession) -> bool:
        return all(relation.stands(session) for relation in self._relations.values())

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        """Run the query. All inputs are read before the first batch; a stream's own errors are raised unchanged."""
        tables, streams = [], {}
        for name, relation in self._relations.items():
            found = self._input(session, frame, name, relation)
            if isinstance(found, Sequence):
                tables.append((name, *self._projected(name, found)))
            else:
                streams[name] = found
        if streams:
            return self._over_streams(frame, tables, streams)
        return oracle_batches(_result(self._sql(frame), tuple(tables)), self.columns)

    def _over_streams(
        self, frame: Frame, tables: Sequence[Input], streams: Mapping[str, Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        connection, failures = _connection(tables), list[OraError]()
        for name, stream in streams.items():
            connection.register(name, _reader(stream, self._wanted(name), failures))
        return oracle_batches(_run(connection, self._sql(frame), failures), self.columns)

    def _projected(self, name: str, rows: Sequence[Any]) -> tuple[tuple[ColumnInfo, ...], tuple[tuple[Any, ...], ...]]:
        wanted = self._wanted(name)
        places = [at for at, _ in wanted]
        return tuple(info for _, info in wanted), tuple([tuple([row[at] for at in places]) for row in rows])

    def _input(self, session: EngineSession, frame: Frame, name: str, relation: Relation) -> ViewRows:
        if relation.view is not None:
            return relation.view.rows(session, self._translated.referenced[name])
        if relation.store is None:
            return [("X",)]
        own = session.transaction if relation.version is None else None
        scn = snapshot_scn(session, relation, frame)
        seen = unarchived(session, relation.store, relation.store.visible(scn, own))
        return [values for _, values in as_seen(session, relation.store, seen, frame)]

    def open_stream(self, session: EngineSession, frame: Frame, stream: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the query over a stream that is already open."""
        (name,) = self._relations
        limit = self._stream_limit(frame)
        if limit is None:
            return self._over_streams(frame, (), {name: stream})
        return self._batch_by_batch(session, name, self._sql(frame), stream, limit)

    def _batch_by_batch(
        self, session: EngineSession, name: str, sql: str, stream: Iterator[pa.RecordBatch], limit: int
    ) -> Iterator[pa.RecordBatch]:
        connection, wanted = _connection(), self._wanted(name)
        for batch in stream:
            session.check_cancelled()
            if limit <= 0:
                return
            connection.register(name, pa.Table.from_batches([_complete(batch, wanted)]))
            result = _run(connection, sql, []).slice(0, limit)
            limit -= result.num_rows
            yield from oracle_batches(result, self.columns)

    def _stream_limit(self, frame: Frame) -> int | None:
        """Return the row limit of a query that can run batch by batch; None when it needs all rows at once."""
        count = self._translated.stream_limit
        if isinstance(count, exp.Placeholder):
            count = exp.Literal.number(_value(count, frame))
        return int(count.name) if isinstance(count, exp.Literal) else None

    def _sql(self, frame: Frame) -> str:
        """Return DuckDB's SQL with the values of this execution."""
        return _MARK.sub(lambda mark: _literal(_value(self._translated.bound[int(mark[1])], frame)), self._translated.sql)


@dataclass(frozen=True, slots=True)
class _Translation:
    """A text over relations with certain columns: the part of a query that is the same in every session and database."""

    sql: str  # with a numbered mark for each of `bound`
    bound: tuple[exp.Expression, ...]  # binds, times and context values
    columns: tuple[ColumnInfo, ...]
    referenced: Mapping[str, frozenset[str]]  # the columns of each relation that the query refers to
    stream_limit: exp.Expression | None


Columns = tuple[tuple[str, tuple[int, ColumnInfo]], ...]
Shape = tuple[Columns, tuple[tuple[int, ColumnInfo], ...]]  # the columns of a relation, and those of *


@lru_cache(KEPT_TREES)
def _relation_nodes(text: str) -> list[tuple[int, exp.Table]]:
    """Return the tables of a query that are none of its common table expressions, numbered. Nobody may change them."""
    tree = _normalised(text)
    if not isinstance(tree, exp.Query):
        raise OraError(3001, f"unimplemented feature: {tree.key.upper()}")
    common = {identifier(cte.args["alias"]) for cte in tree.find_all(exp.CTE)}
    tables = enumerate(tree.find_all(exp.Table))
    return [(number, node) for number, node in tables if identifier(node.this) not in common or node.args.get("db")]


@lru_cache(KEPT_TREES)
def _translation(text: str, shapes: tuple[Shape, ...]) -> _Translation:
    """Give each table of the text a registered name, and note which of its columns the query refers to."""
    tree = _normalised(text).copy()
    numbers = [number for number, _ in _relation_nodes(text)]
    nodes = list(tree.find_all(exp.Table))
    wanted = {identifier(c.this) for c in tree.find_all(exp.Column) if not isinstance(c.this, exp.Star)}
    everything = any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
    referenced: dict[str, frozenset[str]] = {}
    sources: Sources = {}
    for number, (columns, shown) in zip(numbers, shapes, strict=True):
        node, name, names = nodes[number], f"r{number}", frozenset(column for column, _ in columns)
        referenced[name] = names if everything else names & wanted
        sources[name] = tuple(info for _, info in shown)
        alias = identifier(node.args.get("alias")) or identifier(node.this)
        node.replace(exp.table_(name, alias=exp.to_identifier(alias, quoted=True), quoted=True))
    compare_by_types(tree, {info.name: info.type for columns, _ in shapes for _, (_, info) in columns})
    columns_of_result, limit = infer_columns(tree, sources), _stream_limit(tree)
    return _Translation(*_template(tree), columns_of_result, referenced, limit)


def _connection(tables: Sequence[Input] = ()) -> duckdb.DuckDBPyConnection:
    """Return a new connection, with names of its own, over these tables: a result in use blocks its connection."""
    connection = _database().cursor()
    given = {name: duck_table(list(enumerate(columns)), rows) for name, columns, rows in tables}
    check_digits(given.values())
    for name, table in given.items():
        connection.register(name, table)
    return connection


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Open the in-memory database, which takes a hundred times as long as a connection. One thread keeps the order of rows."""
    database = duckdb.connect(config={"threads": 1, "preserve_insertion_order": True})
    for macro in MACROS:
        database.execute(macro).fetchall()
    return database


def _result(sql: str, inputs: tuple[Input, ...]) -> pa.Table:
    """Compute a query over rows. Clients ask for the dictionary again and again: small results are kept."""
    tables = [rows for _, _, rows in inputs]
    is_small = sum(map(len, tables)) <= _FEW_ROWS
    if is_small and all(value.__class__ in _ONE_TEXT for rows in tables for row in rows for value in row):
        return _kept_result(sql, inputs)
    return _computed(sql, inputs)


def _computed(sql: str, inputs: tuple[Input, ...]) -> pa.Table:
    return _run(_connection(inputs), sql, [])


_kept_result = lru_cache(_KEPT_RESULTS)(_computed)


def _run(connection: duckdb.DuckDBPyConnection, sql: str, failures: list[OraError]) -> pa.Table:
    try:
        return connection.execute(sql).to_arrow_table()
    except duckdb.Error as error:
        if failures:
            raise failures[0] from None
        raise _as_oracle(error) from None


def _as_oracle(error: duckdb.Error) -> OraError:
    text = str(error).splitlines()[0]
    if isinstance(error, duckdb.BinderException) and "Referenced" in text:
        return OraError(904, f"invalid identifier ({text})")
    if isinstance(error, duckdb.BinderException) and "GROUP BY" in text:
        return OraError(979, "not a GROUP BY expression")
    if isinstance(error, duckdb.ConversionException) and "out of range" in text:
        return OraError(1438, "value larger than specified precision allowed for this column")
    if isinstance(error, duckdb.ConversionException):
        return OraError(1722, "invalid number")
    if "ORA-03001" in text:
        return OraError(3001, f"unimplemented feature: {TOO_EXACT}")
    if "ORA-01476" in text:
        return OraError(1476, "divisor is equal to zero")
    return OraError(3001, f"unimplemented feature: {text}")


def _reader(
    stream: Iterator[pa.RecordBatch], wanted: Sequence[tuple[int, ColumnInfo]], failures: list[OraError]
) -> pa.RecordBatchReader:
    first = next(stream, None)
    schema = _complete(first, wanted).schema if first is not None else duck_table(wanted, []).schema

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            if first is not None:
                yield _complete(first, wanted)
            for batch in stream:
                yield _complete(batch, wanted)
        except OraError as error:
            failures.append(error)
            raise

    return pa.RecordBatchReader.from_batches(schema, batches())


def _complete(batch: pa.RecordBatch, wanted: Sequence[tuple[int, ColumnInfo]]) -> pa.RecordBatch:
    """Return the wanted columns; one that the view left out is NULL. DuckDB needs at least one column."""
    present = set(batch.schema.names)
    arrays = {c.name: batch.column(c.name) if c.name in present else pa.nulls(batch.num_rows) for _, c in wanted}
    return pa.RecordBatch.from_pydict(arrays or {"ONE": pa.nulls(batch.num_rows)})


def _stream_limit(tree: exp.Expression) -> exp.Expression | None:
    """Return the row limit of a query that can run batch by batch; None when it needs all rows at once."""
    parts = ("joins", "group", "having", "order", "distinct", "offset", "with_")
    if (
        not isinstance(tree, exp.Select)
        or any(tree.args.get(part) for part in parts)
        or len(list(tree.find_all(exp.Select))) > 1
    ):
        return None
    if any(isinstance(node, exp.AggFunc | exp.Window) for node in tree.walk()):
        return None
    limit = tree.args.get("limit")
    if limit is None:
        return exp.Literal.number(2**62)
    return limit.expression.copy() if isinstance(limit, exp.Limit) else None


@lru_cache(KEPT_TREES)
def _normalised(text: str) -> exp.Expression:
    """Spell names as the dictionary does and translate Oracle's own constructs to DuckDB's. Nobody may change the tree."""
    tree = parse_for_duckdb(text)
    for name in tree.find_all(exp.Identifier):
        if not name.args.get("quoted"):
            name.set("this", str(name.this).upper())
            name.set("quoted", True)
    for select in list(tree.find_all(exp.Select)):
        _limit_by_rownum(select)
        for column in select.find_all(exp.Column):
            if column.args.get("join_mark"):
                eliminate_join_marks(select)
                break
        if isinstance(fetch := select.args.get("limit"), exp.Fetch):
            select.set("limit", exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))
    return _rewritten(tree, with_oracles_meaning)


def _rewritten(tree: exp.Expression, change: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """Change every node, the inner ones first: sqlglot's own transform does not descend below a changed node."""
    for node in reversed(list(tree.walk())):
        changed = change(node)
        if changed is not node and node is tree:
            tree = changed
        elif changed is not node:
            node.replace(changed)
    return tree


def _limit_by_rownum(select: exp.Select) -> None:
    kept, limit = [], None
    for part in conjuncts(select.args.get("where")):
        if is_rownum_limit(part):
            limit = (
                exp.Sub(this=part.expression, expression=exp.Literal.number(1)) if isinstance(part, exp.LT) else part.expression
            )
        else:
            kept.append(part)
    if limit is not None:
        select.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
        select.set("limit", exp.Limit(expression=limit))


def _template(tree: exp.Expression) -> tuple[str, tuple[exp.Expression, ...]]:
    """Return the SQL with a numbered mark in place of each bind, time or context value, and their nodes."""
    nodes: list[exp.Expression] = []

    def marked(node: exp.Expression) -> exp.Expression:
        if not _is_bound(node):
            return node
        nodes.append(node)
        return exp.Var(this=f"redolake_bind_{len(nodes) - 1}_")

    try:
        return str(_rewritten(tree, marked).sql("duckdb", copy=False, unsupported_level=ErrorLevel.RAISE)), tuple(nodes)
    except UnsupportedError as error:
        raise OraError(3001, f"unimplemented feature: {error}") from None


def _is_bound(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() == "SYS_CONTEXT"
    if isinstance(node, exp.Column):
        return identifier(node.this) in _CONTEXT_COLUMNS and not node.args.get("table")
    return isinstance(node, _BOUND)


def _number_of(bind: exp.Placeholder) -> int:
    return int(str(bind.this)[1:])


def _value(node: exp.Expression, frame: Frame) -> Any:
    """Return the value of a bind, the current time or a context value."""
    if isinstance(node, exp.Placeholder):
        return frame.binds[_number_of(node)]
    if isinstance(node, _BOUND):
        return frame.now.replace(microsecond=0) if node.args.get("sysdate") else frame.now
    if isinstance(node, exp.Anonymous):
        space, key = (e.name for e in node.expressions[:2])
        return context(frame.session, space, key)
    return frame.session.user if identifier(node.this) == "USER" else None


def _literal(value: Any) -> str:
    """Return DuckDB's text of a value."""
    if value is None or value == "":
        return "NULL"
    if isinstance(value, bool | int | Decimal | float):
        number = str(int(value) if isinstance(value, bool) else value)
        return f"({number})" if number.startswith("-") else number
    if isinstance(value, Zoned):
        at = value.local()
        value = datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)
    if isinstance(value, datetime):
        return f"CAST('{value.isoformat(' ')}' AS TIMESTAMP)"
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    text = str(value).replace("'", "''")
    return f"'{text}'"
