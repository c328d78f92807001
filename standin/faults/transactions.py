"""Faults of open transactions, and policies that hide rows."""

from __future__ import annotations

from standin.faults.base import Faults
from standin.faults.fault import fault
from standin.model import Policy


class TransactionFaults(Faults):
    """What V$TRANSACTION does not show, and what a reader does not see."""

    @fault(ended_by="show_starts")
    def hide_starts(self, start_scn: int | None = None) -> None:
        """Show NULL, 0 or 1 as START_SCN of every row of V$TRANSACTION, as some releases do for a while."""
        self._database.state.hidden_starts = start_scn

    @fault()
    def prepare_transactions(self, listed: bool = True) -> int:
        """Make every open transaction a prepared branch of a distributed one. With `listed` false V$TRANSACTION does not show
        it, as after the end of its instance. Return their number."""
        with self._database.lock:
            for tx in self._database.state.transactions.values():
                tx.is_prepared, tx.is_listed = True, listed
            return len(self._database.state.transactions)

    @fault(ended_by="recover_transactions")
    def abort_instances(self) -> int:
        """End all sessions as SHUTDOWN ABORT and a restart do: their transactions are dead, in no row of V$TRANSACTION, and not
        rolled back yet. Return their number."""
        with self._database.lock:
            return self._database.rollback.leave_dead(list(self._database.sessions.values()))

    @fault()
    def recover_transactions(self) -> None:
        """Roll the dead transactions back, as the instance's recovery does after its restart."""
        with self._database.lock:
            self._database.rollback.roll_back_dead()

    @fault()
    def show_starts(self) -> None:
        """Show the START_SCN of every transaction again."""
        self._database.state.hidden_starts = -1

    @fault(ended_by="drop_policies")
    def add_policy(self, table: str, where: str, label: bool = False) -> Policy:
        """Add a policy of VPD, or of Label Security, to OWNER.TABLE: who lacks EXEMPT ACCESS POLICY reads only rows that the
        condition admits, without an error. The redo has all rows."""
        return self._add_policy(table, "LABEL" if label else "VPD", where=where)

    @fault(ended_by="drop_policies")
    def redact_column(self, table: str, column: str) -> Policy:
        """Redact a column of OWNER.TABLE: who lacks EXEMPT REDACTION POLICY reads 0, a blank or 2001-01-01. The redo has the
        values."""
        return self._add_policy(table, "REDACTION", column=column)

    @fault()
    def drop_policies(self) -> None:
        """Drop all policies."""
        with self._database.lock:
            self._database.state.policies.clear()

    def _add_policy(self, table: str, kind: str, *, where: str = "", column: str = "") -> Policy:
        owner, _, name = table.partition(".")
        with self._database.lock:
            policies = self._database.state.policies
            policies.append(Policy(f"P{len(policies) + 1}", owner, name, kind, where, column))
            return policies[-1]
