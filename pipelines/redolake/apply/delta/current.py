"""Whether a table's rows are still those of the SCN at which the source was read for it."""

from __future__ import annotations

from redolake.apply.delta.owner import Owner, check_owner
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import check_foreign
from redolake.errors import SchemaConflict, Transient
from redolake.values.table import TableId


def check_current(table: DeltaTable, owner: Owner | None, table_id: TableId, scn: int, covers: int | None = None) -> None:
    """Raise an error where the table has commits above the SCN, or rows of another writer. `covers` is the newest version whose
    rows were compared: changes of others up to it are known."""
    if table.log is None:
        raise SchemaConflict(
            "the Delta table is missing",
            cure=f"run `redolake snapshot {table_id} --replace`",
            table=table_id,
            path=table.path,
        )
    check_owner(table.log, owner, table_id, table.path)
    passed = max((found for found in (table.position, table.filled_to) if found is not None), default=0)
    if passed > scn:
        raise Transient(
            f"the Delta table has commits up to SCN {passed}, and the ledger knows those up to SCN {scn}: a batch "
            "has ended before it was recorded",
            cure="let apply run once, then run it again",
            table=table_id,
        )
    check_foreign(table, table_id, covers)
