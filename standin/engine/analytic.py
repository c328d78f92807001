"""Queries that DuckDB computes: joins, GROUP BY, set operations, subqueries and streams.

Oracle's SQL is translated to DuckDB's and runs over Arrow tables of the same snapshots and views. A stream
(V$LOGMNR_CONTENTS) that is only filtered and projected runs batch by batch, which keeps its order and bounds memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.transforms import eliminate_join_marks

from standin.engine import datatypes
from standin.engine.access import conjuncts, is_rownum_limit
from standin.engine.catalog import ViewSource
from standin.engine.environment import context
from standin.engine.frame import Frame
from standin.engine.inference import UNKNOWN, Sources, infer_columns
from standin.engine.oracle_types import duck_table, oracle_batches, type_for_cast, with_known_types
from standin.engine.parse import KEPT_TREES, identifier, parse_for_duckdb
from standin.engine.policies import as_seen
from standin.engine.relations import Relation, relation_of, snapshot_scn, unarchived
from standin.engine.session import EngineSession
from standin.interface import ColumnInfo, OraError

_CONTEXT_COLUMNS = frozenset({"USER", "UID", "CURRENT_SCHEMA"})
_BOUND = (exp.Placeholder, exp.CurrentTimestamp, exp.Systimestamp, exp.CurrentDate, exp.Localtimestamp)
_MARK = re.compile(r"redolake_bind_(\d+)_")
_MACROS = (
    "CREATE MACRO ora_text(x) AS CASE WHEN contains(CAST(x AS VARCHAR), '.') AND typeof(x) LIKE 'DECIMAL%' "
    "THEN rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.') ELSE CAST(x AS VARCHAR) END",
    "CREATE MACRO ora_concat(a, b) AS nullif(concat(ora_text(a), ora_text(b)), '')",
)


class AnalyticQuery:
    """One query over DuckDB. Raises OraError for a name that cannot be resolved and for SQL that DuckDB does not know."""

    def __init__(self, session: EngineSession, text: str) -> None:
        self._tree = _normalised(text).copy()
        self._template: tuple[str, list[exp.Expression]] | None = None
        if not isinstance(self._tree, exp.Query):
            raise OraError(3001, f"unimplemented feature: {self._tree.key.upper()}")
        self._relations: dict[str, Relation] = {}
        self._referenced: dict[str, frozenset[str]] = {}
        sources = self._resolve(session)
        self.columns: tuple[ColumnInfo, ...] = infer_columns(self._tree, sources)
        if not self.columns or any(c.type == UNKNOWN for c in self.columns):
            self.columns = with_known_types(self.columns, self._empty_result(session).schema)

    def _empty_result(self, session: EngineSession) -> pa.Table:
        """Run the query over no rows and NULL binds, to learn the result types from DuckDB."""
        connection = _connection()
        for name, relation in self._relations.items():
            wanted = [(i, info) for i, info in relation.scope.columns.values() if info.name in self._referenced[name]]
            connection.register(name, duck_table(wanted, []))
        unbound = [None] * (1 + max((int(str(p.this)[1:]) for p in self._tree.find_all(exp.Placeholder)), default=-1))
        return _run(connection, self._sql(session, Frame(session, unbound)), [])

    def _resolve(self, session: EngineSession) -> Sources:
        """Give each table of the text a registered name, and note which of its columns the query refers to."""
        common = {identifier(cte.args["alias"]) for cte in self._tree.find_all(exp.CTE)}
        wanted = {identifier(c.this) for c in self._tree.find_all(exp.Column) if not isinstance(c.this, exp.Star)}
        everything = any(not isinstance(star.parent, exp.Count) for star in self._tree.find_all(exp.Star))
        sources: Sources = {}
        for number, node in enumerate(list(self._tree.find_all(exp.Table))):
            if identifier(node.this) in common and not node.args.get("db"):
                continue
            relation = relation_of(session, node)
            name = f"r{number}"
            self._relations[name] = relation
            columns = relation.scope.columns
            self._referenced[name] = frozenset(columns) if everything else frozenset(wanted & columns.keys())
            sources[name] = tuple(info for _, info in relation.shown)
            alias = identifier(node.args.get("alias")) or identifier(node.this)
            node.replace(exp.table_(name, alias=exp.to_identifier(alias, quoted=True), quoted=True))
        return sources

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        """Run the query. All inputs are read before the first batch; a stream's own errors are raised unchanged."""
        connection = _connection()
        failures: list[OraError] = []
        for name, relation in self._relations.items():
            connection.register(name, self._input(session, frame, name, relation, failures))
        result = _run(connection, self._sql(session, frame), failures)
        return oracle_batches(result, self.columns)

    def _input(
        self, session: EngineSession, frame: Frame, name: str, relation: Relation, failures: list[OraError]
    ) -> pa.Table | pa.RecordBatchReader:
        wanted = [(i, info) for i, info in relation.scope.columns.values() if info.name in self._referenced[name]]
        if relation.view is not None:
            rows = relation.view.rows(session, self._referenced[name])
            if not isinstance(rows, Sequence):
                return _reader(rows, wanted, failures)
            return duck_table(wanted, rows)
        if relation.store is None:
            return pa.table({"DUMMY": ["X"]})
        own = session.transaction if relation.version is None else None
        scn = snapshot_scn(session, relation, frame)
        seen = unarchived(session, relation.store, relation.store.visible(scn, own))
        return duck_table(wanted, [values for _, values in as_seen(session, relation.store, seen, frame)])

    def open_stream(
        self, session: EngineSession, frame: Frame, view: ViewSource, stream: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Run the query over a stream that is already open."""
        limit = _stream_limit(self._tree, frame)
        if limit is None:
            connection, failures = _connection(), list[OraError]()
            (name,) = self._relations
            wanted = [(i, c) for i, c in enumerate(view.columns) if c.name in self._referenced[name]]
            connection.register(name, _reader(stream, wanted, failures))
            result = _run(connection, self._sql(session, frame), failures)
            return oracle_batches(result, self.columns)
        return self._batch_by_batch(session, frame, view, stream, limit)

    def _batch_by_batch(
        self, session: EngineSession, frame: Frame, view: ViewSource, stream: Iterator[pa.RecordBatch], limit: int
    ) -> Iterator[pa.RecordBatch]:
        connection, sql = _connection(), self._sql(session, frame)
        ((name, wanted_names),) = self._referenced.items()
        wanted = [(i, c) for i, c in enumerate(view.columns) if c.name in wanted_names]
        for batch in stream:
            session.check_cancelled()
            if limit <= 0:
                return
            connection.register(name, pa.Table.from_batches([_complete(batch, wanted)]))
            result = _run(connection, sql, []).slice(0, limit)
            limit -= result.num_rows
            yield from oracle_batches(result, self.columns)

    def _sql(self, session: EngineSession, frame: Frame) -> str:
        """Return DuckDB's SQL. Most of it is the same each time: writing a large tree takes longer than running it."""
        if self._template is None:
            self._template = _template(self._tree.copy())
        sql, nodes = self._template
        return _MARK.sub(lambda mark: str(_bound(nodes[int(mark[1])], session, frame).sql("duckdb", copy=False)), sql)


def _connection() -> duckdb.DuckDBPyConnection:
    """Return a new connection, with names of its own: a result in use blocks its connection."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Open the in-memory database, which takes a hundred times as long as a connection. One thread keeps the order of rows."""
    database = duckdb.connect(config={"threads": 1, "preserve_insertion_order": True})
    for macro in _MACROS:
        database.execute(macro).fetchall()
    return database


def _run(connection: duckdb.DuckDBPyConnection, sql: str, failures: list[OraError]) -> pa.Table:
    try:
        return connection.sql(sql).to_arrow_table()
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


def _stream_limit(tree: exp.Expression, frame: Frame) -> int | None:
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
        return 2**62
    count = _bound(limit.expression.copy(), frame.session, frame) if isinstance(limit, exp.Limit) else None
    return int(count.name) if isinstance(count, exp.Literal) else None


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
    return _rewritten(tree, _translated)


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


def _translated(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Cast) and "oracle" not in node.args["to"].meta:
        to = exp.DataType.build(type_for_cast(node.args["to"]), dialect="duckdb")
        to.meta["oracle"] = datatypes.info_of_type("", datatypes.type_of_cast(node.args["to"]))
        return exp.Cast(this=node.this, to=to)
    if isinstance(node, exp.DPipe):
        return exp.Anonymous(this="ora_concat", expressions=[node.this, node.expression])
    if isinstance(node, exp.ToChar) and node.args.get("format") is None:
        return exp.Anonymous(this="ora_text", expressions=[node.this])
    if isinstance(node, exp.ToChar) and node.args["format"].name.upper() in ("TM9", "TM"):
        return exp.Anonymous(this="ora_text", expressions=[node.this])
    if isinstance(node, exp.ToNumber) and node.args.get("format") is None:
        return exp.Cast(this=node.this, to=exp.DataType.build("DECIMAL(38,10)", dialect="duckdb"))
    if isinstance(node, exp.Column) and identifier(node.this) == "ROWNUM":
        return exp.Anonymous(this="row_number() over", expressions=[])
    return node


def _template(tree: exp.Expression) -> tuple[str, list[exp.Expression]]:
    """Return the SQL with a numbered mark in place of each bind, time or context value, and their nodes."""
    nodes: list[exp.Expression] = []

    def marked(node: exp.Expression) -> exp.Expression:
        if not _is_bound(node):
            return node
        nodes.append(node)
        return exp.Var(this=f"redolake_bind_{len(nodes) - 1}_")

    return str(_rewritten(tree, marked).sql("duckdb", copy=False)), nodes


def _is_bound(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() == "SYS_CONTEXT"
    if isinstance(node, exp.Column):
        return identifier(node.this) in _CONTEXT_COLUMNS and not node.args.get("table")
    return isinstance(node, _BOUND)


def _bound(node: exp.Expression, session: EngineSession, frame: Frame) -> exp.Expression:
    """Replace a bind, the current time or a context value by a literal."""
    if isinstance(node, exp.Placeholder):
        return _literal(frame.binds[int(str(node.this)[1:])])
    if isinstance(node, _BOUND):
        return _literal(frame.now.replace(microsecond=0) if node.args.get("sysdate") else frame.now)
    if isinstance(node, exp.Anonymous) and _is_bound(node):
        space, key = (e.name for e in node.expressions[:2])
        return _literal(context(session, space, key))
    if isinstance(node, exp.Column) and _is_bound(node):
        return _literal(session.user if identifier(node.this) == "USER" else None)
    return node


def _literal(value: Any) -> exp.Expression:
    if value is None or value == "":
        return exp.Null()
    if isinstance(value, bool | int | Decimal | float):
        return exp.Literal.number(int(value) if isinstance(value, bool) else value)
    if isinstance(value, datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat(" ")), to=exp.DataType.build("TIMESTAMP"))
    if isinstance(value, bytes):
        return exp.Anonymous(this="unhex", expressions=[exp.Literal.string(value.hex())])
    return exp.Literal.string(str(value))
