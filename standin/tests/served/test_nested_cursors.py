"""CURSOR(query) in a SELECT list, and a client's open cursor as an argument of PL/SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from standin.serve import standin


@pytest.fixture(scope="module")
def shop() -> Iterator[Any]:
    with standin() as oracle, oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE p (id NUMBER(9) PRIMARY KEY, name VARCHAR2(10))")
        cursor.execute("CREATE TABLE c (id NUMBER(9), p NUMBER(9), v NUMBER)")
        cursor.executemany("INSERT INTO p VALUES (:1, :2)", [(1, "a"), (2, "b"), (3, None)])
        cursor.executemany("INSERT INTO c VALUES (:1, :2, :3)", [(1, 1, 0.5), (2, 1, 1.5), (3, 2, 2)])
        connection.commit()
        yield connection


def nested(connection: Any, sql: str, *binds: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, binds)
        return [tuple([*inner] if isinstance(inner, oracledb.Cursor) else inner for inner in row) for row in cursor]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT name, CURSOR(SELECT id, v FROM c WHERE c.p = p.id ORDER BY id) FROM p ORDER BY p.id",
            [("a", [(1, 0.5), (2, 1.5)]), ("b", [(3, 2)]), (None, [])],
        ),
        ("SELECT CURSOR(SELECT name FROM dual) n, id FROM p ORDER BY id", [([("a",)], 1), ([("b",)], 2), ([(None,)], 3)]),
        ("SELECT CURSOR(SELECT COUNT(*) FROM c GROUP BY c.p ORDER BY 1) FROM dual", [([(1,), (2,)],)]),
        ("SELECT x.*, CURSOR(SELECT id FROM c WHERE id = 1) FROM p x WHERE id = 1", [(1, "a", [(1,)])]),
    ],
    ids=["of the row", "a column alone", "of its own", "beside a star"],
)
def test_each_row_has_a_cursor_of_its_own(shop: Any, sql: str, expected: list[Any]) -> None:
    assert nested(shop, sql) == expected


def test_a_nested_cursor_has_binds(shop: Any) -> None:
    sql = "SELECT :1, CURSOR(SELECT id FROM c WHERE v > :2 AND p = x.id ORDER BY id) FROM p x WHERE id < :3 ORDER BY id"

    assert nested(shop, sql, "t", 1, 3) == [("t", [(2,)]), ("t", [(3,)])]


def test_a_nested_cursor_ends_with_its_query(shop: Any) -> None:
    with shop.cursor() as cursor:
        cursor.execute("SELECT CURSOR(SELECT id FROM c) FROM dual")
        (inner,) = cursor.fetchone()
        cursor.execute("SELECT CURSOR(SELECT id FROM c) FROM dual")
        cursor.fetchone()

        with pytest.raises(oracledb.DatabaseError, match="ORA-01001"):
            inner.fetchall()


def test_a_block_fetches_what_a_client_has_not_fetched(shop: Any) -> None:
    with shop.cursor() as given, shop.cursor() as cursor:
        given.prefetchrows, given.arraysize = 1, 1
        given.execute("SELECT id, p FROM c ORDER BY id")
        found = cursor.var(int)
        cursor.execute("DECLARE i NUMBER; n NUMBER; BEGIN FETCH :c INTO i, n; :o := i * 10 + n; END;", c=given, o=found)

        assert found.getvalue() == 21
        assert given.fetchall() == [(1, 1), (3, 2)]


def test_a_cursor_that_a_block_has_closed_runs_again(shop: Any) -> None:
    with shop.cursor() as given, shop.cursor() as cursor:
        given.prefetchrows = 0
        given.execute("SELECT 1 FROM dual")
        cursor.execute("BEGIN CLOSE :c; END;", c=given)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01002"):
            given.fetchall()
        given.execute("SELECT 1 FROM dual")

        assert given.fetchall() == [(1,)]


def test_a_block_fetches_from_a_cursor_of_its_own(shop: Any) -> None:
    with shop.cursor() as cursor:
        found = cursor.var(int)
        cursor.execute(
            "DECLARE r SYS_REFCURSOR; a NUMBER; b NUMBER; BEGIN OPEN r FOR SELECT id FROM c ORDER BY id; FETCH r INTO a; "
            "FETCH r INTO b; CLOSE r; :o := a * 10 + b; END;",
            o=found,
        )

        assert found.getvalue() == 12
