"""The commands of `python -m standin`: start a stand-in, change data in it, inject faults."""

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

from standin.control import FILE, InjectionFailed, inject_fault
from standin.engine.settings.options import DatabaseOptions
from standin.faults.injection import faults
from standin.interface import OraError
from standin.serve import StandIn, start_standin
from standin.workload import Workload, WorkloadSummary, run_workload

EXIT_CODES = "Exit codes: 0 success · 1 failure, explained in one line · 2 wrong usage."

app = typer.Typer(
    help="A small Oracle-compatible database on this machine, for tests and demos.", epilog=EXIT_CODES, no_args_is_help=True
)
console = Console()
notes = Console(stderr=True)


class Output(StrEnum):
    table = "table"
    json = "json"


class HiddenColumns(StrEnum):
    name = "name"
    number = "number"
    none = "none"


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Print errors that the user can correct as one line; let bugs show their traceback."""
    try:
        yield
    except (OraError, oracledb.Error, OSError, InjectionFailed) as failure:
        notes.print(str(failure).splitlines()[0], style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    except ValueError as mistake:
        notes.print(str(mistake), style="red", markup=False, highlight=False)
        raise typer.Exit(2) from None


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set."""
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
    port: Annotated[int, typer.Option(help="Port to listen on; 0 selects a free one.", min=0, max=65535)] = 1521,
    port_file: Annotated[Path | None, typer.Option(help="Write the port to this file once clients can connect.")] = None,
    threads: Annotated[int, typer.Option(help="Redo threads, one per instance; 2 or more make a cluster.", min=1, max=8)] = 1,
    log_size: Annotated[int, typer.Option(help="Size of each online redo log in KiB.", min=16)] = 8192,
    archive_dest: Annotated[list[Path] | None, typer.Option(help="Archive destination; can be given several times.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder that keeps the database between runs; without it, the data is discarded.")
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Control file for `inject-fault`; by default in the data folder.")
    ] = None,
    olr: Annotated[
        list[Path] | None,
        typer.Option(
            help="OpenLogReplicator.json with a network target, which is served too; given several times, of redo thread 1, "
            "2 ..",
            exists=True,
        ),
    ] = None,
    archive_lag_target: Annotated[
        int, typer.Option(help="Maximum seconds between log switches; 0 disables switches by time.", min=0)
    ] = 300,
    scn_speed: Annotated[int, typer.Option(help="SCNs that pass per second without work.", min=0)] = 3,
    password: Annotated[str, typer.Option(envvar="STANDIN_PASSWORD", help="Password of all users.")] = "oracle",
    supplemental: Annotated[bool, typer.Option(help="Minimal supplemental logging for the database.")] = True,
    cdb: Annotated[bool, typer.Option(help="Create a container database with one PDB.")] = True,
    force_logging: Annotated[bool, typer.Option(help="FORCE LOGGING.")] = True,
    server_commits: Annotated[bool, typer.Option(help="Each parallel DML server writes its own COMMIT.")] = True,
    forgets_sequences: Annotated[
        bool, typer.Option(help="Show XIDSQN 4294967295 on undo rows if the START was not read.")
    ] = False,
    private_strands: Annotated[bool, typer.Option(help="Write the redo of open transactions to the log late.")] = False,
    strands_cross_switches: Annotated[
        bool, typer.Option(help="With private strands: log switches do not write the redo of open transactions.")
    ] = False,
    reuses_rowids: Annotated[bool, typer.Option(help="Reuse the ROWIDs of deleted rows.")] = False,
    shares_commit_scns: Annotated[bool, typer.Option(help="Allow COMMITs of several instances at one SCN.")] = False,
    switches_by_typed_name: Annotated[
        bool, typer.Option(help="Refuse SET CONTAINER to users who logged on with a name in lower case (ORA-01435).")
    ] = False,
    undo_slots: Annotated[
        int, typer.Option(help="Undo slots per container; with few slots, XIDs are reused soon.", min=1)
    ] = 340,
    undo_first: Annotated[bool, typer.Option(help="Show an undo row before the row it undoes, as 19.13 may.")] = False,
    flashback_by_seconds: Annotated[
        bool, typer.Option(help="ORA-01466 within seconds of a DDL; without it, only before the SCN of a structural DDL.")
    ] = True,
    max_start_scns: Annotated[
        bool, typer.Option(help="Show START_SCN 18446744073709551615 if the START was not read, in place of NULL.")
    ] = False,
    local_undo: Annotated[
        bool, typer.Option(help="Local undo; without it, all containers share the undo and the XIDs of the root.")
    ] = True,
    undo_unlogged: Annotated[bool, typer.Option(help="Undo rows have no supplemental log data (STATUS 3).")] = False,
    guards_added_columns: Annotated[
        bool, typer.Option(help="Add a hidden guard column with a nullable ADD .. DEFAULT, as 12c and later.")
    ] = True,
    keeps_guards: Annotated[
        bool, typer.Option(help="Keep the guard column when the last column that it guards is dropped.")
    ] = True,
    logs_filled_columns: Annotated[
        bool, typer.Option(help="Show UPDATEs where ADD of a column fills older rows with a value of their own.")
    ] = False,
    hidden_columns: Annotated[
        HiddenColumns, typer.Option(help="How SQL_REDO shows stored columns of Oracle's own.")
    ] = HiddenColumns.name,
    long_names: Annotated[bool, typer.Option(help="LogMiner shows tables with names beyond 30 bytes.")] = False,
    extended_strings: Annotated[bool, typer.Option(help="MAX_STRING_SIZE = EXTENDED.")] = False,
    count_statements: Annotated[
        bool, typer.Option("--count-statements", help="Show in V$SQL what is executed, by service.")
    ] = False,
) -> None:
    """Start a stand-in and serve clients until SIGTERM or Ctrl-C."""
    with _one_line_errors(), _interruptible() as stop:
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
            strands_cross_switches=strands_cross_switches,
            reuses_rowids=reuses_rowids,
            shares_commit_scns=shares_commit_scns,
            switches_by_typed_name=switches_by_typed_name,
            undo_slots=undo_slots,
            undo_first=undo_first,
            flashback_by_seconds=flashback_by_seconds,
            max_start_scns=max_start_scns,
            local_undo=local_undo,
            undo_unlogged=undo_unlogged,
            guards_added_columns=guards_added_columns,
            keeps_guards=keeps_guards,
            logs_filled_columns=logs_filled_columns,
            hidden_columns=hidden_columns.value,
            long_names=long_names,
            extended_strings=extended_strings,
            supplemental=frozenset({"MIN"}) if supplemental else frozenset(),
            passwords=(("SYS", password), ("SYSTEM", password)),
        )
        with start_standin(options, host=host, port=port, password=password, force_logging=force_logging) as running:
            if count_statements:
                running.count_statements()
            if control is not None or data is not None:
                running.listen_for_faults(control or running.database.directory / FILE)
            for thread, file in enumerate(olr or (), 1):
                body = json.loads(file.read_text())
                served = running.replicate(body, uri=body["target"][0]["writer"]["uri"], thread=thread)
                alias = served.configuration.alias
                console.print(f"OpenLogReplicator of redo thread {thread}, alias {alias}: {served.address}")
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


@app.command("inject-fault")
def inject_fault_command(
    name: Annotated[str | None, typer.Argument(help="Fault to inject; omit it to list all.", show_default=False)] = None,
    options: Annotated[
        list[str] | None, typer.Argument(help="Options of the fault, e.g. thread=2.", show_default=False)
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder of the running stand-in.")] = None,
    control: Annotated[
        Path | None, typer.Option(help="Control file of the running stand-in, if it has no data folder.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="End the fault after this many seconds.", min=0)] = None,
    output: Annotated[Output, typer.Option(help="Format of the result.")] = Output.table,
) -> None:
    """Inject a fault into a running stand-in, or list all faults."""
    if name is None:
        _print_faults(output)
        return
    with _one_line_errors():
        if control is None and data is None:
            raise ValueError("name the stand-in with --data or --control")
        given = dict(option.partition("=")[::2] for option in options or ())
        result = inject_fault(control or (data or Path()) / FILE, name, given, seconds)
    if output is Output.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        console.print("done" if result is None else result)


def _print_faults(output: Output) -> None:
    if output is Output.json:
        listed = {n: {"options": list(f.options), "ended_by": f.ended_by, "does": f.does} for n, f in faults().items()}
        sys.stdout.write(json.dumps(listed) + "\n")
        return
    for fault in faults().values():
        ended = f"   ended by {fault.ended_by}" if fault.ended_by else ""
        console.print(f"{' '.join((fault.name, *(f'{option}=' for option in fault.options)))}{ended}", highlight=False)
        console.print(Padding(fault.does, (0, 0, 1, 4)), markup=False, highlight=False)


@app.command()
def workload(
    dsn: Annotated[str, typer.Option(help="Service of the PDB, e.g. localhost:1521/FREEPDB1.")] = "localhost:1521/FREEPDB1",
    user: Annotated[str, typer.Option(help="Owner of the tables.")] = "SHOP",
    password: Annotated[str, typer.Option(envvar="STANDIN_PASSWORD", help="Password of the owner.")] = "oracle",
    seconds: Annotated[float | None, typer.Option(help="How long to run.", min=0)] = None,
    transactions: Annotated[int | None, typer.Option(help="Number of transactions to run, over all sessions.", min=1)] = None,
    rate: Annotated[float, typer.Option(help="Transactions per second; 0 means as fast as possible.", min=0)] = 20.0,
    sessions: Annotated[int, typer.Option(help="Concurrent sessions.", min=1)] = 2,
    seed: Annotated[int, typer.Option(help="Seed; the same seed and number of transactions repeat the same work.")] = 1,
    instance: Annotated[
        list[str] | None, typer.Option(help="Instance for the sessions; give it several times to spread them.")
    ] = None,
    long: Annotated[
        bool, typer.Option(help="Keep one transaction open over many others; DDL of CUSTOMERS waits for it.")
    ] = True,
    output: Annotated[Output, typer.Option(help="Format of the summary.")] = Output.table,
) -> None:
    """Create the tables of a small shop if they are missing, change their rows, and print a summary."""
    with _one_line_errors(), _interruptible() as stop:
        spec = Workload(dsn, user, password, seconds, transactions, rate, sessions, seed, tuple(instance or ()), long)
        summary = run_workload(spec, stop)
    if output is Output.json:
        sys.stdout.write(json.dumps(summary.as_dict()) + "\n")
    else:
        _print_summary(summary)


def _print_summary(summary: WorkloadSummary) -> None:
    totals = summary.as_dict()
    rows = totals.pop("rows")
    head = Table(title="Workload", show_header=False)
    for name, value in totals.items():
        head.add_row(name.replace("_", " "), "" if value is None else str(value))
    console.print(head)
    grid = Table("table", "inserted", "updated", "deleted", title="Committed rows")
    for table, counts in sorted(rows.items()):
        grid.add_row(table, *(str(counts[operation]) for operation in ("insert", "update", "delete")))
    console.print(grid)


if __name__ == "__main__":
    app()
