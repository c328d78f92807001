"""What LogMiner showed on an Autonomous Database Serverless in January 2026, with default NLS settings and the online catalog
alone: texts with delimiter and ROWID.

Source: vijaybalebail/oracle_ADB_logminer, logminer_demo_output.txt. SQL*Plus had broken lines at blanks; a ROWID is `<row>`.
"""

from __future__ import annotations

TABLE = '"ADMIN"."TEST_LOGMINER_DEMO"'
CREATED = (
    "CREATE TABLE test_logminer_demo ( id NUMBER PRIMARY KEY, test_name VARCHAR2(100), test_value NUMBER, "
    "test_timestamp TIMESTAMP DEFAULT SYSTIMESTAMP, test_action VARCHAR2(50) )"
)
LOGGED = "ALTER TABLE test_logminer_demo ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
COLUMNS = '"ID","TEST_NAME","TEST_VALUE","TEST_TIMESTAMP","TEST_ACTION"'
ROWS = {
    1: ("Record Before LogMiner", 100, "26-JAN-26 01.00.20.295299 AM", "BEFORE_LOGMINER"),
    2: ("Another Pre-LogMiner Record", 200, "26-JAN-26 01.00.20.299999 AM", "BEFORE_LOGMINER"),
    3: ("Third Pre-LogMiner Record", 300, "26-JAN-26 01.00.20.302943 AM", "BEFORE_LOGMINER"),
    4: ("Record During LogMiner", 400, "26-JAN-26 01.00.33.022665 AM", "DURING_LOGMINER"),
    5: ("Another During-LogMiner Record", 500, "26-JAN-26 01.00.33.026036 AM", "DURING_LOGMINER"),
}
WORK = (
    *(
        f"INSERT INTO test_logminer_demo VALUES ({key}, '{name}', {value}, TO_TIMESTAMP('{at}', 'DD-MON-RR HH.MI.SSXFF AM'), "
        f"'{action}')"
        for key, (name, value, at, action) in ROWS.items()
    ),
    "UPDATE test_logminer_demo SET test_value = test_value + 10, test_action = 'UPDATED_DURING_LOGMINER' WHERE id <= 2",
    "DELETE FROM test_logminer_demo WHERE id = 3",
)


def _where(key: int, value: int, action: str) -> str:
    name, _, at, _ = ROWS[key]
    return (
        f"where \"ID\" = '{key}' and \"TEST_NAME\" = '{name}' and \"TEST_VALUE\" = '{value}' and "
        f"\"TEST_TIMESTAMP\" = TO_TIMESTAMP('{at}') and \"TEST_ACTION\" = '{action}' and ROWID = '<row>';"
    )


def _insert(key: int) -> str:
    name, value, at, action = ROWS[key]
    return f"insert into {TABLE}({COLUMNS}) values ('{key}','{name}','{value}',TO_TIMESTAMP('{at}'),'{action}');"


def _delete(key: int) -> str:
    return f"delete from {TABLE} {_where(key, ROWS[key][1], ROWS[key][3])}"


def _update(key: int, old: tuple[int, str], new: tuple[int, str]) -> str:
    value, action = new
    return f"update {TABLE} set \"TEST_VALUE\" = '{value}', \"TEST_ACTION\" = '{action}' {_where(key, *old)}"


_BEFORE = {key: (ROWS[key][1], ROWS[key][3]) for key in (1, 2)}
_AFTER = {key: (ROWS[key][1] + 10, "UPDATED_DURING_LOGMINER") for key in (1, 2)}
# Operation, SQL_REDO, SQL_UNDO.
SHOWN: tuple[tuple[str, str, str | None], ...] = (
    ("DDL", f"{CREATED};", None),
    ("DDL", f"{LOGGED};", None),
    *(("INSERT", _insert(key), _delete(key)) for key in ROWS),
    *(("UPDATE", _update(key, _BEFORE[key], _AFTER[key]), _update(key, _AFTER[key], _BEFORE[key])) for key in (1, 2)),
    ("DELETE", _delete(3), _insert(3)),
)
