"""A pipeline's landing on disk, written as its steps would have left it, for tests of the ledger and of the next batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.context import Run
from redolake.land import layout
from redolake.land.files import Files
from redolake.ledger import TableEntry
from redolake.reconcile.batches import load_name
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.newest_batches import batch_name
from redolake.reconcile.next_batch import catch_up, next_batch
from redolake.reconcile.snapshot_start import chain_epoch
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, DroppedRows, RowAccount, TableResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import encode
from redolake.records.gaps import DeclaredGap
from redolake.records.handover import FirstPosition
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.records.windows import SINGLE_QUOTE_ROWS, DdlRow, WindowManifest
from redolake.values.redo import Encoding, Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.unit.records.samples import TABLE

ORDERS = TableId("SHOP", "ORDERS")
DBID = 7
FIRST, SECOND = 11, 12  # incarnations, by RESETLOGS_ID
OPEN = OpenTransaction(3, "1.2.3", 1, 150, None, 4, 400, "SHOP")


def carried_rows(batch: str) -> str:
    return f"{layout.batch_carry(batch, 't')}/rows.parquet"


class PipelineOnDisk:
    """The landing of the pipeline `shop`, which has one table, SHOP.ORDERS, and begins at SCN 100."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        body = {
            "name": "shop",
            "source": {"connection": "x", "container": "PDB"},
            "landing": str(folder),
            "lake": str(folder / "lake"),
            "tables": ["SHOP.ORDERS"],
        }
        self.pipeline = Pipeline.model_validate(body)
        self.write(layout.HANDOVER, FirstPosition(DBID, FIRST, 100, Encoding()))

    def write(self, path: str, body: Any) -> None:
        file = self.folder / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((body if isinstance(body, str) else encode(body)).encode())

    def window(
        self,
        start: int,
        end: int,
        resetlogs_id: int = FIRST,
        ddl: tuple[DdlRow, ...] = (),
        tables: tuple[str, ...] = ("SHOP.ORDERS",),
        doubtful_scn: int | None = None,
        single_quote_rows: int = 0,
        rows: int = 0,
    ) -> WindowManifest:
        """Write a landed window [start, end) and return its manifest."""
        files = (f"{start}.parquet",)
        facts = {"slices": {"0": {SINGLE_QUOTE_ROWS: single_quote_rows}}}
        counts = {f"{ORDERS} insert": rows, "* commit": 1}
        made = WindowManifest(DBID, resetlogs_id, start, end, (), tables, counts, "hash", ddl, files, doubtful_scn, facts)
        self.write(f"windows/{made.name}/manifest.json", made)
        # Exactly at a RESETLOGS the link has the older incarnation's name, as Windows.publish gives it.
        older = resetlogs_id > FIRST and any((self.folder / "shop/windows").glob(f"{FIRST:010d}-*-{start:020d}"))
        self.write(f"chain/{FIRST if older else resetlogs_id:010d}-{start:020d}.json", made)
        return made

    def load(
        self, scn: int, resetlogs_id: int = FIRST, supersedes: tuple[str, ...] = (), open_since: int | None = None
    ) -> None:
        """Write a snapshot load AS OF `scn`. The oldest transaction open at that SCN began at `open_since`."""
        if open_since is not None:
            with Run(self.pipeline) as context:
                begin_snapshot_at(context, scn, open_since)
        column = Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False)
        version = TableVersion(ORDERS, Scn(scn), 4711, 4711, (column,), (1,), 2)
        task = SnapshotTask(ORDERS, "target", f"shop/{ORDERS}/{resetlogs_id}", version, (), supersedes=supersedes, scn=scn)
        name = f"loads/{load_name(f'token{resetlogs_id}', scn, (task,))}"
        manifest = str(self.folder / "shop" / name / "manifest.json")
        self.write(f"{name}/spec.json", encode(SnapshotSpec("shop", scn, "token", (task,), manifest)))
        result = SnapshotResult("shop", scn, (SnapshotLoaded(ORDERS, "applied", True, 3),))
        self.write(f"{name}/manifest.json", encode(result))

    def batch(
        self,
        *windows: WindowManifest,
        state: Any = "applied",
        open_now: tuple[OpenTransaction, ...] = (),
        complete_to: int | None = None,
        catch_up: str = "",
        position: int | None = None,
        omit_table: bool = False,
        accounts: Mapping[str, RowAccount] | None = None,
        has_digests: bool = True,
        done: TableResult | None = None,
        dropped: tuple[DroppedRows, ...] = (),
    ) -> str:
        """Write the manifest of a batch over the windows and return the batch's name; `omit_table` leaves SHOP.ORDERS out, and
        `done` is its result. The transactions open now have one file with rows. Older versions wrote no digests."""
        first, last = windows[0], windows[-1]
        complete_to = complete_to or (last.end - 1 if state == "applied" else 199)
        error = None if state == "applied" else {"code": "Test", "what": "held", "where": {}, "cure": ""}
        done = done or TableResult(ORDERS, state, complete_to, error, position=position or complete_to)
        names = tuple(w.name for w in windows)
        token = f"{ORDERS}:{catch_up}" if catch_up else "t"
        tables = () if omit_table else (done,)
        result = BatchResult("shop", first.resetlogs_id, first.start, last.end, token, names, tables, open_now, ())
        result = replace(result, accounts=accounts or {}, dropped=dropped)
        name = batch_name(first.resetlogs_id, first.start, last.end, catch_up)
        if open_now:
            self.write(carried_rows(name), f"rows of {name}")
            digests = {self.carried(name): self.files.digest(carried_rows(name))}
            result = replace(result, carry_files=(self.carried(name),), digests=digests if has_digests else {})
        self.write(f"batches/{name}/manifest.json", encode(result))
        return name

    @property
    def files(self) -> Files:
        return Files(str(self.folder / "shop"))

    def carried(self, batch: str) -> str:
        """Return the path of the batch's carried rows."""
        return self.files.location(carried_rows(batch))

    def declare_gap(
        self,
        start: int,
        end: int,
        kind: Any = "gap",
        end_in: int = FIRST,
        dropped: tuple[OpenTransaction, ...] = (),
        snapshot_scn: int = 90,
    ) -> None:
        """Declare a gap; SHOP.ORDERS then had the contents of the snapshot AS OF `snapshot_scn`."""
        with Run(self.pipeline) as context:
            context.landing.gaps.declare(
                DeclaredGap(
                    kind,
                    Position(DBID, FIRST, Scn(start)),
                    Position(DBID, end_in, Scn(end)),
                    "tapes are gone",
                    "dba",
                    "2026-05-01T00:00:00+00:00",
                    "log 7",
                    {"SHOP.ORDERS": snapshot_scn},
                    dropped,
                )
            )


@pytest.fixture
def on_disk(tmp_path: Path) -> PipelineOnDisk:
    """Return a pipeline loaded AS OF SCN 120, with a window [100, 200) applied and a transaction open at its end."""
    made = PipelineOnDisk(tmp_path)
    made.load(120)
    made.batch(made.window(100, 200), open_now=(OPEN,))
    return made


@pytest.fixture
def context(on_disk: PipelineOnDisk) -> Iterator[Run]:
    """Open that pipeline with an empty ledger."""
    with Run(on_disk.pipeline) as opened:
        yield opened


def corrected_table(context: Run) -> TableEntry:
    """Correct the ledger from the files and return its entry for SHOP.ORDERS."""
    reconcile_ledger(context)
    entry = context.ledger.table(ORDERS)
    assert entry is not None
    return entry


def following_batch(context: Run) -> BatchSpec:
    """Return the batch that follows the last one."""
    spec = next_batch(context, last_batch(context))
    assert spec is not None
    return spec


def following_catch_up(context: Run) -> BatchSpec:
    """Return the catch-up of a table that is behind the last batch."""
    spec = catch_up(context, last_batch(context))
    assert spec is not None
    return spec


def hold_code(spec: BatchSpec) -> str | None:
    """Return the error code of the hold on the first table of a batch; None if it is not held."""
    hold = spec.tables[0].hold
    return None if hold is None else hold.error["code"]


def begin_snapshot_at(context: Run, scn: int, open_since: int = 100) -> None:
    """Record a snapshot of SHOP.ORDERS AS OF `scn` as begun. The oldest transaction open at that SCN began at `open_since`."""
    context.landing.snapshots.begin(replace(TABLE, table=ORDERS), scn, chain_epoch(context), ChainPosition(FIRST, open_since))
