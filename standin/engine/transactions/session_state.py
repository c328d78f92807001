"""The state of a session that other sessions and the views may read: identity, settings and transaction."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from standin.engine.settings.nls import NLS_DEFAULTS
from standin.engine.settings.parallel import ParallelSetting
from standin.engine.storage.locks import TableLock, Waiter
from standin.engine.transactions.transaction import Branch, Transaction
from standin.interface import OraError


class SessionState(Waiter):
    """A logged-on session. `package_state` belongs to packages such as DBMS_LOGMNR."""

    transaction: Transaction | None

    def __init__(self, number: int, user: str, container: int, thread: int, logon_at: datetime) -> None:
        super().__init__()
        self.number: int = number
        self.serial: int = 1000 + number
        self.user: str = user
        self.container: int = container
        self.thread: int = thread
        self.schema: str = user
        self.branch: Branch | None = None  # of a distributed transaction, in which the session works
        self.proxy: str | None = None  # the user whose password was given, where that is another one
        self.typed_user: str = user  # as the client sent it, which may be in lower case
        self.program: str = ""
        self.machine: str = ""
        self.service: str = ""
        self.on_standby = False
        self.module: str = ""
        self.action: str = ""
        self.client_id: str = ""
        self.client_info: str = ""
        self.operation: str = ""
        self.terminal: str = ""
        self.os_user: str = "oracle"
        self.driver: str = ""
        self.context: dict[str, str] = {}  # CLIENTCONTEXT, by upper-case name
        self.logon_at = logon_at
        self.statistics: Counter[str] = Counter()
        self.package_state: dict[str, object] = {}
        self.nls: dict[str, str] = dict(NLS_DEFAULTS)
        self.settings: dict[str, str] = {}
        self.savepoint_before_start: set[str] = set()
        self.table_locks: list[TableLock] = []
        self.savepoint_locks: dict[str, int] = {}  # how many of these each savepoint had
        self.parallel = ParallelSetting()

    @property
    def in_transaction(self) -> bool:
        return self.transaction is not None or self.branch is not None

    def require_writable(self) -> None:
        """Raise ORA-16000 on a standby."""
        if self.on_standby:
            raise OraError(16000, "database or pluggable database open for read-only access")

    def release_table_locks(self, kept: int = 0) -> None:
        """End the locks of LOCK TABLE but the first `kept` ones. The caller notifies those who wait."""
        for lock in self.table_locks[kept:]:
            lock.ended = True
        del self.table_locks[kept:]

    @property
    def threads(self) -> set[int]:
        """Return the redo threads that it may write to: its own and those of its transaction's parallel servers."""
        servers = self.transaction.servers.values() if self.transaction is not None else ()
        return {self.thread, *(server.thread for server in servers)}
