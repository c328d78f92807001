"""Any history of concurrent sessions, cut into windows and batches, killed and repeated, ends as Oracle shows the tables."""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note

from pipelines import steps
from pipelines.assemble.reference import Fate, Row, assemble, fold
from pipelines.batch import Balance
from pipelines.config import WindowLimits
from pipelines.decode.changes import decode_changes
from pipelines.land import Landing, SliceRecord
from pipelines.manifest import Manifest
from pipelines.mine import REDO_SCHEMA, Reading, mine_slice, mine_whole
from pipelines.redo import Position, Window
from pipelines.schema import baseline
from pipelines.source import (
    ConnectParams,
    first_window_start,
    open_source,
    read_handover,
    read_redo_facts,
    read_tables,
)
from pipelines.steps.running import capture
from pipelines.table import TableId
from pipelines.window import NothingNew, Sealed, plan_window
from tests.fix_shop import Shop
from tests.histories import TABLES, Apply, Capture, History, Players, examples, histories, opened, play

LOG = logging.getLogger(__name__)
PDB = "FREEPDB1"
IDS = tuple(TableId("SHOP", name) for name in TABLES)


class Killed(BaseException):
    """Stands for the end of a process: nothing but the test catches it."""


@dataclass
class Folded:
    """A table as the reference folds it."""

    position: int
    rows: dict[Any, Any]
    carried: list[Row] = field(default_factory=list)


class Reference:
    """The real mining, landing and decoding; assembling and folding by their definition in plain Python, without Spark."""

    KILLED = ("slice", "manifest", "chain")

    def __init__(self, players: Players) -> None:
        self.players = players
        user = players.oracle.capture_user
        self.source = open_source(ConnectParams(user, players.oracle.passwords[user], players.oracle.root_dsn))
        self.landing = Landing(f"memory://{uuid.uuid4().hex}", "histories")
        self.landed: list[Manifest] = []  # and not yet applied
        self.told: Counter[str] = Counter()

    def close(self) -> None:
        self.source.close()
        self.landing.discard("")

    def begin(self) -> None:
        handover = read_handover(self.source)
        facts = read_redo_facts(self.source)
        current = next(i for i in facts.incarnations if i.status == "CURRENT")
        self.position = Position(facts.dbid, current.resetlogs_id, first_window_start(facts, handover.start_scn))
        note(f"contents AS OF {handover.s1}, redo from {self.position.scn}")
        found = read_tables(self.source, IDS, PDB)
        self.object_ids = {found[table].object_id: table for table in IDS}
        self.versions = {table: baseline(found[table], found[table].scn_before, None) for table in IDS}
        scn = int(handover.s1)
        self.tables = {table: Folded(scn, self.players.rows(table.name, scn)) for table in IDS}

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
        self.landing.begin(window)
        if step.killed:
            with suppress(Killed):
                self.told["kills"] += 1
                self.land(window, step.killed)
        manifest = self.land(window)
        if step.again:
            self.told["repeats"] += 1
            again = self.land(window)
            assert again.identity() == manifest.identity()
        self.landed.append(manifest)
        self.position = Position(window.dbid, window.resetlogs_id, window.scns.end)
        return True

    def land(self, window: Window, killed: str | None = None) -> Manifest:
        """As the steps do it; `killed` ends it in the middle of the last slice, before the manifest, or within it."""
        last = window.slices[-1].number
        records = [
            mine_whole(
                logs, lambda reading: self.attempt(window, reading, killed == "slice" and reading.own.number == last), list
            )
            for logs in window.slices
        ]
        if killed == "manifest":
            raise Killed
        points = mock.patch("pipelines.land.landing.point", side_effect=Killed) if killed == "chain" else nullcontext()
        with points:
            return self.landing.publish(window, IDS, records, int(window.scns.start) if self.landed else None)

    def attempt(self, window: Window, reading: Reading, killed: bool) -> SliceRecord:
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
        return self.landing.write_slice(
            window, reading.own.number, rows, uuid.uuid4().hex, schema=REDO_SCHEMA, tables=self.object_ids, names=IDS
        )

    # --- apply

    def apply(self, step: Apply) -> None:
        if not self.landed:
            return
        windows, self.landed = self.landed, []
        self.told["windows"] += len(windows)
        self.told["batches"] += 1
        rows = [row for manifest in windows for row in self.read(manifest)]
        end = windows[-1].end - 1
        note(f"batch of {len(windows)} window(s), complete to {end}")
        for table in IDS:
            landed = sum(n for w in windows for what, n in w.counts.items() if what.startswith(f"{table} "))
            landed -= sum(ddl.owner == table.owner and ddl.table == table.name for w in windows for ddl in w.ddl)
            self.fold(table, rows, landed, end)
            if step.again:
                self.fold_again(table, rows, end)

    def read(self, manifest: Manifest) -> Iterator[Row]:
        """The landed rows as the reference wants them, values decoded."""
        for file in self.landing.files_of(manifest):
            with fsspec.open(file) as opened_file:
                rows = pq.read_table(opened_file).combine_chunks()
            for batch in rows.to_batches():
                for number, table in enumerate(batch["table_name"].to_pylist()):
                    yield from self.decoded(batch.slice(number, 1), table, manifest.start)

    def decoded(self, row: pa.RecordBatch, name: str | None, window_start: int) -> Iterator[Row]:
        table = TableId("SHOP", name or "")
        if table in self.versions and row["operation_code"][0].as_py() != 5:
            assert row["operation_code"][0].as_py() in (1, 2, 3), row.to_pylist()
            row = decode_changes(row, self.versions[table], {})
        yield {**row.to_pylist()[0], "table": table, "window_start": window_start}

    def fold(self, table: TableId, rows: list[Row], landed: int, end: int) -> None:
        folded = self.tables[table]
        mine = [row for row in rows if row["operation_code"] in (6, 7, 36) or row["table"] == table]
        fates = assemble([*folded.carried, *mine], position=folded.position)
        counts = Counter(fate.disposition for fate in fates)
        problems = [fate.row for fate in fates if fate.problem]
        net = fold(self.image(table, fate) for fate in fates if fate.disposition == "applied")
        merged = {key: row for key, row in {**folded.rows, **net}.items() if row is not None}

        assert problems == []
        assert Balance(landed=landed, carried_in=len(folded.carried), **counts).difference == 0
        assert counts["undone"] % 2 == counts["rolled_back"] % 2 == 0
        carried = [fate.row for fate in fates if fate.disposition == "carried_out"]
        position = max(end, folded.position)
        assert merged == self.players.rows(table.name, position)
        self.told.update(counts)
        self.tables[table] = Folded(position, merged, carried)

    def image(self, table: TableId, fate: Fate) -> tuple[Row, Any, Any, Any]:
        assert fate.row["error"] is None, fate.row
        version = self.versions[table]
        before, after = (tuple(plain(fate.row[f"{side}{c.id}"]) for c in version.columns) for side in "on")
        return fate.row, before[0], after[0], after

    def fold_again(self, table: TableId, rows: list[Row], end: int) -> None:
        """The same windows once more, when the table is complete to their end: nothing is applied twice."""
        fates = assemble([row for row in rows if row["operation_code"] in (6, 7, 36) or row["table"] == table], position=end)

        assert {fate.disposition for fate in fates} <= {"before_position", "rolled_back", "carried_out"}


def plain(value: Any) -> Any:
    return int(value) if value is not None and not isinstance(value, str) else value


def cut_off(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first batch, and then the end of the process."""
    for batch in batches:
        yield batch
        break
    raise Killed


def test_any_history_is_folded_to_what_oracle_shows() -> None:
    told: Counter[str] = Counter()

    @examples(12)
    @given(history=histories(Reference.KILLED))
    def check(history: History) -> None:
        with opened(history.source) as players:
            copy = Reference(players)
            try:
                play(history, players, copy)
                for table in IDS:
                    assert copy.tables[table].rows == players.rows(table.name)
                    assert not copy.tables[table].carried
            finally:
                copy.close()
            told.update(copy.told)

    check()
    assert all(told[fate] for fate in ("applied", "undone", "rolled_back", "carried_out", "before_position")), told
    LOG.info("change rows by what became of them: %s", dict(told))


class Delta:
    """The pipeline itself: the steps that the DAGs name, Spark, and Delta tables."""

    CAPTURE_KILLED = ("plan", "slice", "chain")
    APPLY_KILLED = ("order", "carry-over", "merge", "table", "before manifest", "manifest")

    def __init__(self, players: Players, folder: Path, spark: Any) -> None:
        self.players, self.shop, self.spark = players, Shop(players.oracle, folder), spark
        self.source = self.shop.params
        self.pipeline = self.configured(2**30, 2**30)

    def configured(self, max_bytes: int, slice_bytes: int) -> Any:
        tables = [f"SHOP.{name}" for name in TABLES]
        return self.shop.pipeline(tables=tables, window={"max_bytes": max_bytes, "slice_bytes": slice_bytes}, mining_tasks=1)

    def begin(self) -> None:
        steps.snapshot(self.pipeline, source=self.source, spark=self.spark)
        note(f"contents AS OF {self.complete_to()}")

    def complete_to(self) -> int:
        """The SCN that both tables are complete to; neither may have been held."""
        told = steps.status(self.pipeline)["tables"]
        assert [table["error"] for table in told] == [None, None]
        (scn,) = {int(table["complete_to"]) for table in told}
        return scn

    def capture(self, step: Capture) -> None:
        pipeline = self.configured(step.max_bytes, step.slice_bytes)
        if step.killed:
            with suppress(Killed):
                self.capture_killed(pipeline, step.killed)
        while (found := capture(pipeline, self.source))["outcome"] == "window":
            note(found["reason"])
            if step.again:
                assert steps.remine(pipeline, found["window"], source=self.source)["equal"]
            if not step.all:
                break

    def capture_killed(self, pipeline: Any, killed: str) -> None:
        planned = steps.plan(pipeline, self.source)
        if killed == "plan" or planned["outcome"] != "window":
            return
        slices = planned["slices"][: 1 if killed == "slice" else None]
        records = [steps.mine(pipeline, self.source, planned["window"], number) for number in slices]
        if killed == "chain":
            with mock.patch("pipelines.land.landing.point", partial(kill_at, "land.chain")):
                steps.land(pipeline, planned["window"], records)

    def apply(self, step: Apply) -> None:
        if step.killed:
            with suppress(Killed), mock.patch("pipelines.crash.point", partial(kill_at, step.killed)):
                order = steps.prepare_apply(self.pipeline)
                if step.killed != "order" and order["batch"]:
                    steps.run_spark(self.pipeline, order["batch"], self.spark)
        order = steps.prepare_apply(self.pipeline)
        if order["batch"]:
            note(f"batch of commits in [{order['start']}, {order['end']})")
            for _ in range(2 if step.again else 1):
                steps.run_spark(self.pipeline, order["batch"], self.spark)
                steps.record_apply(self.pipeline, order["batch"])
        self.compare()

    def compare(self) -> None:
        scn = self.complete_to()
        for table in IDS:
            frame = self.spark.read.format("delta").load(self.pipeline.target(table))
            rows = [(int(row.ID), row.PLACE, int(row.QUANTITY)) for row in frame.collect()]
            assert sorted(rows) == sorted(self.players.rows(table.name, scn).values())


def kill_at(killed: str, name: str) -> None:
    if name == killed:
        raise Killed


@pytest.mark.spark
def test_any_history_ends_in_delta_as_oracle_shows_it(spark: Any) -> None:
    @examples(1)
    @given(history=histories(Delta.CAPTURE_KILLED, Delta.APPLY_KILLED, rounds=2))
    def check(history: History) -> None:
        with tempfile.TemporaryDirectory() as folder, opened(history.source) as players:
            copy = Delta(players, Path(folder), spark)
            play(history, players, copy)
            verified = steps.verify(copy.pipeline, source=copy.source, spark=spark)
            assert verified["equal"], verified

    check()
