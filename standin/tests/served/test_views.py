"""V$ and dictionary views through the unmodified driver, with different grants and containers."""

from __future__ import annotations

import oracledb
import pytest

from standin.serve import standin
from standin.tests.served.mining_client import failure, query, run


@pytest.fixture(scope="module")
def oracle():
    with standin() as running:
        with running.connect("SHOP") as shop:
            run(
                shop,
                """CREATE TABLE orders
                    (id NUMBER(9) CONSTRAINT orders_pk PRIMARY KEY, name VARCHAR2(40 CHAR) NOT NULL, at TIMESTAMP(3))""",
                "ALTER TABLE orders ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            )
        yield running


@pytest.fixture
def miner(oracle):
    with oracle.connect(oracle.capture_user) as connection:
        yield connection


@pytest.fixture
def dba(oracle):
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection:
        yield connection


def test_the_capture_user_reads_only_the_granted_views(miner):
    for view in (
        "v$database",
        "v$log",
        "v$archived_log",
        "v$thread",
        "v$log_history",
        "gv$transaction",
        "v$parameter",
        "cdb_tables",
    ):
        query(miner, f"SELECT * FROM {view}")
    for view in ("dba_users", "v$session", "dba_tables"):
        assert failure(query, miner, f"SELECT * FROM {view}").code == 942


def test_the_open_end_of_a_current_log_is_sent_exactly(miner):
    ((end,),) = query(miner, "SELECT next_change# FROM v$log WHERE status = 'CURRENT'")

    assert end == 2**64 - 1


def test_another_containers_rows_need_container_data(oracle, dba, miner):
    run(
        dba,
        'CREATE USER c##blind IDENTIFIED BY "pw" CONTAINER = ALL',
        "GRANT CREATE SESSION, SELECT ANY DICTIONARY TO c##blind CONTAINER = ALL",
    )
    sql = "SELECT COUNT(*) FROM cdb_tables WHERE con_id > 2 AND owner = 'SHOP'"

    assert query(miner, sql) == [(1,)]
    with oracle.connect("c##blind", password="pw") as blind:
        assert query(blind, sql) == [(0,)]


def test_a_join_of_dictionary_views_names_the_key(miner):
    run(miner, "ALTER SESSION SET CONTAINER = FREEPDB1")

    rows = query(
        miner,
        """SELECT k.column_name FROM all_constraints c JOIN all_cons_columns k
               ON k.owner = c.owner AND k.constraint_name = c.constraint_name AND k.table_name = c.table_name
            WHERE c.owner = 'SHOP' AND c.table_name = 'ORDERS' AND c.constraint_type = 'P' AND c.status = 'ENABLED'
            ORDER BY k.position""",
    )

    assert rows == [("ID",)]


def test_columns_show_type_and_segment(miner):
    run(miner, "ALTER SESSION SET CONTAINER = FREEPDB1")

    rows = query(
        miner,
        """SELECT column_name, data_type, data_length, char_length, data_precision, data_scale, nullable, segment_column_id
             FROM all_tab_cols WHERE owner = 'SHOP' AND table_name = 'ORDERS' ORDER BY internal_column_id""",
    )

    assert rows == [
        ("ID", "NUMBER", 22, 0, 9, 0, "N", 1),
        ("NAME", "VARCHAR2", 160, 40, None, None, "N", 2),
        ("AT", "TIMESTAMP(3)", 11, 0, None, 3, "Y", 3),
    ]


def test_a_log_switch_is_in_the_log_history(dba, miner):
    sql = "SELECT COUNT(*) FROM v$log_history"
    ((before,),) = query(miner, sql)

    run(dba, "ALTER SYSTEM SWITCH LOGFILE")

    assert query(miner, sql) == [(before + 1,)]


def test_an_open_transaction_is_listed_until_it_ends(oracle, miner):
    sql = "SELECT COUNT(*) FROM gv$transaction WHERE con_id > 2"
    with oracle.connect("SHOP") as shop:
        run(shop, "INSERT INTO orders VALUES (1, 'a', NULL)")
        assert query(miner, sql) == [(1,)]
        shop.rollback()

    assert query(miner, sql) == [(0,)]


def test_session_settings_follow_alter_session(miner):
    run(miner, "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD'")

    sql = "SELECT value FROM nls_session_parameters WHERE parameter = 'NLS_DATE_FORMAT'"
    assert query(miner, sql) == [("YYYY-MM-DD",)]


def test_a_database_without_containers_has_a_plain_user():
    with standin(is_cdb=False) as running, running.connect(running.capture_user) as connection:
        assert running.capture_user == "REDOLAKE"
        assert query(connection, "SELECT cdb FROM v$database") == [("NO",)]
