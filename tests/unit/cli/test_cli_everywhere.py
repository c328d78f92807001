"""What holds for every command: its help, JSON on request, a verdict before the details, and no empty table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml
from typer.testing import CliRunner

from redolake.cli import app
from redolake.errors import ConfigurationError
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.records.codec import to_body
from redolake.records.handover import FirstPosition
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from tests.integration.spark.specs import version
from tests.states.cockpit_ledger import CockpitLedger


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))
TEXTS = {"setup-sql", "metrics", "views"}  # print what another program takes: SQL*Plus, Prometheus, an engine
BECOMES_ANOTHER = {"spark serve", "demo"}  # the process goes on as another program
OF_ALL = {"init", "validate"}  # not of one pipeline of the file
OF_HOST = {"demo", "spark setup", "spark compile", "spark pack", "spark serve"}  # without a file
ARGUMENTS = {
    "backfill": "--from 1 --to 2",
    "fill-columns": "SHOP.ORDERS",
    "read": "--as-of 5",
    "history rebuild": "SHOP.ORDERS",
    "remine": "1212321600-00000000000002000000-00000000000002000161",
    "mend": "SHOP.ORDERS",
    "repair": "SHOP.ORDERS --reason wrong",
    "quarantine retry": "SHOP.ORDERS --reason wrong",
    "quarantine drop": "SHOP.ORDERS --reason gone --execute --yes",
    "resume": "SHOP.ORDERS",
    "selftest": "--scratch-connection no_such_connection",
    "schema log": "SHOP.ORDERS",
    "schema at": "SHOP.ORDERS 5",
    "schema diff": "SHOP.ORDERS 5 9",
    "swap": "SHOP.ORDERS --copy 1-2-copy",
    "spark pack": "no-such-archive",
    "tx drop": "1.2.3 --reason gone --execute --yes",
    "init": "SHOP --connection no_such_connection --yes --force",
}
CODES = {0, 1, 2, 3, 75}
EMPTY_TABLE = re.compile(r"┩\n└")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline without contents, whose database does not answer."""
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")
    return written(tmp_path, {"retry": {"attempts": 1}})


@pytest.fixture(scope="module")
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime) -> Path:
    """A pipeline with a held table, by its ledger; its database does not answer."""
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")
    made = CockpitLedger(tmp_path, now)
    made.run()
    made.hold_stock()
    at = made.ledger.position()
    assert at is not None
    landing = Landing(str(tmp_path / "landing"), "shop")  # an empty one would not be mounted
    landing.files.write_record_once(
        layout.HANDOVER, FirstPosition(at.dbid, at.resetlogs_id, int(made.ledger.windows()[0].scns.end), Encoding())
    )
    for table in made.tables:  # a live table without a version is a damaged ledger
        made.ledger.record_version(table, Scn(1), to_body(version(table)), "baseline")
    made.ledger.close()
    return written(tmp_path, {"retry": {"attempts": 1}, "ledger": {"url": made.url}, "tables": list(map(str, made.tables))})


def written(folder: Path, settings: dict[str, Any]) -> Path:
    body = {
        "source": {"connection": "shop_oracle"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "tables": ["SHOP.ORDERS", "SHOP.STOCK"],
        **settings,
    }
    file = folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    return file


def run(name: str, file: Path, *more: str) -> Any:
    config = () if name in OF_HOST else ("--config", str(file))
    words = [*name.split(), *ARGUMENTS.get(name, "").split(), *config, *more]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_the_common_options(name: str) -> None:
    command = COMMANDS[name]
    first = command.help.split("\n\n")[0].replace("\n", " ")
    options = {option for parameter in command.params for option in parameter.opts}

    assert re.match(r"[A-Z][a-z]+ ", first)
    assert first.endswith(".")
    assert name in OF_HOST or {"--config", "-c"} <= options
    assert name in TEXTS | BECOMES_ANOTHER or {"--output", "-o"} <= options
    assert name in OF_ALL | OF_HOST or {"--pipeline", "-p"} <= options
    undescribed = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert undescribed == []


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - TEXTS - BECOMES_ANOTHER))
def test_json_is_one_document_also_of_an_error(name: str, fresh: Path) -> None:
    done = run(name, fresh, "--output", "json")

    body = json.loads(done.stdout)
    assert done.exit_code in CODES
    if "error" in body:
        assert set(body["error"]) >= {"code", "what", "cure"}
        assert done.exit_code in {1, 2, 75}
        assert ("findings" in body) == (body["error"]["code"] == ConfigurationError.__name__)


TIME = re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d)?")


def objects(body: Any) -> Iterator[dict[str, Any]]:
    """Yield each object of a JSON document."""
    if isinstance(body, dict):
        yield body
    for part in body.values() if isinstance(body, dict) else body if isinstance(body, list) else ():
        yield from objects(part)


def test_in_json_a_time_has_one_form_an_scn_is_a_number_and_a_table_is_a_table(running: Path) -> None:
    wrong = []
    for name in sorted(COMMANDS.keys() - TEXTS - BECOMES_ANOTHER):
        for found in objects(json.loads(run(name, running, "--output", "json").stdout)):
            for key, value in found.items():
                time = TIME.fullmatch(value) if isinstance(value, str) else None
                is_wrong = (
                    (time is not None and time[1] == " ")
                    or ((key == "at" or key.endswith("_at")) and value is not None and time is None)
                    or ((key == "scn" or key.endswith("_scn")) and not isinstance(value, int | None))
                    or (key == "name" and value in ("SHOP.ORDERS", "SHOP.STOCK"))
                )
                wrong += [f"{name}: {key}: {value!r}"] if is_wrong else []
    assert wrong == []


@pytest.mark.parametrize("kind", ["fresh", "running"])
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - TEXTS - BECOMES_ANOTHER))
def test_a_person_reads_a_sentence_first_and_never_an_empty_table(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    done = run(name, request.getfixturevalue(kind))
    said = done.stdout or done.stderr

    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in CODES
    assert EMPTY_TABLE.search(said) is None, said
    assert re.match(r"[A-Za-z0-9]", said), said
    assert done.exit_code == 0 or "do this: " in done.output, done.output


def test_times_stand_beside_scns(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.cli.output.console.width", 200)  # fixed at the import where COLUMNS is set, as by xdist
    for name in ("status", "tables"):
        assert re.search(r"SHOP\.ORDERS +│ live +│ +2013999 (│ )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", run(name, running).stdout), (
            name
        )


def test_validate_begins_with_how_much_it_has_found(fresh: Path) -> None:
    (fresh.parent / "landing").write_text("a file lies where the folder should be")

    done = run("validate", fresh)

    assert (done.exit_code, done.stdout.splitlines()[0]) == (2, "2 error(s), 0 warning(s)")


def test_a_drivers_text_is_quoted_without_its_number_of_the_connection(running: Path) -> None:
    run("run", running)

    (first, *_) = run("status", running).stdout.splitlines()

    assert "source away" in first
    assert "CONNECTION_ID" not in first
    assert ".." not in first


def test_where_nothing_is_to_be_done_nothing_is_to_be_confirmed(running: Path) -> None:
    """A job that prunes each night ends well on an empty day."""
    done = run("prune", running, "--execute", "--reason", "each night")

    assert done.exit_code == 0, done.output
    assert "confirm it" not in done.output


UNREACHABLE = {"ledger": {"url": "postgresql+psycopg://u:p@127.0.0.1:1/x"}, "retry": {"attempts": 1}}


@pytest.mark.parametrize(
    "words",
    [
        "backfill --from yesterday --to 5", "backfill --from 9 --to 5", "backfill --from 1 --to 9 --target live --execute",
        "close-gap --scn 9223372036854775808", "close-gap --execute", "fill-columns SHOP.ORDERS --execute",
        "history rebuild SHOP.ORDERS --from yesterday", "history rebuild SHOP.ORDERS --execute --yes",
        "history prune --execute --yes", "prune --execute --yes", "prune --yes", "history prune --yes", "recover gap --yes",
        "resume SHOP.ORDERS --dry-run --yes", "quarantine drop SHOP.ORDERS --yes", "tx drop 1.2.3 --yes",
        "remine no-window", "remine 1-2 --discard --execute --yes", "repair SHOP.ORDERS --execute",
        "quarantine retry SHOP.ORDERS --execute", "quarantine drop SHOP.ORDERS --execute --yes",
        "resume SHOP.ORDERS --ddl ignore --yes", "resume SHOP.ORDERS --new-history",
        "resume SHOP.ORDERS --new-history --ddl ignore --reason x --yes", "swap SHOP.ORDERS --undo --execute",
        "swap SHOP.ORDERS --copy 1-2", "tx drop 1.2 --reason x", "tx drop 1.2.3 --execute --yes",
        "recover snapshot --execute --yes", "recover gap --scn 9223372036854775808",
        "read --as-of yesterday", "schema at SHOP.ORDERS 9223372036854775808",
        "snapshot --status --restart", "snapshot --pause --replace",
    ],
)  # fmt: skip
def test_wrong_words_are_refused_before_anything_is_opened(words: str, tmp_path: Path) -> None:
    """The ledger does not answer here, which ends with 75."""
    file = written(tmp_path, UNREACHABLE)
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words.split(), "--config", str(file)])
    assert done.exit_code == 2, done.output


def test_mend_says_which_way_makes_a_table_right(running: Path) -> None:
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["mend", "SHOP.STOCK", "--config", str(running)])
    assert found.exit_code == 0, found.output
    lines = found.output.strip().splitlines()
    assert lines[0] == "SHOP.STOCK: held, complete to SCN 2013999"
    assert lines[1].startswith("- it is held: ALTER TABLE SHOP.STOCK MOVE is not supported. What to do: `redolake snapshot ")
    assert lines[2].startswith("  snapshot: `redolake snapshot SHOP.STOCK --replace ")
    assert lines[-1] == "Nothing is done yet; --execute --reason TEXT does it."

    right = ["SHOP.ORDERS: live, complete to SCN 2013999", "nothing to do"]
    for options in ([], ["--execute", "--reason", "x"]):
        done = CliRunner().invoke(app, ["mend", "SHOP.ORDERS", *options, "--config", str(running)])
        assert (done.exit_code, done.output.strip().splitlines()) == (0, right)
    answer = CliRunner().invoke(app, ["mend", "SHOP.STOCK", "--output", "json", "--config", str(running)])
    (way,) = json.loads(answer.stdout)["ways"]
    assert (way["command"], way["faults"]) == ("snapshot", ["held"])
    assert way["typed"].startswith("redolake snapshot SHOP.STOCK --replace")

    typo = CliRunner().invoke(app, ["mend", "SHOP.ODERS", "--config", str(running)])
    assert (typo.exit_code, "did you mean SHOP.ORDERS" in typo.output) == (2, True)


def test_each_way_is_typed_as_the_command_line_takes_it() -> None:
    from redolake.reconcile.cures import WAYS
    from tests.unit.test_printed_commands import fault_of

    assert [found for way in WAYS.values() if (found := fault_of(way.typed))] == []
