"""Faults of the network, of fetches, statements, logons and sessions."""

from __future__ import annotations

from collections.abc import Callable

from standin.faults.base import Faults
from standin.faults.fault import fault
from standin.wire.network_faults import oracle_error


class NetworkFaults(Faults):
    """Answers that break off, fail or do not come."""

    @fault(ended_by="mend_network")
    def cut_network(self, after_rows: int = 0, times: int = 1) -> None:
        """Disconnect in the middle of a fetch's response, after more than `after_rows` rows of the result; `times` times."""
        self._listener.network_faults.cut_fetches(after_rows, times)

    @fault()
    def mend_network(self) -> None:
        """Stop cutting fetches and stalling calls."""
        self._listener.network_faults.cut_fetches(None)
        self._listener.network_faults.stall(False)

    @fault(ended_by="mend_network")
    def stall_network(self) -> None:
        """Answer no call of any session until mend_network; a client's call_timeout ends its call (DPY-4024)."""
        self._listener.network_faults.stall(True)

    @fault(ended_by="mend_fetches")
    def fail_fetches(self, code: int = 4036, after_rows: int = 0, times: int = 1, wrapped_in: int | None = None) -> None:
        """Fail the server process in the middle of a fetch, with an error such as ORA-04036, ORA-00310 or ORA-00600;
        `wrapped_in` 604 or 12801 puts it below that error."""
        self._listener.network_faults.fail_fetches(oracle_error(code, wrapped_in), after_rows, times)

    @fault()
    def mend_fetches(self) -> None:
        """Stop failing fetches."""
        self._listener.network_faults.fail_fetches(None)

    @fault(ended_by="mend_statements")
    def fail_statements(self, code: int, containing: str = "", times: int = 1, wrapped_in: int | None = None) -> None:
        """Fail statements that contain a text, before they run, with an error such as ORA-12850 or ORA-04061."""
        self._listener.network_faults.fail_statements(oracle_error(code, wrapped_in), containing, times)

    @fault()
    def mend_statements(self) -> None:
        """Stop failing statements."""
        self._listener.network_faults.fail_statements(None)

    def act_before(self, containing: str, action: Callable[[], object]) -> None:
        """Run an action before the next statement that contains a text. For callers in this process only."""
        self._listener.network_faults.act_before(containing, action)

    @fault(ended_by="admit_logons")
    def refuse_logons(self, code: int = 18) -> None:
        """Refuse logons with a right password, except of SYS, with an error such as ORA-00018, ORA-00020 or ORA-01035."""
        self._listener.network_faults.refuse_logon = code

    @fault()
    def admit_logons(self) -> None:
        """Accept logons again."""
        self._listener.network_faults.refuse_logon = None

    @fault(ended_by="admit_clients")
    def refuse_clients(self, code: int = 12514) -> None:
        """Refuse new clients with this error code; existing sessions continue."""
        self._listener.network_faults.refuse = code

    @fault()
    def admit_clients(self) -> None:
        """Accept new clients again."""
        self._listener.network_faults.refuse = None

    @fault(ended_by="start_listener")
    def stop_listener(self) -> None:
        """Close the listener's port (ORA-12541); existing sessions continue."""
        self._listener.stop_listening()

    @fault()
    def start_listener(self) -> None:
        """Listen again on the same port."""
        self._listener.listen_again()

    @fault()
    def kill_sessions(self, user: str) -> int:
        """Kill all sessions of a user (ORA-00028, DPY-4011 in the driver). Return their number."""
        with self._database.lock:
            numbers = [s.number for s in self._database.sessions.values() if s.user == user.upper()]
            for number in numbers:
                self._database.kill(number)
        return len(numbers)
