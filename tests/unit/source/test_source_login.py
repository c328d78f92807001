"""A hanging login ends as a transient error, and a connection that arrives later is closed."""

from __future__ import annotations

import socket
import threading
import traceback
from contextlib import contextmanager

import oracledb
import pytest

from redolake.errors import RedolakeError, SourceUnavailable
from redolake.source.connection import ConnectParams
from redolake.source.failures import DriverError, without_dsn
from redolake.source.session import OracleSession


@contextmanager
def silent_listener():
    """Accept every connection and never answer, as a database with a stuck archiver may do."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}/FREE"


def test_an_unanswered_login_is_unavailable_after_the_deadline():
    with silent_listener() as dsn, pytest.raises(SourceUnavailable, match="did not answer the login within") as caught:
        OracleSession(ConnectParams("C##CDC", "secret-word", dsn), login_seconds=0.2)

    assert "ORA-00257" in caught.value.cure
    assert "secret-word" not in str(caught.value)


def test_a_connection_that_arrives_after_the_deadline_is_closed(monkeypatch):
    go_on, closed = threading.Event(), threading.Event()

    class Late:
        def close(self):
            closed.set()

    def connect(**_):
        go_on.wait(10)
        return Late()

    monkeypatch.setattr(oracledb, "connect", connect)
    with pytest.raises(SourceUnavailable):
        OracleSession(ConnectParams("C##CDC", "word", "db/FREE"), login_seconds=0.05)
    go_on.set()

    assert closed.wait(10)


def test_a_host_name_that_no_server_knows_is_unavailable_with_a_cure():
    with pytest.raises(SourceUnavailable, match="cannot be reached") as failed:
        OracleSession(ConnectParams("u", "p", "no-such-host.invalid:1521/FREE"))

    assert "host name" in failed.value.cure


@pytest.mark.parametrize(
    ("dsn", "says"),
    [
        ("(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=x))(SECURITY=(WALLET_PASSWORD=tiger)))", "no addresses are defined"),
        ("(DESCRIPTION=(ADDRESS=(HOST=db)))(WALLET_PASSWORD=tiger", "DPY-"),
        ("tcps:/db/x?wallet_password=tiger", "cannot"),
        ("scott/tiger@db:1521/x", "cannot parse connect string"),
        ("ldap://h/x?wallet_password=tiger", "DPY-"),
    ],
)
def test_an_error_shows_nothing_of_a_connect_string_that_the_driver_cannot_read(dsn, says):
    with pytest.raises(RedolakeError, match=says) as failed:
        OracleSession(ConnectParams("u", "p", dsn))

    assert "tiger" not in "".join(traceback.format_exception(failed.value))


def test_nothing_of_what_an_alias_leads_to_is_shown(tmp_path):
    (tmp_path / "tnsnames.ora").write_text("shop = (DESCRIPTION=(SECURITY=(WALLET_PASSWORD=tiger)))\n")
    with pytest.raises(RedolakeError, match="DPY-2049") as failed:
        OracleSession(ConnectParams("u", "p", "shop", {"config_dir": str(tmp_path)}))

    assert "tiger" not in "".join(traceback.format_exception(failed.value))
    assert "shop" in str(failed.value)


SECURE = (
    "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db)(PORT=2484))(SECURITY=(WALLET_LOCATION=/w/shop)(WALLET_PASSWORD=tiger))"
    "(CONNECT_DATA=(SERVICE_NAME=x)))"
)


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        (SECURE, f"ORA-12154: Cannot connect to database. Cannot find alias {SECURE[60:130]} in /net/tnsnames.ora."),
        (SECURE, "ORA-12170: Cannot connect. TCPS timeout of 60s for (SECURITY=( WALLET_PASSWORD = tiger ))"),
        ("tcps://db:2484/x?wallet_password=tiger", "ORA-12261: Syntax error in Easy Connect string x?wallet_password=tiger"),
        ("scott/tiger@db:1521/x", "ORA-12262: Could not resolve tiger@db in Easy Connect string scott/tiger@db:1521/x."),
    ],
)  # fmt: skip
def test_a_part_of_a_connect_string_that_oracles_client_shows_is_not_shown(dsn, message):
    found = without_dsn(DriverError(int(message[4:9]), message[:9], message), dsn)

    assert "tiger" not in found.message
    assert found.message.startswith(message[:9])


@pytest.mark.parametrize("message", ["ORA-12514: listener db does not know service x", "ORA-01017: invalid credential"])
def test_a_text_without_a_secret_is_shown_as_it_is(message):
    error = DriverError(int(message[4:9]), message[:9], message)
    assert without_dsn(error, SECURE) == error
