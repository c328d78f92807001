"""Forms of real schemas: local key indexes, foreign keys to the own table, sequences that cycle, and their dictionary views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest

from standin.serve import standin

BY_MONTH = "PARTITION BY RANGE (d) INTERVAL (NUMTOYMINTERVAL(1, 'MONTH')) (PARTITION p VALUES LESS THAN (DATE '2020-01-01'))"
BY_DAY = "PARTITION BY RANGE (d) INTERVAL (INTERVAL '1' DAY) (PARTITION p VALUES LESS THAN (DATE '2020-01-01'))"


@pytest.fixture(scope="module")
def cursor() -> Iterator[Any]:
    with standin() as running, running.connect("SHOP") as connection, connection.cursor() as opened:
        yield opened


def code_of(cursor: Any, statement: str) -> str | None:
    try:
        cursor.execute(statement)
    except oracledb.Error as error:
        return str(error.args[0].full_code)
    return None


@pytest.mark.parametrize(
    "form",
    [
        "USING INDEX STORAGE (INITIAL 64K) COMPUTE STATISTICS",
        "USING INDEX LOCAL",
        "USING INDEX TABLESPACE users LOCAL",
        "USING INDEX GLOBAL",
        "USING INDEX REVERSE ENABLE VALIDATE",
    ],
)
def test_the_index_of_a_key_may_be_local_or_global(cursor: Any, form: str) -> None:
    columns = f"id NUMBER(9), d DATE, CONSTRAINT parts_pk PRIMARY KEY (id, d) {form}"
    cursor.execute(f"CREATE TABLE parts ({columns}) PARTITION BY RANGE (d) (PARTITION p VALUES LESS THAN (MAXVALUE))")
    cursor.execute("INSERT INTO parts VALUES (1, DATE '2020-01-01')")

    assert code_of(cursor, "INSERT INTO parts VALUES (1, DATE '2020-01-01')") == "ORA-00001"
    cursor.execute("DROP TABLE parts PURGE")


@pytest.mark.parametrize(
    "columns",
    [
        "id NUMBER(9), boss NUMBER(9), CONSTRAINT f FOREIGN KEY (boss) REFERENCES staff (id), CONSTRAINT k PRIMARY KEY (id)",
        "boss NUMBER(9) REFERENCES staff (id), id NUMBER(9) PRIMARY KEY",
        "boss NUMBER(9) REFERENCES staff, id NUMBER(9), CONSTRAINT k PRIMARY KEY (id)",
        "id NUMBER(9), boss NUMBER(9), FOREIGN KEY (boss) REFERENCES staff (id) ON DELETE CASCADE, UNIQUE (id)",
    ],
)
def test_a_foreign_key_may_stand_before_the_key_of_its_own_table(cursor: Any, columns: str) -> None:
    cursor.execute(f"CREATE TABLE staff ({columns})")
    cursor.execute("INSERT INTO staff (id, boss) VALUES (1, NULL)")
    cursor.execute("INSERT INTO staff (id, boss) VALUES (2, 1)")

    assert code_of(cursor, "INSERT INTO staff (id, boss) VALUES (3, 9)") == "ORA-02291"
    cursor.execute("DROP TABLE staff PURGE")


def test_a_foreign_key_to_the_own_table_may_be_added_with_its_key(cursor: Any) -> None:
    cursor.execute("CREATE TABLE staff (id NUMBER(9), boss NUMBER(9))")
    cursor.execute("ALTER TABLE staff ADD (FOREIGN KEY (boss) REFERENCES staff (id), PRIMARY KEY (id))")

    assert code_of(cursor, "ALTER TABLE staff ADD (FOREIGN KEY (id) REFERENCES staff (boss))") == "ORA-02270"
    cursor.execute("DROP TABLE staff PURGE")


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ("MAXVALUE 3 CYCLE NOCACHE", [1, 2, 3, 1]),
        ("START WITH 9 INCREMENT BY -1 MAXVALUE 10 MINVALUE 8 CYCLE CACHE 2 ORDER", [9, 8, 10, 9]),
        ("MAXVALUE 2 NOCACHE", [1, 2, "ORA-08004"]),
        ("INCREMENT BY -2", [-1, -3]),
        ("START WITH 5 INCREMENT BY 10 NOMAXVALUE NOMINVALUE NOCYCLE NOORDER", [5, 15]),
    ],
)
def test_a_sequence_ends_or_begins_again_at_its_limit(cursor: Any, options: str, numbers: list[Any]) -> None:
    cursor.execute(f"CREATE SEQUENCE counted {options}")

    found = []
    for _ in numbers:
        code = code_of(cursor, "SELECT counted.NEXTVAL FROM dual")
        found.append(code or cursor.fetchone()[0])
    assert found == numbers
    cursor.execute("DROP SEQUENCE counted")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("CYCLE", "ORA-04015"),
        ("INCREMENT BY -1 CYCLE", "ORA-04014"),
        ("MAXVALUE 5 CYCLE", "ORA-04013"),
        ("INCREMENT BY 0", "ORA-04002"),
        ("MINVALUE 5 MAXVALUE 4", "ORA-04004"),
        ("START WITH 0 MINVALUE 1", "ORA-04006"),
        ("START WITH 9 MAXVALUE 8", "ORA-04008"),
    ],
)
def test_a_sequence_that_contradicts_itself_is_refused(cursor: Any, options: str, code: str) -> None:
    assert code_of(cursor, f"CREATE SEQUENCE counted {options}") == code


def test_the_dictionary_shows_sequences_views_and_triggers(cursor: Any) -> None:
    for statement in (
        "CREATE TABLE orders (id NUMBER(9) PRIMARY KEY, note VARCHAR2(9))",
        "CREATE SEQUENCE numbered MAXVALUE 99 CYCLE CACHE 10",
        "ALTER SEQUENCE numbered INCREMENT BY 2",
        "CREATE VIEW noted AS SELECT id FROM orders",
        "CREATE TRIGGER named BEFORE INSERT OR UPDATE ON orders FOR EACH ROW WHEN (NEW.id IS NULL) "
        "BEGIN :NEW.id := numbered.NEXTVAL; END;",
        "ALTER TRIGGER named DISABLE",
        "SELECT numbered.NEXTVAL FROM dual",
    ):
        cursor.execute(statement)
    shown = "min_value, max_value, increment_by, cycle_flag, order_flag, cache_size, last_number"

    cursor.execute(f"SELECT sequence_name, {shown} FROM user_sequences")
    assert cursor.fetchall() == [("NUMBERED", 1, 99, 2, "Y", "N", 10, 21)]
    cursor.execute("SELECT sequence_owner, sequence_name FROM all_sequences")
    assert cursor.fetchall() == [("SHOP", "NUMBERED")]
    cursor.execute("SELECT view_name, text FROM user_views")
    assert cursor.fetchall() == [("NOTED", "SELECT id FROM orders")]
    cursor.execute("SELECT trigger_name, trigger_type, triggering_event, table_name, when_clause, status FROM user_triggers")
    assert cursor.fetchall() == [("NAMED", "BEFORE EACH ROW", "INSERT OR UPDATE", "ORDERS", "NEW.id IS NULL", "DISABLED")]


def test_sys_guid_gives_each_row_a_value_of_its_own(cursor: Any) -> None:
    cursor.execute("CREATE TABLE guids (id RAW(16) DEFAULT SYS_GUID() PRIMARY KEY, n NUMBER(1))")
    cursor.execute("INSERT INTO guids (n) VALUES (1)")
    cursor.execute("INSERT INTO guids (id, n) VALUES (SYS_GUID(), 2)")
    cursor.execute("ALTER TABLE guids ADD (other RAW(16) DEFAULT SYS_GUID() NOT NULL)")

    cursor.execute("SELECT id, other, SYS_GUID() FROM guids")
    found = [value for row in cursor for value in row]
    assert len(set(found)) == 6
    assert {len(value) for value in found} == {16}


@pytest.mark.parametrize(("parts", "code"), [(BY_MONTH, "ORA-01841"), (BY_DAY, "ORA-14300")], ids=["month", "day"])
def test_the_last_day_of_all_fits_no_interval_partition(cursor: Any, parts: str, code: str) -> None:
    cursor.execute(f"CREATE TABLE days (d DATE) {parts}")

    assert code_of(cursor, "INSERT INTO days VALUES (DATE '9999-12-31')") == code
    assert code_of(cursor, "INSERT INTO days VALUES (DATE '2021-02-28')") is None
    assert code_of(cursor, "INSERT INTO days VALUES (DATE '4000-01-01')") is None
    cursor.execute("SELECT high_value FROM user_tab_partitions WHERE table_name = 'DAYS' ORDER BY partition_position")
    high = [row[0][9:19] for row in cursor]
    assert high[1:] == (["2021-03-01", "4000-02-01"] if parts is BY_MONTH else ["2021-03-01", "4000-01-02"])
    cursor.execute("DROP TABLE days PURGE")


@pytest.mark.parametrize(
    "date",
    [
        "DATE '9999-12-31' + 1",
        "DATE '2024-01-01' + 99999999",
        "DATE '2024-01-01' + 9999999999",
        "ADD_MONTHS(DATE '9999-12-31', 1)",
        "ADD_MONTHS(DATE '0001-01-31', -1)",
        "TIMESTAMP '9999-12-31 23:59:59' + INTERVAL '1' SECOND",
    ],
)
def test_a_date_after_the_last_one_is_no_date(cursor: Any, date: str) -> None:
    """Before the first one Oracle has others, which the stand-in refuses here."""
    assert code_of(cursor, f"SELECT {date} FROM dual") == "ORA-01841"


def test_a_number_that_is_too_large_is_no_date(cursor: Any) -> None:
    assert code_of(cursor, "SELECT POWER(10, 120) * POWER(10, 120) FROM dual") == "ORA-01426"


def test_synonyms_and_stored_code_are_in_the_dictionary(cursor: Any) -> None:
    cursor.execute("CREATE TABLE places (id NUMBER(9))")
    cursor.execute("CREATE SYNONYM there FOR places")
    cursor.execute("CREATE PROCEDURE go AS\nBEGIN\n  NULL;\nEND;")

    cursor.execute("SELECT synonym_name, table_owner, table_name, db_link FROM user_synonyms")
    assert cursor.fetchall() == [("THERE", "SHOP", "PLACES", None)]
    cursor.execute("SELECT owner, synonym_name FROM all_synonyms WHERE table_name = 'PLACES'")
    assert cursor.fetchall() == [("SHOP", "THERE")]
    cursor.execute("SELECT type, line, text FROM user_source WHERE name = 'GO' ORDER BY line")
    assert [row[:2] for row in cursor] == [("PROCEDURE", number) for number in range(1, 5)]
