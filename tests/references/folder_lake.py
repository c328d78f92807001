"""A plain lake in files: a process that is killed leaves to the next one what it had written, as it would in Delta.

It passes those points of Spark's job that it has too (`host/crash.py`): after the carry-over and each table, and before
the manifest.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from redolake.errors import SchemaConflict
from redolake.host import crash
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.records.batches.spec import BatchSpec, TableTask
from tests.references.assemble_reference import assemble
from tests.references.plain_lake import Drops, PlainLake, PlainTable, Rows, is_change, raw_redo

FILE = "plain.pickle"


@dataclass(frozen=True, slots=True)
class Pickles(MutableMapping[str, Any]):
    """Values by folder, each in a file of its own that is replaced at once; `point` is passed after each write."""

    point: str = ""

    def __getitem__(self, folder: str) -> Any:
        file = Path(folder, FILE)
        if not file.exists():
            raise KeyError(folder)
        return pickle.loads(file.read_bytes())

    def __setitem__(self, folder: str, value: Any) -> None:
        file = Path(folder, FILE)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".new").write_bytes(pickle.dumps(value))
        file.with_suffix(".new").rename(file)
        if self.point:
            crash.point(self.point)

    def __delitem__(self, folder: str) -> None:
        Path(folder, FILE).unlink()

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError("nobody lists the tables")

    def __len__(self) -> int:
        raise NotImplementedError("nobody counts the tables")


@dataclass(slots=True)
class FolderLake(PlainLake):
    tables: MutableMapping[str, PlainTable] = field(default_factory=lambda: Pickles("merge"))

    def apply_one(
        self,
        spec: BatchSpec,
        task: TableTask,
        landed: Sequence[tuple[int, pa.Table]],
        carried_out: dict[str, Rows],
        drops: Drops,
    ) -> TableResult:
        if task.destination.target in self.tables:
            return PlainLake.apply_one(self, spec, task, landed, carried_out, drops)
        if task.destination.shadow_from is None:
            return self.hold(spec, task, landed, carried_out)
        self.tables[task.destination.target] = PlainTable({task.destination.app_id: task.destination.shadow_from - 1}, {})
        return PlainLake.apply_one(self, spec, task, landed, carried_out, drops)

    def hold(
        self, spec: BatchSpec, task: TableTask, landed: Sequence[tuple[int, pa.Table]], carried_out: dict[str, Rows]
    ) -> TableResult:
        """Hold a table that is missing; its open transactions are carried over all the same."""
        rows = [row for start, part in landed for row in raw_redo(part, start, task)]
        carried = self.carried_in(spec, task)
        left = [dict(change.row) for change in assemble([*carried, *rows], position=-1) if change.disposition == "carried_out"]
        carried_out[task.destination.target] = left
        changes = sum(map(is_change, rows))
        held = changes + len(carried) - len(left)
        account = RowAccount(landed=changes, carried_in=len(carried), carried_out=len(left), held=held)
        error = SchemaConflict(
            "the table is missing", cure="snapshot", table=task.table, path=task.destination.target
        ).as_dict()
        return TableResult(task.table, "held", None, error, balance=account, position=None)


def rows_in_folder(path: str) -> list[dict[str, Any]]:
    """Return the rows of a table whose numbers are all whole ones."""
    table = FolderLake().tables[path]
    assert table.version is not None
    columns = [(column.name, column.type.name == "NUMBER") for column in table.version.columns]
    return [
        {
            name: int(value) if is_number and value is not None else value
            for (name, is_number), value in zip(columns, row, strict=True)
        }
        for row in table.rows.values()
    ]
