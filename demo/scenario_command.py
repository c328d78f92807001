"""The output of `python -m demo --scenario NAME`: the events at the source, Redolake's messages, and the comparison."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .report import comparison_table
from .scenarios import SCENARIOS, open_testbed, summary

SCENARIO_LIST = "\n\n".join(f"{name}: {summary(name)}" for name in SCENARIOS)


def check_name(name: str | None) -> str | None:
    """Return the name. Raises BadParameter for an unknown scenario."""
    if name is None or name in SCENARIOS:
        return name
    raise typer.BadParameter(f"there is no scenario {name}; the scenarios are {', '.join(SCENARIOS)}")


ScenarioOption = Annotated[
    str | None,
    typer.Option(help="Run one scenario from the list below, without Airflow.", callback=check_name),
]


def run_scenario(name: str, folder: Path, console: Console) -> bool:
    """Run a scenario; return whether source and Delta are equal at its end."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[{time.monotonic() - began:5.1f} s] {text}", markup=False, highlight=False)

    console.print(f"{name}: {summary(name)}", style="bold", markup=False, highlight=False)
    with open_testbed(folder, say) as testbed:
        SCENARIOS[name](testbed)
        outcome = testbed.compare()
    console.print(comparison_table(outcome.tables))
    stops = ", ".join(error.code for error in outcome.errors) or "no error"
    verdict = "Source and Delta are equal, cell by cell" if outcome.tables_equal else "SOURCE AND DELTA DIFFER"
    console.print(f"Stopped by {stops}. At the end: {verdict}.", style="bold green" if outcome.tables_equal else "bold red")
    return outcome.tables_equal
