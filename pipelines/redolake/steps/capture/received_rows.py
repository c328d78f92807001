"""What each stream has given of a window: its rows in a temporary file, and where the stream stands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redolake.errors import LandingUnwritable
from redolake.source.olr import Cut, Sequencer, to_batch
from redolake.source.olr.messages import Message
from redolake.steps.shared.redo_streams import Stream, StreamState
from redolake.values.landed_schema import LANDED_SCHEMA

BATCH_MESSAGES = 5000


@contextmanager
def room_for_rows() -> Iterator[None]:
    """Raise LandingUnwritable where the temporary file gets no space."""
    try:
        yield
    except OSError as error:
        raise LandingUnwritable(
            f"the rows of a window that are being received cannot be kept: {error.strerror or error}",
            cure="free space there, set TMPDIR to a larger volume, or lower `window.max_bytes`; nothing has landed, and "
            "nothing of it was confirmed: the next run receives it again",
            folder=tempfile.gettempdir(),
        ) from error


class Spool:
    """Rows in a temporary file, in the order in which they came. They are encrypted with a key that only this process has and
    only while it runs: the disk keeps blocks of removed files, and the landing may be encrypted."""

    def __init__(self, file: IO[bytes], container: str | None, thread: int, number: int) -> None:
        self._file, self._container, self._thread, self.number = file, container, thread, number
        self._waiting: list[Message] = []
        self._cipher, self._sizes = AESGCM(AESGCM.generate_key(256)), list[int]()
        self.rows = 0

    def add(self, message: Message) -> None:
        self._waiting.append(message)
        self.rows += 1
        if len(self._waiting) >= BATCH_MESSAGES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            first = self.rows - len(self._waiting)
            batch = to_batch(self._waiting, first, self._container, self._thread, self.number)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, LANDED_SCHEMA) as writer:
                writer.write_batch(batch)
            sealed = self._cipher.encrypt(nonce_of(len(self._sizes)), sink.getvalue().to_pybytes(), None)
            with room_for_rows():
                self._file.write(sealed)
            self._sizes.append(len(sealed))
            self._waiting = []

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with room_for_rows():
            self._file.seek(0)
        for number, size in enumerate(self._sizes):
            yield from pa.ipc.open_stream(self._cipher.decrypt(nonce_of(number), self._file.read(size), None))

    def first(self, rows: int, sequence: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the first rows that committed before an SCN, as those of one log."""
        self._flush()
        left, at = rows, LANDED_SCHEMA.get_field_index("sequence")
        for batch in self._batches():
            part = batch.slice(0, left)
            left -= part.num_rows
            part = part.filter(pc.less(part.column("scn"), end))
            log = pa.array([sequence] * part.num_rows, LANDED_SCHEMA.field(at).type)
            yield part.set_column(at, LANDED_SCHEMA.field(at), log)
            if not left:
                return


def nonce_of(number: int) -> bytes:
    """Return a nonce that its key has for one batch only."""
    return number.to_bytes(12, "big")


@contextmanager
def open_spool(container: str | None, thread: int, number: int) -> Iterator[Spool]:
    with tempfile.TemporaryFile(prefix="redolake-stream-") as file:
        yield Spool(file, container, thread, number)


@dataclass(frozen=True, slots=True)
class Taken:
    """What one stream has given. `whole` is its cut where the thread is closed and has no more redo."""

    stream: Stream
    state: StreamState
    sequencer: Sequencer
    spool: Spool
    whole: Cut | None = None

    def reach(self, current_scn: int | None) -> int | None:
        """Return the SCN up to which the thread's redo has come; a closed one may open again after CURRENT_SCN was read."""
        if self.whole is not None:
            return current_scn
        return None if self.sequencer.cut is None else self.sequencer.cut.end

    def cut_at(self, end: int) -> Cut:
        found = self.sequencer.cut_at(end) if self.whole is None else self.sequencer.at_end_of_thread(self.whole, end)
        assert found is not None, "a stream that holds back ends no window"
        return found


@dataclass(frozen=True, slots=True)
class Received:
    """A window's end, and what each stream has given of it."""

    end: int
    taken: tuple[Taken, ...]  # by redo thread

    @property
    def cuts(self) -> list[Cut]:
        return [one.cut_at(self.end) for one in self.taken]

    @property
    def rows(self) -> int:
        return sum(cut.rows for cut in self.cuts)

    @property
    def seconds(self) -> int | None:
        """When the streams of open threads stood at the window's end; the earliest time."""
        found = [one.cut_at(self.end).seconds for one in self.taken if one.whole is None]
        return min((seconds for seconds in found if seconds is not None), default=None)


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A redo thread's stream that has nothing behind the position yet, so that no window can end."""

    taken: Taken

    @property
    def reason(self) -> str:
        at = self.taken.sequencer.checkpoint
        where = "has sent no checkpoint" if at is None else f"has read to SCN {at.c_scn}, log {at.sequence}"
        closed = "" if self.taken.stream.end is None else f"; the thread was closed at SCN {self.taken.stream.end}"
        return f"redo thread {self.taken.stream.thread} holds windows back: OpenLogReplicator at {self.address} {where}{closed}"

    @property
    def address(self) -> str:
        address = self.taken.stream.address
        return f"{address.host}:{address.port}"


def sequence_of(one: Taken, end: int) -> int:
    """Return the log of the stream's anchor; of one that has none yet, that of its last checkpoint."""
    anchor, last = one.cut_at(end).anchor, one.sequencer.checkpoint
    assert last is not None, "a window ends behind a checkpoint"
    return last.sequence if anchor is None else anchor.sequence
