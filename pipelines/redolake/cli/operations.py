"""The commands of the operations that are declared once (redolake.operations)."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from functools import partial
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
    report_errors,
    row_keys,
)
from redolake.cli.output import Output, print_progress, progress, show, text_of
from redolake.operations import Operation, Parameter
from redolake.operations.declared import Keys, Moment

CHECKED: dict[str, Callable[..., Any]] = {"table": check_table_name, "tables": check_table_names}


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the function from which Typer makes an operation's command."""

    def run(
        *, execute: bool = False, reason: str = "", yes: bool = False, output: Output, pipeline: str | None, config: Any,
        **given: Any,
    ) -> None:  # fmt: skip
        chosen = {one.name: parse_value(one, given[one.name]) for one in operation.parameters}
        if yes and not execute:
            raise typer.BadParameter("--yes confirms what --execute does: add that, or leave --yes out")
        with report_errors(output):
            operation.check(chosen, execute=execute, reason=reason)
        with chosen_pipeline(output, pipeline, config, connects=operation.asks_source(chosen)) as selected:
            from redolake.context import Run

            run_of, found, shown = partial(Run, selected, by=getpass.getuser(), reason=reason), None, None
            if execute and not yes and operation.is_final(chosen):
                with progress() as report:
                    looked = operation.act(run_of(report=report), **chosen)
                if looked.is_all:  # there is nothing to confirm
                    found = looked
                else:
                    print_progress("\n".join(looked.lines))
                    confirm(selected, yes)
                    shown = looked.shown
            if found is None:
                with progress() as report:
                    found = operation.act(run_of(report=report, execute=execute, shown=shown), **chosen)
            is_all = execute or operation.looks or found.is_all
            lines = found.lines if is_all else (*found.lines, not_done(operation.needs_reason(chosen)))
            show(output, found.result, lambda: text_of(*lines))
            if found.verdict:
                raise typer.Exit(found.verdict)

    arguments = list(arguments_of(operation))
    run.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in arguments}
    run.__doc__ = operation.help
    return run


def not_done(needs_reason: bool) -> str:
    return f"Nothing is done yet; --execute{' --reason TEXT' if needs_reason else ''} does it."


def arguments_of(operation: Operation) -> Iterator[Argument]:
    """Yield what the command takes: the operation's own parameters, then those of all operations."""
    for one in operation.parameters:
        default = None if one.several and not one.option.positional else one.default
        yield argument(one.name, default, option_of(one))
    if not operation.looks:
        help = "Do it, or only show what that takes."
        yield argument("execute", operation.at_once, Annotated[bool, typer.Option("--execute/--dry-run", help=help)])
    if operation.reason:
        needs = operation.reason if "need" in operation.reason else f"{operation.reason[:-1]}; --execute needs it."
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
        kind = Literal[tuple(option.choices)] if one.default else Literal[tuple(option.choices)] | None
    elif one.several:
        kind = list[str] if one.is_needed else list[str] | None
    elif kind is Moment:
        kind = str
    text = f"{option.help} {'; '.join(f'`{choice}`: {means}' for choice, means in option.choices.items())}".strip()
    about: dict[str, Any] = {"help": text} | ({"metavar": "MOMENT"} if one.type is Moment else {})
    if kind in (int, int | None):
        about |= {"min": 0}
    if option.positional:
        return Annotated[kind, typer.Argument(callback=CHECKED.get(one.name), **about)]
    return Annotated[kind, typer.Option(one.flag, **about)]


def parse_value(one: Parameter, value: Any) -> Any:
    return row_keys(value) if one.type == Keys else tuple(value or ()) if one.several else value
