"""The table that the benchmarks change, and literals of its columns as redo SQL has them. It imports only what the oldest
commit that can be compared has too.
"""

from __future__ import annotations

import random

from redolake.values.table import OracleType

NUMBER, MONEY, TEXT = OracleType("NUMBER", 22, 12, 0), OracleType("NUMBER", 22, 12, 2), OracleType("VARCHAR2", 400)
DATE, TIMESTAMP, RAW = OracleType("DATE", 7), OracleType("TIMESTAMP", 11, None, 6), OracleType("RAW", 16)
COLUMNS = {
    "ID": NUMBER, "CUSTOMER_ID": NUMBER, "STATUS": TEXT, "NAME": TEXT, "EMAIL": TEXT, "DESCRIPTION": TEXT, "AMOUNT": MONEY,
    "TAX": MONEY, "QTY": NUMBER, "CREATED": DATE, "UPDATED": TIMESTAMP, "SHIP_DATE": DATE, "CITY": TEXT, "TOKEN": RAW,
    "COUNTRY": TEXT, "ADDRESS": TEXT, "PHONE": TEXT, "NOTE": TEXT, "RATE": OracleType("NUMBER", 22), "CLOSED": TIMESTAMP,
}  # fmt: skip
NULLS = {"EMAIL": 0.05, "TAX": 0.1, "SHIP_DATE": 0.4, "PHONE": 0.3, "NOTE": 0.5, "RATE": 0.2, "CLOSED": 0.6}
WORDS = [
    "order",
    "invoice",
    "client",
    "shipped",
    "pending",
    "München",
    "café",
    "O'Brien",
    "it's",
    "(see)",
    "a,b",
    "x=1",
    "and",
    "where",
    "NULL",
    ";",
    "--",
    "');",
    "','",
]


def literal(random: random.Random, name: str, kind: OracleType) -> str:
    base = name.rstrip("0123456789")
    if random.random() < NULLS.get(base, 0):
        return "NULL"
    if kind is TEXT:
        words = " ".join(random.choices(WORDS, k=12 if base in ("DESCRIPTION", "NOTE") else 2))
        return "'" + words.replace("'", "''") + "'"
    if kind is RAW:
        return f"HEXTORAW('{random.randbytes(16).hex()}')"
    if kind in (DATE, TIMESTAMP):
        year, month, day = random.randint(2015, 2026), random.randint(1, 12), random.randint(1, 28)
        text = f"{year}-{month:02d}-{day:02d} 13:{random.randint(10, 59)}:09"
        if kind is DATE:
            return f"TO_DATE('{text}', 'YYYY-MM-DD HH24:MI:SS')"
        return f"TO_TIMESTAMP('{text}.{random.randint(0, 999999):06d}000')"
    return f"'{random.randint(0, 10**7)}'" if kind is NUMBER else f"'.{random.randint(1, 99)}'"
