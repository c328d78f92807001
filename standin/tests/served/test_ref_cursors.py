"""Cursors that a PL/SQL block opens and the client fetches, through the unmodified driver."""

from __future__ import annotations

import pytest

from standin.serve import standin

BLOCK = """DECLARE wanted VARCHAR2(10) := NULL; c SYS_REFCURSOR;
BEGIN wanted := :1; OPEN c FOR SELECT id, name FROM opened WHERE name LIKE wanted ORDER BY id; :2 := c; END;"""


@pytest.fixture(scope="module")
def oracle():
    with standin() as running:
        with running.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE opened (id NUMBER(9) PRIMARY KEY, name VARCHAR2(10))")
            cursor.executemany("INSERT INTO opened VALUES (:1, :2)", [(i, f"n{i % 2}") for i in range(300)])
            connection.commit()
        yield running


def test_a_block_opens_a_cursor_and_the_client_fetches_it(oracle):
    with oracle.connect() as connection, connection.cursor() as cursor:
        found = connection.cursor()
        cursor.execute(BLOCK, ["n1", found])

        assert [d[0] for d in found.description] == ["ID", "NAME"]
        assert found.fetchall() == [(i, "n1") for i in range(1, 300, 2)]


def test_the_rows_are_those_of_the_moment_of_open(oracle):
    with oracle.connect() as connection, connection.cursor() as cursor:
        found = connection.cursor()
        cursor.execute(BLOCK, ["n0", found])
        cursor.execute("DELETE FROM opened")

        assert len(found.fetchall()) == 150
        connection.rollback()
