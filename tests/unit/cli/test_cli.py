"""The terminal: exit codes, one clear message, JSON on request."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from redolake import __version__
from redolake.apply.verify.comparison import Difference
from redolake.cli import LogHandler, app, output
from redolake.cli.setup import edit_text
from redolake.errors import Finding
from redolake.host.progress import Progress, count_rows
from redolake.ledger import open_ledger
from redolake.reconcile.dropped_transactions import DropReport, OpenTransactionReport
from redolake.records.proofs import TableProof
from redolake.steps.apply.transactions import DropCost, TransactionList
from redolake.steps.checks.doctor_report import FindingGroup
from redolake.steps.plan_edit import EditPlan, TableEdit
from redolake.steps.proof.verify import NotCompared, Verification
from redolake.steps.ranges.dry_run import BackfillPlan
from redolake.steps.ranges.range_ends import RangeEnd
from redolake.steps.ranges.shadows import BackfillOutcome, PreparedBackfill, RecordedBackfill
from redolake.steps.recovery.recover import RecoveryReport
from redolake.steps.run import RunOutcome
from redolake.steps.shared.status import DeclaredGapReport, Status, TableStatus, WindowReport
from redolake.steps.shown.schema_versions import ColumnReport, VersionReport
from redolake.steps.snapshots.load import LoadedSnapshot
from redolake.steps.snapshots.read import TableSnapshot
from redolake.values.redo import Position
from redolake.values.scn import Scn

SETTINGS = """
pipelines:
  shop:
    source: {{connection: cli_oracle, container: FREEPDB1}}
    landing: {folder}/landing
    lake: {folder}/lake
    tables: [SHOP.ORDERS]
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_CONN_CLI_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")
    file = tmp_path / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=tmp_path))
    return file


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments])
    return result.exit_code, result.output


def test_a_good_configuration_is_valid(settings: Path) -> None:
    code, output = run("validate", "--config", str(settings), "--output", "json")

    assert (code, json.loads(output)) == (0, {"ok": True, "findings": []})


def test_a_missing_file_is_one_finding_and_exit_code_2(tmp_path: Path) -> None:
    code, output = run("validate", "--config", str(tmp_path / "nope.yml"))

    assert code == 2
    assert "cannot be read" in output


def test_a_landing_that_cannot_be_written_is_a_finding(settings: Path, tmp_path: Path) -> None:
    (tmp_path / "landing").write_text("a file lies where the folder should be")

    code, output = run("validate", "--config", str(settings), "--output", "json")

    assert code == 2
    assert "shop.landing" in {finding["subject"] for finding in json.loads(output)["findings"]}


def test_a_mistake_in_the_connection_is_an_error_and_a_missing_one_a_warning(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLI_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE?stmtcachsize=50")
    mistaken, output = run("validate", "--config", str(settings), "--output", "json")
    monkeypatch.delenv("AIRFLOW_CONN_CLI_ORACLE")
    missing, _ = run("validate", "--config", str(settings))

    assert (mistaken, missing) == (2, 0)
    assert [f["cure"] for f in json.loads(output)["findings"]] == ["did you mean stmtcachesize?"]


def test_jars_that_spark_lacks_here_are_a_warning_unless_a_server_has_them(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDOLAKE_DELTA_JARS", "/no/such/delta.jar")
    here, output = run("validate", "--config", str(settings), "--output", "json")
    settings.write_text(settings.read_text() + "    spark: {mode: connect}\n")
    _, of_server = run("validate", "--config", str(settings), "--output", "json")

    assert (here, [(f["severity"], f["subject"]) for f in json.loads(output)["findings"]]) == (
        0,
        [("warning", "/no/such/delta.jar")],
    )
    assert json.loads(of_server)["findings"] == []


def test_an_unknown_pipeline_name_lists_the_known_ones(settings: Path) -> None:
    code, output = run("status", "-p", "shoop", "--config", str(settings))

    assert code == 2
    assert "one of: shop" in output


@pytest.mark.parametrize("command", [["snapshot"], ["verify"], ["resume"], ["backfill", "--from", "1", "--to", "2"]])
def test_a_malformed_table_name_is_a_usage_error(settings: Path, command: list[str]) -> None:
    code, output = run(*command, "orders", "--config", str(settings))

    assert code == 2
    assert "not OWNER.TABLE: 'orders'" in output


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (["--from", "5", "--to", "5"], "[5, 5) holds no SCN"),
        (["--from", "5", "--to", "6", "SHOP.ORDER"], "is no table of the pipeline"),
        (["--from", "5", "--to", "6", "--execute"], "[5, 6) is not completely landed: nothing is landed"),
    ],
)
def test_a_backfill_that_cannot_be_done_is_refused_with_its_findings(settings: Path, order: list[str], said: str) -> None:
    code, output = run("backfill", *order, "--config", str(settings), "--output", "json")

    assert (code, [f["what"] for f in json.loads(output)["findings"]]) == (2, [said])


def test_status_needs_neither_oracle_nor_spark(settings: Path) -> None:
    code, output = run("status", "--config", str(settings), "--output", "json")

    assert code == 0
    assert json.loads(output)["landed_to_scn"] is None


def add_pipeline(settings: Path, name: str, wrong_setting: str = "") -> Path:
    """Add a copy of the pipeline shop, and return its folder."""
    folder = settings.parent / name
    shop = settings.read_text().partition("  shop:\n")[2]
    settings.write_text(f"{settings.read_text()}  {name}:\n{shop.replace(str(settings.parent), str(folder))}{wrong_setting}")
    return folder


NO_DATABASE = "no SQLite file, and longer than its head of a hundred bytes " * 3


def test_status_of_several_pipelines_lists_each_whatever_fails_in_another(settings: Path, tmp_path: Path) -> None:
    add_pipeline(settings, "crm")
    code, output = run("status", "--config", str(settings))
    in_json = json.loads(run("status", "--config", str(settings), "--output", "json")[1])
    (tmp_path / "crm" / "landing").mkdir(parents=True)
    (tmp_path / "crm" / "landing" / "redolake-ledger.db").write_text(NO_DATABASE)
    failed, partly = run("status", "--config", str(settings))

    assert code == 0
    assert [line.split(".")[0] for line in output.splitlines() if not line.startswith(" ")] == [
        "shop: not started",
        "crm: not started",
    ]
    assert "`redolake snapshot -p crm" in output
    assert [(one["pipeline"], one["health"]["state"]) for one in in_json["pipelines"]] == [
        ("shop", "not started"),
        ("crm", "not started"),
    ]
    assert failed != 0
    assert ("shop: not started" in partly, "crm: " in partly, "not started" in partly.partition("crm")[2]) == (
        True,
        True,
        False,
    )


def test_an_empty_name_means_no_pipeline_of_several(settings: Path) -> None:
    """As `-p "$NAME"` gives it where the variable is not set."""
    add_pipeline(settings, "crm")
    for command in (["tables"], ["status"], ["recover"]):
        code, shown = run(*command, "-p", "", "--config", str(settings))
        assert code != 0
        assert "no pipeline ''" in shown


@pytest.mark.parametrize("what", ["settings", "ledger", "cell"])
def test_a_pipeline_that_cannot_be_read_costs_no_other_its_metrics_nor_its_status(settings: Path, what: str) -> None:
    crm = add_pipeline(settings, "crm", "    windw: {}\n" if what == "settings" else "")
    (crm / "landing").mkdir(parents=True)
    ledger = crm / "landing" / "redolake-ledger.db"
    if what == "ledger":
        ledger.write_text(NO_DATABASE)
    elif what == "cell":
        open_ledger(f"sqlite:///{ledger}", "crm").close()
        with closing(sqlite3.connect(ledger)) as database, database:
            database.execute("INSERT INTO redolake_facts VALUES ('crm', 'runway', '', '{\"x\": 1}', '2026-01-01')")
    result = CliRunner().invoke(app, ["metrics", "-c", str(settings)])
    status, shown = run("status", "-c", str(settings))

    assert 'redolake_unreadable{pipeline="crm"} 1\nredolake_unreadable{pipeline="shop"} 0\n' in result.stdout
    assert 'redolake_health{pipeline="shop",state="not started"} 1\n' in result.stdout
    assert 'pipeline="crm"' not in result.stdout.replace('redolake_unreadable{pipeline="crm"} 1', "")
    assert "crm: " in result.stderr
    assert all(line.startswith(("#", "redolake_")) for line in result.stdout.splitlines()), "nothing but metrics"
    assert result.exit_code == status != 0
    assert ("shop: not started" in shown, "crm: " in shown) == (True, True)


def test_metrics_of_pipelines_that_all_cannot_be_read_are_an_error(settings: Path) -> None:
    """So that the exporter answers 503, and Prometheus shows it as down."""
    (settings.parent / "landing").mkdir()
    (settings.parent / "landing" / "redolake-ledger.db").write_text(NO_DATABASE)
    result = CliRunner().invoke(app, ["metrics", "-c", str(settings)])

    assert (result.exit_code != 0, result.stdout) == (True, "")


def test_status_shows_of_a_held_table_what_where_and_the_cure(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As lines to be copied, however wide the terminal is: a redo text that cannot be read stands in it."""
    from redolake import steps
    from redolake.steps.shared.status import Status, TableStatus

    text = """the redo cannot be decoded: a literal has no end: insert into "SHOP"."ORDERS"("ID") values ('[red]it' s');"""
    where = {"table": "SHOP.ORDERS", "scn": 150}
    table = TableStatus("SHOP.ORDERS", "held", 99, text, "RedoNotUnderstood", where, "report it")
    found = Status("shop", 200, (), (table,), lost=None, declared_gaps=(), dropped=(), open_transactions=2)
    monkeypatch.setattr(steps, "read_status", lambda _: found)

    code, output = run("status", "--config", str(settings))

    assert code == 0
    assert f"SHOP.ORDERS is held, RedoNotUnderstood: {text} (scn 150)\n  do this: report it\n" in output
    assert "2 open transaction(s): redolake tx list -p shop" in output


def test_the_xid_of_an_open_transaction_can_be_copied(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from redolake import steps

    began = "2026-01-02 03:04:05"
    found = OpenTransactionReport(3, "1234.56.7890123", 2, 281474976710655, began, 10**6, 10**9, "SHOP_OWNER", 3601)
    result = TransactionList("2026-01-02 04:04:06", (found,), ())
    monkeypatch.setattr(steps, "list_transactions", lambda _: result)

    _, output = run("tx", "list", "--config", str(settings))

    assert "1234.56.7890123" in output
    assert "281474976710655" in output


def test_no_secret_shows_in_what_a_command_prints(settings: Path) -> None:
    settings.write_text(settings.read_text() + "    retry: {attempts: 1}\n")

    code, output = run("doctor", "--config", str(settings), "--output", "json")

    assert code == 2
    assert "secret" not in output


@pytest.mark.parametrize(("outcome", "expected"), [("wait", 75), ("nothing", 0)])
def test_a_run_that_ends_before_a_log_that_is_due_says_so_and_exits_with_75(
    settings: Path, monkeypatch: pytest.MonkeyPatch, outcome: str, expected: int
) -> None:
    from redolake import steps
    from redolake.steps.run import RunOutcome

    result = RunOutcome(0, 0, outcome, "redo thread 2: log 57 is switched", [])
    monkeypatch.setattr(steps, "run_pipeline", lambda *_, **__: result)

    code, output = run("run", "--config", str(settings))

    assert code == expected
    assert ("waiting for a log: redo thread 2: log 57 is switched" in output) == (outcome == "wait")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["snapshot", "--scn", "5"], "means something to a gap", id="two options"),
        pytest.param(["position", "--restored", "--scn", "5"], "exclude each other", id="check and act"),
        pytest.param(["--scn", "5"], "means something to a gap", id="end without a gap"),
    ],
)
def test_recover_takes_one_option_and_asks_for_confirmation(settings: Path, options: list[str], message: str) -> None:
    code, output = run("recover", "-p", "shop", *options, "--config", str(settings))

    assert (code, message in output) == (2, True), output


def test_a_transaction_is_dropped_only_after_its_cost_is_shown_and_confirmed(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redolake import steps

    found = DropCost(3, "3.12.45", 2, 150, None, 7, 90, None, {"SHOP.ORDERS": 7})
    drop = DropReport(3, "3.12.45", 2, 150, None, 7, 90, None, "forgotten", "ada", "now", "open", None, found.tables, ())
    monkeypatch.setattr(steps, "look_up_transaction", lambda *_: found)
    dropped: list[object] = []
    monkeypatch.setattr(steps, "drop_transaction", lambda made, *_, **__: dropped.append(made.reason) or drop)
    order = ("tx", "drop", "3.12.45", "--reason", "forgotten", "--config", str(settings))

    code, output = run(*order)
    assert (code, dropped, "SHOP.ORDERS: 7 row(s)" in output, "--reason TEXT does it" in output) == (0, [], True, True)
    code, output = run(*order, "--execute")
    assert (code, dropped, "SHOP.ORDERS: 7 row(s)" in output, "confirm it with --yes" in output) == (2, [], True, True)
    assert (run(*order, "--execute", "--yes")[0], dropped) == (0, ["forgotten"])


def test_dropping_a_transaction_that_is_not_open_is_a_clear_error(settings: Path) -> None:
    code, output = run("tx", "drop", "3.12.45", "--reason", "x", "--execute", "--yes", "--config", str(settings))

    assert code == 1
    assert "no transaction 3.12.45 is open" in output
    assert "redolake tx list" in output


def test_a_printed_command_has_the_options_that_chose_the_pipeline(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = ("tx", "drop", "3.12.45", "--reason", "x", "--execute", "--yes", "-p", "shop")

    assert f"`redolake tx list -p shop -c {settings}`" in run(*order, "-c", str(settings))[1].replace("\n", "")
    monkeypatch.setenv("REDOLAKE_CONFIG", str(settings))
    assert "`redolake tx list -p shop`" in run(*order)[1]
    monkeypatch.setenv("REDOLAKE_PIPELINE", "shop")
    assert "`redolake tx list`" in run(*order)[1]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_starts_with_what_redolake_does(option: str) -> None:
    code, output = run(option)

    assert code == 0
    assert "Replicate Oracle tables to Delta Lake, exactly" in output


def test_the_version_is_that_of_the_distribution() -> None:
    assert run("--version") == (0, f"redolake {__version__}\n")  # test_wheel.py: the distribution's is the same


@pytest.mark.parametrize(("options", "level"), [([], "WARNING"), (["-v"], "INFO"), (["-vv"], "DEBUG"), (["-vvv"], "DEBUG")])
def test_verbose_logs_what_the_stages_do(settings: Path, options: list[str], level: str) -> None:
    run(*options, "validate", "--config", str(settings))

    assert logging.getLevelName(logging.getLogger("redolake").level) == level


def test_a_message_that_a_library_cannot_make_stops_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.LogRecord("a library", logging.WARNING, "a_file.py", 1, "%d of %d retries", ("one",), None)

    LogHandler().handle(record)
    LogHandler().handle(logging.LogRecord("redolake", logging.WARNING, "a_file.py", 1, "it goes on", (), None))

    shown = capsys.readouterr()
    assert "%d of %d retries" in shown.err
    assert shown.err.splitlines()[-1] == "it goes on"
    assert shown.out == ""


EQUAL = TableProof("SHOP.ORDERS", "p", "2026-01-02T03:04:05+00:00", 199, delta_version=7, source_rows=2, delta_rows=2)
DIFFERING = replace(EQUAL, table="SHOP.STOCK", missing_rows=1)
UNREADABLE = NotCompared("SHOP.PARTS", {"code": "SourceRefused", "what": "ORA-01466", "where": {}, "cure": "wait"}, False)


@pytest.mark.parametrize(
    ("compared", "not_compared", "code", "verdict"),
    [
        ((EQUAL,), (), 0, "1 of 1 tables are equal to the source"),
        ((EQUAL, DIFFERING), (), 3, "1 of 2 tables are equal to the source, 1 differ"),
        ((EQUAL,), (UNREADABLE,), 1, "1 of 2 tables are equal to the source, 1 could not be compared"),
        ((), (replace(UNREADABLE, may_pass=True),), 75, "0 of 1 tables are equal to the source, 1 could not be compared"),
        ((DIFFERING,), (UNREADABLE,), 3, "0 of 2 tables are equal to the source, 1 differ, 1 could not be compared"),
    ],
)
def test_verify_begins_with_a_verdict_and_ends_with_its_exit_code(
    settings: Path,
    monkeypatch: pytest.MonkeyPatch,
    compared: tuple[TableProof, ...],
    not_compared: tuple[NotCompared, ...],
    code: int,
    verdict: str,
) -> None:
    found = Verification(not not_compared and DIFFERING not in compared, compared, (), (), not_compared)
    monkeypatch.setattr("redolake.steps.verify_tables", lambda *_, **__: found)

    ended, output = run("verify", "--config", str(settings))

    assert (ended, output.splitlines()[0]) == (code, verdict)


@pytest.mark.parametrize(("options", "shown"), [((), False), (("--show-values",), True)])
@pytest.mark.parametrize("output", ["table", "json"])
def test_verify_shows_values_only_where_asked(
    settings: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], shown: bool, output: str
) -> None:
    samples = {"SHOP.STOCK": (Difference("4", "PLACE", "secret", None), Difference("5", "*", "row", None))}
    found = Verification(False, (DIFFERING,), (), (), samples=samples)
    monkeypatch.setattr("redolake.steps.verify_tables", lambda *_, **__: found)

    _, printed = run("verify", *options, "--config", str(settings), "--output", output)

    assert ("secret" in printed, "PLACE" in printed) == (shown, True)


def test_schema_log_shows_what_each_statement_changed(settings, monkeypatch):
    column = ColumnReport(1, "ID", "NUMBER(9,0)", False, True, 1)
    version = VersionReport(
        "SHOP.T", 200, None, "confirmed", "ALTER TABLE t ADD\n note NUMBER", "ANN", ("added NOTE NUMBER",), (column,)
    )
    monkeypatch.setattr("redolake.steps.list_versions", lambda *_: (version,))
    monkeypatch.setattr("redolake.steps.schema_at", lambda *_: version)

    _, log = run("schema", "log", "SHOP.T", "--config", str(settings))
    _, at = run("schema", "at", "SHOP.T", "250", "--config", str(settings))

    assert all(part in log for part in ("200", "confirmed", "added NOTE", "ANN"))
    assert all(part in at for part in ("ID", "NUMBER(9,0)", "NOT NULL", "key"))


AT, SHOWN = "2026-11-22T12:00:03+00:00", "2026-11-22 12:00:03"
COLUMN = ColumnReport(1, "ID", "NUMBER(9,0)", False, True, 1)
VERSION = VersionReport("SHOP.T", 200, None, "read", None, "", (), (COLUMN,), from_at=AT)
GAP = DeclaredGapReport("gap", 100, 200, 1, "gone", "ann", AT, "log 5", ("SHOP.T",), 0, (), from_at=AT)
PLAN = BackfillPlan(RangeEnd("100", 100, AT), RangeEnd("now", 200, AT), 2, 4, 30, 90, 1000, 0, 0)
BACKFILL = BackfillOutcome(PreparedBackfill("2 windows", "spec", ("SHOP.T",), PLAN), RecordedBackfill(200, ()))
GONE = {"code": "RedoLost", "what": "gone", "where": {}, "cure": "wait"}
LOST = RecoveryReport("shop", True, Position(1, 2, Scn(100)), GONE, position_at=AT)
LIVE = TableStatus("SHOP.T", "live", 199, complete_to_at=datetime.fromisoformat(AT))
WINDOW = WindowReport("w", "landed", 100, 199, 2, 7, LIVE.complete_to_at, hash="hash")


@pytest.mark.parametrize(
    ("step", "result", "command"),
    [
        ("verify_tables", Verification(True, (replace(EQUAL, scn_at=AT),), (), ()), ["verify"]),
        ("take_snapshot", LoadedSnapshot(199, (TableSnapshot("SHOP.T", 199, 2, AT),)), ["snapshot"]),
        ("run_backfill", BACKFILL, ["backfill", "--from", "100", "--to", "200", "--execute"]),
        ("list_versions", (VERSION,), ["schema", "log", "SHOP.T"]),
        ("schema_at", VERSION, ["schema", "at", "SHOP.T", "250"]),
        ("inspect_redo_loss", LOST, ["recover"]),
        ("read_status", Status("shop", 200, (), (), None, (GAP,), (), 0), ["status"]),
        ("read_status", Status("shop", None, (), (LIVE,), None, (), (), 0), ["status"]),
        (
            "read_status",
            Status("shop", 200, (), (replace(LIVE, complete_to_at=None),), None, (), (), 0, landed_to_at=AT),
            ["status"],
        ),
        ("run_pipeline", RunOutcome(1, 1, "nothing", "no log", (LIVE,)), ["run"]),
        (
            "list_windows",
            [WINDOW],
            ["windows"],
        ),
    ],
    ids=[
        "verify",
        "snapshot",
        "backfill",
        "schema log",
        "schema at",
        "recover",
        "status gap",
        "status table",
        "status landed",
        "run",
        "windows",
    ],
)
def test_the_time_of_an_scn_is_shown_beside_it(settings, monkeypatch, step, result, command):
    monkeypatch.setattr(f"redolake.steps.{step}", lambda *_, **__: result)
    monkeypatch.setattr(output.console, "_width", 200)

    _, printed = run(*command, "--config", str(settings))

    if command == ["schema", "log", "SHOP.T"]:
        assert all(part in printed for part in SHOWN.split())
    else:
        assert SHOWN in " ".join(printed.split())


def test_schema_needs_owner_and_table(settings):
    code, output = run("schema", "log", "ORDERS", "--config", str(settings))

    assert code == 2
    assert "OWNER.TABLE" in output


def test_work_that_is_counted_has_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(console: Console) -> str:
        monkeypatch.setattr(output, "stderr", console)
        with console.capture() as captured, output.progress() as report:
            report("landing")
            report(Progress("SHOP.ORDERS is equal", "comparing tables", 3, 12))
            report(Progress("", "rows of SHOP.STOCK", 70_000))
            report(Progress("", "rows of SHOP.[/x][red]", 7))
        return captured.get()

    on_terminal = shown(Console(force_terminal=True, width=200))

    assert all(
        part in on_terminal
        for part in ("landing", "comparing tables", "3/12", "rows of SHOP.STOCK", "70000/?", "SHOP.[/x][red]")
    )
    assert shown(Console(force_terminal=False)) == "landing\nSHOP.ORDERS is equal\n"


def test_rows_that_are_read_are_counted_up_to_those_of_the_last_time_and_the_bar_goes_in_the_end():
    class Frame:
        def num_rows(self):
            return 400

    def counts(expected):
        said = []
        assert len(list(count_rows([Frame(), Frame(), Frame()], "rows of SHOP.STOCK", said.append, expected))) == 3
        return [(line.done, line.total) for line in said]

    assert counts(None) == [(400, None), (800, None), (1200, None), (1200, 1200)]
    assert counts(1000) == [(400, 1000), (800, 1000), (1200, None), (1200, 1200)], "there may be more by now"


def test_findings_and_edits_name_the_pipeline_in_their_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is another text on the terminal, and whoever has several pipelines copies from all of them."""
    monkeypatch.setattr(output.given, "options", ("-p shop", "-c my.yml"))
    cure = "run `redolake verify SHOP.T`, or `redolake validate --spark`"
    for text in (
        output.findings_text([Finding("SHOP.T", "is wrong", cure)]),
        output.groups_text([FindingGroup("error", "is wrong", cure, ("SHOP.T",), 1)]),
        edit_text(EditPlan("shop", (TableEdit("SHOP.T", "held", "is wrong", cure),), ())),
    ):
        with output.console.capture() as shown:
            output.console.print(text, soft_wrap=True)
        assert "`redolake verify SHOP.T -p shop -c my.yml`, or `redolake validate --spark -c my.yml`" in shown.get()
