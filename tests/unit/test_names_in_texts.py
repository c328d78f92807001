"""A name of the source in a text: one line, whatever it contains, and in a command or statement one word of it."""

from __future__ import annotations

import ast
import logging
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from redolake.cli import LogLine
from redolake.errors import ConfigurationError, Finding, SourceRefused, TableHeld
from redolake.steps.checks.snapshot_estimates import gather
from redolake.values.table import TableId

SOURCES = Path(__file__).parents[2] / "pipelines" / "redolake"
ODD = [
    "A\nDROP TABLE B;",
    "A;DROP TABLE B",
    "$(ID)",
    "`ID`",
    "A'B",
    "A B",
    "A$B",
    "A\u2028B",
    "A\u202eB",
    "A\x1b[2JB",
    "A\\B",
    "é",
]
RUN_BY_US = {"scratch.py", "setup_sql.py", "selftest_cases.py"}  # with names that are quoted, or refused
NAMES = [str(TableId("SHOP", name)) for name in ODD]


@pytest.mark.parametrize("name", NAMES)
def test_an_error_and_a_finding_are_lines_and_their_commands_have_the_name_as_one_word(name: str) -> None:
    cure = f"run redolake snapshot {name} --replace or redolake quarantine list {name}; or redolake resume {name}"
    finding = Finding(name, f"{name} is wrong", cure)
    error = SourceRefused(f"{name} is wrong", cure=cure, table=name)
    texts = [finding.what, finding.cure, error.what, error.cure, *str(ConfigurationError([finding])).split("\n")[1:]]
    texts += [str(TableHeld([finding])).split("\n  do this: ")[0], *str(error).split("\n  do this: ")]

    assert all(text.isprintable() for text in texts)
    for command in ("snapshot {} --replace", "quarantine list {}", "backfill --target copy --from MOMENT {} --execute"):
        printed = Finding(name, "", f"redolake {command.format(name)}").cure.replace("redolake", "printf '%s\\0'", 1)
        env = {"LC_ALL": "C.UTF-8"}
        words = subprocess.run(["bash", "-c", printed], capture_output=True, env=env, check=True).stdout.decode().split("\0")
        assert words[:-1] == [word.replace("{}", name) for word in command.split(" ")]


@pytest.mark.parametrize("name", ODD)
def test_a_name_in_a_statement_is_one_quoted_identifier_on_one_line(name: str) -> None:
    sql = TableId("SHOP", name).in_sql

    assert re.fullmatch(r'"SHOP"\."[^"]+"', sql)
    assert sql.isprintable()
    assert re.fullmatch(r"[^']*\('(?:[^']|'')*', '(?:[^']|'')*'\); END;", gather(TableId("SHOP", name)))


def test_each_statement_in_a_text_takes_the_name_as_sql_has_it() -> None:
    raw = []
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            for before, value in pairwise(node.values if isinstance(node, ast.JoinedStr) else ()):
                text = before.value if isinstance(before, ast.Constant) else ""
                if isinstance(value, ast.FormattedValue) and re.search(r"(ALTER TABLE|GRANT [A-Z, ]+ ON) $", str(text)):
                    raw.append((file.name, ast.unparse(value.value)))

    raw = [one for one in raw if not one[1].endswith(".in_sql") and "table_at(" not in one[1] and one[0] not in RUN_BY_US]
    # TableId.in_sql; a name that the statement has in quotes; a statement that nobody is shown.
    assert {*raw} == {("supplemental.py", "name"), ("grants.py", "m[1]"), ("truncated_by_parents.py", "own")}


def test_a_log_line_is_one_line() -> None:
    record = logging.LogRecord("redolake", logging.INFO, "", 0, "%s joined", (NAMES[0],), None)

    assert LogLine("%(message)s").format(record) == "SHOP.A\\nDROP TABLE B; joined"


def test_a_name_that_means_nothing_to_a_shell_stays_as_it_is() -> None:
    cure = "run `redolake snapshot SHOP.ORDERS --replace`"

    assert Finding("SHOP.ORDERS", "is wrong", cure).cure == cure
    assert shlex.split(Finding("SHOP.A$B", "", "redolake verify SHOP.A$B").cure) == ["redolake", "verify", "SHOP.A$B"]
