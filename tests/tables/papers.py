"""Changes of a table with large objects, papers (id, name, body CLOB, scan BLOB) with the rows 1 to 7."""

from __future__ import annotations

from typing import Any

from tests.fixtures.shop import Shop

Statements = list[tuple[str, tuple[Any, ...]]]

BIG, BYTES = "tä" * 9_000, b"\0\xff" * 9_000  # stored outside the row
FIRST_ROWS: Statements = [("INSERT INTO papers VALUES (:1, 'a', :2, :3)", (n, "text", b"\1")) for n in range(1, 8)]

MOVED: tuple[str, tuple[Any, ...]] = ("UPDATE papers SET id = 40, body = :1 WHERE id = 4", (BIG,))

APPEND_TO_OPEN = (
    "DECLARE l CLOB; BEGIN SELECT body INTO l FROM papers WHERE id = 99 FOR UPDATE; DBMS_LOB.WRITEAPPEND(l, 3, 'end'); END;"
)

PARTLY_ROLLED_BACK: Statements = [
    ("INSERT INTO papers VALUES (21, 'kept', 'a', NULL)", ()),
    ("SAVEPOINT one", ()),
    ("INSERT INTO papers VALUES (22, 'undone', 'text in the row', NULL)", ()),
    ("INSERT INTO papers VALUES (23, 'undone', :1, NULL)", (BIG,)),
    ("ROLLBACK TO SAVEPOINT one", ()),
    ("INSERT INTO papers VALUES (22, 'kept', 'b', NULL)", ()),
]


def changes(beside: str = "", *, moves: bool = True) -> Statements:
    """Return the changes; `beside` is one more assignment of the UPDATE that sets an object to NULL. With `moves`, one UPDATE
    sets a key and an object."""
    return [
        ("UPDATE papers SET body = :1 WHERE id = 1", (BIG,)),
        ("UPDATE papers SET body = :1, scan = :2 WHERE id = 2", ("short", BYTES)),
        ("UPDATE papers SET name = 'b' WHERE id = 3", ()),
        *([MOVED] if moves else []),
        ("UPDATE papers SET id = 50 WHERE id = 5", ()),
        (f"UPDATE papers SET body = NULL{beside} WHERE id = 6", ()),
        ("UPDATE papers SET body = :1 WHERE id = 7", (BIG,)),
        ("DELETE FROM papers WHERE id = 7", ()),
        ("INSERT INTO papers VALUES (8, 'n', :1, :2)", (BIG, BYTES)),
        ("INSERT INTO papers VALUES (9, 'n', NULL, NULL)", ()),
        ("INSERT INTO papers VALUES (10, 'n', :1, :2)", ("x", b"y")),
        ("UPDATE papers SET id = 11 WHERE id = 10", ()),
    ]


def in_table(name: str, statements: Statements) -> Statements:
    """Return the same statements for another table."""
    return [(sql.replace("papers", name), binds) for sql, binds in statements]


def change(shop: Shop, statements: Statements, *, end: str = "commit") -> None:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for sql, binds in statements:
            cursor.execute(sql, binds)
        getattr(connection, end)()
