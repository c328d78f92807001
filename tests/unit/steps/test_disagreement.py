"""Which reading of the dictionary a range of SCNs is compared with."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipelines.land import Landing
from pipelines.schema import Derived, baseline
from pipelines.scn import Scn
from pipelines.steps.plans import dictionary_to_json
from pipelines.steps.versions import disagreement
from pipelines.table import DictionaryColumn, DictionaryTable, OracleType, TableId

ORDERS = TableId("SHOP", "ORDERS")
ID = DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, False)
TABLE = DictionaryTable(ORDERS, 7, 7, (ID,), ("ID",), frozenset(), Scn(100), Scn(100))
ALTERED = replace(TABLE, columns=(ID, DictionaryColumn("X", OracleType("NUMBER"), 2, 2, True)))


@pytest.fixture
def complaint(tmp_path):
    """`complaint(scn, read_at)`: about the range [100, 200), when the file of `scn` has the table, altered, as of `read_at`."""
    work = cast(Any, SimpleNamespace(landing=Landing(str(tmp_path), "shop")))

    def compared(scn: int, read_at: int):
        read = replace(ALTERED, scn_before=Scn(read_at), scn_after=Scn(read_at))
        work.landing.write_json_once(f"baselines/{scn:020d}.json", {"scn": scn, "tables": [dictionary_to_json(read)]})
        return disagreement(work, ORDERS, Derived((baseline(TABLE, Scn(100)),), ()), 100, 200)

    return compared


def test_a_column_that_no_redo_has_told_of_is_a_disagreement(complaint):
    assert "column X" in str(complaint(150, 160))


def test_a_table_read_behind_the_range_tells_nothing_of_it_though_others_were_read_inside(complaint):
    assert complaint(199, 200) is None
