"""Prune: what is old and not needed goes, a promise keeps the rest, and nothing that only old files showed is lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from redolake.config import Pipeline
from redolake.config.keep import KeepSettings
from redolake.context import Run, owner
from redolake.errors import ConfigurationError, LandingDamaged, Terminal
from redolake.land import files as landed_files
from redolake.land import layout
from redolake.land.pruned import PrunedFiles
from redolake.ledger import store
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.next_batch import catch_up, next_batch
from redolake.reconcile.snapshot_start import check_captured
from redolake.reconcile.table_versions import known_versions
from redolake.reconcile.tables import capture_scn
from redolake.records.batches.carry import OpenTransaction, ParkedRows
from redolake.records.batches.manifest import BatchResult
from redolake.records.loads import SnapshotLoaded, SnapshotResult
from redolake.records.pruned import Pruned
from redolake.records.snapshots import ChunkPlan
from redolake.records.windows import DOUBTFUL_QUOTE_ROWS, DdlRow
from redolake.steps.ranges.shadows import prepare_backfill
from redolake.steps.shared.status import read_status
from redolake.steps.upkeep.prune import PruneReport, prune_pipeline
from redolake.values.chunks import Chunk
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from tests.states.lost_ledger import lose_ledger
from tests.unit.reconcile.pipeline_on_disk import FIRST, OPEN, ORDERS, PipelineOnDisk, carried_rows
from tests.unit.records.samples import TABLE

ADDED = DdlRow(150, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (note VARCHAR2(9))")
MONTH = 40 * 86_400


class OldPipeline(PipelineOnDisk):
    """Windows of 100 SCNs from SCN 100 on, each applied by a batch of its own."""

    keep = KeepSettings(landing="30d")  # type: ignore[arg-type]

    def months(self, number: int, **first: object) -> None:
        """Land and apply windows; `first` is what the first one has."""
        for place in range(number):
            more = first if place == 0 else {}
            self.batch(self.window(100 + 100 * place, 200 + 100 * place, **more))  # type: ignore[arg-type]

    def age(self, end: int) -> None:
        """Let what was written up to that SCN be older than a month."""
        for folder in (self.folder / "shop/windows").iterdir():
            if int(folder.name.split("-")[2]) <= end:
                for file in folder.iterdir():
                    os.utime(file, (time.time() - MONTH,) * 2)

    @property
    def keeping(self) -> Pipeline:
        return self.pipeline.model_copy(update={"keep": self.keep})

    def prune(self) -> PruneReport:
        return prune_pipeline(self.keeping, execute=True, by="dba")

    def show(self) -> Any:
        """Return what a prune would remove, as it is kept until a person approves it."""
        return json.loads(json.dumps(prune_pipeline(self.keeping).shown))

    def prune_as(self, shown: Any) -> PruneReport:
        return prune_pipeline(self.keeping, execute=True, by="dba", shown=shown)

    def write_old(self, path: str) -> None:
        self.write(path, "x")
        os.utime(self.folder / "shop" / path, (time.time() - MONTH,) * 2)

    def all_files(self) -> dict[str, bytes]:
        root = self.folder / "shop"
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}

    def windows(self) -> list[int]:
        return [int(folder.name.split("-")[1]) for folder in sorted((self.folder / "shop/windows").iterdir())]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with Run(self.keeping) as context:
            reconcile_ledger(context)
            yield context


@pytest.fixture
def old(tmp_path: Path) -> OldPipeline:
    """Return a pipeline with ten applied windows, of which the first six are older than a month."""
    made = OldPipeline(tmp_path)
    made.load(120)
    made.months(10)
    made.age(700)
    return made


def dictionary_of(scn: int) -> DictionaryTable:
    return replace(TABLE, table=ORDERS, scn_before=Scn(scn), scn_after=Scn(scn))


def stays(report: PruneReport) -> str:
    return "\n".join(one.why for one in report.stays)


# --- What goes --------------------------------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_go_and_changes_nothing(old: OldPipeline) -> None:
    with old.opened():
        before = old.all_files()
    report = prune_pipeline(old.keeping)

    assert (report.begins_at, report.done) == (700, False)
    numbers = {kind.kind.partition(",")[0]: kind.number for kind in report.kinds}
    assert numbers == {"windows": 6, "links between windows and batches": 6, "batches": 5}
    assert old.all_files() == before


def test_windows_older_than_the_horizon_go_and_the_chain_goes_on(old: OldPipeline) -> None:
    report = old.prune()
    status = read_status(old.keeping)

    assert report.begins_at == 700
    assert (status.pruned_to_scn, status.pruned_by) == (700, "dba")
    assert {kind.kind.partition(",")[0] for kind in report.kinds} == {"windows", "links between windows and batches", "batches"}
    assert old.windows() == [700, 800, 900, 1000]
    assert [name.split("-")[1].lstrip("0") for name in old.files.names(layout.CHAIN)] == [
        "700.json",
        "800.json",
        "900.json",
        "1000.json",
    ]
    with old.opened() as context:
        assert context.landing.chain_end() is not None
        assert int(context.landing.chain_end().scn) == 1100  # type: ignore[union-attr]
        assert next_batch(context, last_batch(context)) is None
    old.window(1100, 1200)
    with old.opened() as context:
        spec = next_batch(context, last_batch(context))
        assert spec is not None
        assert (spec.start, spec.tables[0].hold) == (1100, None)


def test_without_a_horizon_nothing_of_the_landing_goes(old: OldPipeline) -> None:
    old.keep = KeepSettings()
    with old.opened():
        before = old.all_files()

    assert old.prune().kinds == ()
    assert old.all_files() == before


def test_the_newest_window_stays_however_old_it_is(old: OldPipeline) -> None:
    old.age(1100)
    old.prune()

    assert old.windows() == [1000]
    with old.opened() as context:
        assert int(context.landing.chain_end().scn) == 1100  # type: ignore[union-attr]


def test_a_second_prune_goes_on_from_the_first(old: OldPipeline) -> None:
    old.prune()
    old.age(900)
    report = old.prune()

    assert (report.begins_at, old.windows()) == (900, [900, 1000])
    with old.opened() as context:
        pruned = context.landing.pruned
        assert pruned is not None
        assert ([step.scn for step in pruned.steps], pruned.windows) == ([700, 900], 8)
        assert capture_scn(context, ORDERS) == 100


# --- What was approved --------------------------------------------------------------------------------------------------


def test_what_was_approved_goes_and_nothing_that_has_grown_old_since(old: OldPipeline) -> None:
    shown = old.show()
    old.age(900)

    assert old.prune_as(shown).begins_at == 700
    assert old.windows() == [700, 800, 900, 1000]


@pytest.mark.parametrize("change", ["a promise", "one more file", "one less", "cut meanwhile"])
def test_nothing_goes_where_it_is_not_what_was_approved(old: OldPipeline, change: str) -> None:
    left = f"windows/{FIRST:010d}-{900:020d}-{1000:020d}/redo-dead-00000.parquet"
    old.write_old(left)
    shown = old.show()
    with old.opened() as context:
        if change == "a promise":
            context.landing.snapshots.begin(dictionary_of(450), 450, "epoch", ChainPosition(FIRST, 420))
    if change == "one more file":
        old.write_old(left.replace("dead", "dead2"))
    elif change == "one less":
        old.files.remove(left)
    elif change == "cut meanwhile":
        old.prune()
    before = old.all_files()

    with pytest.raises(Terminal, match=r"were shown.*\n.*look again"):
        old.prune_as(shown)
    assert old.all_files() == before


def test_the_command_that_asks_prunes_what_it_has_shown(old: OldPipeline) -> None:
    from redolake.operations.upkeep import prune

    looked = prune.act(Run(old.keeping))
    old.age(900)
    done = prune.act(Run(old.keeping, execute=True, by="dba", shown=json.loads(json.dumps(looked.shown))))

    assert (done.result.kinds, old.windows()[0]) == (looked.result.kinds, 700)


def test_the_decision_is_recorded_before_the_chain_is_cut(old: OldPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed prune leaves who decided it and why; the next one cuts."""
    with monkeypatch.context() as patched:
        patched.setattr(PrunedFiles, "write_pruned", mock.Mock(side_effect=OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            old.prune()
    with old.opened() as context:
        (made,) = context.ledger.decisions("prune")
        assert (made.who, made.body["from_scn"], context.landing.pruned) == ("dba", 700, None)
    assert old.prune().begins_at == 700


def test_a_program_that_names_nobody_is_named_itself(old: OldPipeline) -> None:
    prune_pipeline(old.keeping, execute=True)

    with old.opened() as context:
        (made,) = context.ledger.decisions("prune")
        assert made.who == read_status(old.keeping).pruned_by == owner()


# --- What a promise keeps ---------------------------------------------------------------------------------------------


def test_an_open_transaction_keeps_the_windows_since_its_start(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(3)
    first = replace(OPEN, start_scn=420)
    for start in range(400, 1100, 100):
        old.batch(old.window(start, start + 100), open_now=(first,))
    old.age(900)
    report = old.prune()

    assert old.windows()[0] == 400
    assert stays(report) == "transaction 1.2.3 of container 3 is open since SCN 420, 4 rows"


def test_a_held_table_keeps_the_windows_that_it_has_not_applied(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(3)
    for start in range(400, 1100, 100):
        old.batch(old.window(start, start + 100), state="held", complete_to=399)
    old.age(900)
    report = old.prune()

    assert old.windows()[0] == 400
    assert stays(report) == "SHOP.ORDERS is held and complete to SCN 399"
    with old.opened() as context:
        context.ledger.release(ORDERS)
        spec = catch_up(context, last_batch(context))
        assert spec is not None
        assert (spec.start, spec.tables[0].hold) == (400, None)


def test_a_snapshot_that_is_not_loaded_keeps_the_windows_after_it(old: OldPipeline) -> None:
    with old.opened() as context:
        context.landing.snapshots.begin(dictionary_of(450), 450, "epoch", ChainPosition(FIRST, 420))
    report = old.prune()

    assert old.windows()[0] == 400
    assert stays(report) == "a snapshot of SHOP.ORDERS AS OF SCN 450 was begun and is not loaded"


def test_a_horizon_for_replay_keeps_windows_that_landing_would_not(old: OldPipeline) -> None:
    old.keep = KeepSettings(landing="1d", replay="30d")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"`keep\.replay` promises 30 days"):
        old.prune()
    assert old.windows()[0] == 100


@pytest.mark.parametrize(("name", "first"), [("300-500-copy", 500), ("500-7-replaced", 500), ("300-500", 700)])
def test_a_whole_copy_keeps_the_windows_since_it(old: OldPipeline, name: str, first: int) -> None:
    (old.folder / f"lake/_shadow/{name}").mkdir(parents=True)

    report = old.prune()

    assert old.windows()[0] == first
    assert (f"the copy {name}" in stays(report)) == (first == 500)


def test_a_landing_without_a_batch_stays_whole(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.window(100, 200)
    old.window(200, 300)
    old.age(300)

    assert stays(old.prune()) == "no batch has applied a window yet"
    assert old.windows() == [100, 200]


def test_parked_rows_in_a_pruned_batch_stay_while_a_later_batch_names_them(tmp_path: Path) -> None:
    """Its other files go."""
    old = OldPipeline(tmp_path)
    old.load(120)
    name = old.batch(old.window(100, 200))
    parked = carried_rows(name)
    old.write(parked, "rows")
    old.write(f"batches/{name}/spec-t.json", "{}")
    for start in range(200, 1100, 100):
        later = old.batch(old.window(start, start + 100))
        file = old.folder / "shop" / f"batches/{later}/manifest.json"
        result = old.files.read_record(BatchResult, f"batches/{later}/manifest.json")
        assert result is not None
        part = ParkedRows(OpenTransaction(3, "9.9.9", 1, 150, None, 4, 400, None), {}, (old.files.location(parked),))
        file.unlink()
        old.files.create_record(f"batches/{later}/manifest.json", replace(result, parked=(part,)))
    old.age(700)
    old.prune()

    assert [file.path for file in old.files.list_files(f"batches/{name}")] == [parked]


# --- A lost ledger ------------------------------------------------------------------------------------------------------


def test_a_lost_ledger_comes_back_with_the_versions_that_ddl_of_pruned_windows_made(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(10, ddl=(ADDED,))
    old.age(700)
    with old.opened() as context:
        entries, versions = context.ledger.tables(), known_versions(context, ORDERS)
        assert [version.from_scn for version in versions] == [120, 150]
    old.prune()
    lose_ledger(tmp_path)
    with old.opened() as context:
        assert context.ledger.tables() == entries
        assert known_versions(context, ORDERS) == versions
        assert len(context.ledger.windows("applied")) == 4
    old.age(900)
    old.prune()
    lose_ledger(tmp_path)
    with old.opened() as context:
        assert known_versions(context, ORDERS) == versions


def test_versions_of_a_table_that_was_loaded_again_do_not_come_back(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(10, ddl=(ADDED,))
    old.age(700)
    old.prune()
    old.load(1050)
    lose_ledger(tmp_path)
    with old.opened() as context:
        assert [version.from_scn for version in known_versions(context, ORDERS)] == [1050]


def test_a_lost_ledger_knows_since_when_a_table_is_captured(old: OldPipeline) -> None:
    old.prune()
    lose_ledger(old.folder)
    with old.opened() as context:
        entry = context.ledger.table(ORDERS)
        assert entry is not None
        assert entry.captured_from_scn == 100
        assert check_captured(context, [ORDERS], Scn(150)) == ChainPosition(FIRST, 150)


def test_a_table_that_pruned_windows_lacked_is_not_captured_from_before_them(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(3, tables=("SHOP.OTHER",))
    for start in range(400, 1100, 100):
        old.batch(old.window(start, start + 100))
    old.age(700)
    old.prune()
    with old.opened() as context:
        assert capture_scn(context, ORDERS) == 200


# --- What is missing is not passed over ----------------------------------------------------------------------------------


def test_a_table_from_before_the_pruned_windows_is_held_and_does_not_go_on_after_them(old: OldPipeline) -> None:
    """As one that was taken out of the list, and comes back years later."""
    old.prune()
    with old.opened() as context:
        context.ledger.record_complete_to(ORDERS, Scn(399), FIRST, None)
        assert catch_up(context, last_batch(context)) is None
        entry = context.ledger.table(ORDERS)
        assert entry is not None
        assert (entry.state, entry.hold["code"]) == ("held", "RedoLost")
        assert "the windows up to SCN 700 were pruned" in str(entry.hold["what"])
        assert entry.hold["cure"] == "`redolake snapshot SHOP.ORDERS --replace` reads the table again"


def test_a_missing_window_after_the_pruned_ones_is_still_damage(old: OldPipeline) -> None:
    old.prune()
    old.window(1100, 1200)
    old.window(1200, 1300)
    with old.opened() as context:
        assert len(context.ledger.windows("landed")) == 2
    (gone,) = (old.folder / "shop/windows").glob("*1100-*1200")
    (gone / "manifest.json").unlink()
    (old.folder / "shop/chain" / f"{FIRST:010d}-{1100:020d}.json").unlink()
    with old.opened() as context, pytest.raises(LandingDamaged, match="hole: SCN 1100 to 1200"):
        next_batch(context, last_batch(context))


def test_a_batch_does_not_begin_at_the_cut_without_the_carried_rows(old: OldPipeline) -> None:
    """Rows of transactions that were open there would be missing, and nothing would say so."""
    old.prune()
    old.files.remove(layout.BATCHES)
    with old.opened() as context, pytest.raises(LandingDamaged, match="the batch that ended there is gone"):
        next_batch(context, last_batch(context))


def test_windows_that_were_removed_by_hand_are_no_beginning(old: OldPipeline) -> None:
    for kind in (layout.BATCHES, f"windows/{FIRST:010d}-{100:020d}-{200:020d}", f"chain/{FIRST:010d}-{100:020d}.json"):
        old.files.remove(kind)
    with old.opened() as context, pytest.raises(LandingDamaged, match="hole: SCN 100 to 200"):
        next_batch(context, last_batch(context))


def test_a_backfill_of_a_pruned_range_says_when_it_was_pruned(old: OldPipeline) -> None:
    old.prune()
    with pytest.raises(
        ConfigurationError,
        match=r"landed is \[700, 1100\); the windows before that were pruned, those of SCN 300 on 2.* by dba",
    ):
        prepare_backfill(old.keeping, 300, 900)


def test_the_record_of_what_was_pruned_comes_back_from_its_copy(old: OldPipeline) -> None:
    old.prune()
    before = old.files.read_record(Pruned, layout.PRUNED)
    old.files.remove(layout.PRUNED)
    with old.opened() as context:
        assert context.landing.pruned == before


def test_quotes_side_by_side_in_pruned_windows_count_once_others_show_that_quotes_are_single(tmp_path: Path) -> None:
    """Else a table that has 5' where the source has 5'' would not be held."""
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(9)
    doubtful = old.window(200, 300)
    facts = {"slices": {"0": {DOUBTFUL_QUOTE_ROWS: {"SHOP.ORDERS": 7}}}}
    for path in (f"windows/{doubtful.name}/manifest.json", layout.link_of(doubtful.name)):
        old.write(path, replace(doubtful, circumstance=facts))
    old.age(700)
    old.prune()
    with old.opened() as context:
        assert context.landing.quotes.evidence() is None
        context.landing.quotes.record_evidence("x-900-1000", context.landing.windows.after())
        found = context.landing.quotes.evidence()
        assert found is not None
        assert (found.doubtful["SHOP.ORDERS"].start, found.doubtful["SHOP.ORDERS"].rows) == (200, 7)


def test_evidence_of_single_quotes_in_a_pruned_window_survives_its_file(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(10, single_quote_rows=3)
    with old.opened() as context:
        context.landing.quotes.record_evidence(old.window(100, 200, single_quote_rows=3).name, ())
        before = context.landing.quotes.evidence()
    old.age(700)
    old.prune()
    old.write(layout.SINGLE_QUOTES, "damaged")
    with old.opened() as context:
        assert context.landing.quotes.evidence() == before


def test_the_newest_dictionary_reading_of_each_table_stays(old: OldPipeline) -> None:
    other = TableId("SHOP", "OTHER")
    with old.opened() as context:
        for scn in (250, 350, 450, 550, 850):
            tables = [dictionary_of(scn)]
            tables += [replace(tables[0], table=other, comment=str(scn))] if scn <= 350 else []
            context.landing.dictionary.write_dictionary(FIRST, scn, tables)
    contents = len(old.files.names("dictionary/contents"))
    old.prune()
    with old.opened() as context:
        assert [position.scn for position in context.landing.dictionary.positions()] == [350, 550, 850]
        assert all(context.landing.dictionary.at(p).table(ORDERS) for p in context.landing.dictionary.positions())
    assert (contents, len(old.files.names("dictionary/contents"))) == (3, 2)


# --- What killed attempts have left ---------------------------------------------------------------------------------------


def test_files_of_killed_attempts_go_once_they_are_old(old: OldPipeline) -> None:
    landed = f"windows/{FIRST:010d}-{900:020d}-{1000:020d}"
    batch = f"batches/{FIRST:010d}-{900:020d}-{1000:020d}"
    left = [f"{landed}/redo-dead-00000.parquet", f"{landed}/x.parquet.1.part", f"{batch}/carry-dead/rows.parquet"]
    left += [f"{batch}/spec-dead.json", f"batches/{FIRST:010d}-{900:020d}-{950:020d}/spec-dead.json", "loads/0-dead/spec.json"]
    kept = [f"{landed}/900.parquet", f"{batch}/spec-t.json", f"windows/{FIRST:010d}-{1100:020d}-{1200:020d}/redo-a-0.parquet"]
    for file in (*left, *kept):
        old.write(file, "x")
        os.utime(old.folder / "shop" / file, (time.time() - 3 * 86_400,) * 2)
    young = f"{landed}/redo-young-00000.parquet"
    old.write(young, "x")
    old.prune()

    assert [file for file in (*left, *kept, young) if old.files.exists(file)] == [*kept, young]


def test_a_load_goes_once_its_table_was_loaded_again_and_the_cut_has_passed_that(old: OldPipeline) -> None:
    old.load(650)
    old.prune()
    assert scns_loaded(old) == [650]
    old.load(950)
    old.prune()
    assert scns_loaded(old) == [650, 950]


def test_the_only_load_of_a_table_stays_and_so_does_one_without_a_cut(old: OldPipeline) -> None:
    assert not prune_pipeline(old.pipeline, execute=True).kinds
    old.prune()
    assert scns_loaded(old) == [120]


def test_a_load_that_set_its_table_back_stays_until_what_it_names_is_gone(tmp_path: Path) -> None:
    """Without its spec, the load that it replaced would count again in a rebuilt ledger: its SCN is higher."""
    old = OldPipeline(tmp_path)
    old.load(250)
    replaced = old.files.names("loads")
    old.load(200, supersedes=tuple(replaced))
    old.months(10)
    old.load(650)
    old.age(700)
    old.prune()
    assert scns_loaded(old) == [200, 650]
    old.prune()
    assert scns_loaded(old) == [650]


def test_a_load_that_set_its_table_back_behind_a_batch_stays_while_that_is_there(tmp_path: Path) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(10)
    old.age(700)
    old.load(640, supersedes=(f"{FIRST:010d}-{800:020d}-{900:020d}",))
    old.load(660)
    old.prune()
    assert scns_loaded(old) == [640, 660]


def test_a_lost_ledger_comes_back_without_the_loads_that_were_pruned(old: OldPipeline) -> None:
    old.load(650)
    with old.opened() as context:
        entries, versions = context.ledger.tables(), known_versions(context, ORDERS)
    old.prune()
    lose_ledger(old.folder)
    with old.opened() as context:
        assert context.ledger.tables() == entries
        assert known_versions(context, ORDERS)[-1:] == versions[-1:]
        assert next_batch(context, last_batch(context)) is None


def test_a_load_that_filled_no_table_goes_once_it_is_old(old: OldPipeline) -> None:
    (name,) = old.files.names("loads")
    held = SnapshotResult("shop", 120, (SnapshotLoaded(ORDERS, "held", False),))
    old.write("loads/00000000000000000130-dead/manifest.json", held)
    old.write("loads/00000000000000000130-dead/spec.json", (old.folder / f"shop/loads/{name}/spec.json").read_text())
    old.prune()
    assert scns_loaded(old) == [120, 130]
    for file in (old.folder / "shop/loads/00000000000000000130-dead").iterdir():
        os.utime(file, (time.time() - 3 * 86_400,) * 2)
    old.prune()
    assert scns_loaded(old) == [120]


def scns_loaded(old: OldPipeline) -> list[int]:
    return [int(name.partition("-")[0]) for name in old.files.names("loads")]


def test_rows_of_a_loaded_snapshot_go_and_its_description_stays(old: OldPipeline) -> None:
    old.keep = KeepSettings(snapshots="7d")  # type: ignore[arg-type]
    with old.opened() as context:
        context.landing.snapshots.begin(dictionary_of(120), 120, "epoch", ChainPosition(FIRST, 110))
        context.landing.snapshots.begin(dictionary_of(110), 110, "epoch", ChainPosition(FIRST, 110))
    old.write("snapshots/SHOP.ORDERS/00000000000000000120/part-t.parquet", "x")
    for file in (old.folder / "shop/snapshots").rglob("*.*"):
        os.utime(file, (time.time() - MONTH,) * 2)
    old.prune()

    assert old.files.names("snapshots/SHOP.ORDERS") == ["00000000000000000120"]
    assert "part-t.parquet" not in old.files.names("snapshots/SHOP.ORDERS/00000000000000000120")
    with old.opened() as context:
        assert context.landing.snapshots.redo_needed_from(ORDERS, 120) == ChainPosition(FIRST, 110)


@pytest.mark.parametrize(("given_up", "left"), [(False, ["00000000000000000450"]), (True, [])])
def test_a_snapshot_in_chunks_that_is_not_loaded_stays_until_it_is_given_up(
    old: OldPipeline, given_up: bool, left: list[str]
) -> None:
    old.keep = KeepSettings(snapshots="7d", attempts="1d")  # type: ignore[arg-type]
    cut = (Chunk(0, bytes=100), Chunk(1, bytes=100))
    with old.opened() as context:
        context.landing.snapshots.begin(dictionary_of(450), 450, "epoch", ChainPosition(FIRST, 420))
        context.landing.chunks.begin(ORDERS, 450, ChunkPlan(str(ORDERS), 450, "rowid", cut, "", "number", ""))
        if given_up:
            context.landing.chunks.give_up(ORDERS, 450, "it was begun again")
    for file in (old.folder / "shop/snapshots").rglob("*.*"):
        os.utime(file, (time.time() - MONTH,) * 2)
    old.prune()

    assert old.files.names("snapshots/SHOP.ORDERS") == left


def test_old_shadow_tables_go_and_nothing_else_below_the_lake(old: OldPipeline) -> None:
    old.keep = KeepSettings(shadows="14d")  # type: ignore[arg-type]
    names = ("100-200", "200-300-current", "100-200-changes", "100-200-copy", "199-7-replaced", "mine")
    files = [f"lake/_shadow/{name}/shop/orders/a.parquet" for name in names]
    files += ["lake/shop/orders/a.parquet", "lake/_shadow/300-400/shop/orders/a.parquet"]
    for file in files:
        (old.folder / file).parent.mkdir(parents=True)
        (old.folder / file).write_text("x")
    for file in files[:-1]:
        os.utime(old.folder / file, (time.time() - MONTH,) * 2)
    old.prune()

    assert [file for file in files if (old.folder / file).exists()] == files[5:]


# --- Kills ----------------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """As a SIGKILL: nothing after it runs."""


def test_a_prune_that_is_killed_after_any_write_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def life(folder: Path) -> OldPipeline:
        made = OldPipeline(folder)
        made.keep = KeepSettings(landing="30d", ledger="0s", snapshots="7d")  # type: ignore[arg-type]
        made.load(120)
        made.months(5, ddl=(ADDED,))
        made.age(400)
        return made

    whole = life(tmp_path / "whole")
    whole.prune()
    for place in range(200):
        passed = 0

        def kill(*_: object, place: int = place) -> None:
            nonlocal passed
            passed += 1
            if passed == place + 1:
                raise Killed

        old = life(tmp_path / str(place))
        with monkeypatch.context() as patched:
            patched.setattr(landed_files, "file_point", kill)
            patched.setattr(store, "ledger_point", kill, raising=False)
            try:
                old.prune()
                break
            except Killed:
                pass
        with old.opened() as context:  # whatever is there: nothing is damaged, and apply goes on
            assert next_batch(context, last_batch(context)) is None
            assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 150]
        old.prune()
        assert old.all_files().keys() == whole.all_files().keys()
        lose_ledger(old.folder)
        with old.opened() as context:
            assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 150]
    assert place > 5
