"""`python -m standin`: start a stand-in, and give it something to do. Thin: reads options, calls, prints."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import oracledb
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from standin.control import FILE, LeverFailed, pull_lever
from standin.engine.options import DatabaseOptions
from standin.interface import OraError
from standin.misbehave import levers
from standin.serve import StandIn, start_standin
from standin.workload import Workload, WorkloadSummary, run_workload

EXIT_CODES = "Exit codes: 0 done · 1 it failed, and one line says why · 2 usage."

app = typer.Typer(help="A small Oracle on this machine, for tests and demos.", epilog=EXIT_CODES, no_args_is_help=True)
console = Console()
notes = Console(stderr=True)


class Output(StrEnum):
    table = "table"
    json = "json"


@contextmanager
def _told() -> Iterator[None]:
    """What an operator can do something about becomes one line; anything else is a fault of ours and shows its trace."""
    try:
        yield
    except (OraError, oracledb.Error, OSError, LeverFailed) as failure:
        notes.print(str(failure).splitlines()[0], style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    except ValueError as mistake:
        notes.print(str(mistake), style="red", markup=False, highlight=False)
        raise typer.Exit(2) from None


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@app.command()
def start(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 1521,
    port_file: Annotated[Path | None, typer.Option(help="Write the port here once clients can connect.")] = None,
    threads: Annotated[int, typer.Option(help="Redo threads, one per instance: 2 and more are a cluster.", min=1, max=8)] = 1,
    log_size: Annotated[int, typer.Option(help="Size of an online redo log in KiB.", min=16)] = 8192,
    archive_dest: Annotated[list[Path] | None, typer.Option(help="An archive destination; may be given several times.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Keep the database in this folder between runs; without it, it is forgotten.")
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Where `misbehave` finds this stand-in; in the data folder unless told otherwise.")
    ] = None,
    archive_lag_target: Annotated[int, typer.Option(help="Switch logs at least every so many seconds; 0 never.", min=0)] = 300,
    scn_speed: Annotated[int, typer.Option(help="SCNs that pass in a second without work.", min=0)] = 3,
    password: Annotated[str, typer.Option(envvar="STANDIN_PASSWORD", help="Password of all its users.")] = "oracle",
    supplemental: Annotated[bool, typer.Option(help="Minimal supplemental logging for the database.")] = True,
    cdb: Annotated[bool, typer.Option(help="A container database with one PDB.")] = True,
    force_logging: Annotated[bool, typer.Option(help="FORCE LOGGING.")] = True,
    server_commits: Annotated[bool, typer.Option(help="Servers of parallel DML write a COMMIT of their own.")] = True,
    forgets_sequences: Annotated[bool, typer.Option(help="XIDSQN 4294967295 on undo rows whose START was not read.")] = False,
    private_strands: Annotated[bool, typer.Option(help="Redo of open transactions reaches the log late.")] = False,
    reuses_rowids: Annotated[bool, typer.Option(help="A new row may take the ROWID of one that is gone.")] = False,
    shares_commit_scns: Annotated[bool, typer.Option(help="COMMITs of several instances may have one SCN.")] = False,
    undo_slots: Annotated[int, typer.Option(help="Undo slots of each container: few are soon used again.", min=1)] = 340,
    undo_first: Annotated[bool, typer.Option(help="Undo rows in front of what they undo, as 19.13 may show them.")] = False,
) -> None:
    """Start a stand-in and serve until SIGTERM or Ctrl-C."""
    with _told(), _interruptible() as stop:
        for folder in (data, *(archive_dest or ())):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        options = DatabaseOptions(
            is_cdb=cdb,
            threads=threads,
            log_bytes=log_size * 1024,
            destinations=tuple(path.resolve() for path in archive_dest or ()),
            archive_lag_target=archive_lag_target,
            directory=data,
            scns_per_second=scn_speed,
            commits_of_servers=server_commits,
            forgets_sequences=forgets_sequences,
            private_strands=private_strands,
            reuses_rowids=reuses_rowids,
            shares_commit_scns=shares_commit_scns,
            undo_slots=undo_slots,
            undo_first=undo_first,
            supplemental=frozenset({"MIN"}) if supplemental else frozenset(),
            passwords=(("SYS", password), ("SYSTEM", password)),
        )
        with start_standin(options, host=host, port=port, password=password, force_logging=force_logging) as running:
            if control is not None or data is not None:
                running.listen_for_levers(control or running.database.directory / FILE)
            if port_file is not None:
                part = port_file.with_name(port_file.name + ".part")
                part.write_text(f"{running.port}\n")
                part.rename(port_file)
            _announce(running, host)
            stop.wait()
    console.print("The stand-in has stopped.")


def _announce(running: StandIn, host: str) -> None:
    state = running.database.state
    grid = Table(title=f"Stand-in for Oracle {state.release} on {host}:{running.port}", show_header=False)
    grid.add_row("root" if state.is_cdb else "database", running.root_dsn)
    if state.is_cdb:
        grid.add_row("PDB", running.pdb_dsn)
    grid.add_row("instances", ", ".join(thread.instance for thread in state.threads.values()))
    grid.add_row("archived logs", "\n".join(destination.path for destination in state.destinations))
    grid.add_row("users", ", ".join(running.passwords))
    console.print(grid)


@app.command()
def misbehave(
    name: Annotated[str | None, typer.Argument(help="A lever; without one they are listed.", show_default=False)] = None,
    options: Annotated[list[str] | None, typer.Argument(help="Its options, e.g. thread=2.", show_default=False)] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder of the running stand-in.")] = None,
    control: Annotated[Path | None, typer.Option(help="Its control file, where it was started with one.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Pull the lever's opposite after so long.", min=0)] = None,
    output: Annotated[Output, typer.Option(help="How to print what was done.")] = Output.table,
) -> None:
    """Pull a lever of a running stand-in: what can go wrong with an Oracle."""
    if name is None:
        _print_levers(output)
        return
    with _told():
        if control is None and data is None:
            raise ValueError("say which stand-in: --data or --control")
        given = dict(option.partition("=")[::2] for option in options or ())
        result = pull_lever(control or (data or Path()) / FILE, name, given, seconds)
    if output is Output.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        console.print("done" if result is None else result)


def _print_levers(output: Output) -> None:
    if output is Output.json:
        told = {n: {"options": list(k.options), "opposite": k.opposite, "does": k.does} for n, k in levers().items()}
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for lever in levers().values():
        ended = f"   ended by {lever.opposite}" if lever.opposite else ""
        console.print(f"{' '.join((lever.name, *(f'{option}=' for option in lever.options)))}{ended}", highlight=False)
        console.print(Padding(lever.does, (0, 0, 1, 4)), markup=False, highlight=False)


@app.command()
def workload(
    dsn: Annotated[str, typer.Option(help="The PDB's service, e.g. localhost:1521/FREEPDB1.")] = "localhost:1521/FREEPDB1",
    user: Annotated[str, typer.Option(help="Owner of the shop's tables.")] = "SHOP",
    password: Annotated[str, typer.Option(envvar="STANDIN_PASSWORD", help="Their password.")] = "oracle",
    seconds: Annotated[float | None, typer.Option(help="How long to work.", min=0)] = None,
    transactions: Annotated[int | None, typer.Option(help="How many transactions to run, over all sessions.", min=1)] = None,
    rate: Annotated[float, typer.Option(help="Transactions per second; 0 is as fast as it goes.", min=0)] = 20.0,
    sessions: Annotated[int, typer.Option(help="Concurrent sessions.", min=1)] = 2,
    seed: Annotated[int, typer.Option(help="The same seed and number of transactions do the same work.")] = 1,
    instance: Annotated[list[str] | None, typer.Option(help="Spread the sessions over these instances; several times.")] = None,
    output: Annotated[Output, typer.Option(help="How to print the summary.")] = Output.table,
) -> None:
    """Create a small shop, unless it is there, and change it; then say what was done."""
    with _told(), _interruptible() as stop:
        order = Workload(dsn, user, password, seconds, transactions, rate, sessions, seed, tuple(instance or ()))
        summary = run_workload(order, stop)
    if output is Output.json:
        sys.stdout.write(json.dumps(summary.as_dict()) + "\n")
    else:
        _print_summary(summary)


def _print_summary(summary: WorkloadSummary) -> None:
    told = summary.as_dict()
    rows = told.pop("rows")
    head = Table(title="Workload", show_header=False)
    for name, value in told.items():
        head.add_row(name.replace("_", " "), "" if value is None else str(value))
    console.print(head)
    grid = Table("table", "inserted", "updated", "deleted", title="Committed rows")
    for table, counts in sorted(rows.items()):
        grid.add_row(table, *(str(counts[operation]) for operation in ("insert", "update", "delete")))
    console.print(grid)


if __name__ == "__main__":
    app()
