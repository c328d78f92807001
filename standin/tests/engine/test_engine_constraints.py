"""Constraints: which statements are refused, with Oracle's codes."""

from __future__ import annotations

import pytest

from standin.interface import OraError
from standin.tests.engine.engine_database import error_code, run

REFUSED = {
    "primary key": ("INSERT INTO c (id, code) VALUES (1, 'z')", 1),
    "unique": ("INSERT INTO c (id, code) VALUES (2, 'a')", 1),
    "unique by update": ("UPDATE c SET code = 'a' WHERE id = 5", 1),
    "null in a key": ("INSERT INTO c (id, code) VALUES (NULL, 'z')", 1400),
    "null by update": ("UPDATE c SET code = NULL", 1407),
    "empty text is null": ("INSERT INTO c (id, code) VALUES (2, '')", 1400),
    "too many digits": ("UPDATE c SET amount = 100 WHERE id = 1", 1438),
    "rounded up to too many digits": ("UPDATE c SET amount = 99.995 WHERE id = 1", 1438),
    "too long": ("UPDATE c SET code = 'abcdef' WHERE id = 1", 12899),
    "too long in bytes": ("UPDATE c SET code = 'ää€' WHERE id = 1", 12899),
    "too long in characters": ("UPDATE c SET label = 'abcd' WHERE id = 1", 12899),
    "no number": ("UPDATE c SET amount = 'x' WHERE id = 1", 1722),
    "no month": ("UPDATE c SET day = TO_DATE('2026-13-01', 'YYYY-MM-DD') WHERE id = 1", 1843),
    "check constraint": ("UPDATE c SET amount = -1 WHERE id = 1", 2290),
    "no parent": ("INSERT INTO child VALUES (1, 77)", 2291),
    "child rows exist": ("DELETE FROM c WHERE id = 1", 2292),
    "child rows exist, by update": ("UPDATE c SET id = 9 WHERE id = 1", 2292),
    "no such table": ("SELECT * FROM nowhere", 942),
    "no such column": ("SELECT nothing FROM c", 904),
    "no such column in DML": ("UPDATE c SET nothing = 1", 904),
    "too many values": ("INSERT INTO c (id) VALUES (1, 2)", 913),
    "not enough values": ("INSERT INTO c (id, code) VALUES (1)", 947),
    "nothing selected": ("SELECT FROM c", 936),
    "name in use": ("CREATE TABLE c (x NUMBER)", 955),
    "two primary keys": ("ALTER TABLE c ADD PRIMARY KEY (code)", 2260),
    "column exists": ("ALTER TABLE c ADD (code NUMBER)", 1430),
    "existing rows have no value for the new column": ("ALTER TABLE c ADD (must NUMBER NOT NULL)", 1758),
    "duplicates under a unique index": ("CREATE UNIQUE INDEX u ON child (parent)", 1452),
    "values that no longer fit": ("ALTER TABLE c MODIFY (code VARCHAR2(1))", 1441),
    "another type": ("ALTER TABLE c MODIFY (code NUMBER)", 1439),
    "referenced": ("DROP TABLE c", 2449),
    "division by zero": ("SELECT 1/0 FROM dual", 1476),
    "an unimplemented feature": ("CREATE TYPE t AS OPAQUE VARYING (*)", 3001),
    "an unknown type": ("CREATE TABLE x (d ANYDATA)", 902),
}


@pytest.fixture
def tables(shop):
    run(
        shop,
        """CREATE TABLE c (
            id NUMBER(5) PRIMARY KEY, code VARCHAR2(5 BYTE) NOT NULL, label VARCHAR2(3 CHAR),
            amount NUMBER(4,2) CONSTRAINT positive CHECK (amount >= 0), day DATE,
            CONSTRAINT codes UNIQUE (code))""",
    )
    run(shop, "CREATE TABLE child (id NUMBER, parent NUMBER REFERENCES c (id))")
    shop.execute("INSERT INTO c (id, code) VALUES (:1, :2)", [(1, "a"), (5, "bb")])
    shop.execute("INSERT INTO child VALUES (:1, :2)", [(1, 1), (2, 1), (3, None)])
    shop.commit()


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("sql", "code"), REFUSED.values(), ids=REFUSED)
def test_a_refused_statement_has_oracles_code_and_changes_nothing(shop, sql, code):
    before = run(shop, "SELECT * FROM c"), run(shop, "SELECT * FROM child")

    assert error_code(shop, sql) == code
    assert (run(shop, "SELECT * FROM c"), run(shop, "SELECT * FROM child")) == before


@pytest.mark.usefixtures("tables")
def test_the_error_names_the_violated_constraint(shop):
    with pytest.raises(OraError, match=r"ORA-00001: unique constraint \(SHOP\.CODES\) violated"):
        run(shop, "INSERT INTO c (id, code) VALUES (2, 'a')")


@pytest.mark.usefixtures("tables")
def test_unique_keys_are_checked_at_the_end_of_an_update(shop):
    shop.execute("INSERT INTO c (id, code) VALUES (:1, :2)", [(6, "x"), (7, "y")])
    run(shop, "UPDATE c SET id = id + 1 WHERE id >= 5")

    assert run(shop, "SELECT id FROM c ORDER BY id") == [(1,), (6,), (7,), (8,)]


@pytest.mark.usefixtures("tables")
def test_a_parent_can_be_deleted_after_its_children_and_its_key_used_again(shop):
    run(shop, "DELETE FROM child")
    run(shop, "DELETE FROM c")
    run(shop, "INSERT INTO c (id, code, amount) VALUES (1, 'a', 1.234)")

    assert [str(v) for (v,) in run(shop, "SELECT amount FROM c")] == ["1.23"]


@pytest.mark.usefixtures("tables")
def test_a_failed_alter_table_changes_nothing(shop, database):
    assert error_code(shop, "ALTER TABLE c ADD (x NUMBER, code NUMBER)") == 1430

    assert [c.name for c in database.state.tables[(3, "SHOP", "C")].columns] == ["ID", "CODE", "LABEL", "AMOUNT", "DAY"]
    assert len(run(shop, "SELECT * FROM c")[0]) == 5
