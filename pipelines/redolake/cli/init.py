"""The command `init`: ask the database and the person, and write a first pipelines.yml."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer
from rich.text import Text

from redolake.cli.connections import read_from_airflow
from redolake.cli.options import ConfigOption, OutputOption, report_errors
from redolake.cli.output import Output, groups_text, print_notice, print_progress, progress, show
from redolake.config.file import config_file
from redolake.errors import ConfigurationError, Finding, one_line

if TYPE_CHECKING:
    from redolake.source import ConnectParams, Source
    from redolake.steps.setup.init import FirstPipeline, FoundTables

URL = re.compile(r"(?:oracle://)?(?P<user>[^:@/?]+)(?::(?P<password>[^@]*))?@(?P<rest>[^@]+)")


class LargeObjectsChoice(StrEnum):
    refuse = "refuse"
    reread = "reread"
    redo = "redo"
    exclude = "exclude"


@dataclass(frozen=True, slots=True)
class Connection:
    """`variable` is the value of AIRFLOW_CONN_<ID> with PASSWORD in place of the password; None if the id is known already."""

    id: str | None
    params: ConnectParams
    variable: str | None = None


def init(
    tables: Annotated[
        list[str] | None, typer.Argument(help="OWNER, OWNER.TABLE, OWNER.PATTERN* or !OWNER.PATTERN* ...; default: asked.")
    ] = None,
    connection: Annotated[
        str | None,
        typer.Option(help="Airflow connection id, or user@host:1521/service; the password is asked and not shown."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--pipeline", "-p", help="Its name; default: that of the tables' owner, or of the container.")
    ] = None,
    container: Annotated[str | None, typer.Option(help="The PDB with the tables; default: the only one, or asked.")] = None,
    landing: Annotated[str | None, typer.Option(help="Folder or URL for landed redo; default: ./redolake/landing.")] = None,
    lake: Annotated[str | None, typer.Option(help="Folder or URL for the Delta tables; default: ./redolake/lake.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Airflow connection id of a PostgreSQL database; needed if `landing` is a URL.")
    ] = None,
    large_objects: Annotated[
        LargeObjectsChoice | None,
        typer.Option(help="How CLOB, NCLOB and BLOB columns are captured, or left out; default: asked."),
    ] = None,
    maps: Annotated[
        bool,
        typer.Option(
            "--map", help="Propose names for columns that the lake cannot hold, and masks for those that look personal."
        ),
    ] = False,
    from_olr: Annotated[
        Path | None,
        typer.Option(
            "--from-olr", help="An OpenLogReplicator.json, whose tables and database are proposed and which reads the redo."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: take what is proposed.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Ask the database, propose tables, keys and number rules, and write a commented pipelines.yml.

    It only reads. A table that cannot be captured is left out with the reason; what a DBA has to do is listed.
    """
    from redolake import steps
    from redolake.steps.setup.init import name_of

    file = config or config_file()
    ask = take_proposal if yes else ask_person
    with report_errors(output):
        if file.exists() and not force:
            raise ConfigurationError([Finding(str(file), "exists already", "give --force to replace it, or --config FILE")])
        olr = None if from_olr is None else steps.describe_olr_file(from_olr)
        proposed = None if olr is None else olr.connection or None
        connection = connection or ask("Connection (Airflow's id, or user@host:1521/service)", proposed)
        known = connection_of(connection, ask_password)
        with steps.open_unconfigured(known.params) as source:
            chosen_container = choose_container(source, container, ask, None if olr is None else olr.name)
            wanted = tables or ([] if olr is None else [*olr.tables])
            found = choose_tables(source, chosen_container, wanted, ask)
            of_objects = large_objects or (choose_large_objects(found, ask) if olr is None else LargeObjectsChoice.exclude)
            chosen_name = name or name_of(found.owner or chosen_container or known.id or "oracle")
            conn_id = known.id or f"oracle_{chosen_name}"
            landing = whole_path(landing or ask("Landing", str(Path.cwd() / "redolake" / "landing")))
            lake = whole_path(lake or ask("Lake", str(Path.cwd() / "redolake" / "lake")))
            if ledger is None and "://" in landing:
                ledger = ask("Ledger: Airflow connection id of a PostgreSQL database", None)
            with progress() as report:
                made = steps.propose_pipeline(
                    source,
                    name=chosen_name,
                    connection=conn_id,
                    container=chosen_container,
                    found=found,
                    large_objects=of_objects.value,
                    landing=landing,
                    lake=lake,
                    ledger=ledger,
                    maps=maps,
                    olr=olr,
                    report=report,
                )
        write(file, made.text, force)
        body = {"file": file, "pipeline": made.pipeline, "tables": made.tables, "findings": made.findings}
        show(output, body, lambda: summary(file, made, found, replace(known, id=conn_id)))


Ask = Callable[[str, str | None], str]


def whole_path(place: str) -> str:
    """Return a folder with its whole path: Airflow and Spark start in folders of their own."""
    return place if "://" in place else str(Path(place).expanduser().absolute())


def ask_person(question: str, proposal: str | None) -> str:
    return str(typer.prompt(question, default=proposal, err=True)).strip()


def take_proposal(question: str, proposal: str | None) -> str:
    if proposal is None:
        raise typer.BadParameter(f"--yes asks nothing, and there is nothing to propose: {question}")
    return proposal


def ask_password(user: str) -> str:
    return str(typer.prompt(f"Password of {user}", hide_input=True, err=True))


def connection_of(text: str, password: Callable[[str], str]) -> Connection:
    """Return the connection that an id or a URL means; ask for the password of a URL without one."""
    from redolake.source import connect_params, connection_from_uri

    if "@" not in text:
        read_from_airflow(text)
        return Connection(text, connect_params(text, os.environ))
    found = URL.fullmatch(text)
    if found is None:
        raise ConfigurationError([Finding("connection", "is no connection id and no URL", "write user@host:1521/service")])
    user = quote(found["user"].replace("%23", "#"), safe="")
    secret = found["password"] or quote(password(found["user"]), safe="")
    params = connection_from_uri(f"oracle://{user}:{secret}@{found['rest']}")
    return Connection(None, params, f"oracle://{user}:PASSWORD@{found['rest']}")


def choose_container(source: Source, wanted: str | None, ask: Ask, of_olr: str | None = None) -> str | None:
    from redolake import steps

    found = steps.find_source(source)
    print_progress(f"connected to {found.name}, release {found.version}")
    if found.containers is None:
        return wanted
    if wanted is None and not found.containers:
        cure = "in the root: ALTER USER <user> SET CONTAINER_DATA = ALL CONTAINER = CURRENT; or open the PDB"
        raise ConfigurationError([Finding("container", "this user sees no open PDB", cure)])
    only = found.containers[0] if len(found.containers) == 1 else None
    chosen = (
        wanted
        or (of_olr if of_olr in found.containers else None)
        or only
        or ask(f"Container: {', '.join(found.containers)}", None)
    )
    if chosen not in found.containers:
        listed = ", ".join(found.containers) or "none"
        raise ConfigurationError([Finding(f"container {chosen}", "is not there, or not open", f"one of: {listed}")])
    return chosen


def choose_tables(source: Source, container: str | None, wanted: list[str], ask: Ask) -> FoundTables:
    from redolake import steps

    if not wanted:
        owners = steps.count_tables(source, container)
        if not owners:
            cure = "run the script of `redolake setup-sql`, or GRANT SELECT, FLASHBACK on the tables to this user"
            raise ConfigurationError([Finding("tables", "this user sees no tables of other users", cure)])
        print_progress("tables: " + ", ".join(f"{owner} {count}" for owner, count in owners.items()))
        wanted = ask("Tables to capture", " ".join(f"{owner}.*" for owner in owners)).replace(",", " ").split()
    return steps.find_tables(source, container, wanted)


def choose_large_objects(found: FoundTables, ask: Ask) -> LargeObjectsChoice:
    """Ask only where a table has some: reading again costs reads of the source, leaving out loses columns."""
    if not found.with_large_objects:
        return LargeObjectsChoice.refuse
    tables = ", ".join(found.with_large_objects)
    print_notice(
        f"{len(found.with_large_objects)} table(s) have large objects: {tables}",
        "  reread: read their values from the table after each change",
        "  redo: assemble their values from the redo alone, without reads of the table",
        "  exclude: leave out these columns",
        "  refuse: leave out these tables",
    )
    while True:
        answer = ask("Large objects", LargeObjectsChoice.reread.value)
        if answer in list(LargeObjectsChoice):
            return LargeObjectsChoice(answer)


def write(file: Path, text: str, force: bool) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w" if force else "x") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigurationError(
            [Finding(str(file), f"cannot be written: {error.strerror}", "choose another --config")]
        ) from error


def summary(file: Path, made: FirstPipeline, found: FoundTables, known: Connection) -> Text:
    """Return what was written, what is left out, what a DBA has to do, and the next command."""
    plain = sum(table.is_plain for table in made.captured)
    text = Text(f"Wrote {file}: ", style="bold")
    text.append(f"pipeline {made.pipeline} with {len(made.captured)} table(s), {len(made.captured) - plain} with settings\n")
    for table in made.captured:
        for why in table.why:
            text.append(one_line(f"  {table.table}: {why}") + "\n", style="dim")
    for name, reason in found.left_out.items():
        text.append(one_line(f"  {name} is left out: it {reason}") + "\n", style="dim")
    for table in made.refused:
        text.append(one_line(f"  {table.table} is left out: {'; '.join(table.refused)}") + "\n", style="yellow")
    if made.findings:
        text.append("To do before the first run:\n", style="bold")
        text.append_text(groups_text(made.groups))
    text.append("Next:", style="bold")
    if known.variable is not None:
        value = known.variable.replace("'", "'\\''")
        text.append(f"\n  export AIRFLOW_CONN_{(known.id or '').upper()}='{value}'")
    return text.append(f"\n  redolake doctor -p {made.pipeline}")


COMMANDS = (init,)
