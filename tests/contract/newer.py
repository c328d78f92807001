"""A newer Redolake, with two more migrations of the ledger, and ledgers as older ones have left them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import JSON, Column, Engine, Integer, MetaData, String, Table, create_engine, inspect, select, text

from redolake.ledger import migrate, store
from redolake.ledger import tables as t
from redolake.ledger.base import WRITING
from redolake.ledger.store import checked_url, engine_of, make_file

RELEASED, NEWER = t.VERSION, "9002"
OF_EACH_MIGRATION = {"redolake_version", "redolake_format", "redolake_leases"}
FOLDER = Path(__file__).with_name("newer_migrations")


@contextmanager
def newer_redolake() -> Iterator[None]:
    """Let this process be a newer Redolake, to which the ledger's tables are those of its own migrations."""
    with (
        mock.patch.object(migrate, "VERSIONS", [*migrate.VERSIONS, FOLDER]),
        mock.patch.object(t, "VERSION", NEWER),
        mock.patch.object(t, "metadata", newer_tables()),
    ):
        forget()
        yield
    forget()


def forget() -> None:
    """Forget what this process knows of ledgers, as another process does."""
    migrate._parts_at.cache_clear()
    store._whole.clear()


def newer_tables() -> MetaData:
    made = MetaData()
    for table in t.metadata.sorted_tables:
        if table is not t.facts:
            table.to_metadata(made)
    made.tables["redolake_windows"].append_column(Column("note", String(80)))
    columns = [Column("note", JSON()) if c.name == "body" else c._copy() for c in t.facts.columns]
    Table("redolake_news", made, *columns)
    Table("redolake_migrations", made, Column("number", Integer, primary_key=True))
    return made


@contextmanager
def engine(url: str) -> Iterator[Engine]:
    make_file(checked_url(url))
    opened = engine_of(checked_url(url))
    yield opened
    opened.dispose()


def migrated(url: str, version: str) -> None:
    """Make a new ledger by the migrations up to a version."""
    with engine(url) as made, made.execution_options(**{WRITING: True}).begin() as connection:
        migrate.run(connection, version)


def run_in(url: str, *statements: str) -> None:
    with engine(url) as opened, opened.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    forget()


def make_unversioned(url: str) -> None:
    """Let the ledger be one from before the first release."""
    run_in(url, "DROP TABLE redolake_version", "UPDATE redolake_format SET version = 1")


def structure_of(url: str) -> dict[str, dict[str, Any]]:
    """Return columns, key and indexes of each table, as the database describes them."""
    opened = create_engine(checked_url(url))
    found = inspect(opened)
    tables = {name: structure(found, name) for name in sorted(found.get_table_names())}
    opened.dispose()
    return tables


def structure(found: Any, name: str) -> dict[str, Any]:
    columns = {c["name"]: (repr(c["type"]), c["nullable"], c["default"]) for c in found.get_columns(name)}
    indexes = {
        i["name"]: (i["column_names"], bool(i["unique"]), {key: str(value) for key, value in i["dialect_options"].items()})
        for i in found.get_indexes(name)
    }
    return {"columns": columns, "key": found.get_pk_constraint(name)["constrained_columns"], "indexes": indexes}


def contents_of(url: str) -> dict[str, list[Any]]:
    """Return all rows of all tables but those in which each migration notes its version and takes over the leases."""
    opened = create_engine(checked_url(url))
    tables = MetaData()
    tables.reflect(opened)
    with opened.connect() as connection:
        rows = {name: sorted(map(repr, connection.execute(select(table)))) for name, table in tables.tables.items()}
    opened.dispose()
    return {name: found for name, found in rows.items() if name not in OF_EACH_MIGRATION}
