"""Landed rows are read with the window that each belongs to."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from redolake.assemble.landed import MOST_LISTED_WINDOWS, read_rows
from redolake.records.batches.spec import LandedWindow
from tests.integration.spark.landing import a_row, land

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("number", [1, 3, MOST_LISTED_WINDOWS, MOST_LISTED_WINDOWS + 1])
def test_a_row_is_in_the_window_of_its_scn(spark, tmp_path: Path, number: int) -> None:
    """With few windows the plan compares SCNs with no literal: Spark compiles its code again for each new one."""
    edges = [1000 + 100 * n for n in range(number + 1)]
    scns = sorted({scn for edge in edges for scn in (edge - 1, edge, edge + 1)})
    files = land(tmp_path, edges[0], edges[-1], [a_row(n, scn, 1) for n, scn in enumerate(scns)]).files
    windows = [LandedWindow(str(start), start, end, files if start == edges[0] else ()) for start, end in pairwise(edges)]

    rows = read_rows(spark, windows, [])

    starts = {row["scn"]: row["window_start"] for row in rows.collect()}
    assert starts == {scn: next((w.start for w in windows if w.start <= scn < w.end), None) for scn in scns}
    plan = rows.select("window_start")._jdf.queryExecution().optimizedPlan().toString()
    compared = re.search(r"scn#\d+L? [<>]=? 1\d\d\d", plan)
    assert (compared is None) == (number <= MOST_LISTED_WINDOWS)
