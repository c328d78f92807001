"""What `validate` says of a set-up on several hosts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import redolake
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import Finding
from redolake.host import runtime
from redolake.job.lake import check_lake
from redolake.land import layout
from redolake.reconcile.lake_place import lake_place
from redolake.steps.checks import validation as checks
from redolake.steps.checks.validation import object_store_findings, package_findings, validate
from redolake.steps.shared.shown_facts import record_plan
from redolake.values.table import TableId


@pytest.fixture(autouse=True)
def connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")


def made(folder: Path, **settings: Any) -> Pipeline:
    places = {"landing": str(folder / "landing"), "lake": str(folder / "lake")}
    source = {"connection": "shop_oracle"}
    return Pipeline.model_validate({"name": "shop", "source": source, "tables": ["SHOP.ORDERS"], **places, **settings})


def said(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.severity, finding.subject) for finding in findings]


def test_the_settings_of_the_last_plan_are_compared_with_those_of_this_file(tmp_path: Path) -> None:
    mine, theirs = made(tmp_path), made(tmp_path, tables=["SHOP.ORDERS", "SHOP.STOCK"])
    assert validate(Run(mine)) == []
    with Run(theirs) as context:
        record_plan(context, "nothing", "no redo thread has a new archived log")

    assert validate(Run(theirs)) == []
    (found,) = validate(Run(mine))

    assert (found.severity, found.subject) == ("warning", "shop.settings")
    assert "on host" in found.what
    assert "the same pipelines.yml" in found.cure


def test_a_lake_or_landing_that_is_not_mounted_is_found(tmp_path: Path) -> None:
    pipeline = made(tmp_path, ledger={"url": f"sqlite:///{tmp_path}/ledger.db"})
    with Run(pipeline) as context:
        context.landing.files.create(layout.HANDOVER, b"{}")
        check_lake(lake_place(context))
    assert validate(Run(pipeline)) == []

    (tmp_path / "lake").rename(tmp_path / "lake elsewhere")
    assert said(validate(Run(pipeline))) == [("error", "shop.lake")]
    shutil.rmtree(tmp_path / "lake")
    (tmp_path / "lake elsewhere").rename(tmp_path / "lake")

    (tmp_path / "landing").rename(tmp_path / "landing elsewhere")
    assert said(validate(Run(pipeline))) == [("error", "shop.landing")]


def test_a_package_of_the_users_with_our_name_is_named(tmp_path: Path) -> None:
    assert package_findings(tmp_path) == package_findings(Path(redolake.__file__).parents[1]) == []
    (tmp_path / "redolake").mkdir()
    assert package_findings(tmp_path) == [], "a folder without modules, such as that of another tool's files"
    (tmp_path / "redolake" / "orders.py").write_text("")
    (tmp_path / "redolake.py").write_text("")

    assert said(package_findings(tmp_path)) == [
        ("warning", str(tmp_path / "redolake")),
        ("warning", str(tmp_path / "redolake.py")),
    ]
    (tmp_path / "redolake.py").unlink()


def test_matched_tables_and_the_url_of_the_ledger_are_no_other_settings(tmp_path: Path) -> None:
    mine = made(tmp_path, tables=["SHOP.*"])
    running = mine.with_matched([TableId("SHOP", "ORDERS")])
    running = running.model_copy(update={"ledger": running.ledger.model_copy(update={"url": "postgresql://db/ledger"})})

    assert running.settings_hash == mine.settings_hash
    assert (
        made(tmp_path, tables=["SHOP.*", {"table": "SHOP.ORDERS", "exclude_columns": ["NOTE"]}]).settings_hash
        != mine.settings_hash
    )


def test_what_is_on_one_machine_is_named_where_airflow_runs_tasks_on_several(tmp_path: Path) -> None:
    pipeline = made(tmp_path)

    assert validate(Run(pipeline), executors=["LocalExecutor"]) == []
    assert said(validate(Run(pipeline), executors=["LocalExecutor", "airflow.providers.celery.executors.CeleryExecutor"])) == [
        ("warning", "shop.landing"),
        ("warning", "shop.lake"),
        ("error", "shop.ledger"),
    ]


@pytest.mark.parametrize(
    ("lake", "settings", "warned"),
    [
        ("s3://bucket/lake", {}, ["jars of its S3 file system"]),
        ("gs://bucket/lake", {}, ["no connector of Spark for gs://"]),
        ("abfss://lake@account/lake", {}, ["no connector of Spark for abfss://"]),
        ("s3://bucket/lake", {"conf": {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}}, []),
        ("/lake", {}, []),
    ],
)
def test_a_spark_without_the_jars_of_an_object_store_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str, settings: dict[str, Any], warned: list[str]
) -> None:
    monkeypatch.setattr(runtime, "share", lambda: tmp_path)

    found = object_store_findings(made(tmp_path, lake=lake, spark=settings))

    assert [part in finding.what for finding, part in zip(found, warned, strict=True)] == [True] * len(warned)
    assert {finding.severity for finding in found} <= {"warning"}


def test_a_spark_that_does_not_start_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAKE_SPARK_REMOTE", "127.0.0.1")

    found = validate(Run(made(tmp_path, spark={"mode": "connect"})), start_spark=True)

    assert said(found) == [("error", "spark.connection: REDOLAKE_SPARK_REMOTE")]
    assert "sc://" in found[0].cure


def test_spark_is_not_started_where_something_is_wrong_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "landing").write_text("a file lies where the folder should be")
    monkeypatch.setattr(checks, "try_spark", lambda *_: pytest.fail("it would wait for Spark first"))

    assert ("error", "shop.landing") in said(validate(Run(made(tmp_path)), start_spark=True))


@pytest.mark.parametrize(("url", "extra"), [("s3://lake", "s3"), ("gs://lake", "gcs"), ("abfs://files@lake", "abfs")])
def test_the_package_that_an_object_store_needs_is_named(
    url: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(*_: Any, **__: Any) -> None:
        raise ImportError("its package is not installed")

    monkeypatch.setattr("fsspec.core.url_to_fs", lacks)
    found = [finding for finding in validate(Run(made(tmp_path, lake=url))) if finding.subject == "shop.lake"]

    assert (found[0].severity, found[0].cure) == ("error", f"pip install 'redolake[{extra}]'")
    assert "its package is not installed" in found[0].what


def test_everything_that_is_wrong_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "{")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(runtime, "packaged_java", lambda: None)
    (tmp_path / "taken").write_text("a file, no folder")
    ledger = {"url": "postgresql://redolake:word@127.0.0.1:1/ledger?connect_timeout=2"}

    found = validate(Run(made(tmp_path, landing=str(tmp_path / "taken"), ledger=ledger)), executors=["CeleryExecutor"])

    assert {subject for _, subject in said(found)} == {
        "shop.landing",
        "shop.lake",
        "shop.ledger",
        "connection shop_oracle",
        "Java",
    }
    assert all(finding.cure for finding in found)


def test_a_landing_that_every_user_may_write_is_named(tmp_path: Path) -> None:
    pipeline = made(tmp_path)
    assert validate(Run(pipeline)) == []
    Path(pipeline.landing_folder).chmod(0o777)

    (found,) = validate(Run(pipeline))

    assert (found.severity, found.subject) == ("warning", "shop.landing")
    assert "chmod 2770" in found.cure
