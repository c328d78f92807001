"""A pipeline on a stand-in that has run for years: its windows and batches are written as its steps would have left them, and a
round of real steps then captures, applies and shows one window more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from redolake import steps
from redolake.cockpit import read_overview
from redolake.config import Pipeline
from redolake.context import Run, ledger_url, now
from redolake.land import dictionary, layout
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.newest_batches import batch_name
from redolake.records.approvals import Approval
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.codec import encode
from redolake.records.dictionary import DictionaryReading
from redolake.records.windows import WindowManifest
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake

SCNS = 100  # of a window
ORDERS = TableId("SHOP", "ORDERS")
WHOLE_RESULTS = 5  # the newest batches, whose results name all tables
PLAIN = "plain Python in place of Spark"


class AgedPipeline:
    """Each of its windows has 100 SCNs, was planned after a dictionary reading, and is applied by a batch of its own. People
    have made so many `decisions`. Its steps run where the lake is in the place of Spark."""

    def __init__(self, shop: Shop, lake: PlainLake, windows: int, tables: int = 1, decisions: int = 0) -> None:
        self.names = [ORDERS, *(TableId("SHOP", f"T{number:05d}") for number in range(1, tables))]
        create_tables(shop, self.names)
        self.shop, self.lake, self.rounds, self.windows, self.decisions = shop, lake, 0, 0, 0
        self.pipeline: Pipeline = shop.pipeline(tables=[str(name) for name in self.names])
        steps.take_snapshot(self.pipeline, source=shop.params, spark=PLAIN)
        self.run_round()
        self.grow(windows, decisions)
        self.find_old()

    @property
    def folder(self) -> Path:
        return Path(self.pipeline.landing) / self.pipeline.name

    # --- Its past -----------------------------------------------------------------------------------------------------

    def grow(self, windows: int, decisions: int) -> None:
        """Write so many more windows, each with its batch, and decisions of people."""
        self.windows, self.decisions = self.windows + windows, self.decisions + decisions
        self.decide(decisions)
        folder, names = self.folder, self.names
        with Run(self.pipeline) as context:
            (last,) = context.landing.windows.last(1)
            content = context.landing.dictionary.content_at(context.landing.dictionary.positions()[-1])
        self.shop.oracle.database.clock.advance((windows + 1) * SCNS)
        readings = ""
        for number in range(windows):
            start, end = last.end + number * SCNS, last.end + (number + 1) * SCNS
            read = ChainPosition(last.resetlogs_id, end)
            if number % dictionary.READINGS_IN_A_FOLDER == 0:
                readings = layout.readings_folder(read)
            self.write(folder / layout.dictionary_file(read, readings), DictionaryReading(read.resetlogs_id, end, content, {}))
            made = WindowManifest(last.dbid, last.resetlogs_id, start, end, (), last.tables, {"* commit": 1}, "hash", (), ())
            self.write(folder / layout.window_manifest(made.name), made)
            self.write(folder / layout.link_of(made.name), made)
            applied = names if windows - number <= WHOLE_RESULTS else names[:1]
            done = tuple(TableResult(table, "applied", end - 1, position=end - 1, delta_version=0) for table in applied)
            result = BatchResult(self.pipeline.name, last.resetlogs_id, start, end, "t", (made.name,), done, (), ())
            self.write(folder / layout.batch_manifest(batch_name(last.resetlogs_id, start, end)), result)
        for table in self.lake.tables.values():
            table.positions = dict.fromkeys(table.positions, last.end + windows * SCNS - 1)

    def use_ledger(self, url: str) -> None:
        """Go on with another ledger, which finds everything in the landing."""
        self.pipeline = self.shop.pipeline(
            tables=[str(name) for name in self.names], **({"ledger": {"url": url}} if url else {})
        )
        self.find_old()

    def find_old(self) -> None:
        """Let the ledger find what is in the landing."""
        with Run(self.pipeline) as context:
            reconcile_ledger(context)

    def write(self, file: Path, record: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(encode(record))

    def decide(self, number: int) -> None:
        """Write so many decisions of people, one every five hours."""
        for hours in range(number, 0, -1):
            at = now() - hours * timedelta(hours=5)
            name = f"{at:%Y%m%dT%H%M%S%f}-{hours:08x}"
            made = Approval("repair", str(ORDERS), 100, "", "1 rows", "a test", "ada", at.isoformat(timespec="seconds"), name)
            self.write(self.folder / layout.approval_file(name), made)

    # --- Its steps ----------------------------------------------------------------------------------------------------

    def change(self) -> None:
        """Change a row, and let the database archive the redo of it."""
        self.rounds += 1
        self.shop.run_sql(f"INSERT INTO {ORDERS.name} VALUES ({self.rounds}, 'order {self.rounds}')")
        self.shop.switch_logs()

    def run_round(self) -> None:
        self.change()
        for _, work in self.round_steps():
            work()

    def round_steps(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the steps of one round, to be run in their order."""
        pipeline, source, found = self.pipeline, self.shop.params, list[Any]()
        yield "plan", lambda: found.append(steps.plan_next_window(Run(pipeline, source)))
        plan = found.pop()
        assert plan.window is not None, plan.reason
        records = [steps.mine_window_slice(Run(pipeline, source), plan.window, number) for number in plan.slices]
        yield "land", lambda: steps.land_window(Run(pipeline, source), plan.window, records)
        yield "prepare", lambda: found.append(steps.prepare_batch(pipeline).batch)
        batch = found.pop()
        assert batch is not None
        steps.run_spark_job(Run(pipeline, spark=PLAIN), batch)
        yield "record", lambda: steps.record_batch(pipeline, batch)

    def steps(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield all steps, to be run in their order, after some rounds: what a first one lists is not needed from then on."""
        for _ in range(3):
            self.run_round()
        self.change()
        yield from self.round_steps()
        pipeline = self.pipeline
        yield "plan of nothing", lambda: steps.plan_next_window(Run(pipeline, self.shop.params))
        yield "status", lambda: steps.read_status(pipeline)
        yield "dropped transactions", lambda: steps.list_transactions(pipeline)
        yield "windows", lambda: steps.list_windows(pipeline)
        yield "page", lambda: read_overview(pipeline, ledger_url(pipeline), now())
        yield "plan of an edit", lambda: steps.plan_edit(pipeline)


def create_tables(shop: Shop, names: Sequence[TableId]) -> None:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"CREATE TABLE {name.name} (id NUMBER(9) PRIMARY KEY, text VARCHAR2(20))")
            cursor.execute(f"ALTER TABLE {name.name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
