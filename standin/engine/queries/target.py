"""The rows that a statement changes or locks: found by access path and condition, and waited for while others lock them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame, Scope, SubQuery
from standin.engine.queries.access import Candidates, access_path
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.locks import Stale
from standin.engine.storage.storage import TableStore
from standin.interface import OraError

Found = TypeVar("Found")


@dataclass(slots=True)
class Target:
    """The rows that an UPDATE, DELETE or SELECT FOR UPDATE selects."""

    store: TableStore
    candidates: Candidates
    where: Fn | None
    row_address: bool
    generation: int

    def rows(self, session: EngineSession, frame: Frame, wait: float | None = None) -> list[tuple[int, Row]]:
        """Return the rows once no other transaction locks them. Raise ORA-00054 after `wait` seconds."""
        return self.settled(session, frame, lambda: self.matching(session, frame), lambda found: found[0], wait)

    def settled(
        self,
        session: EngineSession,
        frame: Frame,
        collect: Callable[[], list[Found]],
        row_of: Callable[[Found], int | None],
        wait: float | None = None,
    ) -> list[Found]:
        """Return what `collect` finds once no other transaction locks a row of it; collect again after each wait."""
        database, store = session.database, self.store
        while True:
            frame.cache.clear()
            found = collect()
            mine = session.transaction
            rows = (row for one in found if (row := row_of(one)) is not None)
            owner = next((o for row in rows if (o := store.owner_of(row)) is not None and o is not mine), None)
            if owner is None:
                return found
            if wait == 0 or not database.locks.wait_for(session, owner, wait):
                raise OraError(54, "resource busy and acquire with NOWAIT specified or timeout expired")
            if store.generation != self.generation:
                raise Stale

    def matching(self, session: EngineSession, frame: Frame) -> list[tuple[int, Row]]:
        store, where = self.store, self.where
        seen = store.visible(session.current_scn, session.transaction, self.candidates(frame))
        if where is None:
            return list(seen)
        found: list[tuple[int, Row]] = []
        for row, values in seen:
            frame.rownum = len(found) + 1
            if self.row_address:
                frame.row_id = store.rowid(row)
                frame.row_scn = store.last_scn(row)
            if where(values, frame):
                found.append((row, values))
        return found


def target_of(store: TableStore, scope: Scope, where: exp.Expression | None, subquery: SubQuery | None) -> Target:
    """Return the target of a condition. The scope is the table's, perhaps with the statement around it."""
    compiler = Compiler(scope, subquery)
    run = compiler.compile(where.this).run if where is not None else None
    return Target(
        store, access_path(store, scope, Compiler(scope, subquery), where), run, compiler.row_address, store.generation
    )
