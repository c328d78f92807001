"""Users, services, logons and the switch of containers."""

from __future__ import annotations

import pytest

from standin.engine.sessions import catalog
from standin.engine.sessions.catalog import register_view
from standin.interface import ColumnInfo, OraError
from standin.tests.engine.engine_database import error_code, logon, open_database, run


@pytest.fixture
def root(database):
    return logon(database, "SYS", "FREE")


@pytest.fixture
def miner(database, root):
    run(root, 'CREATE USER c##miner IDENTIFIED BY "Secret" CONTAINER = ALL')
    run(root, "GRANT CREATE SESSION, SET CONTAINER TO c##miner CONTAINER = ALL")
    return logon(database, "C##MINER", "FREE")


def test_a_user_is_known_to_the_services_of_its_containers(database, miner):
    assert (miner.container, logon(database).container) == (1, 3)
    assert [database.knows_service(s) for s in ("free", "FREEPDB1", "other")] == [True, True, False]
    assert database.password_of("C##MINER", "FREEPDB1") == "Secret"
    assert database.password_of("SHOP", "FREE") is None


@pytest.mark.parametrize(
    ("user", "service", "code"), [("SHOP", "NOWHERE", 12514), ("SHOP", "FREE", 1017), ("U", "FREEPDB1", 1045)]
)
def test_a_logon_is_refused_with_oracles_code(database, user, service, code):
    run(logon(database, "SYS"), "CREATE USER u IDENTIFIED BY u")

    with pytest.raises(OraError) as refused:
        logon(database, user, service)
    assert refused.value.code == code


def test_a_common_user_switches_containers_and_sees_their_tables(database, shop, root, miner):
    run(shop, "CREATE TABLE t (id NUMBER)")
    assert error_code(miner, "SELECT * FROM shop.t") == 942
    run(miner, "ALTER SESSION SET CONTAINER = freepdb1")
    assert error_code(miner, "SELECT * FROM shop.t") == 942
    run(root, "GRANT SELECT ANY TABLE TO c##miner")

    assert run(miner, "SELECT * FROM shop.t") == []
    assert error_code(miner, "ALTER SESSION SET CONTAINER = nowhere") == 65011
    assert error_code(shop, "ALTER SESSION SET CONTAINER = CDB$ROOT") == 1031
    run(miner, "ALTER SESSION SET CONTAINER = CDB$ROOT")
    assert run(miner, "SELECT SYS_CONTEXT('USERENV','CON_NAME') FROM dual") == [("CDB$ROOT",)]


def test_set_container_is_refused_while_a_transaction_is_open(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    sys = logon(database, "SYS")
    run(sys, "INSERT INTO shop.t VALUES (1)")

    assert error_code(sys, "ALTER SESSION SET CONTAINER = CDB$ROOT") == 65023


def test_flashback_query_needs_the_flashback_privilege(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    dba = logon(database, "SYS")
    run(dba, "CREATE USER reader IDENTIFIED BY x")
    run(dba, "GRANT CREATE SESSION TO reader")
    run(shop, "GRANT SELECT ON t TO reader")
    reader, scn = logon(database, "READER"), database.clock.scn
    now = error_code(reader, "SELECT * FROM shop.t")
    refused = error_code(reader, "SELECT * FROM shop.t AS OF SCN :1", scn)
    run(shop, "GRANT FLASHBACK ON t TO reader")

    assert (now, refused) == (0, 1031)
    assert run(reader, "SELECT * FROM shop.t AS OF SCN :1", database.clock.scn) == []
    assert error_code(reader, "DELETE FROM shop.t") == 1031
    run(shop, "REVOKE SELECT ON t FROM reader")
    run(shop, "REVOKE FLASHBACK ON t FROM reader")
    assert error_code(reader, "SELECT * FROM shop.t") == 942


@pytest.mark.parametrize("grant", ["SELECT ON SYS.V_$SECRET", "SELECT_CATALOG_ROLE", "SELECT ANY DICTIONARY"])
def test_a_view_without_a_grant_does_not_exist(monkeypatch, database, shop, grant):
    monkeypatch.setattr(catalog, "VIEWS", {})
    register_view("V$SECRET", [ColumnInfo("X", "NUMBER")], lambda session, wanted: [(1,)])
    refused = error_code(shop, "SELECT * FROM v$secret")
    run(logon(database, "SYS"), f"GRANT {grant} TO shop")

    assert refused == 942
    assert run(shop, "SELECT * FROM v$secret") == run(shop, "SELECT x FROM sys.v_$secret") == [(1,)]
    assert error_code(logon(database, "SYS"), "GRANT SELECT ON v$secret TO shop") == 2030


def test_only_a_dba_alters_the_system(database, shop, root):
    assert error_code(shop, "ALTER SYSTEM SWITCH LOGFILE") == 1031
    assert error_code(logon(database, "SYS"), "ALTER SYSTEM SWITCH LOGFILE") == 65040
    run(root, "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH")

    assert database.state.parameters["archive_lag_target"] == "300"


def test_common_user_names_are_valid_in_the_root_only(database, root):
    assert error_code(root, "CREATE USER local IDENTIFIED BY x") == 65096
    assert error_code(logon(database, "SYS"), "CREATE USER c##common IDENTIFIED BY x") == 65094


def test_a_non_cdb_has_one_container():
    database = open_database(is_cdb=False)
    shop = logon(database)
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    run(shop, "INSERT INTO t VALUES (1)")
    shop.commit()

    assert run(shop, "SELECT id FROM t") == [(1,)]
    assert (shop.container, database.knows_service("FREEPDB1")) == (0, False)
    assert error_code(logon(database, "SYS"), "ALTER SESSION SET CONTAINER = CDB$ROOT") == 65090
    database.close()


def test_drop_user_cascade_drops_the_users_tables(database, shop):
    run(shop, "CREATE TABLE t (id NUMBER)")
    shop.close()
    dba = logon(database, "SYS")

    assert error_code(dba, "DROP USER shop") == 1922
    run(dba, "DROP USER shop CASCADE")
    assert database.state.tables == {}
