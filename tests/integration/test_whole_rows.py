"""Tables with columns that LogMiner does not show: their changed rows are read again whole when a window lands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from standin.serve import standin
from tests.fix_shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.papers import change
from tests.plain_lake import PlainLake
from tests.unshown_types import CHANGES, TABLES, fill


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with standin(log_bytes=64 * 1024, archive_lag_target=0, **getattr(request, "param", {})) as oracle:
        made = Shop(oracle, tmp_path)
        fill(made)
        yield made


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def pipeline_of(shop: Shop, *tables: str, **settings: Any) -> Any:
    names = tables or tuple(f"SHOP.{name}" for name in TABLES)
    return shop.pipeline(tables=list(names), unsupported_columns="reread", **settings)


def states(pipeline: Any) -> dict[str, str]:
    return {t.table: t.state for t in steps.read_status(pipeline).tables}


@pytest.mark.parametrize("shop", [{}, {"lob_rows_without_rowid": True}], indirect=True, ids=["23ai", "placeholder ROWIDs"])
def test_changed_rows_of_each_type_equal_the_source(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_of(shop)
    assert [f for f in steps.run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert differences(shop, pipeline) == {}
    for changes in CHANGES:
        change(shop, changes)
        caught_up(shop, pipeline, no_spark)

        assert differences(shop, pipeline) == {}
    assert set(states(pipeline).values()) == {"live"}
