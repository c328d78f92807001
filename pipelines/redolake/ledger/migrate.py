"""Bring the ledger's tables to the version of this Redolake: all of it is one transaction, during which nobody has a lease.

The migrations are files that Alembic runs, in the order of their numbers. A process that is killed leaves the tables as they
were. If two begin at once, the second waits, and then finds nothing to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, create_engine, insert, inspect, text, update
from sqlalchemy.pool import StaticPool

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import WRITING, database_errors
from redolake.ledger.checks import (
    FIRST,
    UNVERSIONED,
    Parts,
    check_not_newer,
    check_whole,
    damage_error,
    own_parts,
    parts_of,
    version_of,
)
from redolake.ledger.leases import take_over_all

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).with_name("migrations")
LOCK = 0x7265646F  # any fixed number, for pg_advisory_xact_lock
LOCK_SECONDS = 30
VERSIONS = [FOLDER / "versions"]

_alembic = threading.Lock()  # Alembic has one environment in a process


@dataclass(frozen=True, slots=True)
class Migration:
    """`version` is that of the tables after it."""

    version: str
    what: str


def migrate(engine: Engine, now: datetime, may_end: Callable[[str], bool]) -> None:
    """Create the tables, or bring them to the version of this Redolake.

    Raises LeaseHeld while somebody writes: the owner of a lease that `may_end` does not let go. Raises FormatTooNew and
    LedgerDamaged as well."""
    with open_locked(engine) as connection:
        found = version_of(connection)
        if found is None:
            create(connection)
        elif found != t.VERSION:
            check_known(found, engine)
            lock_tables(connection, found)
            check_whole(connection, parts_at(found))
            take_over_all(connection, now, may_end)
            change(connection, found)
            check_whole(connection, own_parts())
            crash.point("migrate")
    if found not in (None, t.VERSION):
        crash.point("migrated")


def check_known(found: str, engine: Engine) -> None:
    """Raise FormatTooNew for a later version, and LedgerDamaged for one that no migration makes."""
    check_not_newer(found, engine)
    if found in (UNVERSIONED, t.VERSION):
        return
    try:
        migrations_after(found)
    except LookupError:
        raise damage_error(engine, f"the ledger has version {found}, which no Redolake has written") from None


@contextmanager
def open_locked(engine: Engine) -> Iterator[Connection]:
    """Open the one transaction that may create or change tables: SQLite has one writer, PostgreSQL a lock for it."""
    with database_errors(engine), engine.execution_options(**{WRITING: True}).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})
        yield connection


def lock_tables(connection: Connection, found: str) -> None:
    """Wait until the writes under way have ended, and keep others, and new leases, away to the end (`check_own_version`)."""
    if connection.dialect.name == "postgresql":
        for table in (t.leases,) if found == UNVERSIONED else (t.version, t.leases):
            connection.execute(text(f"LOCK TABLE {table.name} IN EXCLUSIVE MODE"))


def create(connection: Connection) -> None:
    """Create the tables as they are today; the migrations would make the same ones, more slowly."""
    t.metadata.create_all(connection)
    connection.execute(insert(t.version).values(version_num=t.VERSION))
    connection.execute(insert(t.format_version).values(only=1, version=t.VERSIONED_FORMAT))


def change(connection: Connection, found: str) -> None:
    """Run the migrations after the version that was found."""
    if found == UNVERSIONED:
        t.version.create(connection)
        connection.execute(insert(t.version).values(version_num=FIRST))
        connection.execute(update(t.format_version).values(version=t.VERSIONED_FORMAT))
    run(connection, t.VERSION)


def parts_at(version: str) -> Parts:
    """Return what the tables of a version consist of, as the migrations up to it make them."""
    if version == UNVERSIONED:
        return {table: parts for table, parts in parts_at(FIRST).items() if table != t.version.name}
    return own_parts() if version == t.VERSION else _parts_at(version)


@cache
def _parts_at(version: str) -> Parts:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        run(connection, version)
        return parts_of(connection, dict.fromkeys(inspect(connection).get_table_names()))


def migrations_after(version: str) -> list[Migration]:
    """Return the migrations that lead from a version to this Redolake's, the first one first. Raises LookupError for a version
    that no migration makes."""
    from alembic.script import ScriptDirectory
    from alembic.script.revision import RevisionError
    from alembic.util import CommandError

    after = "base" if version == UNVERSIONED else version
    with _alembic:
        try:
            found = list(ScriptDirectory.from_config(alembic_config()).iterate_revisions(t.VERSION, after))
        except (CommandError, RevisionError) as error:
            raise LookupError(version) from error
    return [Migration(script.revision, script.doc) for script in reversed(found)]


def run(connection: Connection, version: str) -> None:
    """Let Alembic bring the tables to a version, in the transaction that is open."""
    from alembic import command

    with _alembic:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, version)


def alembic_config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("path_separator", "newline")  # a folder's name may contain each of the others
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", "\n".join(map(str, VERSIONS)).replace("%", "%%"))
    return config
