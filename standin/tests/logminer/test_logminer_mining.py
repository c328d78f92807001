"""Which rows V$LOGMNR_CONTENTS shows, in which order and form."""

import os

import pytest

from standin.interface import OraError
from standin.logminer import listing, package
from standin.model import ArchivedCopy, OnlineLog, RedoThreadState
from standin.redo_file import Op
from standin.tests.logminer.mining_session import PDB, MiningSession, boundary, insert


@pytest.fixture
def logminer(tmp_path):
    return MiningSession(tmp_path)


def refused(code):
    return pytest.raises(OraError, match=f"ORA-{code:05d}")


def test_rows_are_shown_in_redo_order(logminer):
    records = [boundary(10, Op.START, 10), insert(11, 1), boundary(12, Op.COMMIT, 10)]
    logminer.add(logminer.log(1, 10, 20, records))
    logminer.start()

    assert logminer.select("SCN", "OPERATION", "SQL_REDO", "START_SCN", "USERNAME", "SRC_CON_NAME") == [
        (10, "START", "set transaction read write", 10, "SHOP", "FREEPDB1"),
        (11, "INSERT", """insert into "S"."T"("ID","NAME") values ('1','a')""", None, "SHOP", "FREEPDB1"),
        (12, "COMMIT", "commit", 10, "SHOP", "FREEPDB1"),
    ]
    assert logminer.select("XID")[0].hex() == "0100020003000000"
    assert logminer.select("RS_ID")[1] == " 0x000001.00000003.0000 "


def test_a_change_without_supplemental_log_data_is_shown_by_the_present_definition_and_not_guaranteed(logminer):
    older = insert(11, 1, object_version=0, supplemental=False)
    wider = insert(12, 2, supplemental=False)
    wider.after[3] = b"x"
    unknown = insert(13, 3, object_id=99, supplemental=False)
    logminer.add(logminer.log(1, 10, 20, [older, wider, unknown, insert(14, 4)]))
    logminer.start()

    assert logminer.select("STATUS", "INFO", "SQL_REDO")[:2] == [
        (3, "no supplemental log data found", """insert into "S"."T"("ID","NAME") values ('1','a')"""),
        (2, "Dictionary Mismatch", "Dictionary Version Mismatch"),
    ]
    assert logminer.select("STATUS", "SEG_OWNER")[2:] == [(2, "UNKNOWN"), (0, "S")]


def test_select_star_returns_every_column(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1)]))
    logminer.start()

    batch = next(iter(package.contents_rows(logminer.session, frozenset())))

    assert batch.schema.names == [column.name for column in package.contents.COLUMNS]


def test_user_and_start_scn_are_unknown_if_the_start_was_not_read(logminer):
    logminer.add(logminer.log(1, 10, 20, [boundary(10, Op.START, 10), insert(11, 1), boundary(12, Op.COMMIT, 10)]))
    logminer.start(11)

    assert logminer.select("USERNAME", "START_SCN") == [("UNKNOWN", None), ("UNKNOWN", None)]


def test_range_is_inclusive_at_both_ends(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(scn, 1) for scn in range(10, 20)]))
    logminer.start(12, 14)

    assert logminer.select("SCN") == [12, 13, 14]


def test_threads_are_merged_by_scn_and_late_rows_keep_their_position(logminer):
    one = logminer.log(1, 10, 40, [insert(scn, 1) for scn in (10, 20, 15, 30)])
    two = logminer.log(7, 10, 40, [insert(scn, 1) for scn in (12, 18, 25)], thread=2)
    logminer.add(one, two)
    logminer.start()

    rows = logminer.select("SCN", "THREAD#")

    assert [scn for scn, thread in rows if thread == 1] == [10, 20, 15, 30]
    assert [scn for scn, _ in rows] == [10, 12, 18, 20, 15, 25, 30]


def test_missing_logs_are_one_row_and_one_entry(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1)]), logminer.log(4, 50, 60, [insert(51, 1)]))
    logminer.start(10, 59)

    rows = logminer.select("OPERATION", "OPERATION_CODE", "STATUS", "INFO")
    logs = {row[10]: (row[1], row[18], row[19]) for row in listing.log_rows(package.mining_of(logminer.session))}

    assert rows[1] == ("MISSING_SCN", 34, 1291, "Missing SCN 20 - 50")
    assert len(rows) == 3
    assert logs[2] == ("Missing log file(s) for thread number 1, sequence number(s) 2 to 3", "MISSING_LOGFILE", 4)


def test_logs_are_listed_with_their_status(logminer):
    logminer.add(logminer.log(1, 10, 20), logminer.log(2, 20, 30), logminer.log(3, 30, 40))
    mining = package.mining_of(logminer.session)
    before = [row[19] for row in listing.log_rows(mining)]
    logminer.start(25)

    assert before == [0, 0, 0]
    assert [row[19] for row in listing.log_rows(mining)] == [2, 1, 0]


def test_the_pieces_of_a_long_statement_join_to_its_text(logminer):
    name = "ü'" * 2500
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1), insert(12, 2, name), insert(13, 3)]))
    logminer.start()

    rows = logminer.select("SCN", "CSF", "SQL_REDO", "RS_ID")

    long = [row for row in rows if row[0] == 12]
    assert [csf for _, csf, _, _ in rows] == [0, 1, 1, 0, 0]
    assert all(len(sql.encode()) <= 4000 for _, _, sql, _ in rows)
    assert "".join(sql for _, _, sql, _ in long) == (
        """insert into "S"."T"("ID","NAME") values ('2','""" + name.replace("'", "''") + "')"
    )
    assert len({rs_id for *_, rs_id in long}) == 1
    assert len(logminer.select("SCN")) == len(rows)


def test_rows_from_before_an_alter_are_generic(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1), insert(12, 2, object_version=2)]))
    logminer.state.tables[PDB, "S", "T"].object_version = 2
    logminer.start()

    assert logminer.select("SQL_REDO", "STATUS", "INFO", "TABLE_NAME") == [
        (
            """insert into "S"."T"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('61'))""",
            2,
            "Dictionary Version Mismatch",
            "T",
        ),
        ("""insert into "S"."T"("ID","NAME") values ('2','a')""", 0, None, "T"),
    ]


def test_an_unsupported_type_makes_the_row_unsupported(logminer):
    logminer.state.tables[PDB, "S", "T"].columns[1].type = (
        logminer.state.tables[PDB, "S", "T"].columns[1].type.__class__("BOOLEAN")
    )
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1)]))
    logminer.start()

    assert logminer.select("OPERATION", "OPERATION_CODE", "SQL_REDO", "STATUS") == [("UNSUPPORTED", 255, "Unsupported", 2)]


def test_ddl_is_shown_as_typed(logminer):
    ddl = boundary(11, Op.DDL)
    ddl.sql, ddl.owner, ddl.object_name = "Alter table t -- why\n add x number", "S", "T"
    logminer.add(logminer.log(1, 10, 20, [ddl]))
    logminer.start(options=16)

    assert logminer.select("SQL_REDO", "SEG_OWNER", "TABLE_NAME", "INFO") == [
        ("Alter table t -- why\n add x number;", "S", "T", "USER DDL (PlSql=0 RecDep=0)")
    ]


def test_in_a_pdb_the_server_chooses_the_logs(logminer):
    name = logminer.log(1, 10, 20, [insert(11, 1), insert(12, 2, con_id=9)])
    incarnation = logminer.state.incarnation
    logminer.state.archived.append(
        ArchivedCopy(1, 1, 1, incarnation.resetlogs_id, 1, incarnation.resetlogs_at, 10, incarnation.resetlogs_at, 20,
                     incarnation.resetlogs_at, 1, name, 8)
    )  # fmt: skip
    online = OnlineLog(1, 1, "/redo01.log", 2, 20, incarnation.resetlogs_at, records=[insert(21, 3)])
    logminer.state.threads[1] = RedoThreadState(1, "FREE", logs=[online])
    logminer.session.container = PDB

    with refused(65040):
        logminer.add(name)
    logminer.start(10)

    assert logminer.select("SCN") == [11, 21]
    os.remove(name)
    with refused(604):
        logminer.start(10)


def test_an_overwritten_online_log_fails_the_fetch(logminer):
    at = logminer.state.incarnation.resetlogs_at
    online = OnlineLog(1, 1, "/redo01.log", 2, 20, at, records=[insert(21, 3)])
    logminer.state.threads[1] = RedoThreadState(1, "FREE", logs=[online])
    logminer.add("/redo01.log")
    logminer.start()
    assert logminer.select("SCN") == [21]

    online.sequence = 5

    with refused(310):
        logminer.select("SCN")


def test_a_file_deleted_after_it_was_added_fails_the_fetch_after_the_rows_before_it(logminer):
    names = logminer.log(1, 10, 20, [insert(11, 1)]), logminer.log(2, 20, 30, [insert(21, 1)])
    logminer.add(*names)
    logminer.start()
    os.remove(names[1])

    batches = package.contents_rows(logminer.session, frozenset({"SCN"}))

    assert next(batches).column("SCN").to_pylist() == [11]
    with pytest.raises(OraError, match=r"ORA-01284.*\nORA-00308.*\nORA-27037"):
        next(batches)


def test_a_truncated_file_is_corrupt(logminer):
    name = logminer.log(1, 10, 20, [insert(11, n % 90) for n in range(900)])
    logminer.add(name)
    logminer.start()
    os.truncate(name, os.path.getsize(name) // 2)

    with refused(353):
        logminer.select("SCN")


def test_a_file_replaced_after_it_was_added_is_refused(logminer):
    name = logminer.log(1, 10, 20, [insert(11, 1)])
    logminer.add(name)
    logminer.start()
    logminer.log(1, 10, 25, [insert(11, 1)])

    with refused(1368):
        logminer.select("SCN")


WRONG_CALLS = {
    "select before start": (1306, lambda w: (w.add(w.log(1, 10, 20)), w.select("SCN"))),
    "start without a log": (1292, lambda w: w.start()),
    "end without a start": (1307, lambda w: package.end_logmnr(w.session)),
    "end twice": (
        1307,
        lambda w: (w.add(w.log(1, 10, 20)), w.start(), package.end_logmnr(w.session), package.end_logmnr(w.session)),
    ),
    "start after the end": (1292, lambda w: (w.add(w.log(1, 10, 20)), w.start(), package.end_logmnr(w.session), w.start())),
    "same file twice": (1289, lambda w: w.add(w.log(1, 10, 20), w.log(1, 10, 20))),
    "two copies of a log": (1289, lambda w: w.add(w.log(1, 10, 20), w.log(1, 10, 20, name="copy.arc"))),
    "missing file": (1284, lambda w: w.add("/nowhere/1.arc")),
    "file of another database": (1324, lambda w: w.add(w.log(1, 10, 20, dbid=5))),
    "file of another incarnation": (1287, lambda w: w.add(w.log(1, 10, 20), w.log(2, 20, 30, resetlogs=8))),
    "remove what is not listed": (1290, lambda w: package.remove_logfile(w.session, "/nowhere/1.arc")),
    "end before start": (1281, lambda w: (w.add(w.log(1, 10, 20)), w.start(15, 12))),
    "start outside all logs": (1291, lambda w: (w.add(w.log(1, 10, 20)), w.start(5))),
    "end beyond all logs": (1291, lambda w: (w.add(w.log(1, 10, 20)), w.start(10, 21))),
    "continuous mining": (44609, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 1024))),
    "tracking with the online catalog": (1298, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 8))),
    "no dictionary in the redo": (1371, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=32))),
    "unknown options": (1283, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=128))),
    "corrupt blocks skipped": (3001, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 4))),
}


@pytest.mark.parametrize(("code", "act"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_a_wrong_call_gets_oracles_error(logminer, code, act):
    with refused(code):
        act(logminer)


def test_a_file_that_is_not_a_log_is_refused(logminer):
    path = logminer.folder / "junk.arc"
    path.write_bytes(b"x" * 2000)

    with refused(1285):
        logminer.add(str(path))


def test_the_list_cannot_change_during_a_fetch(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1)]), logminer.log(2, 20, 30, [insert(21, 1)]))
    logminer.start()
    batches = package.contents_rows(logminer.session, frozenset({"SCN"}))
    next(batches)

    with refused(1315):
        package.add_logfile(logminer.session, logminer.log(3, 30, 40), 3)
    batches.close()
    package.add_logfile(logminer.session, logminer.log(3, 30, 40), 3)


def test_mining_needs_the_logmining_privilege(logminer):
    logminer.state.users["C##M"].privileges.clear()
    logminer.add(logminer.log(1, 10, 20))

    with refused(1031):
        logminer.start()


def test_without_a_dictionary_rows_are_generic_and_23ai_refuses(logminer):
    logminer.add(logminer.log(1, 10, 20, [insert(11, 1)]))
    logminer.start(options=64 + 2048)

    assert logminer.select("SEG_OWNER", "TABLE_NAME", "STATUS") == [("UNKNOWN", "OBJ# 100", 2)]
    logminer.state.release = "23.5.0.24.07"
    with refused(44613):
        logminer.start(options=64 + 2048)


def test_values_follow_the_nls_settings_of_the_mining_session(logminer):
    logminer.session.nls["NLS_NUMERIC_CHARACTERS"] = ",."
    record = insert(11, 1)
    record.after[1] = bytes.fromhex("c202182e")
    logminer.add(logminer.log(1, 10, 20, [record]))
    logminer.start()

    assert logminer.select("SQL_REDO") == ["""insert into "S"."T"("ID","NAME") values ('123,45','a')"""]
