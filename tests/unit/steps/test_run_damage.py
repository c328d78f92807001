"""Whatever opens Spark for a step says so, and of which table a file is that Spark could not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from redolake.config import Pipeline
from redolake.context import Run
from redolake.context.spark import Spark
from redolake.errors import LakeDamaged
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    table = {"table": "SHOP.ORDERS", "history": "changes", "on_error": {"value": "quarantine"}}
    places = {"landing": f"{tmp_path}/landing", "lake": f"{tmp_path}/lake"}
    return Pipeline.model_validate({"name": "shop", "source": {"connection": "nowhere"}, **places, "tables": [table]})


@contextmanager
def nested(pipeline: Pipeline) -> Iterator[None]:
    with Run(pipeline, spark="a session") as run, run:
        yield


OPENED: dict[str, Callable[[Pipeline], object]] = {
    "a Run": lambda pipeline: Run(pipeline, spark="a session"),
    "a Run in a Run": nested,
    "Spark alone": lambda pipeline: Spark(pipeline, "a session"),
}


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("of", ["table", "history", "quarantine"])
def test_a_file_that_spark_cannot_read_is_an_error_of_its_table(pipeline: Pipeline, opened: str, of: str) -> None:
    paths = {
        "table": pipeline.target(ORDERS),
        "history": pipeline.history_target(ORDERS),
        "quarantine": pipeline.quarantine_path(ORDERS),
    }
    file = f"{paths[of]}/part-00000-c000.snappy.parquet"
    with pytest.raises(LakeDamaged) as damaged, OPENED[opened](pipeline):
        raise RuntimeError(f"java.io.FileNotFoundException: {file} does not exist")

    assert (damaged.value.where["table"], damaged.value.where["path"]) == (ORDERS, file)


@pytest.mark.parametrize("opened", OPENED)
def test_another_failure_stays_what_it_is(pipeline: Pipeline, opened: str) -> None:
    with pytest.raises(RuntimeError, match="something else"), OPENED[opened](pipeline):
        raise RuntimeError("something else")


def test_who_waits_for_spark_is_told_so_once(pipeline: Pipeline) -> None:
    said: list[str] = []
    with Run(pipeline, report=said.append, opens=Mock) as run:
        assert run.spark.session() is run.spark.session()

    assert said == ["opening a Spark session"]
