"""Run steps in random order, killed after any write, over any ledger: in the end live tables have every commit.

Steps, landing and ledger are the real ones. A stub replaces Spark's job: it reads a spec, writes a manifest, and keeps
in a dict each table's position and transactions. tests/e2e/test_kills_everywhere.py kills the job itself after its writes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from redolake import context as contexts
from redolake.apply.commit_ranges import plan_commit_ranges
from redolake.apply.set_back import check_not_set_back
from redolake.config import Pipeline
from redolake.context import Run, read_spec
from redolake.errors import RedolakeError, RedoNotUnderstood, Terminal, Transient
from redolake.host import crash
from redolake.job import job
from redolake.job.batch import publish_batch, read_published
from redolake.job.snapshot import write_snapshot_result
from redolake.land import layout
from redolake.land.parquet import WrittenFile
from redolake.ledger import Ledger, TableEntry
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.snapshot_start import chain_epoch
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.records.file_digest import FileDigest
from redolake.records.handover import FirstPosition
from redolake.records.jobs import Spec
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec
from redolake.records.windows import WindowManifest
from redolake.steps.apply.batch import prepare_batch, record_batch, resume_tables
from redolake.steps.shared.spark_jobs import run_spark_job
from redolake.steps.snapshots.load import prepare_snapshot_load, record_snapshot_load
from redolake.values.redo import Encoding, Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from tests.states.lost_ledger import lose_ledger
from tests.support.killed import Killed
from tests.unit.records.samples import TABLE

DBID, RESETLOGS_ID = 7, 11
TABLES = (TableId("SHOP", "PARTS"), TableId("SHOP", "BINS"))


@dataclass(slots=True)
class Killer:
    after: int | None = None  # the number of writes that the next step survives

    def is_next(self, name: str, _: Path) -> bool:
        if self.after is not None:
            self.after -= 1
            if self.after < 0:
                raise Killed(name)
        return False


@dataclass(slots=True)
class Ledgers:
    """Keep one connection per ledger file: opening it takes most of a step's time."""

    opened: dict[str, Ledger] = field(default_factory=dict)

    def open(self, url: str, pipeline: str, now: Callable[[], datetime], _: object) -> Ledger:
        if url not in self.opened:
            self.opened[url] = OPEN(url, pipeline, now)
        return self.opened[url]

    def close(self) -> None:
        for ledger in self.opened.values():
            CLOSE(ledger)
        self.opened.clear()


OPEN, CLOSE = contexts.open_ledger, Ledger.close


@dataclass(slots=True)
class Transaction:
    number: int
    begin: int
    tables: tuple[TableId, ...]
    commit: int | None = None


@dataclass(slots=True)
class Target:
    position: int
    holds: set[int]


class History:
    def __init__(self, folder: Path, seed: int, ledgers: Ledgers, killer: Killer) -> None:
        self.folder, self.chance, self.ledgers, self.killer = folder, random.Random(seed), ledgers, killer
        body = {
            "name": "shop",
            "source": {"connection": "x", "container": "PDB"},
            "landing": str(folder),
            "lake": str(folder / "lake"),
            "tables": [str(table) for table in TABLES],
        }
        self.pipeline = Pipeline.model_validate(body)
        self.scn = 100
        self.transactions: list[Transaction] = []
        self.lake: dict[TableId, Target] = {}
        self.begun: list[tuple[tuple[TableId, ...], int]] = []  # snapshots that were read and not completely loaded
        self.orders: list[str] = []
        self.understood = True  # if False, a changed table is held
        self.unended: dict[TableId, int] = {}  # loads that must be repeated
        self.log: list[str] = []

    # --- the source and its landing ---

    def work(self) -> None:
        for _ in range(self.chance.randint(1, 3)):
            self.scn += 10
            still_open = [t for t in self.transactions if t.commit is None]
            if still_open and self.chance.random() < 0.6:
                self.chance.choice(still_open).commit = self.scn
            else:
                tables = tuple(t for t in TABLES if self.chance.random() < 0.7) or TABLES[:1]
                commit = self.scn + 3 if self.chance.random() < 0.4 else None
                self.transactions.append(Transaction(len(self.transactions), self.scn, tables, commit))
        self.scn += 5

    def committed(self, table: TableId, scn: int) -> set[int]:
        return {t.number for t in self.transactions if table in t.tables and t.commit is not None and t.commit <= scn}

    def capture(self) -> None:
        with Run(self.pipeline) as context:
            reconcile_ledger(context)
            position = context.ledger.position()
            assert position is not None
            if position.scn > self.scn:
                return
            names = tuple(map(str, TABLES))
            made = WindowManifest(
                DBID, RESETLOGS_ID, int(position.scn), self.scn + 1, (), names, {}, "hash", (), ("redo.parquet",)
            )
            context.landing.files.write_record_once(f"chain/{RESETLOGS_ID:010d}-{made.start:020d}.json", made)
            self.scn += 2
            reconcile_ledger(context)

    # --- snapshots ---

    def begin(self, *tables: TableId) -> None:
        scn = self.scn
        self.scn += 1
        with Run(self.pipeline) as context:
            reconcile_ledger(context)
            if context.ledger.position() is None:
                start = min([scn, *(t.begin for t in self.transactions if t.commit is None)])
                context.landing.files.write_record_once(layout.HANDOVER, FirstPosition(DBID, RESETLOGS_ID, start, Encoding()))
                context.ledger.start_at(Position(DBID, RESETLOGS_ID, Scn(start)))
                for table in TABLES:
                    context.ledger.add_table(table, Scn(start))
            for table in tables:
                found = replace(TABLE, table=table, scn_before=Scn(scn), scn_after=Scn(scn), unique=())
                found = replace(found, object_id=7 + TABLES.index(table), data_object_id=7 + TABLES.index(table))
                oldest = min([scn, *(t.begin for t in self.transactions if t.commit is None)])
                context.landing.snapshots.begin(found, scn, chain_epoch(context), ChainPosition(RESETLOGS_ID, oldest))
                context.landing.snapshots.publish_manifest(table, scn, [WrittenFile("rows.parquet", 3, FileDigest(0, ""))])
        self.begun.append((tables, scn))

    def prepare_load(self, tables: Sequence[TableId], scn: int) -> str:
        self.unended |= dict.fromkeys(tables, scn)
        made = prepare_snapshot_load(self.pipeline, {str(table): scn for table in tables}, replace=True)
        self.orders.append(made)
        return made

    def load(self, tables: Sequence[TableId], scn: int) -> None:
        order = self.prepare_load(tables, scn)
        self.run(order)
        self.record(order)

    # --- batches ---

    def prepare(self) -> str | None:
        made: str | None = prepare_batch(self.pipeline).batch
        self.orders += [made] if made else []
        return made

    def apply(self) -> bool:
        order = self.prepare()
        if order is not None:
            self.run(order)
            self.record(order)
        return order is not None

    def record(self, order: str) -> None:
        with Run(self.pipeline) as context:
            spec = read_spec(context, order)
        if isinstance(spec, SnapshotSpec):
            record_snapshot_load(self.pipeline, order)
            self.begun = [found for found in self.begun if found[1] != spec.scn]
            for table in [t.table for t in spec.tables if self.unended.get(t.table) == spec.scn]:
                del self.unended[table]
        else:
            with suppress(Terminal):  # TableHeld is raised after everything is written
                record_batch(self.pipeline, order)

    # --- the Spark job ---

    def run(self, order: str) -> None:
        run_spark_job(Run(self.pipeline, spark=self), order)

    def job(self, spec: Spec, may_commit: Callable[[], None]) -> None:
        may_commit()
        if isinstance(spec, SnapshotSpec):
            self.run_load(spec, may_commit)
        elif isinstance(spec, BatchSpec) and read_published(spec) is None:
            self.run_batch(spec, may_commit)

    def run_load(self, spec: SnapshotSpec, may_commit: Callable[[], None]) -> None:
        for table in (task.table for task in spec.tables):
            may_commit()
            self.unended[table] = spec.scn
            if table in self.lake and self.lake[table].position >= spec.scn:
                del self.lake[table]
                crash.point("snapshot removed")
            self.lake[table] = Target(spec.scn, self.committed(table, spec.scn))
            crash.point("snapshot")
        loaded = tuple(SnapshotLoaded(task.table, "applied", True, 3) for task in spec.tables)
        write_snapshot_result(spec.manifest, SnapshotResult(spec.pipeline, spec.scn, loaded))

    def run_batch(self, spec: BatchSpec, may_commit: Callable[[], None]) -> None:
        """Apply the transactions that begin in the batch's windows or are carried over. Their rows lie where they begin."""
        numbers = {t.number for t in self.transactions if any(w.start <= t.begin < w.end for w in spec.redo.windows)}
        numbers |= {number for file in spec.redo.carry_in for number in json.loads(file)}
        rows = [t for t in self.transactions if t.number in numbers]
        carried = [t for t in rows if t.commit is None or t.commit >= spec.end]
        tables = tuple(self.apply_one(spec, task, rows, may_commit) for task in spec.tables)
        may_commit()
        crash.point("before manifest")
        result = BatchResult(
            pipeline=spec.pipeline,
            resetlogs_id=spec.resetlogs_id,
            start=spec.start,
            end=spec.end,
            token=spec.token,
            windows=tuple(window.name for window in spec.redo.windows),
            tables=tables,
            open_transactions=tuple(OpenTransaction(3, f"1.2.{t.number}", 1, t.begin, None, 1, 1, "X") for t in carried),
            carry_files=(json.dumps([t.number for t in carried]),),
        )
        publish_batch(spec, result)

    def apply_one(
        self, spec: BatchSpec, task: TableTask, rows: Sequence[Transaction], may_commit: Callable[[], None]
    ) -> TableResult:
        target = self.lake.get(task.table)
        complete_to = position = None if target is None else target.position
        error = None if task.hold is None else dict(task.hold.error)
        try:
            check_not_set_back(task, spec.start, position, None)
            for piece in plan_commit_ranges(task, spec.scns, -1 if position is None else position):
                may_commit()
                if target is None:
                    raise Terminal("the target table is not there", cure="")
                brought = {
                    t.number for t in rows if task.table in t.tables and t.commit and piece.start <= t.commit < piece.end
                }
                if brought and not self.understood:
                    raise RedoNotUnderstood("a row cannot be read", cure="", table=task.table)
                if brought:
                    target.holds |= brought
                    target.position = int(piece.last_scn)
                    crash.point("merge")
                complete_to = int(piece.last_scn)
        except Transient:
            raise
        except RedolakeError as stopped:
            error = stopped.as_dict()
        left = None if target is None else target.position
        return TableResult(task.table, "held" if error else "applied", complete_to, error, position=left)

    # --- held tables ---

    def understand(self) -> None:
        self.understood = not self.understood
        self.log.append("understood" if self.understood else "not understood")

    def resume(self, table: TableId) -> None:
        resume_tables(self.pipeline, [str(table)])

    # --- ledgers ---

    def keep_ledger(self) -> None:
        kept = self.folder / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for file in self.folder.glob("redolake-ledger.db*"):
            shutil.copy(file, kept)

    def lose_ledger(self) -> None:
        self.ledgers.close()
        lose_ledger(self.folder)

    def put_back_ledger(self) -> None:
        self.lose_ledger()
        for file in (self.folder / "kept").glob("*"):
            shutil.copy(file, self.folder)

    # --- random steps ---

    def do(self, step: Callable[..., Any], *arguments: Any, writes: int = 0) -> Any:
        """Run a step; sometimes kill it after one of its first `writes`. An error is a valid answer."""
        self.killer.after = self.chance.randrange(writes) if writes and self.chance.random() < 0.35 else None
        outcome, answer = "", None
        try:
            answer = step(*arguments)
        except (Killed, Transient, Terminal) as stopped:
            outcome = f" -> {type(stopped).__name__}: {stopped}"[:150]
        finally:
            self.killer.after = None
        self.log.append(f"{step.__name__} {', '.join(map(str, arguments))}{outcome}")
        return answer

    def something(self) -> None:
        what = self.chance.choices(
            [
                self.work,
                self.capture,
                self.apply,
                self.begin,
                self.load,
                self.late,
                self.resume,
                self.understand,
                self.another_ledger,
            ],
            [20, 20, 20, 10, 12, 10, 5, 5, 7],
        )[0]
        if what == self.begin:
            self.do(what, *self.chance.choice([TABLES[:1], TABLES[1:], TABLES]), writes=10)
        elif what == self.load:
            for snapshot in self.chance.choices(self.begun, k=1) if self.begun else ():
                self.do(what, *snapshot, writes=20)
        elif what == self.resume:
            self.do(what, self.chance.choice(TABLES), writes=3)
        elif what in (self.late, self.understand, self.another_ledger):
            what()
        else:
            self.do(what, writes=0 if what == self.work else 20)

    def late(self) -> None:
        """Run one task alone, as after clearing a DAG run, or as a run that is late."""
        what = self.chance.choice([self.run, self.run, self.record, self.record, self.prepare, self.prepare_load])
        if what in (self.run, self.record):
            self.do(what, self.chance.choice(self.orders[-4:]), writes=6)
        elif what == self.prepare:
            self.do(what, writes=4)
        elif self.begun:
            self.do(what, *self.begun[-1], writes=4)

    def another_ledger(self) -> None:
        self.do(self.chance.choice([self.keep_ledger, self.keep_ledger, self.lose_ledger, self.put_back_ledger]))

    def goes_on_undisturbed(self) -> None:
        """Complete every load, understand every row, and run the DAGs. A table whose load seems in progress to an older ledger
        gets another load, as from `redolake run`."""
        self.understood = True
        for table, scn in list(self.unended.items()):
            self.do(self.load, (table,), scn)
        if self.chance.random() < 0.5:
            self.do(self.lose_ledger)
        for table in [table for table, entry in self.entries().items() if entry.state == "snapshotting"]:
            self.do(self.begin, table)
            self.do(self.load, *self.begun[-1])
        self.work()
        self.capture()
        self.catch_up()

    def catch_up(self) -> None:
        batches = 0
        while self.apply():
            batches += 1
            assert batches < 50, self.log

    def entries(self) -> dict[TableId, TableEntry]:
        with Run(self.pipeline) as context:
            reconcile_ledger(context)
            return {entry.table: entry for entry in context.ledger.tables()}

    def check(self) -> None:
        entries = self.entries()
        for table in TABLES:
            found = (entries[table].state, entries[table].error, entries[table].position.scn, self.lake[table].holds)
            expected = ("live", None, max(self.scn - 2, self.lake[table].position), self.committed(table, self.scn))
            assert found == expected, "\n".join([str(table), *self.log])


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Killer:
    found = Killer()
    monkeypatch.setenv(crash.VARIABLE, "/at/each/write")
    monkeypatch.setattr(crash, "is_new", found.is_next)
    return found


@pytest.fixture
def ledgers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledgers]:
    found = Ledgers()
    monkeypatch.setattr(contexts, "open_ledger", found.open)
    monkeypatch.setattr(Ledger, "close", lambda _: None)
    monkeypatch.setattr(job, "run", lambda history, spec, _, may_commit: history.job(spec, may_commit))
    yield found
    found.close()


@pytest.fixture
def history(tmp_path: Path, ledgers: Ledgers, killer: Killer, request: pytest.FixtureRequest) -> History:
    """A history with both tables loaded."""
    made = History(tmp_path, getattr(request, "param", 0), ledgers, killer)
    made.work()
    made.begin(*TABLES)
    made.load(*made.begun[0])
    return made


SEED, HISTORIES = int(os.environ.get("REDOLAKE_SEED", "0")), int(os.environ.get("REDOLAKE_HISTORIES", "10"))


@pytest.mark.parametrize("history", range(SEED, SEED + HISTORIES), indirect=True)
def test_live_tables_have_every_commit_in_the_end(history: History) -> None:
    for _ in range(40):
        history.something()
    history.goes_on_undisturbed()
    for table in [table for table, entry in history.entries().items() if entry.state == "held"]:
        history.do(history.resume, table)
    history.catch_up()
    history.check()
    history.lose_ledger()
    history.check()
    history.goes_on_undisturbed()
    history.check()


def test_a_load_does_not_run_after_a_batch_that_its_spec_does_not_name(history: History) -> None:
    """The ledger is replaced by its copy from the preparation of the load, so no lease shows the later batch."""
    history.begin(TABLES[0])
    order = history.prepare_load(*history.begun[0])
    history.keep_ledger()
    history.lose_ledger()
    history.work()
    history.capture()
    assert history.apply()
    holds = set(history.lake[TABLES[0]].holds)
    history.put_back_ledger()

    with pytest.raises(Terminal, match="brought the table beyond"):
        history.run(order)
    assert history.lake[TABLES[0]].holds == holds
    history.goes_on_undisturbed()
    history.check()
