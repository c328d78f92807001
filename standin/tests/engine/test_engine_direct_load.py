"""Direct-path loads: INSERT /*+ APPEND */ .. SELECT of a NOLOGGING table, whose blocks stay packed until a row changes."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from standin.redo_file import Op
from standin.tests.engine.engine_database import error_code, logon, row_changes, run

COLUMNS = "(id NUMBER(10) PRIMARY KEY, name VARCHAR2(20), amount NUMBER(8,2), at DATE)"
ROWS = "SELECT {0} + LEVEL, 'n' || LEVEL, LEVEL / 4, DATE '2026-01-01' FROM dual CONNECT BY LEVEL <= {1}"


@pytest.fixture(autouse=True)
def _unlogged(database, shop):
    run(logon(database, "SYS", service=database.state.name), "ALTER DATABASE NO FORCE LOGGING")
    run(shop, f"CREATE TABLE t {COLUMNS} NOLOGGING")


def load(session, first, rows, table="t"):
    return run(session, f"INSERT /*+ APPEND */ INTO {table} " + ROWS.format(first, rows)).counts


def test_a_load_writes_no_redo_of_its_rows_and_all_of_them_are_there(database, shop, other):
    assert load(shop, 0, 450) == [450]
    assert run(other, "SELECT COUNT(*) FROM t") == [(0,)]
    shop.commit()

    assert run(other, "SELECT COUNT(*), MIN(id), MAX(id), SUM(amount) FROM t") == [(450, 1, 450, Decimal("25368.75"))]
    assert row_changes(database) == []


@pytest.mark.parametrize("setting", ["ALTER DATABASE FORCE LOGGING", "ALTER TABLE shop.t LOGGING"])
def test_a_load_is_logged_where_the_table_or_the_database_asks_for_redo(database, shop, setting):
    session = logon(database, "SYS", service=database.state.name) if "DATABASE" in setting else shop
    run(session, setting)
    load(shop, 0, 3)

    assert len(row_changes(database)) == 3


def test_changes_after_a_load_have_their_redo(database, shop):
    load(shop, 0, 450)
    shop.commit()
    run(shop, "UPDATE t SET amount = 7 WHERE id IN (1, 449)")
    run(shop, "DELETE FROM t WHERE id = 300")

    changes = row_changes(database)
    assert [Op(r.op).name for r in changes] == ["UPDATE", "UPDATE", "DELETE"]
    assert [r.row_id for r in changes[:2]] == [rowid for (rowid,) in run(shop, "SELECT ROWID FROM t WHERE id IN (1, 449)")]


def test_a_rolled_back_load_leaves_nothing(shop, other):
    load(shop, 0, 450)
    shop.rollback()

    assert run(other, "SELECT COUNT(*) FROM t") == [(0,)]
    assert run(other, "SELECT * FROM t WHERE id = 7") == []
    run(other, "INSERT INTO t (id) VALUES (7)")


def test_a_load_with_a_key_in_use_leaves_nothing(shop):
    run(shop, "INSERT INTO t (id) VALUES (200)")
    shop.commit()

    assert error_code(shop, "INSERT /*+ APPEND */ INTO t " + ROWS.format(0, 300)) == 1
    assert run(shop, "SELECT id FROM t") == [(200,)]


def test_a_key_of_a_loaded_row_is_in_use(shop):
    load(shop, 0, 300)
    shop.commit()

    assert error_code(shop, "INSERT INTO t (id) VALUES (250)") == 1
    assert error_code(shop, "INSERT /*+ APPEND */ INTO t " + ROWS.format(299, 1)) == 1
    run(shop, "DELETE FROM t WHERE id = 250")
    run(shop, "INSERT INTO t (id) VALUES (250)")


def test_nobody_else_changes_the_table_before_the_load_ends_and_the_loader_does_not_touch_it_again(shop, other):
    load(shop, 0, 10)

    assert error_code(other, "LOCK TABLE t IN ROW EXCLUSIVE MODE NOWAIT") == 54
    assert error_code(shop, "UPDATE t SET amount = 1 WHERE id = 1") == 12838
    shop.commit()
    assert run(other, "UPDATE t SET amount = 1 WHERE id = 1").counts == [1]


def test_a_query_that_is_open_keeps_its_rows_while_they_change(shop, other):
    load(shop, 0, 450)
    shop.commit()
    opened = shop.execute("SELECT id, amount FROM t", ())
    run(other, "UPDATE t SET amount = -1")
    run(other, "DELETE FROM t WHERE id > 10")
    other.commit()

    rows = [row for batch in opened.batches for row in zip(*batch.to_pydict().values(), strict=True)]
    assert len(rows) == 450
    assert all(Decimal(amount) > 0 for _, amount in rows)


def test_columns_and_indexes_are_added_to_loaded_rows(shop):
    load(shop, 0, 450)
    shop.commit()
    run(shop, "ALTER TABLE t ADD (more VARCHAR2(5) DEFAULT 'x')")
    run(shop, "CREATE INDEX t_name ON t (name)")

    assert run(shop, "SELECT id, more FROM t WHERE name = 'n77'") == [(77, "x")]
    run(shop, "ALTER TABLE t DROP COLUMN name")
    assert run(shop, "SELECT id, amount, more FROM t WHERE id = 77") == [(77, Decimal("19.25"), "x")]


@pytest.mark.parametrize("seed", range(5))
def test_a_loaded_table_behaves_as_one_that_was_inserted_into(database, shop, seed):
    run(shop, f"CREATE TABLE same {COLUMNS}")
    chance, scns = random.Random(seed), []
    for first in (0, 1000):
        load(shop, first, 450)
        shop.commit()
        run(shop, "INSERT INTO same " + ROWS.format(first, 450))
        shop.commit()
    for _ in range(30):
        key, other_key = chance.randint(1, 1500), chance.randint(1, 1500)
        statement = chance.choice(
            [
                f"UPDATE {{0}} SET amount = amount + 1 WHERE id = {key}",
                f"UPDATE {{0}} SET name = 'x' WHERE id BETWEEN {key} AND {key + 30}",
                f"UPDATE {{0}} SET id = {other_key} WHERE id = {key}",
                f"DELETE FROM {{0}} WHERE id = {key}",
                f"INSERT INTO {{0}} VALUES ({key}, 'new', 0, NULL)",
            ]
        )
        codes = {error_code(shop, statement.format(table)) for table in ("t", "same")}
        assert len(codes) == 1
        chance.choice([shop.commit, shop.commit, shop.rollback])()
        scns.append(database.clock.scn)

    for scn in chance.sample(scns, 8):
        read = f"SELECT id, name, amount, at FROM {{0}} AS OF SCN {scn} ORDER BY id"
        assert run(shop, read.format("t")) == run(shop, read.format("same"))
    assert run(shop, "SELECT COUNT(*) FROM t WHERE ROWID IS NOT NULL") == run(shop, "SELECT COUNT(*) FROM same")
