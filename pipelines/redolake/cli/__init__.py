"""The `redolake` command. Each module defines one group of commands, which call the same steps as the DAGs."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from redolake import __version__
from redolake.cli import (
    checks,
    cockpit,
    demo,
    init,
    monitoring,
    quarantine,
    reading,
    replication,
    schema,
    setup,
    spark,
    transactions,
)
from redolake.cli.operations import command_of
from redolake.cli.options import EXIT_CODES
from redolake.cli.output import stderr
from redolake.errors import one_line
from redolake.operations import OPERATIONS

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)

app = typer.Typer(
    name="redolake",
    help="Replicate Oracle tables to Delta Lake, exactly, from archived redo logs.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class LogLine(logging.Formatter):
    """Writes a message on one line, whatever names are in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)


class LogHandler(logging.Handler):
    """Prints a message above the bars of what is under way. One that cannot be printed stops no work."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stderr.print(self.format(record), highlight=False, soft_wrap=True)
        except Exception:  # a library's message may have other arguments than it has places for
            self.handleError(record)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"redolake {__version__}")
        raise typer.Exit


@app.callback()
def configure(
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Log what each stage does to stderr; -vv logs details.")
    ] = 0,
    _: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    level = LEVELS[min(verbose, len(LEVELS) - 1)]
    handler = LogHandler()
    handler.setFormatter(LogLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("redolake").setLevel(level)


PANELS = {
    "Set up": "demo init validate plan doctor setup-sql olr-config migrate selftest spark",
    "Run": "snapshot run",
    "Look": "status tables windows stats explain-lag runway metrics schema tx views",
    "Prove and mend": "verify mend repair resume quarantine fill-columns remine recover",
    "Old ranges": "backfill read swap close-gap history",
    "Keep": "prune optimize",
}
GROUPS = {
    "history": (typer.Typer(no_args_is_help=True), "Rebuild the history of a table's rows, or remove what is too old of it."),
    "quarantine": (quarantine.app, "List changes that could not be applied, and work them off."),
    "schema": (schema.app, "Show the versions of a table's columns."),
    "spark": (spark.app, "Provide what Spark needs on a host, or start a Connect server."),
    "tx": (transactions.app, "List open transactions, or drop one on purpose."),
}
WRITTEN = (init, setup, replication, reading, monitoring, cockpit, checks)
COMMANDS = {"demo": demo.demo} | {one.__name__.replace("_", "-"): one for group in WRITTEN for one in group.COMMANDS}
for words, operation in OPERATIONS.items():
    first, _, second = words.partition(" ")
    if second:
        GROUPS[first][0].command(name=second)(command_of(operation))
    else:
        COMMANDS[words] = command_of(operation)
NAMED = " ".join(PANELS.values()).split()
PANELS["Prove and mend"] = " ".join((PANELS["Prove and mend"], *(name for name in COMMANDS if name not in NAMED)))
for panel, names in PANELS.items():
    for name in names.split():
        if name in GROUPS:
            group, help = GROUPS[name]
            app.add_typer(group, name=name, help=help, rich_help_panel=panel)
        else:
            settings = demo.ALL_ARGUMENTS if name == "demo" else None
            app.command(name=name, rich_help_panel=panel, context_settings=settings)(COMMANDS[name])


def main() -> None:
    app()
