"""A generated life of a table with large objects: papers (id, name, body CLOB, scan BLOB), as tests/tables/papers.py has it.

It leaves out what holds a table: a key and an object in one UPDATE, and an UPDATE of objects that a savepoint takes back.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fixtures.shop import Shop

WORDS = ["short", "'quoted' for update; ", "ä€😀", "begin select"]


def run(connection: Any, sql: str, binds: tuple[Any, ...] = ()) -> None:
    """Run a statement on a cursor of its own: a cursor keeps the types of its binds, and NULL is text."""
    with connection.cursor() as cursor:
        cursor.execute(sql, binds)


@dataclass(slots=True)
class LobLife:
    """`rows` maps each id to whether its body is not NULL; a call of DBMS_LOB needs that. With `undoes_alone`, what a savepoint
    takes back is a transaction of its own."""

    shop: Shop
    seed: int
    undoes_alone: bool = False
    rows: dict[int, bool] = field(default_factory=dict)
    last_id: int = 100
    calls: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def play(self, transactions: int) -> None:
        with self.shop.oracle.connect("SHOP") as connection:
            for _ in range(transactions):
                before = dict(self.rows)
                for _ in range(self.random.randint(1, 4)):
                    step = self.random.choice(self.steps())
                    undoes = self.undoes_alone and step in (self.insert_and_undo, self.rename_and_undo)
                    if undoes:
                        connection.commit()
                        before = dict(self.rows)
                    step(connection)
                    if undoes:
                        connection.commit()
                        before = dict(self.rows)
                if self.random.random() < 0.2:
                    connection.rollback()
                    self.rows = before
                else:
                    connection.commit()

    def steps(self) -> list[Callable[[Any], None]]:
        always = [self.insert, self.insert_and_undo]
        changed = (
            [self.rename, self.rename_and_undo, self.replace, self.replace_and_rename, self.renumber, self.delete]
            if self.rows
            else []
        )
        return [*always, *changed, *([self.call] * 3 if any(self.rows.values()) else [])]

    def insert(self, connection: Any) -> None:
        self.last_id += 1
        body = self.text()
        run(connection, "INSERT INTO papers VALUES (:1, 'new', :2, :3)", (self.last_id, body, self.octets()))
        self.rows[self.last_id] = body is not None

    def insert_and_undo(self, connection: Any) -> None:
        run(connection, "SAVEPOINT here")
        for _ in range(2):
            self.insert(connection)
            del self.rows[self.last_id]
        run(connection, "ROLLBACK TO SAVEPOINT here")

    def rename_and_undo(self, connection: Any) -> None:
        run(connection, "SAVEPOINT here")
        self.rename(connection)
        run(connection, "ROLLBACK TO SAVEPOINT here")

    def rename(self, connection: Any) -> None:
        run(connection, "UPDATE papers SET name = :1 WHERE id = :2", (str(self.random.randint(1, 99)), self.some()))

    def replace(self, connection: Any) -> None:
        row, body = self.some(), self.text()
        if self.random.random() < 0.3:
            run(connection, "UPDATE papers SET scan = :1 WHERE id = :2", (self.octets(), row))
            return
        run(connection, "UPDATE papers SET body = :1 WHERE id = :2", (body, row))
        self.rows[row] = body is not None

    def replace_and_rename(self, connection: Any) -> None:
        row, body = self.some(), self.text()
        run(connection, "UPDATE papers SET name = 'both', body = :1, scan = :2 WHERE id = :3", (body, self.octets(), row))
        self.rows[row] = body is not None

    def renumber(self, connection: Any) -> None:
        row = self.some()
        self.last_id += 1
        run(connection, "UPDATE papers SET id = :1 WHERE id = :2", (self.last_id, row))
        self.rows[self.last_id] = self.rows.pop(row)

    def delete(self, connection: Any) -> None:
        row = self.some()
        run(connection, "DELETE FROM papers WHERE id = :1", (row,))
        del self.rows[row]

    def call(self, connection: Any) -> None:
        row, at = self.random.choice([row for row, has_body in self.rows.items() if has_body]), self.random.randint(1, 40)
        with connection.cursor() as cursor:
            cursor.execute("SELECT body FROM papers WHERE id = :1", (row,))
            ((body,),) = cursor.fetchall()
            length = len(body.read())
        done = self.random.choice(
            ["WRITE(loc, 4, {at}, 'abcd')", "WRITEAPPEND(loc, 3, 'xyz')", "TRIM(loc, {shorter})", "ERASE(loc, 2, 1)"]
        ).format(at=at, shorter=min(at, length))
        select = f"SELECT body INTO loc FROM papers WHERE id = {row} FOR UPDATE"
        run(connection, f"DECLARE loc CLOB; BEGIN {select}; DBMS_LOB.{done}; END;")
        self.calls += 1

    def some(self) -> int:
        return self.random.choice(list(self.rows))

    def text(self) -> str | None:
        return self.random.choice([None, self.random.choice(WORDS), self.random.choice(WORDS) * 900])

    def octets(self) -> bytes | None:
        return self.random.choice([None, b"\1\2", bytes(range(256)) * 40])
