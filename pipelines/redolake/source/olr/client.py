"""The connection to OpenLogReplicator: handshake, messages with time-outs, confirmations."""

from __future__ import annotations

import math
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redolake.errors import ReplicatorRefused, ReplicatorUnavailable, StreamLost
from redolake.source.olr.messages import Checkpoint, Message, no_checkpoints, read_message
from redolake.source.olr.sequence import Anchor
from redolake.source.olr.wire import Answer, AnswerCode, Frames, RequestCode, read_answer, request

PIECE_BYTES = 1 << 20
FEWEST_BYTES_A_SECOND = 1 << 20  # of one that has much to send
FROM_ALL = (1, 0)  # a position below all others: nothing that is kept is left out


@dataclass(frozen=True, slots=True)
class Address:
    """`database` is the name of the source in OpenLogReplicator.json; `thread` the redo thread of which it is the stream, None
    where there is only one."""

    host: str
    port: int
    database: str
    thread: int | None = None

    @classmethod
    def parse(cls, text: str, database: str, thread: int | None = None) -> Address:
        host, _, port = text.rpartition(":")
        return cls(host.strip("[]"), int(port), database, thread)

    def __str__(self) -> str:
        place = f"{self.host}:{self.port}"
        return place if self.thread is None else f"{place} (redo thread {self.thread})"


@dataclass(frozen=True, slots=True)
class First:
    """Where a stream begins: an SCN, and the log that contains it."""

    scn: int
    sequence: int | None


class Connection:
    """One connection; no other client is served meanwhile."""

    def __init__(self, connected: socket.socket, address: Address, container: str | None, silent: float) -> None:
        self._socket, self._address, self._container = connected, address, container
        self._frames, self._silent, self._began = Frames(), silent, time.monotonic()
        self._has_messages = False
        self.received, self._count = 0, 0  # bytes, messages
        self.expect_checkpoints(math.inf, sys.maxsize)

    @property
    def address(self) -> Address:
        return self._address

    def info(self) -> Answer:
        """Ask how it is. Raises ReplicatorRefused where it has no such source."""
        return self._require_known(self._ask(RequestCode.INFO))

    def begin(self, first: First) -> Answer:
        """Let it read from a log on, and send the transactions that begin from an SCN on."""
        start, sequence = first.scn, first.sequence
        answer = self._require_known(self._ask(RequestCode.START, scn=start - 1, seq=sequence))
        if answer.code == AnswerCode.STARTING:
            raise ReplicatorUnavailable(f"OpenLogReplicator at {self._address} is starting", cure="wait: the step is retried")
        if answer.code != AnswerCode.REPLICATE:
            raise ReplicatorRefused(
                f"OpenLogReplicator at {self._address} cannot start at SCN {start - 1}: {answer.code.name}",
                cure="see its log: it needs the archived log with that SCN, and its user the rights to read the dictionary. If "
                "the log is gone, run `redolake recover`",
                scn=start - 1,
                sequence=sequence,
            )
        return answer

    def go_on(self) -> None:
        """Let it send all that it keeps. Its own cut by a position would lose transactions that were open there (2.0)."""
        answer = self._require_known(self._ask(RequestCode.CONTINUE, c_scn=FROM_ALL[0], c_idx=FROM_ALL[1]))
        if answer.code != AnswerCode.REPLICATE:
            raise ReplicatorRefused(
                f"OpenLogReplicator at {self._address} does not go on: {answer.code.name}", cure="restart it, and see its log"
            )

    def confirm(self, anchor: Anchor) -> None:
        """Let it forget what lies before a landed window's end. Nothing is answered."""
        if anchor.confirm_scn is not None and anchor.confirm_idx is not None:
            self._send(RequestCode.CONFIRM, c_scn=anchor.confirm_scn, c_idx=anchor.confirm_idx)

    def messages(self) -> Iterator[Message | Checkpoint | None]:
        """Yield messages as they come, and None while none comes. Raises ReplicatorUnavailable at the connection's end, and
        where none comes at all: what is not confirmed comes again, and checkpoints come also when nothing happens."""
        for body in self.bodies():
            if body is None:
                yield None
                continue
            found = read_message(body, self._container, f"message {self._count} of {self._address}")
            if isinstance(found, Checkpoint) and (self._last is None or self._last.is_before(found)):
                self._note(found)
            yield found

    def bodies(self) -> Iterator[bytes | None]:
        """Yield messages as they are, and None while none comes."""
        while True:
            for body in self._frames:
                self._has_messages = True
                self._count += 1
                yield body
            if not self._receive():
                yield None

    def expect_checkpoints(self, seconds: float, most_bytes: int) -> None:
        """Let it be refused where none comes, or none that is further on. A large transaction comes in one piece: the time is
        longer for each byte of it, however slowly the bytes of one message follow each other."""
        self._longest, self._most_bytes = seconds, most_bytes
        self._note(None)

    def _note(self, last: Checkpoint | None) -> None:
        self._last, self._since = last, (time.monotonic(), self.received, self._count)

    def _check_progress(self) -> None:
        began, received, count = self._since
        came, elapsed = self.received - received, time.monotonic() - began
        if came > self._most_bytes or elapsed > self._longest + came / FEWEST_BYTES_A_SECOND:
            last = self._last
            since = "since it was asked" if last is None else f"since that of SCN {last.c_scn}, log {last.sequence}"
            raise no_checkpoints(
                f"{self._address} has sent {self._count - count} message(s), {came:,} bytes, in {elapsed:.1f} s {since}"
            )

    def set_pause(self, seconds: float) -> None:
        """Let `messages` yield None after so long without one."""
        self._socket.settimeout(seconds)

    def _ask(self, code: RequestCode, **fields: int | None) -> Answer:
        """Ask and return the answer. It comes whole in time, however slowly its bytes follow each other."""
        self._send(code, **fields)
        until = time.monotonic() + self._silent
        while True:
            for body in self._frames:
                return read_answer(body)
            if time.monotonic() >= until:
                raise ReplicatorUnavailable(
                    f"OpenLogReplicator at {self._address} has not answered {code.name} within {self._silent:g} s",
                    cure="see its log, and that `address` under `source` is the `uri` of its network writer: the step is "
                    "retried",
                )
            self._receive()

    def _send(self, code: RequestCode, **fields: int | None) -> None:
        try:
            self._socket.sendall(request(code, self._address.database, **fields))
        except OSError as error:
            raise unavailable(self._address, error) from error

    def _receive(self) -> bool:
        """Return whether something came before the pause was over."""
        try:
            data = self._socket.recv(PIECE_BYTES)
        except TimeoutError as error:
            if self._has_messages or time.monotonic() - self._began < self._silent:
                return False
            raise ReplicatorUnavailable(
                f"OpenLogReplicator at {self._address} has sent nothing for {self._silent:g} s",
                cure=f"see its log: perhaps it waits for a log, or another client is connected. Its `flags` need {0x1000} for "
                "checkpoints, which come also when nothing happens",
            ) from error
        except OSError as error:
            raise unavailable(self._address, error) from error
        if not data:
            raise ReplicatorUnavailable(
                f"OpenLogReplicator at {self._address} has closed the connection", cure="see its log; the step is retried"
            )
        self._check_progress()
        self.received += len(data)
        self._frames.add(data)
        return True

    def _require_known(self, answer: Answer) -> Answer:
        if answer.code == AnswerCode.INVALID_DATABASE:
            raise ReplicatorRefused(
                f"OpenLogReplicator at {self._address} has no source with the alias {self._address.database}",
                cure="correct `database` under `source`: the `name` of the source in OpenLogReplicator.json",
            )
        if answer.code == AnswerCode.INVALID_COMMAND:
            raise ReplicatorRefused(
                f"OpenLogReplicator at {self._address} does not know the request", cure="use OpenLogReplicator 1.8 or 1.9"
            )
        return answer


def unavailable(address: Address, error: OSError) -> ReplicatorUnavailable:
    return ReplicatorUnavailable(
        f"OpenLogReplicator at {address} cannot be reached: {error.strerror or error}",
        cure="see that it runs, and that `address` under `source` is the `uri` of its network writer; the step is retried",
    )


@contextmanager
def connect(address: Address, container: str | None, *, timeout_seconds: float) -> Iterator[Connection]:
    """Connect. Raises ReplicatorUnavailable."""
    try:
        connected = socket.create_connection((address.host, address.port), timeout=timeout_seconds)
    except OSError as error:
        raise unavailable(address, error) from error
    with connected:
        yield Connection(connected, address, container, timeout_seconds)


def open_stream(connection: Connection, anchor: Anchor | None, first: Callable[[], First | None]) -> int | None:
    """Let it go on with what was not confirmed, or start it where `first` says. Return the SCN from which a stream was started
    that has nothing landed yet; None where it goes on.

    Raises StreamLost, ReplicatorRefused.
    """
    found = connection.info()
    if found.code == AnswerCode.STARTING:
        raise ReplicatorUnavailable(f"OpenLogReplicator at {connection.address} is starting", cure="wait: the step is retried")
    if found.code == AnswerCode.READY:
        start = first()
        if start is None:
            raise StreamLost(
                f"OpenLogReplicator at {connection.address} has lost its checkpoint files: it does not know where it was",
                cure="restore the folder of its `state`, and restart it; or run `redolake recover`",
            )
        connection.begin(start)
        return start.scn
    if anchor is None:
        start = first()
        if start is None or found.c_scn is not None or found.scn is None or found.scn >= start.scn:
            raise ReplicatorRefused(
                f"OpenLogReplicator at {connection.address} runs already, from SCN {found.scn} on, and this pipeline begins at "
                f"SCN {None if start is None else start.scn}",
                cure="stop it, remove its checkpoint files, and start it: it then waits for this pipeline. Give each receiver "
                "an OpenLogReplicator of its own",
                scn=None if start is None else start.scn,
            )
    connection.go_on()
    return None if anchor is not None or found.scn is None else found.scn + 1
