"""Play a history (tests/generated/histories.py) over the driver's own connections to a stand-in.

One thread plays it, and a statement that would wait for another session is left out: each history is the same on every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import oracledb
from hypothesis import note

from standin.model import ROOT
from standin.serve import StandIn, standin
from tests.generated.histories import (
    APART,
    INSERT,
    NEIGHBOUR,
    REACH,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    TABLES,
    THERE,
    Apply,
    Capture,
    End,
    History,
    Neighbour,
    RollbackTo,
    Savepoint,
    Source,
    Step,
    Switch,
    Write,
)

# Statements may fail: duplicate keys, tables changed in parallel already, savepoints that are gone, values that grow too long.
FAILURES = {1, 1086, 12838, 12839, 12899}


@dataclass
class Session:
    name: str
    instance: str
    connection: Any
    held: set[tuple[str, int]] = field(default_factory=set)  # keys it may have locked
    written: int = 0

    def execute(self, sql: str, rows: list[list[Any]] | None = None) -> bool:
        """Return False when the statement failed with an expected error."""
        shown = f"{self.name}@{self.instance}: {sql}" + (f"  {rows}" if rows else "")
        with self.connection.cursor() as cursor:
            try:
                cursor.executemany(sql, rows) if rows else cursor.execute(sql)
            except oracledb.DatabaseError as error:
                code = error.args[0].code
                note(f"{shown}  -- ORA-{code:05d}")
                if code not in FAILURES:
                    raise
                return False
        note(shown)
        return True


def binds(session: Session, key: int) -> list[Any]:
    session.written += 1
    return [key, place_of(session), session.written]


def place_of(session: Session) -> str | None:
    """Return NULL, a text with a quote, or so many quotes that LogMiner cuts the statement, maybe within a doubled quote."""
    if session.written % 5 == 0:
        return None
    return "'" * (1930 + session.written) if session.written % 7 == 0 else f"{session.name} it's {session.written}"


def listed(keys: tuple[int, ...]) -> str:
    return f"id IN ({', '.join(map(str, keys))})"


def rotated(keys: tuple[int, ...]) -> str:
    cases = " ".join(f"WHEN {a} THEN {b}" for a, b in zip(keys, keys[1:] + keys[:1], strict=True))
    return f"CASE id {cases} ELSE id END"


class Clients:
    """The client sessions of a history, spread over the instances, and a DBA's, on one stand-in."""

    def __init__(self, oracle: StandIn, source: Source, abreast: int) -> None:
        self.oracle, self.source, self.abreast = oracle, source, abreast
        instances = [thread.instance for thread in oracle.database.state.threads.values()]
        self.sessions = [
            Session(f"s{n}", instance, oracle.connect("SHOP", instance_name=instance))
            for n, instance in ((n, instances[n % len(instances)]) for n in range(abreast * len(SESSIONS)))
        ]
        self.neighbour = oracle.connect("SYS")
        self.twins = 0  # transactions of two containers that had one XID at a time
        for session in self.sessions:
            session.connection.call_timeout = 20_000  # a statement that waits for ever is a fault of this module
            session.execute("ALTER SESSION ENABLE PARALLEL DML")

    def close(self) -> None:
        for connection in (*(session.connection for session in self.sessions), self.neighbour):
            connection.close()

    def key(self, table: str) -> str:
        """Return the table's kind of key, in the word of pipelines.yml."""
        return "primary" if table == TABLES[0] else self.source.second_key

    def play(self, step: Step) -> None:
        match step:
            case Write():
                self.write(self.sessions[step.session], TABLES[step.table], step.kind, step.keys)
            case Savepoint():
                self.sessions[step.session].execute(f"SAVEPOINT {step.name}")
            case RollbackTo():
                self.sessions[step.session].execute(f"ROLLBACK TO SAVEPOINT {step.name}")
            case End():
                self.end(self.sessions[step.session], step.word)
            case Neighbour():
                self.neighbour_transaction(step)
            case Switch(None):
                self.switch()
            case Switch():
                self.switch(self.sessions[step.session or 0].instance)

    def write(self, session: Session, table: str, kind: str, keys: tuple[int, ...]) -> None:
        wanted = {(table, key + reach) for key in keys for reach in (0, REACH.get(kind, 0))}
        if any(wanted & other.held for other in self.sessions if other is not session):
            return
        if self.key(table) == "append" and kind not in ("insert", "insert many", "copy", "parallel copy"):
            kind = "insert many"
        session.held |= wanted
        insert = INSERT.format(t=table)
        if kind == "insert":
            session.execute(insert, [binds(session, keys[0])])
        elif kind == "insert many":  # the rows before one that fails stay
            session.execute(insert, [binds(session, key) for key in keys])
        elif kind == "storm":
            for _ in range(3):
                session.execute(insert, [binds(session, keys[0])])
        elif kind == "churn":
            for one in ("delete", "insert", "touch", "update", "delete", "insert"):
                self.write(session, table, one, keys[:1])
        else:
            session.written += 1
            where, turned = listed(keys), rotated(keys)
            session.execute(STATEMENTS[kind].format(t=table, n=session.written, where=where, rotated=turned))

    def end(self, session: Session, word: str) -> None:
        session.execute(word)
        session.held.clear()

    def are_ahead(self) -> bool:
        """Return whether our container has begun more transactions than the other, which first created users and grants."""
        used = self.oracle.database.transactions.used_slots()
        ours, others = (max(n for (con_id, *_), n in used.items() if (con_id != ROOT) is own) for own in (True, False))
        return ours > others

    def neighbour_transaction(self, step: Neighbour) -> None:
        """Begin a transaction with an XID of ours. Each container allocates XIDs in turn, so some transactions come first."""
        transactions = self.oracle.database.state.transactions.values()
        ours = {tx.xid for tx in transactions if tx.con_id != ROOT}
        with self.neighbour.cursor() as cursor:
            for _ in range(SLOTS * len(self.sessions)):
                cursor.execute("COMMIT")
                cursor.execute(f"INSERT INTO {NEIGHBOUR} VALUES (1)")
                if ours & {tx.xid for tx in transactions if tx.con_id == ROOT}:
                    self.twins += 1
                    note(f"another container has one of {ours}: {step}")
                    break
            if not step.stays:
                cursor.execute(step.word)

    def switch(self, instance: str | None = None) -> None:
        """Switch logs as a DBA does, over another connection."""
        note(f"log switch of {instance or 'all threads'}")
        where = {} if instance is None else {"instance_name": instance}
        what = "ARCHIVE LOG CURRENT" if instance is None else "SWITCH LOGFILE"
        with self.oracle.connect("SYS", **where) as connection, connection.cursor() as cursor:
            cursor.execute(f"ALTER SYSTEM {what}")

    def rows(self, table: str, scn: int | None = None) -> dict[Any, tuple[Any, ...]]:
        """Return the table's committed rows by key or ROWID, AS OF an SCN or now."""
        key = "id" if self.key(table) in ("primary", "columns") else "ROWID"
        with self.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {key}, id, place, quantity FROM {table}" + (f" AS OF SCN {scn}" if scn else ""))
            return {key: (int(number), place, int(quantity)) for key, number, place, quantity in cursor}


@contextmanager
def opened(source: Source, abreast: int = 1) -> Iterator[Clients]:
    """Start a new stand-in of that kind with the two tables."""
    ours = ("few_slots", "second_key", "logs_keys")
    options = {name: getattr(source, name) for name in Source.__dataclass_fields__ if name not in ours}
    options |= {"undo_slots": SLOTS * abreast} if source.few_slots else {}
    with standin(background=False, archive_lag_target=0, **options) as oracle:
        with oracle.connect("SYS") as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {NEIGHBOUR} (id NUMBER(9))")
        clients = Clients(oracle, source, abreast)
        try:
            with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
                for table in TABLES:
                    create(cursor, table, clients.key(table), source.logs_keys)
                    rows = [[n * APART + key, "first", 0] for n in range(abreast) for key in THERE]
                    cursor.executemany(INSERT.format(t=table), rows)
                connection.commit()
                while not clients.are_ahead():
                    cursor.execute(f"UPDATE {TABLES[0]} SET quantity = 0 WHERE id = 1")
                    connection.commit()
            yield clients
        finally:
            clients.close()


def create(cursor: Any, table: str, key: str, logs_keys: bool) -> None:
    declared = {"primary": "PRIMARY KEY", "columns": "NOT NULL"}.get(key, "")
    logged = "PRIMARY KEY" if logs_keys and key == "primary" else "ALL"
    cursor.execute(f"CREATE TABLE {table} (id NUMBER(9) {declared}, place VARCHAR2(4000), quantity NUMBER(9))")
    cursor.execute(f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA ({logged}) COLUMNS")
    if key == "columns":
        cursor.execute(f"CREATE UNIQUE INDEX {table}_ID ON {table} (id)")


class Copy(Protocol):
    """The pipeline that copies the tables while a history is played."""

    def begin(self) -> None: ...
    def capture(self, step: Capture) -> None: ...
    def apply(self, step: Apply) -> None: ...


def play(history: History, clients: Clients, copy: Copy) -> None:
    """Play the whole history, then end every transaction, and land and apply all redo."""
    for step in history.before:
        clients.play(step)
    copy.begin()
    for step in history.steps:
        if isinstance(step, Capture):
            copy.capture(step)
        elif isinstance(step, Apply):
            copy.apply(step)
        else:
            clients.play(step)
    for number, session in enumerate(clients.sessions):
        clients.end(session, "ROLLBACK" if number % len(SESSIONS) == 1 else "COMMIT")
    clients.switch()
    copy.capture(Capture(all=True, max_bytes=2**30, slice_bytes=2**30, killed=None, again=False))
    copy.apply(Apply(killed=None, again=False))
