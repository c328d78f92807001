"""What Oracle means by an expression, in DuckDB's SQL: a function for each kind of node whose meaning differs.

An expression has one meaning in the stand-in, whichever engine computes it. What DuckDB would give another value is ORA-03001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
_PADDED = ("CHAR", "NCHAR")
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
    "CREATE MACRO ora_mod(a, b) AS CASE WHEN typeof(a) = 'VARCHAR' OR typeof(b) = 'VARCHAR' THEN error('ORA-03001') "
    "WHEN b = 0 THEN a ELSE a % b END",
    "CREATE MACRO ora_from(s, p) AS CASE WHEN p = 0 THEN 1 WHEN p < 0 THEN length(s) + p + 1 ELSE p END",
    "CREATE MACRO ora_substr(s, p, n) AS CASE WHEN n < 1 OR ora_from(s, p) < 1 THEN NULL "
    "ELSE nullif(substr(s, ora_from(s, p), n), '') END",
    "CREATE MACRO ora_replace(s, a, b) AS CASE WHEN a IS NULL THEN s ELSE nullif(replace(s, a, coalesce(b, '')), '') END",
    # DuckDB would make a whole number of a text.
    *(
        f"CREATE MACRO ora_{name}(a, b) AS CASE WHEN typeof(a) = 'VARCHAR' OR typeof(b) = 'VARCHAR' "
        f"THEN error('ORA-03001') ELSE a {sign} b END"
        for name, sign in (("plus", "+"), ("minus", "-"), ("times", "*"))
    ),
    "CREATE MACRO ora_later(d, n) AS CASE WHEN CAST(d AS DATE) = last_day(d) "
    "THEN last_day(d + to_months(n)) + (d - date_trunc('day', d)) ELSE d + to_months(n) END",
    "CREATE MACRO ora_add_months(d, n) AS ora_later(d, CAST(trunc(n) AS INT))",
    "CREATE MACRO ora_whole_months(m) AS CASE WHEN m <> round(m) THEN error('ORA-03001') ELSE m END",
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


def _number(node: exp.Expression) -> exp.Expression:
    """Return an operand: a text in quotes is a number."""
    is_text = isinstance(node, exp.Literal) and node.is_string
    return exp.Cast(this=_unrounded(node), to=exp.DataType.build("DECIMAL(38,10)", dialect="duckdb")) if is_text else node


def _arithmetic(name: str) -> Callable[[Any], exp.Expression]:
    def change(node: Any) -> exp.Expression:
        sides = _number(node.this), _number(node.expression)
        if all(isinstance(side, exp.Literal | exp.Interval | exp.Cast) for side in sides):
            return type(node)(this=sides[0], expression=sides[1])
        return _call(f"ora_{name}", *sides)

    return change


def _comparison(node: Any) -> exp.Expression:
    """DuckDB rounds the text of a number to the type of what it is compared with, and pads no text with blanks."""
    parts = _compared(node)
    texts = [part.name for part in parts if isinstance(part, exp.Literal) and part.is_string]
    if len(texts) < len(parts) and any(_is_number(text) and text != text.strip().lstrip("0+").split(".")[0] for text in texts):
        raise _refused("a number in text that is compared")
    if any(text.endswith(" ") for text in texts) and len(texts) == len(parts):
        raise _refused("texts with blanks at their end that are compared")
    if any(isinstance(part, exp.Cast) and getattr(part.args["to"].meta.get("oracle"), "type", "") in _PADDED for part in parts):
        raise _refused("a CHAR that is compared")
    return node


def _compared(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.DecodeCase):  # what is found by it is no part
        return [node.expressions[0], *node.expressions[1:-1:2]]
    if isinstance(node, exp.Case):
        return [node.this, *(branch.this for branch in node.args["ifs"])] if node.this is not None else []
    return [*node.iter_expressions()]


def _is_number(text: str) -> bool:
    return text.strip().lstrip("+-").replace(".", "", 1).isdigit()


def _extreme(node: Any) -> exp.Expression:
    """GREATEST and LEAST are NULL if any argument is."""
    _comparison(node)
    parts = [node.this, *node.expressions]
    if len({part.is_string for part in parts if isinstance(part, exp.Literal)}) > 1:
        raise _refused("a text and a number in GREATEST or LEAST")
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
    if not isinstance(node.this, exp.Null):
        return node
    null = exp.cast(exp.Null(), "TIMESTAMP", dialect="duckdb")
    null.args["to"].meta["oracle"] = datatypes.DATE
    return null


def _measured(node: Any) -> exp.Expression:
    raise _refused(f"{node.key.upper()}, which is 0 of one value")


def _formatted(node: Any) -> exp.Expression:
    if "FF" in node.args["format"].name.upper():
        raise _refused(f"TO_CHAR by {node.args['format'].name}")
    return node


def _column(node: Any) -> exp.Expression:
    return _call("row_number() over") if identifier(node.this) == "ROWNUM" else node


def _substring(node: Any) -> exp.Expression:
    length = node.args.get("length") or exp.Literal.number(_TO_THE_END)
    return _call("ora_substr", node.this, node.args["start"], length)


def _concat(node: Any) -> exp.Expression:
    return reduce(lambda left, right: _call("ora_concat", left, right), node.expressions)


def _replace(node: Any) -> exp.Expression:
    return _call("ora_replace", node.this, node.expression, node.args.get("replacement") or exp.Null())


COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.DecodeCase, exp.Case)


def compare_by_types(tree: exp.Expression, columns: Mapping[str, str]) -> None:
    """Let columns be compared as Oracle does: a CHAR without its blanks, a text with a number as a number. `columns` has the
    type of each, by name."""
    types = {**columns, **_aliases(tree, columns)}
    for node in tree.find_all(*COMPARISONS):
        parts = _compared(node)
        kinds = [_kind(part, types) for part in parts]
        for part, kind in zip(parts, kinds, strict=True):
            if "NUMBER" in kinds and kind in _TEXTS and isinstance(part, exp.Column):
                decimal = exp.DataType.build("DECIMAL(38,10)", dialect="duckdb")
                part.replace(exp.Cast(this=_unrounded(part.copy()), to=decimal))
            elif any(kind in _PADDED for kind in kinds) and kind != "NUMBER" and not isinstance(part, exp.Query):
                part.replace(_call("rtrim", part.copy()))


def _aliases(tree: exp.Expression, columns: Mapping[str, str]) -> dict[str, str]:
    found = {identifier(one.args["alias"]): _kind(one.this, columns) for one in tree.find_all(exp.Alias)}
    return {name: kind for name, kind in found.items() if kind in _PADDED}


def _kind(node: exp.Expression, columns: Mapping[str, str]) -> str:
    if isinstance(node, exp.Literal):
        return "" if node.is_string else "NUMBER"
    return columns.get(identifier(node.this), "") if isinstance(node, exp.Column) else ""


CHANGES: tuple[tuple[type | tuple[type, ...], Callable[[Any], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Literal, _literal),
    (exp.Column, _column),
    (exp.DPipe, lambda node: _call("ora_concat", node.this, node.expression)),
    (exp.Concat, _concat),
    ((exp.Greatest, exp.Least), _extreme),
    (exp.Mod, lambda node: _call("ora_mod", _number(node.this), _number(node.expression))),
    (exp.Div, lambda node: _call("ora_divide", _number(node.this), _number(node.expression))),
    (exp.Add, _arithmetic("plus")),
    (exp.Sub, _arithmetic("minus")),
    (exp.Mul, _arithmetic("times")),
    (COMPARISONS, _comparison),
    ((exp.Stddev, exp.Variance), _measured),
    (exp.AddMonths, lambda node: _call("ora_add_months", node.this, node.expression)),
    (exp.MonthsBetween, lambda node: _call("ora_whole_months", node.copy())),
    (exp.TimeToStr, _formatted),
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
