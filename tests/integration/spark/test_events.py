"""The lake's own log has each event once, whoever was killed and whatever was rebuilt; no table waits for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from redolake import steps
from redolake.context import Run
from redolake.host import crash
from redolake.job import events
from redolake.job.lake import check_lake
from redolake.records.batches.spec import LandedWindow
from redolake.records.lakes import LakePlace
from redolake.records.maintenance import MaintenanceSpec
from redolake.steps.checks.doctor import unwritten_log
from tests.fixtures.shop import Shop
from tests.integration.spark.specs import batch_spec
from tests.integration.test_pipeline import caught_up, parts_pipeline
from tests.references.delta_table import read_delta
from tests.support.lake_readers import delta_extension

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "dashboard.md"
BLOCKS = [block.strip().rstrip(";") for block in re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)]
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def event(name: str, at: datetime = NOW, **more: Any) -> dict[str, Any]:
    return {"id": name, "happened_at": at.isoformat(), "pipeline": "p", "kind": "window", **more}


def place(folder: Path) -> LakePlace:
    return LakePlace("p", str(folder / "lake"), "mark.json", str(folder / "landing"), "record.json")


def ids(folder: Path) -> Counter[str]:
    return Counter(read_delta(str(folder / "lake" / "_events")).column("id").to_pylist())


def allow() -> None:
    return None


def killed(point: str) -> None:
    assert point == "events"
    raise KeyboardInterrupt


def written(spark: Any, folder: Path, *found: dict[str, Any]) -> str:
    return events.write_events(
        spark, batch_spec(folder, [LandedWindow("w", 10, 100, ())], [], lake=place(folder), events=found), allow
    )


def test_an_event_is_there_once_and_its_types_are_plain(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = event("a", from_scn=5, last_scn=9, seconds=1.5, text="it's\n'; DROP"), event("b", who="Ann")

    check_lake(place(tmp_path))  # as each job does before
    with monkeypatch.context() as patch:
        patch.setattr(crash, "point", killed)
        with pytest.raises(KeyboardInterrupt):  # after the commit
            written(spark, tmp_path, first)
    assert written(spark, tmp_path, first, second) == ""  # whoever repeats it has another spec
    assert written(spark, tmp_path, second, first) == ""
    assert written(spark, tmp_path, event("late", NOW - timedelta(days=3))) == ""

    assert ids(tmp_path) == {"a": 1, "b": 1, "late": 1}
    found = {row["id"]: row for row in read_delta(str(tmp_path / "lake" / "_events")).to_pylist()}
    assert (found["a"]["happened_at"].astimezone(UTC), found["a"]["from_scn"], found["a"]["text"]) == (NOW, 5, first["text"])
    log = events.open_table(spark, str(tmp_path / "lake" / "_events"), "").log
    assert log is not None
    assert log.features() == frozenset()


def test_maintenance_removes_old_events_of_its_own_pipeline(spark: Any, tmp_path: Path) -> None:
    other = {**event("other", NOW - timedelta(days=9)), "pipeline": "q"}
    written(spark, tmp_path, event("old", NOW - timedelta(days=9)), other)
    spec = MaintenanceSpec(
        "p", "t", (), "m", 32, 1024, 5.0, lake=place(tmp_path), events=(event("new"),),
        events_from=(NOW - timedelta(days=7)).isoformat(),
    )  # fmt: skip
    assert events.write_events(spark, spec, allow) == ""
    assert ids(tmp_path) == {"new": 1, "other": 1}


def check_selects(spark: Any, log: Path) -> None:
    """Run the SELECTs of the page in Spark and DuckDB, which answer the same."""
    (in_spark, in_duckdb), selects = BLOCKS[:2], BLOCKS[2:]
    assert len(selects) == 5
    spark.sql(in_spark.replace("/data/lake/_events", str(log)))
    with duckdb.connect() as connection:
        connection.load_extension(delta_extension())
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(in_duckdb.replace("/data/lake/_events", str(log)))
        for select in selects:
            found = [tuple(row) for row in spark.sql(select).collect()]
            assert [texts(row) for row in connection.execute(select).fetchall()] == [texts(row) for row in found], select


def texts(row: Sequence[Any]) -> list[str]:
    """Return the cells without the zone of a time, which Spark shows as that of the session, UTC, and without the last digits
    of a mean, which depend on the order of its rows."""
    plain = (cell.replace(tzinfo=None) if isinstance(cell, datetime) else cell for cell in row)
    return [f"{cell:.9f}" if isinstance(cell, float) else str(cell) for cell in plain]


def test_a_pipeline_writes_what_happened_and_holds_nothing_for_its_log(shop: Shop, spark: Any) -> None:
    settings = parts_pipeline(shop)
    pipeline = settings.model_copy(update={"keep": settings.keep.model_copy(update={"events": timedelta(days=30)})})
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    for number in range(2):
        shop.run_sql(f"INSERT INTO parts VALUES ({number}, 'A', 1)")
        caught_up(shop, pipeline, spark)
        if not number:
            steps.verify_tables(pipeline, source=shop.params, spark=spark)
    log = Path(pipeline.lake) / "_events"
    rows = read_delta(str(log)).to_pylist()
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["window"] >= 2
    assert kinds["batch"] >= 1
    assert (kinds["snapshot"], kinds["proof"]) == (1, 1)
    tables = [row for row in rows if row["kind"] == "table"]
    assert {(row["table_name"], row["inserted"]) for row in tables} >= {("SHOP.PARTS", 1)}
    assert max(Counter(row["id"] for row in rows).values()) == 1

    Path(pipeline.ledger_url.removeprefix("sqlite:///")).unlink()  # rebuilt from the files
    shop.run_sql("INSERT INTO parts VALUES (7, 'A', 1)")
    caught_up(shop, pipeline, spark)
    after = Counter(row["id"] for row in read_delta(str(log)).to_pylist())
    assert set(after) > {row["id"] for row in rows}
    assert max(after.values()) == 1
    check_selects(spark, log)

    newest = max((log / "_delta_log").glob("*.json"))
    kept = newest.read_bytes()
    newest.write_bytes(b'{"not a log')
    shop.run_sql("INSERT INTO parts VALUES (9, 'A', 1)")
    caught_up(shop, pipeline, spark)
    assert steps.read_status(pipeline).tables[0].state == "live"
    (finding,) = unwritten_log(pipeline)
    assert finding.severity == "warning"
    assert "the lake's log is not written" in finding.what
    newest.write_bytes(kept)
    shop.run_sql("INSERT INTO parts VALUES (10, 'A', 1)")
    caught_up(shop, pipeline, spark)
    assert unwritten_log(pipeline) == []
    with Run(pipeline) as run:
        batches = {f"shop/batch/{one.name}" for one in run.ledger.batches("applied")[1:]}
    assert batches <= set(Counter(row["id"] for row in read_delta(str(log)).to_pylist()))
