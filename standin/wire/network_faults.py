"""What a listener has been told to do wrong to its clients: refuse them, cut or fail their fetches, leave them waiting."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from standin.interface import OraError
from standin.wire.watch import RunningCall

_LOOK_EVERY = 0.05  # seconds
_TEXTS = {
    310: "archived log contains sequence 0; sequence 1 required",
    600: "internal error code, arguments: [krvrdGetUID:2], [18446744073709551614], [], [], [], [], [], []",
    1280: "Fatal LogMiner Error.",
    1555: 'snapshot too old: rollback segment number 9 with name "_SYSSMU9$" too small',
    4030: "out of process memory when trying to allocate 65560 bytes (Logminer LCR c,krvxrib:buffer)",
    4036: "PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT",
}


@dataclass(slots=True)
class _Fault:
    """Strikes the next `times` responses of results that have given more than `after_rows` rows."""

    after_rows: int
    times: int
    error: OraError | None  # None: hang up

    def strikes(self, rows: int) -> bool:
        if self.times <= 0 or rows <= self.after_rows:
            return False
        self.times -= 1
        return True


class NetworkFaults:
    """May be told from any thread, and is asked by those of the sessions."""

    def __init__(self) -> None:
        self.refuse: int | None = None  # the code new clients are refused with, such as 12514 or 12528
        self._cut: _Fault | None = None
        self._failure: _Fault | None = None
        self._stalled = False
        self._changed = threading.Condition()

    def cut_fetches(self, after_rows: int | None, times: int = 1) -> None:
        """Hang up half-way through a response; None: no more."""
        with self._changed:
            self._cut = None if after_rows is None else _Fault(after_rows, times, None)

    def fail_fetches(self, code: int | None, after_rows: int = 0, times: int = 1) -> None:
        """End a fetch with an Oracle error; None: no more."""
        error = None if code is None else OraError(code, _TEXTS.get(code, "the server process failed"))
        with self._changed:
            self._failure = None if error is None else _Fault(after_rows, times, error)

    def stall(self, stalled: bool) -> None:
        """Leave every call without its answer until told otherwise."""
        with self._changed:
            self._stalled = stalled
            self._changed.notify_all()

    def cuts(self, rows: int) -> bool:
        """Whether the response of a fetch that has given so many rows is cut off now."""
        with self._changed:
            return self._cut is not None and self._cut.strikes(rows)

    def failure(self, rows: int) -> OraError | None:
        """The error that such a fetch ends with now."""
        with self._changed:
            return self._failure.error if self._failure is not None and self._failure.strikes(rows) else None

    def hold_back(self, call: RunningCall) -> bool:
        """Wait while stalled; True when the client gave the call up meanwhile."""
        with self._changed:
            while self._stalled and not call.interrupted:
                self._changed.wait(_LOOK_EVERY)
            return call.interrupted and self._stalled
