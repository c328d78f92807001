"""Contents as of an older SCN say which declared gaps they lack, whatever was closed or read again since."""

from __future__ import annotations

import pytest

from redolake.context import Run
from redolake.reconcile.contents import Contents
from redolake.reconcile.lacked_gaps import Load, gaps_lacked_at, lacks
from redolake.records.closed import ClosedTable
from redolake.records.gaps import DeclaredGap
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from tests.unit.reconcile.pipeline_on_disk import DBID, FIRST, ORDERS, PipelineOnDisk

OTHER = TableId("SHOP", "OTHER")
START, END = (Position(DBID, FIRST, Scn(scn)) for scn in (200, 300))
GAP = DeclaredGap("gap", START, END, "tapes are gone", "dba", "2026", "7", {str(ORDERS): 90})


def closed(table: TableId, *versions: int) -> ClosedTable:
    return ClosedTable(GAP.name, str(table), 90, ("w",), 1, 1, 1, (320,), versions, "restored", "dba", "2026", updated=1)


def load(scn: int, version: int, table: TableId = ORDERS) -> Load:
    return table, ChainPosition(FIRST, scn), version


@pytest.mark.parametrize(
    ("closings", "loads", "is_lacked"),
    [
        pytest.param([], [], True, id="neither closed nor read again"),
        pytest.param([], [load(310, 5)], False, id="read again before the version"),
        pytest.param([], [load(299, 5)], False, id="read again at the end of the gap"),
        pytest.param([], [load(310, 8)], True, id="read again after the version"),
        pytest.param([], [load(150, 5)], True, id="read before the gap"),
        pytest.param([], [load(310, 5, OTHER)], True, id="another table was read again"),
        pytest.param([closed(ORDERS, 3, 7)], [], False, id="closed by the version"),
        pytest.param([closed(ORDERS, 3, 8)], [], True, id="closed by a later version"),
        pytest.param([closed(ORDERS)], [], False, id="nothing of the table was in the gap"),
        pytest.param([closed(OTHER, 7)], [], True, id="closed for another table"),
    ],
)
def test_a_version_lacks_a_gap_until_it_is_closed_or_the_table_read_again(
    closings: list[ClosedTable], loads: list[Load], is_lacked: bool
) -> None:
    assert lacks(GAP, closings, ORDERS, 7, loads) is is_lacked
    assert not lacks(GAP, closings, OTHER, 7, loads)


def test_only_gaps_before_the_scn_are_lacked(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300)
    base = {ORDERS: Contents(FIRST, 299, 299, 7, 299)}

    assert gaps_lacked_at(context, base, ChainPosition(FIRST, 298)) == {}
    (gap,) = gaps_lacked_at(context, base, ChainPosition(FIRST, 299))[ORDERS]
    assert (gap.start.scn, gap.end.scn) == (200, 300)
