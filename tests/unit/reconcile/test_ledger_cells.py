"""Any cell of the ledger may be another value than was written, as after a bad sector or an UPDATE by hand."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from redolake.context import Run
from redolake.errors import LandingConflict, LedgerDamaged, RedolakeError
from redolake.ledger import tables as t
from redolake.ledger.base import value_errors
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.next_batch import catch_up, next_batch
from redolake.records.batches.manifest import HistoryFact, TableResult
from redolake.records.codec import to_body
from redolake.steps.shared.status import read_status
from tests.support.doctor import run_doctor
from tests.unit.reconcile.pipeline_on_disk import ORDERS, SECOND, PipelineOnDisk

WRONG: dict[str, tuple[Any, ...]] = {
    "BIGINT": (0, 12, 10_000, "nonsense"),
    "INTEGER": (2, "nonsense"),
    "VARCHAR": ("nonsense", b"\xff"),
    "TEXT": ("nonsense", 7),
    "JSON": ("[]", "{", "null", '{"other": 1}', '{"code": 5, "what": [], "error": {"a": 1}}'),
    "DATETIME": ("nonsense",),
}


def cells(file: Path) -> Iterator[tuple[str, str, int, Any]]:
    """Yield each cell of the ledger with each wrong value: table, column, row and value."""
    with closing(sqlite3.connect(file)) as database:
        for table in t.metadata.sorted_tables:
            for (row,) in database.execute(f"SELECT rowid FROM {table.name}").fetchall():
                for _, column, type_, *_ in database.execute(f"PRAGMA table_info({table.name})").fetchall():
                    for value in (None, *WRONG.get(type_.partition("(")[0], ())):
                        yield table.name, column, row, value


def put(file: Path, cell: tuple[str, str, int, Any]) -> bool:
    """Change the cell; return whether its database takes the value."""
    table, column, row, value = cell
    with closing(sqlite3.connect(file)) as database, database:
        try:
            found = database.execute(
                f"UPDATE {table} SET {column} = ? WHERE rowid = ? AND {column} IS NOT ?", (value, row, value)
            )
        except sqlite3.IntegrityError:
            return False
        return found.rowcount > 0


@pytest.fixture
def ledger(on_disk: PipelineOnDisk) -> Path:
    """Return the ledger's file of a live pipeline, with a landed window that is not applied."""
    with Run(on_disk.pipeline) as context:
        reconcile_ledger(context)
        on_disk.window(200, 300)
        reconcile_ledger(context)
        lost = {"code": "RedoLost", "what": "a log is gone", "where": {}, "cure": "restore it"}
        context.ledger.record_loss(lost, step="plan", position={"resetlogs_id": 11, "scn": 300})
        context.ledger.record_facts({("history", str(ORDERS)): to_body(HistoryFact(1, 199, 100, "it begins", 5))})
    (file,) = on_disk.folder.rglob("*.db")
    return file


def test_no_wrong_cell_ends_in_an_untyped_error_or_passes_over_a_table(on_disk: PipelineOnDisk, ledger: Path) -> None:
    kept, wrong = ledger.with_suffix(".kept"), list[str]()
    shutil.copy(ledger, kept)
    for cell in cells(kept):
        for file in ledger.parent.glob(f"{ledger.name}*"):
            file.unlink()
        shutil.copy(kept, ledger)
        if not put(ledger, cell):
            continue
        for name, read in (
            ("status", lambda: read_status(on_disk.pipeline)),
            ("doctor", lambda: run_doctor(on_disk.pipeline)),
            ("run", lambda: run(on_disk)),
        ):
            try:
                read()
            except RedolakeError as error:
                if isinstance(error, LandingConflict):
                    wrong.append(f"{name} {cell}: blames a file of the landing: {error}"[:300])
            except AssertionError as passed:
                wrong.append(f"{name} {cell}: {passed}")
            except Exception as error:
                wrong.append(f"{name} {cell}: {type(error).__name__}: {error}"[:300])
    assert not wrong, "\n".join(wrong)


def run(on_disk: PipelineOnDisk) -> None:
    """Do what a run does before Spark. Raises AssertionError where SHOP.ORDERS is passed over without a word."""
    with Run(on_disk.pipeline) as context:
        reconcile_ledger(context)
        last = last_batch(context)
        spec = catch_up(context, last) or next_batch(context, last)
        entry = context.ledger.table(ORDERS)
        assert entry is not None, "the table is gone"
        if entry.state != "live":
            return
        assert spec is not None, "there is no batch"
        assert [task.table for task in spec.tables] == [ORDERS]


def test_a_position_that_no_manifest_explains_is_damage_whose_cure_is_the_rebuild(
    on_disk: PipelineOnDisk, ledger: Path
) -> None:
    for column, value in (("resetlogs_id", 12), ("complete_to_scn", 10_000), ("complete_to_scn", 300)):
        assert put(ledger, ("redolake_tables", column, 1, value))
        with pytest.raises(LedgerDamaged, match=r"has SHOP\.ORDERS complete") as damaged:
            run(on_disk)
        assert "the files of the landing rebuild it" in damaged.value.cure
        for file in ledger.parent.glob(f"{ledger.name}*"):
            file.unlink()
        run(on_disk)


def test_a_position_of_another_window_is_damage_that_the_manifests_show(on_disk: PipelineOnDisk, ledger: Path) -> None:
    """The table is held in the second window and was resumed; the third is applied to others, the fourth has landed."""
    second, third = on_disk.window(300, 400), on_disk.window(400, 500)
    on_disk.window(500, 600)
    with Run(on_disk.pipeline) as context:
        (first,) = context.landing.windows.each(["0000000011-00000000000000000200-00000000000000000300"])
    on_disk.batch(first)
    on_disk.batch(second, state="held", complete_to=350)
    on_disk.batch(third, state="held", complete_to=350)
    with Run(on_disk.pipeline) as context:
        reconcile_ledger(context)
        context.ledger.release(ORDERS)
    run(on_disk)  # as it is
    for scn in (499, 399, 450, 550):  # 350 is right
        assert put(ledger, ("redolake_tables", "complete_to_scn", 1, scn))
        with pytest.raises(
            LedgerDamaged, match=r"no batch and no load has brought it there|and the landing ends at"
        ) as damaged:
            run(on_disk)
        said = [found.what for found in run_doctor(on_disk.pipeline) if found.subject == "shop.ledger"]
        assert said == [damaged.value.what]
        assert (str(ORDERS) in damaged.value.what, str(scn) in damaged.value.what) == (True, True)
    for scn in (120, 199, 299):  # where it has been before: what it has already is passed over
        assert put(ledger, ("redolake_tables", "complete_to_scn", 1, scn))
        run(on_disk)


def test_a_fault_of_ours_is_no_damage_of_the_ledger(on_disk: PipelineOnDisk, ledger: Path) -> None:
    with Run(on_disk.pipeline) as context:
        with pytest.raises(ValueError, match="ours"), value_errors(context.ledger._engine):
            raise ValueError("ours")
        with pytest.raises(ValueError, match="no move"):
            context.ledger.move_table(ORDERS, ["live"], "new")


@pytest.mark.parametrize("since", ["its snapshot", "a batch"])
def test_a_position_in_another_incarnation_of_the_database_is_damage(tmp_path: Path, since: str) -> None:
    """The table was held before a RESETLOGS and was resumed; the windows of both incarnations are applied to others. An SCN
    that is right in one of them means another moment in the other."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    reached = 120 if since == "its snapshot" else 150
    on_disk.batch(on_disk.window(100, 200), state="held", complete_to=reached)
    held = TableResult(ORDERS, "held", None, {"code": "Test", "what": "held", "where": {}, "cure": ""})
    on_disk.batch(on_disk.window(200, 300, SECOND), done=held)
    with Run(on_disk.pipeline) as context:
        reconcile_ledger(context)
        context.ledger.release(ORDERS)
    (file,) = tmp_path.rglob("*.db")
    run(on_disk)  # as it is
    for scn in (reached, 199, 250, 299):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("UPDATE redolake_tables SET resetlogs_id = ?, complete_to_scn = ?", (SECOND, scn))
        with pytest.raises(LedgerDamaged, match=r"no batch and no load has brought it there"):
            run(on_disk)
