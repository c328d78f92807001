"""The ledger's tables. The prefix lets them live in a database that holds others, such as Airflow's.

A change of a table is a migration too: a file in migrations/versions, whose number VERSION gets. Tables that a released version
has created are never changed: tests/contract/test_migrations.py compares these tables with those that the migrations make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.types import TypeDecorator

from redolake.ledger.states import BATCH, TABLE, WINDOW
from redolake.records.codec import LedgerBody

NAME = re.compile(r"\d{10}-\d{20}-\d{20}", re.ASCII)
VERSION = "0001"  # of the tables: the number of the last migration


class WrongCell(ValueError):
    """A cell, or the cells of a row together, are no value that Redolake writes there."""


@contextmanager
def parse_cells(where: str) -> Iterator[None]:
    """Raise WrongCell for what the cells of a row are no value of. Nothing but their parsing belongs into the block."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise WrongCell(f"{where}: {error}") from error


class Cell(TypeDecorator[Any]):
    """A value that is checked where it is read: SQLite keeps values of any kind in any column."""

    place, nullable = "", True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        process = super().result_processor(dialect, coltype)
        assert process is not None, "each has `process_result_value`"

        def parse(value: Any) -> Any:
            try:  # no context manager, which takes longer than most cells
                return process(value)
            except (ValueError, TypeError, AttributeError) as error:
                raise WrongCell(f"{self.place}: {error}") from error

        return parse


class UtcDateTime(Cell):
    """Aware datetimes, kept without zone as UTC, as SQLite keeps no zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Word(Cell):
    """Text."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        if value is None or type(value) is str:
            return value
        raise ValueError(f"{value!r:.100} in place of a text")


class LongWord(Word):
    impl = Text
    cache_ok = True


class Seconds(Cell):
    impl = Float
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:
        if value is None or type(value) in (float, int):
            return value  # type: ignore[no-any-return]
        raise ValueError(f"{value!r:.100} in place of a number of seconds")


class State(Word):
    """One of the states that `moves` has."""

    cache_ok = True

    def __init__(self, moves: Mapping[str, frozenset[str]]) -> None:
        super().__init__(20)
        self.states = tuple(sorted(moves))

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        if value is None or value in self.states:
            return value  # type: ignore[no-any-return]
        raise ValueError(f"{value!r:.100} in place of a state, which is one of {', '.join(self.states)}")


class WindowName(Word):
    """A window's name, which has its incarnation and its SCNs."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        if value is None or (type(value) is str and NAME.fullmatch(value)):
            return value
        raise ValueError(f"{value!r:.100} in place of the name of a window")


class Number(Cell):
    """A whole number that is not negative."""

    impl = BigInteger
    cache_ok = True

    def __init__(self, impl: Any = None) -> None:
        super().__init__()
        if impl is not None:
            self.impl = impl

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        if type(value) is Decimal and value == value.to_integral_value():  # PostgreSQL's sum of BIGINT
            value = int(value)
        if value is None or (type(value) is int and value >= 0):
            return value
        raise ValueError(f"{value!r:.100} in place of a number")


class Document(Cell):
    """A JSON object."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        if value is None and self.nullable:
            return None
        if isinstance(value, dict):
            return LedgerBody(value, self.place)
        raise ValueError(f"{value!r:.100} in place of a JSON object")


metadata = MetaData()
Body = Document()


def _pipeline() -> Column[str]:
    return Column("pipeline", Word(100), primary_key=True)


def _table() -> tuple[Column[str], Column[str]]:
    # 128 bytes is Oracle's longest name.
    return Column("owner", Word(128), primary_key=True), Column("table_name", Word(128), primary_key=True)


# Alembic's version table; its name is not `alembic_version`, which is Airflow's where a database is shared.
version = Table(
    "redolake_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="redolake_version_pkc"),
)

# The version before Alembic. Programs of that time know the number 1, and refuse a ledger with another one.
format_version = Table(
    "redolake_format",
    metadata,
    Column("only", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
)
UNVERSIONED_FORMAT, VERSIONED_FORMAT = 1, 2

pipelines = Table(
    "redolake_pipelines",
    metadata,
    _pipeline(),
    Column("dbid", Number(), nullable=False),
    Column("resetlogs_id", Number(), nullable=False),
    Column("scn", Number(), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

windows = Table(
    "redolake_windows",
    metadata,
    _pipeline(),
    Column("name", WindowName(60), primary_key=True),
    Column("resetlogs_id", Number(), nullable=False),
    Column("start_scn", Number(), nullable=False),
    Column("end_scn", Number(), nullable=False),
    Column("state", State(WINDOW), nullable=False),
    Column("plan", Body, nullable=False),
    Column("token", Number(), nullable=False),
    Column("planned_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    # For people: nothing decides by these. They are empty where the ledger was rebuilt.
    Column("ends_at", UtcDateTime),  # the time of the end SCN: when the log that ends there was switched
    Column("landed_at", UtcDateTime),
    Column("applied_at", UtcDateTime),
    Column("batch", Word(100)),
    Column("row_count", Number()),
    Column("log_count", Number(Integer())),
    Column("redo_bytes", Number()),
    Column("mine_seconds", Seconds()),  # of all sessions together
    Column("account", Body),
)
Index("redolake_windows_state", windows.c.pipeline, windows.c.state)
# Only one window that is not abandoned may begin at a position of the chain.
Index(
    "redolake_windows_place",
    windows.c.pipeline,
    windows.c.resetlogs_id,
    windows.c.start_scn,
    unique=True,
    sqlite_where=text("state <> 'abandoned'"),
    postgresql_where=text("state <> 'abandoned'"),
)

tables = Table(
    "redolake_tables",
    metadata,
    _pipeline(),
    *_table(),
    Column("state", State(TABLE), nullable=False),
    Column("captured_from_scn", Number(), nullable=False),
    Column("snapshot_scn", Number()),
    Column("complete_to_scn", Number()),
    Column("resetlogs_id", Number()),  # the incarnation in which it is complete to that SCN
    Column("delta_version", Number()),  # the version of the Delta table that is complete to that SCN
    Column("held_from", State(TABLE)),
    Column("held_at", UtcDateTime),
    Column("error", Body),
    Column("changed_at", UtcDateTime, nullable=False),
)

table_versions = Table(
    "redolake_table_versions",
    metadata,
    _pipeline(),
    *_table(),
    Column("from_scn", Number(), primary_key=True, autoincrement=False),
    Column("source", Word(20), nullable=False),
    Column("body", Body, nullable=False),
    Column("ddl", LongWord()),
    Column("recorded_at", UtcDateTime, nullable=False),
)

batches = Table(
    "redolake_batches",
    metadata,
    _pipeline(),
    Column("name", Word(100), primary_key=True),
    Column("start_scn", Number(), nullable=False),
    Column("end_scn", Number(), nullable=False),
    Column("state", State(BATCH), nullable=False),
    Column("spec_path", LongWord(), nullable=False),
    Column("result", Body),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

Index("redolake_batches_latest", batches.c.pipeline, batches.c.changed_at)

open_transactions = Table(
    "redolake_open_transactions",
    metadata,
    _pipeline(),
    Column("con_id", Number(Integer()), primary_key=True, autoincrement=False),
    Column("xid", Word(40), primary_key=True),
    Column("batch", Word(100), nullable=False),
    Column("thread", Number(Integer()), nullable=False),
    Column("start_scn", Number(), nullable=False),
    Column("first_at", Word(40)),
    Column("row_count", Number(), nullable=False),
    Column("bytes", Number(), nullable=False),
    Column("username", Word(128)),
)

facts = Table(
    "redolake_facts",
    metadata,
    _pipeline(),
    Column("kind", Word(40), primary_key=True),
    Column("name", Word(300), primary_key=True),
    Column("body", Body, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

# The rows that batches changed, by the hour in which they were recorded.
table_rows = Table(
    "redolake_table_rows",
    metadata,
    _pipeline(),
    *_table(),
    Column("hour", UtcDateTime, primary_key=True),
    Column("inserted", Number(), nullable=False),
    Column("updated", Number(), nullable=False),
    Column("deleted", Number(), nullable=False),
)

# The changes by followed DDL, by the same hours.
table_ddl = Table(
    "redolake_table_ddl",
    metadata,
    _pipeline(),
    *_table(),
    Column("hour", UtcDateTime, primary_key=True),
    Column("kind", Word(40), primary_key=True),
    Column("changes", Number(), nullable=False),
)

losses = Table(
    "redolake_losses",
    metadata,
    _pipeline(),
    Column("body", Body, nullable=False),
    Column("since", UtcDateTime, nullable=False),
)

gaps = Table(
    "redolake_gaps",
    metadata,
    _pipeline(),
    Column("name", Word(60), primary_key=True),
    Column("body", Body, nullable=False),
    Column("recorded_at", UtcDateTime, nullable=False),
)

leases = Table(
    "redolake_leases",
    metadata,
    Column("name", Word(400), primary_key=True),
    Column("owner", Word(400)),
    Column("token", Number(), nullable=False),
    Column("expires_at", UtcDateTime),
)

decisions = Table(
    "redolake_decisions",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("pipeline", Word(100), nullable=False, index=True),
    Column("kind", Word(60), nullable=False),
    Column("body", Body, nullable=False),
    Column("who", Word(200), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)


def _name_places() -> None:
    """Give each cell's type the place that an error names."""
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, Cell):
                column.type = column.type.copy()
                column.type.place, column.type.nullable = f"{table.name}.{column.name}", bool(column.nullable)


_name_places()
