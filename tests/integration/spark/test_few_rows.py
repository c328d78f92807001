"""Queries over few rows run without compiled code, with the settings of the session unchanged afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.apply import table as apply_table
from pipelines.apply.session import FOR_FEW_ROWS, session_like
from pipelines.job import batch as job
from pipelines.job.batch import FEW_ROWS
from tests.integration.spark.landing import land
from tests.integration.spark.specs import batch_spec, committed, contents, loaded, task
from tests.integration.spark.test_batch import insert

pytestmark = pytest.mark.spark

WHOLE_STAGE, FACTORY, ADAPTIVE = FOR_FEW_ROWS
SPARKS_DEFAULT = {WHOLE_STAGE: "true", FACTORY: "FALLBACK", ADAPTIVE: "true"}


@pytest.mark.parametrize(
    ("given", "rows", "during_the_batch"),
    [
        ({}, FEW_ROWS, {WHOLE_STAGE: "false", FACTORY: "NO_CODEGEN", ADAPTIVE: "false"}),
        ({}, FEW_ROWS + 1, SPARKS_DEFAULT),
        ({}, None, SPARKS_DEFAULT),
        ({FACTORY: "CODEGEN_ONLY"}, FEW_ROWS, {WHOLE_STAGE: "false", FACTORY: "CODEGEN_ONLY", ADAPTIVE: "false"}),
    ],
    ids=["few rows", "more rows", "rows that nobody counted", "a setting of the user"],
)
def test_a_batch_is_planned_by_the_number_of_its_rows(
    spark, tmp_path: Path, monkeypatch, given: dict[str, str], rows: int | None, during_the_batch: dict[str, str]
) -> None:
    mine, noted = task(tmp_path), []
    loaded(spark, tmp_path, mine)
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(1, "a"))))

    with session_like(spark) as session:

        def noting(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                noted.append({name: session.conf.get(name) for name in FOR_FEW_ROWS})
                return real(*arguments)

            return call

        before = {**SPARKS_DEFAULT, **given}
        for name, value in before.items():
            session.conf.set(name, value)
        monkeypatch.setattr(job, "assemble_batch", noting(job.assemble_batch))
        monkeypatch.setattr(apply_table, "merge", noting(apply_table.merge))
        result = job.run_batch(session, batch_spec(tmp_path, [window], [mine], change_rows=rows))

        assert (result.tables[0].error, contents(mine), noted) == (None, {1: "a"}, [during_the_batch, during_the_batch])
        assert {name: session.conf.get(name) for name in FOR_FEW_ROWS} == before
