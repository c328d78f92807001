"""The listener: accepts clients on a loopback port and gives each session a thread.

For fault injection, `stop_listening` closes the port, `drop_clients` disconnects all sessions, and `network_faults` holds
the faults that the sessions apply.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from types import TracebackType

from standin.interface import Instance
from standin.wire.network_faults import NetworkFaults
from standin.wire.session import ClientSession
from standin.wire.watch import CallWatch

log = logging.getLogger(__name__)


class Listener:
    def __init__(self, instance: Instance, host: str = "127.0.0.1", port: int = 0, verifier_rounds: int = 4096) -> None:
        self.network_faults = NetworkFaults()
        self._instance = instance
        self._socket = socket.create_server((host, port), backlog=128)
        self.host, self.port = self._socket.getsockname()[:2]
        self._verifier_rounds = verifier_rounds
        self._watch = CallWatch()
        self._accepting = self._acceptor()
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
        """Stop listening and end every session. Raises TimeoutError if a session does not end in time."""
        deadline = time.monotonic() + deadline_seconds
        with self._lock:
            already, self._closed = self._closed, True
        if already:
            return
        self._close_port()
        self.network_faults.stall(False)
        with self._lock:
            sessions = dict(self._sessions)
        self.drop_clients()
        for thread in sessions:
            thread.join(max(deadline - time.monotonic(), 0))
        if self._watch.is_alive:
            self._watch.close(max(deadline - time.monotonic(), 0))
        stuck = [thread.name for thread in sessions if thread.is_alive()]
        if stuck:
            raise TimeoutError(f"sessions did not end within {deadline_seconds} s: {', '.join(stuck)}")

    def drop_clients(self) -> None:
        """Disconnect all clients."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.kill()

    def stop_listening(self) -> None:
        """Stop listening, but keep the port bound, so that no other process takes it."""
        if not self._closed and self._accepting.is_alive():
            self._close_port()
            self._socket = _bound(self.host, self.port)

    def listen_again(self) -> None:
        if not self._closed and not self._accepting.is_alive():
            self._socket.listen(128)
            self._accepting = self._acceptor()
            self._accepting.start()

    def _close_port(self) -> None:
        if self._accepting.is_alive():
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
            self._accepting.join()
        self._socket.close()

    def _acceptor(self) -> threading.Thread:
        return threading.Thread(target=self._accept, args=(self._socket,), name="standin-listener", daemon=True)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, client = listening.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            session = ClientSession(self._instance, connection, self._watch, self.network_faults, self._verifier_rounds)
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


def _bound(host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen, so that clients are refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((host, port))
    return held
