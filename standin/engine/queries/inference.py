"""The column types that Oracle would report for a query that DuckDB runs; UNKNOWN where only the result shows the type."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from standin.engine.text.parse import identifier
from standin.engine.types.datatypes import NUMBER, info_of_type, text_info, type_of_cast
from standin.interface import ColumnInfo

Sources = dict[str, tuple[ColumnInfo, ...]]  # registered name, CTE or alias -> its columns

UNKNOWN = "UNKNOWN"  # the type of a column that only DuckDB's result shows
_KEEP_TYPE = (exp.Max, exp.Min, exp.Coalesce, exp.Upper, exp.Lower, exp.Nullif)


def infer_columns(query: exp.Expression, sources: Sources) -> tuple[ColumnInfo, ...]:
    """Return the columns of a query. A set operation has its first part's, but a NUMBER for all values of both."""
    known = dict(sources)
    with_ = query.args.get("with_")
    if with_ is not None:
        for cte in with_.expressions:
            known[identifier(cte.args["alias"])] = infer_columns(cte.this, known)
    if isinstance(query, exp.SetOperation):
        parts = infer_columns(query.this, known), infer_columns(query.expression, known)
        return tuple(map(_of_both, *parts)) if len(parts[0]) == len(parts[1]) else parts[0]
    if isinstance(query, exp.Subquery):
        return infer_columns(query.this, known)
    if not isinstance(query, exp.Select):
        return ()
    inputs = _inputs(query, known)
    columns: list[ColumnInfo] = []
    for node in query.expressions:
        if isinstance(node, exp.Star):
            columns += [c for part in inputs.values() for c in part]
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            columns += inputs.get(identifier(node.args.get("table")), ())
        else:
            columns.append(replace(_infer(node, inputs), name=_name(node)))
    return tuple(columns)


def _of_both(first: ColumnInfo, second: ColumnInfo) -> ColumnInfo:
    same = (first.type, first.precision, first.scale) == (second.type, second.precision, second.scale)
    return replace(NUMBER, name=first.name) if first.type == "NUMBER" and not same else first


def _name(node: exp.Expression) -> str:
    if isinstance(node, exp.Alias):
        return identifier(node.args["alias"])
    if isinstance(node, exp.Column):
        return identifier(node.this)
    return str(node.sql(dialect="oracle")).upper().replace(" ", "").replace('"', "")


def _inputs(query: exp.Select, known: Sources) -> Sources:
    inputs: Sources = {}
    nodes = [query.args["from_"].this] if query.args.get("from_") is not None else []
    nodes += [join.this for join in query.args.get("joins") or []]
    for node in nodes:
        alias = identifier(node.args.get("alias"))
        if isinstance(node, exp.Table):
            name = str(node.this.this)
            inputs[alias or name] = known.get(name, ())
        elif isinstance(node, exp.Subquery):
            inputs[alias or f"#{len(inputs)}"] = infer_columns(node.this, known)
    return inputs


def _infer(node: exp.Expression, inputs: Sources) -> ColumnInfo:
    if isinstance(node, exp.Alias | exp.Paren):
        return _infer(node.this, inputs)
    if isinstance(node, exp.Column):
        return _column(node, inputs)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.Length | exp.RowNumber):
        return NUMBER
    if isinstance(node, exp.Window) and isinstance(node.this, exp.Expression):
        return _infer(node.this, inputs)
    if isinstance(node, _KEEP_TYPE) and isinstance(node.this, exp.Expression):
        return _infer(node.this, inputs)
    if isinstance(node, exp.Literal):
        return text_info(len(node.name)) if node.is_string else NUMBER
    if isinstance(node, exp.Subquery):
        return next(iter(infer_columns(node.this, inputs)), ColumnInfo("", UNKNOWN))
    return ColumnInfo("", UNKNOWN)


def _column(node: exp.Column, inputs: Sources) -> ColumnInfo:
    name, table = identifier(node.this), identifier(node.args.get("table"))
    for alias, columns in inputs.items():
        if not table or table == alias:
            for column in columns:
                if column.name == name:
                    return column
    return ColumnInfo("", UNKNOWN)


def _cast(node: exp.Cast) -> ColumnInfo:
    written = node.args["to"].meta.get("oracle")
    return written if isinstance(written, ColumnInfo) else info_of_type("", type_of_cast(node.args["to"]))
