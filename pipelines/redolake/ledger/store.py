"""Opens the ledger in SQLite or PostgreSQL, for writing with the tables of this Redolake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from sqlite3 import SQLITE_BUSY, SQLITE_LOCKED, OperationalError
from sqlite3 import Connection as SqliteConnection
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from redolake.errors import ConfigurationError, Finding, LedgerUnavailable
from redolake.host.filesystem import close_to_others, modes_in, new_file
from redolake.ledger import tables as t
from redolake.ledger.base import WRITING, database_errors
from redolake.ledger.batches import Batches
from redolake.ledger.checks import Parts, check_version, check_whole, own_parts, shown_url, version_of
from redolake.ledger.decisions import Decisions
from redolake.ledger.leases import Leases
from redolake.ledger.losses import Losses
from redolake.ledger.migrate import Migration, check_known, create, migrate, migrations_after, parts_at
from redolake.ledger.positions import Positions
from redolake.ledger.pruning import PrunedRows
from redolake.ledger.reading import Readings
from redolake.ledger.shown_facts import Facts
from redolake.ledger.table_entries import TableEntries
from redolake.ledger.versions import TableVersions
from redolake.ledger.windows import WindowEntries

BUSY_SECONDS = 30.0
_whole: set[URL] = set()  # ledgers whose tables this process has seen
KEPT_ENGINES = 8


def utc_now() -> datetime:
    return datetime.now(UTC)


class Ledger(
    Positions, WindowEntries, TableEntries, TableVersions, Batches, Leases, Decisions, Losses, Facts, Readings, PrunedRows
):
    """Serves plans and status. Manifests beside the data prove what has landed and what is applied: see `record_landed`."""

    def again(self) -> Ledger:
        """Return another one of the same database, for another thread: each has its own transactions."""
        return Ledger(self._engine, self._pipeline, self._now)

    def close(self) -> None:
        self._engine.dispose()


def nobody(_: str) -> bool:
    return False


def open_ledger(
    url: str, pipeline: str, now: Callable[[], datetime] = utc_now, may_end: Callable[[str], bool] = nobody
) -> Ledger:
    """Open a pipeline's ledger; create its tables, or bring those of an older Redolake to the version of this one.

    Raises ConfigurationError for an unusable URL, LedgerUnavailable, LedgerDamaged, FormatTooNew, and LeaseHeld while the
    tables cannot be changed: somebody holds a lease, and `may_end` does not let its owner go."""
    checked = checked_url(url)
    make_file(checked)
    engine = kept_engine(checked)
    with close_on_error(engine):
        if not _is_current(engine):
            migrate(engine, now(), may_end)
    return Ledger(engine, pipeline, now)


def _is_current(engine: Engine) -> bool:
    with database_errors(engine), engine.begin() as connection:
        if version_of(connection) != t.VERSION:
            return False
        _check_whole_once(connection, own_parts)
        return True


def open_ledger_to_read(url: str, pipeline: str, now: Callable[[], datetime] = utc_now) -> Ledger:
    """Open a pipeline's ledger so that nothing can be written; where there is none yet, return an empty one that nothing keeps.
    Raises as `engine_to_read` does."""
    engine = engine_to_read(url)
    return Ledger(_empty() if engine is None else engine, pipeline, now)


def engine_to_read(url: str) -> Engine | None:
    """Return an engine that cannot write; None where there is no ledger yet. Raises as `open_ledger` does, but LedgerOutdated
    for the tables of an older Redolake: who reads changes nothing."""
    engine = _engine_if_there(url)
    if engine is None:
        return None
    with close_on_error(engine), database_errors(engine), engine.begin() as connection:
        found = version_of(connection)
        if found is not None:
            check_known(found, engine)
            check_version(found, engine)
            _check_whole_once(connection, lambda: parts_at(found))
    if found is None:
        engine.dispose()
        return None
    return engine


@contextmanager
def close_on_error(engine: Engine) -> Iterator[None]:
    """Close the connections of an engine that is kept, where nobody gets a ledger to close."""
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def _engine_if_there(url: str) -> Engine | None:
    """Return an engine that cannot write; None where the ledger is a file that is not there."""
    checked = checked_url(url)
    if checked.get_backend_name() == "sqlite" and not Path(checked.database or "").exists():
        return None
    return kept_engine_to_read(checked)


@dataclass(frozen=True, slots=True)
class LedgerVersion:
    """`found` is the version of the tables, None where there is no ledger yet; `pending` lead from there to `known`."""

    ledger: str  # its URL, without the password
    found: str | None
    known: str
    pending: tuple[Migration, ...]


def ledger_version(url: str) -> LedgerVersion:
    """Return the version of a ledger, and the migrations that it lacks; nothing is written. Raises as `open_ledger` does."""
    found, where = None, shown_url(checked_url(url))
    engine = _engine_if_there(url)
    if engine is not None:
        try:
            with database_errors(engine), engine.begin() as connection:
                found = version_of(connection)
                if found is not None:
                    check_known(found, engine)
                    check_whole(connection, parts_at(found))
        finally:
            engine.dispose()
    pending = () if found in (None, t.VERSION) else migrations_after(found)
    return LedgerVersion(where, found, t.VERSION, tuple(pending))


def _empty() -> Engine:
    """Return an engine over a ledger in memory, without rows."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        create(connection)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    return engine


def checked_url(text_: str) -> URL:
    try:
        url = make_url(text_)
    except (ArgumentError, ValueError):  # their texts may contain the URL
        raise _unusable("is not a database URL") from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise _unusable(f"names {url.get_backend_name()}, which is not supported")
    given = text_.partition("://")[2].partition("/")[2].partition("?")[0]  # the database, if the password has no slash
    is_read_wrong = "@" in f"{url.host}" or ("@" in f"{url.database}" and "@" in given)  # by drivers, which take a part as it
    if url.get_backend_name() == "postgresql" and is_read_wrong:
        raise _unusable("has an @ in its user, password or database: write it as %40")
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise _unusable("names no file, so nothing would be kept")
    return url


def _unusable(what: str) -> ConfigurationError:
    return ConfigurationError([Finding("ledger.url", what, "write sqlite:////path/file.db or postgresql://user@host/database")])


def make_file(url: URL) -> None:
    """Create a ledger that is a file, with its folder."""
    folder = Path(url.database or "").parent
    try:
        if url.get_backend_name() == "sqlite":
            folder.mkdir(parents=True, exist_ok=True)
            make_private(url.database or "")
    except OSError as error:
        why = f"the ledger's file cannot be created in {folder}: {error.strerror}"
        raise LedgerUnavailable(why, cure="give this user the right to write there", ledger=url.database) from error


def make_private(file: str) -> None:
    """Leave the file, which contains keys of rows in errors, to its owner, or to the group that its folder is shared with."""
    if Path(file).exists():
        close_to_others(file)
    else:
        # SQLite gives the files beside it the mode that it finds.
        open(file, "ab", opener=new_file(modes_in(Path(file).parent.stat().st_mode, is_ours=False))).close()


@lru_cache(KEPT_ENGINES)
def kept_engine(url: URL) -> Engine:
    """Return the engine of the steps of this process: an engine compiles each statement once. Its connections live as long as
    one step: `close` ends them, and no process forks in between."""
    return engine_of(url)


@lru_cache(KEPT_ENGINES)
def kept_engine_to_read(url: URL) -> Engine:
    """Return the engine of this process's readings: a page is read every few seconds. `close` ends its connections too."""
    engine = engine_of(url)
    if engine.dialect.name != "sqlite":
        return engine.execution_options(postgresql_readonly=True)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def engine_of(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        arguments: dict[str, Any] = {"timeout": BUSY_SECONDS}
    else:
        # A statement prepared on one connection of a pooler (PgBouncer by transaction) may run on another one.
        arguments = {"connect_timeout": 10, "prepare_threshold": None}
        url = url.difference_update_query(["prepare_threshold"])
    try:
        # A server may have been restarted since the last statement of a long step.
        engine = create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite", connect_args=arguments)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        finding = Finding("ledger.url", f"its driver is not installed: {error}", "pip install 'redolake[postgres]'")
        raise ConfigurationError([finding]) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _on_sqlite_connect)
        event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _on_sqlite_connect(connection: SqliteConnection, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin transactions where it likes
    # Where two switch a new file at once, SQLite refuses one of them at once instead of letting it wait. Nothing else passes by
    # itself: a full disk is reported at once.
    answer = Retrying(
        retry=retry_if_exception(is_busy),
        stop=stop_after_delay(BUSY_SECONDS),
        wait=wait_random(0, 0.05),
        reraise=True,
    )(connection.execute, "PRAGMA journal_mode = WAL")
    answer.close()  # a row is left of it: as long as somebody kept it, say a profiler, SQLite would refuse each COMMIT
    connection.execute("PRAGMA synchronous = FULL")  # a planned window must survive a power cut


def is_busy(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and error.sqlite_errorcode & 0xFF in (SQLITE_BUSY, SQLITE_LOCKED)


def _on_sqlite_begin(connection: Connection) -> None:
    if connection.get_execution_options().get(WRITING):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:  # it asks for no lock, so it cannot fail, and there are many
        connection.connection.driver_connection.execute("BEGIN")  # type: ignore[union-attr]


def _check_whole_once(connection: Connection, parts: Callable[[], Parts]) -> None:
    """Check the tables once in a process; what goes later is an error of the statement that needs it."""
    if connection.engine.url not in _whole:
        check_whole(connection, parts())
        _whole.add(connection.engine.url)
