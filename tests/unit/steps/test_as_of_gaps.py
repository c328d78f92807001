"""A read AS OF an SCN inside a declared gap: the redo of it was never read, so no table is known there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from redolake.errors import NotReadableAsOf
from redolake.records.gaps import DeclaredGap
from redolake.steps.ranges.as_of import check_gaps
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId

TABLES = [TableId("SHOP", "SAVINGS"), TableId("SHOP", "CURRENTS")]
GAP = DeclaredGap("gap", Position(7, 1, Scn(200)), Position(7, 1, Scn(300)), "", "", "", "", {})


def read_at(scn: int) -> None:
    context = SimpleNamespace(landing=SimpleNamespace(gaps=SimpleNamespace(all=lambda: [GAP])))
    check_gaps(context, ChainPosition(1, Scn(scn)), TABLES)  # type: ignore[arg-type]


@pytest.mark.parametrize("scn", [200, 250, 298])
def test_an_scn_inside_a_declared_gap_is_refused_with_the_tables(scn: int) -> None:
    with pytest.raises(NotReadableAsOf, match="lies in a declared gap: the redo from SCN 200 to 299 was never read") as refused:
        read_at(scn)

    assert str(refused.value.where["table"]) == "SHOP.SAVINGS, SHOP.CURRENTS"
    assert refused.value.cure.startswith("choose SCN 199 or lower")


@pytest.mark.parametrize("scn", [199, 299, 300])
def test_the_ends_of_a_declared_gap_are_known(scn: int) -> None:
    read_at(scn)
