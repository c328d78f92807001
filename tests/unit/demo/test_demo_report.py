"""The demo's verdict: equal only where something was compared and nothing differs."""

import json

import pytest

from demo.report import Report

ROW = {"table": "SHOP.ORDERS", "applied_scn": 199, "source_rows": 2, "delta_rows": 2, "missing_rows": 0, "extra_rows": 0}
EQUAL = {**ROW, "differing_cells": 0, "samples": []}


def report(*tables):
    return Report(12.34, [{"start": 100, "end": 200, "logs": 2, "threads": 2, "rows": 7}], tables, {})


def test_equal_tables_are_equal():
    assert report(EQUAL).equal


@pytest.mark.parametrize(
    "difference", [{"differing_cells": 1}, {"delta_rows": 1}, {"missing_rows": 1, "extra_rows": 1}], ids=["cell", "row", "rows"]
)
def test_one_table_that_differs_is_enough(difference):
    assert not report(EQUAL, {**EQUAL, **difference}).equal


def test_nothing_compared_proves_nothing():
    assert not report().equal


def test_the_file_says_how_far_all_tables_are_complete(tmp_path):
    report(EQUAL, {**EQUAL, "table": "SHOP.STOCK", "applied_scn": 180}).write(tmp_path / "report.json")

    written = json.loads((tmp_path / "report.json").read_text())
    assert (written["seconds"], written["applied_scn"], written["windows"]) == (12.3, 180, 1)
    assert written["tables"][0] == {"table": "SHOP.ORDERS", "source_rows": 2, "delta_rows": 2, "differing_cells": 0}
