"""Network and listener faults, and fault injection from another process."""

from __future__ import annotations

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen

import oracledb
import pytest
from typer.testing import CliRunner

from standin.__main__ import app
from standin.control import InjectionFailed, inject_fault
from standin.faults.injection import faults
from standin.serve import standin
from standin.tests.served.mining_client import add, archived, failure, query, run, start
from tests.support.waiting import wait_until

DEADLINE = 30.0
CONTENTS = "SELECT scn FROM v$logmnr_contents"


@pytest.fixture(scope="module")
def oracle():
    with standin() as running:
        with running.connect("SHOP") as shop, shop.cursor() as cursor:
            run(shop, "CREATE TABLE t (id NUMBER)")
            cursor.executemany("INSERT INTO t VALUES (:1)", [(n,) for n in range(2000)])
            shop.commit()
        with running.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
            run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        yield running


@pytest.fixture
def miner(oracle):
    with oracle.connect(oracle.capture_user) as connection:
        yield connection


def accepts_clients(oracle):
    try:
        oracle.connect("SHOP").close()
    except oracledb.Error:
        return False
    return True


def mined(connection):
    """Return the number of redo rows, and the error that ended the fetch."""
    add(connection, *archived(connection))
    start(connection)
    count = 0
    with connection.cursor() as cursor:
        cursor.arraysize = cursor.prefetchrows = 100
        try:
            for _ in cursor.execute(CONTENTS):
                count += 1
        except oracledb.Error as error:
            return count, error.args[0].full_code
    return count, None


class TestNetwork:
    def test_the_network_is_cut_during_a_fetch_the_given_number_of_times(self, oracle, miner):
        whole, _ = mined(miner)
        oracle.faults.cut_network(after_rows=500, times=2)
        with oracle.connect(oracle.capture_user) as second, oracle.connect(oracle.capture_user) as third:
            seen = [mined(miner), mined(second), mined(third)]

        assert [error for _, error in seen] == ["DPY-4011", "DPY-4011", None]
        assert [count for count, _ in seen] == [500, 500, whole]

    def test_a_mended_network_is_not_cut(self, oracle, miner):
        oracle.faults.cut_network()
        oracle.faults.mend_network()

        assert mined(miner)[1] is None

    def test_a_fetch_fails_with_an_error_of_the_server(self, oracle, miner):
        whole, _ = mined(miner)
        oracle.faults.fail_fetches(code=4036, after_rows=500)

        assert mined(miner) == (500, "ORA-04036")
        assert mined(miner) == (whole, None)

    def test_an_internal_error_ends_the_connection(self, oracle, miner):
        oracle.faults.fail_fetches(code=600, after_rows=100)

        assert mined(miner) == (100, "DPY-4011")

    def test_a_stalled_call_times_out_or_continues(self, oracle, miner):
        with oracle.connect(oracle.capture_user) as patient, ThreadPoolExecutor() as pool:
            miner.call_timeout = 300
            oracle.faults.stall_network()
            waiting = pool.submit(query, patient, "SELECT 1 FROM dual")

            assert failure(query, miner, "SELECT 1 FROM dual").full_code == "DPY-4024"
            assert not waiting.done()

            oracle.faults.mend_network()
            assert waiting.result(timeout=DEADLINE) == [(1,)]
            assert query(miner, "SELECT 1 FROM dual") == [(1,)]

    def test_the_listener_refuses_clients_and_keeps_its_sessions(self, oracle, miner):
        oracle.faults.refuse_clients()
        unknown = failure(oracle.connect, "SHOP")
        oracle.faults.refuse_clients(12528)
        blocked = failure(oracle.connect, "SHOP")
        oracle.faults.admit_clients()

        assert (unknown.full_code, blocked.full_code) == ("DPY-6005", "DPY-6005")
        assert "DPY-6001" in unknown.message
        assert "Similar to ORA-12514" in unknown.message
        assert "Similar to ORA-12528" in blocked.message
        assert query(miner, "SELECT 1 FROM dual") == [(1,)]
        oracle.connect("SHOP").close()

    def test_a_stopped_listener_refuses_clients_until_it_starts(self, oracle, miner):
        port = oracle.port
        oracle.faults.stop_listener()
        gone = failure(oracle.connect, "SHOP")
        still = query(miner, "SELECT 1 FROM dual")
        oracle.faults.start_listener()

        assert gone.full_code == "DPY-6005"
        assert still == [(1,)]
        assert oracle.port == port
        oracle.connect("SHOP").close()

    def test_a_fault_injected_for_some_seconds_ends_by_itself(self, oracle):
        oracle.faults.inject("stop-listener", seconds=0.3)
        refused = failure(oracle.connect, "SHOP").full_code
        wait_until(lambda: accepts_clients(oracle))

        assert refused == "DPY-6005"

    def test_a_killed_session_fails_at_its_next_call(self, oracle, miner):
        with oracle.connect("SHOP") as shop:
            assert oracle.faults.kill_sessions("shop") == 1
            error = failure(query, shop, "SELECT 1 FROM dual")

        assert (error.full_code, error.code) == ("DPY-4011", 28)
        assert query(miner, "SELECT 1 FROM dual") == [(1,)]


class TestByName:
    def test_options_can_be_strings(self, oracle):
        oracle.faults.inject("refuse-clients", {"code": "12528"})
        try:
            assert "12528" in failure(oracle.connect, "SHOP").message
        finally:
            oracle.faults.inject("admit-clients")

    @pytest.mark.parametrize(
        ("name", "options", "seconds", "message"),
        [
            ("no-such-fault", {}, None, "there is no fault no-such-fault"),
            ("lag-archiver", {}, None, "lag-archiver needs thread"),
            ("lag-archiver", {"thread": "two"}, None, "thread is a whole number, not two"),
            ("lag-archiver", {"thread": "1", "depth": "3"}, None, "has no option depth"),
            ("reset-logs", {}, 3.0, "has no action that ends it"),
        ],
    )
    def test_a_wrong_request_names_the_mistake(self, oracle, name, options, seconds, message):
        with pytest.raises(ValueError, match=message):
            oracle.faults.inject(name, options, seconds)

    def test_the_action_that_ends_a_fault_needs_no_other_options(self):
        known = faults()
        for fault in known.values():
            if fault.ended_by:
                needed = {n for n, p in known[fault.ended_by].options.items() if p.default is p.empty}
                assert needed <= fault.options.keys()


class TestControl:
    def test_faults_are_injected_through_the_control_file(self, oracle, tmp_path):
        with standin() as running:
            file = tmp_path / "control.json"
            running.listen_for_faults(file)
            born = inject_fault(file, "reset-logs")

            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert born["resetlogs_scn"] == running.database.state.incarnation.resetlogs_scn
            with pytest.raises(ValueError, match="there is no fault"):
                inject_fault(file, "unknown")
            with pytest.raises(InjectionFailed, match="ORA-38743"):
                inject_fault(file, "reset-logs", {"to_scn": 2**40})
            assert inject_fault(file, "admit-clients") is None
        with pytest.raises(ConnectionError, match="no stand-in runs here"):
            inject_fault(file, "reset-logs")

    def test_a_wrong_token_injects_nothing(self, tmp_path):
        with standin() as running:
            file = tmp_path / "control.json"
            running.listen_for_faults(file)
            file.write_text(json.dumps({**json.loads(file.read_text()), "token": "guessed"}))

            with pytest.raises(InjectionFailed, match="token"):
                inject_fault(file, "reset-logs")
            assert len(running.database.state.incarnations) == 1

    def test_the_command_reaches_a_stand_in_in_another_process(self, tmp_path):
        command = [sys.executable, "-m", "standin"]
        ready = tmp_path / "port"
        started = Popen([*command, "start", "--port", "0", "--port-file", ready, "--data", tmp_path / "data"], stdout=PIPE)
        try:
            wait_until(lambda: ready.exists() or started.poll() is not None)
            assert started.poll() is None
            dsn = f"localhost:{ready.read_text().strip()}/FREE"
            of_it = ["--data", str(tmp_path / "data")]
            injected = CliRunner().invoke(app, ["inject-fault", "refuse-clients", "code=12528", *of_it])
            refused = failure(oracledb.connect, user="SYSTEM", password="oracle", dsn=dsn)
            wrong = CliRunner().invoke(app, ["inject-fault", "lag-archiver", *of_it])
        finally:
            started.terminate()
            started.communicate(timeout=DEADLINE)

        assert injected.exit_code == 0, injected.output
        assert "12528" in refused.message
        assert (wrong.exit_code, wrong.stderr) == (2, "lag-archiver needs thread\n")
        assert not os.path.exists(tmp_path / "data" / "control.json")


def test_the_docs_name_every_fault():
    page = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()

    assert [name for name in faults() if f"`{name}" not in page] == []
