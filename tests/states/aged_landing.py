"""A pipeline that has run for years: as many landed and applied windows as wanted, and what its steps cost then.

Costs are counted: names that are listed, other requests of files, statements of the ledger. They are the same on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import Engine, event

from redolake.cockpit import read_overview
from redolake.context import Run, ledger_url, now
from redolake.land import dictionary, layout
from redolake.land.files import Files
from redolake.reconcile.ledger import reconcile_ledger
from redolake.records.batches.manifest import BatchResult, DroppedRows, TableResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import encode
from redolake.records.dictionary import DictionaryReading
from redolake.records.drops import DroppedTransaction
from redolake.steps.apply.batch import prepare_batch, record_batch
from redolake.steps.apply.transactions import list_transactions
from redolake.steps.plan_edit import plan_edit
from redolake.steps.shared.status import list_windows, read_status
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import OracleType
from tests.unit.reconcile.pipeline_on_disk import FIRST, OPEN, ORDERS, PipelineOnDisk
from tests.unit.records.samples import TABLE

SCNS = 100
READS = ("read", "exists", "create", "time_of")


@dataclass(frozen=True, slots=True)
class Cost:
    """`requests` are those of files and objects, and of 1,000 listed names each. `listed` are the names that S3 lists,
    which begins after one, and `on_disk` those of whole folders."""

    listed: int
    on_disk: int
    requests: int
    statements: int


class AgedLanding(PipelineOnDisk):
    """Windows of 100 SCNs from SCN 100 on, each applied by a batch of its own, each planned after a dictionary reading."""

    def __init__(self, folder: Path, windows: int) -> None:
        super().__init__(folder)
        self.load(120)
        self.end, self.landed = 100, 0
        with Run(self.pipeline) as context:
            column = replace(TABLE.columns[0], type=OracleType("NUMBER", precision=9, scale=0))
            found = replace(
                TABLE,
                table=ORDERS,
                columns=(column,),
                object_id=4711,
                data_object_id=4711,
                scn_before=Scn(120),
                scn_after=Scn(120),
            )
            context.landing.dictionary.write_dictionary(FIRST, 120, [found])
        (name,) = self.files.names(f"{layout.DICTIONARY}/contents")
        self.content = name.removesuffix(".json")
        drop = DroppedTransaction(OPEN, FIRST, 200, "forgotten session", "ada", "2026-01-02T04:00:00+00:00", {str(ORDERS): 2})
        self.write(layout.drop_file(drop.name), drop)
        counted = DroppedRows(OPEN.con_id, OPEN.xid, OPEN.start_scn, {str(ORDERS): 1})
        ends = {1: (counted,), 2: (replace(counted, end_scn=350, committed=True),)}  # by number of the batch that names it
        for number in range(windows):
            self.land_one()
            self.batch(self.last, dropped=ends.get(number, ()))
        with Run(self.pipeline) as context:
            reconcile_ledger(context)

    def land_one(self) -> None:
        """Land one more window, after a dictionary reading."""
        at = ChainPosition(FIRST, self.end + SCNS + 1)
        if self.landed % dictionary.READINGS_IN_A_FOLDER == 0:
            self.readings = layout.readings_folder(at)
        self.landed += 1
        self.write(layout.dictionary_file(at, self.readings), encode(DictionaryReading(FIRST, at.scn, self.content, {})))
        self.last, self.end = self.window(self.end, self.end + SCNS), self.end + SCNS

    def apply(self, location: str) -> None:
        """Write the manifest that the job of a prepared batch would leave."""
        spec = self.files.read_record(BatchSpec, location.removeprefix(self.files.location("")).lstrip("/"))
        assert spec is not None
        done = TableResult(ORDERS, "applied", spec.end - 1, position=spec.end - 1)
        names = tuple(window.name for window in spec.redo.windows)
        result = BatchResult(spec.pipeline, spec.resetlogs_id, spec.start, spec.end, spec.token, names, (done,), (), ())
        self.files.create_record(layout.batch_manifest(layout.name_of(spec.manifest)), result)

    def steps(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the steps of one round, to be run in their order: one more window lands and is applied."""
        for _ in range(3):  # the first is prepared with a listing, which is not needed from then on
            self.land_one()
            self.run_batch()
        self.land_one()
        yield "plan and land", self.reconcile
        prepared = list[str]()
        yield "prepare", lambda: prepared.append(prepare_batch(self.pipeline).batch or "")
        self.apply(prepared[0])
        yield "record", lambda: record_batch(self.pipeline, prepared[0])
        yield "status", lambda: read_status(self.pipeline)
        yield "dropped transactions", lambda: list_transactions(self.pipeline)
        yield "windows", lambda: list_windows(self.pipeline)
        yield "page", lambda: read_overview(self.pipeline, ledger_url(self.pipeline), now())
        yield "plan of an edit", lambda: plan_edit(self.pipeline)

    def run_batch(self) -> None:
        location = prepare_batch(self.pipeline).batch
        assert location is not None
        self.apply(location)
        record_batch(self.pipeline, location)

    def reconcile(self) -> None:
        with Run(self.pipeline) as context:
            context.landing.quotes.evidence()
            reconcile_ledger(context)


@contextmanager
def counted_costs() -> Iterator[Counter[str]]:
    """Count requests and statements of this process in the block."""
    found: Counter[str] = Counter()

    def count_one(name: str) -> Any:
        original = getattr(Files, name)

        @wraps(original)
        def counting(self: Files, *args: Any, **more: Any) -> Any:
            found["requests"] += 1
            return original(self, *args, **more)

        return mock.patch.object(Files, name, counting)

    list_names = Files._list_names

    def listing(self: Files, relative: str, after: str) -> list[str]:
        names = list(list_names(self, relative, after))
        found["on disk"] += len(names)
        names = [name for name in names if name > after]  # S3 lists no others
        found["listed"] += len(names)
        found["requests"] += 1 + len(names) // 1000
        return names

    def execute(*_: Any) -> None:
        found["statements"] += 1

    event.listen(Engine, "before_cursor_execute", execute)
    patches = [count_one(name) for name in READS] + [mock.patch.object(Files, "_list_names", listing)]
    try:
        for patch in patches:
            patch.start()
        yield found
    finally:
        for patch in patches:
            patch.stop()
        event.remove(Engine, "before_cursor_execute", execute)


def cost_of(work: Callable[[], Any]) -> Cost:
    with counted_costs() as found:
        work()
    return Cost(found["listed"], found["on disk"], found["requests"], found["statements"])
