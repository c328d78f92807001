"""The network faults of a listener: refused clients, cut or failed fetches, stalled calls."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from standin.interface import OraError
from standin.wire.watch import RunningCall

_CHECK_SECONDS = 0.05
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
    """A fault of the next `times` responses of results with more than `after_rows` rows sent."""

    after_rows: int
    times: int
    error: OraError | None  # None: disconnect

    def applies(self, rows: int) -> bool:
        if self.times <= 0 or rows <= self.after_rows:
            return False
        self.times -= 1
        return True


class NetworkFaults:
    """Set from any thread; the sessions' threads ask it during their calls."""

    def __init__(self) -> None:
        self.refuse: int | None = None  # error code for new clients, such as 12514 or 12528
        self._cut: _Fault | None = None
        self._failure: _Fault | None = None
        self._stalled = False
        self._changed = threading.Condition()

    def cut_fetches(self, after_rows: int | None, times: int = 1) -> None:
        """Disconnect in the middle of a response; None ends the fault."""
        with self._changed:
            self._cut = None if after_rows is None else _Fault(after_rows, times, None)

    def fail_fetches(self, code: int | None, after_rows: int = 0, times: int = 1) -> None:
        """Fail a fetch with an Oracle error; None ends the fault."""
        error = None if code is None else OraError(code, _TEXTS.get(code, "the server process failed"))
        with self._changed:
            self._failure = None if error is None else _Fault(after_rows, times, error)

    def stall(self, stalled: bool) -> None:
        """Answer no call while `stalled` is true."""
        with self._changed:
            self._stalled = stalled
            self._changed.notify_all()

    def cuts(self, rows: int) -> bool:
        """Return whether to cut the response of a fetch after this number of rows."""
        with self._changed:
            return self._cut is not None and self._cut.applies(rows)

    def failure(self, rows: int) -> OraError | None:
        """Return the error for a fetch after this number of rows, if it must fail."""
        with self._changed:
            return self._failure.error if self._failure is not None and self._failure.applies(rows) else None

    def wait_while_stalled(self, call: RunningCall) -> bool:
        """Wait while stalled; return True if the client has interrupted the call meanwhile."""
        with self._changed:
            while self._stalled and not call.interrupted:
                self._changed.wait(_CHECK_SECONDS)
            return call.interrupted and self._stalled
