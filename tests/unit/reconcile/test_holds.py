"""The rules that hold a table in a batch, and which of several holds counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import SchemaConflict
from redolake.ledger import TableEntry
from redolake.reconcile.holds import BatchedTable, first_hold
from redolake.records.batches.spec import HoldAt
from redolake.records.single_quotes import DoubtfulWindows
from redolake.records.windows import WindowManifest
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId

ORDERS = TableId("SHOP", "ORDERS")
LIVE = TableEntry(
    ORDERS,
    "live",
    Scn(50),
    snapshot_scn=Scn(90),
    complete_to_scn=Scn(99),
    held_from=None,
    held_at=None,
    error=None,
    resetlogs_id=11,
)


def window(start: int, end: int, *tables: str, resetlogs_id: int = 11) -> WindowManifest:
    return WindowManifest(7, resetlogs_id, start, end, logs=(), tables=tables, counts={}, row_hash="", ddl=(), files=())


DOUBTFUL = DoubtfulWindows("11-70-80", "11-90-95", 2)
WINDOWS = (window(100, 200, "SHOP.ORDERS"), window(200, 300, "SHOP.ORDERS"))
TABLE = BatchedTable(LIVE, WINDOWS, ChainPosition(11, 100), crosses_gap=False)
HELD = replace(LIVE, state="held", error={"code": "KeyNeeded"})
CONFLICT = SchemaConflict("column X", cure="snapshot")

HOLDS = {
    "a live table that every window contains": (TABLE, None),
    "held before": (replace(TABLE, entry=HELD), (100, "KeyNeeded")),
    "no contents yet": (replace(TABLE, entry=replace(LIVE, state="snapshotting")), (100, "NotLoaded")),
    "contents of a later incarnation": (replace(TABLE, entry=replace(LIVE, resetlogs_id=12)), (100, "NotLoaded")),
    "a window without the table": (
        replace(TABLE, windows=(WINDOWS[0], window(200, 300, "SHOP.PARTS"))),
        (200, "SchemaConflict"),
    ),
    "changes before the batch are missing": (
        replace(TABLE, entry=replace(LIVE, complete_to_scn=Scn(79))),
        (100, "InvariantBroken"),
    ),
    "rows that a RESETLOGS undid": (
        replace(TABLE, entry=replace(LIVE, complete_to_scn=Scn(120), resetlogs_id=10), chain_position=ChainPosition(10, 100)),
        (100, "RedoLost"),
    ),
    "rows that a RESETLOGS in a declared gap may have undone": (
        replace(
            TABLE,
            entry=replace(LIVE, complete_to_scn=Scn(95), resetlogs_id=10),
            chain_position=ChainPosition(10, 90),
            crosses_gap=True,
        ),
        (100, "RedoLost"),
    ),
    "texts with two readings were applied": (replace(TABLE, doubtful_quotes=DOUBTFUL), (100, "RedoNotUnderstood")),
    "texts with two readings are in its snapshot": (
        replace(TABLE, entry=replace(LIVE, snapshot_scn=Scn(94)), doubtful_quotes=DOUBTFUL),
        None,
    ),
    "texts with two readings come later": (
        replace(
            TABLE, entry=replace(LIVE, snapshot_scn=Scn(60)), doubtful_quotes=DoubtfulWindows("11-100-110", "11-100-110", 2)
        ),
        None,
    ),
    "omitted before": (replace(TABLE, omission=HoldAt(100, {"code": "RedoLost"})), (100, "RedoLost")),
    "the dictionary contradicts": (
        replace(TABLE, conflict=SchemaConflict("column X", cure="snapshot")),
        (100, "SchemaConflict"),
    ),
    "an unsupported DDL": (replace(TABLE, ddl=HoldAt(150, {"code": "SchemaConflict"})), (150, "SchemaConflict")),
    "the lowest SCN counts": (
        replace(TABLE, windows=(WINDOWS[0], window(200, 300)), ddl=HoldAt(150, {"code": "KeyNeeded"})),
        (150, "KeyNeeded"),
    ),
    "at one SCN the first rule counts": (
        replace(TABLE, entry=HELD, omission=HoldAt(100, {"code": "RedoLost"})),
        (100, "KeyNeeded"),
    ),
}


@pytest.mark.parametrize(("table", "expected"), HOLDS.values(), ids=HOLDS)
def test_a_table_is_held_where_nothing_may_be_applied(table: BatchedTable, expected: tuple[int, str] | None) -> None:
    hold = first_hold(table)

    assert expected == (None if hold is None else (hold.at_scn, hold.error["code"]))


@pytest.mark.parametrize(("agreed", "said"), [(98, True), (99, False), (None, False)])
def test_a_contradiction_after_the_last_commit_says_that_readers_may_see_wrong_rows(agreed: int | None, said: bool) -> None:
    conflict = SchemaConflict("DATA_OBJECT_ID is 7, in the dictionary 9", cure="snapshot", agreed_until=agreed)

    hold = first_hold(replace(TABLE, conflict=conflict))

    assert hold is not None
    assert ("Delta has the table up to SCN 99" in str(hold.error["what"])) is said
    assert ("SCN 98, the last at which both agreed" in str(hold.error["what"])) is said
