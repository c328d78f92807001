"""The commands of `python -m demo`: run the walkthrough or one scenario, and stop every process that was started."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import oracledb
import typer
from rich.console import Console

from redolake.errors import RedolakeError
from redolake.host.runtime import provide

from .own_database import own_database
from .processes import STOP_SECONDS, ChildDied, DemoProcesses, kill_recorded, stop_leftovers
from .scenario_command import SCENARIO_LIST, ScenarioOption, run_scenario
from .services import (
    ADDRESS_FILE,
    COMMANDS,
    DEAD_SECONDS,
    IN_WHEEL,
    LOGIN,
    PASSWORD,
    RESTARTED,
    SCHEMA,
    Services,
    Source,
    new_services,
    process_record_file,
)

EXIT_CODES = "Exit codes: 0 source and Delta are equal · 1 an error stopped the demo · 3 they differ · 130 interrupted."
STOPPED, DIFFERS, INTERRUPTED = 1, 3, 130

app = typer.Typer(
    epilog=f"{EXIT_CODES}\n\nScenarios:\n\n{SCENARIO_LIST}",
    pretty_exceptions_enable=False,
    add_completion=False,
)
console = Console(soft_wrap=True)
FolderOption = Annotated[Path, typer.Option(help="Working folder. Its old content is removed.")]
KeptOption = Annotated[Path, typer.Option("--folder", help="Working folder of the demo.")]


@app.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    keep: Annotated[bool, typer.Option("--keep", help="Keep all processes running at the end, until Ctrl-C.")] = False,
    seconds: Annotated[int, typer.Option(help="How long the workload runs after the snapshot.", min=5)] = 10,
    rate: Annotated[float, typer.Option(help="Transactions per second of the workload.", min=1)] = 20.0,
    oracle: Annotated[
        bool,
        typer.Option("--oracle", help="Use the database that REDOLAKE_ORACLE_DSN names; the schema SHOP is made and dropped."),
    ] = False,
    source: Annotated[
        Source,
        typer.Option(help="Who reads the stand-in's redo: LogMiner, OpenLogReplicator, or LogMiner on a standby."),
    ] = (Source.logminer),
    scenario: ScenarioOption = None,
    folder: FolderOption = Path(".demo"),
) -> None:
    """Run the walkthrough: stand-in, workload, Airflow, Spark, Delta, and a comparison of all cells at the end.

    With --scenario, inject one fault at the source instead, without Airflow.
    """
    if context.invoked_subcommand is not None:
        return
    if oracle and source is not Source.logminer:
        raise typer.BadParameter("a database of your own is read by LogMiner here", param_hint="--source")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in remove_earlier_run(folder):
        console.print(f"stopped {name}, left running by an earlier demo", highlight=False)
    if scenario is not None:
        raise typer.Exit(scenario_exit_code(scenario, folder))
    code = STOPPED
    try:
        provide_for_spark()
        services = new_services(folder, own_database(os.environ) if oracle else None, source)
        with schema_of_its_own(services):
            code = run_processes(services, seconds, rate, keep)
    except RedolakeError as error:
        console.print(f"The demo stopped. {error}", style="red", markup=False, highlight=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


def provide_for_spark() -> None:
    """Provide Java and jars where the demo is installed: in a checkout `make setup` has done it."""
    if IN_WHEEL:
        provide(lambda line: console.print(line, highlight=False))


def scenario_exit_code(name: str, folder: Path) -> int:
    """Run a scenario and return its exit code."""
    try:
        provide_for_spark()
        return 0 if run_scenario(name, folder.resolve(), console) else DIFFERS
    except RedolakeError as error:
        console.print(f"The scenario stopped. {error}", style="red", markup=False, highlight=False)
        return STOPPED
    except KeyboardInterrupt:
        return INTERRUPTED


@app.command()
def stop(folder: KeptOption = Path(".demo")) -> None:
    """Stop the processes of a demo that was kept running or was killed."""
    for name in stop_leftovers(process_record_file(folder)) or ["nothing: no demo is running here"]:
        console.print(f"stopped {name}", highlight=False)


def stopped(why: str) -> typer.Exit:
    """Print why a command needs a demo that is kept running, and return its end."""
    console.print(f"{why}\n  do this: {COMMANDS['keep']}", markup=False, highlight=False)
    return typer.Exit(STOPPED)


@app.command()
def kill(folder: KeptOption = Path(".demo")) -> None:
    """End Airflow and Spark of a kept demo as a dead machine would; it starts them again."""
    killed = kill_recorded(process_record_file(folder), RESTARTED)
    if not killed:
        raise stopped(f"No demo is running in {folder}.")
    console.print(
        f"killed {' and '.join(killed)}, with all tasks; the demo starts them again in {DEAD_SECONDS} s", highlight=False
    )


@app.command()
def sql(
    statements: Annotated[list[str] | None, typer.Argument(help="Statements to run; default: those you type.")] = None,
    folder: KeptOption = Path(".demo"),
) -> None:
    """Open a SQL prompt on the source of a demo that was kept running, as its user SHOP."""
    import readline  # noqa: F401  input() has a history and arrow keys with it

    from .sql import HELP, run_statements, typed_statements

    if not (folder / ADDRESS_FILE).exists():
        raise stopped(f"No demo is running in {folder}.")
    address = (folder / ADDRESS_FILE).read_text()
    try:
        with oracledb.connect(user=SCHEMA, password=PASSWORD, dsn=address) as connection:
            if not statements and sys.stdin.isatty():
                console.print(f"{SCHEMA} at {address}. {HELP}", markup=False, highlight=False)
            succeeded = run_statements(connection, statements or typed_statements(), console)
    except oracledb.Error as error:
        raise stopped(f"{address} does not answer: {error}") from None
    raise typer.Exit(0 if succeeded else STOPPED)


def remove_earlier_run(folder: Path) -> list[str]:
    """Stop the processes of an earlier demo, remove its folder, and return the names of the processes."""
    stopped = stop_leftovers(process_record_file(folder))
    if folder.exists():
        shutil.rmtree(folder)
    return stopped


def schema_of_its_own(services: Services) -> AbstractContextManager[None]:
    """Create and drop the schema in a database of the user's own; the stand-in has it."""
    return services.database.schema(SCHEMA, PASSWORD) if services.database else nullcontext()


def run_processes(services: Services, seconds: int, rate: float, keep: bool) -> int:
    """Run the walkthrough, stop every process that it started, and return the exit code."""
    services.folder.mkdir(parents=True)
    processes = DemoProcesses(services.process_record, services.folder / "logs")
    try:
        return run_walkthrough(services, processes, seconds, rate, keep)
    except KeyboardInterrupt:
        console.print("Interrupted: stopping all processes of the demo.")
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        processes.stop()


def run_walkthrough(services: Services, processes: DemoProcesses, seconds: int, rate: float, keep: bool) -> int:
    """Run the walkthrough, print its report, and return the exit code."""
    from .walkthrough import Walkthrough

    services.write_files()
    walkthrough = Walkthrough(services, processes, console, seconds, rate)
    report = walkthrough.run()
    report.write(services.folder / "report.json")
    console.print(report.rendered())
    print_locations(services, report.seconds, keep)
    if keep:
        walkthrough.keep_running()
        wait_until_interrupted(processes, walkthrough.start_again)
    return 0 if report.equal else DIFFERS


def print_locations(services: Services, seconds: float, keep: bool) -> None:
    """Print the location of the results, and the next commands."""
    lines = [
        f"done in {seconds:.0f} s",
        f"  Delta tables    {services.folder}/lake",
        f"  landing         {services.folder}/landing",
        f"  report, logs    {services.folder}/report.json, {services.folder}/logs",
    ]
    if keep:
        lines += [
            f"  Airflow         {services.airflow_url}  login {LOGIN}, password {LOGIN}",
            f"  next            . {services.folder}/env && {Path(sys.executable).parent}/redolake status",
            f"  change a row    {COMMANDS['sql']}, in another terminal",
            f"  stop            Ctrl-C here, or {COMMANDS['stop']}",
        ]
    else:
        lines += [f"  next            {COMMANDS['keep']}   keeps Airflow and the other processes running"]
    console.print("\n".join(lines), markup=False, highlight=False)


def wait_until_interrupted(processes: DemoProcesses, start_again: Callable[[], None]) -> None:
    """Wait for Ctrl-C or for `make stop` in another terminal. Raises ChildDied when a process dies by itself.

    What `make kill` ended is started again.

    `make stop` removes the process record once it has ended all processes.
    """
    pause = threading.Event()
    while not pause.wait(1):
        try:
            if processes.record.exists():
                start_again()
            processes.check()
        except ChildDied:
            # `make stop` may be ending the processes; only if the record stays has one died by itself.
            deadline = time.monotonic() + 2 * STOP_SECONDS
            while processes.record.exists():
                if time.monotonic() > deadline:
                    raise
                pause.wait(0.2)
            return


if __name__ == "__main__":
    app()
