"""Checks of a backfill against the landed windows."""

from __future__ import annotations

import pytest

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.records.batches.spec import Course, Destination, HoldAt, TableTask
from redolake.records.codec import to_body
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.dry_run import seconds_for
from redolake.steps.ranges.replay import (
    find_covering,
    find_stop,
    not_landed,
    objections,
    table_history,
    unbroken,
)
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId, TableVersion

ORDERS = TableId("SHOP", "ORDERS")


def window(start: int, end: int, resetlogs_id: int = 1, tables: tuple[str, ...] = ("SHOP.ORDERS",)) -> WindowManifest:
    return WindowManifest(7, resetlogs_id, start, end, (), tables, {}, "", (), ())


def scns(start: int, end: int) -> ScnRange:
    return ScnRange(Scn(start), Scn(end))


WHOLE = [window(100, 200), window(200, 300), window(300, 400)]
GAP = [window(100, 200), window(250, 300), window(300, 400)]
RESET = [window(100, 200), window(200, 300), window(300, 400, resetlogs_id=2)]


@pytest.mark.parametrize(("start", "end", "taken"), [(100, 400, WHOLE), (200, 300, WHOLE[1:2]), (199, 201, WHOLE[:2])])
def test_a_range_takes_every_window_it_touches(start, end, taken):
    assert find_covering(WHOLE, scns(start, end)) == taken


@pytest.mark.parametrize(
    ("windows", "start", "end", "message"),
    [
        pytest.param([], 100, 200, "nothing is landed", id="nothing landed"),
        pytest.param(WHOLE, 99, 200, r"landed is \[100, 400\)", id="begins too early"),
        pytest.param(WHOLE, 399, 401, r"landed is \[100, 400\)", id="ends too late"),
        pytest.param(GAP, 150, 260, "end at SCN 200 and continue at SCN 250", id="over a gap"),
        pytest.param(GAP, 210, 240, "not completely landed", id="inside a gap"),
        pytest.param(RESET, 250, 350, "a RESETLOGS or a gap", id="over a RESETLOGS"),
    ],
)
def test_a_range_that_is_not_completely_landed_is_refused(windows, start, end, message):
    with pytest.raises(ConfigurationError, match=message):
        find_covering(windows, scns(start, end))


@pytest.mark.parametrize(("windows", "run"), [(WHOLE, WHOLE), (GAP, GAP[1:]), (RESET, RESET[2:]), ([], [])])
def test_windows_before_a_hole_or_a_resetlogs_are_not_read(windows, run):
    assert unbroken(windows) == run


@pytest.mark.parametrize(
    ("windows", "holes"),
    [
        pytest.param(WHOLE, [], id="whole"),
        pytest.param(GAP, [(200, 250)], id="a gap"),
        pytest.param([WHOLE[0], window(200, 300, tables=()), WHOLE[2]], [(200, 300)], id="omitted for a while"),
        pytest.param([window(50, 100, tables=()), *WHOLE], [], id="omitted before the range"),
    ],
)
def test_ranges_landed_without_the_table_are_found(windows, holes):
    assert list(not_landed(windows, ORDERS, scns(150, 350))) == holes


@pytest.mark.parametrize(
    ("at_scn", "cures"),
    [(250, ["end the range at SCN 250, or leave the table out"]), (300, []), (150, ["leave the table out"])],
)
def test_an_unsupported_ddl_counts_only_below_the_end_of_the_range(at_scn, cures):
    task = TableTask(
        ORDERS, Destination("/lake", "app"), Course(), HoldAt(at_scn, {"code": "SchemaConflict", "what": "TRUNCATE"})
    )

    assert [finding.cure for finding in find_stop(task, scns(200, 300))] == cures


def test_a_range_after_a_hold_can_begin_where_the_next_snapshot_read_the_table():
    task = TableTask(ORDERS, Destination("/lake", "app"), Course(), HoldAt(150, {"code": "SchemaConflict", "what": "MOVE"}))

    assert [finding.cure for finding in find_stop(task, scns(200, 300), 248)] == [
        "begin it at SCN 248, where a snapshot had read the table again, or leave the table out"
    ]


@pytest.fixture
def objected(tmp_path):
    """Yield `objected(start, end)` for ORDERS, read AS OF SCN 150 with the dictionary of SCN 148."""
    body = {"source": {"connection": "nowhere"}, "landing": str(tmp_path / "landing"), "lake": str(tmp_path / "lake")}
    pipeline = Pipeline.model_validate({"name": "shop", "tables": ["SHOP.ORDERS"], **body})
    version = TableVersion(ORDERS, Scn(148), 9, 9, (), (), 1)
    with Run(pipeline) as context:
        context.ledger.add_table(ORDERS, Scn(100))

        def about(start: int, end: int, windows=WHOLE) -> list[str]:
            history = table_history(context, ORDERS, scns(start, end))
            return [finding.what for finding in objections(history, scns(start, end), windows, 0)]

        assert about(100, 200) == ["the table has no contents yet"]
        context.ledger.move_table(ORDERS, ("new",), "snapshotting", snapshot_scn=Scn(150))
        context.ledger.record_version(ORDERS, version.from_scn, to_body(version), "baseline")
        context.ledger.record_complete_to(ORDERS, Scn(150))
        yield about


def test_a_range_must_begin_after_the_tables_snapshot(objected):
    assert objected(151, 400) == []
    assert objected(150, 400) == ["its changes are known from SCN 151, after its first snapshot, and the range begins at 150"]


def test_a_hole_between_the_snapshot_and_the_range_may_contain_part_of_a_transaction(objected):
    left_out = [WHOLE[0], window(200, 300, tables=()), WHOLE[2]]

    assert objected(350, 400, left_out) == [
        "SCN [200, 300) was landed without the table, and what commits in the range may have begun before its end"
    ]
    assert objected(180, 400, left_out) == ["SCN [200, 300) was landed without the table"]
    assert objected(160, 200, left_out) == []


def test_the_time_of_a_backfill_is_estimated_by_what_the_last_batches_took() -> None:
    few = {"seconds": {"assemble": 2.0, "apply": 3.0}, "accounts": {"w1": {"landed": 50}}}
    many = {"seconds": {"assemble": 10.0, "apply": 10.0}, "accounts": {"w2": {"landed": 15_000}, "w3": {"landed": 5_000}}}

    assert seconds_for(100_000, [few, many]) == 5.0 + 100.0
    assert seconds_for(0, [few]) == 5.0
    assert seconds_for(9, [{}, {"seconds": {"assemble": None}}]) is None, "a ledger that was built again knows no times"
