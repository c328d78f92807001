"""A closed database on disk: state, rows and counters in one file, written whole and read whole at the next start."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standin.engine.database import Database
from standin.engine.storage import Index, TableStore, Version
from standin.engine.tables import StoreKey
from standin.model import DatabaseState

FORMAT = 4
_FILE = "database.checkpoint"


@dataclass(slots=True)
class Checkpoint:
    format: int
    scn: int
    state: DatabaseState
    stores: dict[StoreKey, dict[str, Any]]
    sequences: dict[StoreKey, list[int]]
    counters: dict[str, int]
    slots: dict[tuple[int, int, int], int]


def save(database: Database) -> None:
    """Sessions are closed by now, so every version is committed."""
    kept = Checkpoint(
        FORMAT, database.clock.scn, database.state, {key: _rows_of(store) for key, store in database.tables.stores.items()},
        database.sequences, database.counters, database.transactions.used_slots(),
    )  # fmt: skip
    part = database.directory / f"{_FILE}.part"
    part.write_bytes(pickle.dumps(kept, protocol=pickle.HIGHEST_PROTOCOL))
    part.rename(database.directory / _FILE)


def _rows_of(store: TableStore) -> dict[str, Any]:
    return {
        "rows": {row: [(v.scn, v.values) for v in versions] for row, versions in store.rows.items()},
        "next_row": store.next_row,
        "created_scn": store.created_scn,
        "structure_scn": store.structure_scn,
        "pad": store.pad,
        "indexes": [(i.name, i.columns, i.unique, i.object_id) for i in store.indexes],
    }


def load(directory: Path) -> Checkpoint | None:
    path = directory / _FILE
    if not path.exists():
        return None
    kept = pickle.loads(path.read_bytes())
    if not isinstance(kept, Checkpoint) or kept.format != FORMAT:
        raise ValueError(f"{path} was written by another version of the stand-in; remove it to start anew")
    return kept


def restore(database: Database, kept: Checkpoint) -> None:
    database.sequences, database.counters = kept.sequences, kept.counters
    database.transactions.restore_slots(kept.slots)
    for key, saved in kept.stores.items():
        store = TableStore(kept.state.tables[key], saved["created_scn"])
        store.structure_scn = saved["structure_scn"]
        store.rows = {row: [Version(scn, values, None) for scn, values in versions] for row, versions in saved["rows"].items()}
        store.next_row, store.pad = saved["next_row"], saved["pad"]
        store.indexes = [Index(*parts) for parts in saved["indexes"]]
        store.refresh(kept.state.logged_in(key[0]))
        for index in store.indexes:
            store.reindex(index)
        database.tables.stores[key] = store
