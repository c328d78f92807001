"""The network and the listener go wrong, and levers are pulled from another process."""

from __future__ import annotations

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen
from subprocess import run as run_process

import oracledb
import pytest

from standin.control import LeverFailed, pull_lever
from standin.misbehave import levers
from standin.serve import standin
from tests.integration.standin.mining_client import add, archived, failure, query, run, start
from tests.waiting import wait_until

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


def answers(oracle):
    try:
        oracle.connect("SHOP").close()
    except oracledb.Error:
        return False
    return True


def mined(connection):
    """How many redo rows there are, and the error that ended the fetch."""
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
    def test_the_network_is_cut_in_the_middle_of_a_fetch_so_many_times(self, oracle, miner):
        whole, _ = mined(miner)
        oracle.misbehave.cut_network(after_rows=500, times=2)
        with oracle.connect(oracle.capture_user) as second, oracle.connect(oracle.capture_user) as third:
            seen = [mined(miner), mined(second), mined(third)]

        assert [error for _, error in seen] == ["DPY-4011", "DPY-4011", None]
        assert [count for count, _ in seen] == [500, 500, whole]

    def test_a_mended_network_is_not_cut(self, oracle, miner):
        oracle.misbehave.cut_network()
        oracle.misbehave.mend_network()

        assert mined(miner)[1] is None

    def test_a_fetch_fails_with_an_error_of_the_server(self, oracle, miner):
        whole, _ = mined(miner)
        oracle.misbehave.fail_fetches(code=4036, after_rows=500)

        assert mined(miner) == (500, "ORA-04036")
        assert mined(miner) == (whole, None)

    def test_an_internal_error_ends_the_connection(self, oracle, miner):
        oracle.misbehave.fail_fetches(code=600, after_rows=100)

        assert mined(miner) == (100, "DPY-4011")

    def test_a_stalled_call_is_ended_by_its_timeout_or_goes_on(self, oracle, miner):
        with oracle.connect(oracle.capture_user) as patient, ThreadPoolExecutor() as pool:
            miner.call_timeout = 300
            oracle.misbehave.stall_network()
            waiting = pool.submit(query, patient, "SELECT 1 FROM dual")

            assert failure(query, miner, "SELECT 1 FROM dual").full_code == "DPY-4024"
            assert not waiting.done()

            oracle.misbehave.mend_network()
            assert waiting.result(timeout=DEADLINE) == [(1,)]
            assert query(miner, "SELECT 1 FROM dual") == [(1,)]

    def test_the_listener_turns_clients_away_and_keeps_its_sessions(self, oracle, miner):
        oracle.misbehave.refuse_clients()
        unknown = failure(oracle.connect, "SHOP")
        oracle.misbehave.refuse_clients(12528)
        blocked = failure(oracle.connect, "SHOP")
        oracle.misbehave.admit_clients()

        assert (unknown.full_code, blocked.full_code) == ("DPY-6005", "DPY-6005")
        assert "DPY-6001" in unknown.message
        assert "Similar to ORA-12514" in unknown.message
        assert "Similar to ORA-12528" in blocked.message
        assert query(miner, "SELECT 1 FROM dual") == [(1,)]
        oracle.connect("SHOP").close()

    def test_nobody_listens_for_a_while(self, oracle, miner):
        port = oracle.port
        oracle.misbehave.stop_listener()
        gone = failure(oracle.connect, "SHOP")
        still = query(miner, "SELECT 1 FROM dual")
        oracle.misbehave.start_listener()

        assert gone.full_code == "DPY-6005"
        assert still == [(1,)]
        assert oracle.port == port
        oracle.connect("SHOP").close()

    def test_a_lever_pulled_for_some_seconds_ends_by_itself(self, oracle):
        oracle.misbehave.pull("stop-listener", seconds=0.3)
        refused = failure(oracle.connect, "SHOP").full_code
        wait_until(lambda: answers(oracle))

        assert refused == "DPY-6005"

    def test_killed_sessions_learn_of_it_at_their_next_call(self, oracle, miner):
        with oracle.connect("SHOP") as shop:
            assert oracle.misbehave.kill_sessions("shop") == 1
            error = failure(query, shop, "SELECT 1 FROM dual")

        assert (error.full_code, error.code) == ("DPY-4011", 28)
        assert query(miner, "SELECT 1 FROM dual") == [(1,)]


class TestByName:
    def test_options_may_be_texts(self, oracle):
        oracle.misbehave.pull("refuse-clients", {"code": "12528"})
        try:
            assert "12528" in failure(oracle.connect, "SHOP").message
        finally:
            oracle.misbehave.pull("admit-clients")

    @pytest.mark.parametrize(
        ("name", "options", "seconds", "message"),
        [
            ("no-such-lever", {}, None, "there is no lever no-such-lever"),
            ("lag-archiver", {}, None, "lag-archiver needs thread"),
            ("lag-archiver", {"thread": "two"}, None, "thread is a whole number, not two"),
            ("lag-archiver", {"thread": "1", "depth": "3"}, None, "has no option depth"),
            ("reset-logs", {}, 3.0, "has no opposite"),
        ],
    )
    def test_what_cannot_be_asked_is_said(self, oracle, name, options, seconds, message):
        with pytest.raises(ValueError, match=message):
            oracle.misbehave.pull(name, options, seconds)

    def test_every_opposite_takes_what_its_lever_was_told(self):
        known = levers()
        for lever in known.values():
            if lever.opposite:
                needed = {n for n, p in known[lever.opposite].options.items() if p.default is p.empty}
                assert needed <= lever.options.keys()


class TestControl:
    def test_levers_are_pulled_through_the_control_file(self, oracle, tmp_path):
        with standin() as running:
            file = tmp_path / "control.json"
            running.listen_for_levers(file)
            born = pull_lever(file, "reset-logs")

            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert born["resetlogs_scn"] == running.database.state.incarnation.resetlogs_scn
            with pytest.raises(ValueError, match="there is no lever"):
                pull_lever(file, "unknown")
            with pytest.raises(LeverFailed, match="ORA-38743"):
                pull_lever(file, "reset-logs", {"to_scn": 2**40})
            assert pull_lever(file, "admit-clients") is None
        with pytest.raises(ConnectionError, match="no stand-in runs here"):
            pull_lever(file, "reset-logs")

    def test_who_does_not_know_the_token_pulls_nothing(self, tmp_path):
        with standin() as running:
            file = tmp_path / "control.json"
            running.listen_for_levers(file)
            file.write_text(json.dumps({**json.loads(file.read_text()), "token": "guessed"}))

            with pytest.raises(LeverFailed, match="token"):
                pull_lever(file, "reset-logs")
            assert len(running.database.state.incarnations) == 1

    def test_the_command_reaches_a_stand_in_of_another_process(self, tmp_path):
        command = [sys.executable, "-m", "standin"]
        ready = tmp_path / "port"
        started = Popen([*command, "start", "--port", "0", "--port-file", ready, "--data", tmp_path / "data"], stdout=PIPE)
        try:
            wait_until(lambda: ready.exists() or started.poll() is not None)
            assert started.poll() is None
            dsn = f"localhost:{ready.read_text().strip()}/FREE"
            pulled = run_process(
                [*command, "misbehave", "refuse-clients", "code=12528", "--data", tmp_path / "data"], check=True
            )
            refused = failure(oracledb.connect, user="SYSTEM", password="oracle", dsn=dsn)
            wrong = run_process([*command, "misbehave", "lag-archiver", "--data", tmp_path / "data"], capture_output=True)
        finally:
            started.terminate()
            started.communicate(timeout=DEADLINE)

        assert pulled.returncode == 0
        assert "12528" in refused.message
        assert (wrong.returncode, wrong.stderr) == (2, b"lag-archiver needs thread\n")
        assert not os.path.exists(tmp_path / "data" / "control.json")


def test_the_docs_name_every_lever():
    told = (Path(__file__).parents[3] / "docs" / "standin.md").read_text()

    assert [name for name in levers() if f"`{name}" not in told] == []
