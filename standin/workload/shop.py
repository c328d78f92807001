"""The tables of the shop, created in the schema of the connected user."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

PRICE_LIST = (
    "4.90 6.50 7.95 9.90 12.00 14.50 17.80 19.90 24.00 29.90 34.50 39.00 49.90 59.00 74.90 89.00 129.00 199.00 349.00 890.00"
)

TABLES: dict[str, str] = {
    "CUSTOMERS": """CREATE TABLE customers (
        id NUMBER(12) CONSTRAINT customers_pk PRIMARY KEY,
        name VARCHAR2(100) NOT NULL,
        email VARCHAR2(200) CONSTRAINT customers_email_uk UNIQUE,
        country CHAR(2),
        credit NUMBER(12,2),
        notes VARCHAR2(4000),
        since DATE,
        updated_at TIMESTAMP(6))""",
    "ORDERS": """CREATE TABLE orders (
        id NUMBER(12) CONSTRAINT orders_pk PRIMARY KEY,
        customer_id NUMBER(12) NOT NULL,
        status CHAR(10),
        placed_at TIMESTAMP(6),
        due DATE,
        total NUMBER(12,2),
        remark VARCHAR2(400))""",
    "ORDER_LINES": """CREATE TABLE order_lines (
        order_id NUMBER(12),
        line_no NUMBER(4),
        sku VARCHAR2(40),
        quantity NUMBER(10),
        price NUMBER(10,2),
        discount NUMBER(5,4),
        CONSTRAINT order_lines_pk PRIMARY KEY (order_id, line_no))""",
    "PAYMENTS": """CREATE TABLE payments (
        id NUMBER(12) CONSTRAINT payments_pk PRIMARY KEY,
        order_id NUMBER(12),
        amount NUMBER(14,4),
        method VARCHAR2(20),
        paid_at DATE,
        token RAW(32))""",
    "STOCK": """CREATE TABLE stock (
        sku VARCHAR2(40),
        warehouse NUMBER(4),
        on_hand NUMBER,
        weight NUMBER(9,3),
        counted_at TIMESTAMP(6),
        label CHAR(8),
        CONSTRAINT stock_pk PRIMARY KEY (sku, warehouse))""",
    # What breaks naive parsers of redo SQL and readers of extreme values; the other tables read as a shop's.
    "EDGE_VALUES": """CREATE TABLE edge_values (
        id NUMBER(12) CONSTRAINT edge_values_pk PRIMARY KEY,
        word VARCHAR2(400),
        padded CHAR(10),
        long_word VARCHAR2(4000),
        any_number NUMBER,
        amount NUMBER(14,4),
        day DATE,
        moment TIMESTAMP(6),
        bytes RAW(32))""",
}
PRICES = dict(zip((f"SKU-{n:03d}" for n in range(20)), map(Decimal, PRICE_LIST.split()), strict=True))
SKUS = tuple(PRICES)


def create_shop(connection: Any, logging: str = "ALL") -> list[str]:
    """Create missing tables with supplemental logging of ALL or PRIMARY KEY columns; return the names of the new ones."""
    with connection.cursor() as cursor:
        existing = {name for (name,) in cursor.execute("SELECT table_name FROM user_tables")}
        created = [name for name in TABLES if name not in existing]
        for name in created:
            cursor.execute(TABLES[name])
            cursor.execute(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA ({logging}) COLUMNS")
        if "STOCK" in created:
            rows = [(sku, warehouse, 100, 250 + 75 * n) for n, sku in enumerate(SKUS) for warehouse in (1, 2)]
            cursor.executemany("INSERT INTO stock (sku, warehouse, on_hand, weight) VALUES (:1, :2, :3, :4 / 1000)", rows)
    connection.commit()
    return created
