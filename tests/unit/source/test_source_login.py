"""A hanging login ends as a transient error, and a connection that arrives later is closed."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import oracledb
import pytest

from redolake.errors import SourceUnavailable
from redolake.source.connection import ConnectParams
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
