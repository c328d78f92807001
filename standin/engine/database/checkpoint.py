"""The file of a closed database: state, rows and counters, written whole at close and read whole at the next start."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standin.engine.database.database import Database
from standin.engine.database.tables import StoreKey
from standin.engine.storage.segment import Rows, Version
from standin.engine.storage.storage import Index, TableStore
from standin.model import DatabaseState, NumberSequence
from standin.zones import session_zone

FORMAT = 8
_FILE = "database.checkpoint"


@dataclass(slots=True)
class Checkpoint:
    format: int
    scn: int
    state: DatabaseState
    stores: dict[StoreKey, dict[str, Any]]
    sequences: dict[StoreKey, NumberSequence]
    counters: dict[str, int]
    slots: dict[tuple[int, int, int], int]


def save(database: Database) -> None:
    """Write the file. All sessions are closed, so every row version is committed."""
    checkpoint = Checkpoint(
        FORMAT, database.clock.scn, database.state, {key: _rows_of(store) for key, store in database.tables.stores.items()},
        database.sequences, database.counters, database.transactions.used_slots(),
    )  # fmt: skip
    part = database.directory / f"{_FILE}.part"
    part.write_bytes(pickle.dumps(checkpoint, protocol=pickle.HIGHEST_PROTOCOL))
    part.rename(database.directory / _FILE)


def _rows_of(store: TableStore) -> dict[str, Any]:
    return {
        "rows": {row: [(v.scn, v.values) for v in versions] for row, versions in store.rows.items()},
        "next_row": store.next_row,
        "created_scn": store.created_scn,
        "structure_scn": store.structure_scn,
        "pad": store.pad,
        "indexes": [(i.name, i.columns, i.unique, i.object_id, i.kind, i.constraint, i.usable) for i in store.indexes],
        "parts": {row: part.object_id for row, part in store.part_of.items()},
    }


def load(directory: Path) -> Checkpoint | None:
    path = directory / _FILE
    if not path.exists():
        return None
    checkpoint = pickle.loads(path.read_bytes())
    if not isinstance(checkpoint, Checkpoint) or checkpoint.format != FORMAT:
        raise ValueError(f"{path} was written by another version of the stand-in. Remove it to start with an empty database.")
    return checkpoint


def restore(database: Database, checkpoint: Checkpoint) -> None:
    database.sequences, database.counters = checkpoint.sequences, checkpoint.counters
    database.transactions.restore_slots(checkpoint.slots)
    for key, table in checkpoint.stores.items():
        store = TableStore(checkpoint.state.tables[key], table["created_scn"])
        store.structure_scn = table["structure_scn"]
        store.rows = Rows(
            (row, [Version(scn, values, None) for scn, values in versions]) for row, versions in table["rows"].items()
        )
        store.next_row, store.pad = table["next_row"], table["pad"]
        how = store.definition.partitioning
        parts = {part.object_id: part for part in how.leaves} if how else {}
        store.part_of = {row: parts[object_id] for row, object_id in table["parts"].items() if object_id in parts}
        store.indexes = [Index(*parts) for parts in table["indexes"]]
        store.database_zone = session_zone(checkpoint.state.time_zone)
        store.refresh(checkpoint.state.logged_in(key[0]))
        for index in store.indexes:
            store.reindex(index)
        database.tables.stores[key] = store
        database.plans.by_session |= store.definition.temporary
