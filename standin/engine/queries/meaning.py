"""What Oracle means by an expression, in DuckDB's SQL: a function for each kind of node whose meaning differs.

An expression has one meaning in the stand-in, whichever engine computes it. What DuckDB would give another value is ORA-03001.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from sqlglot import exp

from standin.engine.queries.oracle_types import type_for_cast
from standin.engine.text.parse import identifier
from standin.engine.types import datatypes
from standin.interface import OraError

_UNITS = {  # of TRUNC of a date
    "DD": "day", "DDD": "day", "J": "day", "MM": "month", "MON": "month", "MONTH": "month", "YYYY": "year", "YEAR": "year",
    "YY": "year", "Q": "quarter", "HH": "hour", "HH24": "hour", "MI": "minute",
}  # fmt: skip
_TEXTS = frozenset({"VARCHAR2", "NVARCHAR2", "CHAR", "NCHAR"})
_TO_THE_END = 2**31 - 1
# '' is NULL, a number has no zero before its point, a date has NLS_DATE_FORMAT.
MACROS = (
    "CREATE MACRO ora_number_text(t) AS "
    "CASE WHEN contains(t, '.') THEN regexp_replace(rtrim(rtrim(t, '0'), '.'), '^(-?)0[.]', '\\1.') ELSE t END",
    "CREATE MACRO ora_text(x) AS CASE WHEN typeof(x) LIKE 'DECIMAL%' "
    "OR (typeof(x) IN ('DOUBLE', 'FLOAT') AND CAST(x AS VARCHAR) SIMILAR TO '-?[0-9]{1,15}[.][0-9]{1,15}') "
    "THEN ora_number_text(CAST(x AS VARCHAR)) "
    "WHEN typeof(x) IN ('VARCHAR', '\"NULL\"') OR typeof(x) LIKE '%INT%' THEN nullif(CAST(x AS VARCHAR), '') "
    "WHEN x IS NULL THEN NULL ELSE error('ORA-03001') END",
    # DuckDB would round to the decimals of the type. A number in text may also have an exponent.
    "CREATE MACRO ora_number(x) AS CASE WHEN regexp_matches(CAST(x AS VARCHAR), '[.][0-9]{10}[0-9]*[1-9]|[eE]') "
    "THEN error('ORA-03001') ELSE x END",
    "CREATE MACRO ora_divide(a, b) AS CASE WHEN b = 0 THEN error('ORA-01476') "
    "WHEN round(a / b, 10) * b <> a THEN error('ORA-03001') ELSE a / b END",
    "CREATE MACRO ora_concat(a, b) AS nullif(concat(ora_text(a), ora_text(b)), '')",
    "CREATE MACRO ora_mod(a, b) AS CASE WHEN b = 0 THEN a ELSE a % b END",
    "CREATE MACRO ora_from(s, p) AS CASE WHEN p = 0 THEN 1 WHEN p < 0 THEN length(s) + p + 1 ELSE p END",
    "CREATE MACRO ora_substr(s, p, n) AS CASE WHEN n < 1 OR ora_from(s, p) < 1 THEN NULL "
    "ELSE nullif(substr(s, ora_from(s, p), n), '') END",
    "CREATE MACRO ora_replace(s, a, b) AS CASE WHEN a IS NULL THEN s ELSE nullif(replace(s, a, coalesce(b, '')), '') END",
    "CREATE MACRO ora_last_day(d) AS last_day(d) + (d - date_trunc('day', d))",
)


def with_oracles_meaning(node: exp.Expression) -> exp.Expression:
    """Return what stands for the node in DuckDB's SQL. Raise ORA-03001 where DuckDB would give another value."""
    changed = next((change for kinds, change in CHANGES if isinstance(node, kinds)), None)
    return node if changed is None else changed(node)


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _refused(what: str) -> OraError:
    return OraError(3001, f"unimplemented feature: {what}, in a query over several tables or rows")


def _cast(node: Any) -> exp.Expression:
    if "oracle" in node.args["to"].meta:
        return node
    to = exp.DataType.build(type_for_cast(node.args["to"]), dialect="duckdb")
    type_ = datatypes.type_of_cast(node.args["to"])
    to.meta["oracle"] = datatypes.info_of_type("", type_)
    value = node.this
    if type_.name == "NUMBER" and type_.precision is None and type_.scale is None:
        value = _unrounded(value)
    if type_.name in _TEXTS and type_.length:
        value = _call("left", _call("ora_text", value), exp.Literal.number(type_.length))
        if not type_.name.endswith("VARCHAR2"):
            value = _call("rpad", value, exp.Literal.number(type_.length), exp.Literal.string(" "))
    return exp.Cast(this=value, to=to)


def _unrounded(number: exp.Expression) -> exp.Expression:
    return _call("ora_number", number)


def _literal(node: Any) -> exp.Expression:
    return exp.cast(exp.Null(), "VARCHAR", dialect="duckdb") if node.is_string and not node.this else node


def _extreme(node: Any) -> exp.Expression:
    """GREATEST and LEAST are NULL if any argument is."""
    parts = [node.this, *node.expressions]
    null = exp.or_(*(exp.Is(this=part.copy(), expression=exp.Null()) for part in parts), copy=False)
    return exp.Case(ifs=[exp.If(this=null, true=exp.Null())], default=node.copy())


def _instr(node: Any) -> exp.Expression:
    start = node.args.get("position")
    if start is not None and (not isinstance(start, exp.Literal) or start.name == "0"):
        raise _refused("INSTR from the end")
    return node


def _to_char(node: Any) -> exp.Expression:
    mask = node.args.get("format")
    if node.args.get("nlsparam") is not None or (mask is not None and mask.name.upper() not in ("TM9", "TM")):
        raise _refused(node.sql("oracle"))
    return _call("ora_text", node.this)


def _to_number(node: Any) -> exp.Expression:
    if node.args.get("format") is not None:
        return node
    return exp.Cast(this=_unrounded(node.this), to=exp.DataType.build("DECIMAL(38,10)", dialect="duckdb"))


def _trunc_date(node: Any) -> exp.Expression:
    unit = _UNITS.get(node.args["unit"].name.upper())
    if unit is None:
        raise _refused(f"TRUNC to {node.args['unit'].name}")
    return _call("date_trunc", exp.Literal.string(unit), node.this)


def _to_time(node: Any) -> exp.Expression:
    return exp.cast(exp.Null(), "TIMESTAMP", dialect="duckdb") if isinstance(node.this, exp.Null) else node


def _column(node: Any) -> exp.Expression:
    return _call("row_number() over") if identifier(node.this) == "ROWNUM" else node


def _substring(node: Any) -> exp.Expression:
    length = node.args.get("length") or exp.Literal.number(_TO_THE_END)
    return _call("ora_substr", node.this, node.args["start"], length)


def _concat(node: Any) -> exp.Expression:
    return reduce(lambda left, right: _call("ora_concat", left, right), node.expressions)


def _replace(node: Any) -> exp.Expression:
    return _call("ora_replace", node.this, node.expression, node.args.get("replacement") or exp.Null())


CHANGES: tuple[tuple[type | tuple[type, ...], Callable[[Any], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Literal, _literal),
    (exp.Column, _column),
    (exp.DPipe, lambda node: _call("ora_concat", node.this, node.expression)),
    (exp.Concat, _concat),
    ((exp.Greatest, exp.Least), _extreme),
    (exp.Mod, lambda node: _call("ora_mod", node.this, node.expression)),
    (exp.Div, lambda node: _call("ora_divide", node.this, node.expression)),
    (exp.Substring, _substring),
    (exp.Trim, lambda node: _call("ora_text", node.copy())),
    (exp.Replace, _replace),
    (exp.StrPosition, _instr),
    (exp.LastDay, lambda node: _call("ora_last_day", node.this)),
    (exp.ToChar, _to_char),
    (exp.ToNumber, _to_number),
    (exp.DateTrunc, _trunc_date),
    ((exp.StrToTime, exp.StrToDate), _to_time),
)
