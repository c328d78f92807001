"""Text that LogMiner shows in Oracle's internal form is decoded in the database's character set."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake.job.batch import run_batch
from redolake.values.redo import Encoding
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed
from tests.integration.spark.specs import batch_spec, contents, loaded, task

pytestmark = pytest.mark.spark


def test_internal_text_is_decoded_in_the_character_set_of_the_spec(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine)
    # C3 A9 are two letters in WE8MSWIN1252; in AL32UTF8 they would be one, and nobody would notice.
    sql = """insert into "SHOP"."T"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('c3a9'));"""
    unresolved = {"status": 2, "info": "Dictionary Version Mismatch"}
    windows = [land(tmp_path / "w", 10, 100, committed(0, 20, (1, sql), **unresolved))]

    result = run_batch(spark, batch_spec(tmp_path, windows, [mine], encoding=Encoding("WE8MSWIN1252")))

    assert [t.error for t in result.tables] == [None]
    assert contents(mine) == {1: "Ã©"}
