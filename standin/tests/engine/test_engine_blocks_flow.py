"""Blocks of installation scripts: handlers, conditions and loops around DDL."""

from __future__ import annotations

import pytest

from standin.tests.engine.engine_database import error_code, run

ENDED = {
    "drop what may not exist": "BEGIN EXECUTE IMMEDIATE 'DROP TABLE nowhere'; EXCEPTION WHEN OTHERS THEN NULL; END;",
    "only the expected error": """BEGIN EXECUTE IMMEDIATE 'DROP TABLE nowhere';
        EXCEPTION WHEN OTHERS THEN IF SQLCODE != -942 THEN RAISE; END IF; END;""",
    "a named error": """DECLARE n NUMBER; BEGIN SELECT a INTO n FROM t WHERE a = 99;
        EXCEPTION WHEN NO_DATA_FOUND THEN NULL; END;""",
    "an inner block": """BEGIN BEGIN EXECUTE IMMEDIATE 'DROP TABLE x'; EXCEPTION WHEN OTHERS THEN NULL; END;
        INSERT INTO t VALUES (5); END;""",
}


@pytest.fixture
def table(shop):
    run(shop, "CREATE TABLE t (a NUMBER)")
    run(shop, "INSERT INTO t VALUES (1)")
    return shop


@pytest.mark.parametrize("block", ENDED.values(), ids=ENDED)
def test_a_handler_ends_the_error(table, block):
    run(table, block)


def test_an_error_that_no_handler_takes_is_raised(table):
    block = """BEGIN EXECUTE IMMEDIATE 'CREATE TABLE t (a NUMBER)';
        EXCEPTION WHEN OTHERS THEN IF SQLCODE != -942 THEN RAISE; END IF; END;"""

    assert error_code(table, block) == 955
    assert error_code(table, "BEGIN INSERT INTO t VALUES (1/0); EXCEPTION WHEN NO_DATA_FOUND THEN NULL; END;") == 1476


def test_a_block_knows_the_version_of_the_database(table):
    text = "BEGIN IF {} THEN INSERT INTO t VALUES (DBMS_DB_VERSION.VERSION); END IF; END;"
    run(table, text.format("DBMS_DB_VERSION.VERSION >= 12"))
    run(table, text.format("DBMS_DB_VERSION.VERSION < 12"))

    assert [int(a) for (a,) in run(table, "SELECT a FROM t WHERE a > 11")] == [
        int(table.database.state.release.partition(".")[0])
    ]


def test_variables_conditions_and_loops(table):
    run(
        table,
        """DECLARE
            n NUMBER := 2; found NUMBER;
        BEGIN
            FOR i IN 1 .. n LOOP
                INSERT INTO t VALUES (i * 10 + n);
            END LOOP;
            SELECT COUNT(*) INTO found FROM t;
            IF found = 3 THEN n := n + 40; ELSIF found = 4 THEN n := 0; ELSE n := -1; END IF;
            INSERT INTO t VALUES (n);
            FOR r IN (SELECT a FROM t WHERE a > 20) LOOP
                EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ' || r.a;
            END LOOP;
        END;""",
    )

    assert sorted(run(table, "SELECT a FROM t")) == [(1,), (12,)]
