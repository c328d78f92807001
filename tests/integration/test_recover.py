"""Lost redo: status shows it until it is recovered, and each choice ends in the state it promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from redolake import steps
from redolake.errors import RedoLost, Terminal
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.states.losing_pipeline import LosingPipeline, check_new_incarnation, scn_of
from tests.states.lost_ledger import lose_ledger


@pytest.fixture
def without_delta(shop: Shop) -> Iterator[LosingPipeline]:
    """A plain fold in place of Spark and Delta, which add nothing to facts of capture and recovery."""
    lake = PlainLake()
    with lake.in_place_of_spark():
        yield LosingPipeline(shop, lake)


def test_capture_continues_after_logs_are_restored(without_delta: LosingPipeline) -> None:
    without_delta.lose_redo()
    with pytest.raises(RedoLost, match=r"Redo Thread \d is inconsistent"):
        without_delta.plan()
    lost = without_delta.status().lost
    assert lost is not None
    assert lost.code == "RedoLost"
    assert "redolake" in lost.cure
    found = without_delta.recover()
    assert {log.thread for log in found.missing} == {1, 2}
    assert all(log.files[0].destination for log in found.missing)
    assert [f"THREAD {thread};" in "".join(found.rman) for thread in (1, 2)] == [True, True]
    assert [choice.name for choice in found.choices] == ["restore", "snapshot", "gap", "position"]

    not_yet = steps.recheck_redo_loss(without_delta.pipeline, source=without_delta.shop.params)
    assert (not_yet.lost, not_yet.back) == (True, ())
    without_delta.shop.oracle.faults.restore_logs()
    again = steps.recheck_redo_loss(without_delta.pipeline, source=without_delta.shop.params)

    assert again.lost is False
    assert [log.sequence for log in again.back] == [log.sequence for log in found.missing]
    assert without_delta.status().lost is None
    without_delta.catch_up()
    assert without_delta.is_equal()
    assert without_delta.status().declared_gaps == ()


def test_a_table_that_was_read_after_the_scn_of_a_resetlogs_is_held_until_it_is_read_again(
    without_delta: LosingPipeline,
) -> None:
    """Capture stood still meanwhile, so that no landed window shows what the RESETLOGS has undone."""
    shop = without_delta.shop
    without_delta.catch_up()
    kept = scn_of(shop)
    without_delta.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    steps.take_snapshot(without_delta.pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=without_delta.spark)
    assert without_delta.rows()[1] == 100
    shop.oracle.faults.reset_logs(to_scn=kept)
    without_delta.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    without_delta.catch_up()

    (held,) = without_delta.status().tables
    assert (held.state, held.code) == ("held", "RedoLost")
    assert "a RESETLOGS has set the database back to" in str(held.error)
    steps.take_snapshot(without_delta.pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=without_delta.spark)
    without_delta.catch_up()
    assert without_delta.is_equal()


def test_new_snapshots_repair_the_tables(without_delta: LosingPipeline) -> None:
    without_delta.lose_redo()
    made = without_delta.recover_by("snapshot")

    assert [t.table for t in made.snapshots] == ["SHOP.PARTS"]
    assert made.gap.dropped_rows == 1
    without_delta.change("UPDATE parts SET quantity = 301 WHERE id = 3")
    without_delta.catch_up()
    assert without_delta.is_equal()
    assert (without_delta.status().lost, without_delta.status().declared_gaps) == (None, ())


def test_a_table_that_needs_a_new_snapshot_is_held_until_it_has_one(without_delta: LosingPipeline) -> None:
    without_delta.lose_redo()
    steps.declare_gap(without_delta.pipeline, "snapshot", source=without_delta.shop.params, by="test")
    without_delta.catch_up()

    (table,) = without_delta.status().tables
    assert (table.state, "were never read" in str(table.error)) == ("held", True)
    with pytest.raises(RedoLost, match="were never read") as refused:
        steps.resume_tables(without_delta.pipeline, ["SHOP.PARTS"])
    assert "snapshot SHOP.PARTS --replace" in refused.value.cure
    steps.take_snapshot(
        without_delta.pipeline, ["SHOP.PARTS"], replace=True, source=without_delta.shop.params, spark=without_delta.spark
    )
    without_delta.catch_up()
    assert without_delta.is_equal()


def test_tables_continue_after_a_declared_gap_that_stays_visible_until_new_snapshots(without_delta: LosingPipeline) -> None:
    without_delta.lose_redo()
    with pytest.raises(Terminal, match="needs a reason"):
        without_delta.recover_by("gap")
    cost = steps.cost_of(steps.inspect_redo_loss(without_delta.pipeline, source=without_delta.shop.params), "gap")
    with pytest.raises(Terminal, match="the cost has changed since it was approved"):
        steps.declare_gap(
            without_delta.pipeline,
            "gap",
            source=without_delta.shop.params,
            reason="seen before",
            approved=cost.replace("SCN", "SCN 1"),
        )
    assert without_delta.status().declared_gaps == ()
    made = without_delta.recover_by("gap", reason="the tapes are gone")
    without_delta.catch_up()

    # Missing: part 4, the UPDATE of part 1, the open transaction's part and the split transaction's first part.
    assert without_delta.rows() == {1: 1, 2: 20, 3: 300, 21: 21}
    (found,) = without_delta.status().declared_gaps
    assert (found.kind, found.reason, found.tables) == ("gap", "the tapes are gone", ("SHOP.PARTS",))
    assert found.from_scn < found.to_scn == made.gap.to_scn
    assert [t.rows for t in found.dropped] == [1]
    assert [t.rows for t in found.split_transactions or ()] == [1]
    compared = without_delta.verify()
    assert compared.equal is False
    assert (compared.tables[0].missing_rows, compared.tables[0].differing_cells) == (3, 1)
    assert compared.declared_gaps == (found,)

    lose_ledger(without_delta.shop.folder / "landing")
    assert without_delta.status().lacks_ledger
    without_delta.plan()
    rebuilt = replace(found, from_at=None)  # the ledger alone knew when the last window before the gap ended
    assert without_delta.status().declared_gaps == (rebuilt,), "a rebuilt ledger contains the gap"
    without_delta.change("UPDATE parts SET quantity = 21 WHERE id = 2")
    without_delta.catch_up()
    assert without_delta.rows()[2] == 21

    steps.take_snapshot(
        without_delta.pipeline, ["SHOP.PARTS"], replace=True, source=without_delta.shop.params, spark=without_delta.spark
    )
    assert without_delta.status().declared_gaps == ()
    assert without_delta.is_equal()


def test_a_position_set_by_hand_is_checked(without_delta: LosingPipeline) -> None:
    without_delta.lose_redo()
    found = without_delta.recover()
    landed = int(found.position.scn)
    end = int(found.choices[2].what.split(" to ")[1].split(":")[0]) + 1  # the text names the last SCN of the gap

    for scn, error, why in (
        (landed, Terminal, "is landed already"),
        (landed + 1, RedoLost, "is incomplete"),
        (10**12, Terminal, "is in the future"),
    ):
        with pytest.raises(error, match=why):
            without_delta.recover_by("position", scn=scn, reason="known to be quiet")
    assert without_delta.status().declared_gaps == ()
    made = without_delta.recover_by("position", scn=end, reason="known to be quiet")
    without_delta.catch_up()

    assert made.gap.to_scn == end
    assert without_delta.rows() == {1: 1, 2: 20, 3: 300, 21: 21}
    assert [gap.kind for gap in without_delta.status().declared_gaps] == ["position"]


def test_no_gap_is_declared_while_no_redo_is_lost(without_delta: LosingPipeline) -> None:
    found = without_delta.recover()

    assert (found.lost, found.choices) == (False, ())
    with pytest.raises(Terminal, match="nothing is lost"):
        without_delta.recover_by("gap", reason="for fun")


def test_a_removed_file_that_is_still_listed_is_lost_when_it_is_mined(without_delta: LosingPipeline) -> None:
    without_delta.catch_up()
    without_delta.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    without_delta.shop.switch_logs()
    without_delta.shop.oracle.faults.remove_files()
    without_delta.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    without_delta.shop.switch_logs()
    with pytest.raises(RedoLost):
        without_delta.catch_up()

    assert without_delta.lost_in() == "mine"
    assert without_delta.plan().outcome == "window", "V$ARCHIVED_LOG claims the file"
    assert without_delta.lost_in() == "mine"
    assert without_delta.recover().lost is True
    while without_delta.status().lost:  # logs of the other thread may be gone as well, which shows when they are mined
        without_delta.recover_by("gap", reason="rm -rf")
        try:
            without_delta.catch_up()
        except RedoLost:
            continue
    assert without_delta.rows() == {1: 1, 2: 20, 3: 300}


def test_capture_continues_in_the_new_incarnation_after_a_resetlogs(without_delta: LosingPipeline) -> None:
    check_new_incarnation(without_delta, "snapshot")
