from __future__ import annotations

import pytest

from standin.engine import catalog
from standin.engine.catalog import register_view
from standin.interface import ColumnInfo, OraError
from tests.unit.standin.engine.engine_world import code_of, logon, open_database, run


@pytest.fixture
def root(database):
    return logon(database, "SYS", "FREE")


@pytest.fixture
def miner(database, root):
    run(root, 'CREATE USER c##miner IDENTIFIED BY "Secret" CONTAINER = ALL')
    run(root, "GRANT CREATE SESSION, SET CONTAINER TO c##miner CONTAINER = ALL")
    return logon(database, "C##MINER", "FREE")


def test_services_and_passwords_follow_the_containers(database, miner):
    assert (miner.container, logon(database).container) == (1, 3)
    assert [database.knows_service(s) for s in ("free", "FREEPDB1", "other")] == [True, True, False]
    assert database.password_of("C##MINER", "FREEPDB1") == "Secret"
    assert database.password_of("SHOP", "FREE") is None


@pytest.mark.parametrize(
    ("user", "service", "code"), [("SHOP", "NOWHERE", 12514), ("SHOP", "FREE", 1017), ("U", "FREEPDB1", 1045)]
)
def test_a_logon_that_must_not_succeed(database, user, service, code):
    run(logon(database, "SYS"), "CREATE USER u IDENTIFIED BY u")

    with pytest.raises(OraError) as refused:
        logon(database, user, service)
    assert refused.value.code == code


def test_a_common_user_switches_containers_and_sees_their_tables(database, shop, root, miner):
    run(shop, "CREATE TABLE t (id NUMBER)")
    assert code_of(miner, "SELECT * FROM shop.t") == 942
    run(miner, "ALTER SESSION SET CONTAINER = freepdb1")
    assert code_of(miner, "SELECT * FROM shop.t") == 942
    run(root, "GRANT SELECT ANY TABLE TO c##miner")

    assert run(miner, "SELECT * FROM shop.t") == []
    assert code_of(miner, "ALTER SESSION SET CONTAINER = nowhere") == 65011
    assert code_of(shop, "ALTER SESSION SET CONTAINER = CDB$ROOT") == 1031
    run(miner, "ALTER SESSION SET CONTAINER = CDB$ROOT")
    assert run(miner, "SELECT SYS_CONTEXT('USERENV','CON_NAME') FROM dual") == [("CDB$ROOT",)]


def test_the_container_stays_while_a_transaction_is_open(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    sys = logon(database, "SYS")
    run(sys, "INSERT INTO shop.t VALUES (1)")

    assert code_of(sys, "ALTER SESSION SET CONTAINER = CDB$ROOT") == 65023


def test_flashback_needs_its_own_right(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    dba = logon(database, "SYS")
    run(dba, "CREATE USER reader IDENTIFIED BY x")
    run(dba, "GRANT CREATE SESSION TO reader")
    run(shop, "GRANT SELECT ON t TO reader")
    reader, scn = logon(database, "READER"), database.clock.scn
    now = code_of(reader, "SELECT * FROM shop.t")
    refused = code_of(reader, "SELECT * FROM shop.t AS OF SCN :1", scn)
    run(shop, "GRANT FLASHBACK ON t TO reader")

    assert (now, refused) == (0, 1031)
    assert run(reader, "SELECT * FROM shop.t AS OF SCN :1", database.clock.scn) == []
    assert code_of(reader, "DELETE FROM shop.t") == 1031
    run(shop, "REVOKE SELECT ON t FROM reader")
    run(shop, "REVOKE FLASHBACK ON t FROM reader")
    assert code_of(reader, "SELECT * FROM shop.t") == 942


@pytest.mark.parametrize("grant", ["SELECT ON SYS.V_$SECRET", "SELECT_CATALOG_ROLE", "SELECT ANY DICTIONARY"])
def test_a_view_without_a_grant_does_not_exist(monkeypatch, database, shop, grant):
    monkeypatch.setattr(catalog, "VIEWS", {})
    register_view("V$SECRET", [ColumnInfo("X", "NUMBER")], lambda session, wanted: [(1,)])
    refused = code_of(shop, "SELECT * FROM v$secret")
    run(logon(database, "SYS"), f"GRANT {grant} TO shop")

    assert refused == 942
    assert run(shop, "SELECT * FROM v$secret") == run(shop, "SELECT x FROM sys.v_$secret") == [(1,)]
    assert code_of(logon(database, "SYS"), "GRANT SELECT ON v$secret TO shop") == 2030


def test_only_a_dba_alters_the_system(database, shop, root):
    assert code_of(shop, "ALTER SYSTEM SWITCH LOGFILE") == 1031
    assert code_of(logon(database, "SYS"), "ALTER SYSTEM SWITCH LOGFILE") == 65040
    run(root, "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH")

    assert database.state.parameters["archive_lag_target"] == "300"


def test_a_common_users_name_belongs_to_the_root(database, root):
    assert code_of(root, "CREATE USER local IDENTIFIED BY x") == 65096
    assert code_of(logon(database, "SYS"), "CREATE USER c##common IDENTIFIED BY x") == 65094


def test_a_database_without_containers():
    database = open_database(is_cdb=False)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(shop, "INSERT INTO t VALUES (1)")
    shop.commit()

    assert run(shop, "SELECT id FROM t") == [(1,)]
    assert (shop.container, database.knows_service("FREEPDB1")) == (0, False)
    assert code_of(logon(database, "SYS"), "ALTER SESSION SET CONTAINER = CDB$ROOT") == 65090
    database.close()


def test_a_dropped_user_takes_his_tables_along(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    shop.close()
    dba = logon(database, "SYS")

    assert code_of(dba, "DROP USER shop") == 1922
    run(dba, "DROP USER shop CASCADE")
    assert database.state.tables == {}
