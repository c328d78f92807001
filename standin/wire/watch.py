"""Cancels the running call of a client that interrupts it (call_timeout, Ctrl-C) or has disconnected.

A call is watched from its request until just before its response: the next request of a fast client is no interruption.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from standin.interface import Session
from standin.wire.packets import PacketStream

_CHECK_SECONDS = 0.05
_IDLE_CHECKS = 40  # without a call, after which the thread sleeps: waking it costs every call more than these checks


@dataclass(slots=True)
class RunningCall:
    session: Session
    interrupted: bool = False


class CallWatch:
    """One thread for all sessions of a listener; it sleeps while no call comes."""

    def __init__(self) -> None:
        self._calls: dict[PacketStream, RunningCall] = {}
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._is_asleep = False
        self._thread = threading.Thread(target=self._run, name="standin-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def close(self, deadline_seconds: float) -> None:
        with self._changed:
            self._closed.set()
            self._changed.notify()
        self._thread.join(deadline_seconds)

    @contextmanager
    def running(self, stream: PacketStream, session: Session) -> Iterator[RunningCall]:
        call = RunningCall(session)
        with self._changed:
            self._calls[stream] = call
            if self._is_asleep:
                self._changed.notify()
        try:
            yield call
        finally:
            with self._changed:
                self._calls.pop(stream, None)

    def _run(self) -> None:
        idle = 0
        while not self._closed.wait(_CHECK_SECONDS):
            with self._changed:
                idle = 0 if self._calls else idle + 1
                if idle > _IDLE_CHECKS:
                    self._is_asleep = True
                    self._changed.wait_for(lambda: self._closed.is_set() or self._calls)
                    self._is_asleep = False
                for stream, call in self._calls.items():
                    if not call.interrupted and stream.is_interrupted():
                        call.interrupted = True
                        call.session.cancel()
