"""The faults of a listener and its server processes: refused clients and logons, failed statements and fetches, stalls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from standin.interface import OraError
from standin.wire.watch import RunningCall

_CHECK_SECONDS = 0.05
_TEXTS = {
    18: "maximum number of sessions exceeded",
    20: "maximum number of processes (300) exceeded",
    40: "active time limit exceeded - call aborted",
    1035: "ORACLE only available to users with RESTRICTED SESSION privilege",
    2392: "exceeded session limit on CPU usage, you are being logged off",
    2394: "exceeded session limit on IO usage, you are being logged off",
    2399: "exceeded maximum connect time, you are being logged off",
    4061: 'existing state of package body "SYS.DBMS_LOGMNR" has been invalidated',
    8103: "object no longer exists",
    12805: "parallel query server died unexpectedly",
    12850: "Could not allocate slaves on all specified instances: 4 needed, 0 allocated",
    15064: "communication failure with ASM instance",
    310: "archived log contains sequence 0; sequence 1 required",
    600: "internal error code, arguments: [krvrdGetUID:2], [18446744073709551614], [], [], [], [], [], []",
    1466: "unable to read data - table definition has changed",
    22924: "snapshot too old",
    1280: "Fatal LogMiner Error.",
    1555: 'snapshot too old: rollback segment number 9 with name "_SYSSMU9$" too small',
    4030: "out of process memory when trying to allocate 65560 bytes (Logminer LCR c,krvxrib:buffer)",
    4036: "PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT",
}
_WRAPPERS = {
    604: "error occurred at recursive SQL level 1",
    6512: "at line 1",
    12801: "error signaled in parallel query server P000",
}


def oracle_error(code: int, wrapped_in: int | None = None) -> OraError:
    """Return an error with Oracle's text, inside another one if `wrapped_in` is ORA-00604, ORA-06512 or ORA-12801."""
    text = _TEXTS.get(code, "the server process failed")
    if wrapped_in is None:
        return OraError(code, text)
    if wrapped_in not in _WRAPPERS:
        raise ValueError(f"wrapped_in is one of {', '.join(map(str, _WRAPPERS))}, not {wrapped_in}")
    return OraError(wrapped_in, _WRAPPERS[wrapped_in], more=(f"ORA-{code:05d}: {text}", "ORA-06512: at line 1"))


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
        self.refuse_logon: int | None = None  # error code for clients whose password was right, such as 18 or 1035
        self._cut: _Fault | None = None
        self._statement: tuple[str, _Fault] | None = None
        self._action: tuple[str, Callable[[], object]] | None = None
        self._failure: _Fault | None = None
        self._stalled = False
        self._changed = threading.Condition()

    def cut_fetches(self, after_rows: int | None, times: int = 1) -> None:
        """Disconnect in the middle of a response; None ends the fault."""
        with self._changed:
            self._cut = None if after_rows is None else _Fault(after_rows, times, None)

    def fail_statements(self, error: OraError | None, containing: str = "", times: int = 1) -> None:
        """Fail statements that contain a text, in any case, before they run; None ends the fault."""
        with self._changed:
            self._statement = None if error is None else (containing.upper(), _Fault(-1, times, error))

    def act_before(self, containing: str, action: Callable[[], object]) -> None:
        """Run an action once, before the next statement that contains a text, in any case: a change between two reads."""
        with self._changed:
            self._action = (containing.upper(), action)

    def before_statement(self, sql: str) -> OraError | None:
        """Take the action that waits for this statement. Return the error if it must fail."""
        with self._changed:
            is_due = self._action is not None and self._action[0] in sql.upper()
            action, self._action = (self._action, None) if is_due else (None, self._action)
        if action is not None:
            action[1]()
        return self.statement_failure(sql)

    def statement_failure(self, sql: str) -> OraError | None:
        """Return the error for a statement that is about to run, if it must fail."""
        with self._changed:
            if self._statement is None or self._statement[0] not in sql.upper():
                return None
            return self._statement[1].error if self._statement[1].applies(0) else None

    def fail_fetches(self, error: OraError | None, after_rows: int = 0, times: int = 1) -> None:
        """Fail a fetch with an Oracle error; None ends the fault."""
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
