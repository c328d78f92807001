"""The `redolake` command. Each module defines one group of commands, which call the same steps as the DAGs."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from redolake import __version__
from redolake.cli import (
    checks,
    cockpit,
    history,
    init,
    maintenance,
    monitoring,
    quarantine,
    reading,
    recovery,
    replication,
    schema,
    setup,
    spark,
    transactions,
    verify,
)
from redolake.cli.options import EXIT_CODES
from redolake.errors import one_line

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
    logging.basicConfig(level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(LogLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("redolake").setLevel(level)


for group in (init, setup, replication, reading, monitoring, cockpit, verify, checks, recovery, maintenance):
    for command in group.COMMANDS:
        app.command(name=command.__name__.replace("_", "-"))(command)
app.add_typer(history.app, name="history", help="Rebuild the history of a table's rows, or remove what is too old of it.")
app.add_typer(quarantine.app, name="quarantine", help="List changes that could not be applied, and work them off.")
app.add_typer(schema.app, name="schema", help="Show the versions of a table's columns.")
app.add_typer(spark.app, name="spark", help="Provide what Spark needs on a host, or start a Connect server.")
app.add_typer(transactions.app, name="tx", help="List open transactions, or drop one on purpose.")


def main() -> None:
    app()
