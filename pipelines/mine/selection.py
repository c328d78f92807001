"""Which rows LogMiner is asked for: a predicate with binds for any number of tables and object ids.

It only saves transfer: LogMiner reads the whole redo either way. A row is kept by name or id, or when LogMiner could not
resolve it, never by id alone: an interval partition born a moment ago has an id that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice

from pipelines.redo import CONTROL, Operation
from pipelines.table import TableId

LIST_LIMIT = 500  # an IN list takes 1000 (ORA-01795)
NOT_CHANGES = (Operation.INTERNAL, Operation.SELECT_FOR_UPDATE)
UNRESOLVED = (
    "seg_owner IS NULL",
    "seg_owner = 'UNKNOWN'",
    "table_name IS NULL",
    "table_name LIKE 'OBJ# %'",
    "table_name LIKE 'BIN$%'",
)


def listed(codes: Iterable[Operation]) -> str:
    return ", ".join(map(str, codes))


def chunks(values: Iterable[object]) -> Iterable[list[object]]:
    rest = iter(values)
    while chunk := list(islice(rest, LIST_LIMIT)):
        yield chunk


class Binds:
    """Names the values as they are put into the text."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def __call__(self, value: object) -> str:
        name = f"b{len(self.values)}"
        self.values[name] = value
        return f":{name}"


def predicate(tables: Sequence[TableId], object_ids: frozenset[int], container: str | None) -> tuple[str, dict[str, object]]:
    """The text behind WHERE, and its binds.

    A hole or a corrupt block concerns everybody, so those rows pass whatever container or name they carry. Starts and
    ends of transactions pass with the container unknown as well, and so does DDL: that of one table may be about another.
    """
    bind = Binds()
    captured = list(UNRESOLVED)
    for owner, group in groupby(sorted(tables), key=lambda t: t.owner):
        for names in chunks(t.name for t in group):
            captured.append(f"seg_owner = {bind(owner)} AND table_name IN ({', '.join(map(bind, names))})")
    for ids in chunks(sorted(object_ids)):
        captured.append(f"data_obj# IN ({', '.join(map(bind, ids))})")
    ours = "\n       OR ".join(f"({c})" for c in captured)
    frame = f"operation_code IN ({listed(CONTROL)})"
    kept = f"{frame}\n   OR operation_code NOT IN ({listed(NOT_CHANGES)}) AND (\n          {ours})"
    if container is not None:
        kept = f"(src_con_name = {bind(container)} OR src_con_name IS NULL) AND ({kept})"
    return f"operation_code = {Operation.MISSING_SCN} OR status NOT IN (0, 2, 3, 5)\n   OR {kept}", bind.values
