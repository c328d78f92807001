"""Compiled expressions: the scope they are compiled for, the frame they run in, and comparison of two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlglot import exp

from standin.engine.sessions.session import EngineSession
from standin.engine.types.comparison import aligned
from standin.engine.types.instances import instance_of
from standin.engine.types.values import EMPTY_CLOB
from standin.interface import ColumnInfo, Composite
from standin.intervals import DaySecond
from standin.zones import zoned


class NotCompilable(Exception):
    """The expression compiler does not know this construct."""


class Frame:
    """The values besides the row that an expression may use: binds, session, time, and the row's address."""

    __slots__ = ("_now", "binds", "cache", "nls", "outer", "outer_row", "row_id", "row_scn", "rownum", "session")

    def __init__(self, session: EngineSession, binds: Sequence[Any], now: datetime | None = None) -> None:
        self.session, self.nls, self._now = session, session.nls, now
        self.binds = [_oracle_value(bind, session.nls) for bind in binds]
        self.outer: Frame | None = None  # of the statement around a subquery, with the row that it is at
        self.outer_row: Any = ()
        self.row_id: str | None = None
        self.row_scn: int | None = None
        self.rownum = 0
        self.cache: dict[Any, Any] = {}

    @property
    def now(self) -> datetime:
        """Return the statement's time, which is the same for the whole statement."""
        if self._now is None:
            self._now = self.session.database.clock.now()
        return self._now


def _oracle_value(bind: Any, nls: Mapping[str, str]) -> Any:
    """Return a client's interval, point in time with a zone, instance, or empty large object as Oracle has it; an empty text
    comes as NULL."""
    if isinstance(bind, Composite):
        return instance_of(bind, nls)
    if isinstance(bind, timedelta):
        return DaySecond.of(bind)
    if isinstance(bind, str) and not bind:
        return EMPTY_CLOB
    return zoned(bind, 0) if isinstance(bind, datetime) and bind.tzinfo is not None else bind


Fn = Callable[[Any, Frame], Any]
Rows = Callable[[Frame, Any], list[tuple[Any, ...]]]  # of a subquery, for a frame and a row of the statement around it


@dataclass(frozen=True, slots=True)
class Compiled:
    run: Fn
    info: ColumnInfo
    constant: bool = False  # the same for every row of a statement
    bind: int | None = None  # a bind alone: its value decides the type


class Outer:
    """The statement around a subquery, or the other relation of a MERGE: the columns that are none of the inner relation.

    `used` says whether an expression names one of them, so that its value differs by row.
    """

    def __init__(self, column: Callable[[exp.Column], Compiled]) -> None:
        self._column, self.used = column, False

    def column(self, node: exp.Column) -> Compiled:
        found = self._column(node)
        self.used = True

        def value(row: Any, f: Frame) -> Any:
            assert f.outer is not None
            return found.run(f.outer_row, f.outer)

        return Compiled(value, found.info)


SubQuery = Callable[[exp.Query, Outer | None], tuple[tuple[ColumnInfo, ...], Rows]]


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may name, with their positions in the row, and their relation's qualifiers."""

    columns: Mapping[str, tuple[int, ColumnInfo]]
    qualifiers: frozenset[str] = frozenset()
    is_table: bool = False  # has ROWID and ORA_ROWSCN
    outer: Outer | None = None


EMPTY_SCOPE = Scope({})


def constant(value: Any, info: ColumnInfo) -> Compiled:
    return Compiled(lambda row, f: value, info, True)


def compared(test: Callable[[Any, Any], bool], left: Compiled, right: Compiled) -> Fn:
    """Return the comparison as a closure. Like Oracle, ignore trailing blanks when one side is a CHAR column, or both
    are CHAR, as texts in quotes are."""
    a, b = left.run, right.run
    chars = [s for s in (left, right) if s.info.type in ("CHAR", "NCHAR")]
    padded = len(chars) == 2 or any(s.info.name for s in chars)

    def compare(row: Any, f: Frame) -> Any:
        x = a(row, f)
        if x is None:
            return None
        y = b(row, f)
        if y is None:
            return None
        if x.__class__ is not y.__class__:
            x, y = aligned(x, y, f.nls)
        if padded and isinstance(x, str):
            x, y = x.rstrip(" "), y.rstrip(" ")
        return test(x, y)

    return compare
