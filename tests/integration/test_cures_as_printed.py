"""Each command that a text of the code names is run from the state in which it is printed, as a shell reads it.

A plain fold stands in place of Spark and Delta. tests/integration/spark/test_cures.py has the states of Delta tables.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
import yaml
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.cockpit import read_overview
from redolake.cockpit.overview import EVERY_TABLE
from redolake.context import Run, ledger_url
from redolake.errors import RedoLost, TableHeld, TargetRefused
from redolake.land.cures import mine_again
from redolake.reconcile.needed import find_needs
from redolake.steps.run import capture
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source
from tests.states.lost_ledger import lose_ledger
from tests.support.printed_commands import printed_shapes, shape_of
from tests.tables.printed_places import STATES, state_of

NAME = '"A $B"'  # means two things to a shell
DONE, OPEN, MISUSED, DIFFERS = 0, 1, 2, 3


@dataclass
class Terminal:
    """A pipeline over one table, and the commands that somebody copies into a shell."""

    shop: Shop
    lake: PlainLake

    def __post_init__(self) -> None:
        self.pipeline = self.shop.pipeline(tables=[f"SHOP.{NAME}"])

    def change(self, *statements: str) -> None:
        self.shop.run_sql(*(statement.replace("parts", NAME) for statement in statements))
        self.shop.switch_logs()

    def catch_up(self) -> None:
        with suppress(TableHeld, RedoLost):
            steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params)

    def is_equal(self) -> bool:
        self.shop.switch_logs()
        self.catch_up()
        compared = compare_with_source(self.pipeline, self.shop.params)
        return compared.equal and bool(compared.tables)

    def health(self) -> str:
        return read_overview(self.pipeline, ledger_url(self.pipeline), datetime.now(UTC), tables=EVERY_TABLE).health.cure

    def held(self) -> str:
        (table,) = steps.read_status(self.pipeline).tables
        assert table.error is not None
        return str(table.cure)

    def lose_row(self) -> None:
        """Take a row out of the lake's table, and let `verify` find it."""
        ((path, table),) = self.lake.tables.items()
        self.lake.commit(path, replace(table, rows=dict(list(table.rows.items())[1:])))
        assert self.run("redolake verify")[0] == 3

    def run(self, command: str) -> tuple[int, str]:
        words = shlex.split(command)
        assert words[0] == "redolake"
        done = CliRunner().invoke(app, words[1:])
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
        return done.exit_code, done.output


def commands_in(cure: str) -> list[str]:
    return re.findall(r"`(redolake [^`]*)`", cure)


@pytest.fixture
def terminal(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    user = shop.oracle.capture_user
    address = f"oracle://{user.replace('#', '%23')}:{shop.oracle.passwords[user]}@{shop.oracle.root_dsn}"
    monkeypatch.setenv("AIRFLOW_CONN_ORACLE_SHOP", address)
    lake = PlainLake()
    opened = Terminal(shop, lake)
    body = opened.pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
    (tmp_path / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    monkeypatch.chdir(tmp_path)
    opened.change(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts (id, place) VALUES (1, 'A')",
        "INSERT INTO parts (id, place) VALUES (2, 'B')",
    )
    with lake.in_place_of_spark():
        yield opened


def test_each_cure_of_a_pipeline_cures_as_it_is_printed(terminal: Terminal) -> None:
    (first,) = commands_in(terminal.health())
    assert terminal.run(first)[0] == DONE, "nothing has contents"
    assert terminal.is_equal()

    # A DDL that is answered, and one after which the table is read again.
    for chosen in ("--ddl ignore", "--replace"):
        terminal.change("ALTER TABLE parts NOLOGGING", "INSERT INTO parts (id, place) VALUES (30, 'x')")
        terminal.catch_up()
        *answers, way = [one.removesuffix(" -p shop") for one in commands_in(terminal.health())]
        (command,) = [one for one in commands_in(terminal.held()) if chosen in one]
        assert command in answers
        assert "--replace" in way
        assert terminal.run(way if chosen == "--replace" else command)[0] == DONE, command
        assert terminal.is_equal()
        terminal.change("DELETE FROM parts WHERE id = 30")

    terminal.catch_up()
    terminal.lose_row()
    (repair,) = commands_in(terminal.health())
    assert terminal.run(repair)[0] == DONE, repair
    assert terminal.is_equal()


def lose_redo(terminal: Terminal, number: int) -> None:
    terminal.change(f"INSERT INTO parts (id, place) VALUES ({number}, 'lost')")
    terminal.shop.switch_logs()
    terminal.shop.oracle.faults.purge_logs()
    terminal.change(f"INSERT INTO parts (id, place) VALUES ({number + 1}, 'not lost')")
    terminal.catch_up()


def test_each_choice_after_lost_redo_is_made_as_it_is_printed(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    lose_redo(terminal, 10)
    (list_them,) = commands_in(terminal.health())
    assert terminal.run(list_them)[0] == OPEN
    choices = {one.name: one.command for one in steps.inspect_redo_loss(terminal.pipeline, source=terminal.shop.params).choices}
    assert list(choices) == ["restore", "snapshot", "gap", "position"]
    assert terminal.run(choices["restore"])[0] == OPEN, "no log came back"
    code, output = terminal.run(choices["gap"])
    assert code == DONE, output
    terminal.catch_up()
    again, closing = commands_in(terminal.health())
    assert terminal.run(closing)[0] == OPEN, "its logs are gone"
    assert terminal.run(again)[0] == DONE
    assert terminal.is_equal()

    for name in ("position", "snapshot"):
        lose_redo(terminal, 20 if name == "position" else 30)
        found = steps.inspect_redo_loss(terminal.pipeline, source=terminal.shop.params)
        choices = {one.name: one for one in found.choices}
        scn = choices["position"].what.split("to SCN ")[1].split(" ")[0]
        code, output = terminal.run(choices[name].command.replace("SCN", scn))
        assert code == DONE, output
        if name == "position":
            assert terminal.run(commands_in(terminal.health())[0])[0] == DONE
        assert terminal.is_equal()


# Commands that texts name to see more. They run in any state, and change nothing.
LOOKS = (
    "doctor", "plan", "validate", "status", "tables", "windows", "windows --output json", "runway", "recover", "tx list",
    "quarantine list", "quarantine list --output json", "schema log TABLE", "views", "verify",
    "snapshot --status", "metrics", "close-gap", "prune", "optimize", "migrate --dry-run",
)  # fmt: skip


def test_what_only_shows_ends_with_a_sentence_in_each_state_of_a_pipeline(terminal: Terminal) -> None:
    def look() -> None:
        before = terminal.lake.tables.copy()
        for command in LOOKS:
            code, output = terminal.run(f"redolake {command.replace('TABLE', shlex.quote(f'SHOP.{NAME}'))}")
            assert (code in (0, 1, 2, 3), output.strip() != "") == (True, True), (command, code, output)
        assert terminal.lake.tables == before

    look()
    terminal.run("redolake run --until-caught-up")
    look()
    terminal.change("ALTER TABLE parts NOLOGGING")
    terminal.catch_up()
    assert terminal.held()
    look()
    lose_redo(terminal, 10)
    look()


def needs(terminal: Terminal) -> list[str]:
    with Run(terminal.pipeline) as context:
        return [command for need in find_needs(context) for command in commands_in(need.cure)]


def test_what_keeps_old_windows_is_ended_as_it_is_printed(terminal: Terminal) -> None:
    assert terminal.run("redolake snapshot")[0] == DONE
    terminal.catch_up()
    terminal.change("ALTER TABLE parts NOLOGGING")
    terminal.catch_up()
    resume, again = needs(terminal)
    assert terminal.run(resume)[0] == DONE
    terminal.catch_up()
    assert terminal.held(), "what holds it is still in the redo"
    assert terminal.run(again)[0] == DONE
    assert terminal.is_equal()
    assert needs(terminal) == []


def test_a_snapshot_is_resumed_and_begun_again_as_it_is_printed(terminal: Terminal) -> None:
    table = shlex.quote(f"SHOP.{NAME}")
    for options in ("--pause", "--resume", "", "--replace --restart"):
        assert terminal.run(f"redolake snapshot {table} {options}")[0] == DONE
    assert terminal.is_equal()


def test_a_lost_ledger_is_all_that_status_says_and_is_rebuilt_as_it_is_printed(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    lose_ledger(terminal.shop.folder / "landing")

    code, output = terminal.run("redolake status")
    (command,) = commands_in(output)
    assert (code, output.splitlines()) == (
        DONE,
        ["shop: the ledger is empty, and the landing is not", f"  do this: `{command}` rebuilds it"],
    )
    assert terminal.run(command)[0] == DONE
    assert terminal.is_equal()


def test_a_damaged_window_is_mined_again_as_it_is_printed(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    terminal.change("INSERT INTO parts (id, place) VALUES (50, 'x')")
    window = capture(Run(terminal.pipeline, terminal.shop.params)).plan.window
    damaged = max(Path(terminal.pipeline.landing).rglob("redo-*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    damaged.unlink()
    code, output = terminal.run(f"redolake remine {window}")
    assert (code, "files were not read" in output) == (DONE, True), "the manifest is right"
    (command, *_) = commands_in(mine_again(str(window)))
    assert terminal.run(command)[0] == DONE, command
    assert terminal.is_equal()


# --- Each place that prints a command: tests/tables/printed_places.py ------------------------------------------------------


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
ON_PAGES = {  # the commands of how-to pages, by the state that the page is about
    "differs": ("repair TABLE", "mend TABLE", "verify TABLE", "snapshot TABLE --replace", "status"),
    "held by a DDL": (
        "resume TABLE",
        "resume OWNER.TABLE",
        "snapshot OWNER.TABLE --replace",
        'resume SHOP.ORDERS --ddl ignore --reason "only switches off logging of direct loads, which nobody uses"',
    ),
    "declared gap": ("close-gap", "close-gap --scn 2000241", "snapshot OWNER.NAME --replace", "verify"),
    "lost redo": (
        "recover",
        "recover -p shop",
        "recover -p PIPELINE snapshot --execute --yes --reason TEXT",
        "status",
    ),
    "damaged window": ("remine WINDOW --replace --execute", "remine WINDOW --discard --execute --yes --reason TEXT"),
    "live": ("plan", "prune", "run", "stats", "views"),
}
NOT_ON_THEIR_OWN = {  # why not: these name a command whose argument the reader knows, or need Spark
    "named without the argument that they need": ("resume", "schema log", "swap TABLE", "swap", "snapshot"),
    "tests/integration/test_backfill_ranges.py": ("backfill --target live --from SCN --to SCN", "swap TABLE --undo"),
    "tests/integration/test_filled_columns.py": ("fill-columns TABLE",),
    "tests/integration/test_histories.py": ("history rebuild TABLE",),
    "tests/integration/test_quarantine.py": (
        "quarantine retry TABLE",
        "quarantine drop SHOP.ITEMS --key ID=1 --execute --reason TEXT",
    ),
    "tests/integration/test_as_of.py": ("read --as-of SCN",),
    "tests/integration/test_maintenance.py": ("optimize --execute",),
    "the same with several tables": ("snapshot TABLES --replace",),
}


def test_each_command_of_a_how_to_page_has_a_state_or_a_reason() -> None:
    pages = ("make-a-table-right", "held-table", "recover-lost-redo", "close-a-gap", "damaged-files", "quarantine")
    found = set[str]()
    for page in pages:
        text = (HOW_TO / f"{page}.md").read_text()
        found |= {one.strip() for one in re.findall(r"(?:`|^)redolake ([^`#\n]+)", text, re.MULTILINE)}
    assert found == {one for group in (ON_PAGES, NOT_ON_THEIR_OWN) for commands in group.values() for one in commands}


def commands_of(state: str) -> dict[str, str]:
    """Return a command of each shape that the places of a state print: the first one, which is that of a CDB for set-up."""
    pages = {shape_of(f"redolake {one}"): f"redolake {one}" for one in ON_PAGES.get(state, ())}
    return pages | {
        shape: command for place, shape, command in sorted(printed_shapes(), reverse=True) if state_of(place, shape) == state
    }


class States:
    """Brings one pipeline into each state, from any other one. `ended` undoes what a cure cannot: a text that was made up, an
    open session."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal, self.table = terminal, shlex.quote(f"SHOP.{NAME}")
        self.ended, self.row, self.values = ExitStack(), 1000, dict[str, str]()

    def insert(self) -> None:
        self.row += 1
        self.terminal.change(f"INSERT INTO parts (id, place) VALUES ({self.row}, 'x')")

    def heal(self) -> None:
        self.ended.close()
        self.ended = ExitStack()
        self.terminal.catch_up()
        found = steps.read_status(self.terminal.pipeline)
        if found.lost is not None or found.tables[0].state != "live" or self.terminal.health():
            cure = (
                "recover snapshot --execute --yes --reason TEXT"
                if found.lost is not None
                else f"snapshot {self.table} --replace"
            )
            code, output = self.terminal.run(f"redolake {cure}")
            assert code == DONE, (cure, output)
            self.terminal.catch_up()
        if self.terminal.health():  # a comparison that found a difference counts until the next one
            assert self.terminal.run("redolake verify")[0] == DONE
        assert not self.terminal.health(), self.terminal.health()

    def enter(self, state: str, command: str) -> None:
        """Bring the pipeline into the state, in which the command is printed."""
        self.values = {}
        if state != "fresh":
            self.heal()
        {
            "fresh": self.fresh,
            "live": self.insert,
            "held": lambda: self.hold(command),
            "differs": self.terminal.lose_row,
            "held by a DDL": self.hold_by_ddl,
            "lost redo": self.lose,
            "declared gap": self.declare,
            "open transaction": self.open,
            "dropped transaction": self.drop,
            "paused snapshot": self.pause,
            "damaged window": self.damage,
            "lost ledger": lambda: lose_ledger(self.terminal.shop.folder / "landing"),
        }[state]()

    def filled(self, command: str) -> str:
        """Return a command with the values that the state gives it."""
        words = {"2000241": self.values.get("SCN", "2000241"), "1-2000000": self.values.get("WINDOW", ""), "NEW-NAME": "shop"}
        words |= {
            "WINDOW": self.values.get("WINDOW", ""),
            "PIPELINE": "shop",
            "-p SHOP.ORDERS": "-p shop",
            "tx drop SHOP.ORDERS": f"tx drop {self.values.get('XID')}",
        }
        for word in ("OWNER.TABLE", "OWNER.NAME", "TABLE", "SHOP.ORDERS"):
            words[word] = self.table
        return re.sub("|".join(map(re.escape, words)), lambda found: words[found[0]], command)

    def fresh(self) -> None:
        for folder in ("landing", "lake"):
            shutil.rmtree(self.terminal.shop.folder / folder, ignore_errors=True)
        self.terminal.lake.tables.clear()

    def hold(self, command: str) -> None:
        """Hold the table with an error that prints the command, as a batch in Spark does."""
        cure = f"run `{command}`".replace("SHOP.ORDERS", f"SHOP.{NAME}")
        error = TargetRefused("made up", cure=cure, table=f"SHOP.{NAME}").as_dict()
        self.ended.enter_context(mock.patch("tests.references.plain_lake.unreadable", return_value=error))
        self.insert()
        self.terminal.catch_up()
        assert commands_in(self.terminal.held()), cure
        self.ended.close()  # what it was is cured

    def hold_by_ddl(self) -> None:
        self.terminal.change("ALTER TABLE parts NOLOGGING")
        self.terminal.catch_up()
        assert self.terminal.held()

    def lose(self) -> None:
        self.row += 2
        lose_redo(self.terminal, self.row - 1)

    def declare(self) -> None:
        self.lose()
        choices = steps.inspect_redo_loss(self.terminal.pipeline, source=self.terminal.shop.params).choices
        (command,) = [one.command for one in choices if one.name == "gap"]
        code, output = self.terminal.run(command)
        assert code == DONE, (command, output)
        self.terminal.catch_up()
        (found,) = [one for one in commands_in(self.terminal.health()) if "close-gap" in one]
        scns = re.findall(r"--scn (\d+)", found) or re.findall(r"SCN (\d+) to", self.terminal.health())
        self.values["SCN"] = scns[0]

    def open(self) -> None:
        session = self.ended.enter_context(self.terminal.shop.oracle.connect("SHOP"))
        self.row += 1
        session.cursor().execute(f"INSERT INTO {NAME} (id, place) VALUES ({self.row}, 'open')")
        self.insert()
        self.terminal.catch_up()
        (found,) = steps.list_transactions(self.terminal.pipeline).open
        self.values["XID"] = found.xid

    def drop(self) -> None:
        self.open()
        code, output = self.terminal.run(f"redolake tx drop {self.values['XID']} --execute --reason TEXT --yes")
        assert code == DONE, output

    def pause(self) -> None:
        begun = steps.begin_snapshot(Run(self.terminal.pipeline, self.terminal.shop.params), [f"SHOP.{NAME}"], replace=True)
        assert begun.tables
        assert self.terminal.run(f"redolake snapshot {self.table} --pause")[0] == DONE
        self.ended.callback(lambda: self.terminal.run(f"redolake snapshot {self.table} --resume"))

    def damage(self) -> None:
        self.insert()
        window = str(capture(Run(self.terminal.pipeline, self.terminal.shop.params)).plan.window)
        self.values["WINDOW"] = window
        self.ended.callback(lambda: self.terminal.run(f"redolake remine {window} --replace --execute"))
        max(Path(self.terminal.pipeline.landing).rglob("redo-*.parquet"), key=lambda file: file.stat().st_mtime_ns).unlink()


CURES = ("snapshot", "snapshot --replace", "resume", "run", "recover --execute --reason --yes", "remine --execute --replace")
WRONG_ROWS = (("differs", "verify"), ("declared gap", "verify"))
MAY_STOP = {  # the redo that was lost stays lost; what is made up is not in quarantine, and its rows differ in nothing
    "resume --ddl --reason": {2},  # asks, and nobody is there
    "doctor": {0, 2},
    "verify --due": {2},  # `verify: {every}` is not set
    "verify": {0, 1},
    "recover": {0, 1},
    "recover --restored": {1},
    "close-gap": {1},
    "close-gap --scn": {1},
    "close-gap --execute --reason": {1},
}


def test_each_command_is_run_from_the_state_in_which_a_place_prints_it(terminal: Terminal) -> None:
    assert terminal.run("redolake run --until-caught-up")[0] == DONE
    states, wrong = States(terminal), list[str]()
    for state in STATES:
        is_there, looks = False, {shape_of(f"redolake {command}") for command in LOOKS}
        for shape, printed in sorted(commands_of(state).items(), key=lambda found: found[0] not in looks):
            if not is_there or state == "held":  # a text of its own for each command
                states.enter(state, printed)
            is_there, command = shape in looks, states.filled(printed)
            code, output = terminal.run(command)
            may_end = {DIFFERS} if (state, shape) in WRONG_ROWS else MAY_STOP.get(shape, {DONE})
            if code not in may_end or not output.strip():
                wrong.append(f"{state}: {command} ends with {code}: {output}")
            elif shape in CURES and state != "open transaction" and not terminal.is_equal():
                wrong.append(f"{state}: {command} cures nothing: {output}")
    assert wrong == []


# --- mend: from each state of a table --------------------------------------------------------------------------------------

MEND = f"redolake mend {shlex.quote(f'SHOP.{NAME}')}"
DO = f"{MEND} --execute --reason 'a bug'"
NOTHING_DONE = "Nothing is done yet; --execute --reason TEXT does it."


def test_mend_loads_a_table_and_then_says_that_nothing_is_to_do(terminal: Terminal) -> None:
    for command in (MEND, DO):
        code, output = terminal.run(command)
        assert (code, "is not in the ledger yet" in output) == (MISUSED, True), output
    assert terminal.run(commands_in(output)[0])[0] == DONE
    for command in (MEND, DO):
        code, output = terminal.run(command)
        assert (code, "\nnothing to do\n" in output, NOTHING_DONE in output) == (DONE, True, False), output


def test_mend_reads_a_held_table_again_and_records_the_reason(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    States(terminal).hold_by_ddl()
    code, output = terminal.run(MEND)
    assert (code, NOTHING_DONE in output) == (DONE, True), output

    code, output = terminal.run(DO)

    assert (code, "2 rows AS OF SCN" in output) == (DONE, True), output
    (proof,) = commands_in(output)
    assert terminal.run(proof)[0] == DONE, proof
    assert terminal.is_equal()
    with Run(terminal.pipeline) as context:
        (found,) = context.ledger.decisions("snapshot")
    assert found.body["reason"] == "a bug"


def test_mend_releases_a_table_and_asks_for_its_proof_after_the_next_run(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    States(terminal).hold("redolake resume SHOP.ORDERS")
    code, output = terminal.run(DO)
    assert (code, "prove it after the next run: " in output) == (DONE, True), output
    terminal.catch_up()
    assert terminal.run(commands_in(output)[0])[0] == DONE


def test_mend_does_not_call_a_table_right_while_redo_is_lost(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    lose_redo(terminal, 10)
    for command in (MEND, DO):
        code, output = terminal.run(command)
        assert (code, "nothing to do" in output, NOTHING_DONE in output) == (DIFFERS, False, False), output
        assert "redo that it needs is lost" in output
        assert "a person must decide" in output
    assert commands_in(output) == ["redolake recover"]


def test_mend_names_the_snapshot_of_a_gap_whose_logs_are_gone(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    States(terminal).declare()
    code, output = terminal.run(DO)
    assert (code, "RedoLost" in output) == (OPEN, True), output
    again, closing = commands_in(terminal.run(MEND)[1].split("reads:")[0])
    assert "close-gap" in closing
    assert terminal.run(again)[0] == DONE
    assert "nothing to do" in terminal.run(MEND)[1]


def test_mend_repairs_what_a_comparison_found_and_leaves_a_table_that_is_not_listed(terminal: Terminal) -> None:
    terminal.run("redolake run --until-caught-up")
    terminal.lose_row()
    code, output = terminal.run(DO)
    assert (code, commands_in(output)) == (DONE, [f"redolake verify {shlex.quote(f'SHOP.{NAME}'.replace(chr(34), ''))}"]), (
        output
    )

    file = Path("pipelines.yml")
    body = yaml.safe_load(file.read_text())
    body["pipelines"]["shop"]["tables"] = ["SHOP.OTHER"]
    file.write_text(yaml.safe_dump(body))
    for command in (MEND, DO):
        code, output = terminal.run(command)
        assert (code, "not listed" in output, "its Delta table stays as it is" in output) == (DONE, True, True), output
