from __future__ import annotations

import pytest

from tests.unit.standin.engine.engine_world import code_of, fetched, logon, open_database, run


@pytest.fixture
def t(shop):
    run(shop, "CREATE TABLE t (id NUMBER(10) PRIMARY KEY, name VARCHAR2(20))")
    run(shop, "INSERT INTO t VALUES (1, 'a')")
    shop.commit()


@pytest.mark.usefixtures("t")
def test_a_change_is_seen_by_its_own_session_at_once_and_by_others_after_the_commit(shop, other):
    run(shop, "UPDATE t SET name = 'b'")
    run(shop, "INSERT INTO t VALUES (2, 'c')")
    before = run(other, "SELECT * FROM t")
    own = run(shop, "SELECT * FROM t")
    shop.commit()

    assert before == [(1, "a")]
    assert own == run(other, "SELECT * FROM t") == [(1, "b"), (2, "c")]


@pytest.mark.usefixtures("t")
def test_a_query_keeps_the_rows_of_the_moment_it_was_opened(shop, other):
    query = shop.execute("SELECT name FROM t", ())
    run(other, "DELETE FROM t")
    other.commit()

    assert fetched(query) == [("a",)]


@pytest.mark.usefixtures("t")
def test_flashback_shows_the_table_as_it_was_committed_at_that_scn(database, shop):
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
def test_flashback_does_not_show_the_session_its_own_open_changes(database, shop):
    run(shop, "UPDATE t SET name = 'mine'")

    assert run(shop, "SELECT name FROM t AS OF SCN :1", database.clock.scn) == [("a",)]


@pytest.mark.usefixtures("t")
def test_an_scn_of_the_future_is_refused(database, shop):
    assert code_of(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn + 1) == 8181


@pytest.mark.usefixtures("t")
def test_flashback_does_not_go_behind_a_change_of_the_columns(database, shop):
    before = database.clock.scn
    run(shop, "ALTER TABLE t ADD (n NUMBER)")

    assert code_of(shop, "SELECT * FROM t AS OF SCN :1", before) == 1466
    assert run(shop, "SELECT * FROM t AS OF SCN :1", database.clock.scn) == [(1, "a", None)]


def test_flashback_ends_where_undo_is_no_longer_kept():
    database = open_database(undo_scns=100)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)")
    run(shop, "INSERT INTO t VALUES (1, 0)")
    shop.commit()
    early = database.clock.scn
    for n in range(60):
        run(shop, "UPDATE t SET n = :1 WHERE id = 1", n)
        shop.commit()

    assert code_of(shop, "SELECT * FROM t AS OF SCN :1", early) == 1555
    assert run(shop, "SELECT n FROM t AS OF SCN :1", database.clock.scn - 1) == [(58,)]
    assert len(database.tables.stores[(3, "SHOP", "T")].rows[0]) < 60
    database.close()


@pytest.mark.usefixtures("t")
def test_insert_from_a_query_does_not_read_what_it_writes(shop):
    for _ in range(3):
        run(shop, "INSERT INTO t SELECT id + (SELECT COUNT(*) FROM t), name FROM t")

    assert run(shop, "SELECT COUNT(*) FROM t") == [(8,)]
