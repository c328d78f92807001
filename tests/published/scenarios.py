"""Statements of the same meaning as those that others ran on a real Oracle, and what LogMiner showed there.

Source: github.com/rophy/OpenLogReplicator, branch rac-support, `tests/data/expected/*/logminer-reference.json` (February
2026): Oracle AI Database 26ai 23.26.1, two instances, and one of Free 23. Mined with COMMITTED_DATA_ONLY and NO_ROWID_IN_STMT,
with the default settings of NLS. `logminer_26ai.json` has the values: each transaction's rows as operation, table, WHERE and
SET or VALUES. A run of a hundred or more equal characters is written as A×4000.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = tuple[str, str, dict[str, str | None] | None, dict[str, str | None] | None]

COMMIT, ROLLBACK = "COMMIT", "ROLLBACK"
SECOND = "on the second instance: "  # begins a statement of the session there


@dataclass(frozen=True)
class Scenario:
    """Tables with all columns logged, and what is run after that. `options` are those of the stand-in."""

    tables: dict[str, str]
    work: tuple[str, ...]
    dictionary_in_redo: bool = False

    @property
    def ddl(self) -> list[str]:
        """Return the statements that create the tables."""
        found = []
        for name, columns in self.tables.items():
            body, _, after = columns.partition(";")
            found += [f"CREATE TABLE {name} ({body}) {after}", f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"]
        return found


def published() -> dict[str, list[list[Row]]]:
    """Return LogMiner's rows by scenario and transaction."""
    read = json.loads((Path(__file__).parent / "logminer_26ai.json").read_text(encoding="utf-8"))
    found = {name: [[_row(row) for row in transaction] for transaction in work] for name, work in read.items()}
    # LogMiner shows no change of a table with a BOOLEAN column: the file says so in place of rows.
    return {**found, "large-transaction": [*_large_transaction()], "boolean-type": []}


def _row(read: list[Any]) -> Row:
    operation, table, before, after = read
    return operation, table, _expanded(before), _expanded(after)


def _expanded(values: dict[str, str | None] | None) -> dict[str, str | None] | None:
    def whole(value: str | None) -> str | None:
        return value and re.sub(r"(.)×(\d+)", lambda run: run[1] * int(run[2]), value)

    return None if values is None else {name: whole(value) for name, value in values.items()}


def _large_transaction() -> Iterable[list[Row]]:
    """Yield the 500 rows of this scenario, which follow a rule in the published file, too."""
    table, numbers = "TEST_BULK", range(1, 201)
    old = {n: {"ID": str(n), "PAYLOAD": f"row_{n:04d}", "VAL": str(n * 10)} for n in numbers}
    new = {n: {**row, "VAL": str(n * 10 + 1)} for n, row in old.items()}
    yield [("INSERT", table, None, old[n]) for n in numbers]
    yield [("UPDATE", table, old[n], {"VAL": new[n]["VAL"]}) for n in numbers]
    yield [("DELETE", table, new[n], None) for n in numbers if n % 2 == 0]


NAME_VAL = "id NUMBER PRIMARY KEY, name VARCHAR2(100), val NUMBER"
MANY = ", ".join(
    f"col_{n:02d} "
    + (
        "VARCHAR2(200)" if n < 11 or 25 < n < 31 or 35 < n < 41 or 45 < n < 51 or n > 55
        else "DATE" if 20 < n < 24
        else "TIMESTAMP" if n in (24, 25)
        else "NUMBER(10,2)" if 30 < n < 36
        else "NUMBER"
    )
    for n in range(1, 61)
)  # fmt: skip


def many_values() -> str:
    """Return the values of the first row of the scenario with 60 columns."""
    kinds = {range(1, 11): "str", range(26, 31): "medium", range(46, 51): "str", range(56, 61): "medium"}
    moments = {
        21: "DATE '2025-01-15'",
        22: "DATE '2025-06-30'",
        23: "DATE '2025-12-31'",
        24: "TIMESTAMP '2025-01-15 10:30:00.123456'",
        25: "TIMESTAMP '2025-06-30 23:59:59.999999'",
    }
    texts = {n: f"'{word}{n:02d}'" for numbers, word in kinds.items() for n in numbers}
    long = {n: f"'long{n}-value'" for n in range(36, 41)}
    prices = {n: f"{n}.0{n - 30}" for n in range(31, 36)}
    return ", ".join({**texts, **moments, **long, **prices}.get(n, str(n)) for n in range(1, 61))


def moments() -> Iterable[str]:
    """Yield INSERTs of a moment in types of each precision, and a COMMIT after each."""
    for key, whole, part in (
        (1, "2025-06-15 10:30:00", "123456789"),
        (2, "2000-01-01 00:00:00", "000000000"),
        (3, "2026-12-31 23:59:59", "999999999"),
    ):
        parts = ", ".join(f"TIMESTAMP '{whole}.{part[:digits]}'" for digits in (3, 6, 9))
        yield f"INSERT INTO test_timestamps VALUES ({key}, CAST(TIMESTAMP '{whole}' AS DATE), TIMESTAMP '{whole}', {parts})"
        yield COMMIT


NINES = "9" * 38
SCENARIOS: dict[str, Scenario] = {
    "boolean-type": Scenario(
        {"test_boolean": "id NUMBER PRIMARY KEY, is_active BOOLEAN, is_verified BOOLEAN, label VARCHAR2(50)"},
        (
            "INSERT INTO test_boolean VALUES (1, TRUE, FALSE, 'true-false')", COMMIT,
            "UPDATE test_boolean SET is_active = FALSE WHERE id = 1", COMMIT, "DELETE FROM test_boolean WHERE id = 1", COMMIT,
        ),
    ),
    "basic-crud": Scenario(
        {"test_cdc": NAME_VAL},
        (
            "INSERT ALL INTO test_cdc VALUES (1, 'Alice', 100) INTO test_cdc VALUES (2, 'Bob', 200) "
            "INTO test_cdc VALUES (3, 'Charlie', 300) SELECT 1 FROM dual",
            COMMIT, "UPDATE test_cdc SET name = 'Alice Updated', val = 150 WHERE id = 1",
            COMMIT, "DELETE FROM test_cdc WHERE id = 2", COMMIT,
        ),
    ),
    "concurrent-updates": Scenario(
        {"test_concurrent": "id NUMBER PRIMARY KEY, status VARCHAR2(20), counter NUMBER, note VARCHAR2(100)"},
        (
            "INSERT INTO test_concurrent VALUES (1, 'new', 0, 'row one')",
            "INSERT INTO test_concurrent VALUES (2, 'new', 0, 'row two')",
            "INSERT INTO test_concurrent VALUES (3, 'new', 0, 'row three')",
            COMMIT, "UPDATE test_concurrent SET status = 'pending', counter = counter + 1 WHERE id = 1",
            COMMIT, "UPDATE test_concurrent SET status = 'active', counter = counter + 1 WHERE id = 1",
            COMMIT, "UPDATE test_concurrent SET status = 'complete', counter = counter + 1, note = 'done' WHERE id = 1",
            COMMIT, "UPDATE test_concurrent SET counter = 10 WHERE note = 'row two'",
            "UPDATE test_concurrent SET counter = 20 WHERE note = 'row three'",
            COMMIT, "UPDATE test_concurrent SET status = 'reopened', counter = 4 WHERE id = 1",
            "UPDATE test_concurrent SET status = 'closed', counter = 5, note = 'final' WHERE id = 1",
            COMMIT, "DELETE FROM test_concurrent WHERE id = 2",
            COMMIT, "INSERT INTO test_concurrent VALUES (2, 'resurrected', 1, 'back again')", COMMIT,
        ),
    ),
    "data-types": Scenario(
        {
            "test_types": "id NUMBER PRIMARY KEY, col_varchar2 VARCHAR2(200), col_char CHAR(20), col_nvarchar2 NVARCHAR2(200), "
            "col_number NUMBER(15,2), col_float BINARY_FLOAT, col_double BINARY_DOUBLE, col_date DATE, "
            "col_timestamp TIMESTAMP(6), col_raw RAW(100), col_integer INTEGER"
        },
        (
            "INSERT INTO test_types VALUES (1, 'hello world', 'fixed', N'unicode text', 12345.67, 3.14, 2.718281828459045, "
            "TO_DATE('2025-06-15 10:30', 'YYYY-MM-DD HH24:MI'), TIMESTAMP '2025-06-15 10:30:00.123456', "
            "HEXTORAW('deadbeef'), 42)",
            "INSERT INTO test_types VALUES (2, 'second row', 'row2', N'more text', -999.99, -1.5, 1e100, "
            "DATE '2000-01-01', TIMESTAMP '2000-01-01 00:00:00', HEXTORAW('cafebabe'), 0)",
            COMMIT, "UPDATE test_types SET col_varchar2 = 'updated text', col_float = 9.99, "
            "col_date = TO_DATE('2026-01-01 12', 'YYYY-MM-DD HH24'), col_raw = HEXTORAW('00ff00ff') WHERE id = 1",
            COMMIT, "DELETE FROM test_types WHERE id = 2", COMMIT,
        ),
    ),
    "ddl-add-column": Scenario(
        {"test_ddl": NAME_VAL},
        (
            "INSERT INTO test_ddl VALUES (1, 'Alice', 100)", "INSERT INTO test_ddl VALUES (2, 'Bob', 200)",
            "INSERT INTO test_ddl VALUES (3, 'Charlie', 300)",
            COMMIT, "ALTER TABLE test_ddl ADD (email VARCHAR2(200))",
            "INSERT INTO test_ddl VALUES (4, 'Dave', 400, 'dave@test.com')",
            "UPDATE test_ddl SET email = 'alice@test.com' WHERE id = 1",
            "UPDATE test_ddl SET val = 250, email = 'bob@test.com' WHERE id = 2", "DELETE FROM test_ddl WHERE id = 3", COMMIT,
        ),
        dictionary_in_redo=True,
    ),
    "example-free-23": Scenario(
        {"test_cdc": "id NUMBER PRIMARY KEY, name VARCHAR2(100)"}, ("INSERT INTO test_cdc VALUES (1, 'hello world')", COMMIT),
    ),
    "interleaved-transactions": Scenario(
        {"test_interleave": "id NUMBER PRIMARY KEY, source VARCHAR2(20), val NUMBER"},
        (
            """DECLARE
                PROCEDURE by_itself(p_do VARCHAR2) IS PRAGMA AUTONOMOUS_TRANSACTION;
                BEGIN EXECUTE IMMEDIATE p_do; COMMIT; END;
            BEGIN
                INSERT INTO test_interleave VALUES (1, 'main', 100);
                by_itself('INSERT INTO test_interleave VALUES (2, ''auto1'', 200)');
                INSERT INTO test_interleave VALUES (3, 'main', 300);
                by_itself('INSERT INTO test_interleave VALUES (4, ''auto2'', 400)');
                by_itself('UPDATE test_interleave SET val = 250 WHERE id = 2');
                UPDATE test_interleave SET val = 150 WHERE id = 1;
                COMMIT;
            END;""",
            """DECLARE
                PROCEDURE both IS PRAGMA AUTONOMOUS_TRANSACTION;
                BEGIN
                    INSERT INTO test_interleave VALUES (5, 'auto3', 500);
                    UPDATE test_interleave SET source = 'auto3-upd' WHERE id = 5;
                    COMMIT;
                END;
            BEGIN
                UPDATE test_interleave SET val = 350 WHERE id = 3;
                both;
                DELETE FROM test_interleave WHERE id = 4;
                COMMIT;
            END;""",
        ),
    ),
    "large-transaction": Scenario(
        {"test_bulk": "id NUMBER PRIMARY KEY, payload VARCHAR2(200), val NUMBER"},
        (
            "INSERT INTO test_bulk SELECT LEVEL, 'row_' || LPAD(LEVEL, 4, '0'), LEVEL * 10 FROM dual CONNECT BY LEVEL <= 200",
            COMMIT, "UPDATE test_bulk SET val = val + 1", COMMIT, "DELETE FROM test_bulk WHERE MOD(id, 2) = 0", COMMIT,
        ),
    ),
    "lob-operations": Scenario(
        {"test_lobs": "id NUMBER PRIMARY KEY, col_clob CLOB, col_blob BLOB, col_label VARCHAR2(50)"},
        (
            "INSERT INTO test_lobs VALUES (1, 'Short CLOB text', HEXTORAW('aabbccdd'), 'small-inline')",
            "INSERT INTO test_lobs VALUES (2, 'Another small CLOB', HEXTORAW('0102030405'), 'small-inline-2')",
            COMMIT, "INSERT INTO test_lobs (id, col_label) VALUES (3, 'null-lobs')", COMMIT,
            """DECLARE v CLOB := RPAD('Medium CLOB content. ', 8000, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ ');
            BEGIN INSERT INTO test_lobs VALUES (4, v, HEXTORAW(RPAD('FF', 200, 'EE')), 'medium-lob'); COMMIT; END;""",
            "UPDATE test_lobs SET col_clob = 'Updated CLOB text', col_label = 'updated' WHERE id = 1",
            COMMIT, "UPDATE test_lobs SET col_clob = NULL, col_blob = NULL WHERE id = 2",
            COMMIT, "UPDATE test_lobs SET col_clob = 'Was null, now has value', col_blob = HEXTORAW('deadbeef') WHERE id = 3",
            COMMIT, "DELETE FROM test_lobs WHERE id = 1", COMMIT,
        ),
    ),
    "long-spanning-txn": Scenario(
        {"test_spanning": "id NUMBER PRIMARY KEY, payload VARCHAR2(200), val NUMBER"},
        (
            *(f"INSERT INTO test_spanning VALUES ({n}, 'before-switch-{n}', {n}00)" for n in (1, 2, 3)), "switch",
            *(f"INSERT INTO test_spanning VALUES ({n}, 'after-switch-{n - 3}', {n}00)" for n in (4, 5)),
            "UPDATE test_spanning SET val = 150 WHERE id = 1", "DELETE FROM test_spanning WHERE id = 3",
            COMMIT, "INSERT INTO test_spanning VALUES (6, 'post-span', 600)",
            "UPDATE test_spanning SET payload = 'post-updated' WHERE id = 2", "DELETE FROM test_spanning WHERE id = 5", COMMIT,
        ),
    ),
    "many-columns": Scenario(
        {"test_many_cols": f"id NUMBER PRIMARY KEY, {MANY}"},
        (
            f"INSERT INTO test_many_cols VALUES (1, {many_values()})",
            COMMIT, "INSERT INTO test_many_cols (id, col_01, col_11, col_21, col_31, col_41, col_51) "
            "VALUES (2, 'sparse', 99, DATE '2025-03-15', 99.99, 99, 99)",
            COMMIT, "UPDATE test_many_cols SET col_01 = 'updated01', col_05 = 'updated05', col_10 = 'updated10', col_11 = 111, "
            "col_15 = 115, col_20 = 120, col_26 = 'updated26', col_30 = 'updated30', col_36 = 'updated36-long-value', "
            "col_40 = 'updated40-long-value', col_46 = 'updated46', col_50 = 'updated50', col_56 = 'updated56', "
            "col_60 = 'updated60' WHERE id = 1",
            COMMIT, "UPDATE test_many_cols SET col_01 = 'sparse-updated' WHERE id = 2",
            COMMIT, "DELETE FROM test_many_cols WHERE id = 2", COMMIT, "DELETE FROM test_many_cols WHERE id = 1", COMMIT,
        ),
    ),
    "multi-table": Scenario(
        {
            "test_orders": "order_id NUMBER PRIMARY KEY, customer VARCHAR2(100), order_date DATE, status VARCHAR2(20)",
            "test_items": "item_id NUMBER PRIMARY KEY, order_id NUMBER, product VARCHAR2(100), qty NUMBER, price NUMBER(10,2)",
            "test_audit": "audit_id NUMBER PRIMARY KEY, action VARCHAR2(50), detail VARCHAR2(200)",
        },
        (
            "INSERT INTO test_orders VALUES (1, 'Alice', DATE '2025-01-15', 'NEW')",
            "INSERT INTO test_items VALUES (101, 1, 'Widget A', 2, 19.99)",
            "INSERT INTO test_items VALUES (102, 1, 'Widget B', 1, 49.99)",
            "INSERT INTO test_audit VALUES (1, 'ORDER_CREATED', 'Order 1 for Alice')",
            COMMIT, "INSERT INTO test_orders VALUES (2, 'Bob', DATE '2025-01-16', 'NEW')",
            "INSERT INTO test_items VALUES (201, 2, 'Gadget X', 5, 9.99)",
            COMMIT, "UPDATE test_orders SET status = 'SHIPPED' WHERE order_id = 1",
            "UPDATE test_items SET qty = qty + 1 WHERE item_id = 101",
            "INSERT INTO test_audit VALUES (2, 'ORDER_SHIPPED', 'Order 1 shipped')",
            COMMIT, "DELETE FROM test_items WHERE order_id = 2", "DELETE FROM test_orders WHERE order_id = 2", COMMIT,
        ),
    ),
    "null-handling": Scenario(
        {"test_nulls": "id NUMBER PRIMARY KEY, col_a VARCHAR2(100), col_b NUMBER, col_c DATE"},
        (
            "INSERT INTO test_nulls VALUES (1, 'has value', 100, DATE '2025-01-01')", "INSERT INTO test_nulls (id) VALUES (2)",
            "INSERT INTO test_nulls VALUES (3, 'partial', NULL, DATE '2025-06-15')",
            COMMIT, "UPDATE test_nulls SET col_a = NULL, col_b = NULL WHERE id = 1",
            COMMIT, "UPDATE test_nulls SET col_a = 'now has value', col_b = 999 WHERE id = 2",
            COMMIT, "UPDATE test_nulls SET col_c = NULL WHERE id = 2", COMMIT, "DELETE FROM test_nulls WHERE id = 3", COMMIT,
        ),
    ),
    "number-precision": Scenario(
        {
            "test_numbers": "id NUMBER PRIMARY KEY, col_number NUMBER, col_precise NUMBER(38,0), col_decimal NUMBER(20,10), "
            "col_small NUMBER(5,2), col_integer INTEGER, col_float BINARY_FLOAT, col_double BINARY_DOUBLE"
        },
        (
            *(f"INSERT INTO test_numbers VALUES ({key}, {', '.join([n] * 7)})" for key, n in ((1, "0"), (2, "1"), (3, "-1"))),
            COMMIT, f"INSERT INTO test_numbers VALUES (4, {NINES}, {NINES}, 9999999999.9999999999, 999.99, 2147483647, "
            "256, 65536.125)",
            COMMIT, f"INSERT INTO test_numbers VALUES (5, -{NINES}, -{NINES}, -9999999999.9999999999, -999.99, -2147483648, "
            "-256, -65536.125)",
            COMMIT, "INSERT INTO test_numbers VALUES (6, 1e-36, 0, 1e-10, .01, 0, .5, .0625)",
            COMMIT, "INSERT INTO test_numbers VALUES (7, 3.14159265358979323846264338327950288, 3, 3.1415926536, 3.14, 3, "
            "3.14159265, 3.14159265358979323846)",
            COMMIT, "UPDATE test_numbers SET col_number = 12345678901234567890, "
            "col_precise = 12345678901234567890123456789012345678, col_decimal = 1234567890.1234567890, "
            "col_small = 123.45 WHERE id = 1",
            COMMIT, "UPDATE test_numbers SET col_number = 0, col_precise = 0, col_decimal = 0, col_small = 0 WHERE id = 4",
            COMMIT, "DELETE FROM test_numbers WHERE id = 3", "DELETE FROM test_numbers WHERE id = 5", COMMIT,
        ),
    ),
    "partitioned-table": Scenario(
        {
            "test_range_part": f"{NAME_VAL};PARTITION BY RANGE (id) (PARTITION p_low VALUES LESS THAN (100), "
            "PARTITION p_mid VALUES LESS THAN (200), PARTITION p_high VALUES LESS THAN (MAXVALUE))",
            "test_list_part": "id NUMBER PRIMARY KEY, region VARCHAR2(20), amount NUMBER(10,2);PARTITION BY LIST (region) "
            "(PARTITION p_east VALUES ('EAST'), PARTITION p_west VALUES ('WEST'), PARTITION p_other VALUES (DEFAULT))",
        },
        (
            *(
                f"INSERT INTO test_range_part VALUES ({key}, '{name}', {val})"
                for key, name, val in ((10, "Low-A", 100), (50, "Low-B", 200), (150, "Mid-A", 300), (250, "High-A", 400))
            ),
            COMMIT, "INSERT INTO test_list_part VALUES (1, 'EAST', 1000.50)",
            "INSERT INTO test_list_part VALUES (2, 'WEST', 2000.75)", "INSERT INTO test_list_part VALUES (3, 'NORTH', 3000)",
            COMMIT, "UPDATE test_range_part SET val = 150 WHERE id = 10", "UPDATE test_range_part SET val = 350 WHERE id = 150",
            COMMIT, "UPDATE test_list_part SET amount = 1500 WHERE id = 1",
            COMMIT, "DELETE FROM test_range_part WHERE id = 50", "DELETE FROM test_range_part WHERE id = 250",
            COMMIT, "DELETE FROM test_list_part WHERE region = 'NORTH'", COMMIT,
        ),
    ),
    "rac-concurrent-tables": Scenario(
        {"test_rac_tbl1": NAME_VAL, "test_rac_tbl2": NAME_VAL},
        (
            "INSERT INTO test_rac_tbl1 VALUES (1, 'T1-Alice', 100)",
            "INSERT INTO test_rac_tbl1 VALUES (2, 'T1-Bob', 200)", COMMIT,
            f"{SECOND}INSERT INTO test_rac_tbl2 VALUES (1, 'T2-Charlie', 300)",
            f"{SECOND}INSERT INTO test_rac_tbl2 VALUES (2, 'T2-Diana', 400)", f"{SECOND}{COMMIT}",
            "UPDATE test_rac_tbl1 SET val = 150 WHERE id = 1", "DELETE FROM test_rac_tbl1 WHERE id = 2", COMMIT,
            f"{SECOND}UPDATE test_rac_tbl2 SET val = 350 WHERE id = 1", f"{SECOND}DELETE FROM test_rac_tbl2 WHERE id = 2",
            f"{SECOND}{COMMIT}",
        ),
    ),
    "rac-interleaved": Scenario(
        {"test_rac_interleave": NAME_VAL},
        (
            "INSERT INTO test_rac_interleave VALUES (1, 'Node1-Alice', 100)",
            "INSERT INTO test_rac_interleave VALUES (2, 'Node1-Bob', 200)", COMMIT,
            f"{SECOND}INSERT INTO test_rac_interleave VALUES (3, 'Node2-Charlie', 300)",
            f"{SECOND}INSERT INTO test_rac_interleave VALUES (4, 'Node2-Diana', 400)", f"{SECOND}{COMMIT}",
            "UPDATE test_rac_interleave SET val = 150, name = 'Node1-Alice-Updated' WHERE id = 1", COMMIT,
            f"{SECOND}DELETE FROM test_rac_interleave WHERE id = 3", f"{SECOND}{COMMIT}",
        ),
    ),
    "rac-thread2-only": Scenario(
        {"test_rac_t2": NAME_VAL},
        (
            *(
                f"{SECOND}INSERT INTO test_rac_t2 VALUES ({n}, 'Thread2-{name}', {n}00)"
                for n, name in ((1, "Alice"), (2, "Bob"), (3, "Charlie"))
            ),
            f"{SECOND}{COMMIT}", f"{SECOND}UPDATE test_rac_t2 SET val = 150, name = 'Thread2-Alice-Updated' WHERE id = 1",
            f"{SECOND}{COMMIT}", f"{SECOND}DELETE FROM test_rac_t2 WHERE id = 3", f"{SECOND}{COMMIT}",
        ),
    ),
    "rollback": Scenario(
        {"test_rollback": NAME_VAL},
        (
            "INSERT INTO test_rollback VALUES (1, 'committed row 1', 100)",
            "INSERT INTO test_rollback VALUES (2, 'committed row 2', 200)",
            COMMIT, "INSERT INTO test_rollback VALUES (3, 'gone', 300)", "UPDATE test_rollback SET val = 999 WHERE id = 1",
            ROLLBACK,
            "INSERT INTO test_rollback VALUES (4, 'after rollback', 400)", COMMIT, "SAVEPOINT first_one",
            "INSERT INTO test_rollback VALUES (5, 'before savepoint', 500)", "SAVEPOINT second_one",
            "INSERT INTO test_rollback VALUES (6, 'gone', 600)", "ROLLBACK TO second_one",
            "INSERT INTO test_rollback VALUES (7, 'after partial rollback', 700)", COMMIT,
            "DELETE FROM test_rollback WHERE id = 2", COMMIT,
        ),
    ),
    "special-chars": Scenario(
        {"test_special": "id NUMBER PRIMARY KEY, label VARCHAR2(100), data VARCHAR2(500)"},
        (
            "INSERT INTO test_special VALUES (1, 'single quote', q'[it's a test]')",
            "INSERT INTO test_special VALUES (2, 'double quote', 'she said \"hello\"')",
            r"INSERT INTO test_special VALUES (3, 'backslash', 'path\to\file')",
            COMMIT, "INSERT INTO test_special VALUES (5, 'tab char', 'before' || CHR(9) || 'after')",
            "INSERT INTO test_special VALUES (6, 'newline', 'line1' || CHR(10) || 'line2')",
            "INSERT INTO test_special VALUES (7, 'cr+lf', 'line1' || CHR(13) || CHR(10) || 'line2')",
            COMMIT, "INSERT INTO test_special VALUES (8, 'spaces only', '   ')",
            "INSERT INTO test_special VALUES (9, 'leading trailing', '  padded  ')",
            COMMIT, "UPDATE test_special SET data = q'[updated: it's \"new\"]' WHERE id = 1", COMMIT,
        ),
    ),
    "timestamp-variants": Scenario(
        {
            "test_timestamps": "id NUMBER PRIMARY KEY, col_date DATE, col_ts0 TIMESTAMP(0), col_ts3 TIMESTAMP(3), "
            "col_ts6 TIMESTAMP(6), col_ts9 TIMESTAMP(9)"
        },
        (
            *moments(),
            "INSERT INTO test_timestamps (id) VALUES (4)",
            COMMIT, "UPDATE test_timestamps SET col_date = TO_DATE('2026-03-01 08', 'YYYY-MM-DD HH24'), "
            "col_ts3 = TIMESTAMP '2026-03-01 08:00:00.5', col_ts6 = TIMESTAMP '2026-03-01 08:00:00.654321', "
            "col_ts9 = TIMESTAMP '2026-03-01 08:00:00.987654321' WHERE id = 1",
            COMMIT, "UPDATE test_timestamps SET col_date = TO_DATE('2025-01-15 12', 'YYYY-MM-DD HH24'), "
            "col_ts6 = TIMESTAMP '2025-01-15 12:00:00.000001' WHERE id = 4",
            COMMIT, "DELETE FROM test_timestamps WHERE id = 2", COMMIT,
        ),
    ),
    "wide-rows": Scenario(
        {
            "test_wide": "id NUMBER PRIMARY KEY, col_short VARCHAR2(10), col_medium VARCHAR2(200), col_long1 VARCHAR2(4000), "
            "col_long2 VARCHAR2(4000)"
        },
        (
            "INSERT INTO test_wide VALUES (1, 'short', RPAD('M', 200, 'M'), RPAD('A', 4000, 'A'), RPAD('B', 4000, 'B'))",
            COMMIT, "INSERT INTO test_wide (id, col_short, col_long1) VALUES (2, 'half', RPAD('X', 4000, 'X'))",
            COMMIT, "UPDATE test_wide SET col_long1 = RPAD('C', 4000, 'C'), col_long2 = RPAD('D', 4000, 'D') WHERE id = 1",
            COMMIT, "UPDATE test_wide SET col_long1 = 'now short' WHERE id = 2",
            COMMIT, "UPDATE test_wide SET col_long2 = RPAD('Z', 4000, 'Z') WHERE id = 2",
            COMMIT, "DELETE FROM test_wide WHERE id = 1", COMMIT,
        ),
    ),
}  # fmt: skip
