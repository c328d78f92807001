"""Remove rows about windows and batches that are no longer in the landing, and facts about tables that are no more."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, func, or_, select

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase
from redolake.values.scn import ChainPosition

W, B, F, T = t.windows.c, t.batches.c, t.facts.c, t.tables.c
OF_A_TABLE = ("proofs", "snapshot")  # kinds of facts whose name is a table


class PrunedRows(LedgerBase):
    @crash.writer
    def forget_pruned(self, cut: ChainPosition, before: datetime, *, dry_run: bool) -> int:
        """Remove the rows that were last changed before a time: of windows and batches that end before the cut or were given
        up, and of tables that the ledger does not have. Return their number."""
        old_windows = and_(
            W.pipeline == self._pipeline,
            W.changed_at < before,
            or_(W.state == "abandoned", _ends_by(W.resetlogs_id, W.end_scn, cut)),
        )
        # A batch has its incarnation in its name only, and names sort by it.
        old_batches = and_(B.pipeline == self._pipeline, B.changed_at < before, B.name < cut.name, B.end_scn < cut.scn)
        known = select(T.owner + "." + T.table_name).where(T.pipeline == self._pipeline)
        old_facts = and_(F.pipeline == self._pipeline, F.at < before, F.kind.in_(OF_A_TABLE), F.name.not_in(known))
        found = ((t.windows, old_windows), (t.batches, old_batches), (t.facts, old_facts))
        with self._write() if not dry_run else self._read() as connection:
            number = 0
            for table, condition in found:
                number += connection.execute(select(func.count()).select_from(table).where(condition)).scalar_one()
                if not dry_run:
                    connection.execute(delete(table).where(condition))
            return number


def _ends_by(resetlogs_id: ColumnElement[int], end_scn: ColumnElement[int], cut: ChainPosition) -> ColumnElement[bool]:
    return or_(resetlogs_id < cut.resetlogs_id, and_(resetlogs_id == cut.resetlogs_id, end_scn <= cut.scn))
