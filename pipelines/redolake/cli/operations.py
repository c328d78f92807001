"""The commands of the operations that are declared once (redolake.operations)."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any, Literal

import typer

from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    YesOption,
    check_table_name,
    check_table_names,
    chosen_pipeline,
    confirm,
    row_keys,
)
from redolake.cli.output import NOT_DONE, Output, print_progress, progress, show, text_of
from redolake.operations import Operation, Parameter, Work
from redolake.operations.declared import Keys

CHECKED: dict[str, Callable[..., Any]] = {"table": check_table_name, "tables": check_table_names}


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the function from which Typer makes an operation's command."""

    def run(
        *, execute: bool, reason: str, yes: bool = False, output: Output, pipeline: str | None, config: Any, **given: Any
    ) -> None:
        chosen = {one.name: parse_value(one, given[one.name]) for one in operation.parameters}
        with chosen_pipeline(output, pipeline, config, connects=operation.connects) as selected:
            work = Work(selected, False, getpass.getuser(), reason, print_progress)
            if execute and not yes and operation.is_final(chosen):
                looked = operation.act(work, **chosen)
                print_progress("\n".join(looked.lines))
                confirm(selected, yes)
                work = replace(work, shown=looked.shown)
            with progress() as report:
                found = operation.act(replace(work, execute=execute, report=report), **chosen)
            lines = found.lines if execute else (*found.lines, NOT_DONE)
            show(output, found.result, lambda: text_of(*lines))
            if found.verdict:
                raise typer.Exit(found.verdict)

    arguments = list(arguments_of(operation))
    run.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in arguments}
    run.__doc__ = operation.help
    return run


def arguments_of(operation: Operation) -> Iterator[Argument]:
    """Yield what the command takes: the operation's own parameters, then those of all operations."""
    for one in operation.parameters:
        yield argument(one.name, one.default, option_of(one))
    help = "Do it; default: show what that takes." if not operation.at_once else "Do it, or only show what that takes."
    flag = "--execute" if not operation.at_once else "--execute/--dry-run"
    yield argument("execute", operation.at_once, Annotated[bool, typer.Option(flag, help=help)])
    needs = operation.reason if operation.at_once else f"{operation.reason[:-1]}; --execute needs it."
    yield argument("reason", "", Annotated[str, typer.Option(help=needs)])
    if operation.final:
        yield argument("yes", False, YesOption)
    yield argument("pipeline", None, PipelineOption)
    yield argument("config", None, ConfigOption)
    yield argument("output", Output.table, OutputOption)


def argument(name: str, default: Any, annotation: Any) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, default=default, annotation=annotation)


def option_of(one: Parameter) -> Any:
    """Return what Typer makes of a parameter."""
    option, kind = one.option, one.type
    if option.choices:
        kind = Literal[tuple(option.choices)] | None
    elif kind == Keys:
        kind = list[str] | None
    if option.positional:
        return Annotated[kind, typer.Argument(help=option.help, callback=CHECKED.get(one.name))]
    text = f"{option.help} {'; '.join(f'`{choice}`: {means}' for choice, means in option.choices.items())}".strip()
    name = f"--{(option.name or one.name).replace('_', '-')}"
    return Annotated[kind, typer.Option(name, help=text)]


def parse_value(one: Parameter, value: Any) -> Any:
    return row_keys(value) if one.type == Keys else value
