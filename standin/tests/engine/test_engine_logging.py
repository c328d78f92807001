"""Supplemental logging: which columns the redo of a change contains."""

from __future__ import annotations

import pytest

from standin.redo_file import Op
from standin.tests.engine.engine_database import all_redo, logon, open_database, row_changes, run

TABLE = "CREATE TABLE t (id NUMBER PRIMARY KEY, a NUMBER, b VARCHAR2(9), u NUMBER UNIQUE)"
UPDATE = "UPDATE t SET a = 2 WHERE id = 1"
LOGGED = {
    "minimal": ((), UPDATE, {2}),
    "primary key": (("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",), UPDATE, {1, 2}),
    "all": (("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",), UPDATE, {1, 2, 3, 4}),
    "unique, not touched": (("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (UNIQUE) COLUMNS",), UPDATE, {2}),
    "unique, touched": (
        ("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (UNIQUE) COLUMNS",),
        "UPDATE t SET u = 8 WHERE id = 1",
        {4},
    ),
    "a group": (("ALTER TABLE t ADD SUPPLEMENTAL LOG GROUP g (b, u) ALWAYS",), UPDATE, {2, 3, 4}),
    "all, dropped again": (
        (
            "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "ALTER TABLE t DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        ),
        UPDATE,
        {2},
    ),
    "no key at all": (
        ("ALTER TABLE t DROP PRIMARY KEY", "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"),
        UPDATE,
        {1, 2, 3, 4},
    ),
}


@pytest.mark.parametrize(("ddl", "update", "before"), LOGGED.values(), ids=LOGGED)
def test_an_update_logs_the_columns_of_supplemental_logging(database, shop, ddl, update, before):
    run(shop, TABLE)
    for statement in ddl:
        run(shop, statement)
    run(shop, "INSERT INTO t VALUES (1, 1, NULL, 7)")
    run(shop, update)

    record = row_changes(database, Op.UPDATE)[0]
    assert record.before.keys() == before
    assert record.after.keys() == ({4} if "u = 8" in update else {2})


def test_database_wide_supplemental_logging_applies_to_existing_tables():
    database = open_database()
    shop, dba = logon(database), logon(database, "SYS", database.state.name)
    run(shop, TABLE)
    run(dba, "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
    run(shop, "INSERT INTO t VALUES (1, 1, NULL, 7)")
    run(shop, UPDATE)

    assert row_changes(database, Op.UPDATE)[0].before.keys() == {1, 2}
    assert database.state.supplemental == {"MIN", "PK"}
    database.close()


def test_supplemental_logging_of_a_pdb_applies_to_its_tables_only():
    database = open_database()
    shop, dba = logon(database), logon(database, "SYS")
    run(shop, TABLE)
    run(dba, "ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
    run(shop, "INSERT INTO t VALUES (1, 1, NULL, 7)")
    run(shop, UPDATE)
    run(dba, "ALTER PLUGGABLE DATABASE DROP SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
    run(shop, "UPDATE t SET a = 3")

    assert [update.before.keys() for update in row_changes(database, Op.UPDATE)] == [{1, 2}, {2}]
    assert database.state.supplemental == {"MIN"}
    database.close()


def test_insert_and_delete_log_every_column_and_null_as_none(database, shop):
    run(shop, TABLE)
    run(shop, "INSERT INTO t (id) VALUES (1)")
    run(shop, "DELETE FROM t")

    insert, delete = row_changes(database)
    assert insert.after == delete.before == {1: b"\xc1\x02", 2: None, 3: None, 4: None}


def test_setting_a_column_to_its_own_value_is_logged(database, shop):
    run(shop, TABLE)
    run(shop, "INSERT INTO t VALUES (1, 5, 'x', 7)")
    run(shop, "UPDATE t SET a = a")

    record = row_changes(database, Op.UPDATE)[0]
    assert record.before == record.after == {2: b"\xc1\x06"}


def test_dropping_a_column_renumbers_the_segments_columns(database, shop):
    run(shop, TABLE)
    version = database.state.tables[(3, "SHOP", "T")].object_version
    run(shop, "INSERT INTO t VALUES (1, 2, 'x', 3)")
    run(shop, "ALTER TABLE t DROP COLUMN a")
    run(shop, "INSERT INTO t VALUES (2, 'y', 4)")

    table = database.state.tables[(3, "SHOP", "T")]
    assert [(c.name, c.segment_id) for c in table.columns] == [("ID", 1), ("B", 2), ("U", 3)]
    assert table.object_version == version + 1
    assert row_changes(database)[-1].after == {1: b"\xc1\x03", 2: b"y", 3: b"\xc1\x05"}
    assert row_changes(database)[-1].object_version == version + 1
    assert run(shop, "SELECT * FROM t") == [(1, "x", 3), (2, "y", 4)]


def test_the_default_of_an_added_column_is_shown_but_not_logged_for_old_rows(database, shop):
    run(shop, TABLE)
    run(shop, "INSERT INTO t VALUES (1, 2, 'x', 3)")
    run(shop, "ALTER TABLE t ADD (c VARCHAR2(5) DEFAULT 'new' NOT NULL)")
    run(shop, "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    shown = run(shop, "SELECT c FROM t WHERE c = 'new'")
    run(shop, "UPDATE t SET a = 9")
    run(shop, "UPDATE t SET c = 'other'")

    first, second = row_changes(database, Op.UPDATE)
    assert shown == [("new",)]
    assert 5 not in first.before
    assert 5 not in second.before
    assert second.after == {5: b"other"}
    assert run(shop, "SELECT a, c FROM t") == [(9, "other")]


def test_ddl_is_logged_as_typed_in_a_transaction_of_its_own(database, shop):
    run(shop, TABLE)
    run(shop, "INSERT INTO t (id) VALUES (1)")
    run(shop, "alter  table T /* mine */ add (Z number)")

    insert_commit, start, ddl, commit = all_redo(database)[-4:]
    assert insert_commit.op == Op.COMMIT
    assert (start.op, ddl.op, commit.op) == (Op.START, Op.DDL, Op.COMMIT)
    assert (ddl.sql, ddl.owner, ddl.object_name) == ("alter  table T /* mine */ add (Z number)", "SHOP", "T")
    assert ddl.xid == start.xid == commit.xid != insert_commit.xid


def test_redo_contains_no_password(database):
    dba = logon(database, "SYS")
    run(dba, 'CREATE USER u1 IDENTIFIED BY "s3cret" QUOTA UNLIMITED ON users')
    run(dba, "ALTER USER u1 IDENTIFIED BY s3cret2")

    assert not any("s3cret" in r.sql for r in all_redo(database))
    assert database.password_of("U1", "FREEPDB1") == "s3cret2"


def test_a_lob_is_logged_as_an_empty_value_and_an_update_after_it(database, shop):
    run(shop, "CREATE TABLE l (id NUMBER PRIMARY KEY, doc CLOB)")
    run(shop, "INSERT INTO l VALUES (1, 'text')")
    run(shop, "INSERT INTO l VALUES (2, NULL)")

    first, contents, second, nothing = row_changes(database)
    assert first.after[2] == second.after[2] == b""
    assert (contents.op, contents.after) == (Op.UPDATE, {2: b"text"})
    assert (nothing.op, nothing.after) == (Op.UPDATE, {2: None})


def test_each_redo_row_of_a_lob_change_has_its_undo_row(database, shop):
    run(shop, "CREATE TABLE l (id NUMBER PRIMARY KEY, doc CLOB, raw BLOB)")
    run(shop, "INSERT INTO l VALUES (1, 'text', HEXTORAW('ff'))")
    run(shop, "UPDATE l SET id = 2, doc = 'other', raw = NULL")
    shop.rollback()

    done = [r for r in row_changes(database) if not r.rollback]
    undone = [r for r in row_changes(database) if r.rollback]
    inverse = {Op.INSERT: Op.DELETE, Op.UPDATE: Op.UPDATE}
    assert [inverse[Op(r.op)] for r in reversed(done)] == [r.op for r in undone]
    assert [r.after for r in undone] == [{3: b"\xff"}, {2: b"text"}, {1: b"\xc1\x02"}, {3: b""}, {2: b""}, {}]


def test_changes_before_minimal_logging_have_no_supplemental_log_data():
    database = open_database(supplemental=frozenset())
    shop, dba = logon(database), logon(database, "SYS", database.state.name)
    run(shop, TABLE)
    run(shop, "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    run(shop, "INSERT INTO t VALUES (1, 1, NULL, 7)")
    run(shop, UPDATE)
    shop.commit()
    run(dba, "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    run(shop, "UPDATE t SET a = 3 WHERE id = 1")

    found = [(record.supplemental, set(record.before)) for record in row_changes(database, Op.UPDATE)]
    assert found == [(False, {2}), (True, {1, 2, 3, 4})]
    database.close()


def test_undo_rows_can_lack_supplemental_log_data():
    database = open_database(undo_unlogged=True)
    shop = logon(database)
    run(shop, TABLE)
    run(shop, "INSERT INTO t VALUES (1, 1, NULL, 7)")
    shop.rollback()

    assert [(r.rollback, r.supplemental) for r in row_changes(database)] == [(False, True), (True, False)]
    database.close()
