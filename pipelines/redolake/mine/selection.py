"""Build the WHERE clause for V$LOGMNR_CONTENTS, with binds, for any number of tables and object ids.

It only saves transfer: LogMiner reads all redo either way. A row is selected by name, by id, or because LogMiner could not
resolve it. The id alone would not do: a new interval partition has an unknown id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from redolake.values.logminer import Mined
from redolake.values.parts import in_parts
from redolake.values.redo import CONTROL, TRANSACTION_BOUNDS, LogFile
from redolake.values.table import TableId

LIST_LIMIT = 500  # Oracle allows 1000 per IN list (ORA-01795)
NOT_CHANGES = (Mined.INTERNAL, Mined.SELECT_FOR_UPDATE)
UNRESOLVED = (
    "seg_owner IS NULL",
    "seg_owner = 'UNKNOWN'",
    "table_name IS NULL",
    "table_name LIKE 'OBJ# %'",
    "table_name LIKE 'BIN$%'",
)


ROOT = "CDB$ROOT"


@dataclass(frozen=True, slots=True)
class MinedContainer:
    """The captured PDB. `shared_undo_id` is its CON_ID if all containers share the root's undo, else None.

    With shared undo, LogMiner may show the starts and ends of a PDB's transactions under the root's name. No xid then occurs in
    two containers. With local undo, the root's transactions have xids of their own, which a PDB's may equal.
    """

    name: str
    shared_undo_id: int | None = None


def sql_list(codes: Iterable[int]) -> str:
    return ", ".join(map(str, codes))


class Binds:
    """Collects values and returns their bind names for the text."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def __call__(self, value: object) -> str:
        name = f"b{len(self.values)}"
        self.values[name] = value
        return f":{name}"


# An INTERNAL row with a real ROW_ID: Oracle's own change of a table's row, without a name. Beside a large object SEQUENCE# is
# more than 1, which leaves out most others (Debezium, dbz#2666).
OF_A_ROW = (
    f"operation_code = {Mined.INTERNAL} AND c.rollback = 0 AND status <> 5 AND sequence# > 1"
    " AND row_id NOT LIKE '%AAAAAAAAAAAA'"
)


def predicate(
    tables: Sequence[TableId],
    object_ids: frozenset[int],
    container: MinedContainer | None,
    since: LogFile | None = None,
    with_objects: frozenset[int] = frozenset(),
) -> tuple[str, dict[str, object]]:
    """Return the text after WHERE, and its binds. Rows before the log `since` are left out where LogMiner reads it for a
    dictionary only; a row of that log or a later one passes whatever its SCN is, as far as LogMiner shows it: from its
    dictionary on.

    For the object ids `with_objects`, INTERNAL rows pass too: they say where a statement that writes large objects ends.

    Holes and corrupt blocks concern every table, so their rows pass whatever container or name they have. Starts and ends of
    transactions pass also without a container, and so does DDL: DDL of one table may change another.
    """
    bind = Binds()
    captured = list(UNRESOLVED)
    for owner, group in groupby(sorted(tables), key=lambda t: t.owner):
        for names in in_parts((t.name for t in group), LIST_LIMIT):
            captured.append(f"seg_owner = {bind(owner)} AND table_name IN ({', '.join(map(bind, names))})")
    for ids in in_parts(sorted(object_ids), LIST_LIMIT):
        captured.append(f"data_obj# IN ({', '.join(map(bind, ids))})")
    of_tables = "\n       OR ".join(f"({c})" for c in captured)
    control = f"operation_code IN ({sql_list(CONTROL)})"
    kept = f"{control}\n   OR operation_code NOT IN ({sql_list(NOT_CHANGES)}) AND (\n          {of_tables})"
    for ids in in_parts(sorted(with_objects), LIST_LIMIT):
        kept += f"\n   OR {OF_A_ROW} AND data_obj# IN ({', '.join(map(bind, ids))})"
    if container is not None:
        own = f"src_con_name = {bind(container.name)} OR src_con_name IS NULL"
        if container.shared_undo_id is not None:
            own += f" OR src_con_name = '{ROOT}' AND operation_code IN ({sql_list(TRANSACTION_BOUNDS)})"
        kept = f"({own}) AND ({kept})"
    if since is not None:
        kept = f"(scn >= {bind(int(since.first_scn))} OR rbasqn >= {bind(since.sequence)}) AND ({kept})"
    return f"operation_code = {Mined.MISSING_SCN} OR status NOT IN (0, 2, 3, 5)\n   OR {kept}", bind.values
