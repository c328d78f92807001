"""LogMiner of some releases leaves the quotes inside values single: a text with quotes side by side has two readings then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.steps.shared.status import TableStatus
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.references.plain_lake import PlainLake

NOTES = "CREATE TABLE notes (id NUMBER(9) PRIMARY KEY, text VARCHAR2(40))"
ONE_READING = "INSERT INTO notes VALUES ({}, 'it''s')"
TWO_READINGS = "INSERT INTO notes VALUES ({}, 'x''''y')"


@contextmanager
def notes(folder: Path, quotes: str) -> Iterator[tuple[Shop, Pipeline]]:
    """Yield a source with such quotes, and a pipeline whose snapshot is taken, over a plain lake."""
    with standin(quotes=quotes) as oracle, PlainLake().in_place_of_spark():
        shop = Shop(oracle, folder)
        shop.run_sql(NOTES, "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        pipeline = shop.pipeline(tables=["SHOP.NOTES"])
        steps.take_snapshot(pipeline, source=shop.params, spark=None)
        yield shop, pipeline


def replicate(shop: Shop, pipeline: Pipeline, *statements: str) -> TableStatus:
    shop.run_sql(*statements)
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=None)
    (table,) = steps.read_status(pipeline).tables
    return table


@pytest.mark.parametrize("quotes", ["single", "mixed"])
def test_a_text_with_two_readings_holds_its_table_and_is_not_guessed(tmp_path: Path, quotes: str) -> None:
    with notes(tmp_path, quotes) as (shop, pipeline):
        assert replicate(shop, pipeline, ONE_READING.format(1)).state == "live"
        held = replicate(shop, pipeline, TWO_READINGS.format(2))
        steps.take_snapshot(pipeline, ("SHOP.NOTES",), replace=True, source=shop.params, spark=None)
        again = replicate(shop, pipeline, ONE_READING.format(3))

        assert (held.state, held.code) == ("held", "RedoNotUnderstood")
        assert "column TEXT: quotes stand side by side" in (held.error or "")
        assert again.state == "live"
        assert differences(shop, pipeline) == {}


@pytest.mark.parametrize("quotes", ["single", "mixed"])
def test_a_table_that_had_such_texts_before_the_evidence_is_held_when_it_comes(tmp_path: Path, quotes: str) -> None:
    with notes(tmp_path, quotes) as (shop, pipeline):
        before = replicate(shop, pipeline, TWO_READINGS.format(1))
        held = replicate(shop, pipeline, ONE_READING.format(2))
        (tmp_path / "landing" / "redolake-ledger.db").unlink(missing_ok=True)  # the evidence is in the landing
        steps.take_snapshot(pipeline, ("SHOP.NOTES",), replace=True, source=shop.params, spark=None)
        again = replicate(shop, pipeline, ONE_READING.format(3))

        assert before.state == "live"
        assert (held.state, held.code) == ("held", "RedoNotUnderstood")
        assert "1 row(s) with quotes side by side were read as doubled ones before" in (held.error or "")
        assert "--replace" in (held.cure or "")
        assert again.state == "live"
        assert differences(shop, pipeline) == {}


def test_where_quotes_are_doubled_no_text_is_doubted(tmp_path: Path) -> None:
    with notes(tmp_path, "doubled") as (shop, pipeline):
        shop.run_sql('ALTER TABLE notes ADD ("O\'BRIEN" VARCHAR2(20))')
        ends = """INSERT INTO notes VALUES (3, '''5''''', 'a "b''c d"')"""
        table = replicate(shop, pipeline, "INSERT INTO notes VALUES (1, 'it''s', 'x')", ends, "UPDATE notes SET text = 'y'''''")

        assert table.state == "live"
        assert differences(shop, pipeline) == {}
