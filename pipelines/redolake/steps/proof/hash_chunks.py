"""Hash a large table in Oracle chunk by chunk, AS OF one SCN: a comparison that was killed asks only for the chunks that are
missing, at the SCN with which it began.

The sums of the chunks of a bucket add up to those of the bucket, so that chunks need not be cut by buckets.

Where undo does not reach one SCN for so long, the table is cut by ranges of its key. Each range is hashed AS OF a position of
its own, the one that the Delta table has reached by then, and is compared with the Delta version of that position: apply has
merged the landed redo between two positions. A row is in the range of its key on both sides and at every SCN, so a range is
equal or not by itself.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TypeVar

from redolake.config.proof_settings import VerifySettings
from redolake.context import Run
from redolake.errors import RedolakeError
from redolake.host import crash
from redolake.host.progress import Progress
from redolake.ledger import TableEntry
from redolake.records.proofs import HashedChunk, HashingBegun
from redolake.source import Source, cut_by_key_ranges, cut_table, part_for, read_sizes
from redolake.source.buckets import BucketSum, Hashing, read_digests
from redolake.values.chunks import Chunk, KeyType
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import Scn

T = TypeVar("T")
HASHED_AT_ONCE = 1 << 30  # bytes of a table that are hashed by one statement
HASHED_IN_A_HURRY = 1 << 26  # where undo did not last, or a rate is to be kept
CHUNKS_OF_A_SESSION = 4  # at least, so that all sessions end at about the same time
MOST_CHUNKS, MOST_SHORT_CHUNKS = 64, 256
MORE_SCNS = 3  # tries at newer SCNs


@dataclass(frozen=True, slots=True)
class Position:
    """An SCN that the Delta table was complete to, and the version with which it was."""

    scn: int
    delta_version: int


Newer = Callable[[Position], Position | None]  # returns a position after this one, if the table has reached one
Sums = Mapping[str, BucketSum]


@dataclass(frozen=True, slots=True)
class HashedPart:
    """The sums of some chunks at one position; `column` is that of the key by whose ranges they are cut. Without one they are
    the whole table."""

    at: Position
    sums: Sums
    chunks: tuple[Chunk, ...] = ()
    column: str = ""
    type: KeyType = "number"


@dataclass(frozen=True, slots=True)
class Hashed:
    """How a table is hashed in Oracle. `ordered` are columns of the key whose values both sides order alike; with `is_later`,
    undo has not lasted for the table's first position. Further sessions are opened with `params`."""

    hashing: Hashing
    ordered: Collection[str]
    newer: Newer
    is_later: bool = False


def position_of(entry: TableEntry) -> Position:
    assert entry.complete_to_scn is not None
    return Position(int(entry.complete_to_scn), entry.delta_version or 0)


def with_unfinished(context: Run, entry: TableEntry) -> TableEntry:
    """Return the entry at the position of a comparison that was begun and did not end, if the table was not loaded since."""
    begun = context.landing.proofs.hashing(entry.table)
    if begun is None:
        return entry
    if begun.resetlogs_id != entry.resetlogs_id or begun.scn < int(entry.snapshot_scn or 0):
        context.landing.proofs.end_hashing(entry.table)
        return entry
    return replace(entry, complete_to_scn=Scn(begun.scn), delta_version=begun.delta_version)


@crash.writer
def hash_by_chunks(context: Run, oracle: Source, table: DictionaryTable, how: Hashed, entry: TableEntry) -> list[HashedPart]:
    """Return the sums of all buckets AS OF the entry's SCN, or of ranges of the key at positions of their own; those of a small
    table are not recorded."""
    container, start = context.pipeline.source.container, position_of(entry)
    begun = context.landing.proofs.hashing(entry.table)
    if begun is None or (begun.scn, begun.hashing) != (start.scn, digest_of(how.hashing)):
        begun = begin(context, oracle, table, how, entry)
    if begun is None:
        return [HashedPart(start, read_digests(oracle, table, how.hashing, Scn(start.scn), container))]
    plan = begun

    def read(session: Source, chunk: Chunk, at: Position) -> Sums:
        part = part_for(chunk, plan.by, plan.column, plan.type)
        return read_digests(session, table, how.hashing, Scn(at.scn), container, part=part)

    known = context.landing.proofs.hashed_chunks(entry.table, plan.scn)
    may_move = plan.by == "key" and plan.column in how.ordered
    at = max((position_in(one, start) for one in known.values()), key=lambda one: one.scn, default=start)
    missing = [chunk for chunk in plan.chunks if chunk.number not in known]

    def show() -> None:
        context.report(Progress("", f"chunks of {entry.table} hashed", len(known), len(plan.chunks)))

    for _ in tuple(known):
        show()
    settings = context.pipeline.verify
    pace = Pace(settings.rows_per_second)
    newer = how.newer if may_move else nowhere
    with (
        more_sessions(context, oracle, min(settings.sessions, len(missing))) as sessions,
        closing(hash_each(missing, at, lend(sessions, read), newer, len(sessions))) as hashed,
    ):
        for chunk, sums, found in hashed:
            shown = tuple((name, one.rows, one.first, one.second) for name, one in sums.items())
            known[chunk.number] = HashedChunk(plan.table, chunk.number, plan.scn, shown, found.scn, found.delta_version)
            context.landing.proofs.write_hashed(entry.table, known[chunk.number])
            show()
            pace.keep(sum(one.rows for one in sums.values()))
    return parts_of(plan, known, start)


@dataclass(slots=True)
class Pace:
    """Waits where rows were hashed faster than `most` a second since it was made."""

    most: int | None
    rows: int = 0
    began: float = field(default_factory=time.monotonic)

    def ahead(self, seconds: float) -> float:
        """Return how many seconds too early the rows were hashed, after so many seconds."""
        return 0.0 if self.most is None else max(0.0, self.rows / self.most - seconds)

    def keep(self, rows: int) -> None:
        self.rows += rows
        if (ahead := self.ahead(time.monotonic() - self.began)) > 0:
            time.sleep(ahead)


@contextmanager
def more_sessions(context: Run, oracle: Source, number: int) -> Iterator[tuple[Source, ...]]:
    """Open sessions beside the first, which is among them."""
    with ExitStack() as opened:
        container = context.pipeline.source.container
        more = (opened.enter_context(context.connect(container)) for _ in range(1, number))
        yield (oracle, *more)


def lend(sessions: Sequence[Source], read: Callable[[Source, Chunk, Position], Sums]) -> Callable[[Chunk, Position], Sums]:
    """Return `read` with a session that no other thread uses meanwhile."""
    free: SimpleQueue[Source] = SimpleQueue()
    for one in sessions:
        free.put(one)

    def with_session(chunk: Chunk, at: Position) -> Sums:
        session = free.get()
        try:
            return read(session, chunk, at)
        finally:
            free.put(session)

    return with_session


def hash_each(
    chunks: Sequence[Chunk], at: Position, read: Callable[[Chunk, Position], Sums], newer: Newer, sessions: int = 1
) -> Generator[tuple[Chunk, Sums, Position], None, None]:
    """Yield the chunks with their sums, each at the newest position that was needed up to it."""
    if sessions > 1:
        yield from hash_side_by_side(chunks, at, read, newer, sessions)
        return
    for chunk in chunks:
        sums, at = at_reachable(at, lambda there, chunk=chunk: read(chunk, there), newer)  # type: ignore[misc]
        yield chunk, sums, at


def hash_side_by_side(
    chunks: Sequence[Chunk], at: Position, read: Callable[[Chunk, Position], Sums], newer: Newer, sessions: int
) -> Generator[tuple[Chunk, Sums, Position], None, None]:
    """Yield the chunks as they are hashed. After an error the others end their chunk, which is yielded; then it is raised.

    The threads only read. Which position is newer is asked here, as it needs the ledger, which is this thread's."""
    waiting, failed = deque((chunk, 0) for chunk in chunks), list[BaseException]()
    running: dict[Future[Sums], tuple[Chunk, int, Position]] = {}
    with ThreadPoolExecutor(sessions, "hash") as threads:
        while running or (waiting and not failed):
            while waiting and not failed and len(running) < sessions:
                chunk, moves = waiting.popleft()
                running[threads.submit(read, chunk, at)] = chunk, moves, at
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                chunk, moves, read_at = running.pop(future)
                error = future.exception()
                if error is None:
                    yield chunk, future.result(), read_at
                elif (later := after(error, read_at, at, newer, moves)) is not None:
                    at = later
                    waiting.appendleft((chunk, moves + 1))
                else:
                    failed.append(error)
    if failed:
        raise failed[0]


def after(error: BaseException, read_at: Position, newest: Position, newer: Newer, moves: int) -> Position | None:
    """Return where to read a chunk again that undo did not reach: at the newest position, or one after it; None where its
    error is another one, or it has moved too often."""
    if not isinstance(error, RedolakeError) or error.ora_code not in OUT_OF_REACH or moves == MORE_SCNS:
        return None
    return newest if newest.scn > read_at.scn else newer(newest)


def at_reachable(at: Position, read: Callable[[Position], T], newer: Newer) -> tuple[T, Position]:
    """Read at a position, or where undo does not reach it at a newer one, and return that one too."""
    for attempt in range(MORE_SCNS + 1):
        try:
            return read(at), at
        except RedolakeError as error:
            if error.ora_code not in OUT_OF_REACH or attempt == MORE_SCNS:
                raise
            later = newer(at)
            if later is None:
                raise
            at = later
    raise AssertionError("the last attempt returns or raises")


def nowhere(at: Position) -> Position | None:
    """Return no newer position: of chunks that are ranges of ROWIDs, the lake does not know which rows they had."""
    return None


def position_in(chunk: HashedChunk, start: Position) -> Position:
    return Position(chunk.as_of, chunk.delta_version) if chunk.as_of else start


def parts_of(plan: HashingBegun, known: Mapping[int, HashedChunk], start: Position) -> list[HashedPart]:
    """Return the chunks by their positions, the oldest first; those of one position are the whole table."""
    found: dict[Position, list[HashedChunk]] = defaultdict(list)
    for one in known.values():
        found[position_in(one, start)].append(one)
    cut = {chunk.number: chunk for chunk in plan.chunks}
    if len(found) == 1:
        return [HashedPart(at, add_up(chunks)) for at, chunks in found.items()]
    return [
        HashedPart(at, add_up(chunks), tuple(cut[n] for n in sorted(one.number for one in chunks)), plan.column, plan.type)
        for at, chunks in sorted(found.items(), key=lambda item: item[0].scn)
    ]


def begin(context: Run, oracle: Source, table: DictionaryTable, how: Hashed, entry: TableEntry) -> HashingBegun | None:
    """Record how a large table is cut; return None for one that is hashed at once."""
    container, at = context.pipeline.source.container, position_of(entry)
    context.landing.proofs.end_hashing(entry.table)
    size = read_sizes(oracle, [table.in_oracle], container)[table.in_oracle]
    cut = None
    if how.is_later:
        short = max(HASHED_IN_A_HURRY, (size.bytes or 0) // MOST_SHORT_CHUNKS)
        cut = cut_by_key_ranges(oracle, table, size, short, container, how.ordered)
    if cut is None:
        cut = cut_table(oracle, table, size, bytes_at_once(size.bytes or 0, context.pipeline.verify), container)
    if cut is None:
        return None
    begun = HashingBegun(
        str(entry.table), at.scn, at.delta_version, entry.resetlogs_id, digest_of(how.hashing), cut.by,
        cut.chunks, cut.column, cut.type,
    )  # fmt: skip
    context.landing.proofs.begin_hashing(entry.table, begun)
    return begun


def bytes_at_once(size: int, settings: VerifySettings) -> int:
    """Return how many bytes of a table one statement hashes: fewer where several sessions share them, or a rate is kept."""
    most, chunks = HASHED_AT_ONCE, MOST_CHUNKS
    if settings.rows_per_second is not None:
        most, chunks = HASHED_IN_A_HURRY, MOST_SHORT_CHUNKS
    elif settings.sessions > 1:
        chunks = max(MOST_CHUNKS, CHUNKS_OF_A_SESSION * settings.sessions)
        most = min(HASHED_AT_ONCE, max(HASHED_IN_A_HURRY, size // (CHUNKS_OF_A_SESSION * settings.sessions)))
    return max(most, size // chunks)


def digest_of(hashing: Hashing) -> str:
    """Return a hash of what is hashed: with other columns or buckets, the chunks are hashed again."""
    return hashlib.sha256(repr(hashing).encode()).hexdigest()[:16]


def add_up(chunks: Iterable[HashedChunk]) -> dict[str, BucketSum]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for chunk in chunks:
        for name, *parts in chunk.buckets:
            sums[name] = [a + b for a, b in zip(sums[name], parts, strict=True)]
    return {name: BucketSum(*parts) for name, parts in sums.items()}


def differing_buckets(ours: Sums, theirs: Sums) -> frozenset[str]:
    return frozenset(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
