"""The version of a range from before a table's first description, and where a range cuts no transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import Finding
from redolake.ledger.entries import VersionEntry
from redolake.records.codec import to_body
from redolake.records.windows import DdlRow, WindowManifest
from redolake.steps.ranges.logs import Committed, first_uncut
from redolake.steps.ranges.shadows import first_version
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, OracleType, TableId, TableVersion

ORDERS = TableId("SHOP", "ORDERS")
VERSION = TableVersion(ORDERS, Scn(300), 70, 70, (Column(1, "ID", OracleType("NUMBER"), 1),), (1,), 2)
ENTRY = VersionEntry(ORDERS, Scn(300), "baseline", to_body(VERSION))
RANGE = ScnRange(Scn(120), Scn(180))


def window(start, end, *ddl, tables=("SHOP.ORDERS",)):
    return WindowManifest(7, 1, start, end, (), tables, {}, "", ddl, ())


def ddl(scn, *, owner="SHOP", table="ORDERS", object_id=0, cascades_from=""):
    return DdlRow(scn, 1, "", 0, owner, table, object_id, "ALTER ..", cascades_from=cascades_from)


def test_the_first_version_is_right_where_every_window_up_to_it_has_no_ddl_of_the_table():
    windows = [window(100, 200, ddl(119), ddl(150, table="OTHER")), window(200, 400, ddl(300))]

    assert first_version([ENTRY], RANGE, windows) == replace(VERSION, from_scn=Scn(120))


@pytest.mark.parametrize(
    "between",
    [
        ddl(150),
        ddl(250, table="BIN$1", object_id=70),
        ddl(299, owner="OTHER", table="PARENT", cascades_from="OTHER.PARENT"),
    ],
)
def test_a_ddl_in_between_refuses_the_range_and_names_the_first_scn_after_it(between):
    found = first_version([ENTRY], RANGE, [window(100, 400, between)])

    assert isinstance(found, Finding)
    assert f"begin at SCN {between.scn + 1} or later" in found.cure


@pytest.mark.parametrize(
    ("windows", "hole"),
    [
        ([], 120),
        ([window(100, 200), window(250, 400)], 200),
        ([window(100, 200), window(200, 400, tables=("SHOP.OTHER",))], 200),
        ([window(130, 400)], 120),
    ],
)
def test_redo_that_is_not_known_in_between_refuses_the_range(windows, hole):
    found = first_version([ENTRY], RANGE, windows)

    assert isinstance(found, Finding)
    assert f"its redo from SCN {hole} to there is not known" in found.what


@pytest.mark.parametrize(
    ("transactions", "start"),
    [
        ([], 100),
        ([(None, 110)], 111),
        ([(None, 110), (105, 130), (131, 140)], 131),
        ([(120, 130)], 100),
    ],
)
def test_a_range_that_cuts_no_transaction_begins_after_those_that_its_start_cuts(transactions, start):
    found = [Committed((None, str(number)), begun, end) for number, (begun, end) in enumerate(transactions)]

    assert first_uncut(found, 100) == start
