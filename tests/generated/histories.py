"""Generated histories of client work on an Oracle: what several sessions do to two tables.

Hypothesis generates them; tests/generated/history_clients.py plays them. A history also says when redo is captured and
applied, and where that is killed and repeated. It is data, so hypothesis can shrink it.

Several histories may be played abreast in the same two tables. Each has its own sessions and keys, and all are captured and
applied together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st

from tests.generated.hunts import EXAMPLES

TABLES = ("PARTS", "SPARES")
NEIGHBOUR = "ELSEWHERE"  # a table of the root
KEYS = range(1, 11)
THERE = range(1, 7)  # rows both tables begin with
SESSIONS = range(4)
DEGREE = 2
APART = 100  # between the keys of histories that are played abreast
SLOTS = len(SESSIONS) * (1 + DEGREE)  # of undo, that the transactions of one history may hold at a time
FULL = 15  # writes of a history that is worth playing


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


# --- Drawing --------------------------------------------------------------------------------------------------------


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


# --- How many -------------------------------------------------------------------------------------------------------


def examples(usual: int) -> Callable[[Any], Any]:
    """Return settings for the same `usual` examples on each run, or for REDOLAKE_EXAMPLES new ones."""
    return hunt(EXAMPLES) if EXAMPLES else settings(hunt(usual), derandomize=True)


def hunt(number: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, suppress_health_check=slow, print_blob=True)


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
