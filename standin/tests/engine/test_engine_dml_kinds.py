"""MERGE, INSERT ALL and FIRST, subqueries that name columns of the statement around them, and SET of several columns."""

from __future__ import annotations

import pytest

from standin.tests.engine.engine_database import error_code, logon, run


@pytest.fixture
def tables(shop):
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, name VARCHAR2(20), n NUMBER DEFAULT 7)")
    run(shop, "CREATE TABLE s (id NUMBER, name VARCHAR2(20), n NUMBER)")
    for id_, name, n in ((1, "a", 10), (2, "b", 20), (3, "c", 30)):
        run(shop, f"INSERT INTO t VALUES ({id_}, '{name}', {n})")
    for row in ("2, 'B', 200", "4, 'D', 400", "5, NULL, 500"):
        run(shop, f"INSERT INTO s VALUES ({row})")
    shop.commit()
    return shop


def rows(session, table="t"):
    return [
        tuple(int(v) if str(v).isdigit() else v for v in row) for row in run(session, f"SELECT * FROM {table} ORDER BY 1, 2")
    ]


OLD = [(1, "a", 10), (3, "c", 30)]
MERGES = {
    "both branches": (
        "MERGE INTO t USING s ON (t.id = s.id) WHEN MATCHED THEN UPDATE SET t.name = s.name, n = t.n + s.n "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
        [*OLD, (2, "B", 220), (4, "D", 7), (5, None, 7)],
    ),
    "conditions": (
        "MERGE INTO t x USING (SELECT id, name, n FROM s WHERE n < 500) y ON (y.id = x.id) "
        "WHEN MATCHED THEN UPDATE SET name = DEFAULT WHERE y.n > 200 "
        "WHEN NOT MATCHED THEN INSERT VALUES (y.id, LOWER(y.name), y.n) WHERE y.name IS NOT NULL",
        [*OLD, (2, "b", 20), (4, "d", 400)],
    ),
    "rows that are deleted by their new values": (
        "MERGE INTO t USING s ON (t.id = s.id) WHEN MATCHED THEN UPDATE SET name = s.name DELETE WHERE t.name = 'B'",
        OLD,
    ),
    "no matching row": ("MERGE INTO t USING s ON (t.n = s.n) WHEN MATCHED THEN UPDATE SET name = s.name", [*OLD, (2, "b", 20)]),
}


@pytest.mark.parametrize(("statement", "expected"), MERGES.values(), ids=MERGES)
def test_merge_updates_deletes_and_inserts(tables, statement, expected):
    run(tables, statement)

    assert rows(tables) == sorted(expected, key=lambda row: row[0])


MERGE_ERRORS = {
    30926: "MERGE INTO t USING s ON (t.id < s.id) WHEN MATCHED THEN UPDATE SET n = s.n",
    38104: "MERGE INTO t USING s ON (t.id = s.id) WHEN MATCHED THEN UPDATE SET id = s.n",
    918: "MERGE INTO t USING s ON (t.id = s.id) WHEN MATCHED THEN UPDATE SET name = name",
    904: "MERGE INTO t USING s ON (t.id = s.id) WHEN MATCHED THEN UPDATE SET name = s.title",
    1: "MERGE INTO t USING s ON (t.name = s.name) WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.n)",
}


@pytest.mark.parametrize(("code", "statement"), MERGE_ERRORS.items())
def test_a_merge_that_fails_changes_nothing(tables, code, statement):
    assert error_code(tables, statement) == code
    assert rows(tables) == [*OLD[:1], (2, "b", 20), *OLD[1:]]


def test_a_merge_does_not_see_its_own_rows(tables):
    run(tables, "INSERT INTO s VALUES (4, 'again', 1)")
    run(tables, "CREATE TABLE plain (id NUMBER, name VARCHAR2(20))")
    run(
        tables,
        "MERGE INTO plain p USING s ON (p.id = s.id) WHEN MATCHED THEN UPDATE SET name = 'matched' "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name)",
    )

    assert rows(tables, "plain") == [(2, "B"), (4, "D"), (4, "again"), (5, None)]


INTO_BOTH = {
    "each row into both": (
        "INSERT ALL INTO t (id, name) VALUES (id, name) INTO s VALUES (id, 'copy', n * 2) SELECT * FROM s WHERE id > 3",
        [(4, "D", 7), (5, None, 7)],
        [(4, "copy", 800), (5, "copy", 1000)],
    ),
    "by all conditions": (
        "INSERT ALL WHEN id > 3 THEN INTO t INTO s VALUES (id, 'x', 0) WHEN n = 500 THEN INTO s VALUES (50, 'y', 0) "
        "SELECT id, name, n FROM s",
        [(4, "D", 400), (5, None, 500)],
        [(4, "x", 0), (5, "x", 0), (50, "y", 0)],
    ),
    "by the first condition, or none": (
        "INSERT FIRST WHEN id = 4 THEN INTO t WHEN id > 3 THEN INTO s VALUES (9, 'first', 0) ELSE INTO s VALUES (8, 'else', 0) "
        "SELECT id, name, n FROM s",
        [(4, "D", 400)],
        [(8, "else", 0), (9, "first", 0)],
    ),
}


@pytest.mark.parametrize(("statement", "new", "copies"), INTO_BOTH.values(), ids=INTO_BOTH)
def test_a_row_of_a_query_goes_into_several_tables(tables, statement, new, copies):
    before = {table: rows(tables, table) for table in ("t", "s")}

    assert run(tables, statement).counts == [len(new) + len(copies)]
    assert [row for row in rows(tables) if row not in before["t"]] == new
    assert [row for row in rows(tables, "s") if row not in before["s"]] == copies


CORRELATED = {
    "a value": ("UPDATE t x SET n = (SELECT MAX(n) FROM s y WHERE y.id > x.id) WHERE id > 1", [(2, "b", 500), (3, "c", 500)]),
    "an expression over it": (
        "UPDATE t x SET n = (SELECT COUNT(*) * 1000 + x.n FROM s WHERE s.id = x.id)",
        [(1, "a", 10), (2, "b", 1020), (3, "c", 30)],
    ),
    "several columns": (
        "UPDATE t x SET (name, n) = (SELECT name, n FROM s WHERE s.id = x.id), id = id + 10 WHERE id < 3",
        [(3, "c", 30), (11, None, None), (12, "B", 200)],
    ),
    "EXISTS": ("DELETE FROM t x WHERE EXISTS (SELECT 1 FROM s WHERE s.id = x.id)", [(1, "a", 10), (3, "c", 30)]),
    "NOT EXISTS": ("DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.id = t.id)", [(2, "b", 20)]),
    "IN": ("DELETE FROM t x WHERE 'B' IN (SELECT name FROM s WHERE id = x.id)", [(1, "a", 10), (3, "c", 30)]),
    "two levels": (
        "DELETE FROM t x WHERE EXISTS (SELECT 1 FROM s y WHERE EXISTS (SELECT 1 FROM s WHERE s.id = y.id AND s.id = 2 * x.id))",
        [(3, "c", 30)],
    ),
    "a ROWID": (
        "DELETE FROM t x WHERE x.ROWID > (SELECT MIN(y.ROWID) FROM t y WHERE y.ROWID <> x.ROWID)", [(1, "a", 10)],
    ),
    "of the table itself, as it was before the statement": (
        "UPDATE t x SET n = (SELECT SUM(n) FROM t y WHERE y.id <= x.id)", [(1, "a", 10), (2, "b", 30), (3, "c", 60)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), CORRELATED.values(), ids=CORRELATED)
def test_a_subquery_names_columns_of_the_statement(tables, statement, expected):
    run(tables, statement)

    found = rows(tables)
    assert [row for row in found if row in expected] == expected
    assert not statement.startswith("DELETE") or found == expected


def test_a_subquery_of_several_rows_or_an_unknown_name_is_refused(tables):
    assert error_code(tables, "UPDATE t x SET n = (SELECT n FROM s WHERE s.id > x.id)") == 1427
    assert error_code(tables, "UPDATE t x SET (name, n) = (SELECT n FROM s)") == 947
    assert error_code(tables, "DELETE FROM t x WHERE EXISTS (SELECT 1 FROM s WHERE s.id = x.nothing)") == 904


AUTONOMOUS = """
DECLARE
    outer_n NUMBER := 1;
    PROCEDURE note(p_id NUMBER, p_name IN VARCHAR2 := 'by default') IS
        PRAGMA AUTONOMOUS_TRANSACTION;
        doubled NUMBER := p_id * 2;
    BEGIN
        INSERT INTO t VALUES (p_id, p_name, doubled);
        outer_n := outer_n + 1;
        {end};
    END note;
BEGIN
    UPDATE t SET name = 'mine' WHERE id = 1;
    note(50);
    note(p_name => 'named', p_id => 51);
    INSERT INTO t VALUES (99, 'mine', outer_n);
    ROLLBACK;
END;"""


def test_an_autonomous_procedure_commits_while_its_caller_rolls_back(tables, database):
    run(tables, AUTONOMOUS.format(end="COMMIT"))

    assert rows(logon(database))[-2:] == [(50, "by default", 100), (51, "named", 102)]
    assert rows(tables)[:3] == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]


def test_an_autonomous_transaction_that_stays_open_is_rolled_back_and_the_callers_is_not(tables, database):
    assert error_code(tables, AUTONOMOUS.format(end="NULL")) == 6519
    assert rows(tables) == [(1, "mine", 10), (2, "b", 20), (3, "c", 30)]
    assert rows(logon(database))[0] == (1, "a", 10)


def test_an_autonomous_procedure_cannot_change_a_row_that_its_caller_has_changed(tables):
    block = AUTONOMOUS.replace("INSERT INTO t VALUES (p_id, p_name, doubled)", "UPDATE t SET n = 0 WHERE id = 1")

    assert error_code(tables, block.format(end="COMMIT")) == 60


def test_a_procedure_of_a_block_belongs_to_its_transaction_unless_it_is_autonomous(tables, database):
    run(tables, AUTONOMOUS.replace("PRAGMA AUTONOMOUS_TRANSACTION;", "").replace("ROLLBACK", "NULL").format(end="NULL"))

    assert [row[0] for row in rows(tables)] == [1, 2, 3, 50, 51, 99]
    assert rows(tables)[-1] == (99, "mine", 3)
    assert len(rows(logon(database))) == 3


RAWS = {
    "UTL_RAW.COPIES(HEXTORAW('0AFF'), 2)": "0AFF0AFF",
    "UTL_RAW.CONCAT(HEXTORAW('01'), NULL, '02')": "0102",
    "UTL_RAW.SUBSTR(HEXTORAW('01020304'), 2, 2)": "0203",
    "UTL_RAW.SUBSTR(HEXTORAW('01020304'), -1)": "04",
    "UTL_RAW.REVERSE(HEXTORAW('0102'))": "0201",
    "UTL_RAW.CAST_TO_RAW('ab')": "6162",
}


@pytest.mark.parametrize(("call", "expected"), RAWS.items())
def test_utl_raw_makes_bytes(tables, call, expected):
    assert run(tables, f"SELECT RAWTOHEX({call}) FROM dual") == [(expected,)]


def test_utl_raw_makes_numbers_and_lengths(tables):
    calls = (
        "UTL_RAW.LENGTH('010203'), UTL_RAW.CAST_TO_BINARY_FLOAT('C0490FDB'), UTL_RAW.CAST_TO_BINARY_DOUBLE('3FF8000000000000')"
    )

    assert run(tables, f"SELECT {calls} FROM dual") == [(3, pytest.approx(-3.1415927), 1.5)]
    assert error_code(tables, "SELECT UTL_RAW.SUBSTR(HEXTORAW('01'), 2) FROM dual") == 6502
