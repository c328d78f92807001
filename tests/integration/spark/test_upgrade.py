"""The state that a released version has left is gone on with by today's program: landing, lake and ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.values.table import TableId
from tests.references.delta_table import latest_version, read_delta
from tests.references.source_comparison import compare_with_source
from tests.released.life import COMMIT, Life, open_life
from tests.released.state import HERE, ROOT, copy_files, pipeline_in, put_ledger, releases, said

pytestmark = pytest.mark.spark


@pytest.fixture(params=releases())
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    """Live up to where that release stopped, and copy what it had written."""
    with open_life(tmp_path, HERE / request.param) as lived:
        lived.again(said(request.param))
        copy_files(HERE / request.param, tmp_path, ROOT, str(tmp_path))
        put_ledger(request.param, f"sqlite:///{tmp_path}/ledger.db", str(tmp_path))
        yield lived


def test_the_state_of_a_release_is_gone_on_with(life: Life, spark: Any) -> None:
    pipeline = pipeline_in(life.shop)
    windows = {window.name for window in steps.list_windows(pipeline)}
    landed = {file: file.read_bytes() for file in (life.shop.folder / "landing").rglob("*") if file.is_file()}
    assert [t.rows for t in steps.list_transactions(pipeline).open] == [2]

    life.say(COMMIT, session="long")  # carried over by the released version
    life.say(COMMIT, session="forgotten")  # dropped by a person then
    life.say("UPDATE parts SET colour = 'blue' WHERE id = 1", "INSERT INTO events VALUES ('new', 3)", COMMIT)
    life.say("ALTER TABLE parts ADD (weight NUMBER(5))", "UPDATE parts SET weight = id WHERE id > 1", COMMIT)
    life.switch()
    done = steps.run_pipeline(pipeline, until_caught_up=True, source=life.shop.params, spark=spark)

    assert [(t.state, t.error) for t in done.tables] == [("live", None)] * 3
    assert steps.list_transactions(pipeline).open == ()
    assert len({window.name for window in steps.list_windows(pipeline)} - windows) == done.windows == 1
    assert {file: file.read_bytes() for file in landed} == landed  # what is landed stays as it was
    found = {t.table: (t.equal, t.extra_rows, t.missing_rows) for t in compare_with_source(pipeline, life.shop.params).tables}
    assert found == {"SHOP.EVENTS": (False, 0, 1), "SHOP.NOTES": (True, 0, 0), "SHOP.PARTS": (True, 0, 0)}

    parts = pipeline.target(TableId("SHOP", "PARTS"))
    before, version = read_delta(parts), latest_version(parts)
    steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=life.shop.params, spark=spark)
    life.say("UPDATE parts SET colour = 'red' WHERE id = 2", COMMIT)
    life.switch()
    steps.run_pipeline(pipeline, until_caught_up=True, source=life.shop.params, spark=spark)
    assert compare_with_source(pipeline, life.shop.params, ["SHOP.PARTS"]).tables[0].equal
    assert read_delta(parts, version) == before
