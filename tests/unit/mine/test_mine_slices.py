"""What a slice's rows look like when they leave mining, and what stops it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.errors import MiningIncomplete, RedoLost, RedoNotUnderstood, SourceUnavailable
from pipelines.landed_schema import LANDED_SCHEMA
from pipelines.mine.mining import mine_slice
from pipelines.redo import LogCopy, Slice
from pipelines.table import TableId
from tests.unit.mine.mining_world import LOGS, ORDERS, ORDERS_ID, FakeSession, batch, frame, log, redo, window


def mining(session, logs=LOGS, of=None, **other):
    settings = {"tables": (ORDERS,), "object_ids": frozenset({ORDERS_ID}), "container": "FREEPDB1", "fetch_rows": 100}
    return mine_slice(session, logs, of or window(logs=logs), **(settings | other))


def mined(session, **other):
    return pa.Table.from_batches(list(mining(session, **other)), LANDED_SCHEMA).to_pylist()


def test_rows_are_landed_in_the_agreed_form():
    rows = mined(
        FakeSession(batch(frame(100, 6), redo(101, undone=1, row_id="AAA", pxidusn=5, pxidslt=1, pxidsqn=98), frame(102, 7)))
    )

    assert [(r["ordinal"], r["operation"], r["xid"], r["rs_id"]) for r in rows] == [
        (0, "START", "5.1.99", "0x000001.00000064.0010"),
        (1, "INSERT", "5.1.99", "0x000001.00000065.0010"),
        (2, "COMMIT", "5.1.99", "0x000001.00000066.0010"),
    ]
    assert (rows[1]["rollback"], rows[1]["pxid"], rows[0]["pxid"]) == (True, "5.1.98", None)


def test_the_session_is_pinned_in_the_root_and_started_over_the_logs_not_the_window():
    session = FakeSession(batch(redo(150)))

    mined(session, of=window(120, 180))

    assert [name for name, _ in session.calls] == [
        "use_container", "pin_session", "new_logfile", "add_logfile", "start_logmnr", "end_logmnr",
    ]  # fmt: skip
    assert session.calls[4][1] == {"start_scn": 100, "end_scn": 299}


def test_rows_outside_the_window_are_dropped_and_counted_and_keep_their_place_in_the_numbering():
    work = mining(FakeSession(batch(redo(110), redo(120), redo(179), redo(180))), of=window(120, 180))

    rows = pa.Table.from_batches(list(work), LANDED_SCHEMA).to_pylist()

    assert [(r["scn"], r["ordinal"]) for r in rows] == [(120, 1), (179, 2)]
    assert (work.facts.row_count, work.facts.outside_count, work.facts.complete) == (4, 2, True)


def test_late_redo_below_earlier_rows_is_kept_when_its_log_holds_it():
    rows = mined(FakeSession(batch(redo(190), redo(110))))

    assert [r["scn"] for r in rows] == [190, 110]


def test_redo_at_the_end_of_its_log_is_kept_where_the_window_answers_for_it():
    assert [r["scn"] for r in mined(FakeSession(batch(redo(200, sequence=1))))] == [200]


def test_an_empty_commit_without_a_thread_belongs_to_the_thread_that_was_mined():
    assert mined(FakeSession(batch(frame(101, 7, thread=0))))[0]["thread"] == 1


@pytest.mark.parametrize(("container", "told"), [(None, 0), ("FREEPDB1", None)])
def test_only_a_database_without_containers_has_a_number_of_its_own(container, told):
    rows = mined(FakeSession(batch(frame(100, 6, con_id=None, con_name=None))), container=container)

    assert [r["con_id"] for r in rows] == [told]


def test_a_row_with_an_all_zero_address_is_placed_by_its_scn():
    rows = mined(FakeSession(batch(frame(250, 36, sequence_no=0, rs_id=" 0x000000.00000000.0000 "))))

    assert rows[0]["sequence"] == 2


def test_another_destinations_copy_is_tried_when_one_cannot_be_opened():
    two = Slice(0, 1, (log(1, 100, 200, LogCopy(1, "/a/1", "A"), LogCopy(2, "/b/1", "A")),))
    session = FakeSession(batch(redo(150)), unreadable=["/a/1"], listed=[(1, 1, 1, "/b/1", None)])

    work = mining(session, two)
    list(work)

    assert session.files == ["/b/1"]
    assert work.facts.destinations == {"1/1": 2}


def test_a_log_that_no_destination_can_open_is_lost_with_what_was_tried():
    session = FakeSession(unreadable=["/arch/2"])

    with pytest.raises(RedoLost, match="Redo Thread 1 is inconsistent; an archive log with sequence 2") as caught:
        mined(session)
    assert "/arch/2: ORA-01284" in str(caught.value.where["tried"])
    assert session.ended


def test_a_hole_in_logminers_own_list_stops_before_anything_is_read():
    session = FakeSession(
        batch(redo(150)), listed=[(1, 1, 1, "/arch/1", None), (1, 2, 4, "Missing log file(s)", "MISSING_LOGFILE")]
    )

    with pytest.raises(MiningIncomplete, match="does not read the logs"):
        mined(session)
    assert session.asked is None
    assert session.ended


def test_a_pruned_log_stops_as_well():
    with pytest.raises(MiningIncomplete):
        mined(FakeSession(batch(redo(150)), listed=[(1, 1, 1, "/arch/1", None), (1, 2, 2, "/arch/2", None)]))


def test_what_another_thread_misses_is_not_this_slices_concern():
    listed = [(1, 1, 1, "/arch/1", None), (1, 2, 0, "/arch/2", None), (2, 7, 4, "Missing log file(s)", "MISSING_LOGFILE")]

    assert len(mined(FakeSession(batch(redo(150)), listed=listed))) == 1


def test_a_fetch_that_breaks_is_not_complete_and_leaves_a_lost_session_alone():
    session = FakeSession(batch(redo(150)), error=SourceUnavailable("DPY-4011"))
    work = mining(session)

    with pytest.raises(SourceUnavailable):
        list(work)
    assert not session.ended  # END_LOGMNR on a hanging session would hang once more
    assert not work.facts.complete


def test_a_session_that_oracle_does_not_call_sound_stops_before_anything_is_read():
    session = FakeSession(batch(redo(150)))
    session.session_status = 1291

    with pytest.raises(MiningIncomplete) as caught:
        mined(session)
    assert caught.value.where["session_status"] == [1291]
    assert session.asked is None


def test_a_reader_that_gives_up_ends_the_session():
    session = FakeSession(batch(redo(150)), batch(redo(160)))

    rows = iter(mining(session))
    next(rows)
    rows.close()

    assert session.ended


STOPS = {
    "a hole in the stream": (frame(150, 34, info="Missing SCN 150 - 160", thread=None, rs_id=None), RedoLost, "a hole"),
    "a corrupt block": (redo(150, status=1343), MiningIncomplete, "corrupt"),
    "a row that needs assembly": (redo(150, status=5), MiningIncomplete, "assembly"),
    "a status nobody knows": (redo(150, status=77), MiningIncomplete, "not understood"),
    "a commit whose text is another": (frame(150, 7, operation="ROLLBACK"), RedoNotUnderstood, "contradict"),
    "a rollback under the code of a change": (redo(150, 1, operation="ROLLBACK"), RedoNotUnderstood, "contradict"),
    "no supplemental data": (redo(150, info="no supplemental log data found"), RedoLost, "no supplemental"),
    "redo older than its own log": (redo(199, sequence=2), RedoNotUnderstood, "FIRST_CHANGE#"),
    "redo newer than its own log, which no later window reads": (redo(300, sequence=2), RedoNotUnderstood, "NEXT_CHANGE#"),
    "a row of a log that was not added": (redo(150, sequence=9), RedoNotUnderstood, "was not added"),
    "a row of another thread": (redo(150, thread=2), RedoNotUnderstood, "was not added"),
    "a change without a container": (redo(150, con_name=None), RedoNotUnderstood, "does not tell its container"),
    "a change without a container's number": (redo(150, con_id=None), RedoNotUnderstood, "does not tell its container"),
    "a change without a transaction": (redo(150, xidsqn=None), RedoNotUnderstood, "without xid"),
}


@pytest.mark.parametrize(("row", "kind", "message"), STOPS.values(), ids=STOPS)
def test_mining_stops_at(row, kind, message):
    session = FakeSession(batch(redo(140), row))

    with pytest.raises(kind, match=message) as caught:
        mined(session)
    assert caught.value.cure
    assert caught.value.where["scn"] == row["SCN"]
    assert session.ended


@pytest.mark.parametrize("table", [TableId("SHOP", "Order Parts"), TableId("a.b", "c")], ids=str)
def test_a_table_of_any_name_is_captured_by_it_when_its_id_is_new(table):
    row = redo(150, info="no supplemental log data found", seg_owner=table.owner, table_name=table.name, object_id=99)

    with pytest.raises(RedoLost, match="no supplemental"):
        mined(FakeSession(batch(row)), tables=(table,))


PASSES = {
    "an unsupported row of a captured table": redo(150, 255, status=2),
    "a large object of a captured table": redo(150, 10, operation="LOB_WRITE", status=2),
    "an operation nobody knows": redo(150, 99),
    "a change whose text is another": redo(150, 1, operation="DELETE"),
    "an unsupported row of a table that is not captured": redo(150, 255, status=2, table_name="OTHER", object_id=1),
    "a row that LogMiner could not resolve": redo(150, seg_owner="UNKNOWN", table_name="OBJ# 12", object_id=12, status=2),
    "a row whose definition has changed since": redo(150, status=2, info="Dictionary Version Mismatch"),
    "a table known by its id only": redo(150, seg_owner="UNKNOWN", table_name="OBJ# 4711", status=2),
}


@pytest.mark.parametrize("row", PASSES.values(), ids=PASSES)
def test_mining_lands(row):
    assert len(mined(FakeSession(batch(row)))) == 1
