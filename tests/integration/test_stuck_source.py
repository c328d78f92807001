"""With a stuck source every call and every login ends in a transient error."""

from __future__ import annotations

import threading

import pytest

from redolake.config.limits import Retry
from redolake.errors import SourceBusy, SourceUnavailable, Transient
from redolake.source.connection import ConnectParams
from redolake.source.facts import read_redo_facts
from redolake.source.oracle import open_source
from redolake.source.session import OracleSession
from standin.serve import standin

ROWS = [(n, "x" * 1000) for n in range(100)]


@pytest.fixture
def stuck():
    """A database whose destinations are full and which has no free log: writers wait, logins are refused."""
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        params = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (id NUMBER(9) PRIMARY KEY, filler VARCHAR2(1000))")
        with open_source(params) as reader:
            oracle.faults.stick_archiver()
            writer = threading.Thread(target=write, args=(oracle,))
            writer.start()
            while oracle.database.archiver.condition != "FAILED":
                writer.join(0.01)
            yield oracle, params, reader
            oracle.faults.free_archiver()
            writer.join(30)


def write(oracle):
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for batch in range(20):
            cursor.executemany("INSERT INTO t VALUES (:1, :2)", [(batch * 1000 + n, text) for n, text in ROWS])
        connection.commit()


def test_a_stuck_archiver_refuses_logins_as_unavailable_and_readers_go_on(stuck):
    oracle, params, reader = stuck

    with pytest.raises(SourceUnavailable, match="ORA-00257") as caught:
        open_source(params, retry=Retry(initial_seconds=0.01, max_seconds=0.01, attempts=2))

    assert caught.value.ora_code == 257
    assert "space" in caught.value.cure
    assert read_redo_facts(reader).threads
    oracle.faults.free_archiver()
    open_source(params, retry=Retry(initial_seconds=0.1, max_seconds=1, attempts=20)).close()


def test_a_hanging_call_ends_at_its_timeout(stuck):
    oracle, params, _ = stuck
    oracle.faults.free_archiver()
    with open_source(params, call_timeout_seconds=1, retry=Retry(initial_seconds=0.1, max_seconds=1, attempts=20)) as source:
        source.query("current_scn")
        with oracle.database.lock, pytest.raises(Transient) as caught:
            source.query("redo_head")

    assert isinstance(caught.value, SourceBusy | SourceUnavailable)


def test_a_hanging_login_ends_at_its_deadline(stuck):
    oracle, params, _ = stuck
    oracle.faults.free_archiver()

    with oracle.database.lock, pytest.raises(SourceUnavailable, match="did not answer the login"):
        OracleSession(params, login_seconds=0.3)
