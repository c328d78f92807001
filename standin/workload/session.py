"""One session of the workload. Its own random numbers alone decide its transactions.

Each session has its own key range, so that its work does not depend on other sessions. Only STOCK is shared; a transaction
updates at most one of its rows, so that no deadlock can occur.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import oracledb

from standin.workload import values
from standin.workload.keys import KeyPool, UndoLog
from standin.workload.shop import PRICES, SKUS

KEYS_PER_SESSION = 10**9
_STATUSES = ("NEW", "PAID", "SHIPPED", "RETURNED")
_DISCOUNTS = (Decimal(0), Decimal(0), Decimal("0.05"), Decimal("0.1"), Decimal("0.125"))
_DUPLICATE = 1  # ORA-00001
_CHANGED_KEY_OFFSET = 100_000_000  # offset of changed customer keys, above those of new customers

# Each INSERT names its columns, so that somebody may add others meanwhile.
_INSERT_LINE = "INSERT INTO order_lines (order_id, line_no, sku, quantity, price, discount) VALUES (:1, :2, :3, :4, :5, :6)"
_EDGE_COLUMNS: dict[str, Callable[[Random], Any]] = {
    "word": lambda rng: values.text(rng, 400),
    "padded": lambda rng: values.text(rng, 10),
    "long_word": lambda rng: values.long_text(rng, 3900) if rng.random() < 0.05 else values.text(rng, 400),
    "any_number": values.number,
    "amount": lambda rng: values.amount(rng, 14, 4),
    "day": values.date,
    "moment": values.timestamp,
    "bytes": lambda rng: values.raw(rng, 32),
}


@dataclass(slots=True)
class Tally:
    """Counts of one session: `rows` are committed changes by table and operation, `undone` are rolled back changes."""

    commits: int = 0
    rollbacks: int = 0
    partial_rollbacks: int = 0
    failed_statements: int = 0
    undone: int = 0
    rows: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, table: str, operation: str, count: int) -> None:
        by_operation = self.rows.setdefault(table, {"insert": 0, "update": 0, "delete": 0})
        by_operation[operation] += count


class ShopSession:
    def __init__(self, connection: Any, number: int, seed: int) -> None:
        self.connection, self.tally = connection, Tally()
        self._rng = Random(f"{seed}/{number}")
        self._first = number * KEYS_PER_SESSION
        self._undo_log = UndoLog()
        self._customers: KeyPool[int] = KeyPool()
        self._orders: KeyPool[int] = KeyPool()
        self._lines: KeyPool[tuple[int, int]] = KeyPool()
        self._payments: KeyPool[int] = KeyPool()
        self._edges: KeyPool[int] = KeyPool()
        self._pending: list[tuple[str, str, int]] = []
        self._stock_touched = False
        self._next_id = self._load()

    def _load(self) -> int:
        """Load the keys that an earlier run left; return the next free id."""
        bounds = (self._first, self._first + KEYS_PER_SESSION)
        highest = self._first
        for sql, pool in (
            ("SELECT id FROM customers WHERE id >= :1 AND id < :2 ORDER BY id", self._customers),
            ("SELECT id FROM orders WHERE id >= :1 AND id < :2 ORDER BY id", self._orders),
            ("SELECT id FROM payments WHERE id >= :1 AND id < :2 ORDER BY id", self._payments),
            ("SELECT id FROM edge_values WHERE id >= :1 AND id < :2 ORDER BY id", self._edges),
        ):
            for (key,) in self._query(sql, bounds):
                pool.add(int(key))
                taken = int(key) - self._first
                highest = max(highest, self._first + (taken if taken < _CHANGED_KEY_OFFSET else taken - _CHANGED_KEY_OFFSET))
        lines = "SELECT order_id, line_no FROM order_lines WHERE order_id >= :1 AND order_id < :2 ORDER BY order_id, line_no"
        for order_id, line_no in self._query(lines, bounds):
            self._lines.add((int(order_id), int(line_no)))
        return highest + 1

    def _query(self, sql: str, binds: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            found: list[tuple[Any, ...]] = cursor.execute(sql, binds).fetchall()
            return found

    def transaction(self) -> None:
        """Run one transaction: a few actions, sometimes a rollback to a savepoint, then usually a commit."""
        rng = self._rng
        self._pending.clear()
        self._stock_touched = False
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            if rng.random() < 0.08:
                self._roll_back_part()
            else:
                self._act()
        if rng.random() < 0.1:
            self.connection.rollback()
            self._undo_log.undo_to(0)
            self.tally.rollbacks += 1
            self.tally.undone += sum(count for *_, count in self._pending)
        else:
            self.connection.commit()
            self.tally.commits += 1
            for change in self._pending:
                self.tally.add(*change)
        self._undo_log.clear()

    def _roll_back_part(self) -> None:
        self._execute("SAVEPOINT before_undo")
        mark, pending = self._undo_log.mark, len(self._pending)
        for _ in range(self._rng.randint(1, 4)):
            self._act()
        self._execute("ROLLBACK TO SAVEPOINT before_undo")
        self._undo_log.undo_to(mark)
        self.tally.partial_rollbacks += 1
        self.tally.undone += sum(count for *_, count in self._pending[pending:])
        del self._pending[pending:]

    def _act(self) -> None:
        actions: list[tuple[Callable[[], None], int]] = [
            (self._new_customer, 3),
            (self._new_edge, 3),
            (self._change_stock, 0 if self._stock_touched else 2),
        ]
        if len(self._customers):
            actions += [
                (self._change_customer, 4),
                (self._new_order, 4),
                (self._change_customer_key, 1),
                (self._delete_customer, 1),
                (self._insert_duplicate, 1),
            ]
        if len(self._orders):
            actions += [(self._new_payment, 3), (self._change_status, 4), (self._delete_order, 1)]
        if len(self._edges):
            actions += [(self._change_edge, 5), (self._change_edge_key, 1), (self._delete_edge, 1)]
        if len(self._lines):
            actions += [(self._change_line, 2), (self._change_line_key, 1)]
        action = self._rng.choices([a for a, _ in actions], [weight for _, weight in actions])[0]
        action()

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _new_customer(self) -> None:
        rng, key = self._rng, self._new_id()
        since, country, credit = values.earlier(rng, 300), rng.choice(("DE", "CH", "FR", "IT")), rng.randint(0, 40) * 250
        email = f"c{key}@example.com"
        row = (key, values.name(rng), email, country, credit, values.note(rng), since.replace(microsecond=0), since)
        columns = "id, name, email, country, credit, notes, since, updated_at"
        self._execute(f"INSERT INTO customers ({columns}) VALUES (:1, :2, :3, :4, :5, :6, :7, :8)", row, timestamps=(7,))
        self._undo_log.added(self._customers, key)
        self._count("CUSTOMERS", "insert", 1)

    def _change_customer(self) -> None:
        rng, key = self._rng, self._customers.draw(self._rng)
        column, value = rng.choice(
            (
                ("name", values.name(rng)),
                ("credit", rng.randint(0, 40) * 250),
                ("notes", values.note(rng)),
                ("since", values.earlier(rng, 300).replace(microsecond=0)),
                ("country", rng.choice(("AT", "IT", None))),
            )
        )
        sql = f"UPDATE customers SET {column} = :1, updated_at = :2 WHERE id = :3"
        self._count("CUSTOMERS", "update", self._execute(sql, (value, values.earlier(rng, 2), key), timestamps=(1,)))

    def _change_customer_key(self) -> None:
        """Change a primary key."""
        old, new = self._customers.draw(self._rng), self._new_id() + _CHANGED_KEY_OFFSET
        self._count("CUSTOMERS", "update", self._execute("UPDATE customers SET id = :1 WHERE id = :2", (new, old)))
        self._undo_log.removed(self._customers, old)
        self._undo_log.added(self._customers, new)

    def _delete_customer(self) -> None:
        key = self._customers.draw(self._rng)
        self._count("CUSTOMERS", "delete", self._execute("DELETE FROM customers WHERE id = :1", (key,)))
        self._undo_log.removed(self._customers, key)

    def _insert_duplicate(self) -> None:
        """Insert a duplicate key: the failed statement leaves its redo and the redo of its undo."""
        try:
            self._execute("INSERT INTO customers (id, name) VALUES (:1, :2)", (self._customers.draw(self._rng), "twice"))
        except oracledb.DatabaseError as error:
            if error.args[0].code != _DUPLICATE:
                raise
            self.tally.failed_statements += 1
        else:
            raise AssertionError("the database accepted a second customer with the same id")

    def _new_order(self) -> None:
        rng, key = self._rng, self._new_id()
        lines = [
            (key, n, sku := rng.choice(SKUS), rng.randint(1, 5), PRICES[sku], rng.choice(_DISCOUNTS))
            for n in range(1, rng.randint(2, 6))
        ]
        total = sum((quantity * price * (1 - discount) for *_, quantity, price, discount in lines), Decimal(0))
        placed = values.earlier(rng, 60)
        due = placed.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=14)
        row = (key, self._customers.draw(rng), "NEW", placed, due, total.quantize(Decimal("0.01")), values.note(rng))
        self._execute(
            "INSERT INTO orders (id, customer_id, status, placed_at, due, total, remark) VALUES (:1, :2, :3, :4, :5, :6, :7)",
            row,
            timestamps=(3,),
        )
        self._undo_log.added(self._orders, key)
        self._count("ORDERS", "insert", 1)
        with self.connection.cursor() as cursor:
            cursor.executemany(_INSERT_LINE, lines)
        for line in lines:
            self._undo_log.added(self._lines, (line[0], line[1]))
        self._count("ORDER_LINES", "insert", len(lines))

    def _change_status(self) -> None:
        key, status = self._orders.draw(self._rng), self._rng.choice(_STATUSES)
        self._count("ORDERS", "update", self._execute("UPDATE orders SET status = :1 WHERE id = :2", (status, key)))

    def _delete_order(self) -> None:
        key = self._orders.draw(self._rng)
        self._count("ORDER_LINES", "delete", self._execute("DELETE FROM order_lines WHERE order_id = :1", (key,)))
        self._count("ORDERS", "delete", self._execute("DELETE FROM orders WHERE id = :1", (key,)))
        self._undo_log.removed(self._orders, key)
        for line_no in range(1, 200):
            if (key, line_no) in self._lines:
                self._undo_log.removed(self._lines, (key, line_no))

    def _new_payment(self) -> None:
        rng, key = self._rng, self._new_id()
        method, paid = rng.choice(("card", "invoice", "transfer")), values.earlier(rng, 30).replace(microsecond=0)
        row = (key, self._orders.draw(rng), rng.randint(1, 9) * PRICES[rng.choice(SKUS)], method, paid, rng.randbytes(16))
        self._execute(
            "INSERT INTO payments (id, order_id, amount, method, paid_at, token) VALUES (:1, :2, :3, :4, :5, :6)", row
        )
        self._undo_log.added(self._payments, key)
        self._count("PAYMENTS", "insert", 1)

    def _change_line(self) -> None:
        rng, key = self._rng, self._lines.draw(self._rng)
        sql = "UPDATE order_lines SET quantity = :1, discount = :2 WHERE order_id = :3 AND line_no = :4"
        self._count("ORDER_LINES", "update", self._execute(sql, (rng.randint(1, 5), rng.choice(_DISCOUNTS), *key)))

    def _change_line_key(self) -> None:
        """Change one column of a composite key."""
        order_id, line_no = self._lines.draw(self._rng)
        new = line_no + 100 if line_no < 100 else line_no - 100
        if (order_id, new) in self._lines:
            return
        sql = "UPDATE order_lines SET line_no = :1 WHERE order_id = :2 AND line_no = :3"
        self._count("ORDER_LINES", "update", self._execute(sql, (new, order_id, line_no)))
        self._undo_log.removed(self._lines, (order_id, line_no))
        self._undo_log.added(self._lines, (order_id, new))

    def _change_stock(self) -> None:
        rng = self._rng
        self._stock_touched = True
        row = (values.earlier(rng, 2), rng.choice(("full", "low", None)), rng.choice(SKUS), rng.choice((1, 2)))
        sql = "UPDATE stock SET on_hand = MOD(on_hand + 99, 100), counted_at = :1, label = :2 WHERE sku = :3 AND warehouse = :4"
        self._count("STOCK", "update", self._execute(sql, row, timestamps=(0,)))

    def _new_edge(self) -> None:
        key = self._new_id()
        row = (key, *(self._edge_value(column) for column in _EDGE_COLUMNS))
        self._execute(
            f"INSERT INTO edge_values (id, {', '.join(_EDGE_COLUMNS)}) VALUES (:1, :2, :3, :4, :5, :6, :7, :8, :9)",
            row,
            timestamps=(7,),
        )
        self._undo_log.added(self._edges, key)
        self._count("EDGE_VALUES", "insert", 1)

    def _change_edge(self) -> None:
        key, column = self._edges.draw(self._rng), self._rng.choice(tuple(_EDGE_COLUMNS))
        sql = f"UPDATE edge_values SET {column} = :1 WHERE id = :2"
        binds, timestamps = (self._edge_value(column), key), (0,) if column == "moment" else ()
        self._count("EDGE_VALUES", "update", self._execute(sql, binds, timestamps=timestamps))

    def _change_edge_key(self) -> None:
        old, new = self._edges.draw(self._rng), self._new_id()
        self._count("EDGE_VALUES", "update", self._execute("UPDATE edge_values SET id = :1 WHERE id = :2", (new, old)))
        self._undo_log.removed(self._edges, old)
        self._undo_log.added(self._edges, new)

    def _delete_edge(self) -> None:
        key = self._edges.draw(self._rng)
        self._count("EDGE_VALUES", "delete", self._execute("DELETE FROM edge_values WHERE id = :1", (key,)))
        self._undo_log.removed(self._edges, key)

    def _edge_value(self, column: str) -> Any:
        return _EDGE_COLUMNS[column](self._rng)

    def _count(self, table: str, operation: str, count: int) -> None:
        self._pending.append((table, operation, count))

    def _execute(self, sql: str, binds: tuple[Any, ...] = (), *, timestamps: tuple[int, ...] = ()) -> int:
        """Execute a statement and return its row count.

        `timestamps` are the binds to send as TIMESTAMP: the driver would send DATE and drop their fraction.
        """
        with self.connection.cursor() as cursor:
            if timestamps:
                sizes = [oracledb.DB_TYPE_TIMESTAMP if n in timestamps else None for n in range(len(binds))]
                cursor.setinputsizes(*sizes)
            cursor.execute(sql, binds)
            return int(cursor.rowcount)
