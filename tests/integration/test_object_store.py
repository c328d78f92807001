"""Landing on S3 and ledger in PostgreSQL: what two hosts share. Spark's part stands in tests/e2e/test_two_hosts.py."""

from __future__ import annotations

from multiprocessing import get_context
from typing import Any

import pytest

from pipelines import steps
from pipelines.config import Pipeline
from pipelines.context import open_context
from pipelines.reconcile.ledger import reconcile_ledger
from pipelines.source import ConnectParams
from pipelines.steps.run import capture
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
    return capture(pipeline, source).window


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
    second = capture(pipeline, shop.params).window

    fresh = pipeline.model_copy(update={"ledger": replace_url(pipeline, postgres.new_database())})
    with open_context(pipeline) as context:
        landed = [manifest.name for manifest in context.landing.windows.after()]
        parquet = [file for manifest in context.landing.windows.after() for file in context.landing.windows.files_of(manifest)]
    assert landed == [name for name in (first, second) if name]
    assert first is not None
    assert second is not None
    assert {file.removeprefix(f"s3://{bucket}/") for file in parquet} <= set(s3.keys(bucket))
    with open_context(fresh) as context:
        reconcile_ledger(context)
    assert steps.read_status(fresh).landed_to_scn == steps.read_status(pipeline).landed_to_scn
    assert list(here.iterdir()) == []
    assert not (shop.folder / "landing").exists()


def replace_url(pipeline: Pipeline, url: str) -> Any:
    return pipeline.ledger.model_copy(update={"url": url})
