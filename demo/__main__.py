"""`python -m demo [stop]`: sweeps up after the last one, plays the walkthrough or a scenario, and stops all it started."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from demo.processes import STOP_SECONDS, ChildDied, DemoProcesses, stop_leftovers
from demo.scenario_command import NAMES, ScenarioOption, play_scenario
from demo.services import LOGIN, Services, new_services, record_file
from pipelines.errors import RedolakeError

EXIT_CODES = "Exit codes: 0 source and Delta are equal · 1 something stopped the demo · 3 they differ · 130 interrupted."
STOPPED, DIFFERS, INTERRUPTED = 1, 3, 130

app = typer.Typer(
    help="The main job on this machine.",
    epilog=f"{EXIT_CODES}\n\nScenarios:\n\n{NAMES}",
    pretty_exceptions_enable=False,
    add_completion=False,
)
console = Console(soft_wrap=True)
FolderOption = Annotated[Path, typer.Option(help="Everything of the demo goes here; what lay there is removed.")]


@app.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    keep: Annotated[bool, typer.Option("--keep", help="Leave all running at the end, until Ctrl-C.")] = False,
    seconds: Annotated[int, typer.Option(help="How long the workload goes on after the snapshot.", min=5)] = 20,
    rate: Annotated[float, typer.Option(help="Transactions per second.", min=1)] = 20.0,
    scenario: ScenarioOption = None,
    folder: FolderOption = Path(".demo"),
) -> None:
    """Stand-in, workload, Airflow, Spark and Delta, and the comparison at the end; or one scenario of what can go wrong."""
    if context.invoked_subcommand is not None:
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in sweep(folder):
        console.print(f"stopped {name}, left by an earlier demo", highlight=False)
    if scenario is not None:
        raise typer.Exit(scenario_code(scenario, folder))
    services = new_services(folder)
    services.folder.mkdir(parents=True)
    processes = DemoProcesses(services.record, services.folder / "logs")
    code = STOPPED
    try:
        code = play(services, processes, seconds, rate, keep)
    except RedolakeError as error:
        console.print(f"The demo stopped. {error}", style="red", markup=False, highlight=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
        console.print("interrupted: stopping all processes of the demo")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        processes.stop()
    raise typer.Exit(code)


def scenario_code(name: str, folder: Path) -> int:
    try:
        return 0 if play_scenario(name, folder.resolve(), console) else DIFFERS
    except RedolakeError as error:
        console.print(f"The scenario stopped. {error}", style="red", markup=False, highlight=False)
        return STOPPED
    except KeyboardInterrupt:
        return INTERRUPTED


@app.command()
def stop(folder: FolderOption = Path(".demo")) -> None:
    """Stop what a demo that was kept, or killed, has left running."""
    for name in stop_leftovers(record_file(folder)) or ["nothing: no demo runs here"]:
        console.print(f"stopped {name}", highlight=False)


def sweep(folder: Path) -> list[str]:
    stopped = stop_leftovers(record_file(folder))
    if folder.exists():
        shutil.rmtree(folder)
    return stopped


def play(services: Services, processes: DemoProcesses, seconds: int, rate: float, keep: bool) -> int:
    from demo.walkthrough import Walkthrough

    services.write()
    walkthrough = Walkthrough(services, processes, console, seconds, rate)
    report = walkthrough.tell()
    report.write(services.folder / "report.json")
    console.print(report.shown())
    where_to_look(services, report.seconds, keep)
    if keep:
        walkthrough.go_on()
        wait_until_interrupted(processes)
    return 0 if report.equal else DIFFERS


def where_to_look(services: Services, seconds: float, keep: bool) -> None:
    lines = [
        f"done in {seconds:.0f} s",
        f"  Delta tables    {services.folder}/lake",
        f"  landed redo     {services.folder}/landing",
        f"  report, logs    {services.folder}/report.json, {services.folder}/logs",
    ]
    if keep:
        lines += [
            f"  Airflow         {services.address}  login {LOGIN}, password {LOGIN}",
            f"  next            . {services.folder}/env && {Path(sys.executable).parent}/redolake status",
            "  stop            Ctrl-C here, or make stop",
        ]
    else:
        lines += ["  next            make demo KEEP=1   leaves Airflow and all else running for a look around"]
    console.print("\n".join(lines), markup=False, highlight=False)


def wait_until_interrupted(processes: DemoProcesses) -> None:
    """Ctrl-C, a process that ends by itself, or `make stop` elsewhere, which takes the record away once all are ended."""
    pause = threading.Event()
    while not pause.wait(1):
        try:
            processes.check()
        except ChildDied:
            deadline = time.monotonic() + 2 * STOP_SECONDS
            while processes.record.exists():
                if time.monotonic() > deadline:
                    raise
                pause.wait(0.2)
            return


if __name__ == "__main__":
    app()
