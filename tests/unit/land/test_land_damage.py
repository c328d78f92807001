"""Files of the landing that are not what they were: each is refused with its cure, and a window may be mined into its place."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from redolake.errors import LandingConflict, LandingDamaged
from redolake.land import layout
from redolake.land.chain_rules import build_manifest
from redolake.land.files import Files
from redolake.land.landing import Landing
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import decode
from redolake.records.windows import WindowManifest
from redolake.values.scn import Scn
from redolake.values.table import TableId
from tests.support.killed import Killed
from tests.unit.land.redo_rows import FIRST, ORDERS, SECOND, THREE, row, window, write
from tests.unit.land.test_land_snapshots import TABLE, rows
from tests.unit.records.samples import TABLE as DESCRIBED

LATER = window(300, 400, [(THREE,)])
OF_LATER = ([row(360, thread=2, sequence=7)],)


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    """Two windows, [100, 300) and [300, 400)."""
    made = Landing(str(tmp_path), "shop")
    made.windows.publish(window(), [ORDERS], write(made, window()), None)
    made.windows.publish(LATER, [ORDERS], write(made, LATER, OF_LATER), 300)
    return made


def again(tmp_path: Path) -> Landing:
    return Landing(str(tmp_path), "shop")


def test_every_file_of_a_window_has_its_size_and_hash_in_the_manifest(landing: Landing) -> None:
    first, _ = landing.windows.after()

    assert set(first.digests) == set(first.all_files)
    for file in first.files:
        landing.files.check(f"windows/{first.name}/{file}", first.digests[file])


def test_the_manifest_of_another_window_is_refused(landing: Landing, tmp_path: Path) -> None:
    windows = tmp_path / "shop" / "windows"
    shutil.copy(windows / window().name / "manifest.json", windows / LATER.name / "manifest.json")

    with pytest.raises(LandingDamaged, match=f"manifest of another window: {window().name}") as caught:
        again(tmp_path).windows.after()
    assert f"remove windows/{LATER.name}/manifest.json" in caught.value.cure
    (windows / LATER.name / "manifest.json").unlink()
    assert [found.name for found in again(tmp_path).windows.after()] == [window().name, LATER.name]


@pytest.mark.parametrize("at", [window().name, LATER.name], ids=["an older window", "the newest window"])
def test_a_manifest_that_was_removed_comes_from_the_chain(landing: Landing, tmp_path: Path, at: str) -> None:
    before = landing.windows.manifest(at)
    (tmp_path / "shop" / "windows" / at / "manifest.json").unlink()

    assert again(tmp_path).windows.manifest(at) == before
    assert len(again(tmp_path).windows.after()) == 2


def test_a_link_of_another_position_is_refused(landing: Landing, tmp_path: Path) -> None:
    first, second = sorted((tmp_path / "shop" / "chain").iterdir())
    shutil.copy(first, second)

    with pytest.raises(LandingDamaged, match="of another position"):
        again(tmp_path).windows.after()
    shutil.copy(tmp_path / "shop" / "windows" / LATER.name / "manifest.json", second)
    assert len(again(tmp_path).windows.after()) == 2


def test_the_manifest_and_the_description_of_another_snapshot_are_refused(tmp_path: Path) -> None:
    landing, other = again(tmp_path), TableId("SHOP", "OTHER")
    for table, scn in ((TABLE, 500), (TABLE, 600), (other, 500)):
        landing.snapshots.publish_manifest(table, scn, [landing.snapshots.write_rows(table, scn, [rows(1)], "t")])
    landing.files.write_record_once(layout.snapshot_dictionary(TABLE, 500), DESCRIBED)

    for source in (layout.snapshot_manifest(TABLE, 600), layout.snapshot_manifest(other, 500)):
        shutil.copy(landing.files.location(source), landing.files.location(layout.snapshot_manifest(TABLE, 500)))
        with pytest.raises(LandingDamaged, match="of another snapshot") as caught:
            landing.snapshots.manifest(TABLE, 500)
        assert f"`redolake snapshot '{TABLE}' --replace`" in caught.value.cure
    with pytest.raises(LandingDamaged, match="of another snapshot"):
        landing.snapshots.dictionary(TABLE, 500)


def test_a_dictionary_that_was_changed_does_not_have_its_name(tmp_path: Path) -> None:
    landing = again(tmp_path)
    landing.dictionary.write_dictionary(11, 100, [DESCRIBED])
    landing.dictionary.write_dictionary(11, 200, [])
    first, second = sorted((tmp_path / "shop" / "dictionary").glob("from-*/*.json"))
    position = landing.dictionary.positions()[0]
    whole = first.read_bytes()

    shutil.copy(second, first)
    with pytest.raises(LandingDamaged, match="the reading at SCN 200"):
        landing.dictionary.at(position)
    first.write_bytes(whole)
    contents = [file for file in (tmp_path / "shop" / "dictionary" / "contents").iterdir()]
    contents[0].write_bytes(contents[1].read_bytes())
    contents[1].unlink()
    for at in again(tmp_path).dictionary.positions():
        with pytest.raises(LandingDamaged, match="its name is its hash"):
            again(tmp_path).dictionary.at(at)


def test_a_batch_with_a_byte_that_is_no_text_is_damaged() -> None:
    with pytest.raises(LandingDamaged, match="is not JSON"):
        decode(BatchResult, b'{"record": "batch result\xff"}', "manifest.json")


def mined_into_place(landing: Landing, token: str) -> WindowManifest:
    landed = landing.windows.manifest(window().name)
    assert landed is not None
    records = write(landing, window(), token=token)
    return landing.windows.replace_redo(landed, build_manifest(window(), [ORDERS], records), records)


def test_redo_that_was_mined_again_takes_the_place_of_the_damaged(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "shop" / "windows" / window().name / "redo-t1-00000.parquet").unlink()

    made = mined_into_place(landing, "t2")

    assert made.files == ("redo-t2-00000.parquet", "redo-t2-00001.parquet")
    assert again(tmp_path).windows.manifest(window().name) == made
    (tmp_path / "shop" / "windows" / window().name / "manifest.json").unlink()
    assert again(tmp_path).windows.manifest(window().name) == made  # the copy in the chain is replaced too
    for file in made.files:
        landing.files.check(f"windows/{made.name}/{file}", made.digests[file])


def test_redo_with_other_rows_takes_no_place(landing: Landing) -> None:
    landed = landing.windows.manifest(window().name)
    assert landed is not None
    records = write(landing, window(), rows=(FIRST[:-1], SECOND), token="t2")

    with pytest.raises(LandingConflict, match="row_hash"):
        landing.windows.replace_redo(landed, build_manifest(window(), [ORDERS], records), records)
    assert landing.windows.manifest(window().name) == landed


@pytest.mark.parametrize("nth", range(5))
def test_a_killed_replacement_is_repeated(landing: Landing, tmp_path: Path, nth: int) -> None:
    passed: list[str] = []

    def kill(name: str) -> None:
        passed.append(name)
        if len(passed) > nth + 4:  # after the new files, which nobody counts yet
            raise Killed(name)

    with suppress(Killed), mock.patch("redolake.host.crash.point", kill):
        mined_into_place(landing, "t2")

    made = mined_into_place(again(tmp_path), "t3")

    assert again(tmp_path).windows.manifest(window().name) == made
    for file in made.files:
        Files(str(tmp_path / "shop")).check(f"windows/{made.name}/{file}", made.digests[file])
    assert len(again(tmp_path).windows.after()) == 2


@pytest.mark.parametrize("nth", range(5))
def test_windows_are_given_up_from_the_newest_on_so_that_a_killed_attempt_leaves_no_hole(
    landing: Landing, tmp_path: Path, nth: int
) -> None:
    passed: list[str] = []

    def kill(name: str) -> None:
        passed.append(name)
        if len(passed) > nth:
            raise Killed(name)

    start = window().start_position
    with suppress(Killed), mock.patch("redolake.host.crash.point", kill):
        landing.windows.discard_from(start)

    left = [found.name for found in again(tmp_path).windows.after()]
    assert left in ([], [window().name], [window().name, LATER.name])
    again(tmp_path).windows.discard_from(start)
    assert again(tmp_path).windows.after() == []
    assert again(tmp_path).chain_end() is None


def test_a_window_that_was_given_up_can_land_again(landing: Landing, tmp_path: Path) -> None:
    landing.windows.discard_from(LATER.start_position)
    assert landing.chain_end().scn == Scn(300)  # type: ignore[union-attr]

    landing.windows.publish(LATER, [ORDERS], write(landing, LATER, OF_LATER, token="t2"), 300)

    assert [found.name for found in again(tmp_path).windows.after()] == [window().name, LATER.name]


def test_a_snapshot_whose_file_is_damaged_is_read_again_at_its_scn(tmp_path: Path) -> None:
    landing = again(tmp_path)
    first = landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1)], "t1")])
    (file,) = landing.snapshots.files_of(TABLE, 500, first)
    assert landing.snapshots.whole(TABLE, 500) == first
    Path(file).write_bytes(Path(file).read_bytes()[:-1])
    assert landing.snapshots.whole(TABLE, 500) is None

    second = landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1)], "t2")])

    assert landing.snapshots.whole(TABLE, 500) == second
    assert second.files != first.files
