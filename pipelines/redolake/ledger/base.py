"""What all parts of the ledger share: its database, transactions, and the driver's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Executable, Insert, Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from redolake.errors import (
    FormatTooNew,
    LeaseHeld,
    LedgerDamaged,
    LedgerOutdated,
    LedgerUnavailable,
    RedolakeError,
    Terminal,
    report_with,
    without_breaks,
)
from redolake.host.crash import ledger_point
from redolake.ledger import tables as t
from redolake.ledger.checks import check_own_version, check_version, damage_error, driver_text, url_text, version_of
from redolake.ledger.entries import Lease

# SQLite has one class of errors for all: a table that is gone, a full disk, a lock. So its words decide, and of PostgreSQL,
# whose words may be in any language, SQLSTATEs.
DAMAGE = re.compile(
    "no such table|no such column|has no column|malformed|not a database|^(?:42P01|42703|XX00[12]):|could not read block"
)
NO_SPACE = re.compile("disk is full|disk I/O error|readonly database|No space left|Disk quota|^53100:")
LOCKED = re.compile("database is locked|database table is locked|^55P03:")
# What PostgreSQL says while it starts, stops, fails over, or is full of work: SQLSTATEs and their classes. The driver makes an
# InternalError of some of them, as it does of faults.
PASSING = re.compile("08|40|53|57P0|57014|58|25006|25P0[234]|55006|55P03")
BY_STATEMENT = re.compile("statement pooling")  # of PgBouncer: with the state of a broken connection
UNAVAILABLE = (  # the first one that fits: what is wrong, and what helps
    (
        NO_SPACE, "the ledger cannot be written",
        "free space for the ledger's database, or give this user the right to write there; nothing is lost",
    ),
    (LOCKED, "the ledger stays locked", "run again when the other process has ended: it writes, or changes the tables"),
    (
        re.compile("^25006:"), "the ledger's database is read-only",
        "wait until its failover is over; where ledger.url or ledger.connection names a standby, name the primary",
    ),
    (
        re.compile("^(?:57014|25P0[34]):"), "the ledger's database has ended the statement or its session",
        "raise statement_timeout, transaction_timeout and idle_in_transaction_session_timeout of this user, unless a person "
        "has cancelled it",
    ),
    (re.compile("^53300:"), "the ledger's database has too many connections", "raise max_connections, or pool them"),
    (re.compile("^40(?!003)"), "the ledger's database has undone the transaction", "run again: nothing was written"),
    (
        re.compile(""), "the ledger's database does not answer",
        "check that it is up, and that ledger.url or ledger.connection names it with a user who may log in",
    ),
)  # fmt: skip
WRITING = "redolake_writing"  # execution option: SQLite takes its write lock at BEGIN, not in the middle


class LedgerBase:
    """The ledger of one pipeline; every entry is stamped by `now`."""

    def __init__(self, engine: Engine, pipeline: str, now: Callable[[], datetime]) -> None:
        self._engine, self._pipeline, self._now = engine, pipeline, now
        self._writing = engine.execution_options(**{WRITING: True})
        self._under_way: Connection | None = None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Run the block as one transaction, so that its writes are made durable together."""
        with database_errors(self._engine), self._writing.begin() as self._under_way:
            try:
                check_own_version(self._under_way)
                yield
            finally:
                self._under_way = None
        ledger_point()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with database_errors(self._engine), value_errors(self._engine), self._join(self._engine) as connection:
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Open a transaction, in which an older program writes nothing into tables that a newer one has changed."""
        with database_errors(self._engine), value_errors(self._engine), self._join(self._writing) as connection:
            if self._under_way is None:
                check_own_version(connection)
            yield connection

    def damage_error(self, what: str) -> LedgerDamaged:
        """Return the error of a ledger that contradicts the files of the landing."""
        return damage_error(self._engine, what)

    def _join(self, engine: Engine) -> AbstractContextManager[Connection]:
        return engine.begin() if self._under_way is None else nullcontext(self._under_way)

    @contextmanager
    def _write(self, lease: Lease | None = None) -> Iterator[Connection]:
        """Open a transaction. With a lease, its row stays locked to the end, so that nobody takes over in between."""
        with self._transaction() as connection:
            if lease is not None:
                check_lease(connection, lease)
            yield connection
        ledger_point()


@contextmanager
def database_errors(engine: Engine) -> Iterator[None]:
    """Raise LedgerUnavailable for errors that may pass (network, restart, a lock held too long), LedgerDamaged for what the
    ledger lacks or its database finds damaged, Terminal for others."""
    try:
        yield
    except DBAPIError as error:
        where, said = url_text(engine), driver_text(engine, error)
        cause = error if said == without_breaks(error.orig) else None  # a log shows an error's cause too, with its own text
        known = f"{getattr(error.orig, 'sqlstate', None) or ''}: {said}"
        if DAMAGE.search(known):
            raise changed_or_damaged(engine, f"the ledger's database refuses: {said}") from cause
        if not may_pass(error):
            allow = f"let this user create, read and write tables there; if it may, {report_with('this message')}"
            cure = "set `pool_mode` of PgBouncer to transaction or session" if BY_STATEMENT.search(said) else allow
            raise Terminal(f"the ledger's database refuses: {said}", cure=cure, ledger=where) from cause
        what, cure = next((what, cure) for sign, what, cure in UNAVAILABLE if sign.search(known))
        raise LedgerUnavailable(f"{what}: {said}", cure=cure, ledger=where) from cause


def may_pass(error: DBAPIError) -> bool:
    """Return whether the statement may succeed later: by its SQLSTATE where the database gave one, else by its class."""
    state = getattr(error.orig, "sqlstate", None)
    if state:
        return bool(PASSING.match(state)) and not BY_STATEMENT.search(str(error.orig))
    return isinstance(error, OperationalError | InterfaceError)


@contextmanager
def value_errors(engine: Engine) -> Iterator[None]:
    """Raise LedgerDamaged for a cell whose value is none that this Redolake writes there. Other errors are faults of ours."""
    try:
        yield
    except t.WrongCell as error:
        raise damage_error(engine, f"the ledger has a wrong cell: {error}") from error


def changed_or_damaged(engine: Engine, what: str) -> RedolakeError:
    """Return the error of a ledger that lacks something: another Redolake has changed its tables, or it is damaged."""
    try:
        with engine.connect() as connection:
            check_version(version_of(connection) or t.VERSION, engine)
    except (FormatTooNew, LedgerOutdated) as changed:
        return changed
    except (DBAPIError, LedgerDamaged):
        pass
    return damage_error(engine, what)


def check_lease(connection: Connection, lease: Lease) -> None:
    """Raise LeaseHeld unless the lease has the newest token. An expired lease is valid while nobody has taken it over."""
    row = connection.execute(
        select(t.leases.c.token, t.leases.c.owner).where(t.leases.c.name == lease.name).with_for_update()
    ).first()
    if row is None or row.token != lease.token:
        holder = None if row is None else row.owner
        raise LeaseHeld(
            f"the lease {lease.name} was taken over; this writer stops",
            cure="let the newer writer go on; what this one had committed stays",
            token=lease.token,
            newest=None if row is None else row.token,
            holder=holder,
        )


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert unless a row has that key, also when two insert at the same moment. Return whether it was inserted."""
    statement = unless_known(connection, table).values(values)
    return connection.execute(statement.returning(next(iter(table.primary_key)))).first() is not None


def unless_known(connection: Connection, table: Table) -> Insert:
    """Return an INSERT that leaves a row as it is where there is one with that key."""
    found: Insert = insert_of(connection, table).on_conflict_do_nothing()
    return found


def insert_of(connection: Connection, table: Table) -> Any:
    """Return the dialect's INSERT, to which each adds the same answers for a row that has the key already."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def change_row(connection: Connection, statement: Executable) -> bool:
    """Return whether a compare-and-set found its row."""
    return connection.execute(statement).rowcount > 0
