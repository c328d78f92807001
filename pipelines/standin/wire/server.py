"""The listener: accepts clients on a loopback port and gives each session a thread.

It can be told to misbehave: `refuse` turns every new client away with a listener's code, `drop_after_rows` hangs up on
a client in the middle of a fetch.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from types import TracebackType

from pipelines.standin.interface import Instance
from pipelines.standin.wire.session import ClientSession
from pipelines.standin.wire.watch import CallWatch

log = logging.getLogger(__name__)


class Listener:
    def __init__(self, instance: Instance, host: str = "127.0.0.1", port: int = 0) -> None:
        self.refuse: int | None = None  # the code new clients are refused with, such as 12514 or 12528
        self.drop_after_rows: int | None = None
        self._instance = instance
        self._socket = socket.create_server((host, port), backlog=128)
        self.host, self.port = self._socket.getsockname()[:2]
        self._watch = CallWatch()
        self._accepting = threading.Thread(target=self._accept, name="standin-listener", daemon=True)
        self._sessions: dict[threading.Thread, ClientSession] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Listener:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def dsn(self, service: str) -> str:
        return f"{self.host}:{self.port}/{service}"

    def start(self) -> None:
        self._watch.start()
        self._accepting.start()

    def close(self, deadline_seconds: float = 10.0) -> None:
        """Stop listening and end every session; a session that does not end in time is an error."""
        ends_at = time.monotonic() + deadline_seconds
        with self._lock:
            already, self._closed = self._closed, True
        if already:
            return
        if self._accepting.is_alive():
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
            self._accepting.join(max(ends_at - time.monotonic(), 0))
        self._socket.close()
        with self._lock:
            sessions = dict(self._sessions)
        for session in sessions.values():
            session.kill()
        for thread in sessions:
            thread.join(max(ends_at - time.monotonic(), 0))
        if self._watch.is_alive:
            self._watch.close(max(ends_at - time.monotonic(), 0))
        stuck = [thread.name for thread in sessions if thread.is_alive()]
        if stuck:
            raise TimeoutError(f"sessions did not end within {deadline_seconds} s: {', '.join(stuck)}")

    def _accept(self) -> None:
        while True:
            try:
                connection, client = self._socket.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            session = ClientSession(self._instance, connection, self._watch, self)
            thread = threading.Thread(target=self._serve, args=(session,), name=f"standin-session-{client[1]}", daemon=True)
            with self._lock:
                self._sessions[thread] = session
                if self._closed:
                    session.kill()
                thread.start()

    def _serve(self, session: ClientSession) -> None:
        try:
            session.run()
        finally:
            with self._lock:
                self._sessions.pop(threading.current_thread(), None)
