"""A lake is known again by the mark that Redolake wrote into it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redolake.errors import LakeMissing, LakeRefused, LandingUnavailable
from redolake.job import lake as lake_module
from redolake.job.lake import LakeFiles, check_lake, check_usable
from redolake.land.files import Files
from redolake.records.lakes import LakePlace
from tests.fixtures.s3 import S3


def place(tmp_path: Path, *holds: str, lake: str = "lake", landing: str = "landing") -> LakePlace:
    root = tmp_path / lake
    root.mkdir(exist_ok=True)
    targets = tuple(str(root / table) for table in holds)
    return LakePlace("shop", str(root), "_redolake/shop.json", str(tmp_path / landing), f"lakes/{lake}.json", targets)


def table(tmp_path: Path, name: str) -> None:
    log = tmp_path / "lake" / name / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").write_text("{}\n")


def mark_of(where: LakePlace) -> dict[str, str]:
    return dict(json.loads(Path(where.lake, where.mark).read_text()))


def test_a_new_lake_is_marked_once(tmp_path: Path) -> None:
    where = place(tmp_path)
    check_lake(where)
    first = mark_of(where)
    check_lake(where)

    assert mark_of(where) == first
    assert first == json.loads(Path(where.landing, where.record).read_text())


def plain_put(files: LakeFiles, path: str, body: bytes) -> None:
    """Write as a store does that ignores the condition of an exclusive request."""
    files._fs.pipe_file(path, body)


def refused_put(files: LakeFiles, path: str, body: bytes) -> None:
    raise ClientError({"Error": {"Code": "NotImplemented"}}, "PutObject")


STORES = {"keeps writers apart": None, "ignores the condition": plain_put}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("moment", ["mark_lake", "record_mark"])
def test_two_first_jobs_that_mark_a_lake_at_once_agree(
    s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch, moment: str, store: str
) -> None:
    """The other job does all of its marking after this one has looked, and before the given step of this one."""
    where = LakePlace("shop", f"s3://{bucket}/lake", "_redolake/shop.json", f"s3://{bucket}/landing", "lakes/l.json")
    if (put := STORES[store]) is not None:
        monkeypatch.setattr(LakeFiles, "_create_object", put)
    step = getattr(lake_module, moment)

    def after_the_other_job(*args: Any, **more: Any) -> None:
        monkeypatch.setattr(lake_module, moment, step)
        if moment == "record_mark":
            Files(where.lake).remove(where.mark)  # the other one has found none either
        check_lake(where)
        step(*args, **more)

    monkeypatch.setattr(lake_module, moment, after_the_other_job)
    check_lake(where)

    check_lake(where)
    assert Files(where.lake).read(where.mark) == Files(where.landing).read(where.record)


def test_a_store_that_refuses_conditions_is_marked_all_the_same(s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where = LakePlace("shop", f"s3://{bucket}/lake", "_redolake/shop.json", f"s3://{bucket}/landing", "lakes/l.json")
    Files(where.landing).create("first", b"")  # the landing's own test of the store
    monkeypatch.setattr(LakeFiles.__base__, "_create_object", refused_put)
    with pytest.raises(LandingUnavailable):
        check_lake(where)
    assert Files(where.lake).read(where.mark) is not None


def test_a_lake_that_has_lost_its_mark_is_not_mounted(tmp_path: Path) -> None:
    where = place(tmp_path)
    check_lake(where)
    Path(where.lake, where.mark).unlink()

    with pytest.raises(LakeMissing, match="has lost the file"):
        check_lake(where)


def test_a_lake_without_mark_and_tables_is_not_mounted(tmp_path: Path) -> None:
    where = place(tmp_path, "orders", "parts")
    with pytest.raises(LakeMissing, match="has none of the tables"):
        check_lake(where)
    assert list(Path(where.lake).iterdir()) == []


def test_a_lake_of_an_older_version_has_some_table_and_is_marked(tmp_path: Path) -> None:
    where = place(tmp_path, "orders", "parts")
    table(tmp_path, "parts")
    check_lake(where)

    assert mark_of(where)["pipeline"] == "shop"


def test_a_lake_that_was_written_from_another_landing_is_another_one(tmp_path: Path) -> None:
    ours, theirs = place(tmp_path), place(tmp_path, lake="other", landing="its landing")
    check_lake(ours)
    check_lake(theirs)
    Path(ours.lake, ours.mark).write_bytes(Path(theirs.lake, theirs.mark).read_bytes())

    with pytest.raises(LakeMissing, match="is another one"):
        check_lake(ours)


def test_a_lake_that_moved_with_its_mark_is_the_same_lake(tmp_path: Path) -> None:
    where = place(tmp_path)
    check_lake(where)
    moved = place(tmp_path, "orders", lake="elsewhere")
    Files(moved.lake).create(moved.mark, Path(where.lake, where.mark).read_bytes())
    check_lake(moved)

    assert mark_of(moved) == mark_of(where)


def test_a_job_that_was_killed_after_it_marked_the_lake_is_repeated(tmp_path: Path) -> None:
    where = place(tmp_path)
    check_lake(where)
    Path(where.landing, where.record).unlink()
    check_lake(where)

    assert json.loads(Path(where.landing, where.record).read_text()) == mark_of(where)


@pytest.mark.parametrize("knows", [True, False])
def test_an_empty_mark_says_that_this_is_the_lake(tmp_path: Path, knows: bool) -> None:
    where = place(tmp_path, "orders")
    if knows:
        check_lake(replace(where, holds=()))
    before = mark_of(where) if knows else None
    Files(where.lake).remove(where.mark)
    Files(where.lake).create(where.mark, b"")
    check_lake(where)

    assert mark_of(where) == (before or json.loads(Path(where.landing, where.record).read_text()))


def test_a_lake_that_cannot_be_written_is_an_error_of_the_lake(tmp_path: Path) -> None:
    where = place(tmp_path)
    check_lake(where)
    check_usable(where)
    assert [file.name for file in Path(where.lake, "_redolake").iterdir()] == ["shop.json"]

    with pytest.raises(LakeRefused, match="File exists"):
        LakeFiles(str(Path(where.lake, where.mark))).create("x", b"")


def test_a_lake_that_several_users_write_takes_a_mark_of_each(tmp_path: Path) -> None:
    where = place(tmp_path)
    Path(where.lake).chmod(0o2775)

    check_lake(where)

    LakeFiles(f"{where.lake}/shop").create("test-of-validate", b"")

    assert [Path(where.lake, name).stat().st_mode & 0o7777 for name in ("_redolake", "shop")] == [0o2775, 0o2775]


def test_a_lake_that_is_marked_stays_open_to_its_readers(tmp_path: Path) -> None:
    where = place(tmp_path)
    Path(where.lake).chmod(0o755)

    check_lake(where)
    check_usable(where)

    assert [path.stat().st_mode & 0o044 for path in (Path(where.lake), Path(where.lake, where.mark))] == [0o044, 0o044]
    assert Path(where.landing).stat().st_mode & 0o777 == 0o700


def test_a_lake_in_a_bucket_is_marked_and_one_without_its_bucket_is_refused(tmp_path: Path, bucket: str) -> None:
    lake = f"s3://{bucket}/lake"
    where = LakePlace("shop", lake, "_redolake/shop.json", str(tmp_path / "landing"), "lakes/s3.json", (f"{lake}/orders",))
    with pytest.raises(LakeMissing, match="has none of the tables"):
        check_lake(where)
    check_lake(replace(where, holds=()))
    check_usable(where)

    with pytest.raises(LakeRefused, match="bucket"):
        check_lake(replace(where, lake="s3://no-such-bucket/lake"))
