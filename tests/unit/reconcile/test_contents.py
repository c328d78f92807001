"""Which version of a table's Delta table is the table AS OF an SCN."""

from __future__ import annotations

import pytest

from redolake.reconcile.contents import Contents, best_contents, contents_of
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")
LOADED = Contents(1, 150, 150, 0, 150)
FIRST = Contents(1, 199, 199, 2, 199)
IDLE = Contents(1, 199, 299, 2, 199)
THIRD = Contents(1, 399, 399, 5, 399)
AFTER_RESETLOGS = Contents(2, 250, 250, 7, 250)
ALL = [LOADED, FIRST, IDLE, THIRD, AFTER_RESETLOGS]


@pytest.mark.parametrize(
    ("scn", "resetlogs_id", "expected"),
    [
        pytest.param(149, 1, None, id="before the first contents"),
        pytest.param(150, 1, LOADED, id="the snapshot"),
        pytest.param(180, 1, LOADED, id="between: the version before"),
        pytest.param(199, 1, IDLE, id="the end of a batch"),
        pytest.param(250, 1, IDLE, id="a batch that changed nothing"),
        pytest.param(350, 1, IDLE, id="between two batches"),
        pytest.param(399, 1, THIRD, id="the last one"),
        pytest.param(250, 2, AFTER_RESETLOGS, id="the same SCN of a later incarnation"),
    ],
)
def test_the_version_that_is_the_table_at_the_scn_counts_else_the_nearest_before_it(scn, resetlogs_id, expected):
    assert best_contents(ALL, ChainPosition(resetlogs_id, scn)) == expected


def result(**done) -> Contents | None:
    table = TableResult(ORDERS, "applied", **{"complete_to": 299, "delta_version": 4, "position": 299, **done})
    return contents_of(BatchResult("shop", 1, 200, 300, "t", (), (table,), (), ()), table)


def test_a_batch_that_changed_no_row_leaves_the_contents_of_all_its_scns():
    assert result(position=250) == Contents(1, 250, 299, 4, 250)
    assert result(position=120) == Contents(1, 199, 299, 4, 120), "an earlier batch may have followed DDL since"


def test_of_a_batch_that_followed_ddl_only_the_end_is_known():
    assert result(position=120, ddl={"add_column": 1}) == Contents(1, 299, 299, 4, 120)


def test_a_held_table_without_a_position_or_version_leaves_nothing_to_read():
    assert result(complete_to=None) is result(delta_version=None) is None
