"""What the self-test tries: one table for each question about this database, with its rows before and after the snapshot.

A table of its own for each question, so that an answer that is "no" holds that table alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from redolake.source.scratch import Refused, Rows, Step

ALL_COLUMNS = "ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
KEY_COLUMNS = "ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS"
UNIQUE_VIOLATION = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the table that answers it. `{table}` in a statement stands for the table's name in double quotes,
    `{name}` for the plain name.

    `create` runs before the snapshot, `change` after it; `settings` are those of the table in pipelines.yml.
    """

    table: str
    question: str
    create: tuple[Step, ...]
    change: tuple[Step, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


LARGEST, SMALLEST = Decimal("9" * 38), Decimal("-" + "9" * 38)
MOMENTS = (
    (datetime(1, 1, 1), datetime(1, 1, 1, 0, 0, 0, 1)),
    (datetime(1582, 10, 4), datetime(1582, 10, 15, 23, 59, 59, 999999)),
    (datetime(9999, 12, 31, 23, 59, 59), datetime(2026, 3, 29, 2, 30, 0, 123456)),
)
ANCIENT_DAY = "TO_DATE('-4712-01-01', 'SYYYY-MM-DD')"
ANCIENT_MOMENT = "TO_TIMESTAMP('-0044-03-15 12:00:00.123', 'SYYYY-MM-DD HH24:MI:SS.FF3')"
TEXTS = ("it's", "'", "''", "a\nb\tc", " leading and trailing ", "Zürich, 東京, 𝄞", "x" * 4000, "'" * 2000, "; -- /* '||' */")

NATIONAL = r"it''s \\ \00FC \65E5 \D83D\DE00 ''" + "'' || ''"

CASES: tuple[Case, ...] = (
    Case(
        "RLT_NUMBERS",
        "Do numbers of every size return exactly?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, whole NUMBER(38), cents NUMBER(38,10), rounded NUMBER(5,-2))",
            ALL_COLUMNS,
            Rows(
                "INSERT INTO {table} VALUES (:1, :2, :3, :4)",
                [
                    (1, LARGEST, Decimal("0.0000000001"), 100),
                    (2, SMALLEST, Decimal("-9999999999999999999999999999.9999999999"), 0),
                ],
            ),
        ),
        (
            Rows(
                "INSERT INTO {table} VALUES (:1, :2, :3, :4)",
                [(3, LARGEST, Decimal("1E-10"), -9999900), (4, SMALLEST, None, None), (5, 0, Decimal("0.5"), 1234567)],
            ),
            "UPDATE {table} SET whole = -whole, cents = -cents",
            "DELETE FROM {table} WHERE id = 2",
        ),
    ),
    Case(
        "RLT_MOMENTS",
        "Do dates and timestamps return exactly, in the calendars of Oracle and Delta?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, day DATE, at0 TIMESTAMP(0), at3 TIMESTAMP(3), at6 TIMESTAMP(6))",
            ALL_COLUMNS,
            Rows(
                "INSERT INTO {table} VALUES (:1, :2, :3, :4, :5)",
                [(n, day, at, at, at) for n, (day, at) in enumerate(MOMENTS)],
            ),
        ),
        (
            Rows(
                "INSERT INTO {table} VALUES (:1, :2, :3, :4, :5)",
                [(n + 10, day, at, at, at) for n, (day, at) in enumerate(MOMENTS)],
            ),
            Rows("UPDATE {table} SET day = :1 WHERE id = :2", [(date(2000, 2, 29), 1)]),
        ),
    ),
    Case(
        "RLT_TEXTS",
        "Do quotes, line ends, blanks, padded CHAR, multi-byte text and statements over 4000 bytes return exactly?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, code CHAR(10), text VARCHAR2(4000), more VARCHAR2(4000))",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2, :3, :4)", [(1, "a", "before", "'" * 100)]),
        ),
        (
            Rows("INSERT INTO {table} VALUES (:1, :2, :3, :4)", [(n + 10, "it's", text, text) for n, text in enumerate(TEXTS)]),
            "UPDATE {table} SET more = text, text = more, code = NULL WHERE id >= 10",
        ),
    ),
    Case(
        "RLT_BYTES",
        "Do RAW values return exactly?",
        ("CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, octets RAW(2000))", ALL_COLUMNS),
        (
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(1, bytes(range(256))), (2, b"\x00" * 2000), (3, None)]),
            Rows("UPDATE {table} SET octets = :1 WHERE id = :2", [(b"\xff", 3)]),
        ),
    ),
    Case(
        "RLT_NATIONAL",
        "Does national text return exactly, with quotes, backslashes and characters beyond 16 bits?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, text NVARCHAR2(1000), code NCHAR(10))",
            ALL_COLUMNS,
            f"INSERT INTO {{table}} VALUES (1, UNISTR('{NATIONAL}'), N'a')",
        ),
        (
            f"INSERT INTO {{table}} VALUES (2, UNISTR('{NATIONAL}'), UNISTR('\\D83D\\DE00'))",
            "INSERT INTO {table} VALUES (3, RPAD(UNISTR('\\00E9'), 1000, UNISTR('\\00E9')), NULL)",
            "INSERT INTO {table} VALUES (4, N'C:\\temp\\0041', N'a')",
            "UPDATE {table} SET code = N'b', text = NULL WHERE id = 1",
        ),
    ),
    Case(
        "RLT_FLOATS",
        "Do FLOAT and binary floats return exactly, with NaN, infinities and the smallest numbers?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, d FLOAT, f FLOAT(49), s BINARY_FLOAT, b BINARY_DOUBLE)",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, 1/3, 0.1, TO_BINARY_FLOAT('0.1'), TO_BINARY_DOUBLE('0.1'))",
        ),
        (
            "INSERT INTO {table} VALUES (2, -1E-100, -1E100, BINARY_FLOAT_NAN, BINARY_DOUBLE_NAN)",
            "INSERT INTO {table} VALUES (3, 0, 0, -BINARY_FLOAT_INFINITY, BINARY_DOUBLE_INFINITY)",
            "INSERT INTO {table} VALUES (4, 1, 1, TO_BINARY_FLOAT('1.4E-45'), TO_BINARY_DOUBLE('2.2E-308'))",
            "UPDATE {table} SET d = -2/3, s = NULL WHERE id = 1",
        ),
    ),
    Case(
        "RLT_ZONES",
        "Do timestamps with time zones return as the same instants, with offsets, regions and nanoseconds?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, z TIMESTAMP(6) WITH TIME ZONE, "
            "t TIMESTAMP(9) WITH TIME ZONE, l TIMESTAMP(6) WITH LOCAL TIME ZONE, n TIMESTAMP(9))",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, TIMESTAMP '2026-03-29 01:30:00.5 +05:30', "
            "TIMESTAMP '2026-07-01 12:00:00.123456789 Europe/Berlin', TIMESTAMP '2026-10-25 02:30:00 -07:00', "
            "TIMESTAMP '2026-03-29 01:30:00.123456789')",
        ),
        (
            "INSERT INTO {table} VALUES (2, TIMESTAMP '2026-07-01 12:00:00.25 Europe/Berlin', "
            "TIMESTAMP '2026-03-29 01:30:00.000000001 -09:30', TIMESTAMP '2026-01-01 00:00:00.999999 Asia/Kolkata', "
            "TIMESTAMP '2026-03-29 01:30:00')",
            "UPDATE {table} SET l = z WHERE id = 1",
        ),
        settings={"columns": {"T": "string", "N": "string"}},
    ),
    Case(
        "RLT_INTERVALS",
        "Do intervals and ROWIDs return exactly?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, ds INTERVAL DAY(4) TO SECOND(9), "
            "ym INTERVAL YEAR(4) TO MONTH, r ROWID)",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, INTERVAL '5 04:03:02.123456789' DAY TO SECOND(9), "
            "INTERVAL '12-03' YEAR TO MONTH, 'AAAR3sAAEAAAACXAAA')",
        ),
        (
            "INSERT INTO {table} (id, ds) VALUES (4, INTERVAL '1' DAY)",
            "INSERT INTO {table} (id, ds) VALUES (2, INTERVAL '-1 02:03:04.5' DAY TO SECOND)",
            "INSERT INTO {table} (id, ym) VALUES (3, INTERVAL '-1-02' YEAR TO MONTH)",
            "UPDATE {table} SET ds = NULL, r = 'AAAR3sAAEAAAACXAAB' WHERE id = 1",
        ),
    ),
    Case(
        "RLT_UROWIDS",
        "Are rows with a UROWID read again, whatever LogMiner shows of it?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, u UROWID)",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, 'AAAR3sAAEAAAACXAAA')",
        ),
        (
            "INSERT INTO {table} VALUES (2, 'AAAR3sAAEAAAACXAAA')",
            "UPDATE {table} SET u = 'AAAR3sAAEAAAACXAAB' WHERE id = 1",
        ),
        settings={"unsupported_columns": "reread"},
    ),
    Case(
        "RLT_TRANSACTIONS",
        "Are savepoints, failed statements, rollbacks and array inserts undone or kept as in the source?",
        ("CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, value NUMBER(9))", ALL_COLUMNS),
        (
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(n, n) for n in range(500)]),
            "SAVEPOINT halfway",
            "UPDATE {table} SET value = -1",
            "ROLLBACK TO SAVEPOINT halfway",
            "UPDATE {table} SET value = value + 1 WHERE id < 100",
            Refused("UPDATE {table} SET id = 499 WHERE id > 400", UNIQUE_VIOLATION),
            "COMMIT",
            "DELETE FROM {table}",
            "ROLLBACK",
            "DELETE FROM {table} WHERE id = 7",
            "INSERT INTO {table} VALUES (7, 70)",
            "UPDATE {table} SET id = 1000 WHERE id = 8",
        ),
    ),
    Case(
        "RLT_KEY_LOGGING",
        "Is logging of the primary key alone enough for UPDATE and DELETE?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(100), b VARCHAR2(100))",
            KEY_COLUMNS,
            "INSERT INTO {table} VALUES (1, 'a', 'b')",
            "INSERT INTO {table} VALUES (2, 'a', 'b')",
        ),
        ("UPDATE {table} SET a = 'c' WHERE id = 1", "DELETE FROM {table} WHERE id = 2"),
    ),
    Case(
        "RLT_GUARD",
        "Is the hidden guard column of a nullable ADD .. DEFAULT carried as what it is?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20))",
            "INSERT INTO {table} VALUES (1, 'before')",
            "COMMIT",
            "ALTER TABLE {table} ADD b NUMBER(5) DEFAULT 7",
            ALL_COLUMNS,
        ),
        (
            "INSERT INTO {table} (id, a) VALUES (2, 'default')",
            "INSERT INTO {table} VALUES (3, 'null', NULL)",
            "UPDATE {table} SET a = 'after' WHERE id = 1",
        ),
    ),
    Case(
        "RLT_UNUSED",
        "Is a column that was set unused left out?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, gone VARCHAR2(20), a VARCHAR2(20))",
            "INSERT INTO {table} VALUES (1, 'x', 'y')",
            "COMMIT",
            "ALTER TABLE {table} SET UNUSED (gone)",
            ALL_COLUMNS,
        ),
        ("INSERT INTO {table} VALUES (2, 'z')", "UPDATE {table} SET a = 'after' WHERE id = 1"),
    ),
    Case(
        "RLT_INVISIBLE",
        "Are invisible columns captured like others?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20), b VARCHAR2(20) INVISIBLE)",
            ALL_COLUMNS,
            "INSERT INTO {table} (id, a, b) VALUES (1, 'a', 'b')",
        ),
        ("INSERT INTO {table} (id, a, b) VALUES (2, 'a', 'b')", "UPDATE {table} SET b = 'after' WHERE id = 1"),
    ),
    Case(
        "RLT_IDENTITY",
        "Is a table with an identity column captured?",
        (
            "CREATE TABLE {table} (id NUMBER(9) GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a VARCHAR2(20))",
            ALL_COLUMNS,
        ),
        ("INSERT INTO {table} (a) VALUES ('x')", "INSERT INTO {table} (a) VALUES ('y')", "UPDATE {table} SET a = 'z'"),
    ),
    Case(
        "RLT_VIRTUAL",
        "Is a table with a virtual column captured?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a NUMBER(5), twice NUMBER(9) GENERATED ALWAYS AS (a * 2) VIRTUAL)",
            ALL_COLUMNS,
            "INSERT INTO {table} (id, a) VALUES (1, 1)",
        ),
        ("INSERT INTO {table} (id, a) VALUES (2, 2)", "UPDATE {table} SET a = 3 WHERE id = 1"),
    ),
    Case(
        "RLT_DDL",
        "Is redo from before an ADD and a DROP COLUMN decoded, although the dictionary has changed since?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20), b VARCHAR2(20))",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, 'a', 'b')",
        ),
        (
            "INSERT INTO {table} VALUES (2, 'a', 'b')",
            "UPDATE {table} SET b = 'c' WHERE id = 1",
            "COMMIT",
            "ALTER TABLE {table} ADD c NUMBER(9)",
            "INSERT INTO {table} VALUES (3, 'a', 'b', 3)",
            "COMMIT",
            "ALTER TABLE {table} DROP COLUMN a",
            "INSERT INTO {table} VALUES (4, 'b', 4)",
        ),
    ),
    Case(
        "RLT_STATISTICS",
        "Do storage options leave the table as it is?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
            ALL_COLUMNS,
        ),
        (
            "INSERT INTO {table} VALUES (1, 1)",
            "COMMIT",
            "ALTER TABLE {table} ENABLE ROW MOVEMENT",
            "ALTER TABLE {table} PCTFREE 20",
            "UPDATE {table} SET a = 2",
        ),
    ),
    Case(
        "RLT_ANCIENT",
        "Do dates before year 1 return exactly as text?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, day DATE, at TIMESTAMP(3))",
            ALL_COLUMNS,
            f"INSERT INTO {{table}} VALUES (1, {ANCIENT_DAY}, NULL)",
        ),
        (
            f"INSERT INTO {{table}} VALUES (2, {ANCIENT_DAY}, {ANCIENT_MOMENT})",
            "INSERT INTO {table} VALUES (3, DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00.5')",
            "UPDATE {table} SET day = DATE '2000-02-29' WHERE id = 1",
        ),
        {"columns": {"DAY": "string", "AT": "string"}},
    ),
    Case(
        "RLT_ARCHIVAL",
        "Are rows captured that row archival hides?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20)) ROW ARCHIVAL",
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, 'before')",
            "INSERT INTO {table} VALUES (2, 'before')",
        ),
        ("INSERT INTO {table} VALUES (3, 'after')", "UPDATE {table} SET ora_archive_state = '1' WHERE id > 1"),
    ),
    Case(
        "RLT_COMPRESSED",
        "Is the redo of a compressed table complete?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(100)) ROW STORE COMPRESS BASIC",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(n, "the same text in every row") for n in range(250)]),
            "COMMIT",
            "INSERT /*+ APPEND */ INTO {table} SELECT id + 250, a FROM {table}",
        ),
        ("UPDATE {table} SET a = 'another text' WHERE id < 100", "DELETE FROM {table} WHERE id > 400"),
    ),
    Case(
        "RLT_MIGRATED",
        "Is an UPDATE that moves a row to another block one change?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a VARCHAR2(4000)) PCTFREE 0",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(n, "x") for n in range(300)]),
        ),
        ("UPDATE {table} SET a = RPAD('y', 3000, 'y') WHERE id < 20", "DELETE FROM {table} WHERE id = 5"),
    ),
    Case(
        "RLT_EXTENDED",
        "Do extended statistics, a hidden column of Oracle's own, leave the table as it is?",
        ("CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a NUMBER(9), b NUMBER(9))", ALL_COLUMNS),
        (
            "INSERT INTO {table} VALUES (1, 1, 1)",
            "COMMIT",
            "BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, '{name}', method_opt => 'FOR COLUMNS (A,B)'); END;",
            "INSERT INTO {table} VALUES (2, 2, 2)",
            "UPDATE {table} SET a = 3",
        ),
    ),
    Case(
        "RLT_PARALLEL",
        "Are the changes of parallel servers part of their statement's transaction?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(n, n) for n in range(2000)]),
        ),
        (
            "ALTER SESSION ENABLE PARALLEL DML",
            "UPDATE /*+ PARALLEL(4) */ {table} SET a = a + 1 WHERE id < 1500",
            "COMMIT",
            "DELETE /*+ PARALLEL(4) */ FROM {table} WHERE id >= 1000",
            "ROLLBACK",
            "ALTER SESSION DISABLE PARALLEL DML",
        ),
    ),
    Case(
        "RLT_DIRECT",
        "Is the redo of a direct-path INSERT complete?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(n, n) for n in range(100)]),
        ),
        ("INSERT /*+ APPEND */ INTO {table} SELECT id + 1000, a FROM {table}", "COMMIT", "DELETE FROM {table} WHERE id < 10"),
    ),
    Case(
        "RLT_WIDE",
        "Is a row of 300 columns, which Oracle stores in pieces, one change?",
        (
            "CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, " + ", ".join(f"c{n} NUMBER(9)" for n in range(299)) + ")",
            ALL_COLUMNS,
            "INSERT INTO {table} (id, c0, c298) VALUES (1, 1, 1)",
        ),
        (
            "INSERT INTO {table} (id, c0, c298) VALUES (2, 2, 2)",
            "UPDATE {table} SET c0 = 3, c150 = 3, c298 = 3 WHERE id = 1",
            "DELETE FROM {table} WHERE id = 2",
        ),
    ),
    Case(
        "RLT Mixed Case",
        "Are names in quotes kept as they are?",
        (
            'CREATE TABLE {table} ("Id" NUMBER(9) PRIMARY KEY, "a b" VARCHAR2(20), "straße" VARCHAR2(20))',
            ALL_COLUMNS,
            "INSERT INTO {table} VALUES (1, 'a', 'b')",
        ),
        ("INSERT INTO {table} VALUES (2, 'a', 'b')", 'UPDATE {table} SET "straße" = \'c\' WHERE "Id" = 1'),
    ),
    Case(
        "RLT_KEYLESS",
        "Is a table without a key captured by ROWID?",
        (
            "CREATE TABLE {table} (a NUMBER(9), b VARCHAR2(20))",
            ALL_COLUMNS,
            Rows("INSERT INTO {table} VALUES (:1, :2)", [(1, "same"), (1, "same"), (2, "other")]),
        ),
        ("UPDATE {table} SET b = 'after' WHERE a = 2", "DELETE FROM {table} WHERE a = 1 AND ROWNUM = 1"),
        {"key": "rowid"},
    ),
)
