"""The commands in texts that people read, found in the code and on pages, each with the place that prints it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import typer

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


# --- What the code prints --------------------------------------------------------------------------------------------


def docstrings(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the strings that nobody is shown. Those of errors become a page, and those of commands their help."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body[0] for node in nodes if isinstance(node, kinds) and node.body]
    return {id(first.value) for first in bodies if isinstance(first, ast.Expr)}


def texts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each text of the code, by the name of the function or constant that has it, with each way to fill its parts."""
    nodes = [*ast.walk(tree)]
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    not_shown = parts | docstrings(nodes)
    shown = {id(node) for node in nodes if is_text(node) and id(node) not in not_shown and SAYS.search(ast.unparse(node))}
    for name, scope, node in named_nodes(tree, "", tree) if shown else ():
        if id(node) in shown:
            for text in forms(node, scope):  # type: ignore[arg-type]
                yield name, text


SAYS = re.compile("redolake |make ")


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def named_nodes(node: ast.AST, name: str, scope: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield what is below the node, each with the name of the function, class or constant of the module in which it is, and
    with the innermost function."""
    for child in ast.iter_child_nodes(node):
        own, inner = name, scope
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            own = f"{name}.{child.name}".lstrip(".")
            inner = child if isinstance(child, ast.FunctionDef) else scope
        elif not name and isinstance(child, ast.Assign | ast.AnnAssign):
            own = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
        yield own, inner, child
        yield from named_nodes(child, own, inner)


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
    return tuple((f"{file.relative_to(ROOT)}::{name}", text) for file, (name, text) in found)


def code_commands() -> Iterator[tuple[str, str]]:
    for place, text in printed():
        for command in QUOTED.findall(text):
            yield place, command


def outside_quotes() -> Iterator[tuple[str, str]]:
    """Yield what follows each command that is not between backquotes, up to the end of its line."""
    for place, text in printed():
        for one in re.split(r"\n|; ", QUOTED.sub("", text)):
            if found := COMMAND.search(one):
                yield place, one[found.start() :]


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


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for part, command in group.commands.items():
        yield from commands(command, f"{name}{part} ") if hasattr(command, "commands") else [(f"{name}{part}", command)]


COMMANDS = dict(commands(GROUP))
NAMES_OF_COMMANDS = {*COMMANDS, *GROUP.commands}  # type: ignore[attr-defined]


def shape_of(command: str) -> str:
    """Return a command's name and options, without values, nor what names the pipeline."""
    words = shlex.split(PLACEHOLDER.sub(lambda found: VALUES[found[1]], command))[1:]
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), words[0])
    return " ".join([name, *sorted({word for word in words if word.startswith("--")})])


@cache
def printed_shapes() -> frozenset[tuple[str, str, str]]:
    """Return each place of the product that prints a command, as tests/tables/printed_places.py names it, with the command's
    shape and the command."""
    found = {(place, one) for place, text in [*code_commands(), *outside_quotes()] for one in text.split("; ")}
    found |= {(str(file.relative_to(ROOT)), one) for file in SHOWN for one in QUOTED.findall(without_templates(file))}
    return frozenset(
        (place.removeprefix("pipelines/redolake/"), shape_of(command), command)
        for place, command in found
        if command.startswith("redolake ") and not place.startswith(("demo/", "standin/", "docs/"))
    )


def without_templates(file: Path) -> str:
    """Return a file's text; a template may print a name of a table in the middle of a command."""
    return re.sub(r"' ~ [^~]* ~ '", "SHOP.ORDERS", file.read_text())
