"""After a failed attempt at a slice comes the next copy, the neighbouring logs, or the error."""

from __future__ import annotations

import pyarrow as pa
import pytest

from redolake.errors import MiningIncomplete, RedoLost, SourceUnavailable, Terminal
from redolake.mine.copies import BadCopy, EdgeCut, LogSet, mine_from_any_copy, suspects, with_neighbours
from redolake.mine.mining import mine_slice
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import LogCopy, Slice
from tests.unit.mine.mining_world import ORDERS, ORDERS_ID, FakeSession, batch, log, redo, window


def two_copies(sequence, first, end):
    return log(sequence, first, end, LogCopy(1, f"/a/{sequence}", "A"), LogCopy(2, f"/b/{sequence}", "A"))


SLICE = Slice(0, 1, (two_copies(1, 100, 200), two_copies(2, 200, 300)))
LOG_SET = LogSet(SLICE, SLICE)


class Sessions:
    """One session per attempt, as the steps open them."""

    def __init__(self, *sessions, archived=()):
        self.sessions, self.archived, self.left, self.facts = sessions, archived, list(sessions), None

    def mine(self, own=SLICE):
        def attempt(log_set):
            work = mine_slice(
                self.left.pop(0), log_set, window(logs=own), tables=(ORDERS,), object_ids=frozenset({ORDERS_ID}),
                container="FREEPDB1", fetch_rows=100,
            )  # fmt: skip
            rows = pa.Table.from_batches(list(work), LANDED_SCHEMA).to_pylist()
            self.facts = work.facts
            return rows

        return mine_from_any_copy(own, attempt, lambda: self.archived)

    @property
    def files(self):
        return [session.files for session in self.sessions]


def broken(text, code, *answers):
    return FakeSession(*answers, error=Terminal(text, ora_code=code))


BAD_WHILE_READ = {
    "a corrupt block": ("ORA-00353: log corruption near block 3; ORA-00334: archived log: '/a/2'", 353),
    "a checksum": ("ORA-00368: checksum error; ORA-00334: archived log: '/a/2'", 368),
    "overwritten while mining": ("ORA-00310: archived log contains sequence 9; ORA-00334: archived log: '/a/2'", 310),
    "another header than when it was added": ("ORA-01368: redo log file header of /a/2 differs", 1368),
    "vanished": ("ORA-00308: cannot open archived log '/a/2'", 308),
    "an I/O error": ("ORA-01285: error reading file /a/2", 1285),
}


@pytest.mark.parametrize(("text", "code"), BAD_WHILE_READ.values(), ids=BAD_WHILE_READ)
def test_a_copy_that_fails_while_it_is_read_is_replaced_in_a_new_attempt(text, code):
    sessions = Sessions(broken(text, code, batch(redo(110), redo(210))), FakeSession(batch(redo(110), redo(210))))

    rows = sessions.mine()

    assert sessions.files == [["/a/1", "/a/2"], ["/a/1", "/b/2"]]
    assert [row["scn"] for row in rows] == [110, 210]  # of the second attempt only
    assert sessions.facts.destinations == {"1/1": 1, "1/2": 2}
    assert sessions.facts.refused == (f"destination 1: /a/2: {text}",)


def test_an_error_without_a_file_name_switches_every_log_to_its_next_copy():
    sessions = Sessions(broken("ORA-01291: missing log file", 1291), FakeSession(batch(redo(110))))

    sessions.mine()

    assert sessions.files == [["/a/1", "/a/2"], ["/b/1", "/b/2"]]


def test_a_log_with_only_bad_copies_is_lost_and_each_copy_is_listed():
    text = "ORA-00353: log corruption near block 3; ORA-00334: archived log: '{}'"
    sessions = Sessions(broken(text.format("/a/2"), 353), broken(text.format("/b/2"), 353))

    with pytest.raises(RedoLost, match="Redo Thread 1 is inconsistent; an archive log with sequence 2") as caught:
        sessions.mine()
    assert all(f"destination {n}: /{f}/2: ORA-00353" in caught.value.where["tried"] for n, f in ((1, "a"), (2, "b")))
    assert "recover" in caught.value.cure


def test_an_error_without_a_file_name_is_incomplete_mining_when_no_copy_is_left():
    sessions = Sessions(*(broken("ORA-01291: missing log file", 1291) for _ in range(2)))

    with pytest.raises(MiningIncomplete, match="ORA-01291") as caught:
        sessions.mine()
    assert caught.value.where["tried"].count("ORA-01291") == 4


def test_an_error_that_names_two_files_suspects_both():
    text = "ORA-00310: archived log contains sequence 3 in '/a/12', ORA-00334: archived log: '/a/1'"
    logs = {log(n, n, n + 1): LogCopy(1, name, "A") for n, name in enumerate(("/a/1", "/a/12", "/a/2"))}
    error = MiningIncomplete(text, cure="")

    assert [g.sequence for g in suspects(error, logs)] == [0, 1]
    assert [g.sequence for g in suspects(MiningIncomplete("bad: '/a/12'", cure=""), logs)] == [1]


ROWS_OF_BAD_COPIES = {
    "a corrupt block": redo(210, status=1343, sequence=2),
    "a hole": redo(210, 34, status=1291, sequence=2, info="Missing SCN 210 - 220"),
}


@pytest.mark.parametrize("row", ROWS_OF_BAD_COPIES.values(), ids=ROWS_OF_BAD_COPIES)
def test_a_row_that_reports_corruption_is_an_error_only_if_every_copy_has_it(row):
    sessions = Sessions(FakeSession(batch(row)), FakeSession(batch(redo(210))))

    assert len(sessions.mine()) == 1
    assert sessions.files == [["/a/1", "/a/2"], ["/a/1", "/b/2"]]

    with pytest.raises((MiningIncomplete, RedoLost)) as caught:
        Sessions(*(FakeSession(batch(row)) for _ in range(2))).mine()
    assert (caught.value.where["thread"], caught.value.where["sequence"], caught.value.where["scn"]) == (1, 2, 210)


HEADERS = {
    "another sequence": (1, 9, 0, "/a/2", None, 200, 300, 7, 90),
    "another thread": (2, 2, 0, "/a/2", None, 200, 300, 7, 90),
    "another beginning": (1, 2, 0, "/a/2", None, 150, 300, 7, 90),
    "another end": (1, 2, 0, "/a/2", None, 200, 299, 7, 90),
    "no end yet": (1, 2, 0, "/a/2", None, 200, 2**64 - 1, 7, 90),
    "another database": (1, 2, 0, "/a/2", None, 200, 300, 8, 90),
    "another incarnation": (1, 2, 0, "/a/2", None, 200, 300, 7, 80),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_file_with_another_log_is_never_read(header):
    first = FakeSession(batch(redo(210)), listed=[(1, 1, 1, "/a/1", None), header])
    sessions = Sessions(first, FakeSession(batch(redo(210))))

    sessions.mine()

    assert first.asked is None
    assert "start_logmnr" not in [name for name, _ in first.calls]
    assert sessions.files[1] == ["/a/1", "/b/2"]
    assert "instead of" in sessions.facts.refused[0]


def test_the_last_log_before_a_resetlogs_may_have_an_open_end():
    last = Slice(0, 1, (log(1, 10, 90),))
    session = FakeSession(batch(), listed=[(1, 1, 1, "/arch/1", None, 10, 2**64 - 1, 7, 90)])

    assert Sessions(session).mine(last) == []


def test_a_transient_error_is_not_a_bad_copy():
    with pytest.raises(SourceUnavailable):
        Sessions(FakeSession(error=SourceUnavailable("DPY-4011", ora_code=3113))).mine()


# Slices of one log each; a row begins in log 2 and ends in log 3.
OWN = Slice(1, 1, (log(2, 200, 300),))
ARCHIVED = (log(1, 100, 200), log(2, 200, 300), log(3, 300, 400))
CUT = {
    "a statement without its end": (redo(290, sql="insert ", csf=1, sequence=2),),
    "a row that needs assembly": (redo(290, status=5, sequence=2),),
}


@pytest.mark.parametrize("cut", CUT.values(), ids=CUT)
def test_a_row_cut_at_the_edge_of_a_slice_is_mined_again_with_the_neighbouring_logs(cut):
    whole = batch(redo(190, sequence=1), redo(290, sql="insert whole", sequence=2), redo(310, sequence=3))
    sessions = Sessions(FakeSession(batch(*cut)), FakeSession(whole), archived=ARCHIVED)

    rows = sessions.mine(OWN)

    assert sessions.files == [["/arch/2"], ["/arch/1", "/arch/2", "/arch/3"]]
    assert [(r["sequence"], r["ordinal"], r["sql_redo"]) for r in rows] == [(2, 0, "insert whole")]
    assert (sessions.facts.neighbours, sessions.facts.row_count) == ((1, 3), 1)


def test_a_row_that_the_neighbouring_logs_do_not_complete_is_an_error():
    sessions = Sessions(*(FakeSession(batch(redo(290, status=5, sequence=2))) for _ in range(2)), archived=ARCHIVED)

    with pytest.raises(MiningIncomplete, match="assembly"):
        sessions.mine(OWN)


def test_rows_cut_at_the_edges_of_the_neighbouring_logs_are_ignored():
    cut = redo(390, sql="insert ", csf=1, sequence=3)
    whole = batch(redo(110, status=5, sequence=1), redo(290, sequence=2), cut)
    sessions = Sessions(FakeSession(batch(redo(290, status=5, sequence=2))), FakeSession(whole), archived=ARCHIVED)

    assert [row["scn"] for row in sessions.mine(OWN)] == [290]


def test_without_an_archived_neighbour_a_cut_row_is_an_error_at_once():
    with pytest.raises(EdgeCut) as caught:
        Sessions(FakeSession(batch(*CUT["a statement without its end"])), archived=(ARCHIVED[1],)).mine(OWN)
    assert "next log" in caught.value.cure


def test_neighbours_are_archived_logs_of_the_same_thread_and_incarnation():
    from dataclasses import replace

    odd = (replace(ARCHIVED[0], thread=2), replace(ARCHIVED[2], resetlogs_id=12), replace(ARCHIVED[2], next_scn=None))
    deleted = replace(ARCHIVED[2], copies=(LogCopy(1, None, "D", deleted=True),))

    for archived in (odd, (deleted,)):
        assert with_neighbours(LogSet(OWN, OWN), archived).neighbours == frozenset()


def test_a_single_attempt_raises_a_transient_error_for_a_bad_copy():
    session = broken("ORA-00353: log corruption; ORA-00334: archived log: '/a/2'", 353)
    settings = {"tables": (ORDERS,), "object_ids": frozenset(), "container": None, "fetch_rows": 10}

    with pytest.raises(BadCopy, match="log corruption"):
        list(mine_slice(session, LOG_SET, window(logs=SLICE), **settings))
