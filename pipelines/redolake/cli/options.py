"""Options that commands share, the choice of the pipeline, and how an error ends a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from redolake.cli.connections import read_from_airflow, resolve_connections
from redolake.cli.output import Output, given, print_error, print_json
from redolake.config import Pipeline, load_configuration, load_each
from redolake.config.tables import is_match
from redolake.errors import ConfigurationError, Finding, RedolakeError, Transient, in_shell
from redolake.operations import Verdict
from redolake.operations.declared import MEANINGS
from redolake.values.row_key import parse_row_key
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern

EXIT_CODES = f"Exit codes: {' · '.join(f'{code:d} {means}' for code, means in MEANINGS.items())}."


def check_table_names(names: list[str] | None) -> list[str] | None:
    """Raise BadParameter for what is neither OWNER.TABLE nor a pattern, before anything is opened."""
    for name in names or ():
        try:
            (TablePattern if is_match(name) else TableId).parse(name)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong)) from None
    return names


def check_table_name(name: str) -> str:
    check_table_names([name])
    return name


ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", envvar="REDOLAKE_CONFIG", help="The pipelines file; default: pipelines.yml.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]
PipelineOption = Annotated[
    str | None,
    typer.Option("--pipeline", "-p", envvar="REDOLAKE_PIPELINE", help="Needed only if the file defines several pipelines."),
]
TablesArgument = Annotated[
    list[str] | None, typer.Argument(help="OWNER.TABLE ...; default: all tables.", callback=check_table_names)
]
TableArgument = Annotated[str, typer.Argument(help="OWNER.TABLE.", callback=check_table_name)]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def row_keys(texts: Sequence[str] | None) -> list[dict[str, str]]:
    """Return the keys that were given on the command line. Raises BadParameter for a text that is no key."""
    try:
        return [parse_row_key(text) for text in texts or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@contextmanager
def chosen_pipeline(
    output: Output, name: str | None, config: Path | None, *, connects: bool = False, code: int | None = None
) -> Iterator[Pipeline]:
    """Yield the named pipeline, or the only one, for a command whose errors are reported as `report_errors` does.

    A command that `connects` to the source has its connections from Airflow too.
    """
    given.options = tuple(chosen_by(name, config))
    with report_errors(output, code):
        selected = select_pipeline(name, config)
        yield resolve_connections(selected) if connects else selected


def chosen_by(name: str | None, config: Path | None) -> Iterator[str]:
    """Yield the options that have chosen the pipeline, but for those that the environment repeats."""
    if name is not None and name != os.environ.get("REDOLAKE_PIPELINE"):
        yield f"-p {in_shell(name)}"
    if config is not None and str(config) != os.environ.get("REDOLAKE_CONFIG"):
        yield f"-c {in_shell(str(config))}"


@contextmanager
def report_errors(output: Output, code: int | None = None) -> Iterator[None]:
    """Print a typed error as one message and exit with the code of its family, or with `code`. Other exceptions are bugs and
    show their traceback."""
    try:
        yield
    except RedolakeError as error:
        if output is Output.json:
            body: dict[str, object] = {"error": error.as_dict()}
            if isinstance(error, ConfigurationError):
                body["findings"] = [asdict(finding) for finding in error.findings]
            print_json(body)
        else:
            print_error(str(error))
        raise typer.Exit(exit_code_of(error) if code is None else code) from None


def exit_code_of(error: RedolakeError) -> int:
    if isinstance(error, Transient):
        return Verdict.LATER
    return Verdict.MISUSED if isinstance(error, ConfigurationError) else Verdict.STOPPED


def select_pipeline(name: str | None, config: Path | None) -> Pipeline:
    """Return the named pipeline, or the only one. Raises ConfigurationError that lists the names."""
    pipelines = load_configuration(config).pipelines
    if name is None and len(pipelines) != 1:
        raise no_choice("name one pipeline", config, pipelines)
    name = name or next(iter(pipelines))
    if name not in pipelines:
        raise no_choice(f"no pipeline {name!r}", config, pipelines)
    read_from_airflow(pipelines[name].ledger.connection)
    return pipelines[name]


def select_each(name: str | None, config: Path | None) -> dict[str, Pipeline | ConfigurationError]:
    """Return the named pipeline, or all, by name: wrong settings of one cost no other its own. Raises ConfigurationError where
    none has right ones."""
    if name:
        return {name: select_pipeline(name, config)}
    found, wrong = load_each(config)
    return {**found.pipelines, **wrong}


def no_choice(what: str, config: Path | None, names: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(
        [Finding(str(config or "pipelines.yml"), what, "--pipeline with one of: " + ", ".join(sorted(names)))]
    )


def confirm(pipeline: Pipeline, yes: bool) -> None:
    """Ask for the pipeline's name before something that cannot be undone."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("this cannot be undone: confirm it with --yes")
    if typer.prompt(f"This cannot be undone. Type {pipeline.name} to continue", err=True) != pipeline.name:
        raise typer.Abort
