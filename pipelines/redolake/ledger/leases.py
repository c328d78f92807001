"""Leases: one writer at a time; when it dies, another takes over with a higher token."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection, case, select, update

from redolake.errors import LeaseHeld
from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, insert_new
from redolake.ledger.entries import Lease

log = logging.getLogger(__name__)


HELD_BY_ANOTHER = -1  # no token


class Leases(LedgerBase):
    @crash.writer
    def lease(self, name: str, owner: str, seconds: float, is_gone: Callable[[str], bool] = lambda _: False) -> Lease:
        """Take a lease. Raises LeaseHeld while another owner has it, unless `is_gone` reports that owner as dead.

        The same owner gets a new token, because its earlier process may still run. Tokens follow the clock, so that a ledger
        that was lost, or restored from an older copy, gives none a second time."""
        now = self._now()
        expires_at = now + timedelta(seconds=seconds)
        with self._write() as connection:
            insert_new(connection, t.leases, {"name": name, "token": 0})
            row = connection.execute(select(t.leases).where(t.leases.c.name == name).with_for_update()).one()
            if row.owner not in (None, owner) and row.expires_at > now and not is_gone(row.owner):
                raise LeaseHeld(
                    f"{row.owner} holds the lease {name} until {row.expires_at.isoformat(timespec='seconds')}, and longer if "
                    "it renews it",
                    cure="wait until that run ends, at most `lease_wait_minutes`; of one that was killed in a container, or on "
                    "another machine, the lease expires by itself",
                )
            lease = Lease(name, owner, max(row.token + 1, int(now.timestamp() * 1000)), expires_at, row.token)
            connection.execute(
                update(t.leases).where(t.leases.c.name == name).values(owner=owner, token=lease.token, expires_at=expires_at)
            )
            log.info("took the lease %s as %s for %s s", name, owner, seconds)
            return lease

    def lease_tokens(self, owner: str) -> dict[str, int]:
        """Return the tokens of the pipeline's leases by their names. One that another owner has not given back, expired or not,
        has none that a later lease could follow: that owner may still write."""
        own = t.leases.c.name.endswith(f"/{self._pipeline}", autoescape=True)
        with self._read() as connection:
            rows = connection.execute(select(t.leases).where(own))
            return {row.name: row.token if row.owner in (None, owner) else HELD_BY_ANOTHER for row in rows}

    @crash.writer
    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Renew a lease. Raises LeaseHeld when another owner has taken it; an expired one that nobody took is renewed."""
        expires_at = self._now() + timedelta(seconds=seconds)
        with self._write(lease) as connection:
            connection.execute(
                update(t.leases).where(t.leases.c.name == lease.name).values(owner=lease.owner, expires_at=expires_at)
            )
        return Lease(lease.name, lease.owner, lease.token, expires_at)

    @crash.writer
    def release_lease(self, lease: Lease) -> bool:
        """Release a lease; its token stays, so that the next one is higher. Return whether it was still held."""
        own = (t.leases.c.name == lease.name) & (t.leases.c.token == lease.token)
        with self._write() as connection:
            return connection.execute(update(t.leases).where(own).values(owner=None, expires_at=None)).rowcount > 0


def take_over_all(connection: Connection, now: datetime, may_end: Callable[[str], bool]) -> None:
    """End the leases of all pipelines, so that who held one writes no more. Raises LeaseHeld for the first one that has not
    expired and whose owner `may_end` does not let go."""
    for row in connection.execute(select(t.leases).order_by(t.leases.c.name)):
        if row.owner is not None and row.expires_at > now and not may_end(row.owner):
            raise LeaseHeld(
                f"{row.owner} holds the lease {row.name}, and the ledger's tables are changed only while nothing writes",
                cure="wait until that run ends, or stop it, and run again",
                until=row.expires_at.isoformat(),
            )
    at_least = int(now.timestamp() * 1000)
    token = case((t.leases.c.token < at_least, at_least), else_=t.leases.c.token + 1)
    connection.execute(update(t.leases).values(owner=None, expires_at=None, token=token))
