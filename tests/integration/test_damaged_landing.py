"""Files of the landing that are damaged or gone are found before they are used, and each cure brings the rows back.

A plain fold stands for Spark. Files that only its job reads: test_damaged_files.py.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import LandingDamaged, LandingMissing, RedoLost, Terminal
from redolake.job.lake import check_lake
from redolake.reconcile.lake_place import lake_place
from tests.references.plain_lake import PlainLake
from tests.states.damaged_parts import Parts, cut, flip, open_parts, redo_of
from tests.states.lost_ledger import lose_ledger
from tests.support.doctor import run_doctor
from tests.support.killed import killed_at


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with PlainLake().in_place_of_spark(), open_parts(tmp_path, "no Spark") as made:
        yield made


def test_a_window_is_mined_again_with_a_rebuilt_ledger(parts: Parts) -> None:
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    flip(redo_of(folder))
    lose_ledger(parts.landing.parent)

    assert parts.remine(folder, in_place=True).replaced
    parts.run()

    assert parts.is_equal()


def test_a_window_whose_logs_are_gone_is_given_up_and_becomes_lost_redo(parts: Parts) -> None:
    """Then `recover` shows the choices."""
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    later = parts.land("INSERT INTO parts VALUES (3, 'third')")
    flip(redo_of(folder))
    parts.shop.oracle.faults.purge_logs()
    with pytest.raises(RedoLost):
        parts.remine(folder, in_place=True)

    assert steps.discard_windows(parts.pipeline, folder.name, execute=True, reason="test") == (folder.name, later.name)

    parts.shop.run_sql("INSERT INTO parts VALUES (4, 'fourth')")
    parts.shop.switch_logs()
    with pytest.raises(RedoLost):
        parts.run()
    steps.recover_redo_loss(parts.pipeline, "snapshot", source=parts.shop.params, spark=parts.spark)
    parts.run()
    assert parts.is_equal()


def test_windows_that_are_given_up_are_mined_again_where_their_logs_are_there(parts: Parts) -> None:
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    redo_of(folder).unlink()

    shown = steps.discard_windows(parts.pipeline, folder.name)
    parts.land("INSERT INTO parts VALUES (4, 'fourth')")
    with pytest.raises(Terminal, match=r"3 windows would be forgotten, up to .*, and 2 were shown"):
        steps.discard_windows(parts.pipeline, folder.name, shown=shown, execute=True, reason="test")

    assert len(steps.discard_windows(parts.pipeline, folder.name, execute=True, reason="test")) == 3
    parts.run()

    assert parts.is_equal()
    (applied,) = steps.list_windows(parts.pipeline)
    with pytest.raises(Terminal, match="a batch has applied it"):
        steps.discard_windows(parts.pipeline, applied.name, execute=True, reason="test")


DISCARDING = [
    "ledger.forget_windows",
    "ledger.discard_windows",
    "discard_from shop/chain/*.json",
    "discard_from windows/*/manifest.json",
]


@pytest.mark.parametrize("point", DISCARDING)
def test_a_run_after_a_killed_discard_leaves_each_window_with_its_link(parts: Parts, point: str) -> None:
    """A window without its link would have no copy of its manifest."""
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    second = parts.land("INSERT INTO parts VALUES (3, 'third')")
    with killed_at(point):
        steps.discard_windows(parts.pipeline, second.name, execute=True, reason="test")

    parts.run()

    assert parts.is_equal()
    links = {json.loads(file.read_bytes())["start"] for file in parts.landing.glob("chain/*.json")}
    assert links == {json.loads(file.read_bytes())["start"] for file in parts.landing.glob("windows/*/manifest.json")}
    assert len(links) >= 2


@pytest.mark.parametrize("point", DISCARDING)
def test_windows_are_given_up_once_more_after_a_kill(parts: Parts, point: str) -> None:
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    redo_of(folder).unlink()
    with killed_at(point):
        steps.discard_windows(parts.pipeline, folder.name, execute=True, reason="test")

    steps.discard_windows(parts.pipeline, folder.name, execute=True, reason="test")
    parts.run()

    assert parts.is_equal()


def test_a_window_with_the_manifest_of_another_stops_and_is_mined_once(parts: Parts) -> None:
    first = parts.land("INSERT INTO parts VALUES (2, 'second')")
    second = parts.land("INSERT INTO parts VALUES (3, 'third')")
    shutil.copy(first / "manifest.json", second / "manifest.json")

    with pytest.raises(LandingDamaged, match="manifest of another window") as caught:
        parts.run()
    assert f"remove windows/{second.name}/manifest.json" in caught.value.cure
    (second / "manifest.json").unlink()
    parts.run()

    assert parts.is_equal()
    assert len(list(parts.landing.glob("windows/*"))) == 2


@pytest.mark.parametrize("number", [0, 1], ids=["an older window", "the newest window"])
def test_a_damaged_manifest_is_replaced_by_its_copy_in_the_chain(parts: Parts, number: int) -> None:
    folders = [parts.land(f"INSERT INTO parts VALUES ({n}, 'new')") for n in (2, 3)]
    manifest = folders[number] / "manifest.json"
    flip(manifest, manifest.read_text().index('"row_hash"') + 14)

    with pytest.raises(LandingDamaged, match="its check does not fit") as caught:
        parts.run()
    assert "remove windows/" in caught.value.cure
    manifest.unlink()
    parts.run()

    assert parts.is_equal()


def test_a_damaged_link_of_the_chain_is_replaced_by_its_copy(parts: Parts) -> None:
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    link = max(parts.landing.glob("chain/*.json"))
    cut(link)

    with pytest.raises(LandingDamaged, match="is not JSON") as caught:
        parts.run()
    assert "copy" in caught.value.cure
    shutil.copy(folder / "manifest.json", link)
    parts.run()

    assert parts.is_equal()


def test_a_batch_without_its_manifest_is_applied_again_and_changes_nothing_twice(parts: Parts) -> None:
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.run()
    (manifest,) = parts.landing.glob("batches/*/manifest.json")
    flip(manifest)
    parts.land("INSERT INTO parts VALUES (3, 'third')")

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert "remove" in caught.value.cure
    manifest.unlink()
    parts.run()

    assert parts.is_equal()


@pytest.mark.parametrize("damage", [cut, Path.unlink], ids=["cut short", "gone"])
def test_the_start_of_the_first_window_comes_back_from_its_copy(parts: Parts, damage: Callable[[Path], None]) -> None:
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    file = parts.landing / "handover.json"
    damage(file)

    if file.exists():
        with pytest.raises(LandingDamaged) as caught:
            parts.run()
        assert caught.value.where["path"] == str(file)
        assert "remove handover.json and run again" in caught.value.cure
        file.unlink()
    parts.run()

    assert file.read_bytes() == (parts.landing / "handover-copy.json").read_bytes()
    assert parts.is_equal()


def test_a_start_without_a_copy_stops_everything_and_an_older_landing_gets_its_copy(parts: Parts) -> None:
    """Without it, redo would be read in the encoding that most databases have."""
    file, copy = parts.landing / "handover.json", parts.landing / "handover-copy.json"
    copy.unlink()
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    start = file.read_bytes()
    assert copy.read_bytes() == start
    copy.unlink()
    file.unlink()

    with pytest.raises(LandingDamaged, match="the file is gone") as caught:
        parts.run()
    assert "restore the file from a copy" in caught.value.cure
    file.write_bytes(start)
    parts.run()

    assert parts.is_equal()


@pytest.mark.parametrize("is_applied", [False, True], ids=["still waits", "is applied"])
def test_a_damaged_approval_that_the_ledger_has_lost_is_given_again(parts: Parts, is_applied: bool) -> None:
    """The table is held by its statement once more, unless that is applied."""
    parts.land("ALTER TABLE parts NOLOGGING", "INSERT INTO parts VALUES (2, 'second')")
    parts.run()
    steps.approve_ddl(parts.pipeline, "SHOP.PARTS", "ignore", reason="no direct loads", by="test")
    if is_applied:
        parts.run()
    (file,) = parts.landing.glob("approvals/*.json")
    cut(file)
    lose_ledger(parts.landing.parent)

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert caught.value.where["path"] == str(file)
    assert f"remove approvals/{file.name} and run again" in caught.value.cure
    file.unlink()
    parts.run()
    if not is_applied:
        steps.approve_ddl(parts.pipeline, "SHOP.PARTS", "ignore", reason="no direct loads", by="test")
    parts.land("INSERT INTO parts VALUES (4, 'fourth')")
    parts.run()

    assert parts.is_equal()


def test_a_damaged_load_is_taken_again(parts: Parts) -> None:
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.run()
    (manifest,) = parts.landing.glob("loads/*/manifest.json")
    cut(manifest)
    lose_ledger(parts.landing.parent)

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert caught.value.where["path"] == str(manifest)
    assert f"remove loads/{manifest.parent.name}/manifest.json" in caught.value.cure
    assert "`redolake snapshot SHOP.PARTS --replace`" in caught.value.cure
    manifest.unlink()
    steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    parts.run()

    assert parts.is_equal()


@pytest.mark.parametrize("damage", [cut, Path.unlink], ids=["cut short", "gone"])
def test_a_damaged_spec_of_a_load_that_set_its_table_back_is_taken_again(parts: Parts, damage: Callable[[Path], None]) -> None:
    """It names the batches that no longer count, which each batch asks for."""
    steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)
    manifest = max(parts.landing.glob("loads/*/manifest.json"))
    damage(manifest.parent / "spec.json")
    lose_ledger(parts.landing.parent)

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert caught.value.where["path"] == str(manifest.parent / "spec.json")
    assert f"remove loads/{manifest.parent.name}/manifest.json" in caught.value.cure
    manifest.unlink()
    steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    parts.run()

    assert parts.is_equal()


def test_a_damaged_content_of_the_dictionary_is_written_again_by_the_next_plan(parts: Parts) -> None:
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    reading = json.loads(max(parts.landing.glob("dictionary/from-*/*.json")).read_text())
    content = parts.landing / f"dictionary/contents/{reading['content']}.json"
    cut(content)

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert caught.value.where["path"] == str(content)
    assert f"remove dictionary/contents/{content.name}: the plan of the next window" in caught.value.cure
    content.unlink()
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    parts.run()

    assert parts.is_equal()


def test_a_damaged_list_of_matched_tables_is_made_again(parts: Parts) -> None:
    matching = parts.shop.pipeline(tables=["SHOP.PARTS", "SHOP.BIN_*"], new_tables="capture")
    parts.shop.run_sql("CREATE TABLE bin_1 (id NUMBER(9) PRIMARY KEY)")
    parts.pipeline = matching
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.shop.run_sql("CREATE TABLE bin_2 (id NUMBER(9) PRIMARY KEY)")
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    first, newest = sorted(parts.landing.glob("captured/*.json"))
    tables = newest.read_bytes()
    cut(newest)

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert caught.value.where["path"] == str(newest)
    assert f"remove captured/{newest.name} and run again" in caught.value.cure
    newest.unlink()
    parts.run()

    found = [json.loads(body)["tables"] for body in (tables, newest.read_bytes())]
    assert found[0] == found[1]
    cut(first)
    parts.run()  # only the newest is read


def test_a_landing_that_is_lost_for_good_is_begun_again_as_its_error_says(parts: Parts, tmp_path: Path) -> None:
    with Run(parts.pipeline) as context:
        place = lake_place(context)
    check_lake(replace(place, holds=()))  # as the first job in Spark does
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    for name in ("handover.json", "handover-copy.json"):
        (parts.landing / name).unlink()

    with pytest.raises(LandingDamaged) as caught:
        parts.run()
    assert "name another database for `ledger`, move what is left of the landing away" in caught.value.cure
    parts.landing.rename(tmp_path / "what is left")
    parts.pipeline = parts.shop.pipeline(tables=["SHOP.PARTS"], ledger={"url": f"sqlite:///{tmp_path}/another.db"})
    with pytest.raises(LandingMissing, match="the lake was written from it"):
        steps.take_snapshot(parts.pipeline, source=parts.shop.params, spark=parts.spark)
    Path(place.lake, place.mark).unlink()
    steps.take_snapshot(parts.pipeline, source=parts.shop.params, spark=parts.spark)
    parts.land("INSERT INTO parts VALUES (3, 'third')")
    parts.run()

    assert parts.is_equal()


def test_a_landing_that_has_moved_is_one_error_of_every_command(parts: Parts, tmp_path: Path) -> None:
    folder = parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.pipeline = parts.shop.pipeline(
        tables=["SHOP.PARTS"],
        ledger={"url": f"sqlite:///{parts.landing.parent}/redolake-ledger.db"},
        landing=str(tmp_path / "x"),
    )

    for do in (
        parts.run,
        lambda: parts.remine(folder),
        lambda: steps.discard_windows(parts.pipeline, folder.name, execute=True, reason="test"),
        lambda: steps.list_windows(parts.pipeline),
        lambda: steps.list_transactions(parts.pipeline),
    ):
        with pytest.raises(LandingMissing):
            do()
    found = run_doctor(parts.pipeline, parts.shop.params)
    assert [one.subject for one in found if "not mounted" in one.what] == ["shop.landing"]


def test_a_held_table_whose_windows_were_removed_is_held_again_and_the_others_go_on(parts: Parts) -> None:
    parts.land("INSERT INTO parts VALUES (2, 'second')")
    parts.run()
    with Run(parts.pipeline) as context:
        context.ledger.hold(parts.pipeline.tables[0].id, {"code": "X", "what": "by hand", "where": {}, "cure": ""})
    folder = parts.land("INSERT INTO parts VALUES (3, 'third')")
    parts.run()
    shutil.rmtree(folder)
    steps.resume_tables(parts.pipeline, ["SHOP.PARTS"])

    parts.run()

    (table,) = steps.read_status(parts.pipeline).tables
    assert re.search("hole|is gone", str(table.error))
    steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)
    parts.run()
    assert parts.is_equal()
