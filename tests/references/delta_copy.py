"""Copy a history by the pipeline itself: the steps of the DAGs, Spark and Delta, killed at named points."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
from hypothesis import note

from redolake import steps
from redolake.context import Run
from redolake.steps.run import capture
from tests.fixtures.shop import Shop
from tests.generated.histories import TABLES, Apply, Capture, History, abreast, drawn, histories
from tests.generated.history_clients import Clients, opened, play
from tests.references.assemble_reference import NO_XID, UNKNOWN_SQN
from tests.references.delta_table import delta_rows
from tests.references.reference_copy import IDS
from tests.support.killed import Killed

ABREAST = int(os.environ.get("REDOLAKE_ABREAST", 3))
PIECE = 4000  # bytes of a statement that LogMiner shows in one row
DISPOSITIONS = ("applied", "undone", "rolled_back", "carried_out", "before_position", "held")


class DeltaCopy:
    CAPTURE_KILLED = ("plan", "slice", "chain")
    APPLY_KILLED = ("order", "carry-over", "merge", "before manifest", "record")

    def __init__(self, clients: Clients, folder: Path, spark: Any) -> None:
        self.clients, self.shop, self.spark = clients, Shop(clients.oracle, folder), spark
        self.totals: Counter[str] = Counter()
        self.source = self.shop.params
        self.pipeline = self.configured(2**30, 2**30)

    def configured(self, max_bytes: int, slice_bytes: int) -> Any:
        keys = {name: self.clients.key(name) for name in TABLES}
        tables = [{"table": f"SHOP.{name}", "key": ["ID"] if key == "columns" else key} for name, key in keys.items()]
        return self.shop.pipeline(
            tables=tables, window={"max_bytes": max_bytes, "slice_bytes": slice_bytes}, parallel_sessions=1
        )

    def begin(self) -> None:
        steps.take_snapshot(self.pipeline, source=self.source, spark=self.spark)
        note(f"contents AS OF {self.complete_to()}")

    def complete_to(self) -> int:
        """Return the SCN that both tables are complete to; fail when one is held."""
        tables = steps.read_status(self.pipeline).tables
        errors = [table.error for table in tables]
        assert errors == [None, None], errors
        (scn,) = {int(table.complete_to_scn or 0) for table in tables}
        return scn

    def capture(self, step: Capture) -> None:
        pipeline = self.configured(step.max_bytes, step.slice_bytes)
        if step.killed:
            with suppress(Killed):
                self.capture_killed(pipeline, step.killed)
        while (found := capture(Run(pipeline, self.source)).plan).window:
            note(found.reason)
            if step.again:
                self.totals["windows mined again"] += 1
                assert steps.remine_window(Run(pipeline, self.source), found.window).equal
            if not step.all:
                break

    def capture_killed(self, pipeline: Any, killed: str) -> None:
        planned = steps.plan_next_window(Run(pipeline, self.source))
        if planned.window is None:
            return
        self.totals[f"killed: {killed}"] += 1
        if killed == "plan":
            return
        slices = planned.slices[: 1 if killed == "slice" else None]
        records = [steps.mine_window_slice(Run(pipeline, self.source), planned.window, number) for number in slices]
        if killed == "chain":
            with mock.patch("redolake.land.windows.point", partial(kill_at, "land.chain")):
                steps.land_window(pipeline, planned.window, records)

    def apply(self, step: Apply) -> None:
        if step.killed:
            with suppress(Killed), mock.patch("redolake.host.crash.point", partial(kill_at, step.killed)):
                prepared = steps.prepare_batch(self.pipeline)
                self.totals[f"killed: {step.killed}"] += bool(prepared.batch)
                if step.killed != "order" and prepared.batch:
                    steps.run_spark_job(Run(self.pipeline, spark=self.spark), prepared.batch)
        prepared = steps.prepare_batch(self.pipeline)
        if prepared.batch:
            note(f"batch of commits in [{prepared.start_scn}, {prepared.end_scn})")
            self.totals["batches"] += 1
            for again in (False, True) if step.again else (False,):
                self.totals["batches run again"] += again
                result: Any = steps.run_spark_job(Run(self.pipeline, spark=self.spark), prepared.batch)
                steps.record_batch(self.pipeline, prepared.batch)
            for table in result.tables:
                self.totals.update({name: getattr(table.balance, name) for name in DISPOSITIONS})
        self.compare()

    def compare(self) -> None:
        scn = self.complete_to()
        for table in IDS:
            found = delta_rows(self.pipeline.target(table))
            rows = [(int(row["ID"]), row["PLACE"], int(row["QUANTITY"])) for row in found]
            assert Counter(rows) == Counter(self.clients.rows(table.name, scn).values()), table

    def figures(self) -> Counter[str]:
        """Count what the landed redo of the history contains."""
        windows = self.shop.folder / "landing" / self.pipeline.name / "windows"
        rows = [row for file in windows.glob("*/*.parquet") for row in pq.read_table(file).to_pylist()]
        changes = [row for row in rows if row["operation_code"] in (1, 2, 3)]
        commits = Counter((row["scn"], row["xid"] == row["pxid"]) for row in rows if row["operation_code"] == 7)
        partly = [name for name in TABLES if self.clients.source.logs_keys and self.clients.key(name) == "primary"]
        self.totals.update(
            {
                "histories": self.clients.abreast,
                "windows": len(list(windows.glob("*/manifest.json"))),
                "change rows": len(changes),
                "of parallel servers": sum(row["pxid"] not in (None, NO_XID, row["xid"]) for row in changes),
                "undo rows": sum(bool(row["rollback"]) for row in changes),
                "of an unknown XIDSQN": sum(row["xid"].endswith(UNKNOWN_SQN) for row in rows),
                "partial updates": sum(row["operation_code"] == 3 and row["table_name"] in partly for row in changes),
                "statements in several pieces": sum(len(row["sql_redo"] or "") > PIECE for row in changes),
                "commits at a common SCN": sum(count for (_, alone), count in commits.items() if alone and count > 1),
                "XIDs in two containers": self.clients.twins,
                f"second table: {self.clients.source.second_key}": 1,
                f"redo threads: {self.clients.source.threads}": 1,
            }
        )
        return self.totals


def kill_at(killed: str, name: str) -> None:
    if name == killed:
        raise Killed


@contextmanager
def play_into_delta(history: History, spark: Any) -> Iterator[DeltaCopy]:
    """Play the whole history, compare the Delta tables with Oracle after every batch; then yield the copy."""
    with tempfile.TemporaryDirectory() as folder, opened(history.source, history.abreast) as clients:
        copy = DeltaCopy(clients, Path(folder), spark)
        play(history, clients, copy)
        yield copy


def several_abreast(number: int, at: int) -> list[History]:
    """Draw `number` histories, ABREAST at a time combined into one: the cost of a batch depends little on its size."""
    found = drawn(histories(DeltaCopy.CAPTURE_KILLED, DeltaCopy.APPLY_KILLED, rounds=2, partial=True), number, at)
    return [abreast(found[n : n + ABREAST], n) for n in range(0, len(found), ABREAST)]
