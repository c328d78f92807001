"""Airflow connections become parameters. Errors name what is not understood and never show a password."""

from __future__ import annotations

import json

import oracledb
import pytest

from redolake.errors import ConfigurationError
from redolake.source.connection import ConnectParams, connect_params, connection_from_json, connection_from_uri, shown_dsn

URIS = {
    "host, port and service": ("oracle://scott:tiger@db:1530/ORCL", "db:1530/ORCL", {}),
    "the default port": ("oracle://scott:tiger@db/ORCL", "db:1521/ORCL", {}),
    "an address of IPv6": ("oracle://scott:tiger@[::1]/ORCL", "[::1]:1521/ORCL", {}),
    "service_name before the path": ("oracle://scott:tiger@db/x?service_name=PDB1", "db:1521/PDB1", {}),
    "a wallet over TLS": (
        "oracle://scott:tiger@db:2484/PDB1?protocol=tcps&wallet_location=%2Fetc%2Fw&ssl_server_dn_match=false",
        "tcps://db:2484/PDB1",
        {"wallet_location": "/etc/w", "ssl_server_dn_match": False},
    ),
    "a complete DSN": ("oracle://scott:tiger@?dsn=(DESCRIPTION%3D...)", "(DESCRIPTION=...)", {}),
    "Airflow's __extra__": (
        "oracle://scott:tiger@db/PDB1?__extra__=%7B%22expire_time%22%3A+5%7D",
        "db:1521/PDB1",
        {"expire_time": 5},
    ),
    "a SID": (
        "oracle://scott:tiger@db?sid=ORCL",
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db)(PORT=1521))(CONNECT_DATA=(SID=ORCL)))",
        {},
    ),
}


@pytest.mark.parametrize(("uri", "dsn", "extra"), URIS.values(), ids=URIS)
def test_a_uri_is_parsed(uri, dsn, extra):
    assert connection_from_uri(uri) == ConnectParams("scott", "tiger", dsn, extra)


def test_percent_codes_in_user_and_password_are_decoded():
    params = connection_from_uri("oracle://C%23%23CDC:p%40ss%2Fword@db/PDB1")

    assert (params.user, params.password) == ("C##CDC", "p@ss/word")


def test_json_gives_the_same_as_a_uri():
    body = {"conn_type": "oracle", "login": "scott", "password": "tiger", "host": "db", "port": 1530, "schema": "PDB1"}
    extra = {"mode": "sysdba", "thick_mode": True, "lib_dir": "/opt/ic"}

    for form in (extra, json.dumps(extra)):
        params = connection_from_json(json.dumps(body | {"extra": form}))
        mode = {"mode": oracledb.AUTH_MODE_SYSDBA}
        assert params == ConnectParams("scott", "tiger", "db:1530/PDB1", mode, thick=True, lib_dir="/opt/ic")


def test_the_environment_variable_is_the_connection_id_in_upper_case():
    params = connect_params(
        "shop_db", {"AIRFLOW_CONN_SHOP_DB": ' {"login": "a", "password": "b", "host": "h", "schema": "s"} '}
    )

    assert (params.user, params.dsn) == ("a", "h:1521/s")


def test_a_missing_connection_names_its_environment_variable():
    with pytest.raises(ConfigurationError, match="AIRFLOW_CONN_SHOP_DB is not set"):
        connect_params("shop_db", {})


def test_one_error_reports_every_mistake():
    with pytest.raises(ConfigurationError) as caught:
        connection_from_uri("postgres://db?walet_location=x&expire_time=soon")

    assert [f.what.split(":")[0] for f in caught.value.findings] == [
        "is of type 'postgres'", "names no user", "extra has the unknown key walet_location",
        "extra expire_time has a wrong value",
        "names no host and service",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["oracle://u:se%cret@h:x/s", '{"password": "secret'], ids=["uri", "json"])
def test_no_message_shows_the_password(text):
    with pytest.raises(ConfigurationError) as caught:
        connect_params("x", {"AIRFLOW_CONN_X": text})

    assert "cret" not in str(caught.value)


OPTIONS = {
    "a number": ("stmtcachesize", "50", 50),
    "a flag": ("use_tcp_fast_open", "yes", True),
    "text": ("server_type", "pooled", "pooled"),
    "a member of the driver's enums": ("purity", "self", oracledb.PURITY_SELF),
    "a mode by the name of SQL*Plus": ("mode", "SYSBACKUP", oracledb.AUTH_MODE_SYSBKP),
}


@pytest.mark.parametrize(("key", "text", "value"), OPTIONS.values(), ids=OPTIONS)
def test_parameters_of_the_driver_are_passed_on_with_their_types(key, text, value):
    assert connection_from_uri(f"oracle://scott:tiger@db/ROOT?{key}={text}").extra == {key: value}


def test_lists_and_objects_of_json_are_passed_on():
    extra = {"appcontext": [["ctx", "name", "value"]], "access_token": ["token", "key"], "edition": None}
    body = {"login": "scott", "host": "db", "schema": "ROOT", "extra": extra}

    assert connection_from_json(json.dumps(body)).extra == {
        "appcontext": [("ctx", "name", "value")],
        "access_token": ("token", "key"),
    }


MISTAKES = {
    "a misspelt key": ("stmtcachsize=50", "unknown key stmtcachsize", "did you mean stmtcachesize?"),
    "a key unlike any": ("qqq=1", "unknown key qqq", "pdb_service"),
    "a new password at each logon": ("newpassword=x", "unknown key newpassword", ""),
    "a number that is none": ("stmtcachesize=many", "stmtcachesize has a wrong value", "write a whole number"),
    "an unknown mode": ("mode=root", "mode has a wrong value", "sysdba"),
    "a flag that is none": ("thick_mode=perhaps", "thick_mode has a wrong value", "true or false"),
    "two services without a root": ("pdb_only=true&pdb_service=PDB1", "pdb_only and names a second service", "leave out"),
    "a PDB's service beside a complete DSN": ("dsn=x&pdb_service=PDB1", "pdb_service beside a complete dsn", "pdb_dsn"),
}


@pytest.mark.parametrize(("query", "what", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_extra_is_a_finding_with_its_cure(query, what, cure):
    with pytest.raises(ConfigurationError) as caught:
        connection_from_uri(f"oracle://scott:tiger@db/ROOT?{query}")

    (found,) = caught.value.findings
    assert what in found.what
    assert cure in found.cure


PDB_SERVICES = {
    "a service on the same host": ("pdb_service=PDB1", "db:1521/PDB1"),
    "over TLS": ("protocol=tcps&pdb_service=PDB1", "tcps://db:1521/PDB1"),
    "a DSN": ("pdb_dsn=other:1530/PDB1", "other:1530/PDB1"),
    "none": ("sdu=8192", None),
}


@pytest.mark.parametrize(("query", "dsn"), PDB_SERVICES.values(), ids=PDB_SERVICES)
def test_the_pdb_may_have_its_own_service(query, dsn):
    assert connection_from_uri(f"oracle://scott:tiger@db/ROOT?{query}").pdb_dsn == dsn


@pytest.mark.parametrize(("query", "pdb_only"), [("pdb_only=true", True), ("pdb_only=no", False), ("sdu=8192", False)])
def test_the_service_may_lead_to_a_pdb_without_its_root(query, pdb_only):
    assert connection_from_uri(f"oracle://scott:tiger@db/PDB1?{query}").pdb_only is pdb_only


SECRET_DSNS = {
    "an Easy Connect string": ("tcps://db/ROOT?wallet_location=/w&wallet_password=tiger&sdu=1000", "tcps://db:1521/ROOT"),
    "a password with a blank": ("tcps://db:2484/ROOT?wallet_password=a tiger&sdu=1000", "tcps://db:2484/ROOT"),
    "a password with a bracket": ("db/ROOT?wallet_password=a)tiger", "db:1521/ROOT"),
    "a quoted password": (
        '(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=R))'
        '(SECURITY=(MY_WALLET_DIRECTORY=/w)(WALLET_PASSWORD="a) tiger")))', "tcps://db:2484/R"),
    "several addresses": ("tcps://a:1,b:2/R?wallet_password=tiger", "tcps://a:1,b:2/R"),
    "a SID, IPv6": (
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=::1)(PORT=1521))(CONNECT_DATA=(SID=X)(HTTPS_PROXY_PW=tiger)))",
        "[::1]:1521/X"),
    "another's secret": ("db/R?some_pass=tiger", "db:1521/R"),
    "a user in front": ("scott/tiger@db:1521/x", "***"),
    "no address": ("(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=x))(SECURITY=(WALLET_PASSWORD=tiger)))", "***"),
    "a store of a cloud": ("config-azure://x?client_secret=tiger", "***"),
    "a directory": ("ldap://h/x?pw=tiger", "***"),
    "an alias": ("shop_high", "shop_high"),
}  # fmt: skip


@pytest.mark.parametrize(("dsn", "shown"), SECRET_DSNS.values(), ids=SECRET_DSNS)
def test_a_dsn_is_shown_without_its_secrets(dsn, shown):
    assert shown_dsn(dsn) == shown


def test_no_repr_shows_a_secret():
    dsn = "tcps%3A%2F%2Fdb%2FROOT%3Fwallet_password%3Dtiger3"

    assert "tiger" not in repr(connection_from_uri(f"oracle://scott:tiger@?wallet_password=tiger2&dsn={dsn}&pdb_dsn={dsn}"))
