"""Generated histories of client work on an Oracle: what several sessions do to two tables.

Hypothesis generates them. Each is played over the driver's own connections to a stand-in. A history also says when redo is
captured and applied, and where that is killed and repeated.

A history is data, so hypothesis can shrink it. One thread plays it, and a statement that would wait for another session is
left out: each history is the same on every run. Several histories may be played abreast in the same two tables. Each has its
own sessions and keys, and all are captured and applied together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import oracledb
from hypothesis import HealthCheck, Phase, example, given, note, seed, settings
from hypothesis import strategies as st

from standin.model import ROOT
from standin.serve import StandIn, standin
from tests.hunts import EXAMPLES

TABLES = ("PARTS", "SPARES")
NEIGHBOUR = "ELSEWHERE"  # a table of the root
KEYS = range(1, 11)
THERE = range(1, 7)  # rows both tables begin with
SESSIONS = range(4)
DEGREE = 2
APART = 100  # between the keys of histories that are played abreast
SLOTS = len(SESSIONS) * (1 + DEGREE)  # of undo, that the transactions of one history may hold at a time
FULL = 15  # writes of a history that is worth playing

# Statements may fail: duplicate keys, tables changed in parallel already, savepoints that are gone, values that grow too long.
FAILURES = {1, 1086, 12838, 12839, 12899}


@dataclass(frozen=True)
class Source:
    """The kind of Oracle and the size of its logs. `second_key` is the key of the second table, as in pipelines.yml: primary
    key, ROWID, a unique index, or none because it only gets INSERTs. `logs_keys`: supplemental logging of the primary key
    only. `few_slots`: undo slots are reused as soon as possible."""

    threads: int
    log_bytes: int
    private_strands: bool
    reuses_rowids: bool
    undo_first: bool
    forgets_sequences: bool
    commits_of_servers: bool
    shares_commit_scns: bool
    few_slots: bool
    second_key: str
    logs_keys: bool


@dataclass(frozen=True)
class Write:
    session: int
    table: int
    kind: str
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Savepoint:
    session: int
    name: str


@dataclass(frozen=True)
class RollbackTo:
    session: int
    name: str


@dataclass(frozen=True)
class End:
    """COMMIT or ROLLBACK."""

    session: int
    word: str


@dataclass(frozen=True)
class Neighbour:
    """In another container a transaction begins with the XID of one that is open in ours. It ends with `word`, or stays open
    until the next one."""

    word: str
    stays: bool


@dataclass(frozen=True)
class Switch:
    """A log switch: of one session's redo thread, or of all of them (None)."""

    session: int | None


@dataclass(frozen=True)
class Capture:
    """Land one window at most, or all sealed ones. `killed`: where the first attempt ends. `again`: mine them a second time."""

    all: bool
    max_bytes: int
    slice_bytes: int
    killed: str | None
    again: bool


@dataclass(frozen=True)
class Apply:
    """Apply one batch over all landed windows. `killed` as above; `again`: apply the same batch a second time."""

    killed: str | None
    again: bool


Step = Write | Savepoint | RollbackTo | End | Neighbour | Switch | Capture | Apply


class Copy(Protocol):
    """The pipeline that copies the tables while a history is played."""

    def begin(self) -> None: ...
    def capture(self, step: Capture) -> None: ...
    def apply(self, step: Apply) -> None: ...


# --- Drawing --------------------------------------------------------------------------------------------------------


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


PARALLEL = f"/*+ PARALLEL({DEGREE}) */"
INSERT = "INSERT INTO {t} (id, place, quantity) VALUES (:1, :2, :3)"
COPY = "INSERT {hint} INTO {t} (id, place, quantity) SELECT id + 3, place, quantity FROM {t} WHERE {where}"
# Several rows of one statement, of which a later one may have a key that is taken: the statement is undone as a whole.
STATEMENTS: dict[str, str] = {
    "quote": "UPDATE {t} SET place = RPAD('''', 1900 + {n}, '''') WHERE {where}",
    "update": "UPDATE {t} SET quantity = {n}, place = place || '.' WHERE {where}",
    "touch": "UPDATE {t} SET quantity = {n} WHERE {where}",
    "rotate keys": "UPDATE {t} SET id = {rotated} WHERE {where}",
    "shift keys": "UPDATE {t} SET id = id + 1 WHERE {where}",
    "delete": "DELETE FROM {t} WHERE {where}",
    "copy": COPY.replace(" {hint}", ""),
    "parallel copy": COPY.replace("{hint}", PARALLEL),
    "parallel update": f"UPDATE {PARALLEL} {{t}} SET quantity = quantity + 1 WHERE {{where}}",
    "parallel shift": f"UPDATE {PARALLEL} {{t}} SET id = id + 4 WHERE {{where}}",
    "parallel delete": f"DELETE {PARALLEL} FROM {{t}} WHERE {{where}}",
}
REACH = {"copy": 3, "parallel copy": 3, "shift keys": 1, "parallel shift": 4}  # how much higher the new keys are
WRITES = ("insert", "insert", "insert many", "churn", "storm", *STATEMENTS)

sessions = st.sampled_from(SESSIONS)
names = st.sampled_from("ab")
words = st.sampled_from(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"])
ends = st.builds(End, sessions, words)
switches = st.builds(Switch, st.sampled_from([None, *SESSIONS]))


def writes(session: st.SearchStrategy[int]) -> st.SearchStrategy[Step]:
    keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True).map(tuple)
    return st.builds(Write, session, st.integers(0, 1), st.sampled_from(WRITES), keys)


@st.composite
def partial_rollback(draw: st.DrawFn, between: st.SearchStrategy[list[Step]]) -> list[Step]:
    """Draw a session that changes rows, changes them again after a savepoint, and rolls back to that savepoint, to an older
    or to a newer one. Then it may commit. The steps of `between` come before the rollback."""
    session, table, kinds = draw(sessions), draw(st.integers(0, 1)), st.sampled_from(WRITES)
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True).map(tuple))
    done = st.lists(kinds.map(lambda kind: Write(session, table, kind, keys)), min_size=1, max_size=3)
    name = draw(names)
    back = [Savepoint(session, name), *draw(done), *draw(between)]
    back.append(RollbackTo(session, draw(st.sampled_from([name, name, "a", "b"]))))
    outer = draw(st.sampled_from([[], [Savepoint(session, "outer"), *draw(done)]]))
    out = [*draw(done), RollbackTo(session, "outer")] if outer and draw(st.booleans()) else []
    end = draw(st.sampled_from([[End(session, "COMMIT")], []]))
    return [*draw(done), *outer, *back, *draw(st.one_of(st.just([]), done)), *out, *end]


def one(step: st.SearchStrategy[Step]) -> st.SearchStrategy[list[Step]]:
    return step.map(lambda drawn: [drawn])


def ends_together() -> st.SearchStrategy[list[Step]]:
    """Draw consecutive COMMITs of sessions on several instances: they may get one SCN."""
    some = st.lists(sessions, min_size=2, max_size=4, unique=True)
    return some.map(lambda chosen: [End(session, "COMMIT") for session in chosen])


@st.composite
def savepoint_storm(draw: st.DrawFn) -> list[Step]:
    """Draw nested savepoints and rollbacks through them, with changes of the same rows after each."""
    session, table = draw(sessions), draw(st.integers(0, 1))
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True).map(tuple))
    name = st.sampled_from("abc")
    step: st.SearchStrategy[Step] = st.one_of(
        st.sampled_from(WRITES).map(lambda kind: Write(session, table, kind, keys)),
        st.sampled_from(WRITES).map(lambda kind: Write(session, table, kind, keys)),
        name.map(lambda name: Savepoint(session, name)),
        name.map(lambda name: RollbackTo(session, name)),
    )
    return [Savepoint(session, name) for name in "abc"] + draw(st.lists(step, min_size=5, max_size=12))


neighbours = st.builds(Neighbour, words, st.booleans())


def work(least: int, most: int, between: st.SearchStrategy[list[Step]]) -> st.SearchStrategy[list[Step]]:
    kinds = (
        st.lists(writes(sessions), min_size=1, max_size=5),
        st.lists(writes(sessions), min_size=1, max_size=5),
        partial_rollback(between),
        partial_rollback(between),
        one(st.builds(Savepoint, sessions, names)),
        one(st.builds(RollbackTo, sessions, names)),
        one(ends),
        one(ends),
        ends_together(),
        savepoint_storm(),
        one(neighbours),
    )
    return st.lists(st.one_of(*kinds), min_size=least, max_size=most).map(flat)


def captures(killed: tuple[str, ...]) -> st.SearchStrategy[Step]:
    sizes = st.sampled_from([4096, 16 * 1024, 2**30])
    cut = st.sampled_from([None, None, *killed])
    return st.builds(Capture, st.booleans(), sizes, sizes, cut, st.sampled_from([False, False, True]))


def applies(killed: tuple[str, ...]) -> st.SearchStrategy[Step]:
    return st.builds(Apply, st.sampled_from([None, None, *killed]), st.booleans())


@dataclass(frozen=True)
class History:
    """`before` are the steps before the snapshot; transactions may be open then. `abreast`: how many histories it combines."""

    source: Source
    before: list[Step]
    steps: list[Step]
    abreast: int = 1

    @property
    def is_full(self) -> bool:
        return sum(isinstance(step, Write) for step in self.steps) >= FULL

    def __repr__(self) -> str:
        lines = [f"    {step}," for step in self.steps]
        return "\n".join([f"History({self.source},", f"  {self.before},", "  [", *lines, f"  ], {self.abreast})"])


def histories(
    capture_killed: tuple[str, ...] = (),
    apply_killed: tuple[str, ...] = (),
    rounds: int = 4,
    least: int = 2,
    most: int = 20,
    partial: bool = False,
) -> st.SearchStrategy[History]:
    sources = st.builds(
        Source,
        threads=st.integers(1, 3),
        log_bytes=st.sampled_from([4096, 16 * 1024, 64 * 1024]),
        private_strands=st.booleans(),
        reuses_rowids=st.sampled_from([True, True, False]),
        undo_first=st.booleans(),
        forgets_sequences=st.booleans(),
        commits_of_servers=st.booleans(),
        shares_commit_scns=st.booleans(),
        few_slots=st.booleans(),
        second_key=st.sampled_from(["primary", "rowid", "columns", "append"]),
        logs_keys=st.booleans() if partial else st.just(False),
    )
    capture, apply = captures(capture_killed), applies(apply_killed)
    copying = st.one_of(
        st.just([]),
        one(switches),
        st.tuples(switches, capture).map(list),
        st.tuples(switches, capture, apply).map(list),
        st.tuples(switches, capture, apply).map(list),
    )
    nothing: st.SearchStrategy[list[Step]] = st.just([])
    cut = st.one_of(nothing, nothing, st.tuples(st.just(Switch(None)), capture).map(list))
    before = st.tuples(work(0, most // 3, nothing), one(switches), work(0, most // 3, nothing)).map(flat)
    steps = st.tuples(*(part for _ in range(rounds) for part in (work(least, most, cut), copying))).map(flat)
    return st.builds(History, sources, before, steps).filter(lambda history: history.is_full)


def flat(parts: Iterable[list[Step]]) -> list[Step]:
    return [step for part in parts for step in part]


def abreast(histories: Sequence[History], order: int) -> History:
    """Combine histories into one, interleaved at random; `order` is the seed. The Oracle, the captures and the batches are
    those of the history with the most batches."""
    chance = random.Random(order)
    histories = sorted(histories, key=lambda one: -sum(isinstance(step, Apply) for step in one.steps))
    before = mixed([moved(history.before, n) for n, history in enumerate(histories)], chance)
    steps = mixed([moved(history.steps, n) for n, history in enumerate(histories)], chance)
    return History(histories[0].source, before, steps, len(histories))


def moved(steps: Sequence[Step], number: int) -> list[Step]:
    own = [step for step in steps if number == 0 or not isinstance(step, Capture | Apply)]
    return [moved_step(step, number) for step in own]


def moved_step(step: Step, number: int) -> Step:
    if isinstance(step, Capture | Apply | Neighbour) or step.session is None:
        return step
    session = step.session + number * len(SESSIONS)
    if isinstance(step, Write):
        return replace(step, session=session, keys=tuple(key + number * APART for key in step.keys))
    return replace(step, session=session)


def mixed(histories: Sequence[Sequence[Step]], chance: random.Random) -> list[Step]:
    turns = [n for n, steps in enumerate(histories) for _ in steps]
    chance.shuffle(turns)
    queues = [iter(steps) for steps in histories]
    return [next(queues[n]) for n in turns]


# --- Playing --------------------------------------------------------------------------------------------------------


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


# --- How many -------------------------------------------------------------------------------------------------------


def examples(usual: int) -> Callable[[Any], Any]:
    """Return settings for the same `usual` examples on each run, or for REDOLAKE_EXAMPLES new ones."""
    return hunt(EXAMPLES) if EXAMPLES else settings(hunt(usual), derandomize=True)


def hunt(number: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, deadline=None, suppress_health_check=slow, print_blob=True)


def drawn(histories: st.SearchStrategy[History], number: int, at: int) -> list[History]:
    """Draw different histories, the same for the same seed `at`. Nothing shrinks them: that would take too long."""
    found: dict[str, History] = {}

    @seed(at)
    @settings(hunt(2 * number), database=None, phases=[Phase.generate])
    @given(histories)
    def one(history: History) -> None:
        found[repr(history)] = history

    one()
    different = list(found.values())  # hypothesis makes some from those before: take them from afar
    return different[:: max(1, len(different) // number)][:number]


def run_check(history: History, check: Callable[[History], None]) -> None:
    """Run the check. A failure shows the history and every statement played."""
    once = settings(hunt(1), phases=[Phase.explicit])
    once(example(history)(given(st.just(history))(check)))()
