"""A table that a DDL holds is snapshotted again by itself, within the limits, while the others continue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run, now
from redolake.reconcile.approvals import approvals
from redolake.steps.shared.status import TableStatus
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.references.plain_lake import PlainLake

LOGGED = "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
CREATED = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9)) "
    "PARTITION BY RANGE (id) (PARTITION first VALUES LESS THAN (2), PARTITION rest VALUES LESS THAN (MAXVALUE))"
)
ROWS = ("INSERT INTO parts VALUES (1, 'A', 10)", "INSERT INTO parts VALUES (2, 'B', 20)")
AGAIN = {
    "recreate": (
        "DROP TABLE parts PURGE",
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, shelf NUMBER(3), place VARCHAR2(30))",
        LOGGED,
        "INSERT INTO parts VALUES (2, 7, 'again')",
    ),
    "primary_key": (
        "ALTER TABLE parts DROP PRIMARY KEY",
        "ALTER TABLE parts MODIFY (quantity NOT NULL)",
        "ALTER TABLE parts ADD CONSTRAINT parts_pk PRIMARY KEY (id, quantity)",
        "INSERT INTO parts VALUES (1, 'C', 11)",
    ),
    "drop_partition": ("ALTER TABLE parts DROP PARTITION first", "INSERT INTO parts VALUES (3, 'C', 30)"),
    "unknown_ddl": ("ALTER TABLE parts MODIFY (place CHAR(20))", "INSERT INTO parts VALUES (3, 'C', 30)"),
}


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def begun(shop: Shop, spark: str, **settings: Any) -> Pipeline:
    """Return a pipeline over PARTS and PAYMENTS whose first snapshot is loaded."""
    shop.run_sql(CREATED, LOGGED, *ROWS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.PAYMENTS"], **settings)
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    return pipeline


def run(shop: Shop, pipeline: Pipeline, spark: str) -> list[str]:
    """Apply all redo; return what the run reported."""
    shop.switch_logs()
    lines: list[str] = []
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark, report=lines.append)
    return lines


def parts(pipeline: Pipeline) -> TableStatus:
    return next(table for table in steps.read_status(pipeline).tables if table.table == "SHOP.PARTS")


@pytest.mark.parametrize("policy", AGAIN)
def test_a_table_is_snapshotted_again_by_itself_after_such_a_ddl(shop: Shop, no_spark: str, policy: str) -> None:
    pipeline = begun(shop, no_spark, on_ddl={policy: "resnapshot"})
    shop.run_sql(*AGAIN[policy], "INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
    reported = run(shop, pipeline, no_spark)
    shop.run_sql("UPDATE parts SET place = 'moved' WHERE id = 2")
    run(shop, pipeline, no_spark)

    assert [line.split(" AS OF")[0] for line in reported if line.startswith("reading")] == ["reading SHOP.PARTS"]
    assert differences(shop, pipeline) == {}
    with Run(pipeline) as context:
        (attempt,) = approvals(context, "resnapshot")
    assert (attempt.policy, attempt.by) == (policy, "pipelines.yml")


def test_a_table_with_more_rows_than_the_limit_stays_held_and_says_so(shop: Shop, no_spark: str) -> None:
    limits = {"max_rows": 2, "pause_minutes": 0}
    pipeline = begun(shop, no_spark, on_ddl={"unknown_ddl": "resnapshot"}, resnapshot=limits)
    shop.run_sql(*AGAIN["unknown_ddl"], "INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
    reported = run(shop, pipeline, no_spark)
    held, again = parts(pipeline), run(shop, pipeline, no_spark)

    assert any("SnapshotTooLarge" in line for line in reported)
    assert not any(line.startswith("reading") for line in again), "it is not read a second time"
    assert held.state == "held"
    assert held.error is not None
    assert held.cure is not None
    assert held.error.endswith("; not snapshotted again by itself: it has more than 2 rows (`resnapshot.max_rows`)")
    assert held.cure.startswith("raise `resnapshot.max_rows`, or run `redolake snapshot SHOP.PARTS --replace`")
    assert differences(shop, pipeline, "SHOP.PAYMENTS") == {}

    wider = pipeline.model_copy(update={"resnapshot": pipeline.resnapshot.model_copy(update={"max_rows": 3})})
    run(shop, wider, no_spark)

    assert differences(shop, wider) == {}


def test_after_the_last_failed_attempt_the_table_waits_for_a_person(shop: Shop, no_spark: str) -> None:
    limits = {"attempts": 2, "pause_minutes": 30, "hours_utc": "22-05"}
    pipeline = begun(shop, no_spark, on_ddl={"unknown_ddl": "resnapshot"}, resnapshot=limits)
    shop.run_sql(*AGAIN["unknown_ddl"])
    shop.switch_logs()
    hold_only = pipeline.model_copy(update={"resnapshot": pipeline.resnapshot.model_copy(update={"hours_utc": other_hours()})})
    steps.run_pipeline(hold_only, until_caught_up=True, source=shop.params, spark=no_spark)
    night = datetime(2030, 1, 1, 22, 0, tzinfo=UTC)
    times = [timedelta(hours=-1), timedelta(0), timedelta(minutes=29), timedelta(minutes=30), timedelta(hours=2)]

    due = [steps.begin_resnapshots(pipeline, night + after) for after in times]

    assert due == [(), ("SHOP.PARTS",), (), ("SHOP.PARTS",), ()]
    held = parts(pipeline)
    assert held.error is not None
    assert held.error.endswith("2 attempts have failed (`resnapshot.attempts`)")


def other_hours() -> str:
    """Return one hour of the day that is not now."""
    later = (now() + timedelta(hours=6)).hour
    return f"{later:02}-{(later + 1) % 24:02}"


def test_a_dropped_table_is_read_again_once_it_is_created_again(shop: Shop, no_spark: str) -> None:
    pipeline = begun(shop, no_spark, on_ddl={"recreate": "resnapshot"}, resnapshot={"pause_minutes": 0})
    shop.run_sql("DROP TABLE parts PURGE")
    first, held = run(shop, pipeline, no_spark), parts(pipeline)
    shop.run_sql(*AGAIN["recreate"][1:])
    run(shop, pipeline, no_spark)

    assert not any(line.startswith("reading") for line in first)
    assert held.cure is not None
    assert held.cure.startswith("wait, if a table of this name is created again")
    assert differences(shop, pipeline) == {}
