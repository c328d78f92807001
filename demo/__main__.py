"""`python -m demo [stop]`: sweeps up after the last one, plays the story or a scenario, and stops all it started."""

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

from demo.playing import NAMES, ScenarioOption, play_scenario
from demo.processes import STOP_SECONDS, ChildDied, Crew, stop_leftovers
from demo.scene import LOGIN, Scene, new_scene, record_file
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
    scene = new_scene(folder)
    scene.folder.mkdir(parents=True)
    crew = Crew(scene.record, scene.folder / "logs")
    code = STOPPED
    try:
        code = play(scene, crew, seconds, rate, keep)
    except RedolakeError as error:
        console.print(f"The demo stopped. {error}", style="red", markup=False, highlight=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
        console.print("interrupted: stopping all processes of the demo")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        crew.stop()
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


def play(scene: Scene, crew: Crew, seconds: int, rate: float, keep: bool) -> int:
    from demo.story import Story

    scene.write()
    story = Story(scene, crew, console, seconds, rate)
    report = story.tell()
    report.write(scene.folder / "report.json")
    console.print(report.shown())
    where_to_look(scene, report.seconds, keep)
    if keep:
        story.go_on()
        wait_until_interrupted(crew)
    return 0 if report.equal else DIFFERS


def where_to_look(scene: Scene, seconds: float, keep: bool) -> None:
    lines = [
        f"done in {seconds:.0f} s",
        f"  Delta tables    {scene.folder}/lake",
        f"  landed redo     {scene.folder}/landing",
        f"  report, logs    {scene.folder}/report.json, {scene.folder}/logs",
    ]
    if keep:
        lines += [
            f"  Airflow         {scene.address}  login {LOGIN}, password {LOGIN}",
            f"  next            . {scene.folder}/env && {Path(sys.executable).parent}/redolake status",
            "  stop            Ctrl-C here, or make stop",
        ]
    else:
        lines += ["  next            make demo KEEP=1   leaves Airflow and all else running for a look around"]
    console.print("\n".join(lines), markup=False, highlight=False)


def wait_until_interrupted(crew: Crew) -> None:
    """Ctrl-C, a process that ends by itself, or `make stop` elsewhere, which takes the record away once all are ended."""
    pause = threading.Event()
    while not pause.wait(1):
        try:
            crew.check()
        except ChildDied:
            deadline = time.monotonic() + 2 * STOP_SECONDS
            while crew.record.exists():
                if time.monotonic() > deadline:
                    raise
                pause.wait(0.2)
            return


if __name__ == "__main__":
    app()
