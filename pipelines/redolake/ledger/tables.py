"""The ledger's tables. The prefix lets them live in a database that holds others, such as Airflow's.

A change of a table is a migration too: a file in migrations/versions, whose number VERSION gets. Tables that a released version
has created are never changed: tests/contract/test_migrations.py compares these tables with those that the migrations make.
"""

from __future__ import annotations

from datetime import UTC, datetime

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

VERSION = "0001"  # of the tables: the number of the last migration


class UtcDateTime(TypeDecorator[datetime]):
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


metadata = MetaData()
Body = JSON(none_as_null=True)


def _pipeline() -> Column[str]:
    return Column("pipeline", String(100), primary_key=True)


def _table() -> tuple[Column[str], Column[str]]:
    # 128 bytes is Oracle's longest name.
    return Column("owner", String(128), primary_key=True), Column("table_name", String(128), primary_key=True)


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
    Column("dbid", BigInteger, nullable=False),
    Column("resetlogs_id", BigInteger, nullable=False),
    Column("scn", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

windows = Table(
    "redolake_windows",
    metadata,
    _pipeline(),
    Column("name", String(60), primary_key=True),
    Column("resetlogs_id", BigInteger, nullable=False),
    Column("start_scn", BigInteger, nullable=False),
    Column("end_scn", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("plan", Body, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("planned_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    # For people: nothing decides by these. They are empty where the ledger was rebuilt.
    Column("ends_at", UtcDateTime),  # the time of the end SCN: when the log that ends there was switched
    Column("landed_at", UtcDateTime),
    Column("applied_at", UtcDateTime),
    Column("batch", String(100)),
    Column("row_count", BigInteger),
    Column("log_count", Integer),
    Column("redo_bytes", BigInteger),
    Column("mine_seconds", Float),  # of all sessions together
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
    Column("state", String(20), nullable=False),
    Column("captured_from_scn", BigInteger, nullable=False),
    Column("snapshot_scn", BigInteger),
    Column("complete_to_scn", BigInteger),
    Column("resetlogs_id", BigInteger),  # the incarnation in which it is complete to that SCN
    Column("delta_version", BigInteger),  # the version of the Delta table that is complete to that SCN
    Column("held_from", String(20)),
    Column("held_at", UtcDateTime),
    Column("error", Body),
    Column("changed_at", UtcDateTime, nullable=False),
)

table_versions = Table(
    "redolake_table_versions",
    metadata,
    _pipeline(),
    *_table(),
    Column("from_scn", BigInteger, primary_key=True, autoincrement=False),
    Column("source", String(20), nullable=False),
    Column("body", Body, nullable=False),
    Column("ddl", Text),
    Column("recorded_at", UtcDateTime, nullable=False),
)

batches = Table(
    "redolake_batches",
    metadata,
    _pipeline(),
    Column("name", String(100), primary_key=True),
    Column("start_scn", BigInteger, nullable=False),
    Column("end_scn", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("spec_path", Text, nullable=False),
    Column("result", Body),
    Column("created_at", UtcDateTime, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)

Index("redolake_batches_latest", batches.c.pipeline, batches.c.changed_at)

open_transactions = Table(
    "redolake_open_transactions",
    metadata,
    _pipeline(),
    Column("con_id", Integer, primary_key=True, autoincrement=False),
    Column("xid", String(40), primary_key=True),
    Column("batch", String(100), nullable=False),
    Column("thread", Integer, nullable=False),
    Column("start_scn", BigInteger, nullable=False),
    Column("first_at", String(40)),
    Column("row_count", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("username", String(128)),
)

facts = Table(
    "redolake_facts",
    metadata,
    _pipeline(),
    Column("kind", String(40), primary_key=True),
    Column("name", String(300), primary_key=True),
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
    Column("inserted", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("deleted", BigInteger, nullable=False),
)

# The changes by followed DDL, by the same hours.
table_ddl = Table(
    "redolake_table_ddl",
    metadata,
    _pipeline(),
    *_table(),
    Column("hour", UtcDateTime, primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("changes", BigInteger, nullable=False),
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
    Column("name", String(60), primary_key=True),
    Column("body", Body, nullable=False),
    Column("recorded_at", UtcDateTime, nullable=False),
)

leases = Table(
    "redolake_leases",
    metadata,
    Column("name", String(400), primary_key=True),
    Column("owner", String(400)),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", UtcDateTime),
)

decisions = Table(
    "redolake_decisions",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("pipeline", String(100), nullable=False, index=True),
    Column("kind", String(60), nullable=False),
    Column("body", Body, nullable=False),
    Column("who", String(200), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
