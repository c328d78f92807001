"""Mined rows of a slice: their form, and the faults that stop mining."""

from __future__ import annotations

import pyarrow as pa
import pytest

from redolake.errors import MiningIncomplete, NoDictionaryInRedo, RedoLost, RedoNotUnderstood, SourceUnavailable
from redolake.mine import LogSet
from redolake.mine.mining import mine_slice
from redolake.mine.rows import SMALL_TOO_LARGE, TOO_LARGE
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import LogCopy, Slice
from redolake.values.table import TableId
from tests.unit.mine.mining_world import LOGS, ORDERS, ORDERS_ID, FakeSession, batch, control, log, redo, window

DICTIONARY = (LOGS.logs[1],)  # as if it began there


def mining(session, logs=LOGS, of=None, **other):
    settings = {"tables": (ORDERS,), "object_ids": frozenset({ORDERS_ID}), "container": "FREEPDB1", "fetch_rows": 100}
    return mine_slice(session, logs, of or window(logs=logs), **(settings | other))


def mined(session, **other):
    return pa.Table.from_batches(list(mining(session, **other)), LANDED_SCHEMA).to_pylist()


def test_rows_have_the_landed_form():
    rows = mined(
        FakeSession(
            batch(control(100, 6), redo(101, undone=1, row_id="AAA", pxidusn=5, pxidslt=1, pxidsqn=98), control(102, 7))
        )
    )

    assert [(r["ordinal"], r["operation"], r["xid"], r["rs_id"]) for r in rows] == [
        (0, "START", "5.1.99", "0x000001.00000064.0010"),
        (1, "INSERT", "5.1.99", "0x000001.00000065.0010"),
        (2, "COMMIT", "5.1.99", "0x000001.00000066.0010"),
    ]
    assert (rows[1]["rollback"], rows[1]["pxid"], rows[0]["pxid"]) == (True, "5.1.98", None)


def test_the_session_runs_in_the_root_over_all_redo_of_the_logs():
    session = FakeSession(batch(redo(150)))

    mined(session, of=window(120, 180))

    assert [name for name, _ in session.calls] == [
        "use_container", "pin_session", "new_logfile", "add_logfile", "start_logmnr", "end_logmnr",
    ]  # fmt: skip
    assert session.calls[4][1] == {}


def test_a_dictionary_in_the_redo_from_within_what_is_read_stops_before_any_row():
    session = FakeSession(batch(redo(250)))

    with pytest.raises(NoDictionaryInRedo, match="begins at SCN 200, and the window reads from SCN 120 on"):
        mined(session, logs=LogSet.of(LOGS, DICTIONARY), of=window(120, 280))

    assert session.asked is None
    assert session.ended
    started = FakeSession(batch(redo(250)))
    mined(started, logs=LogSet.of(LOGS, DICTIONARY), of=window(200, 280))
    assert ("start_logmnr_with_redo_dictionary", {"start_scn": 200}) in started.calls


def test_rows_outside_the_window_are_counted_and_dropped_and_the_others_keep_their_ordinals():
    work = mining(FakeSession(batch(redo(110), redo(120), redo(179), redo(180))), of=window(120, 180))

    rows = pa.Table.from_batches(list(work), LANDED_SCHEMA).to_pylist()

    assert [(r["scn"], r["ordinal"]) for r in rows] == [(120, 1), (179, 2)]
    assert (work.facts.row_count, work.facts.outside_count, work.facts.complete) == (4, 2, True)


def test_late_redo_is_kept_if_its_log_contains_the_scn():
    rows = mined(FakeSession(batch(redo(190), redo(110))))

    assert [r["scn"] for r in rows] == [190, 110]


def test_redo_at_the_end_of_its_log_is_kept_if_the_window_contains_its_scn():
    assert [r["scn"] for r in mined(FakeSession(batch(redo(200, sequence=1))))] == [200]


def test_an_empty_commit_without_a_thread_belongs_to_the_thread_that_was_mined():
    assert mined(FakeSession(batch(control(101, 7, thread=0))))[0]["thread"] == 1


@pytest.mark.parametrize(("container", "con_id"), [(None, 0), ("FREEPDB1", None)])
def test_a_missing_con_id_is_zero_only_without_containers(container, con_id):
    rows = mined(FakeSession(batch(control(100, 6, con_id=None, con_name=None))), container=container)

    assert [r["con_id"] for r in rows] == [con_id]


def test_a_row_with_an_all_zero_address_gets_its_log_by_scn():
    rows = mined(FakeSession(batch(control(250, 36, sequence_no=0, rs_id=" 0x000000.00000000.0000 "))))

    assert rows[0]["sequence"] == 2


def test_another_destination_is_tried_when_a_copy_cannot_be_opened():
    two = Slice(0, 1, (log(1, 100, 200, LogCopy(1, "/a/1", "A"), LogCopy(2, "/b/1", "A")),))
    session = FakeSession(batch(redo(150)), unreadable=["/a/1"], listed=[(1, 1, 1, "/b/1", None)])

    work = mining(session, two)
    list(work)

    assert session.files == ["/b/1"]
    assert work.facts.destinations == {"1/1": 2}


def test_a_log_that_cannot_be_opened_anywhere_is_lost_and_the_tried_copies_are_listed():
    session = FakeSession(unreadable=["/arch/2"])

    with pytest.raises(RedoLost, match="Redo Thread 1 is inconsistent; an archive log with sequence 2") as caught:
        mined(session)
    assert "/arch/2: ORA-01284" in str(caught.value.where["tried"])
    assert session.ended


def test_a_missing_log_in_logminers_list_stops_before_any_row_is_read():
    session = FakeSession(
        batch(redo(150)), listed=[(1, 1, 1, "/arch/1", None), (1, 2, 4, "Missing log file(s)", "MISSING_LOGFILE")]
    )

    with pytest.raises(MiningIncomplete, match="does not read the logs"):
        mined(session)
    assert session.asked is None
    assert session.ended


def test_a_pruned_log_stops_mining():
    with pytest.raises(MiningIncomplete):
        mined(FakeSession(batch(redo(150)), listed=[(1, 1, 1, "/arch/1", None), (1, 2, 2, "/arch/2", None)]))


def test_a_missing_log_of_another_thread_does_not_stop_mining():
    listed = [(1, 1, 1, "/arch/1", None), (1, 2, 0, "/arch/2", None), (2, 7, 4, "Missing log file(s)", "MISSING_LOGFILE")]

    assert len(mined(FakeSession(batch(redo(150)), listed=listed))) == 1


def test_after_a_failed_fetch_the_facts_are_incomplete_and_a_lost_session_is_not_called():
    session = FakeSession(batch(redo(150)), error=SourceUnavailable("DPY-4011"))
    work = mining(session)

    with pytest.raises(SourceUnavailable):
        list(work)
    assert not session.ended  # END_LOGMNR on a hanging session would hang too
    assert not work.facts.complete


def test_a_nonzero_session_status_stops_before_any_row_is_read():
    session = FakeSession(batch(redo(150)))
    session.session_status = 1291

    with pytest.raises(MiningIncomplete) as caught:
        mined(session)
    assert caught.value.where["session_status"] == [1291]
    assert session.asked is None


def test_closing_the_iterator_ends_the_session():
    session = FakeSession(batch(redo(150)), batch(redo(160)))

    rows = iter(mining(session))
    next(rows)
    rows.close()

    assert session.ended


STOPS = {
    "a hole in the stream": (control(150, 34, info="Missing SCN 150 - 160", thread=None, rs_id=None), RedoLost, "a hole"),
    "a corrupt block": (redo(150, status=1343), MiningIncomplete, "corrupt"),
    "a row that needs assembly": (redo(150, status=5), MiningIncomplete, "assembly"),
    "an unknown status": (redo(150, status=77), MiningIncomplete, "unknown STATUS"),
    "a commit whose text is another": (control(150, 7, operation="ROLLBACK"), RedoNotUnderstood, "contradict"),
    "a rollback under the code of a change": (redo(150, 1, operation="ROLLBACK"), RedoNotUnderstood, "contradict"),
    "redo older than its own log": (redo(199, sequence=2), RedoNotUnderstood, "FIRST_CHANGE#"),
    "redo newer than its own log, which no later window reads": (redo(300, sequence=2), RedoNotUnderstood, "NEXT_CHANGE#"),
    "a row of a log that was not added": (redo(150, sequence=9), RedoNotUnderstood, "was not added"),
    "a row of another thread": (redo(150, thread=2), RedoNotUnderstood, "was not added"),
    "a change without a container": (redo(150, con_name=None), RedoNotUnderstood, "without a container"),
    "a change without a container's number": (redo(150, con_id=None), RedoNotUnderstood, "without a container"),
    "an SCN that does not fit": (redo(TOO_LARGE), RedoNotUnderstood, "whose scn is"),
    "a transaction number that does not fit": (redo(150, xidsqn=TOO_LARGE), RedoNotUnderstood, "whose xidsqn is"),
    "a thread that does not fit": (redo(150, thread=SMALL_TOO_LARGE), RedoNotUnderstood, "whose thread is"),
    "a flag that is neither 0 nor 1": (redo(150, undone=2), RedoNotUnderstood, "whose undone is 2 or more"),
    "a container's number that does not fit": (redo(150, con_id=SMALL_TOO_LARGE), RedoNotUnderstood, "without a container"),
    "a change without a transaction": (redo(150, xidsqn=None), RedoNotUnderstood, "without xid"),
}


@pytest.mark.parametrize(("row", "kind", "message"), STOPS.values(), ids=STOPS)
def test_mining_stops_for(row, kind, message):
    session = FakeSession(batch(redo(140), row))

    with pytest.raises(kind, match=message) as caught:
        mined(session)
    assert caught.value.cure
    assert caught.value.where["scn"] == row["SCN"]
    assert session.ended


@pytest.mark.parametrize("table", [TableId("SHOP", "Order Parts"), TableId("a.b", "c")], ids=str)
def test_a_table_with_a_new_id_is_recognised_by_its_name(table):
    row = redo(150, con_name=None, seg_owner=table.owner, table_name=table.name, object_id=99)

    with pytest.raises(RedoNotUnderstood, match="without a container"):
        mined(FakeSession(batch(row)), tables=(table,))


def test_a_start_scn_that_does_not_fit_is_missing_and_such_an_object_id_is_of_no_known_object():
    (row,) = mined(FakeSession(batch(redo(150, start_scn=TOO_LARGE, object_id=TOO_LARGE))))

    assert (row["start_scn"], row["object_id"]) == (None, TOO_LARGE)


def test_a_number_that_comes_as_a_double_stops_mining():
    rows = batch(redo(150))
    rows = rows.set_column(rows.schema.get_field_index("SCN"), "SCN", rows["SCN"].cast("double"))

    with pytest.raises(RedoNotUnderstood, match="scn as a floating-point number"):
        mined(FakeSession(rows))


PASSES = {
    "an unsupported row of a captured table": redo(150, 255, status=2),
    "a large object of a captured table": redo(150, 10, operation="LOB_WRITE", status=2),
    "an unknown operation": redo(150, 99),
    "a change whose text is another": redo(150, 1, operation="DELETE"),
    "an unsupported row of a table that is not captured": redo(150, 255, status=2, table_name="OTHER", object_id=1),
    "a row that LogMiner could not resolve": redo(150, seg_owner="UNKNOWN", table_name="OBJ# 12", object_id=12, status=2),
    "a row from before minimal supplemental logging": redo(150, status=3, info="no supplemental log data found"),
    "a row whose definition has changed since": redo(150, status=2, info="Dictionary Version Mismatch"),
    "a table known by its id only": redo(150, seg_owner="UNKNOWN", table_name="OBJ# 4711", status=2),
}


@pytest.mark.parametrize("row", PASSES.values(), ids=PASSES)
def test_mining_lands(row):
    assert len(mined(FakeSession(batch(row)))) == 1
