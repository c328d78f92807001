"""Consistent reads: what a session sees of others, and flashback queries."""

from __future__ import annotations

import pytest

from standin.tests.engine.engine_database import error_code, fetched, logon, open_database, run


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, name VARCHAR2(20))")
    run(shop, "INSERT INTO t VALUES (1, 'a')")
    shop.commit()


@pytest.mark.usefixtures("t")
def test_other_sessions_see_a_change_only_after_its_commit(shop, other):
    run(shop, "UPDATE t SET name = 'b'")
    run(shop, "INSERT INTO t VALUES (2, 'c')")
    before = run(other, "SELECT * FROM t")
    own = run(shop, "SELECT * FROM t")
    shop.commit()

    assert before == [(1, "a")]
    assert own == run(other, "SELECT * FROM t") == [(1, "b"), (2, "c")]


@pytest.mark.usefixtures("t")
def test_a_query_returns_the_rows_of_its_opening(shop, other):
    query = shop.execute("SELECT name FROM t", ())
    run(other, "DELETE FROM t")
    other.commit()

    assert fetched(query) == [("a",)]


@pytest.mark.usefixtures("t")
def test_a_flashback_query_returns_the_rows_committed_at_its_scn(database, shop):
    seen = {}
    for name in ("b", None, "c"):
        run(shop, "UPDATE t SET name = :1 WHERE id = 1", name)
        seen[database.clock.scn] = run(shop, "SELECT name FROM t AS OF SCN :1 WHERE id = 1", database.clock.scn)
        shop.commit()
        seen[database.clock.scn] = [(name,)]
    run(shop, "DELETE FROM t")
    shop.commit()

    for scn, rows in seen.items():
        assert run(shop, "SELECT name FROM t AS OF SCN :1 WHERE id = 1", scn) == rows
    assert run(shop, f"SELECT * FROM t AS OF SCN {database.clock.scn}") == []


@pytest.mark.usefixtures("t")
def test_a_flashback_query_omits_the_sessions_uncommitted_changes(database, shop):
    run(shop, "UPDATE t SET name = 'mine'")

    assert run(shop, "SELECT name FROM t AS OF SCN :1", database.clock.scn) == [("a",)]


@pytest.mark.usefixtures("t")
def test_a_future_scn_is_refused(database, shop):
    assert error_code(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn + 1) == 8181


@pytest.mark.usefixtures("t")
def test_a_flashback_query_cannot_cross_a_column_change(database, shop):
    before = database.clock.scn
    run(shop, "ALTER TABLE t ADD (n NUMBER)")

    assert error_code(shop, "SELECT * FROM t AS OF SCN :1", before) == 1466
    assert run(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn) == [(1, "a", None)]


@pytest.mark.parametrize("by_seconds", [True, False])
def test_a_flashback_query_is_refused_within_seconds_of_any_ddl(by_seconds):
    database = open_database(ddl_age=0, flashback_by_seconds=by_seconds)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(shop, "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")

    assert error_code(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn) == (1466 if by_seconds else 0)
    database.clock.skip(4)
    ((at,),) = run(shop, "SELECT CAST(SCN_TO_TIMESTAMP(:1) AS DATE) FROM dual", database.clock.scn)
    assert at > database.state.tables[3, "SHOP", "T"].last_ddl
    assert error_code(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn) == 0
    database.close()


def test_a_flashback_query_older_than_the_kept_undo_fails():
    database = open_database(undo_scns=100)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)")
    run(shop, "INSERT INTO t VALUES (1, 0)")
    shop.commit()
    early = database.clock.scn
    for n in range(60):
        run(shop, "UPDATE t SET n = :1 WHERE id = 1", n)
        shop.commit()

    assert error_code(shop, "SELECT * FROM t AS OF SCN :1", early) == 1555
    assert run(shop, "SELECT n FROM t AS OF SCN :1", database.clock.scn - 1) == [(58,)]
    assert len(database.tables.stores[(3, "SHOP", "T")].rows[0]) < 60
    database.close()


def test_a_flashback_query_of_an_older_time_than_the_undo_fails():
    database = open_database(undo_seconds=60)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(shop, "INSERT INTO t VALUES (1)")
    shop.commit()
    database.clock.skip(5)
    early = database.clock.scn

    assert run(shop, "SELECT id FROM t AS OF SCN :1", early) == [(1,)]
    database.clock.skip(61)
    assert error_code(shop, "SELECT id FROM t AS OF SCN :1", early) == 1555
    database.close()


def test_a_partition_is_read_by_its_name():
    database = open_database()
    shop = logon(database)
    run(
        shop,
        "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER) PARTITION BY RANGE (n) "
        "(PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN (MAXVALUE))",
    )
    for n in (1, 5, 20):
        run(shop, "INSERT INTO t VALUES (:1, :2)", n, n)
    shop.commit()

    assert run(shop, "SELECT id FROM t PARTITION (LOW) AS OF SCN :1", database.clock.scn) == [(1,), (5,)]
    assert run(shop, "SELECT id FROM t PARTITION (high)") == [(20,)]
    assert error_code(shop, "SELECT id FROM t PARTITION (other)") == 2149
    database.close()


@pytest.mark.usefixtures("t")
def test_insert_from_a_query_does_not_read_its_own_rows(shop):
    for _ in range(3):
        run(shop, "INSERT INTO t SELECT id + (SELECT COUNT(*) FROM t), name FROM t")

    assert run(shop, "SELECT COUNT(*) FROM t") == [(8,)]
