"""Landing on S3 and ledger in PostgreSQL: what two hosts share. Spark's part stands in tests/e2e/test_two_hosts.py."""

from __future__ import annotations

from multiprocessing import get_context
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.reconcile.ledger import reconcile_ledger
from redolake.source import ConnectParams
from redolake.steps.run import capture
from tests.fixtures.s3 import S3
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake

TABLES = ["SHOP.CUSTOMERS", "SHOP.ORDER_LINES"]


@pytest.fixture
def pipeline(shop: Shop, bucket: str, postgres_url: str) -> Pipeline:
    return shop.pipeline(landing=f"s3://{bucket}/landing", ledger={"url": postgres_url}, tables=TABLES)


def capture_elsewhere(pipeline: Pipeline, source: ConnectParams, folder: str) -> str | None:
    """Capture a window in another process, as another host would."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(captured, (pipeline, source, folder))


def captured(pipeline: Pipeline, source: ConnectParams, folder: str) -> str | None:
    import os

    os.chdir(folder)
    return capture(Run(pipeline, source)).plan.window


def read_share(pipeline: Pipeline, source: ConnectParams, scn: int, number: int) -> bool:
    return steps.read_snapshot_table(Run(pipeline, source), scn, "SHOP.PARTS", worker=(number, 2)).complete


def test_two_hosts_read_the_chunks_of_one_snapshot(shop: Shop, pipeline: Pipeline, bucket: str, s3: S3) -> None:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts SELECT LEVEL, LEVEL FROM dual CONNECT BY LEVEL <= 5000",
    )
    shop.run_sql("GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS")
    more = {"tables": ["SHOP.PARTS"], "snapshot": {"chunk_bytes": "64KiB"}, "ledger": {"url": pipeline.ledger.url}}
    pipeline = shop.pipeline(landing=pipeline.landing, **more)
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    with get_context("spawn").Pool(1) as elsewhere:
        ended = elsewhere.apply_async(read_share, (pipeline, shop.params, begun.scn, 0))
        here = read_share(pipeline, shop.params, begun.scn, 1)
        there = ended.get(timeout=120)
    chunks = [key for key in s3.keys(bucket) if "/chunk-" in key]
    with PlainLake().in_place_of_spark():
        taken = steps.take_snapshot(pipeline, source=shop.params, spark="none")

    assert here or there
    assert len(chunks) == 4
    assert taken.tables[0].rows == 5000
    assert [key for key in s3.keys(bucket) if "/chunk-" in key] == chunks


def test_two_hosts_capture_in_turn_and_the_ledger_is_rebuilt_from_the_bucket(
    shop: Shop, pipeline: Pipeline, bucket: str, s3: S3, postgres: Any
) -> None:
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="none")
    shop.work(30)
    shop.switch_logs()
    here = shop.folder / "another host"
    here.mkdir()
    first = capture_elsewhere(pipeline, shop.params, str(here))
    shop.work(30, seed=2)
    shop.switch_logs()
    second = capture(Run(pipeline, shop.params)).plan.window

    fresh = pipeline.model_copy(update={"ledger": replace_url(pipeline, postgres.new_database())})
    with Run(pipeline) as context:
        landed = [manifest.name for manifest in context.landing.windows.after()]
        parquet = [file for manifest in context.landing.windows.after() for file in context.landing.windows.files_of(manifest)]
    assert landed == [name for name in (first, second) if name]
    assert first is not None
    assert second is not None
    assert {file.removeprefix(f"s3://{bucket}/") for file in parquet} <= set(s3.keys(bucket))
    with Run(fresh) as context:
        reconcile_ledger(context)
    assert steps.read_status(fresh).landed_to_scn == steps.read_status(pipeline).landed_to_scn
    assert list(here.iterdir()) == []
    assert not (shop.folder / "landing").exists()


def replace_url(pipeline: Pipeline, url: str) -> Any:
    return pipeline.ledger.model_copy(update={"url": url})
