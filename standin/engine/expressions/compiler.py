"""Compiles SQL expressions to closures over (row, frame), for DML and simple queries.

An unknown construct raises NotCompilable: a query then goes to DuckDB, DML raises ORA-03001.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlglot import exp

from standin.engine.expressions.frame import (
    Compiled,
    Fn,
    Frame,
    NotCompilable,
    Outer,
    Rows,
    Scope,
    SubQuery,
    compared,
    constant,
)
from standin.engine.expressions.functions import (
    FUNCTIONS,
    Function,
    at_time_zone,
    date_literal,
    timestamp_literal,
)
from standin.engine.sessions.procedures import procedures
from standin.engine.text.parse import identifier
from standin.engine.types import datatypes
from standin.engine.types.comparison import COMPARE, arithmetic, like_pattern
from standin.engine.types.instances import constructor
from standin.engine.types.rowids import encode_rowid, is_rowid
from standin.engine.types.values import EMPTY_CLOB, coercer_of, to_number, to_text
from standin.interface import ColumnInfo, OraError
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType
from standin.zones import Zoned

_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


def _by_address(side: Compiled) -> Compiled:
    """Compare ROWIDs by their addresses, in which base 64 does not sort."""

    def run(row: Any, f: Frame) -> Any:
        text = side.run(row, f)
        return encode_rowid(text) if isinstance(text, str) and is_rowid(text) else text

    return replace(side, run=run)


class Compiler:
    def __init__(self, scope: Scope, subquery: SubQuery | None = None) -> None:
        self._scope, self._subquery = scope, subquery
        self.row_address = False  # ROWID or ORA_ROWSCN is used
        self._forms: dict[type, Callable[[Any], Compiled]] = {
            exp.Paren: lambda node: self.compile(node.this),
            exp.Alias: lambda node: self.compile(node.this),
            exp.Column: self.column,
            exp.Placeholder: self._bind,
            exp.Literal: self._literal,
            exp.RawString: lambda node: constant(str(node.this) or None, datatypes.text_info(len(str(node.this)))),
            exp.National: lambda node: constant(str(node.this) or None, datatypes.text_info(len(str(node.this)))),
            exp.Null: lambda node: constant(None, datatypes.text_info(1)),
            exp.DateStrToDate: lambda node: constant(date_literal(node.this.name), datatypes.DATE),
            exp.StrToTime: self._timestamp_literal,
            exp.Interval: self._interval,
            exp.AtTimeZone: self._at_time_zone,
            exp.Boolean: lambda node: constant(bool(node.this), ColumnInfo("", "BOOLEAN", 1, 0, 0, 0)),
            exp.Systimestamp: lambda node: _PSEUDO["SYSTIMESTAMP"],
            exp.CurrentTimestamp: lambda node: _PSEUDO["CURRENT_TIMESTAMP"],
            exp.CurrentDate: lambda node: _PSEUDO["CURRENT_DATE"],
            exp.Localtimestamp: lambda node: _PSEUDO["LOCALTIMESTAMP"],
            exp.And: self._and,
            exp.Or: self._or,
            exp.Not: self._not,
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Like: lambda node: self._like(node, None),
            exp.Escape: lambda node: self._like(node.this, node.expression),
            exp.Neg: self._negative,
            exp.DPipe: self._concatenation,
            exp.Case: self._case,
            exp.Cast: self._cast,
            exp.Extract: self._extract,
            exp.Anonymous: self._anonymous,
            exp.Trim: self._trim,
            exp.Dot: self._packaged_call,
            exp.Subquery: self._scalar_subquery,
            exp.Exists: self._exists,
        }

    def compile(self, node: exp.Expression) -> Compiled:
        kind = type(node)
        if kind in _ARITHMETIC:
            return self._arithmetic(node, _ARITHMETIC[kind])
        if node.key.upper() in COMPARE:
            return self._comparison(node, node.key.upper())
        form = self._forms.get(kind)
        if form is None:
            raise NotCompilable(node.key)
        return form(node)

    def all(self, nodes: Sequence[exp.Expression]) -> list[Compiled]:
        return [self.compile(node) for node in nodes]

    def column(self, node: exp.Column) -> Compiled:
        name, qualifier = identifier(node.this), identifier(node.args.get("table"))
        if node.args.get("join_mark"):
            raise NotCompilable("outer join")
        found = self._scope.columns.get(name)
        known = not qualifier or qualifier in self._scope.qualifiers
        if found is not None and known:
            at, info = found
            return Compiled(lambda row, f: row[at], info)
        if name in ("NEXTVAL", "CURRVAL") and qualifier:
            return self._sequence(node, name)
        if self._scope.is_table and known and name in ("ROWID", "ORA_ROWSCN"):
            self.row_address = True
            if name == "ROWID":
                return Compiled(lambda row, f: f.row_id, ColumnInfo("", "VARCHAR2", 18, 18, 0, 0))
            return Compiled(lambda row, f: f.row_scn, datatypes.NUMBER)
        if not qualifier and (plain := _PSEUDO.get(name)) is not None and not node.this.args.get("quoted"):
            return plain
        if self._scope.outer is not None:
            return self._scope.outer.column(node)
        if qualifier and procedures.find(f"{qualifier}.{name}") is not None:  # a function is called without parentheses too
            return self._call(f"{qualifier}.{name}", [])
        written = f'"{qualifier}"."{name}"' if qualifier else f'"{name}"'
        raise OraError(904, f"{written}: invalid identifier")

    def _sequence(self, node: exp.Column, what: str) -> Compiled:
        owner, name = identifier(node.args.get("db")) or None, identifier(node.args.get("table"))
        step = what == "NEXTVAL"
        return Compiled(lambda row, f: f.session.sequence_value(owner, name, step), datatypes.NUMBER)

    def _bind(self, node: exp.Placeholder) -> Compiled:
        at = int(str(node.this)[1:])
        return Compiled(lambda row, f: f.binds[at], datatypes.text_info(), True, at)

    def _literal(self, node: exp.Literal) -> Compiled:
        text = str(node.this)
        if node.is_string:
            return constant(text or None, ColumnInfo("", "CHAR", max(1, len(text.encode())), max(1, len(text)), 0, 0))
        return constant(to_number(text), datatypes.NUMBER)

    def _timestamp_literal(self, node: exp.StrToTime) -> Compiled:
        if not isinstance(node.this, exp.Literal):
            raise NotCompilable("StrToTime")
        value = timestamp_literal(node.this.name)
        return constant(value, datatypes.TIMESTAMP_TZ if isinstance(value, Zoned) else datatypes.TIMESTAMP)

    def _at_time_zone(self, node: exp.AtTimeZone) -> Compiled:
        value, zone = self.compile(node.this), self.compile(node.args["zone"])

        def moved(row: Any, f: Frame) -> Any:
            at = value.run(row, f)
            return None if at is None else at_time_zone(f, at, zone.run(row, f))

        return Compiled(moved, datatypes.TIMESTAMP_TZ, value.constant)

    def _interval(self, node: exp.Interval) -> Compiled:
        span = node.args.get("unit")
        if isinstance(node.this, exp.Literal) and isinstance(span, exp.IntervalSpan):
            units = str(span.this.this).upper(), str(span.expression.this).upper()
            if units == ("DAY", "SECOND"):
                return constant(DaySecond.parse(node.this.name), datatypes.DAY_INTERVAL)
            if units == ("YEAR", "MONTH"):
                return constant(YearMonth.parse(node.this.name), datatypes.YEAR_INTERVAL)
            raise NotCompilable("interval")
        if isinstance(node.this, exp.Literal) and str(span).upper() in ("YEAR", "MONTH"):
            months = int(node.this.name) * (12 if str(span).upper() == "YEAR" else 1)
            return constant(YearMonth(months), datatypes.YEAR_INTERVAL)
        unit = str(node.args.get("unit") or "").upper()
        if not isinstance(node.this, exp.Literal) or unit not in ("DAY", "HOUR", "MINUTE", "SECOND"):
            raise NotCompilable("interval")
        return constant(DaySecond.of(timedelta(**{f"{unit.lower()}s": float(node.this.name)})), datatypes.DAY_INTERVAL)

    def _and(self, node: exp.And) -> Compiled:
        left, right = self.compile(node.this), self.compile(node.expression)
        a, b = left.run, right.run

        def both(row: Any, f: Frame) -> Any:
            first = a(row, f)
            if first is False:
                return False
            second = b(row, f)
            return second if first else (False if second is False else None)

        return Compiled(both, datatypes.NUMBER, left.constant and right.constant)

    def _or(self, node: exp.Or) -> Compiled:
        left, right = self.compile(node.this), self.compile(node.expression)
        a, b = left.run, right.run

        def either(row: Any, f: Frame) -> Any:
            first = a(row, f)
            if first:
                return True
            second = b(row, f)
            return True if second else (second if first is False else None)

        return Compiled(either, datatypes.NUMBER, left.constant and right.constant)

    def _not(self, node: exp.Not) -> Compiled:
        inner = self.compile(node.this)
        run = inner.run
        return Compiled(lambda row, f: None if (v := run(row, f)) is None else not v, datatypes.NUMBER, inner.constant)

    def _is(self, node: exp.Is) -> Compiled:
        inner = self.compile(node.this)
        run = inner.run
        if isinstance(node.expression, exp.JSON):
            return Compiled(lambda row, f: _is_json(run(row, f)), datatypes.NUMBER, inner.constant)
        if not isinstance(node.expression, exp.Null):
            raise NotCompilable("IS")
        return Compiled(lambda row, f: run(row, f) is None, datatypes.NUMBER, inner.constant)

    def _comparison(self, node: exp.Expression, name: str) -> Compiled:
        if isinstance(node.this, exp.Tuple):
            raise NotCompilable("row comparison")
        left, right = self.compile(node.this), self.compile(node.expression)
        if any(isinstance(side, exp.Column) and self._is_rowid(side) for side in (node.this, node.expression)):
            left, right = _by_address(left), _by_address(right)
        return Compiled(compared(COMPARE[name], left, right), datatypes.NUMBER, left.constant and right.constant)

    def _is_rowid(self, node: exp.Column) -> bool:
        return self._scope.is_table and identifier(node.this) == "ROWID" and "ROWID" not in self._scope.columns

    def _in(self, node: exp.In) -> Compiled:
        if isinstance(node.this, exp.Tuple):
            raise NotCompilable("row comparison")
        query = node.args.get("query")
        value = self.compile(node.this)
        if query is not None:
            return self._in_subquery(value, query)
        choices = self.all(node.expressions)
        tests = [compared(COMPARE["EQ"], value, choice) for choice in choices]
        texts = None if value.info.type in _PADDED or not _same_for_all_rows(node.expressions) else _texts_of(choices)

        def within(row: Any, f: Frame) -> Any:
            if texts is not None and (known := texts(f)) is not None and isinstance(wanted := value.run(row, f), str):
                return wanted in known
            unknown = False
            for test in tests:
                answer = test(row, f)
                if answer:
                    return True
                unknown = unknown or answer is None
            return None if unknown else False

        return Compiled(within, datatypes.NUMBER)

    def _in_subquery(self, value: Compiled, query: exp.Expression) -> Compiled:
        columns, rows = self._subquery_of(query)
        run, key = value.run, (id(query), "members")
        sides = value.info, columns[0]
        if any(side.type in _PADDED for side in sides) or len({side.type in _TEXTS for side in sides}) > 1:
            return self._in_converted(value, columns[0], rows)

        def within(row: Any, f: Frame) -> Any:
            found, wanted = rows(f, row), run(row, f)
            if f.cache.get(key, ((), ()))[0] is not found:
                f.cache[key] = found, {r[0] for r in found}
            members = f.cache[key][1]
            if wanted is None or not members:
                return None if members else False
            return True if wanted in members else (None if None in members else False)

        return Compiled(within, datatypes.NUMBER)

    def _in_converted(self, value: Compiled, column: ColumnInfo, rows: Rows) -> Compiled:
        """Compare with each row of a subquery: values of two types are converted, and a CHAR has no blanks at its end."""

        def within(row: Any, f: Frame) -> Any:
            answers = [compared(COMPARE["EQ"], value, constant(r[0], column))(row, f) for r in rows(f, row)]
            return True if True in answers else None if None in answers else False

        return Compiled(within, datatypes.NUMBER)

    def _subquery_of(self, node: exp.Expression) -> tuple[tuple[ColumnInfo, ...], Rows]:
        """Return the columns of a subquery and its rows, which are kept for the statement unless they differ by row."""
        query = node.this if isinstance(node, exp.Subquery) else node
        if self._subquery is None or not isinstance(query, exp.Query):
            raise NotCompilable("subquery")
        outer, key = Outer(self.column), id(query)
        columns, rows = self._subquery(query, outer)

        def found(f: Frame, row: Any) -> list[tuple[Any, ...]]:
            if outer.used:
                return rows(f, row)
            if key not in f.cache:
                f.cache[key] = rows(f, row)
            kept: list[tuple[Any, ...]] = f.cache[key]
            return kept

        return columns, found

    def row_of(self, node: exp.Expression) -> tuple[tuple[ColumnInfo, ...], Fn]:
        """Return the columns of a subquery of one row, and that row; without one, NULLs."""
        columns, rows = self._subquery_of(node)
        nulls = (None,) * len(columns)

        def row_of(row: Any, f: Frame) -> tuple[Any, ...]:
            found = rows(f, row)
            if len(found) > 1:
                raise OraError(1427, "single-row subquery returns more than one row")
            return found[0] if found else nulls

        return columns, row_of

    def _scalar_subquery(self, node: exp.Subquery) -> Compiled:
        columns, row_of = self.row_of(node)
        return Compiled(lambda row, f: row_of(row, f)[0], columns[0])

    def _exists(self, node: exp.Exists) -> Compiled:
        _, rows = self._subquery_of(node.this)
        return Compiled(lambda row, f: bool(rows(f, row)), datatypes.NUMBER)

    def _between(self, node: exp.Between) -> Compiled:
        value, low, high = self.compile(node.this), self.compile(node.args["low"]), self.compile(node.args["high"])
        above, below = compared(COMPARE["GTE"], value, low), compared(COMPARE["LTE"], value, high)

        def inside(row: Any, f: Frame) -> Any:
            first, second = above(row, f), below(row, f)
            return False if first is False or second is False else (None if first is None or second is None else True)

        return Compiled(inside, datatypes.NUMBER)

    def _like(self, node: exp.Like, escape: exp.Expression | None) -> Compiled:
        value, pattern = self.compile(node.this), self.compile(node.expression)
        mark = self.compile(escape).run if escape is not None else None
        wants_match = not node.args.get("negate")

        def matches(row: Any, f: Frame) -> Any:
            text, wanted = value.run(row, f), pattern.run(row, f)
            if text is None or wanted is None:
                return None
            found = like_pattern(wanted, mark(row, f) if mark else None).fullmatch(to_text(text, f.nls))
            return (found is not None) is wants_match

        return Compiled(matches, datatypes.NUMBER)

    def _negative(self, node: exp.Neg) -> Compiled:
        inner = self.compile(node.this)
        info = datatypes.NUMBER if inner.info.type in _TEXTS else inner.info
        return Compiled(lambda row, f: negated(inner.run(row, f)), info, inner.constant)

    def _arithmetic(self, node: exp.Expression, sign: str) -> Compiled:
        left, right = self.compile(node.this), self.compile(node.expression)
        a, b = left.run, right.run
        dates = [side.info for side in (left, right) if side.info.type.startswith(("DATE", "TIMESTAMP"))]
        intervals = [datatypes.INTERVALS[side.info.type] for side in (left, right) if side.info.type in datatypes.INTERVALS]
        info = dates[0] if len(dates) == 1 else intervals[0] if intervals and not dates else datatypes.NUMBER
        constant = left.constant and right.constant
        if len(dates) == 2 and any(date.type.startswith("TIMESTAMP") for date in dates):
            raise NotCompilable("a TIMESTAMP minus another")
        if not dates and any(side.info.type == "BINARY_DOUBLE" for side in (left, right)):
            info = datatypes.BINARY_DOUBLE
        return Compiled(lambda row, f: arithmetic(sign, a(row, f), b(row, f)), replace(info, name=""), constant)

    def _concatenation(self, node: exp.DPipe) -> Compiled:
        parts = self.all(_operands(node))
        runs = [part.run for part in parts]

        def joined(row: Any, f: Frame) -> Any:
            found = [
                value if isinstance(value, str) else to_text(value, f.nls) for run in runs if (value := run(row, f)) is not None
            ]
            return "".join(found) if len(found) > 1 else found[0] if found else None

        chars = sum(part.info.chars or 40 for part in parts)
        return Compiled(joined, datatypes.text_info(chars), all(part.constant for part in parts))

    def _case(self, node: exp.Case) -> Compiled:
        operand = node.this
        branches = []
        for branch in node.args["ifs"]:
            test: Fn = (
                self.compile(branch.this).run
                if operand is None
                else compared(COMPARE["EQ"], self.compile(operand), self.compile(branch.this))
            )
            branches.append((test, self.compile(branch.args["true"])))
        default = self.compile(node.args["default"]) if node.args.get("default") is not None else None

        def chosen(row: Any, f: Frame) -> Any:
            for test, value in branches:
                if test(row, f):
                    return value.run(row, f)
            return default.run(row, f) if default is not None else None

        return Compiled(chosen, _common([value for _, value in branches] + ([default] if default else [])))

    def _cast(self, node: exp.Cast) -> Compiled:
        inner, type_ = self.compile(node.this), datatypes.type_of_cast(node.args["to"])
        coerce = coercer_of(type_, "CAST")
        info = datatypes.info_of_type("", type_)

        def cast(row: Any, f: Frame) -> Any:
            value = inner.run(row, f)
            if value is None:
                return None
            if type_.name == "VARCHAR2":
                return to_text(value, f.nls)[: type_.chars]
            return coerce(value, f.nls)

        return Compiled(cast, info, inner.constant)

    def _extract(self, node: exp.Extract) -> Compiled:
        inner, part = self.compile(node.expression), str(node.this).lower()
        if part not in ("year", "month", "day", "hour", "minute", "second"):
            raise NotCompilable("EXTRACT")
        return Compiled(lambda row, f: None if (v := inner.run(row, f)) is None else getattr(v, part), datatypes.NUMBER)

    def _trim(self, node: exp.Trim) -> Compiled:
        side = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(str(node.args.get("position") or ""), "TRIM")
        arguments = [node.this, *([node.expression] if node.args.get("expression") else [])]
        return self._call(side, arguments)

    def _packaged_call(self, node: exp.Dot) -> Compiled:
        if not isinstance(node.expression, exp.Anonymous):
            raise NotCompilable("Dot")
        if isinstance(node.this, exp.Extract):
            return self._document_text(node.this, str(node.expression.this).upper())
        package = node.this.expression if isinstance(node.this, exp.Dot) else node.this
        return self._call(f"{identifier(package)}.{str(node.expression.this).upper()}", node.expression.expressions)

    def _anonymous(self, node: exp.Anonymous) -> Compiled:
        kind: SqlType | None = node.meta.get("constructs")
        if kind is None:
            return self._call(str(node.this).upper(), node.expressions)
        runs, make = [argument.run for argument in self.all(node.expressions)], constructor(kind)
        info = datatypes.info_of_shape(kind)
        return Compiled(lambda row, f: make([run(row, f) for run in runs], f.nls), info, False)

    def _document_text(self, node: exp.Extract, method: str) -> Compiled:
        """Compile EXTRACT(document, '/').getClobVal(): the whole document."""
        whole = isinstance(node.expression, exp.Literal) and node.expression.name in ("/", "/*")
        if method not in ("GETCLOBVAL", "GETSTRINGVAL") or not whole:
            raise NotCompilable("a path in a document")
        inner = self.compile(exp.column(str(node.this)))
        info = ColumnInfo("", "CLOB", 4000, 0, 0, 0) if method == "GETCLOBVAL" else datatypes.text_info()
        return Compiled(inner.run, info)

    def _call(self, name: str, nodes: Sequence[exp.Expression]) -> Compiled:
        function = FUNCTIONS.get(name)
        if name in ("CURRENT_TIMESTAMP", "LOCALTIMESTAMP") and len(nodes) == 1 and isinstance(nodes[0], exp.Literal):
            return _clock(name, int(nodes[0].name))
        procedure = procedures.find(name)
        arguments = self.all(nodes) if function is not None or procedure is not None else []
        runs = [a.run for a in arguments]
        if procedure is not None:
            return Compiled(
                lambda row, f: procedures.call(f.session, name, [r(row, f) for r in runs], {}),
                procedure.returns or datatypes.text_info(),
            )
        if function is None:
            raise NotCompilable(name)
        if name == "STANDARD_HASH":
            runs[0] = hashed_octets(arguments[0])
        run, nulls = function.run, function.nulls

        call = _called(run, nulls, runs, nodes)
        return Compiled(call, _result_of(function, arguments), all(a.constant for a in arguments))


def _operands(node: exp.Expression) -> list[exp.Expression]:
    """Return what a chain of || joins, however long."""
    found = list[exp.Expression]()
    while isinstance(node, exp.DPipe):
        found.append(node.expression)
        node = node.this
    return [node, *reversed(found)]


def _called(run: Callable[..., Any], nulls: bool, runs: Sequence[Fn], nodes: Sequence[exp.Expression]) -> Fn:
    """Return the call of a function; where all arguments but the first are literals, they are evaluated once."""
    if len(runs) > 0 and all(isinstance(node, exp.Literal) and node.name for node in nodes[1:]):
        first, rest = runs[0], tuple(run((), None) for run in runs[1:])  # type: ignore[arg-type]

        def call_with_one(row: Any, f: Frame) -> Any:
            value = first(row, f)
            return None if value is None and not nulls else run(f, value, *rest)

        return call_with_one

    def call(row: Any, f: Frame) -> Any:
        values = [r(row, f) for r in runs]
        return None if not nulls and None in values else run(f, *values)

    return call


def hashed_octets(argument: Compiled) -> Fn:
    """Return what STANDARD_HASH reads: text of the national character set as its bytes. It takes no large object."""
    if argument.info.type in ("CLOB", "NCLOB", "BLOB", "BFILE", "LONG", "LONG RAW"):
        raise OraError(902, "invalid datatype")
    if argument.info.type not in ("NVARCHAR2", "NCHAR"):
        return argument.run
    return lambda row, f: None if (v := argument.run(row, f)) is None else v.encode("utf-16-be", "surrogatepass")


def _clock(name: str, digits: int) -> Compiled:
    """Return the time with so many digits of its second."""
    if digits > 9:
        raise OraError(30088, "datetime/interval precision is out of range")
    unit = 10 ** max(0, 6 - digits)
    info = replace(_PSEUDO[name].info, scale=digits)
    return Compiled(lambda row, f: f.now.replace(microsecond=f.now.microsecond // unit * unit), info, True)


def negated(value: Any) -> Any:
    if isinstance(value, DaySecond):
        return DaySecond(-value.nanoseconds)
    return YearMonth(-value.months) if isinstance(value, YearMonth) else arithmetic("-", 0, value)


def _common(values: Sequence[Compiled]) -> ColumnInfo:
    """Return the result type of CASE, DECODE and the like: the first type that is not text, else text of the longest length."""
    infos = [v.info for v in values]
    first = next((i for i in infos if i.type not in ("CHAR", "VARCHAR2")), infos[0])
    if first.type in ("CHAR", "VARCHAR2"):
        return datatypes.text_info(max(i.chars for i in infos))
    return datatypes.NUMBER if first.type == "NUMBER" else replace(first, name="")


def _result_of(function: Function, arguments: Sequence[Compiled]) -> ColumnInfo:
    if isinstance(function.result, ColumnInfo):
        return function.result
    chosen = {
        "first": arguments[:],
        "first?": arguments[:1],
        "second": arguments[1:],
        "third": [*arguments[2::2], *(arguments[-1:] if len(arguments) % 2 == 0 else [])],
    }[function.result]
    info = _common(chosen or arguments)
    return datatypes.NUMBER if function.result == "first?" and info.type in _TEXTS else info


_PSEUDO: dict[str, Compiled] = {
    "SYSDATE": Compiled(lambda row, f: f.now.replace(microsecond=0), datatypes.DATE, True),
    "CURRENT_DATE": Compiled(lambda row, f: f.now.replace(microsecond=0), datatypes.DATE, True),
    "SYSTIMESTAMP": Compiled(lambda row, f: f.now, datatypes.TIMESTAMP_TZ, True),
    "CURRENT_TIMESTAMP": Compiled(lambda row, f: f.now, datatypes.TIMESTAMP_TZ, True),
    "LOCALTIMESTAMP": Compiled(lambda row, f: f.now, datatypes.TIMESTAMP, True),
    "USER": Compiled(lambda row, f: f.session.user, datatypes.text_info(128), True),
    "UID": Compiled(lambda row, f: 100, datatypes.NUMBER, True),
    "ROWNUM": Compiled(lambda row, f: f.rownum, datatypes.NUMBER),
    "SESSIONTIMEZONE": Compiled(lambda row, f: f.nls["TIME_ZONE"], datatypes.text_info(75), True),
    "DBTIMEZONE": Compiled(lambda row, f: f.session.database.state.time_zone, datatypes.text_info(6), True),
    "BINARY_FLOAT_NAN": Compiled(lambda row, f: math.nan, datatypes.BINARY_DOUBLE, True),
    "BINARY_DOUBLE_NAN": Compiled(lambda row, f: math.nan, datatypes.BINARY_DOUBLE, True),
    "BINARY_FLOAT_INFINITY": Compiled(lambda row, f: math.inf, datatypes.BINARY_DOUBLE, True),
    "BINARY_DOUBLE_INFINITY": Compiled(lambda row, f: math.inf, datatypes.BINARY_DOUBLE, True),
    "EMPTY_CLOB": Compiled(lambda row, f: EMPTY_CLOB, datatypes.text_info(), True),
}


_PADDED = ("CHAR", "NCHAR")
_TEXTS = (*_PADDED, "VARCHAR2", "NVARCHAR2")


def _same_for_all_rows(nodes: Sequence[exp.Expression]) -> bool:
    return all(isinstance(node, exp.Literal | exp.Placeholder) for node in nodes)


def _texts_of(choices: Sequence[Compiled]) -> Callable[[Frame], frozenset[str] | None]:
    """Return the function that gives the choices of an execution as a set; None unless all of them are text."""

    key = id(choices)

    def texts(f: Frame) -> frozenset[str] | None:
        if key not in f.cache:
            values = [choice.run((), f) for choice in choices]
            f.cache[key] = frozenset(values) if all(isinstance(value, str) for value in values) else None
        known: frozenset[str] | None = f.cache[key]
        return known

    return texts


def _is_json(value: Any) -> bool | None:
    """Return whether a text or BLOB is JSON, without the liberties of LAX: names without quotes and the like."""
    if value is None:
        return None
    try:
        json.loads(value)
    except ValueError:
        return False
    return True
