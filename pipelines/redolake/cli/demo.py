"""The command of the demo, which is a package of its own."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from redolake.cli.options import report_errors
from redolake.cli.output import Output
from redolake.errors import ConfigurationError, Finding

ALL_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def demo(context: typer.Context) -> None:
    """Try Redolake on this machine without a database: a stand-in for Oracle, Airflow, Spark and Delta, compared cell by cell.

    It is the package redolake-demo, and takes the options that `redolake demo --help` lists then.
    """
    with report_errors(Output.table):
        found = list(entry_points(group="redolake.commands", name="demo"))
        if not found:
            cure = "install the wheels redolake-standin and redolake-demo, which demo/README.md makes; in a checkout: make demo"
            raise ConfigurationError([Finding("redolake demo", "the package redolake-demo is not installed here", cure)])
        found[0].load()(context.args, prog_name="redolake demo")
