"""A table that is hashed at several SCNs is called equal if, and only if, each range of its key is equal at its own SCN."""

from __future__ import annotations

import hashlib
import math
import random
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from redolake.config.proof_settings import VerifySettings
from redolake.errors import SourceRefused
from redolake.records.proofs import HashedChunk, HashingBegun
from redolake.source.buckets import BucketSum
from redolake.steps.proof.hash_chunks import (
    HashedPart,
    Pace,
    Position,
    Sums,
    at_reachable,
    bytes_at_once,
    differing_buckets,
    hash_each,
    nowhere,
    parts_of,
)
from redolake.values.chunks import Chunk

KEYS, BUCKETS = 60, 7
Rows = dict[int, int]
TOO_OLD = SourceRefused("ORA-01555: snapshot too old", cure="verify again", ora_code=1555)


def sums_of(rows: Iterable[tuple[int, int]]) -> Sums:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for key, value in rows:
        digest = hashlib.sha256(f"{key} {value}".encode()).digest()
        parts = (1, int.from_bytes(digest[:4]), int.from_bytes(digest[4:8]))
        found[str(key % BUCKETS)] = [a + b for a, b in zip(found[str(key % BUCKETS)], parts, strict=True)]
    return {name: BucketSum(*sums) for name, sums in found.items()}


def is_in(key: int, chunk: Chunk) -> bool:
    return (chunk.low is None or key >= int(chunk.low)) and (chunk.high is None or key < int(chunk.high))


@dataclass
class Life:
    """A table that changes while it is hashed: with each SCN a row comes, changes, goes, or gets another key. Undo reaches some
    SCNs back, and the lake is some SCNs behind, wrong in the rows of `faults` whatever happens to them."""

    chance: random.Random
    faults: Rows = field(default_factory=dict)
    states: list[Rows] = field(default_factory=list)
    undo: int = 0
    lag: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.states = [{key: 0 for key in range(0, KEYS, 2)}]
        self.undo, self.lag = self.chance.randint(1, 30), self.chance.randint(0, 10)
        self.pass_on(20)

    def pass_on(self, changes: int) -> None:
        for _ in range(changes):
            rows = dict(self.states[-1])
            key, other = self.chance.sample(range(KEYS), 2)
            if key in rows and self.chance.random() < 0.3:
                rows[other] = rows.pop(key)
            elif key in rows and self.chance.random() < 0.3:
                del rows[key]
            else:
                rows[key] = len(self.states)
            self.states.append(rows)

    def lake(self, scn: int) -> Rows:
        return {**self.states[scn], **self.faults}

    @property
    def position(self) -> int:
        return max(0, len(self.states) - 1 - self.lag)

    def newer(self, at: Position) -> Position | None:
        return Position(self.position, self.position) if self.position > at.scn else None

    def read(self, chunk: Chunk, at: Position) -> Sums:
        with self.lock:
            self.pass_on(self.chance.randint(0, 12))
            if at.scn < len(self.states) - 1 - self.undo:
                raise TOO_OLD
            return sums_of((key, value) for key, value in self.states[at.scn].items() if is_in(key, chunk))


def chunks(chance: random.Random) -> tuple[Chunk, ...]:
    limits = [None, *map(str, sorted(chance.sample(range(1, KEYS), 5))), None]
    return tuple(Chunk(n, low, high) for n, (low, high) in enumerate(pairwise(limits), 1))


def hashed(life: Life, sessions: int = 1) -> tuple[list[HashedPart], dict[int, int]]:
    """Return the parts, and the SCN of each chunk by number."""
    cut, start = chunks(life.chance), Position(life.position, life.position)
    plan = HashingBegun("SHOP.T", start.scn, start.delta_version, 2, "h", "key", cut, "ID")
    known = {}
    for chunk, sums, at in hash_each(cut, start, life.read, life.newer, sessions):
        shown = tuple((name, one.rows, one.first, one.second) for name, one in sums.items())
        known[chunk.number] = HashedChunk("SHOP.T", chunk.number, start.scn, shown, at.scn, at.delta_version)
    return parts_of(plan, known, start), {number: one.as_of for number, one in known.items()}


def found_in(life: Life, parts: list[HashedPart]) -> frozenset[str]:
    def lake(part: HashedPart) -> Sums:
        within = [
            row for row in life.lake(part.at.scn).items() if not part.chunks or any(is_in(row[0], c) for c in part.chunks)
        ]
        return sums_of(within)

    return frozenset().union(*(differing_buckets(part.sums, lake(part)) for part in parts))


@pytest.mark.parametrize("sessions", [1, 3])
def test_ranges_of_the_key_at_scns_of_their_own_find_exactly_the_rows_that_differ_at_them(sessions: int) -> None:
    several = 0
    for seed in range(400):
        chance = random.Random(seed)
        faults = {chance.randrange(KEYS): -1 for _ in range(chance.choice((0, 0, 1, 3)))}
        life = Life(chance, faults)
        try:
            parts, as_of = hashed(life, sessions)
        except SourceRefused:  # undo is shorter than the lake is behind
            continue
        several += len(parts) > 1
        scn_of = {
            key: scn for part in parts for c in part.chunks for key in range(KEYS) if is_in(key, c) for scn in [part.at.scn]
        }
        scns = {key: scn_of.get(key, parts[0].at.scn) for key in range(KEYS)}
        wrong = {key for key, scn in scns.items() if life.states[scn].get(key) != life.lake(scn).get(key)}

        assert len(as_of) == 6
        assert found_in(life, parts) == {str(key % BUCKETS) for key in wrong}, seed
    assert several > 100


def test_what_no_undo_reaches_is_refused_as_it_was() -> None:
    def read(at: Position) -> Sums:
        raise TOO_OLD

    with pytest.raises(SourceRefused):
        at_reachable(Position(5, 1), read, nowhere)
    with pytest.raises(SourceRefused):  # a table that moves on for ever is not read for ever
        at_reachable(Position(5, 1), read, lambda at: Position(at.scn + 1, 1))


def test_sessions_hash_side_by_side() -> None:
    both = threading.Barrier(2, timeout=60)

    def read(chunk: Chunk, at: Position) -> Sums:
        both.wait()
        return {}

    cut = [Chunk(number) for number in range(1, 5)]
    found = [chunk.number for chunk, _, _ in hash_each(cut, Position(5, 1), read, nowhere, 2)]

    assert sorted(found) == [1, 2, 3, 4]


def test_after_an_error_what_others_have_hashed_is_kept_and_nothing_more_is_begun() -> None:
    begun, other_has_failed = list[int](), threading.Event()

    def read(chunk: Chunk, at: Position) -> Sums:
        begun.append(chunk.number)
        if chunk.number == 1:
            other_has_failed.set()
            raise SourceRefused("ORA-12805: parallel query server died unexpectedly", cure="verify again", ora_code=12805)
        assert other_has_failed.wait(60)
        return {}

    kept, found = list[int](), hash_each([Chunk(n) for n in range(1, 50)], Position(5, 1), read, nowhere, 2)
    with pytest.raises(SourceRefused, match="ORA-12805"):
        kept.extend(chunk.number for chunk, _, _ in found)

    assert 2 in begun
    assert 2 in kept
    assert sorted({*kept, 1}) == sorted(begun)
    assert len(begun) < 49


def test_a_rate_is_kept_by_pauses_that_make_up_for_what_was_too_fast() -> None:
    pace = Pace(1000, rows=5000)

    assert (pace.ahead(2.0), pace.ahead(5.0), pace.ahead(60.0)) == (3.0, 0.0, 0.0)
    assert Pace(None, rows=5000).ahead(0.0) == 0.0


@pytest.mark.parametrize(
    ("size", "settings", "chunks"),
    [
        (100 << 20, VerifySettings(), 1),
        (10 << 30, VerifySettings(), 10),
        (1000 << 30, VerifySettings(), 64),
        (100 << 20, VerifySettings(sessions=8), 2),
        (10 << 30, VerifySettings(sessions=8), 32),
        (10 << 30, VerifySettings(rows_per_second=1000), 160),
    ],
)
def test_a_table_is_cut_for_its_sessions_and_its_rate(size: int, settings: VerifySettings, chunks: int) -> None:
    assert math.ceil(size / bytes_at_once(size, settings)) == chunks
