"""Runs the workload: several sessions at a limited rate, and one transaction that stays open over many others.

With a number of transactions, equal seeds do equal work; with a number of seconds, only its order is equal.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import oracledb

from standin.workload.session import KEYS_PER_SESSION, ShopSession, Tally
from standin.workload.shop import create_shop

_NO_SUCH_VIEW = 942
_LONG_SESSION = 900  # keeps its keys apart from those of the other sessions
_LONG_EVERY = 10  # transactions of the first session between two changes of the long transaction
_LONG_CHANGES = 20  # changes after which the long transaction ends and the next begins


@dataclass(slots=True)
class Workload:
    """The volume, rate and sessions of a run; `instances` spreads the sessions over named instances of a cluster."""

    dsn: str
    user: str
    password: str
    seconds: float | None = None
    transactions: int | None = None
    rate: float = 0.0  # transactions per second over all sessions; 0 means as fast as possible
    sessions: int = 2
    seed: int = 1
    instances: Sequence[str] = ()
    long: bool = True  # whether a transaction stays open over many others

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.transactions is None):
            raise ValueError("give either seconds or transactions")
        if self.sessions < 1 or self.sessions >= _LONG_SESSION:
            raise ValueError(f"sessions must be between 1 and {_LONG_SESSION - 1}")
        if self.rate < 0:
            raise ValueError("the rate cannot be negative")

    def connect(self, number: int) -> Any:
        chosen = {"instance_name": self.instances[number % len(self.instances)]} if self.instances else {}
        return oracledb.connect(user=self.user, password=self.password, dsn=self.dsn, **chosen)


@dataclass(slots=True)
class WorkloadSummary:
    """The result of a run. `first_scn` and `last_scn` are None if the user cannot read V$DATABASE."""

    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    sessions: int = 0
    long_transactions: int = 0
    first_scn: int | None = None
    last_scn: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "transactions": self.tally.commits + self.tally.rollbacks,
            "commits": self.tally.commits,
            "rollbacks": self.tally.rollbacks,
            "partial_rollbacks": self.tally.partial_rollbacks,
            "failed_statements": self.tally.failed_statements,
            "long_transactions": self.long_transactions,
            "rows": self.tally.rows,
            "undone_rows": self.tally.undone,
            "sessions": self.sessions,
            "seconds": round(self.seconds, 3),
            "first_scn": self.first_scn,
            "last_scn": self.last_scn,
        }


class _LongTransaction:
    """Inserts customers at intervals and ends after many of them; every fourth one is rolled back."""

    def __init__(self, workload: Workload) -> None:
        self._connection = workload.connect(0)
        first = _LONG_SESSION * KEYS_PER_SESSION
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT NVL(MAX(id), :1) FROM customers WHERE id >= :2", (first, first))
            self._next = int(cursor.fetchone()[0]) + 1
        self._changes = 0
        self.ended = 0

    def step(self, tally: Tally) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("INSERT INTO customers (id, name) VALUES (:1, :2)", (self._next, f"patient {self._next}"))
        self._next += 1
        self._changes += 1
        if self._changes == _LONG_CHANGES:
            self.end(tally, commit=self.ended % 4 != 3)

    def end(self, tally: Tally, *, commit: bool) -> None:
        if self._changes == 0:
            return
        if commit:
            self._connection.commit()
            tally.commits += 1
            tally.add("CUSTOMERS", "insert", self._changes)
        else:
            self._connection.rollback()
            tally.rollbacks += 1
            tally.undone += self._changes
        self._changes = 0
        self.ended += 1

    def close(self) -> None:
        self._connection.close()


class _Schedule:
    """Schedules one session: when its next transaction begins, and when it stops."""

    def __init__(self, workload: Workload, share: int | None, stop: threading.Event) -> None:
        self._interval = workload.sessions / workload.rate if workload.rate else 0.0
        self._left, self._stop = share, stop
        self._next = time.monotonic()
        self._end = None if workload.seconds is None else self._next + workload.seconds

    def wait_for_next(self) -> bool:
        """Wait until the next transaction is due; return False at the end of the session."""
        if self._left is not None:
            if self._left == 0:
                return False
            self._left -= 1
        if self._interval:
            wait = self._next - time.monotonic()
            self._next += self._interval
            if wait > 0 and self._stop.wait(wait):
                return False
        return not self._stop.is_set() and (self._end is None or time.monotonic() < self._end)


def run_workload(workload: Workload, stop: threading.Event | None = None) -> WorkloadSummary:
    """Create missing tables, run the workload, and return its summary. Raises the first failure of a session."""
    stopped = stop or threading.Event()
    failures: list[BaseException] = []
    tallies = [Tally() for _ in range(workload.sessions)]
    summary = WorkloadSummary(sessions=workload.sessions)
    with workload.connect(0) as connection:
        create_shop(connection)
        summary.first_scn = _current_scn(connection)
        began = time.monotonic()
        threads = [
            threading.Thread(target=_run_session, args=(workload, n, tallies, summary, stopped, failures), name=f"shop-{n}")
            for n in range(workload.sessions)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        summary.seconds = time.monotonic() - began
        summary.last_scn = _current_scn(connection)
    summary.tally = _sum(tallies)
    return summary


def _run_session(
    workload: Workload,
    number: int,
    tallies: list[Tally],
    summary: WorkloadSummary,
    stop: threading.Event,
    failures: list[BaseException],
) -> None:
    try:
        with workload.connect(number) as connection:
            session = ShopSession(connection, number, workload.seed)
            tallies[number] = session.tally
            long = _LongTransaction(workload) if number == 0 and workload.long else None
            schedule = _Schedule(workload, _share(workload, number), stop)
            done = 0
            while schedule.wait_for_next():
                session.transaction()
                done += 1
                if long is not None and done % _LONG_EVERY == 0:
                    long.step(session.tally)
            if long is not None:
                long.end(session.tally, commit=True)
                summary.long_transactions = long.ended
                long.close()
    except (oracledb.Error, AssertionError) as failure:
        failures.append(failure)
        stop.set()


def _share(workload: Workload, number: int) -> int | None:
    """Return the number of transactions of one session; None if the run ends by time."""
    if workload.transactions is None:
        return None
    whole, rest = divmod(workload.transactions, workload.sessions)
    return whole + (number < rest)


def _current_scn(connection: Any) -> int | None:
    with connection.cursor() as cursor:
        try:
            cursor.execute("SELECT current_scn FROM v$database")
        except oracledb.DatabaseError as error:
            if error.args[0].code == _NO_SUCH_VIEW:
                return None
            raise
        return int(cursor.fetchone()[0])


def _sum(tallies: Sequence[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.commits += tally.commits
        total.rollbacks += tally.rollbacks
        total.partial_rollbacks += tally.partial_rollbacks
        total.failed_statements += tally.failed_statements
        total.undone += tally.undone
        for table, counts in tally.rows.items():
            for operation, count in counts.items():
                total.add(table, operation, count)
    return total
