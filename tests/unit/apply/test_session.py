"""The settings that Spark is started with."""

from __future__ import annotations

import pytest

from pipelines.apply import session
from pipelines.apply.session import JAVA_OPTIONS, spark_conf

QUIET = "-Xlog:cds=error -Xlog:cds+dynamic=error"


@pytest.fixture
def archive(tmp_path, monkeypatch):
    file = tmp_path / "spark-classes.jsa"
    monkeypatch.setattr(session, "class_archive", lambda: file)
    return file


def test_java_takes_sparks_classes_from_the_archive_where_one_was_written(archive):
    assert JAVA_OPTIONS not in spark_conf({})
    assert spark_conf({JAVA_OPTIONS: "-Xss4m"})[JAVA_OPTIONS] == "-Xss4m"

    archive.write_bytes(b"classes")

    assert spark_conf({})[JAVA_OPTIONS] == f"-XX:SharedArchiveFile={archive} {QUIET}"
    assert spark_conf({JAVA_OPTIONS: "-Xss4m"})[JAVA_OPTIONS] == f"-Xss4m -XX:SharedArchiveFile={archive} {QUIET}"


@pytest.mark.parametrize("own", ["-XX:SharedArchiveFile=/own.jsa", "-XX:ArchiveClassesAtExit=/own.jsa"])
def test_an_archive_in_the_settings_wins(archive, own):
    archive.write_bytes(b"classes")

    assert spark_conf({JAVA_OPTIONS: own})[JAVA_OPTIONS] == own
