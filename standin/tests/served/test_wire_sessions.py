"""Logon, sessions, transactions, time-outs and faults, seen through the unmodified driver over TCP."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import oracledb
import pyarrow as pa
import pytest

from standin.interface import Done, OraError
from standin.tests.served.wire_fake import PASSWORD, SERVICE, FakeInstance, batch, number, rows
from standin.wire.server import Listener


@pytest.fixture
def instance() -> FakeInstance:
    return FakeInstance()


@pytest.fixture
def listener(instance: FakeInstance) -> Iterator[Listener]:
    with Listener(instance) as listener:
        yield listener


def connect(listener: Listener, user: str = "cdc", password: str = PASSWORD, dsn: str = "", **more) -> oracledb.Connection:
    return oracledb.connect(user=user, password=password, dsn=dsn or listener.dsn(SERVICE), **more)


def failure(call, *args, **kwargs):
    with pytest.raises(oracledb.Error) as caught:
        call(*args, **kwargs)
    return caught.value.args[0]


def test_the_driver_logs_on_and_receives_version_and_service(listener, instance):
    connection = connect(listener, program="redolake", machine="worker-1")

    assert connection.thin
    assert connection.version == "19.23.0.0.0"
    assert connection.service_name.upper() == SERVICE
    assert connection.is_healthy()
    connection.ping()
    assert instance.logons[0]["user"] == "CDC"
    assert (instance.logons[0]["program"], instance.logons[0]["machine"]) == ("redolake", "worker-1")


@pytest.mark.parametrize(("user", "password"), [("cdc", "wrong"), ("nobody", PASSWORD), ('"cdc"', PASSWORD), ("cdc", "")])
def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(listener, user, password):
    password = password or "x" * 40

    assert failure(connect, listener, user, password).full_code == "ORA-01017"


def test_a_quoted_user_name_keeps_its_case(listener, instance):
    connect(listener, '"Mixed"').close()

    assert instance.logons[0]["user"] == "Mixed"


def test_a_refused_logon_states_the_reason(listener):
    assert failure(connect, listener, "locked").full_code == "ORA-01045"


def test_an_unknown_service_is_refused_by_the_listener(listener):
    error = failure(connect, listener, dsn=listener.dsn("NOPE"))

    assert "DPY-6001" in error.message or error.full_code == "DPY-6001"


def test_a_long_connect_string_is_read_from_a_separate_packet(listener, instance):
    address = f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={listener.port}))"
    data = f"(CONNECT_DATA=(SERVICE_NAME={SERVICE})(INSTANCE_NAME=FREE2)(SERVER=DEDICATED))"

    connect(listener, dsn=f"(DESCRIPTION=(CONNECT_TIMEOUT=20){address}{data})", program="p" * 200).close()

    assert instance.logons[0]["instance"] == "FREE2"
    assert instance.logons[0]["program"] == "p" * 200


def test_commit_and_rollback_clear_the_transaction_flag(listener, instance):
    def insert(session, rows):
        session.in_transaction = True
        return Done([1])

    instance.answers["insert into t values (1)"] = insert
    connection = connect(listener)
    cursor = connection.cursor()
    flags = []
    for end in (connection.commit, connection.rollback):
        cursor.execute("insert into t values (1)")
        flags.append(connection.transaction_in_progress)
        end()
        flags.append(connection.transaction_in_progress)

    assert flags == [True, False, True, False]
    assert [e for e in instance.sessions[0].events if isinstance(e, str)] == ["commit", "rollback"]


def test_autocommit_commits_with_the_statement(listener, instance):
    instance.answers["insert into t values (1)"] = lambda *_: Done([1])
    connection = connect(listener)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("insert into t values (1)")
    cursor.execute("insert into t values (1)")

    assert instance.sessions[0].events.count("commit") == 2


def test_module_action_and_schema_arrive_with_the_next_call(listener, instance):
    connection = connect(listener)
    connection.module, connection.action, connection.client_identifier = "mine", "window 7", "ü"
    connection.current_schema = "SHOP"
    connection.ping()

    assert ("info", "mine", "window 7", "ü") in instance.sessions[0].events
    assert ("schema", "SHOP") in instance.sessions[0].events


def test_a_schema_that_does_not_exist_fails_the_call_and_not_the_session(listener):
    connection = connect(listener)
    connection.current_schema = "NOBODY"

    assert failure(connection.ping).full_code == "ORA-01435"
    connection.current_schema = "SHOP"
    assert connection.cursor().execute("select 1 from dual").fetchone() == (1,)


def test_closing_a_connection_closes_its_session_before_close_returns(listener, instance):
    connection = connect(listener)
    connection.close()

    assert instance.sessions[0].events[-1] == "close"


def test_a_killed_client_leaves_no_session(listener, instance):
    connection = connect(listener)
    del connection

    assert instance.closed.acquire(timeout=10)
    assert instance.sessions[0].events.count("close") == 1


def test_many_sessions_work_at_once(listener, instance):
    values = pa.array(range(20_000))
    instance.answers["select n from t"] = lambda *_: rows([number()], batch(values))
    seen: list[int] = []

    def work():
        with connect(listener) as connection:
            cursor = connection.cursor()
            cursor.arraysize = 3_000
            seen.append(sum(n for (n,) in cursor.execute("select n from t")))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert seen == [sum(range(20_000))] * 6
    assert len({session.number for session in instance.sessions}) == 6


@pytest.mark.parametrize("where", ["execute", "fetch"])
def test_a_call_that_times_out_is_cancelled_and_the_connection_stays_usable(listener, instance, where):
    def slow(session, rows_):
        if where == "execute":
            next(session.run_until_cancelled())
        return rows([number()], *[]) if where == "execute" else _slow_rows(session)

    def _slow_rows(session):
        answer = rows([number()])
        answer.batches = session.run_until_cancelled()
        return answer

    instance.answers["select slow"] = slow
    connection = connect(listener)
    cursor = connection.cursor()
    connection.call_timeout = 200
    started = time.monotonic()

    assert failure(cursor.execute, "select slow").full_code == "DPY-4024"
    assert time.monotonic() - started < 5
    connection.call_timeout = 0
    for _ in range(3):
        assert cursor.execute("select 1 from dual").fetchone() == (1,)


def test_a_disconnected_client_cancels_its_running_call(listener, instance):
    entered, cancelled = threading.Event(), threading.Event()

    def slow(session, _):
        entered.set()
        try:
            next(session.run_until_cancelled())
        finally:
            cancelled.set()

    instance.answers["select slow"] = slow
    connection = connect(listener)
    connection.call_timeout = 60_000
    thread = threading.Thread(target=lambda: failure(connection.cursor().execute, "select slow"), daemon=True)
    thread.start()
    assert entered.wait(10)
    listener.close()

    assert cancelled.wait(10)
    thread.join(10)
    assert not thread.is_alive()


def test_a_failure_inside_the_driver_is_broken_off_and_reset(listener):
    connection = connect(listener)
    cursor = connection.cursor()
    cursor.outputtypehandler = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        cursor.execute("select 1 from dual")
    cursor.outputtypehandler = None

    assert cursor.execute("select 1 from dual").fetchone() == (1,)


def test_closing_the_listener_kills_its_sessions(instance):
    listener = Listener(instance)
    listener.start()
    connection = connect(listener)
    listener.close()

    assert failure(connection.ping).full_code in ("DPY-4011", "DPY-1001")
    assert instance.sessions[0].events[-1] == "close"
    assert failure(connect, listener).full_code.startswith("DPY-")


def test_a_listener_refuses_clients_while_the_fault_lasts(listener):
    listener.network_faults.refuse = 12528
    refused = failure(connect, listener)
    listener.network_faults.refuse = None

    assert "12528" in refused.message
    connect(listener).close()


def test_a_listener_cuts_the_connection_during_a_fetch(listener, instance):
    instance.answers["select n from t"] = lambda *_: rows([number()], batch(pa.array(range(1000))))
    listener.network_faults.cut_fetches(500)
    cursor = connect(listener).cursor()
    cursor.prefetchrows = cursor.arraysize = 100
    cursor.execute("select n from t")

    assert len(cursor.fetchmany(500)) == 500
    assert failure(cursor.fetchmany, 100).full_code == "DPY-4011"


def test_a_bug_in_the_database_fails_only_the_call(listener, instance):
    def bug(*_):
        raise KeyError("a bug")

    instance.answers["select bug"] = bug
    cursor = connect(listener).cursor()
    error = failure(cursor.execute, "select bug")

    assert error.full_code == "ORA-00604"
    assert "a bug" in error.message
    assert cursor.execute("select 1 from dual").fetchone() == (1,)


def test_an_error_has_code_offset_and_nested_lines(listener, instance):
    def nested(*_):
        raise OraError(6550, "line 1, column 7:", 7, ("PLS-00201: identifier 'X' must be declared",))

    instance.answers["begin x; end;"] = nested
    cursor = connect(listener).cursor()
    unknown = failure(cursor.execute, "select * from nope")
    block = failure(cursor.execute, "begin x; end;")

    assert (unknown.code, unknown.full_code, unknown.offset) == (942, "ORA-00942", 14)
    assert block.code == 6550
    assert "PLS-00201" in block.message


def test_bytes_that_are_not_tns_end_only_their_own_connection(listener):
    with socket.create_connection((listener.host, listener.port)) as raw_client:
        raw_client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        raw_client.settimeout(10)
        assert raw_client.recv(100) == b""
    connect(listener).close()
