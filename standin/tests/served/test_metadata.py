"""DBMS_METADATA.GET_DDL shows a table's statement, from which the same table can be created."""

from __future__ import annotations

import oracledb
import pytest

from standin.serve import standin

PARENT = "CREATE TABLE parent (a NUMBER(9), b VARCHAR2(10 CHAR), CONSTRAINT parent_pk PRIMARY KEY (a, b))"
CHILD = """CREATE TABLE child (
    id NUMBER GENERATED ALWAYS AS IDENTITY, pa NUMBER(9) DEFAULT 7 NOT NULL, pb VARCHAR2(40), n NUMBER(*,2),
    at TIMESTAMP(3) WITH TIME ZONE,
    i INTERVAL DAY(2) TO SECOND(6), total NUMBER GENERATED ALWAYS AS (n * 2) VIRTUAL, doc CLOB,
    CONSTRAINT child_pk PRIMARY KEY (id), CONSTRAINT child_n CHECK (n > 0),
    CONSTRAINT child_parent FOREIGN KEY (pa, pb) REFERENCES parent ON DELETE CASCADE)"""


@pytest.fixture(scope="module")
def cursor():
    with standin() as running, running.connect() as connection:
        cursor = connection.cursor()
        for statement in (PARENT, CHILD, "ALTER TABLE child ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"):
            cursor.execute(statement)
        yield cursor


def ddl_of(cursor: oracledb.Cursor, table: str) -> str:
    cursor.execute("SELECT DBMS_METADATA.GET_DDL('TABLE', :1, 'SHOP') FROM dual", [table])
    return cursor.fetchone()[0].read()


def columns(cursor: oracledb.Cursor) -> list:
    cursor.execute(
        """SELECT column_name, data_type, data_length, data_precision, data_scale, nullable, default_length, virtual_column,
        identity_column FROM user_tab_columns WHERE table_name = 'CHILD' ORDER BY column_id"""
    )
    return cursor.fetchall()


def test_the_statement_creates_the_same_table(cursor):
    before, statement = columns(cursor), ddl_of(cursor, "CHILD")
    cursor.execute("DROP TABLE child PURGE")
    cursor.execute(statement)

    assert columns(cursor) == before
    assert ddl_of(cursor, "CHILD") == statement
    assert 'FOREIGN KEY ("PA", "PB")\n\t  REFERENCES "SHOP"."PARENT" ("A", "B") ON DELETE CASCADE ENABLE' in statement
    assert "SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in statement


def test_a_table_that_is_not_there_is_ora_31603(cursor):
    with pytest.raises(oracledb.DatabaseError, match="ORA-31603"):
        ddl_of(cursor, "NOWHERE")


def test_transforms_of_the_session_are_accepted(cursor):
    cursor.execute(
        """BEGIN DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'STORAGE', FALSE);
        DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'DEFAULT'); END;"""
    )


def test_all_all_tables_lists_relational_tables_without_a_type(cursor):
    cursor.execute("SELECT table_name FROM all_all_tables WHERE owner = 'SHOP' AND table_type IS NULL ORDER BY 1")
    assert [name for (name,) in cursor.fetchall()] == ["CHILD", "PARENT"]
