"""Notices that a client wants its running call to stop (call_timeout, Ctrl-C) or is gone, and cancels the call.

A call is watched from its request to just before its response: a quick client's next request is no interruption.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from standin.interface import Session
from standin.wire.packets import PacketStream

_LOOK_EVERY = 0.05  # seconds; also how long a call may run before anybody looks


@dataclass(slots=True)
class RunningCall:
    session: Session
    interrupted: bool = False


class CallWatch:
    """One thread for all sessions of a listener; it sleeps while no call runs."""

    def __init__(self) -> None:
        self._calls: dict[PacketStream, RunningCall] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="standin-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def close(self, deadline_seconds: float) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(deadline_seconds)

    @contextmanager
    def running(self, stream: PacketStream, session: Session) -> Iterator[RunningCall]:
        call = RunningCall(session)
        with self._changed:
            self._calls[stream] = call
            self._changed.notify()
        try:
            yield call
        finally:
            with self._changed:
                self._calls.pop(stream, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._calls)
                if self._closed:
                    return
                self._changed.wait(_LOOK_EVERY)
                for stream, call in self._calls.items():
                    if not call.interrupted and stream.calls_for_attention():
                        call.interrupted = True
                        call.session.cancel()
