"""A break leads the chain of windows over what is not read: in the place of one window, once, and forward."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.errors import FormatTooNew, LandingConflict
from pipelines.land.landing import Landing
from pipelines.records.codec import decode, encode, from_body, to_body
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.open_transaction import OpenTransaction
from pipelines.redo import Position
from pipelines.scn import ChainPosition, Scn
from tests.unit.land.landing_world import ORDERS, THREE, frame, row, window, write

OPEN = OpenTransaction(3, "1.2.3", 1, 250, None, 4, 400, "SHOP")


def at(scn, resetlogs_id=11):
    return Position(7, resetlogs_id, Scn(scn))


def gap(start=300, end=350, **other):
    values = {"start": at(start), "end": at(end), "tables": {"SHOP.ORDERS": 90}, "dropped": (OPEN,), "reason": "tapes are gone"}
    return DeclaredGap("gap", by="dba", at="2026-05-01T12:00:00+00:00", lost="log 7", **values | other)


@pytest.fixture
def landing(tmp_path):
    """One window, [100, 300) of incarnation 11."""
    landing = Landing(str(tmp_path), "shop")
    land(landing, window(), None)
    return landing


def land(landing, of, previous_end, rows=None):
    records = write(landing, of) if rows is None else write(landing, of, rows=rows)
    return landing.windows.publish(of, [ORDERS], records, previous_end)


def test_windows_go_on_where_a_break_leads(landing):
    landing.gaps.declare(gap())

    assert landing.chain_end() == at(350)
    behind = land(landing, window(350, 400, [(THREE,)]), 350, rows=((),))
    assert landing.chain_end() == at(400)
    assert [w.start for w in landing.windows.after()] == [100, behind.start]
    assert landing.gaps.all() == [gap()]


def test_a_window_that_comes_late_finds_its_place_taken_by_the_break(landing):
    late = window(300, 400, [(THREE,)])
    records = write(landing, late, rows=((),))
    landing.gaps.declare(gap())

    with pytest.raises(LandingConflict):
        landing.windows.publish(late, [ORDERS], records, None)
    assert [w.start for w in landing.windows.after()] == [100]


def test_a_break_that_comes_late_finds_its_place_taken_by_the_window(landing):
    land(landing, window(300, 400, [(THREE,)]), 300, rows=((),))

    with pytest.raises(LandingConflict, match="begins at SCN 300, but the chain ends at 400"):
        landing.gaps.declare(gap())
    assert landing.gaps.all() == []


def test_the_same_break_twice_is_one_and_another_one_is_a_conflict(landing):
    first = landing.gaps.declare(gap())

    assert landing.gaps.declare(gap(reason="said again")) == first
    with pytest.raises(LandingConflict, match=r"a declared gap \(gap, to SCN 350\)"):
        landing.gaps.declare(gap(end=370))


def test_a_break_leads_forward_within_an_incarnation_and_may_set_back_scns_into_a_later_one(landing):
    for end in (300, 299):
        with pytest.raises(LandingConflict, match="ends before it begins"):
            landing.gaps.declare(gap(end=end))
    with pytest.raises(LandingConflict, match="ends before it begins"):
        landing.gaps.declare(replace(gap(), end=at(999, resetlogs_id=10)))

    landing.gaps.declare(replace(gap(), end=at(120, resetlogs_id=12)))
    assert landing.chain_end() == at(120, resetlogs_id=12)
    land(landing, window(120, 400, [(replace(THREE, resetlogs_id=12),)], resetlogs_id=12), 120, rows=((),))
    assert [(w.resetlogs_id, w.start) for w in landing.windows.after()] == [(11, 100), (12, 120)]


def test_a_writer_that_died_between_place_and_break_is_finished_by_the_next(landing, tmp_path):
    landing.gaps.declare(gap())
    Path(landing.files.location(f"gaps/{gap().name}.json")).unlink()

    assert Landing(str(tmp_path), "shop").gaps.all() == [gap()]


def test_two_breaks_may_follow_each_other(landing):
    landing.gaps.declare(gap())
    landing.gaps.declare(gap(350, 380))

    assert landing.chain_end() == at(380)
    assert landing.gaps.starting_at(ChainPosition(11, 350)) == gap(350, 380)


def test_a_break_survives_its_way_through_json():
    assert decode(DeclaredGap, encode(gap()), "x") == gap()
    with pytest.raises(FormatTooNew):
        from_body(DeclaredGap, to_body(gap()) | {"format": 99}, "x")


RESET = replace(gap(), end=at(350, 12))  # behind a RESETLOGS at 300


def test_at_a_resetlogs_a_break_and_a_window_of_the_new_incarnation_take_one_place(landing, monkeypatch):
    behind = window(300, 400, [(THREE,)], resetlogs_id=12)
    late = Landing(landing.files.url.rpartition("/")[0], "shop")
    monkeypatch.setattr(late._chain, "end", lambda: at(300))  # read before others continued the chain
    records = write(late, behind, rows=((),))
    landing.gaps.declare(RESET)

    with pytest.raises(LandingConflict, match="another window has its position"):
        late.windows.publish(behind, [ORDERS], records, 300)
    assert landing.chain_end() == at(350, 12)


def test_a_window_that_begins_at_a_resetlogs_is_found_again_when_its_writer_died(landing):
    behind = window(300, 400, [(THREE,)], resetlogs_id=12)
    land(landing, behind, 300, rows=((),))
    Path(landing.files.location(f"windows/{behind.name}/manifest.json")).unlink()
    again = Landing(landing.files.url.rpartition("/")[0], "shop")

    assert again.chain_end() == at(400, 12)
    with pytest.raises(LandingConflict):
        again.gaps.declare(RESET)


def on_two(scn, code, xid):
    """A row of redo thread 2: a change of the table, or an end of the transaction."""
    return (row if code < 5 else frame)(scn, code, thread=2, sequence=7, xid=xid)


def torn(landing, found):
    split = landing.gaps.split_by(found)
    return split if split is None else {t.xid: t.rows for t in split}


def test_the_window_behind_a_break_tells_which_transactions_came_without_their_beginning(landing):
    landing.gaps.declare(gap(300, 310))
    rows = (
        on_two(320, 1, "1.1.1"),  # began in the gap
        on_two(321, 3, "1.1.1"),
        on_two(322, 6, "2.2.2"),
        on_two(323, 1, "2.2.2"),
        on_two(324, 7, "1.1.1"),
        on_two(325, 7, "3.3.3"),  # ended, and changed nothing behind the gap
        on_two(326, 1, "4.4.4"),  # began in the gap, but has come to nothing
        on_two(327, 36, "4.4.4"),
    )
    assert torn(landing, gap(300, 310)) is None

    land(landing, window(310, 350, [(THREE,)]), 310, rows=(rows,))

    assert torn(landing, gap(300, 310)) == {"1.1.1": 2}
    Path(landing.files.location(f"windows/{window(310, 350).name}/redo-t1-00000.parquet")).unlink()
    assert torn(landing, gap(300, 310)) == {"1.1.1": 2}, "it is kept"


def test_a_transaction_begun_before_a_break_is_told_whenever_its_changes_come(landing):
    landing.gaps.declare(gap(300, 310))
    land(landing, window(310, 320, [(THREE,)]), 310, rows=((on_two(311, 6, "2.2.2"), on_two(312, 6, "5.5.5")),))
    land(landing, window(320, 330, [(THREE,)]), 320, rows=((on_two(321, 1, "2.2.2"),),))
    assert torn(landing, gap(300, 310)) == {}

    land(landing, window(330, 340, [(THREE,)]), 330, rows=((on_two(331, 1, "1.1.1"), on_two(332, 1, "2.2.2")),))
    late = (on_two(341, 3, "1.1.1"), on_two(342, 7, "1.1.1"), on_two(343, 1, "5.5.5"))
    land(landing, window(340, 350, [(THREE,)]), 340, rows=(late,))

    assert torn(landing, gap(300, 310)) == {"1.1.1": 2}
    assert torn(Landing(landing.files.url.rpartition("/")[0], "shop"), gap(300, 310)) == {"1.1.1": 2}


def test_what_is_torn_by_a_later_break_is_told_there(landing):
    landing.gaps.declare(gap(300, 310))
    land(landing, window(310, 320, [(THREE,)]), 310, rows=((on_two(311, 6, "2.2.2"),),))
    landing.gaps.declare(gap(320, 340, dropped=()))
    land(landing, window(340, 350, [(THREE,)]), 340, rows=((on_two(341, 1, "2.2.2"),),))

    assert torn(landing, gap(300, 310)) == {}
    assert torn(landing, gap(320, 340, dropped=())) == {"2.2.2": 1}


@pytest.mark.parametrize(
    ("table", "snapshot", "concerned"),
    [
        pytest.param("SHOP.ORDERS", 90, True, id="the contents it had at the break"),
        pytest.param("SHOP.ORDERS", 360, False, id="read anew since"),
        pytest.param("SHOP.ITEMS", 90, False, id="not captured then"),
    ],
)
def test_a_break_concerns_a_table_until_it_is_read_anew(table, snapshot, concerned):
    assert gap().concerns(table, snapshot) is concerned
