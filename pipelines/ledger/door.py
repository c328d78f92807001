"""The way to the ledger's database: transactions, and the driver's errors as ours. Thinks nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine, Executable, Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from pipelines.crash import ledger_point
from pipelines.errors import LeaseHeld, LedgerUnavailable, Terminal
from pipelines.ledger import tables as t
from pipelines.ledger.entries import Lease

WRITING = "redolake_writing"  # execution option: SQLite takes its write lock at BEGIN, not in the middle


class Door:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = engine.execution_options(**{WRITING: True})
        self._under_way: Connection | None = None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is read and written in the block is one transaction; so is what it costs to make it durable."""
        with told(self._engine), self._writing.begin() as self._under_way:
            try:
                yield
            finally:
                self._under_way = None
        ledger_point()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with told(self._engine), self._joined(self._engine) as connection:
            yield connection

    def _joined(self, engine: Engine) -> AbstractContextManager[Connection]:
        return engine.begin() if self._under_way is None else nullcontext(self._under_way)

    @contextmanager
    def _write(self, lease: Lease | None = None) -> Iterator[Connection]:
        """One transaction. With a lease, its row stays locked to the end, so that nobody takes over in between."""
        with told(self._engine), self._joined(self._writing) as connection:
            if lease is not None:
                check_lease(connection, lease)
            yield connection
        ledger_point()


@contextmanager
def told(engine: Engine) -> Iterator[None]:
    """Raise LedgerUnavailable for what may pass (network, restart, a lock held too long), Terminal for the rest."""
    where = engine.url.render_as_string(hide_password=True)
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise LedgerUnavailable(
            f"the ledger's database does not answer: {error.orig}",
            cure="see that it is up, and that ledger.url or ledger.connection names it with a user who may log in",
            ledger=where,
        ) from error
    except DBAPIError as error:
        raise Terminal(
            f"the ledger's database refuses: {error.orig}", cure="see that its tables are whole", ledger=where
        ) from error


def check_lease(connection: Connection, lease: Lease) -> None:
    """A token that is not the newest writes nothing. Expiry alone does no harm while nobody has taken over."""
    row = connection.execute(
        select(t.leases.c.token, t.leases.c.owner).where(t.leases.c.name == lease.name).with_for_update()
    ).first()
    if row is None or row.token != lease.token:
        holder = None if row is None else row.owner
        raise LeaseHeld(
            f"the lease {lease.name} was taken over; this writer stops",
            cure="nothing: the newer writer goes on",
            token=lease.token,
            newest=None if row is None else row.token,
            holder=holder,
        )


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert unless a row with that key is there (or comes to be there at this moment); whether it was inserted."""
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert
    statement = insert(table).values(values).on_conflict_do_nothing()
    return connection.execute(statement.returning(next(iter(table.primary_key)))).first() is not None


def changed(connection: Connection, statement: Executable) -> bool:
    """Whether a compare-and-set found its row."""
    return connection.execute(statement).rowcount > 0
