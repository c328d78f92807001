"""OpenLogReplicator's network target: one client at a time, answers to its requests, and the stream of messages.

What was not confirmed is kept, and sent again after a CONTINUE. A restart reads the redo again, from the last confirmed SCN.
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from standin.engine.database.database import Database
from standin.olr.feed import Feed
from standin.olr.options import Behaviour, Configuration
from standin.olr.parser import Message, Parser
from standin.olr.protocol import NONE, Answer, RedoRequest, Request, framed, read_request, take_frame, write_answer

POLL_SECONDS = 0.01


@dataclass(slots=True)
class _State:
    """What is lost when the process ends, but for the checkpoint."""

    parser: Parser | None = None
    queue: list[Message] = field(default_factory=list)  # not confirmed
    client: tuple[int, int] | None = None  # what a CONTINUE asked for


class OlrServer:
    """Serves from construction to `close`."""

    def __init__(
        self,
        database: Database,
        configuration: Configuration,
        behaviour: Behaviour | None = None,
        *,
        thread: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.configuration, self.behaviour, self.thread = configuration, behaviour or Behaviour(), thread
        self._feed = Feed(database, thread, self.behaviour)
        self._state = _State()
        self.reads_to: int | None = None  # the SCN at which it lags behind its thread
        self.confirmed: int | None = None
        self._confirmed_idx = 0
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._client: socket.socket | None = None
        self.requests: list[RedoRequest] = []
        self._socket = socket.create_server((host, port))
        self._runner = threading.Thread(target=self._run, name="standin-olr", daemon=True)
        self._runner.start()

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    def close(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.disconnect()
        self._runner.join()
        self._socket.close()
        self._feed.close()

    def disconnect(self) -> None:
        """Cut the client's connection."""
        if self._client is not None:
            with suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)

    def restart(self, behaviour: Behaviour | None = None, confirmed: int | None = None) -> None:
        """End the process and start it again. It reads on from the SCN of its checkpoint: the last confirmed one, or an older
        one (`confirmed`)."""
        with self._lock:
            self.disconnect()
            self.behaviour = behaviour or self.behaviour
            self.confirmed = self.confirmed if confirmed is None else confirmed
            self._state = _State()
            if self.confirmed is not None:
                self._state.parser = Parser(self._feed, self.configuration, self.behaviour, self.confirmed)

    def forget(self) -> None:
        """Remove the checkpoint files, and start again."""
        with self._lock:
            self.confirmed = None
            self._feed.read_dictionary()
            self.restart()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self._client = client
            with client, suppress(OSError):
                self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        buffer, state = bytearray(), self._state
        sent: int | None = None  # messages of the queue that this client has; None while it has not asked for them
        while not self._stop.is_set() and state is self._state:
            readable, _, _ = select.select([client], [], [], 0 if sent is not None and self._pending(sent) else POLL_SECONDS)
            if readable:
                piece = client.recv(65536)
                if not piece:
                    return
                buffer += piece
            while (body := take_frame(buffer)) is not None:
                with self._lock:
                    sent = self._answer(client, read_request(body), sent)
            if sent is not None:
                sent = self._stream(client, sent)

    def _pending(self, sent: int) -> bool:
        return sent < len(self._state.queue)

    def _answer(self, client: socket.socket, request: RedoRequest, sent: int | None) -> int | None:
        """Answer a request; return how many messages the client has after that."""
        self.requests.append(request)
        state = self._state
        if request.code == Request.CONFIRM and sent is not None:
            return sent - self._confirm(request)
        if request.database != self.configuration.alias:
            client.sendall(framed(write_answer(Answer.INVALID_DATABASE)))
            return sent
        if request.code == Request.INFO:
            client.sendall(framed(self._position(Answer.REPLICATE) if state.parser else write_answer(Answer.READY)))
            return None
        if sent is not None or request.code not in (Request.START, Request.CONTINUE):
            client.sendall(framed(write_answer(Answer.INVALID_COMMAND)))
            return sent
        if request.code == Request.START:
            return self._start(client, request)
        if state.parser is None:
            client.sendall(framed(write_answer(Answer.REPLICATE)))  # it answers so, and never sends anything
            return 0
        asked = (request.c_scn or 0, request.c_idx or 0)
        state.client = asked if asked[0] else (self.confirmed or 0, self._confirmed_idx)
        client.sendall(framed(write_answer(Answer.REPLICATE)))
        return min(self.behaviour.skipped_by_continue, len(state.queue))

    def _position(self, answer: Answer) -> bytes:
        assert self._state.parser is not None
        confirmed = NONE if self.confirmed is None else self.confirmed
        return write_answer(answer, self._state.parser.first_scn, confirmed, self._confirmed_idx)

    def _start(self, client: socket.socket, request: RedoRequest) -> int | None:
        state = self._state
        if state.parser is not None:
            client.sendall(framed(self._position(Answer.ALREADY_STARTED)))
            return None
        if request.scn is None or request.other_start:
            client.sendall(framed(write_answer(Answer.INVALID_COMMAND)))
            return None
        self._feed.poll()
        first = self._feed.groups[-1].scn if request.scn == NONE and self._feed.groups else request.scn
        at = self._group_of(first, request.seq)
        if at is None:
            client.sendall(framed(write_answer(Answer.FAILED_START)))
            return None
        self._feed.read_dictionary()
        state.parser = Parser(self._feed, self.configuration, self.behaviour, first, at)
        client.sendall(framed(self._position(Answer.REPLICATE)))
        return 0

    def _group_of(self, scn: int, sequence: int | None) -> int | None:
        """Return the first group of the log that contains the SCN, or of the log that was named; None where it is gone."""
        groups = self._feed.groups
        if not groups:
            return 0
        if sequence is None:
            logs = sorted({group.sequence for group in groups})
            firsts = [(number, self._feed.first_scn(number)) for number in logs]
            below = [number for number, first in firsts if first is not None and first <= scn]
            if not below and firsts[0][1] is not None and firsts[0][1] > scn + 1:
                return None
            sequence = below[-1] if below else logs[0]
        found = [number for number, group in enumerate(groups) if group.sequence == sequence]
        return found[0] if found else None

    def _confirm(self, request: RedoRequest) -> int:
        """Forget the first messages up to a position; return how many."""
        position, count, queue = (request.c_scn or 0, request.c_idx or 0), 0, self._state.queue
        while count < len(queue) and (queue[count].c_scn, queue[count].c_idx) <= position:
            if self.confirmed is None or queue[count].c_scn >= self.confirmed:
                self.confirmed, self._confirmed_idx = queue[count].c_scn, queue[count].c_idx
            count += 1
        del queue[:count]
        return count

    def _stream(self, client: socket.socket, sent: int) -> int:
        """Send what this client does not have."""
        state = self._state
        with self._lock:
            if state.parser is None:
                return sent
            self._feed.poll()
            state.parser.reads_to = self.reads_to
            state.queue += list(state.parser.messages())
            waiting = state.queue[sent:]
        new = [m for m in waiting if state.client is None or (m.c_scn, m.c_idx) > state.client]
        data = b"".join(framed(m.body, long=self.behaviour.long_lengths) for m in new)
        step = self.behaviour.splits or max(len(data), 1)
        for at in range(0, len(data), step):
            client.sendall(data[at : at + step])
        return sent + len(waiting)
