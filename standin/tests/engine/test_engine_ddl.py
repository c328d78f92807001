"""DDL: what it changes in the dictionary, the segment and the rows."""

from __future__ import annotations

import pytest

from standin import views
from standin.redo_file import Op
from standin.tests.engine.engine_database import all_redo, error_code, run

views.register()

KEY = (3, "SHOP", "T")


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, a VARCHAR2(5), b NUMBER DEFAULT 3)")
    shop.execute("INSERT INTO t (id, a) VALUES (:1, :2)", [(1, "x"), (2, "y")])
    shop.commit()


TYPES = {
    "NUMBER": ("NUMBER", 22, 0, None, None),
    "NUMBER(*)": ("NUMBER", 22, 0, None, 0),
    "NUMBER(5,-2)": ("NUMBER", 22, 0, 5, -2),
    "INTEGER": ("NUMBER", 22, 0, None, 0),
    "FLOAT": ("FLOAT", 22, 0, 126, None),
    "VARCHAR2(10)": ("VARCHAR2", 10, 10, None, None),
    "VARCHAR2(10 CHAR)": ("VARCHAR2", 40, 10, None, None),
    "CHAR": ("CHAR", 1, 1, None, None),
    "NVARCHAR2(7)": ("NVARCHAR2", 14, 7, None, None),
    "DATE": ("DATE", 7, 0, None, None),
    "TIMESTAMP": ("TIMESTAMP", 11, 0, None, 6),
    "TIMESTAMP(9)": ("TIMESTAMP", 11, 0, None, 9),
    "RAW(16)": ("RAW", 16, 0, None, None),
    "BINARY_DOUBLE": ("BINARY_DOUBLE", 8, 0, None, None),
    "CLOB": ("CLOB", 4000, 0, None, None),
}


@pytest.mark.parametrize(("text", "expected"), TYPES.items(), ids=TYPES)
def test_a_declared_type_has_oracles_dictionary_values(database, shop, text, expected):
    run(shop, f"CREATE TABLE t (c {text})")

    type_ = database.state.tables[KEY].columns[0].type
    assert (type_.name, type_.length, type_.chars, type_.precision, type_.scale) == expected


@pytest.mark.usefixtures("t")
def test_truncate_empties_the_segment_and_gives_it_a_new_data_object_id(database, shop):
    before = database.state.tables[KEY].data_object_id
    run(shop, "TRUNCATE TABLE t")
    run(shop, "INSERT INTO t (id) VALUES (1)")

    assert database.state.tables[KEY].data_object_id != before
    assert database.state.tables[KEY].object_id == before
    assert run(shop, "SELECT id, b FROM t") == [(1, 3)]


def test_move_changes_every_rowid_and_writes_only_the_ddl_to_the_redo(database, shop):
    run(shop, "CREATE TABLE heap (a NUMBER)")
    for value in (1, 1, 2):
        run(shop, f"INSERT INTO heap VALUES ({value})")
    shop.commit()
    run(shop, "DELETE FROM heap WHERE ROWID = (SELECT MIN(ROWID) FROM heap)")
    shop.commit()
    before = run(shop, "SELECT ROWID, a FROM heap")
    written = len(all_redo(database))
    run(shop, "ALTER TABLE heap MOVE")
    after = run(shop, "SELECT ROWIDTOCHAR(ROWID), a FROM heap")

    assert [a for _, a in before] == [a for _, a in after] == [1, 2]
    assert len({rowid for rowid, _ in (*before, *after)}) == 4
    assert [r.op for r in all_redo(database)[written:] if r.op not in (Op.START, Op.COMMIT)] == [Op.DDL]


def test_move_leaves_indexes_unusable_unless_it_updates_them(shop):
    run(shop, "CREATE TABLE heap (a NUMBER PRIMARY KEY, b NUMBER)")
    run(shop, "INSERT INTO heap VALUES (1, 1)")
    shop.commit()

    for options in ("ONLINE", "UPDATE INDEXES"):
        run(shop, f"ALTER TABLE heap MOVE {options}")
        assert error_code(shop, "INSERT INTO heap VALUES (1, 1)") == 1
    run(shop, "ALTER TABLE heap MOVE")
    assert run(shop, "SELECT a FROM heap WHERE a = 1") == [(1,)]
    assert error_code(shop, "INSERT INTO heap VALUES (2, 2)") == 1502
    run(shop, "UPDATE heap SET b = 2")
    run(shop, "ALTER TABLE heap MOVE ONLINE")
    assert error_code(shop, "DELETE FROM heap") == 1502, "it keeps no index that is unusable already"
    ((key,),) = run(shop, "SELECT index_name FROM user_indexes WHERE table_name = 'HEAP' AND status = 'UNUSABLE'")
    run(shop, f"ALTER INDEX {key} REBUILD")
    assert error_code(shop, "INSERT INTO heap VALUES (1, 2)") == 1
    run(shop, "DELETE FROM heap")


@pytest.mark.usefixtures("t")
def test_a_recreated_index_has_a_new_object_id(shop):
    ids = []
    for _ in range(2):
        run(shop, "CREATE UNIQUE INDEX by_a ON t (a)")
        ids += run(shop, "SELECT object_id FROM all_objects WHERE object_name = 'BY_A' AND object_type = 'INDEX'")
        run(shop, "DROP INDEX by_a")

    assert len(set(ids)) == 2
    assert run(shop, "SELECT object_id FROM all_objects WHERE object_name = 'BY_A'") == []


@pytest.mark.usefixtures("t")
def test_drop_table_writes_a_rename_to_the_recycle_bin_and_the_drop(database, shop):
    object_id = database.state.tables[KEY].object_id
    run(shop, "drop table T")

    internal, user = (r for r in all_redo(database)[-6:] if r.op == Op.DDL)
    assert internal.info.startswith("INTERNAL DDL")
    assert internal.sql.startswith('ALTER TABLE "SHOP"."T" RENAME TO "BIN$')
    assert user.sql.startswith('drop table T AS "BIN$')
    assert database.state.dropped[object_id].name == "T"
    run(shop, "PURGE TABLE t")
    assert database.state.dropped == {}


@pytest.mark.usefixtures("t")
def test_drop_table_purge_leaves_nothing_in_the_recycle_bin(database, shop):
    run(shop, "DROP TABLE t PURGE")

    assert (database.state.dropped, database.state.tables) == ({}, {})
    assert error_code(shop, "SELECT * FROM t") == 942


@pytest.mark.usefixtures("t")
def test_renaming_a_table_keeps_its_object_id(database, shop):
    before = database.state.tables[KEY]
    run(shop, "ALTER TABLE t RENAME TO t2")
    run(shop, "RENAME t2 TO t3")
    run(shop, "ALTER TABLE t3 RENAME COLUMN a TO z")

    after = database.state.tables[(3, "SHOP", "T3")]
    assert after.object_id == before.object_id
    assert run(shop, "SELECT id, z FROM t3 WHERE id = 2") == [(2, "y")]


@pytest.mark.usefixtures("t")
def test_only_column_changes_raise_the_object_version(database, shop):
    versions = []
    for clause in (
        "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "ADD (c DATE)",
        "MODIFY (a VARCHAR2(50))",
        "DROP (b, c)",
        "ADD CONSTRAINT u UNIQUE (a)",
    ):
        run(shop, f"ALTER TABLE t {clause}")
        versions.append(database.state.tables[KEY].object_version)

    assert versions == [1, 2, 3, 4, 4]


@pytest.mark.usefixtures("t")
def test_rows_and_index_are_correct_after_dropping_a_middle_column(shop):
    run(shop, "ALTER TABLE t DROP COLUMN a")

    assert run(shop, "SELECT * FROM t WHERE id = 2") == [(2, 3)]
    assert error_code(shop, "INSERT INTO t VALUES (2, 4)") == 1


@pytest.mark.usefixtures("t")
def test_a_failed_ddl_has_still_committed_the_open_transaction(shop, other):
    run(shop, "INSERT INTO t (id) VALUES (3)")

    assert error_code(shop, "CREATE TABLE t (x NUMBER)") == 955
    shop.rollback()
    assert run(other, "SELECT COUNT(*) FROM t") == [(3,)]


@pytest.mark.usefixtures("t")
def test_a_quoted_name_keeps_its_case(shop):
    run(shop, 'CREATE TABLE "Mixed Case" ("a b" NUMBER, "SET" NUMBER)')
    run(shop, 'INSERT INTO "Mixed Case" ("a b", "SET") VALUES (1, 2)')
    run(shop, 'UPDATE "Mixed Case" m SET m."a b" = 5 WHERE "SET" = 2')

    assert run(shop, 'SELECT "SET", "a b" FROM "Mixed Case"') == [(2, 5)]
    assert error_code(shop, 'SELECT "A B" FROM "Mixed Case"') == 904
