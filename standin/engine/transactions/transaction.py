"""One open transaction: its identity, its undo, and the parallel servers that write for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from standin.engine.redo.lob_redo import LobCall
from standin.engine.storage.layout import Row
from standin.engine.storage.locks import RowOwner, Waiter
from standin.engine.storage.segment import Packed, Version
from standin.engine.storage.storage import TableStore
from standin.redo_file import Op, RedoRecord

Xid = tuple[int, int, int]
BranchId = tuple[int, bytes, bytes]  # of a distributed transaction: format, global transaction, branch


@dataclass(slots=True)
class Branch:
    """A branch of a distributed transaction. `work` is what a session has left in it, while none works in it."""

    id: BranchId
    con_id: int
    work: dict[str, Any] = field(default_factory=dict)
    is_attached: bool = False
    is_prepared: bool = False


@dataclass(frozen=True, slots=True)
class ParallelServer:
    """A server of a parallel statement. It writes under a transaction of its own, possibly on another instance."""

    xid: Xid
    thread: int
    start_scn: int


@dataclass(slots=True)
class Undo:
    """One row change that a rollback reverses. `old` holds the values before it, None for an insert."""

    store: TableStore
    row: int
    op: Op
    old: Row | None
    version: Version
    new_version: bool
    changed: frozenset[int] = frozenset()
    server: ParallelServer | None = None
    by_call: bool = False  # of a DBMS_LOB call
    records: list[RedoRecord] = field(default_factory=list)  # the redo that the change wrote
    loaded: list[Packed] = field(default_factory=list)  # the blocks of a direct-path load


class Transaction(RowOwner):
    """An open transaction. Its container, redo thread and user stay those of its first change."""

    def __init__(
        self, xid: Xid, session: Waiter, start_scn: int, *, con_id: int, thread: int, user: str, session_number: int
    ) -> None:
        super().__init__(session)
        self.xid, self.start_scn = xid, start_scn
        self.con_id, self.thread, self.user, self.session_number = con_id, thread, user, session_number
        self.undo: list[Undo] = []
        self.versions: list[Version | Packed] = []
        self.savepoints: dict[str, int] = {}
        self.row_locks: list[tuple[TableStore, int]] = []
        self.servers: dict[int, ParallelServer] = {}
        self.lob_call: LobCall | None = None  # that the running UPDATE performs
        self.degree = 0  # of the running statement
        self.unchecked: set[tuple[TableStore, str, tuple[object, ...]]] = set()  # keys of deferred foreign keys
        self.temporary: set[TableStore] = set()  # changed temporary tables that the commit empties
        self.parallel_tables: set[TableStore] = set()  # ORA-12838 guards them until the transaction ends

    def changes_table(self, store: TableStore) -> bool:
        return any(undo.store is store for undo in self.undo)
