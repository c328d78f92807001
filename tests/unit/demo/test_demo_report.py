"""The demo reports equal tables only if rows were compared and none differ."""

import json
from dataclasses import replace

import pytest

from demo.report import Report
from redolake.steps.proof.verify import TableComparison
from redolake.steps.shared.status import WindowReport

EQUAL = TableComparison("SHOP.ORDERS", 199, 7, source_rows=2, delta_rows=2, missing_rows=0, extra_rows=0, differing_cells=0)


def report(*tables):
    return Report(12.34, [WindowReport("w", 100, 200, logs=2, threads=2, rows=7, hash="", account=None)], tables, {})


def test_equal_tables_are_equal():
    assert report(EQUAL).equal


@pytest.mark.parametrize(
    "difference", [{"differing_cells": 1}, {"delta_rows": 1}, {"missing_rows": 1, "extra_rows": 1}], ids=["cell", "row", "rows"]
)
def test_one_different_table_makes_the_result_unequal(difference):
    assert not report(EQUAL, replace(EQUAL, **difference)).equal


def test_an_empty_comparison_is_not_equal():
    assert not report().equal


def test_the_report_file_contains_the_lowest_applied_scn(tmp_path):
    report(EQUAL, replace(EQUAL, table="SHOP.STOCK", applied_scn=180)).write(tmp_path / "report.json")

    written = json.loads((tmp_path / "report.json").read_text())
    assert (written["seconds"], written["applied_scn"], written["windows"]) == (12.3, 180, 1)
    assert written["tables"][0] == {"table": "SHOP.ORDERS", "source_rows": 2, "delta_rows": 2, "differing_cells": 0}
