import os

import pytest

from standin.interface import OraError
from standin.logminer import listing, package
from standin.model import ArchivedCopy, OnlineLog, RedoThreadState
from standin.redo_file import Op
from tests.unit.standin.logminer.logminer_world import PDB, World, frame, insert


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def refused(code):
    return pytest.raises(OraError, match=f"ORA-{code:05d}")


def test_what_is_in_the_logs_is_shown_in_redo_order(world):
    records = [frame(10, Op.START, 10), insert(11, 1), frame(12, Op.COMMIT, 10)]
    world.add(world.log(1, 10, 20, records))
    world.start()

    assert world.select("SCN", "OPERATION", "SQL_REDO", "START_SCN", "USERNAME", "SRC_CON_NAME") == [
        (10, "START", "set transaction read write", 10, "SHOP", "FREEPDB1"),
        (11, "INSERT", """insert into "S"."T"("ID","NAME") values ('1','a')""", None, "SHOP", "FREEPDB1"),
        (12, "COMMIT", "commit", 10, "SHOP", "FREEPDB1"),
    ]
    assert world.select("XID")[0].hex() == "0100020003000000"
    assert world.select("RS_ID")[1] == " 0x000001.00000003.0000 "


def test_every_column_is_there_when_all_are_asked_for(world):
    world.add(world.log(1, 10, 20, [insert(11, 1)]))
    world.start()

    batch = next(iter(package.contents_rows(world.session, frozenset())))

    assert batch.schema.names == [column.name for column in package.contents.COLUMNS]


def test_user_and_start_are_unknown_when_the_start_lies_outside(world):
    world.add(world.log(1, 10, 20, [frame(10, Op.START, 10), insert(11, 1), frame(12, Op.COMMIT, 10)]))
    world.start(11)

    assert world.select("USERNAME", "START_SCN") == [("UNKNOWN", None), ("UNKNOWN", None)]


def test_range_is_inclusive_at_both_ends(world):
    world.add(world.log(1, 10, 20, [insert(scn, 1) for scn in range(10, 20)]))
    world.start(12, 14)

    assert world.select("SCN") == [12, 13, 14]


def test_threads_are_merged_by_scn_and_late_rows_keep_their_place(world):
    one = world.log(1, 10, 40, [insert(scn, 1) for scn in (10, 20, 15, 30)])
    two = world.log(7, 10, 40, [insert(scn, 1) for scn in (12, 18, 25)], thread=2)
    world.add(one, two)
    world.start()

    rows = world.select("SCN", "THREAD#")

    assert [scn for scn, thread in rows if thread == 1] == [10, 20, 15, 30]
    assert [scn for scn, _ in rows] == [10, 12, 18, 20, 15, 25, 30]


def test_a_hole_between_logs_is_one_row_and_a_missing_entry(world):
    world.add(world.log(1, 10, 20, [insert(11, 1)]), world.log(4, 50, 60, [insert(51, 1)]))
    world.start(10, 59)

    rows = world.select("OPERATION", "OPERATION_CODE", "STATUS", "INFO")
    logs = {row[10]: (row[1], row[18], row[19]) for row in listing.log_rows(package.mining_of(world.session))}

    assert rows[1] == ("MISSING_SCN", 34, 1291, "Missing SCN 20 - 50")
    assert len(rows) == 3
    assert logs[2] == ("Missing log file(s) for thread number 1, sequence number(s) 2 to 3", "MISSING_LOGFILE", 4)


def test_logs_are_listed_with_what_will_become_of_them(world):
    world.add(world.log(1, 10, 20), world.log(2, 20, 30), world.log(3, 30, 40))
    mining = package.mining_of(world.session)
    before = [row[19] for row in listing.log_rows(mining)]
    world.start(25)

    assert before == [0, 0, 0]
    assert [row[19] for row in listing.log_rows(mining)] == [2, 1, 0]


def test_a_long_statement_is_cut_and_joins_again(world):
    name = "ü'" * 2500
    world.add(world.log(1, 10, 20, [insert(11, 1), insert(12, 2, name), insert(13, 3)]))
    world.start()

    rows = world.select("SCN", "CSF", "SQL_REDO", "RS_ID")

    long = [row for row in rows if row[0] == 12]
    assert [csf for _, csf, _, _ in rows] == [0, 1, 1, 0, 0]
    assert all(len(sql.encode()) <= 4000 for _, _, sql, _ in rows)
    assert "".join(sql for _, _, sql, _ in long) == (
        """insert into "S"."T"("ID","NAME") values ('2','""" + name.replace("'", "''") + "')"
    )
    assert len({rs_id for *_, rs_id in long}) == 1
    assert len(world.select("SCN")) == len(rows)


def test_rows_from_before_an_alter_are_generic(world):
    world.add(world.log(1, 10, 20, [insert(11, 1), insert(12, 2, object_version=2)]))
    world.state.tables[PDB, "S", "T"].object_version = 2
    world.start()

    assert world.select("SQL_REDO", "STATUS", "INFO", "TABLE_NAME") == [
        (
            """insert into "S"."T"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('61'))""",
            2,
            "Dictionary Version Mismatch",
            "T",
        ),
        ("""insert into "S"."T"("ID","NAME") values ('2','a')""", 0, None, "T"),
    ]


def test_a_type_that_logminer_lacks_makes_the_row_unsupported(world):
    world.state.tables[PDB, "S", "T"].columns[1].type = world.state.tables[PDB, "S", "T"].columns[1].type.__class__("BOOLEAN")
    world.add(world.log(1, 10, 20, [insert(11, 1)]))
    world.start()

    assert world.select("OPERATION", "OPERATION_CODE", "SQL_REDO", "STATUS") == [("UNSUPPORTED", 255, "Unsupported", 2)]


def test_ddl_is_told_as_it_was_typed(world):
    ddl = frame(11, Op.DDL)
    ddl.sql, ddl.owner, ddl.object_name = "Alter table t -- why\n add x number", "S", "T"
    world.add(world.log(1, 10, 20, [ddl]))
    world.start(options=16)

    assert world.select("SQL_REDO", "SEG_OWNER", "TABLE_NAME", "INFO") == [
        ("Alter table t -- why\n add x number;", "S", "T", "USER DDL (PlSql=0 RecDep=0)")
    ]


def test_inside_a_pdb_the_server_chooses_the_logs(world):
    name = world.log(1, 10, 20, [insert(11, 1), insert(12, 2, con_id=9)])
    incarnation = world.state.incarnation
    world.state.archived.append(
        ArchivedCopy(1, 1, 1, incarnation.resetlogs_id, 1, incarnation.resetlogs_at, 10, incarnation.resetlogs_at, 20,
                     incarnation.resetlogs_at, 1, name, 8)
    )  # fmt: skip
    online = OnlineLog(1, 1, "/redo01.log", 2, 20, incarnation.resetlogs_at, records=[insert(21, 3)])
    world.state.threads[1] = RedoThreadState(1, "FREE", logs=[online])
    world.session.container = PDB

    with refused(65040):
        world.add(name)
    world.start(10)

    assert world.select("SCN") == [11, 21]
    os.remove(name)
    with refused(604):
        world.start(10)


def test_an_online_log_that_is_overwritten_stops_the_fetch(world):
    at = world.state.incarnation.resetlogs_at
    online = OnlineLog(1, 1, "/redo01.log", 2, 20, at, records=[insert(21, 3)])
    world.state.threads[1] = RedoThreadState(1, "FREE", logs=[online])
    world.add("/redo01.log")
    world.start()
    assert world.select("SCN") == [21]

    online.sequence = 5

    with refused(310):
        world.select("SCN")


def test_a_file_deleted_after_it_was_added_fails_the_fetch_behind_the_rows_before_it(world):
    names = world.log(1, 10, 20, [insert(11, 1)]), world.log(2, 20, 30, [insert(21, 1)])
    world.add(*names)
    world.start()
    os.remove(names[1])

    batches = package.contents_rows(world.session, frozenset({"SCN"}))

    assert next(batches).column("SCN").to_pylist() == [11]
    with pytest.raises(OraError, match=r"ORA-01284.*\nORA-00308.*\nORA-27037"):
        next(batches)


def test_a_file_cut_short_is_corrupt(world):
    name = world.log(1, 10, 20, [insert(11, n % 90) for n in range(900)])
    world.add(name)
    world.start()
    os.truncate(name, os.path.getsize(name) // 2)

    with refused(353):
        world.select("SCN")


def test_a_file_replaced_after_it_was_added_is_refused(world):
    name = world.log(1, 10, 20, [insert(11, 1)])
    world.add(name)
    world.start()
    world.log(1, 10, 25, [insert(11, 1)])

    with refused(1368):
        world.select("SCN")


ORDERS = {
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
    "file that is not there": (1284, lambda w: w.add("/nowhere/1.arc")),
    "file of another database": (1324, lambda w: w.add(w.log(1, 10, 20, dbid=5))),
    "file of another incarnation": (1287, lambda w: w.add(w.log(1, 10, 20), w.log(2, 20, 30, resetlogs=8))),
    "remove what is not listed": (1290, lambda w: package.remove_logfile(w.session, "/nowhere/1.arc")),
    "end before start": (1281, lambda w: (w.add(w.log(1, 10, 20)), w.start(15, 12))),
    "start outside all logs": (1291, lambda w: (w.add(w.log(1, 10, 20)), w.start(5))),
    "end beyond all logs": (1291, lambda w: (w.add(w.log(1, 10, 20)), w.start(10, 21))),
    "continuous mining": (44609, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 1024))),
    "tracking with the online catalog": (1298, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 8))),
    "no dictionary in the redo": (1371, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=32))),
    "options from nowhere": (1283, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=128))),
    "committed data only": (3001, lambda w: (w.add(w.log(1, 10, 20)), w.start(options=16 + 2))),
}


@pytest.mark.parametrize(("code", "act"), ORDERS.values(), ids=ORDERS)
def test_wrong_order_is_answered_as_oracle_does(world, code, act):
    with refused(code):
        act(world)


def test_a_file_that_is_no_log_is_refused(world):
    path = world.folder / "junk.arc"
    path.write_bytes(b"x" * 2000)

    with refused(1285):
        world.add(str(path))


def test_the_list_cannot_change_under_an_open_fetch(world):
    world.add(world.log(1, 10, 20, [insert(11, 1)]), world.log(2, 20, 30, [insert(21, 1)]))
    world.start()
    batches = package.contents_rows(world.session, frozenset({"SCN"}))
    next(batches)

    with refused(1315):
        package.add_logfile(world.session, world.log(3, 30, 40), 3)
    batches.close()
    package.add_logfile(world.session, world.log(3, 30, 40), 3)


def test_mining_needs_its_privilege(world):
    world.state.users["C##M"].privileges.clear()
    world.add(world.log(1, 10, 20))

    with refused(1031):
        world.start()


def test_without_a_dictionary_rows_are_generic_and_23ai_refuses(world):
    world.add(world.log(1, 10, 20, [insert(11, 1)]))
    world.start(options=64 + 2048)

    assert world.select("SEG_OWNER", "TABLE_NAME", "STATUS") == [("UNKNOWN", "OBJ# 100", 2)]
    world.state.release = "23.5.0.24.07"
    with refused(44613):
        world.start(options=64 + 2048)


def test_dates_follow_the_mining_session(world):
    world.session.nls["NLS_NUMERIC_CHARACTERS"] = ",."
    record = insert(11, 1)
    record.after[1] = bytes.fromhex("c202182e")
    world.add(world.log(1, 10, 20, [record]))
    world.start()

    assert world.select("SQL_REDO") == ["""insert into "S"."T"("ID","NAME") values ('123,45','a')"""]
