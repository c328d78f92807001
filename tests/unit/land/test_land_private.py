"""Row data and settings at rest: who may read what Redolake writes into a local folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from redolake.land.files import Files
from redolake.ledger import open_ledger


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Let the process make files that are everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(root: Path, **kind: bool) -> list[int]:
    """Write a file of both ways; return the modes of root, folder and files."""
    files = Files(str(root), **kind)
    files.create("verify/t/spec.json", b"{}")
    with files.open_new("verify/t/rows.parquet") as out:
        out.write(b"rows")
    return [mode(root / part) for part in (".", "verify", "verify/t", "verify/t/spec.json", "verify/t/rows.parquet")]


def test_what_the_landing_contains_is_its_owners_alone(tmp_path):
    assert write(tmp_path / "landing" / "shop") == [0o700, 0o700, 0o700, 0o600, 0o600]


def test_the_folders_above_a_pipelines_own_stay_open_since_the_lake_may_be_in_them(tmp_path):
    write(tmp_path / "data" / "landing" / "shop")

    assert mode(tmp_path / "data") == 0o777
    assert mode(tmp_path / "data" / "landing") == 0o700, "the names of pipelines and tables are in it"
    write(tmp_path / "data" / "landing" / "other")
    assert mode(tmp_path / "data" / "landing" / "other") == 0o700


def test_the_landing_of_an_older_release_is_closed_and_stays_usable(tmp_path):
    old = tmp_path / "shop"
    (old / "verify").mkdir(parents=True)
    (old / "spec.json").write_text("{}")
    for path, its in ((old, 0o755), (old / "verify", 0o755), (old / "spec.json", 0o644)):
        path.chmod(its)

    assert write(old) == [0o700, 0o755, 0o700, 0o600, 0o600]
    assert Files(str(old)).read("spec.json") == b"{}"


def test_a_group_shares_a_landing_that_was_made_for_it(tmp_path):
    shared = tmp_path / "landing"
    shared.mkdir()
    shared.chmod(0o2770)

    assert write(shared / "shop") == [0o2770, 0o2770, 0o2770, 0o660, 0o660]
    assert write(shared / "shop")[0] == 0o2770


@pytest.mark.parametrize(("folder", "file"), [(0o775, 0o660), (0o777, 0o666)])
def test_who_may_write_into_a_landing_can_go_on_to_read_it(tmp_path, folder, file):
    root = tmp_path / "shop"
    root.mkdir()
    root.chmod(folder)

    modes = write(root)

    assert modes[-2:] == [file, file]
    assert mode(root) == (0o777 if folder == 0o777 else 0o770)


def test_a_writable_folder_above_makes_nothing_public(tmp_path):
    tmp_path.chmod(0o1777)

    assert write(tmp_path / "shop") == [0o700, 0o700, 0o700, 0o600, 0o600]


def test_what_a_check_makes_in_the_lake_is_for_its_readers_too(tmp_path):
    assert write(tmp_path / "lake", public=True) == [0o777, 0o777, 0o777, 0o666, 0o666]


def test_the_ledger_is_its_owners_alone_also_that_of_an_older_release(tmp_path):
    file = tmp_path / "ledger.db"
    for _ in range(2):
        open_ledger(f"sqlite:///{file}", "shop").close()
        assert mode(file) == 0o600
        file.chmod(0o644)


def test_a_mount_that_has_no_modes_keeps_its_own_rule(tmp_path, monkeypatch):
    def refuse(path: object, mode: int) -> None:
        raise OSError(errno.EPERM, "no modes here")

    monkeypatch.setattr(os, "chmod", refuse)
    files = Files(str(tmp_path / "shop"))

    assert files.create("a/spec.json", b"{}")
    assert files.read("a/spec.json") == b"{}"
