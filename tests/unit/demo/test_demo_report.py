"""The demo reports equal tables only if rows were compared and none differ."""

import json
from dataclasses import replace

import pytest

from demo.report import Report
from redolake.records.proofs import TableProof
from redolake.steps.proof.verify import Verification
from redolake.steps.shared.status import WindowReport

EQUAL = TableProof("SHOP.ORDERS", "p", "2026-01-02T03:04:05+00:00", 199, delta_version=7, source_rows=2, delta_rows=2)


def report(*tables):
    return Report(12.34, [WindowReport("w", "landed", 100, 199, 2, 7, threads=2)], Verification(True, tables, (), ()), {})


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
    report(EQUAL, replace(EQUAL, table="SHOP.STOCK", scn=180)).write(tmp_path / "report.json")

    written = json.loads((tmp_path / "report.json").read_text())
    assert (written["seconds"], written["applied_scn"], written["windows"]) == (12.3, 180, 1)
    assert written["tables"][0] == {"table": "SHOP.ORDERS", "source_rows": 2, "delta_rows": 2, "differing_cells": 0}
