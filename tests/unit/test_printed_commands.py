"""Each command in a text that people read is one that the command line itself accepts, as it is printed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import typer

from redolake import errors
from redolake.cli import app

GROUP: Any = typer.main.get_command(app)
ROOT = Path(__file__).parents[2]
ROOMS = ("pipelines", "plugins", "dags", "demo", "standin", "docs")
FILES = sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
# What is shown to whoever runs Redolake, beside the strings of the code: the page, alerts, forms of compose, settings, SQL.
SHOWN = sorted(
    file
    for pattern in (
        "pipelines/**/*.html",
        "pipelines/**/*.js",
        "docker/**/*.*",
        "docker-compose.yml",
        "sql/**/*.sql",
        "Dockerfile",
    )
    for file in ROOT.glob(pattern)
    if file.suffix not in (".png", ".jar") and "redolake" in file.read_text()
)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`((?:redolake|make) [^`]*)`")
COMMAND = re.compile(r"(?<![`\w./-])redolake (?:-\S+ )?(?:{})\b".format("|".join(GROUP.commands)))  # type: ignore[attr-defined]
# In a text the reader puts a value in the place of each of these.
VALUES = {
    "TABLE": "SHOP.ORDERS",
    "TABLES": "SHOP.ORDERS SHOP.ITEMS",
    "OWNER.TABLE": "SHOP.ORDERS",
    "OWNER.NAME": "SHOP.ORDERS",
    "WINDOW": "1-2000000",
    "PIPELINE": "shop",
    "NEW-NAME": "shop2",
    "SCN": "2000241",
    "LATER_SCN": "2000300",
    "MOMENT": "2000241",
    "XID": "0A00.1F.2",
    "TEXT": "text",
    "ID": "shop",
    "COMMAND": "run",
    "..": "text",
}
PLACEHOLDER = re.compile(r"(?<![\w.-])({})(?![\w-])".format("|".join(map(re.escape, sorted(VALUES, key=len, reverse=True)))))


def fault_of(command: str) -> str:
    """Return why the command line refuses the command, which is not run; nothing if it accepts it."""
    if command.startswith("make "):
        return fault_of_make(command)
    words = shlex.split(PLACEHOLDER.sub(lambda found: VALUES[found[1]], re.sub(r" 2?> \S+$", "", command)))[1:]
    if "--help" in words or words == ["--version"]:
        return ""
    words = words[1:] if re.fullmatch("-v+", words[0]) else words
    chosen: Any = GROUP
    while hasattr(chosen, "commands"):
        chosen = chosen.commands.get(words[0] if words else "")
        words = words[1:]
    if chosen is None:
        return "no command of this name"
    try:
        chosen.make_context(chosen.name, words)
    except Exception as error:  # typer brings its own copy of click, or takes the installed one
        text = str(error.format_message()) if hasattr(error, "format_message") else repr(error)
        return "" if text.endswith("does not exist.") else text  # a file that the reader has
    return ""


def fault_of_make(command: str) -> str:
    text = (ROOT / "Makefile").read_text()
    targets = {name for line in re.findall(r"^([a-z][\w -]*):", text, re.M) for name in line.split()}
    variables = {name for pair in re.findall(r"\$\((?:if |or )?\$?\(?(\w+)|^(\w+) [:?]?=", text, re.M) for name in pair}
    wrong = [
        word
        for word in shlex.split(command)[1:]
        if (word.partition("=")[0] not in variables if "=" in word else word not in targets)
    ]
    return f"no target or variable: {wrong}" if wrong else ""


# --- What the code prints --------------------------------------------------------------------------------------------


def docstrings(tree: ast.AST) -> set[int]:
    """Return the strings that nobody is shown. Those of errors become a page, and those of commands their help."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, kinds) and node.body]
    return {id(first.value) for first in bodies if isinstance(first, ast.Expr)}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text of the code with each way to fill its parts."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    not_shown = docstrings(tree)
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)]
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if is_text and id(node) not in parts and id(node) not in not_shown and re.search("redolake |make ", ast.unparse(node)):
            scope = [one for one in scopes if node in ast.walk(one)][-1]
            for text in forms(node, scope):  # type: ignore[arg-type]
                yield node.lineno, text  # type: ignore[attr-defined]


def forms(node: ast.expr, scope: ast.AST, depth: int = 0) -> list[str]:
    """Return what an expression may print: of a choice both, of a local name what it is set to, else a value for its name."""
    if isinstance(node, ast.Constant):
        return [] if node.value is None else [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(parts) for parts in product(*(forms(part, scope, depth) for part in node.values))]
    if isinstance(node, ast.FormattedValue):
        return forms(node.value, scope, depth)
    if isinstance(node, ast.IfExp):
        return forms(node.body, scope, depth) + forms(node.orelse, scope, depth)
    if isinstance(node, ast.Name) and depth < 3:
        kinds = (ast.JoinedStr, ast.IfExp, ast.Constant)
        given = list[ast.expr]()
        for one in ast.walk(scope):
            if isinstance(one, ast.Assign):
                for target in one.targets:
                    pairs = (
                        zip(target.elts, one.value.elts, strict=False)
                        if isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple)
                        else [(target, one.value)]
                    )
                    given += [value for to, value in pairs if isinstance(to, ast.Name) and to.id == node.id]
        if found := [text for one in given if isinstance(one, kinds) for text in forms(one, scope, depth + 1)]:
            return found
    return [filled(ast.unparse(node))]


def filled(expression: str) -> str:
    """Return a value for a name of the code, by its last word."""
    word = re.split(r"\W+", expression.strip("()]'\""))[-1]
    return NAMES.get(word, "2000241" if word.endswith("scn") else "SHOP.ORDERS")


NAMES = {"pipeline": "shop", "window": "1-2000000", "flavour": "cdb", "choice": "ignore"}


@cache
def printed() -> tuple[tuple[str, str], ...]:
    """Return each text of the code that has a command, with its place."""
    found = [(file, one) for file in FILES for one in texts(ast.parse(file.read_text()))]
    return tuple((f"{file.relative_to(ROOT)}:{line}", text) for file, (line, text) in found)


def code_commands() -> Iterator[tuple[str, str]]:
    for place, text in printed():
        for command in QUOTED.findall(text):
            yield place, command


def wrong(found: Iterator[tuple[str, str]]) -> list[str]:
    return sorted({f"{place}: `{command}`: {fault}" for place, command in found if (fault := fault_of(command))})


def test_each_command_that_the_code_prints_is_accepted_by_the_command_line() -> None:
    assert len(dict.fromkeys(code_commands())) > 250
    assert wrong(code_commands()) == []


def test_each_command_of_the_page_and_of_files_for_other_programs_is_accepted() -> None:
    """A template may print a name of a table in the middle of a command."""
    named = [(str(file.relative_to(ROOT)), re.sub(r"' ~ [^~]* ~ '", "SHOP.ORDERS", file.read_text())) for file in SHOWN]
    found = [(name, command) for name, text in named for command in QUOTED.findall(text)]

    assert {name for name, _ in found} > {
        "docker/prometheus/redolake-alerts.yml",
        "pipelines/redolake/cockpit/page/pipeline.html",
    }
    assert wrong(iter(found)) == []


def test_each_command_in_the_cure_of_an_error_class_is_accepted() -> None:
    texts = [(name, " ".join((kind.__doc__ or "").split())) for name, kind in vars(errors).items() if isinstance(kind, type)]

    assert wrong((name, command) for name, text in texts for command in QUOTED.findall(text)) == []


def outside_quotes() -> Iterator[tuple[str, str]]:
    """Yield what follows each command that is not between backquotes, up to the end of its line."""
    for place, text in printed():
        for one in re.split(r"\n|; ", QUOTED.sub("", text)):
            if found := COMMAND.search(one):
                yield place, one[found.start() :]


def test_a_command_outside_of_backquotes_ends_its_line() -> None:
    assert len(list(outside_quotes())) > 5
    assert wrong(outside_quotes()) == []


def page_commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page: those in lines of code, and in the text those with more than their name, which is all that
    a sentence about a command has. The headings of the generated page are no commands."""
    text = page.read_text()
    for command in QUOTED.findall(text):
        is_name = " ".join(command.split()[1:]) in NAMES_OF_COMMANDS and command.startswith("redolake ")
        if not is_name and "[OPTIONS]" not in command:
            yield str(page.relative_to(ROOT)), command
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r" && ", re.sub(r" +#.*| >.*| &$", "", line)):
                if found := re.match(r"\s*(?:\$ )?(?:\.venv/bin/)?((?:redolake|make) .*)", part):
                    yield str(page.relative_to(ROOT)), found[1]


def test_each_command_of_a_page_is_accepted() -> None:
    assert wrong(one for page in PAGES for one in page_commands(page)) == []


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for part, command in group.commands.items():
        yield from commands(command, f"{name}{part} ") if hasattr(command, "commands") else [(f"{name}{part}", command)]


COMMANDS = dict(commands(GROUP))
NAMES_OF_COMMANDS = {*COMMANDS, *GROUP.commands}  # type: ignore[attr-defined]


# What cannot be undone asks, and a script or a task cannot answer. Others ask always, or, as `init`, not for this.
CONFIRMED = {
    "init": set[str](),
    "resume": {"--ddl"},
    "quarantine drop": {"--execute"},
    "tx drop": {"--execute"},
    "recover": {"--execute"},
    "remine": {"--discard"},
    "prune": {"--execute"},
    "history prune": {"--execute"},
    "history rebuild": {"--execute"},
}


def test_a_reason_and_a_confirmation_are_given_where_the_command_needs_them() -> None:
    """The help of `--reason` says with which options it is needed."""
    lacking = []
    for place, command in [*code_commands(), *outside_quotes()]:
        words = shlex.split(command)[1:]
        name = next((name for name in (" ".join(words[:2]), " ".join(words[:1])) if name in COMMANDS), "")
        parameters = COMMANDS[name].params if name else ()
        help_of = {option: getattr(one, "help", None) or "" for one in parameters for option in one.opts}
        needing = re.findall(r"(--[a-z -]+?)(?: and | needs? it)", help_of.get("--reason", ""))
        if "--reason" not in words and any({*options.split()} <= {*words} for options in needing):
            lacking.append(f"{place}: `{command}`: --reason")
        if "--yes" in help_of and {*words} & CONFIRMED.get(name, {*words}) and not {"--yes", "-y"} & {*words}:
            lacking.append(f"{place}: `{command}`: --yes")
    assert lacking == []


# Where a command with these options is run from the state in which the code prints it. First those that are typed as they are
# printed; then those whose step is called, which is all that the command does; then those that no test can run.
AS_PRINTED = "tests/integration/test_cures_as_printed.py::"
LOOKS = f"{AS_PRINTED}test_what_only_shows_ends_with_a_sentence_in_each_state_of_a_pipeline"
TYPED = {
    **dict.fromkeys(
        (
            "doctor",
            "prune",
            "quarantine list",
            "quarantine list --output",
            "runway",
            "schema log",
            "snapshot --status",
            "status",
            "tables",
            "tx list",
            "validate",
            "verify",
            "views",
            "windows",
            "windows --output",
        ),
        LOOKS,
    ),
    **dict.fromkeys(
        ("snapshot", "snapshot --replace", "resume --ddl --reason --yes", "repair --execute --reason"),
        f"{AS_PRINTED}test_each_cure_of_a_pipeline_cures_as_it_is_printed",
    ),
    **dict.fromkeys(
        ("recover", "recover --execute --reason --yes", "close-gap", "run"),
        f"{AS_PRINTED}test_each_choice_after_lost_redo_is_made_as_it_is_printed",
    ),
    "mend": "tests/unit/cli/test_cli_everywhere.py::test_mend_says_which_way_makes_a_table_right",
    "resume": f"{AS_PRINTED}test_what_keeps_old_windows_is_ended_as_it_is_printed",
    "snapshot --resume": f"{AS_PRINTED}test_a_snapshot_is_resumed_and_begun_again_as_it_is_printed",
    "snapshot --replace --restart": f"{AS_PRINTED}test_a_snapshot_is_resumed_and_begun_again_as_it_is_printed",
    "remine --execute --replace": f"{AS_PRINTED}test_a_damaged_window_is_mined_again_as_it_is_printed",
    "init": "tests/integration/test_init.py::test_init_never_replaces_a_file_unless_forced",
    "migrate": "tests/contract/test_migrations.py::test_who_only_reads_is_told_to_migrate_and_reads_afterwards",
    "read --as-of": "tests/integration/test_as_of.py::"
    "test_tables_are_written_or_queried_as_of_a_moment_by_command_and_from_python",
    "setup-sql": "tests/unit/source/test_setup_sql.py::test_the_command_needs_no_pipelines_file",
    "setup-sql --flavour": "tests/unit/source/test_setup_sql.py::test_the_command_takes_what_the_file_names",
    "spark pack": "tests/e2e/test_cluster.py::test_the_package_travels_to_hosts_that_do_not_have_it",
    "spark setup": "tests/unit/cli/test_spark_commands.py::test_setup_says_in_json_which_java_and_which_jars_spark_gets",
    "tx drop --execute --reason --yes": "tests/unit/cli/test_cli.py::"
    "test_a_transaction_is_dropped_only_after_its_cost_is_shown_and_confirmed",
}
BY_STEP = {
    "backfill --execute --from --target --to": "tests/integration/test_backfill_ranges.py::"
    "test_a_whole_copy_takes_the_place_of_a_table_that_another_writer_has_damaged_and_goes_back",
    "fill-columns --execute --reason": "tests/integration/test_filled_columns.py::"
    "test_left_out_columns_are_filled_from_the_source_and_then_from_the_redo",
    "history rebuild --execute --reason --yes": "tests/integration/test_history.py::"
    "test_a_history_that_is_gone_holds_its_table_until_it_is_rebuilt_or_may_begin_again",
    "olr-config": "tests/integration/test_olr.py::"
    "test_the_printed_configuration_is_that_of_the_tables_and_a_wrong_one_is_named",
    "quarantine retry --execute --reason": "tests/integration/test_quarantine.py::"
    "test_a_ddl_that_changes_the_key_waits_until_no_key_is_in_quarantine",
    "resume --new-history --reason": "tests/integration/test_history.py::"
    "test_a_history_that_is_gone_holds_its_table_until_it_is_rebuilt_or_may_begin_again",
    "selftest --scratch-connection": "tests/oracle/test_selftest.py::test_the_database_answers_the_question_with_yes",
    "swap --copy": "tests/integration/test_backfill_ranges.py::"
    "test_a_whole_copy_takes_the_place_of_a_table_that_another_writer_has_damaged_and_goes_back",
    "validate --spark": "tests/integration/spark/test_place_check.py::"
    "test_a_folder_that_spark_shares_has_no_finding_and_stays_empty",
    "swap --undo": "tests/integration/test_backfill_ranges.py::"
    "test_a_whole_copy_takes_the_place_of_a_table_that_another_writer_has_damaged_and_goes_back",
}
NOT_RUN = {
    "spark serve": "it starts a server and waits: tests/fixtures start the same one for the tests over Connect",
    "verify --due": "it is refused unless `verify: {every}` is set, which the text that prints it asks for",
}


def shape_of(command: str) -> str:
    """Return a command's name and options, without values, nor what names the pipeline."""
    words = shlex.split(PLACEHOLDER.sub(lambda found: VALUES[found[1]], command))[1:]
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), words[0])
    return " ".join([name, *sorted({word for word in words if word.startswith("--")})])


def test_each_command_that_the_product_prints_is_run_somewhere_or_it_is_said_why_not() -> None:
    found = {
        shape_of(command)
        for place, command in code_commands()
        if place.startswith("pipelines/") and command.startswith("redolake ")
    }
    assert found == {*TYPED, *BY_STEP, *NOT_RUN}
    for test in {*TYPED.values(), *BY_STEP.values()}:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), test
