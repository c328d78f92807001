"""Copy a history without Spark: the pipeline mines, lands and decodes it; the reference assembles and folds it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import note

from redolake.config import WindowLimits
from redolake.decode.changes import decode_changes
from redolake.land.landing import Landing
from redolake.mine import LogSet, mine_from_any_copy, mine_slice
from redolake.records.batches.manifest import RowAccount
from redolake.records.windows import SliceRecord, WindowManifest
from redolake.schema import baseline
from redolake.source import (
    ConnectParams,
    first_window_start,
    open_source,
    read_handover,
    read_redo_facts,
    read_tables,
)
from redolake.values.redo import Position, Window
from redolake.values.table import TableId
from redolake.window import NothingNew, Sealed, plan_window
from tests.generated.histories import TABLES, Apply, Capture, History
from tests.generated.history_clients import Clients, opened, play
from tests.references.assemble_reference import DisposedRow, Row, assemble, fold
from tests.support.killed import Killed

PDB = "FREEPDB1"
IDS = tuple(TableId("SHOP", name) for name in TABLES)


@dataclass
class Folded:
    """A table as folded by the reference."""

    position: int
    rows: dict[Any, Any]
    carried: list[Row] = field(default_factory=list)


class ReferenceCopy:
    """Mines, lands and decodes with the pipeline's code; assembles and folds with the reference, in plain Python."""

    KILLED = ("slice", "manifest", "chain")

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        user = clients.oracle.capture_user
        self.source = open_source(ConnectParams(user, clients.oracle.passwords[user], clients.oracle.root_dsn))
        self.landing = Landing(f"memory://{uuid.uuid4().hex}", "histories")
        self.landed: list[WindowManifest] = []  # and not yet applied
        self.raw: list[Row] = []  # all rows, as landed
        self.totals: Counter[str] = Counter()

    def close(self) -> None:
        self.source.close()
        self.landing.files.remove("")

    def begin(self) -> None:
        handover = read_handover(self.source, PDB)
        facts = read_redo_facts(self.source)
        current = next(i for i in facts.incarnations if i.status == "CURRENT")
        self.position = Position(facts.dbid, current.resetlogs_id, first_window_start(facts, handover.start_scn))
        note(f"contents AS OF {handover.snapshot_scn}, redo from {self.position.scn}")
        found = read_tables(self.source, IDS, PDB)
        self.object_ids = {found[table].object_id: table for table in IDS}
        self.versions = {table: baseline(found[table], found[table].scn_before, None) for table in IDS}
        scn = int(handover.snapshot_scn)
        self.begun = scn
        self.tables = {table: Folded(scn, self.clients.rows(table.name, scn)) for table in IDS}

    # --- capture

    def capture(self, step: Capture) -> None:
        while self.capture_one(step) and step.all:
            pass

    def capture_one(self, step: Capture) -> bool:
        limits = WindowLimits(max_bytes=step.max_bytes, slice_bytes=step.slice_bytes)
        planned = plan_window(self.position, read_redo_facts(self.source), limits)
        if isinstance(planned, NothingNew):
            return False
        assert isinstance(planned, Sealed), planned
        window = planned.window
        note(f"window {window.scns}")
        if step.killed:
            with suppress(Killed):
                self.totals["kills"] += 1
                self.land(window, step.killed)
        manifest = self.land(window)
        if step.again:
            self.totals["repeats"] += 1
            again = self.land(window)
            assert again.identity() == manifest.identity()
        self.landed.append(manifest)
        self.position = Position(window.dbid, window.resetlogs_id, window.scns.end)
        return True

    def land(self, window: Window, killed: str | None = None) -> WindowManifest:
        """Mine and land as the steps do. `killed` ends it within the last slice, before the manifest or in its writing."""
        last = window.slices[-1].number
        records = [
            mine_from_any_copy(
                logs, lambda reading: self.attempt(window, reading, killed == "slice" and reading.own.number == last), list
            )
            for logs in window.slices
        ]
        if killed == "manifest":
            raise Killed
        points = mock.patch("redolake.land.windows.point", side_effect=Killed) if killed == "chain" else nullcontext()
        with points:
            return self.landing.windows.publish(window, IDS, records, int(window.scns.start) if self.landed else None)

    def attempt(self, window: Window, reading: LogSet, killed: bool) -> SliceRecord:
        mining = mine_slice(
            self.source,
            reading,
            window,
            tables=IDS,
            object_ids=frozenset(self.object_ids),
            container=PDB,
            fetch_rows=9,
        )
        rows = cut_off(iter(mining)) if killed else iter(mining)
        return self.landing.windows.write_slice(
            window, reading.own.number, rows, uuid.uuid4().hex, tables=self.object_ids, names=IDS
        )

    # --- apply

    def apply(self, step: Apply) -> None:
        if not self.landed:
            return
        windows, self.landed = self.landed, []
        self.totals["windows"] += len(windows)
        self.totals["batches"] += 1
        rows = [row for manifest in windows for row in self.read(manifest)]
        end = windows[-1].end - 1
        note(f"batch of {len(windows)} window(s), complete to {end}")
        for table in IDS:
            kinds = [f"{table} {operation}" for operation in ("insert", "update", "delete")]
            landed = sum(w.counts.get(kind, 0) for w in windows for kind in kinds)
            self.fold(table, rows, landed, end)
            if step.again:
                self.fold_again(table, rows, end)

    def read(self, manifest: WindowManifest) -> Iterator[Row]:
        """Yield the landed rows in the reference's form, with decoded values."""
        for file in self.landing.windows.files_of(manifest):
            with fsspec.open(file) as opened_file:
                rows = pq.read_table(opened_file)
            self.raw += ({**row, "window_start": manifest.start} for row in rows.to_pylist())
            is_change = pc.is_in(rows["operation_code"], pa.array([1, 2, 3], pa.int32()))
            for table in IDS:
                own = pc.and_(pc.equal(rows["table_name"], table.name), pc.not_equal(rows["operation_code"], 5))
                assert not pc.any(pc.and_(own, pc.invert(is_change))).as_py(), rows.filter(own).to_pylist()
                for batch in rows.filter(own).combine_chunks().to_batches():
                    decoded = decode_changes(batch, self.versions[table], {}).to_pylist()
                    yield from ({**row, "table": table, "window_start": manifest.start} for row in decoded)
            ends = rows.filter(pc.is_in(rows["operation_code"], pa.array([6, 7, 36], pa.int32()))).to_pylist()
            yield from ({**row, "table": None, "window_start": manifest.start} for row in ends)

    def fold(self, table: TableId, rows: list[Row], landed: int, end: int) -> None:
        folded = self.tables[table]
        mine = [row for row in rows if row["operation_code"] in (6, 7, 36) or row["table"] == table]
        disposed = assemble([*folded.carried, *mine], position=folded.position)
        counts = Counter(change.disposition for change in disposed)
        problems = [change.row for change in disposed if change.problem]
        net = fold(self.image(table, change) for change in disposed if change.disposition == "applied")
        merged = {key: row for key, row in {**folded.rows, **net}.items() if row is not None}

        assert problems == []
        assert RowAccount(landed=landed, carried_in=len(folded.carried), **counts).difference == 0
        assert counts["undone"] % 2 == counts["rolled_back"] % 2 == 0
        carried = [change.row for change in disposed if change.disposition == "carried_out"]
        position = max(end, folded.position)
        assert merged == self.clients.rows(table.name, position)
        self.totals.update(counts)
        self.tables[table] = Folded(position, merged, carried)

    def image(self, table: TableId, change: DisposedRow) -> tuple[Row, Any, Any, Any]:
        assert change.row["error"] is None, change.row
        version = self.versions[table]
        before, after = (tuple(plain(change.row[f"{side}{c.id}"]) for c in version.columns) for side in "on")
        if self.clients.key(table.name) in ("rowid", "append"):
            return change.row, change.row["row_id"], change.row["row_id"], after
        return change.row, before[0], after[0], after

    def fold_again(self, table: TableId, rows: list[Row], end: int) -> None:
        """Assemble the same windows again, with the table complete to their end: nothing is applied twice."""
        disposed = assemble([row for row in rows if row["operation_code"] in (6, 7, 36) or row["table"] == table], position=end)

        assert {change.disposition for change in disposed} <= {"before_position", "rolled_back", "carried_out"}


@contextmanager
def play_into_reference(history: History) -> Iterator[ReferenceCopy]:
    """Play the whole history, fold it, compare each batch with Oracle; then yield the copy."""
    with opened(history.source, history.abreast) as clients:
        copy = ReferenceCopy(clients)
        try:
            play(history, clients, copy)
            copy.totals["XIDs in two containers"] = clients.twins
            yield copy
        finally:
            copy.close()


def plain(value: Any) -> Any:
    return int(value) if value is not None and not isinstance(value, str) else value


def cut_off(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first batch, then end the process."""
    for batch in batches:
        yield batch
        break
    raise Killed
