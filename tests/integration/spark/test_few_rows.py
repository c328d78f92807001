"""A batch of few rows runs in one task and without compiled code, but for its large tables; then the session is as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.delta import merge
from redolake.apply.spark.session import FOR_FEW_ROWS, ONE_TASK, session_like
from redolake.job import assembly, tables
from redolake.job import batch as job
from redolake.job.batch import MOST_ROWS
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert
from tests.integration.spark.specs import batch_spec, contents, loaded, task

pytestmark = pytest.mark.spark

WHOLE_STAGE, FACTORY, ADAPTIVE = FOR_FEW_ROWS
SHUFFLE, FILES, SNAPSHOT = ONE_TASK
GIVEN = {WHOLE_STAGE: "true", FACTORY: "FALLBACK", ADAPTIVE: "true", SHUFFLE: "3", FILES: None, SNAPSHOT: "2"}
FOR_FEW = {WHOLE_STAGE: "false", FACTORY: "NO_CODEGEN", ADAPTIVE: "false", SHUFFLE: "1", FILES: "1", SNAPSHOT: "1"}
UNSET = dict.fromkeys(GIVEN)
OWN_FACTORY = {FACTORY: "CODEGEN_ONLY"}


@pytest.mark.parametrize(
    ("own", "rows", "small_bytes", "in_assembly", "in_merge"),
    [
        ({}, MOST_ROWS, tables.SMALL_BYTES, FOR_FEW, FOR_FEW),
        (UNSET, MOST_ROWS, tables.SMALL_BYTES, FOR_FEW, FOR_FEW),
        ({}, MOST_ROWS, 0, FOR_FEW, GIVEN),
        ({}, MOST_ROWS + 1, tables.SMALL_BYTES, GIVEN, GIVEN),
        ({}, None, tables.SMALL_BYTES, GIVEN, GIVEN),
        (OWN_FACTORY, MOST_ROWS, tables.SMALL_BYTES, FOR_FEW | OWN_FACTORY, FOR_FEW | OWN_FACTORY),
    ],
    ids=[
        "few rows",
        "few rows and no settings",
        "a large table",
        "more rows",
        "rows that nobody counted",
        "a setting of the user",
    ],
)
def test_a_batch_is_planned_by_the_number_of_its_rows_and_the_size_of_its_tables(
    spark,
    tmp_path: Path,
    monkeypatch,
    own: dict[str, str | None],
    rows: int | None,
    small_bytes: int,
    in_assembly: dict[str, str | None],
    in_merge: dict[str, str | None],
) -> None:
    mine, noted = task(tmp_path), []
    loaded(spark, tmp_path, mine, rows=[{"ID": 9, "V": "z"}])
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(1, "a"))))

    with session_like(spark) as session:

        def settings() -> dict[str, str | None]:
            return {name: session.conf.get(name, None) for name in GIVEN}

        def noting(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                noted.append(settings())
                return real(*arguments)

            return call

        for name, value in {**GIVEN, **own}.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)
        monkeypatch.setattr(tables, "SMALL_BYTES", small_bytes)
        monkeypatch.setattr(assembly, "assemble_batch", noting(assembly.assemble_batch))
        monkeypatch.setattr(merge, "merge", noting(merge.merge))
        result = job.run_batch(session, batch_spec(tmp_path, [window], [mine], rows=rows))

        assert (result.tables[0].error, contents(mine)) == (None, {1: "a", 9: "z"})
        assert noted == [in_assembly, in_merge]
        assert settings() == GIVEN | own
