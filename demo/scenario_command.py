"""`python -m demo --scenario NAME` as a user sees it: what happens at the source, what Redolake says, and the comparison."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from demo.report import comparison
from demo.scenarios import SCENARIOS, open_testbed, summary

NAMES = "\n\n".join(f"{name}: {summary(name)}" for name in SCENARIOS)


def known(name: str | None) -> str | None:
    if name is None or name in SCENARIOS:
        return name
    raise typer.BadParameter(f"there is no scenario {name}; there are {', '.join(SCENARIOS)}")


ScenarioOption = Annotated[
    str | None,
    typer.Option(help="Play one way in which the source goes wrong, from the list below, without Airflow.", callback=known),
]


def play_scenario(name: str, folder: Path, console: Console) -> bool:
    """Whether all tables were right at its end."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[{time.monotonic() - began:5.1f} s] {text}", markup=False, highlight=False)

    console.print(f"{name}: {summary(name)}", style="bold", markup=False, highlight=False)
    with open_testbed(folder, say) as testbed:
        SCENARIOS[name](testbed)
        outcome = testbed.compare()
    console.print(comparison(outcome.tables))
    stops = "by " + (", ".join(error.code for error in outcome.errors) or "nothing")
    verdict = "Source and Delta are equal, cell by cell" if outcome.tables_equal else "SOURCE AND DELTA DIFFER"
    console.print(f"Stopped {stops}; after the cure: {verdict}.", style="bold green" if outcome.tables_equal else "bold red")
    return outcome.tables_equal
