"""The workload's summary agrees with the tables and with the redo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import oracledb
import pytest
from typer.testing import CliRunner

from standin.__main__ import app
from standin.serve import standin
from standin.tests.served.mining_client import SET_NLS, add, archived, query, run, start
from standin.workload import Workload, run_workload


@pytest.fixture(scope="module")
def finished_run():
    with standin(threads=2, log_bytes=256 * 1024) as oracle:
        spec = Workload(oracle.pdb_dsn, "SHOP", "oracle", transactions=120, sessions=2, instances=("FREE1", "FREE2"))
        yield oracle, run_workload(spec)


def test_the_summary_counts_the_requested_transactions(finished_run):
    _, summary = finished_run
    totals = summary.as_dict()

    assert totals["transactions"] == 120 + totals["long_transactions"]
    assert totals["rollbacks"] > 0
    assert totals["partial_rollbacks"] > 0
    assert totals["failed_statements"] > 0
    assert totals["first_scn"] < totals["last_scn"]


def test_committed_rows_are_in_the_tables(finished_run):
    oracle, summary = finished_run
    with oracle.connect("SHOP") as shop:
        for table in ("CUSTOMERS", "ORDERS", "ORDER_LINES", "PAYMENTS", "EDGE_VALUES"):
            counts = summary.tally.rows[table]
            assert query(shop, f"SELECT COUNT(*) FROM {table}") == [(counts["insert"] - counts["delete"],)], table


def test_the_redo_contains_each_change_and_each_undo(finished_run):
    oracle, summary = finished_run
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as dba:
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
    with oracle.connect(oracle.capture_user) as miner:
        run(miner, SET_NLS)
        add(miner, *archived(miner))
        start(miner)
        rows = query(
            miner,
            """SELECT rollback, operation, COUNT(*) FROM v$logmnr_contents
                WHERE seg_owner = 'SHOP' AND operation IN ('INSERT', 'UPDATE', 'DELETE') AND csf = 0
                GROUP BY rollback, operation""",
        )

    counts = {(rollback, operation): count for rollback, operation, count in rows}
    done = sum(count for (rollback, _), count in counts.items() if not rollback)
    undone = sum(count for (rollback, _), count in counts.items() if rollback)
    committed = sum(sum(by_operation.values()) for by_operation in summary.tally.rows.values())
    first_stock = 40
    assert undone == summary.tally.undone + summary.tally.failed_statements
    assert done - undone == committed + first_stock


def test_the_same_seed_does_the_same_work():
    def contents():
        with standin() as oracle:
            summary = run_workload(Workload(oracle.pdb_dsn, "SHOP", "oracle", transactions=30, sessions=1, seed=7))
            with oracle.connect("SHOP") as shop:
                tables = ("customers", "orders", "order_lines", "payments", "stock", "edge_values")
                return summary.tally.rows, [query(shop, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]

    assert contents() == contents()


def test_a_second_run_continues_from_the_first_though_columns_were_added(finished_run):
    oracle, _ = finished_run
    with oracle.connect("SHOP") as shop:
        for table in ("customers", "orders", "order_lines", "payments", "edge_values"):
            run(shop, f"ALTER TABLE {table} ADD (more NUMBER(3))")

    summary = run_workload(Workload(oracle.pdb_dsn, "SHOP", "oracle", transactions=30, sessions=1, seed=3))

    assert summary.tally.commits + summary.tally.rollbacks >= 30


def test_the_command_prints_json(finished_run):
    oracle, _ = finished_run
    arguments = ["workload", "--dsn", oracle.pdb_dsn, "--transactions", "4", "--rate", "0", "--output", "json"]

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["transactions"] >= 4


ERRORS = {
    "neither seconds nor transactions": ([], 2, "give either seconds or transactions"),
    "no listener": (["--dsn", "127.0.0.1:1/FREEPDB1", "--transactions", "1"], 1, "DPY-6005"),
}


@pytest.mark.parametrize(("arguments", "code", "text"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_line_with_an_exit_code(arguments, code, text):
    result = CliRunner().invoke(app, ["workload", *arguments])

    assert result.exit_code == code
    assert text in result.output
    assert "Traceback" not in result.output


def test_the_server_prints_its_address_and_stops_on_sigterm(tmp_path):
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "standin", "start", "--port", "0", "--port-file", str(port_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ) as server:
        assert server.stdout is not None
        output = ""
        for line in server.stdout:  # ends with the server, so this cannot wait for ever
            output += line
            if "users" in line:
                break
        port = port_file.read_text().strip()
        server.send_signal(signal.SIGTERM)
        output += server.communicate(timeout=30)[0]
    assert server.returncode == 0, output
    assert f":{port}/FREEPDB1" in output
    assert "has stopped" in output
