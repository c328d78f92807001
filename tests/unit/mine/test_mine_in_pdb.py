"""Mining inside a PDB, where Oracle chooses the logs of a range."""

from __future__ import annotations

from collections import namedtuple

import pytest

from redolake.errors import MiningIncomplete, RedoLost, RedoNotUnderstood
from redolake.mine import mine_slice
from tests.unit.mine.mining_world import LOGS, ORDERS, ORDERS_ID, FakeSession, batch, control, redo, window

Row = namedtuple("Row", "thread_id thread_sqn status filename low_scn next_scn db_id reset_scn")


class InsideSession(FakeSession):
    """A session in a PDB: START_LOGMNR chooses the logs, those that a test names."""

    pdb_only = True

    def __init__(self, *answers, logs=((1, 1), (1, 2)), **other):
        super().__init__(*answers, **other)
        self.chosen = logs

    def call(self, name, /, **binds):
        assert name in ("start_logmnr_in_pdb", "end_logmnr"), "logs cannot be added inside a PDB"
        self.calls.append((name, binds or None))

    def query(self, name, /, **binds):
        if name != "mined_logs":
            return super().query(name, **binds)
        ends = {1: (100, 200), 2: (200, 300)}
        return [Row(t, s, 0, f"/online/{t}_{s}", *ends.get(s, (0, 1)), window().dbid, 90) for t, s in self.chosen]


def mined(session):
    mining = mine_slice(
        session, LOGS, window(), tables=[ORDERS], object_ids=frozenset({ORDERS_ID}), container="FREEPDB1", fetch_rows=100
    )
    return [row for rows in mining for row in rows.to_pylist()]


def test_the_range_is_that_of_the_logs():
    session = InsideSession(batch(redo(150), control(160, 7)))

    assert len(mined(session)) == 2
    assert ("start_logmnr_in_pdb", {"start_scn": 100, "end_scn": 299}) in session.calls


def test_rows_of_other_redo_threads_are_left_to_their_own_slices():
    rows = batch(redo(150), redo(151, thread=2), redo(152))

    found = mined(InsideSession(rows, logs=((1, 1), (1, 2), (2, 1))))

    assert [row["scn"] for row in found] == [150, 152]


def test_a_row_without_a_thread_is_the_one_threads():
    assert [row["thread"] for row in mined(InsideSession(batch(control(150, 7, thread=0))))] == [1]


def test_a_row_without_a_thread_among_several_stops_mining():
    with pytest.raises(RedoNotUnderstood, match="without a redo thread"):
        mined(InsideSession(batch(control(150, 7, thread=0)), logs=((1, 1), (1, 2), (2, 1))))


def test_a_row_that_does_not_name_its_container_is_the_pdbs():
    assert [row["con_name"] for row in mined(InsideSession(batch(redo(150, con_name=None))))] == ["FREEPDB1"]


@pytest.mark.parametrize("chosen", [(), ((1, 1),), ((1, 1), (2, 2))], ids=["none", "one of two", "another thread's"])
def test_logs_that_oracle_did_not_choose_stop_mining(chosen):
    with pytest.raises(MiningIncomplete, match="did not choose log"):
        mined(InsideSession(batch(redo(150)), logs=chosen))


def test_a_file_that_cannot_be_opened_is_the_loss_of_its_log():
    class Unreadable(InsideSession):
        def call(self, name, /, **binds):
            if name == "start_logmnr_in_pdb":
                raise RedoLost("ORA-01284: file /arch/2 cannot be opened", ora_code=1284)
            super().call(name, **binds)

    with pytest.raises(RedoLost) as lost:
        mined(Unreadable(batch(redo(150))))

    assert "/arch/2" in str(lost.value)
