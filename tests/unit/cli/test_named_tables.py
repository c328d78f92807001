"""Names of tables on the command line: each command takes and refuses the same ones, with one code and one sentence."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from redolake.cli import app
from redolake.context import Run
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.records.captured import CapturedTables
from redolake.records.codec import to_body
from redolake.records.handover import FirstPosition
from redolake.steps.snapshots import begin
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import TableId
from tests.integration.spark.specs import version
from tests.states.cockpit_ledger import CockpitLedger
from tests.unit.cli.test_cli_everywhere import COMMANDS as EVERY

COMMANDS = {  # with {} for the name; what needs Oracle or Spark fails after the name is known
    "verify": "verify {}",
    "verify --history": "verify --history {}",
    "repair": "repair {} --reason wrong",
    "quarantine list": "quarantine list {}",
    "quarantine retry": "quarantine retry {} --reason wrong",
    "quarantine drop": "quarantine drop {} --reason gone --execute --yes",
    "mend": "mend {}",
    "close-gap": "close-gap {}",
    "recover": "recover snapshot {}",
    "recover --execute": "recover snapshot {} --reason lost --execute --yes",
    "snapshot": "snapshot {} --replace",
    "snapshot --pause": "snapshot --pause {}",
    "fill-columns": "fill-columns {}",
    "backfill": "backfill --from 1 --to 2 {}",
    "backfill copy": "backfill --target copy --from 1 --to 2 {}",
    "backfill live": "backfill --target live --from 1 --to 2 {}",
    "swap": "swap {} --undo",
    "read": "read --as-of 5 {}",
    "views": "views {}",
    "views --history": "views --history {}",
    "history rebuild": "history rebuild {}",
    "history prune": "history prune {}",
    "optimize": "optimize {}",
    "stats": "stats {}",
    "resume": "resume {}",
    "resume --ddl": "resume {} --ddl follow --reason x",
    "schema log": "schema log {}",
    "schema at": "schema at {} 5",
    "schema diff": "schema diff {} 1 2",
}
PAST = {"stats", "schema log", "schema at", "schema diff", "verify --history", "mend"}  # of a table that was removed, too
NONE = "is no table of the pipeline"


def test_each_command_that_takes_a_table_is_tried() -> None:
    takes = {name for name, one in EVERY.items() if {"table", "tables"} & {each.name for each in one.params}}
    tried = {name for name in EVERY if any(f"{words} ".startswith(f"{name} ") for words in COMMANDS.values())}
    assert takes - tried == {"init", "setup-sql"}  # Oracle's tables: no file names them yet


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write pipelines.yml of a pipeline with tables in each state, whose database does not answer.

    Two names differ in case alone; one was removed from `tables`, others are excluded, left out, or new."""
    folder, names = tmp_path_factory.mktemp("named"), ("SHOP.ORDERS", "SHOP.STOCK", "SHOP.NEW", "SHOP.GONE", 'SHOP."Mixed"')
    made = CockpitLedger(folder, datetime.now(UTC), (*names, 'SHOP."mixed"'))
    made.run()
    made.hold_stock()
    at = made.ledger.position()
    assert at is not None
    landing = Landing(str(folder / "landing"), "shop")
    end = int(made.ledger.windows()[0].scns.end)
    landing.files.write_record_once(layout.HANDOVER, FirstPosition(at.dbid, at.resetlogs_id, end, Encoding()))
    left_out, new = {"SHOP.LOG_VIEW": "is a view"}, {"SHOP.LOG_NEW": end}
    landing.captured.write_captured(1, CapturedTables(end, ("SHOP.LOG_*",), (), new, left_out, {}))
    for table in made.tables:
        made.ledger.record_version(table, Scn(1), to_body(version(table)), "baseline")
    made.ledger.move_table(TableId("SHOP", "NEW"), ("live",), "snapshotting", snapshot_scn=Scn(end))
    made.ledger.close()
    body = {
        "source": {"connection": "shop_oracle"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "ledger": {"url": made.url},
        "retry": {"attempts": 1},
        "keep": {"history": "365d"},
        "tables": [
            "SHOP.ORDERS", "SHOP.STOCK", "SHOP.NEW", 'SHOP."Mixed"', {"table": 'SHOP."mixed"', "target": "other"},
            "SHOP.LOG_*", "!SHOP.LOG_TMP*",
        ],
    }  # fmt: skip
    path = folder / "pipelines.yml"
    path.write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    return path


@pytest.fixture
def asks(file: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")

    def ask(command: str, name: str, *more: str) -> Any:
        words = [name if word == "{}" else word for word in COMMANDS[command].split()]
        done = CliRunner(env={"COLUMNS": "300"}).invoke(app, [*words, "--config", str(file), *more])
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, name, done.exception)
        return done

    return ask


WRONG = {  # name: what is said of it
    "SHOP.NOTHING": f"SHOP.NOTHING: {NONE}\n    do this: one of: SHOP.ORDERS, ",
    "SHOP.ERR": f"SHOP.ERR: {NONE}\n    do this: one of: SHOP.ORDERS, ",  # near SHOP.NEW by its owner alone
    "SHOP.ORDER": f"SHOP.ORDER: {NONE}\n    do this: did you mean SHOP.ORDERS?",
    "SHOP.STO": f"SHOP.STO: {NONE}\n    do this: did you mean SHOP.STOCK?",
    "SHPO.STOCK": f"SHPO.STOCK: {NONE}\n    do this: did you mean SHOP.STOCK?",
    'SHOP."orders"': f'SHOP."orders": {NONE}\n    do this: did you mean SHOP.ORDERS?',
    "SHOP.MIXED": 'SHOP.MIXED: means 2 tables\n    do this: name one as the dictionary spells it: SHOP."Mixed", SHOP."mixed"',
    "SHOP.LOG_TMP1": f"SHOP.LOG_TMP1: {NONE}: `!SHOP.LOG_TMP*` excludes it",
    "SHOP.LOG_VIEW": f"SHOP.LOG_VIEW: {NONE}: it matches a pattern and is left out, as it is a view",
    "SHOP.LOG_NEW": f"SHOP.LOG_NEW: {NONE} yet: it matches a pattern and is new",
    "SHOP.LOG_2": f"SHOP.LOG_2: {NONE}: a pattern matches it, and no plan has found it",
    "SHOP.X*": "SHOP.X*: matches no table of the pipeline",
}


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot asks the dictionary first which tables match the patterns; here it shows no others."""
    monkeypatch.setattr(Run, "oracle", lambda *_: nullcontext())
    monkeypatch.setattr(begin, "match_tables", lambda *_: None)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("matched")
def test_each_command_refuses_a_name_with_the_same_words(command: str, asks: Any) -> None:
    for name, said in WRONG.items():
        done = asks(command, name)
        assert done.exit_code == 2, (name, done.output)
        assert said in done.output, (name, done.output)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("matched")
def test_a_removed_table_is_named_as_removed_unless_only_the_past_is_asked_for(command: str, asks: Any) -> None:
    done = asks(command, "SHOP.GONE")

    if command in PAST:
        assert NONE not in done.output
        return
    assert done.exit_code == 2
    assert f"SHOP.GONE: {NONE} any more: it was removed from `tables`; its Delta table stays as it is" in done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_takes_a_table_in_whatever_state_by_its_name_in_any_case_or_a_pattern(command: str, asks: Any) -> None:
    for name in ("shop.orders", "SHOP.STOCK", "SHOP.NEW", 'SHOP."mixed"', "SHOP./ORDERS?/"):
        output = asks(command, name, *(() if "views" in command else ("--output", "json"))).output
        assert NONE not in output, (name, output)
        assert "means" not in output, (name, output)
        assert "is not OWNER.TABLE" not in output
