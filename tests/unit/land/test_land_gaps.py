"""A declared gap continues the chain of windows once, forward, from a position where no window begins."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from redolake.errors import FormatTooNew, LandingConflict
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.records.batches.carry import OpenTransaction
from redolake.records.codec import decode, encode, from_body, to_body
from redolake.records.gaps import DeclaredGap
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from tests.unit.land.redo_rows import ORDERS, THREE, frame, row, window, write

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


def test_the_next_window_begins_at_the_end_of_a_gap(landing):
    landing.gaps.declare(gap())

    assert landing.chain_end() == at(350)
    behind = land(landing, window(350, 400, [(THREE,)]), 350, rows=((),))
    assert landing.chain_end() == at(400)
    assert [w.start for w in landing.windows.after()] == [100, behind.start]
    assert landing.gaps.all() == [gap()]


def test_a_window_is_not_published_after_a_gap_at_its_start(landing):
    late = window(300, 400, [(THREE,)])
    records = write(landing, late, rows=((),))
    landing.gaps.declare(gap())

    with pytest.raises(LandingConflict):
        landing.windows.publish(late, [ORDERS], records, None)
    assert [w.start for w in landing.windows.after()] == [100]


def test_a_gap_is_not_declared_after_a_window_at_its_start(landing):
    land(landing, window(300, 400, [(THREE,)]), 300, rows=((),))

    with pytest.raises(LandingConflict, match="begins at SCN 300, but the chain ends at 400"):
        landing.gaps.declare(gap())
    assert landing.gaps.all() == []


def test_the_same_gap_may_be_declared_twice_and_another_one_is_a_conflict(landing):
    first = landing.gaps.declare(gap())

    assert landing.gaps.declare(gap(reason="said again")) == first
    with pytest.raises(LandingConflict, match=r"a declared gap \(gap, to SCN 350\)"):
        landing.gaps.declare(gap(end=370))


def test_a_gap_ends_at_a_higher_scn_or_in_a_later_incarnation(landing):
    for end in (300, 299):
        with pytest.raises(LandingConflict, match="ends before it begins"):
            landing.gaps.declare(gap(end=end))
    with pytest.raises(LandingConflict, match="ends before it begins"):
        landing.gaps.declare(replace(gap(), end=at(999, resetlogs_id=10)))

    landing.gaps.declare(replace(gap(), end=at(120, resetlogs_id=12)))
    assert landing.chain_end() == at(120, resetlogs_id=12)
    land(landing, window(120, 400, [(replace(THREE, resetlogs_id=12),)], resetlogs_id=12), 120, rows=((),))
    assert [(w.resetlogs_id, w.start) for w in landing.windows.after()] == [(11, 100), (12, 120)]


def test_the_gap_of_a_writer_that_died_before_its_file_is_finished_by_the_next(landing, tmp_path):
    landing.gaps.declare(gap())
    Path(landing.files.location(f"gaps/{gap().name}.json")).unlink()

    assert Landing(str(tmp_path), "shop").gaps.all() == [gap()]


def test_two_gaps_may_follow_each_other(landing):
    landing.gaps.declare(gap())
    landing.gaps.declare(gap(350, 380))

    assert landing.chain_end() == at(380)
    assert landing.gaps.gap_at(ChainPosition(11, 350)) == gap(350, 380)


def test_a_gap_is_read_as_it_was_written_and_a_newer_format_is_refused():
    assert decode(DeclaredGap, encode(gap()), "x") == gap()
    with pytest.raises(FormatTooNew):
        from_body(DeclaredGap, to_body(gap()) | {"format": 99}, "x")


RESET = replace(gap(), end=at(350, 12))  # after a RESETLOGS at 300


def test_at_a_resetlogs_a_gap_and_a_window_of_the_new_incarnation_exclude_each_other(landing, monkeypatch):
    behind = window(300, 400, [(THREE,)], resetlogs_id=12)
    late = Landing(landing.files.url.rpartition("/")[0], "shop")
    monkeypatch.setattr(late._chain, "end", lambda: at(300))  # read before others continued the chain
    records = write(late, behind, rows=((),))
    landing.gaps.declare(RESET)

    with pytest.raises(LandingConflict, match="another window has its position"):
        late.windows.publish(behind, [ORDERS], records, 300)
    assert landing.chain_end() == at(350, 12)


def test_a_window_at_a_resetlogs_is_finished_when_its_writer_died(landing):
    behind = window(300, 400, [(THREE,)], resetlogs_id=12)
    land(landing, behind, 300, rows=((),))
    Path(landing.files.location(f"windows/{behind.name}/manifest.json")).unlink()
    again = Landing(landing.files.url.rpartition("/")[0], "shop")

    assert again.chain_end() == at(400, 12)
    with pytest.raises(LandingConflict):
        again.gaps.declare(RESET)


def on_two(scn, code, xid):
    """Return a row of redo thread 2: a change of the table, or an end of the transaction."""
    return (row if code < 5 else frame)(scn, code, thread=2, sequence=7, xid=xid)


def split_by(landing, found):
    split = landing.gaps.split_by(found)
    return split if split is None else {t.xid: t.rows for t in split}


def test_a_gap_splits_transactions_whose_changes_follow_without_their_start(landing):
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
    assert split_by(landing, gap(300, 310)) is None

    land(landing, window(310, 350, [(THREE,)]), 310, rows=(rows,))

    assert split_by(landing, gap(300, 310)) == {"1.1.1": 2}
    Path(landing.files.location(f"windows/{window(310, 350).name}/redo-t1-00000.parquet")).unlink()
    assert split_by(landing, gap(300, 310)) == {"1.1.1": 2}, "it is kept"


def test_a_split_transaction_is_found_in_whichever_window_its_changes_are(landing):
    landing.gaps.declare(gap(300, 310))
    land(landing, window(310, 320, [(THREE,)]), 310, rows=((on_two(311, 6, "2.2.2"), on_two(312, 6, "5.5.5")),))
    land(landing, window(320, 330, [(THREE,)]), 320, rows=((on_two(321, 1, "2.2.2"),),))
    assert split_by(landing, gap(300, 310)) == {}

    land(landing, window(330, 340, [(THREE,)]), 330, rows=((on_two(331, 1, "1.1.1"), on_two(332, 1, "2.2.2")),))
    late = (on_two(341, 3, "1.1.1"), on_two(342, 7, "1.1.1"), on_two(343, 1, "5.5.5"))
    land(landing, window(340, 350, [(THREE,)]), 340, rows=(late,))

    assert split_by(landing, gap(300, 310)) == {"1.1.1": 2}
    assert split_by(Landing(landing.files.url.rpartition("/")[0], "shop"), gap(300, 310)) == {"1.1.1": 2}


def test_a_commit_without_a_start_is_known_also_of_a_transaction_without_rows(landing):
    begin, rows = ChainPosition(11, 100), [on_two(150, 7, "1.1.1"), on_two(151, 6, "2.2.2"), on_two(152, 7, "2.2.2")]
    rows += [on_two(153, 6, "3.3.3"), on_two(154, 36, "4.4.4"), on_two(155, 6, "5.5.5"), on_two(156, 6, "5.5.6")]
    rows += [row(157, 1, thread=2, sequence=7, xid="6.6.6")]
    assert not landing.gaps.keeps_without_start
    landing.gaps.keep_without_start(begin.name)
    assert landing.gaps.keeps_without_start
    land(landing, window(300, 350, [(THREE,)]), 300, rows=(tuple(replaced(rows, by=200)),))
    land(landing, window(350, 400, [(THREE,)]), 350, rows=((on_two(360, 7, "3.3.3"), on_two(361, 7, "6.6.6")),))
    land(landing, window(400, 450, [(THREE,)], resetlogs_id=12), 400, rows=((on_two(410, 7, "7.7.7"),),))
    state = landing.gaps.without_start(begin.name, begin)

    assert {one.xid: one.committed for one in state.transactions if one.committed} == {
        "1.1.1": ChainPosition(11, 350).name,
        "6.6.6": ChainPosition(11, 361).name,
        "7.7.7": ChainPosition(12, 410).name,
    }
    assert {one.xid: one.scn for one in state.begun} == {"5.5.6": 356}, "5.5.5 had its undo slot before"


def test_that_nobody_showed_what_was_open_is_known_without_the_states_and_not_from_a_gap(landing):
    """A damaged state is removed, as docs/how-to/damaged-files.md says, and prune leaves one. Commits are noticed then too."""
    begin = ChainPosition(11, 100)
    landing.gaps.declare(gap(300, 310))
    land(landing, window(310, 350, [(THREE,)]), 310, rows=((on_two(320, 7, "1.1.1"),),))
    assert landing.gaps.split_by(gap(300, 310)) == ()
    assert not landing.gaps.keeps_without_start, "no batch of a primary reads windows for it"

    landing.gaps.keep_without_start(begin.name)
    shutil.rmtree(landing.files.location(layout.SPLIT))
    assert landing.gaps.keeps_without_start
    state = landing.gaps.without_start(gap(300, 310).name, gap(300, 310).end.chain_position)
    assert [one.committed for one in state.transactions] == [ChainPosition(11, 320).name]


def test_rows_without_their_transactions_number_are_of_the_one_that_has_the_undo_slot(landing):
    begin = ChainPosition(11, 100)
    landing.gaps.keep_without_start(begin.name)
    begun = [on_two(301 + slot, 6, f"2.{slot}.2") for slot in range(4)]
    older = [on_two(320, 1, "3.1.4294967295"), on_two(321, 1, "3.2.4294967295"), on_two(322, 1, "3.3.7")]
    land(landing, window(300, 350, [(THREE,)]), 300, rows=((*begun, *older),))
    rows = [on_two(360, 1, "2.0.4294967295"), on_two(361, 36, "2.1.4294967295")]  # to a savepoint, and to its beginning
    rows += [
        on_two(362, 36, "2.2.4294967295"),
        on_two(363, 6, "2.2.3"),
        on_two(364, 36, "2.3.4294967295"),
        on_two(365, 6, "2.3.4"),
    ]
    rows += [on_two(366, 7, "3.2.9"), on_two(367, 36, "3.3.4294967295")]
    land(landing, window(350, 400, [(THREE,)]), 350, rows=(tuple(rows),))
    state = landing.gaps.without_start(begin.name, begin)

    assert {one.xid: one.scn for one in state.begun} == {"2.0.2": 301, "2.2.3": 363, "2.3.4": 365}
    assert {one.xid: (one.rows, bool(one.committed)) for one in state.transactions} == {
        "3.1.4294967295": (1, False),
        "3.2.9": (0, True),
    }


def replaced(rows, by):
    return [{**one, "scn": one["scn"] + by} for one in rows]


def test_a_later_gap_has_its_own_split_transactions(landing):
    landing.gaps.declare(gap(300, 310))
    land(landing, window(310, 320, [(THREE,)]), 310, rows=((on_two(311, 6, "2.2.2"),),))
    landing.gaps.declare(gap(320, 340, dropped=()))
    land(landing, window(340, 350, [(THREE,)]), 340, rows=((on_two(341, 1, "2.2.2"),),))

    assert split_by(landing, gap(300, 310)) == {}
    assert split_by(landing, gap(320, 340, dropped=())) == {"2.2.2": 1}


@pytest.mark.parametrize(
    ("table", "snapshot", "concerned"),
    [
        pytest.param("SHOP.ORDERS", 90, True, id="the contents it had at the gap"),
        pytest.param("SHOP.ORDERS", 360, False, id="a newer snapshot"),
        pytest.param("SHOP.ITEMS", 90, False, id="not captured then"),
    ],
)
def test_a_gap_concerns_a_table_until_its_next_snapshot(table, snapshot, concerned):
    assert gap().concerns(table, snapshot) is concerned
