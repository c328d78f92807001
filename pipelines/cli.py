"""The same steps from a terminal. Thin: parses, calls a step, prints what it returned as a table or as JSON."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from pipelines.config import Pipeline, load_configuration
from pipelines.errors import ConfigurationError, Finding, RedolakeError, Transient
from pipelines.table import TableId

EXIT_CODES = """Exit codes: 0 done · 1 a person must choose (the message says what) · 2 configuration or usage ·
3 something differs, or `run` leaves a table held · 75 try again later (for `run` also: an archived log is due and not there
yet)."""
DIFFERS, CONFIGURATION, TERMINAL, TRY_AGAIN = 3, 2, 1, 75
SEVERITIES = {"error": "red", "warning": "yellow"}

app = typer.Typer(
    name="redolake", help="Oracle tables into Delta Lake, and kept right.", epilog=EXIT_CODES, no_args_is_help=True
)
tx = typer.Typer(no_args_is_help=True)
app.add_typer(tx, name="tx", help="Open transactions, and dropping one on purpose.")
console = Console()
notes = Console(stderr=True)


class Output(StrEnum):
    table = "table"
    json = "json"


def table_names(names: list[str] | None) -> list[str] | None:
    """Refuses what is no OWNER.TABLE before anything is opened."""
    for name in names or ():
        try:
            TableId.parse(name)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong)) from None
    return names


ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", envvar="REDOLAKE_CONFIG", help="The pipelines file; default: pipelines.yml.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]
PipelineOption = Annotated[str | None, typer.Option("--pipeline", "-p", help="Needed only where the file has several.")]
NameArgument = Annotated[str | None, typer.Argument(help="The pipeline; needed only where the file has several.")]


@contextmanager
def told(output: Output, code: int | None = None) -> Iterator[None]:
    """Turn a typed error into one clear message and its exit code, or `code`. Anything else is a fault of ours and shows its
    trace."""
    try:
        yield
    except RedolakeError as error:
        if output is Output.json:
            body: dict[str, object] = {"error": error.as_dict()}
            if isinstance(error, ConfigurationError):
                body["findings"] = [
                    {"subject": f.subject, "what": f.what, "cure": f.cure, "severity": f.severity} for f in error.findings
                ]
            sys.stdout.write(json.dumps(body) + "\n")
        else:
            notes.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        family = (
            TRY_AGAIN if isinstance(error, Transient) else CONFIGURATION if isinstance(error, ConfigurationError) else TERMINAL
        )
        raise typer.Exit(family if code is None else code) from None


def chosen(name: str | None, config: Path | None) -> Pipeline:
    """The named pipeline, or the only one."""
    pipelines = load_configuration(config).pipelines
    if name is None and len(pipelines) == 1:
        return next(iter(pipelines.values()))
    if name is None or name not in pipelines:
        what = "name one pipeline" if name is None else f"no pipeline {name!r}"
        raise ConfigurationError([Finding(str(config or "pipelines.yml"), what, "one of: " + ", ".join(sorted(pipelines)))])
    return pipelines[name]


def show(output: Output, result: Any, table: Callable[[], Grid | Text | str]) -> None:
    if output is Output.json:
        sys.stdout.write(json.dumps(result, default=str) + "\n")
    else:
        shown = table()
        console.print(shown, soft_wrap=not isinstance(shown, Grid))  # a line that may be copied is not cut


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], whole: Sequence[str] = ()) -> Grid:
    """Numbers stand to the right, as one reads them. Columns of `whole` are there to be copied: no cell is cut in two."""
    out = Grid(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[number], int | float | None) for row in rows)
        out.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=column in whole)
    for row in rows:
        out.add_row(*("" if cell is None else str(cell) for cell in row))
    return out


def progress(text: str) -> None:
    notes.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)


def findings_text(findings: Sequence[Finding]) -> Text:
    """A list and not a table: the cures are there to be copied."""
    text = Text()
    for finding in findings:
        text.append(f"{finding.severity:7} ", style=SEVERITIES.get(finding.severity, "dim"))
        text.append(f"{finding}\n")
    return text


def report_findings(output: Output, findings: Sequence[Finding], good: str) -> None:
    """Print them all; errors end the command with the exit code of a wrong configuration."""
    body = [{"subject": f.subject, "what": f.what, "cure": f.cure, "severity": f.severity} for f in findings]
    errors = [f for f in findings if f.severity == "error"]
    show(output, {"ok": not errors, "findings": body}, lambda: findings_text(findings) if findings else good)
    if errors:
        raise typer.Exit(CONFIGURATION)


@app.command()
def validate(config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Check pipelines.yml, folders and the ledger, without asking Oracle."""
    from pipelines import steps

    with told(output):
        findings = [f for p in load_configuration(config).pipelines.values() for f in steps.validate(p)]
        report_findings(output, findings, "The configuration is good. Next: redolake doctor")


@app.command()
def doctor(name: NameArgument = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Check the source: ARCHIVELOG, supplemental logging, privileges, tables, types. All findings at once, with their cures."""
    from pipelines import steps

    with told(output):
        pipeline = chosen(name, config)
        report_findings(output, steps.run_doctor(pipeline), f"Nothing stands in the way. Next: redolake run {pipeline.name}")


@app.command()
def snapshot(
    tables: Annotated[
        list[str] | None, typer.Argument(help="OWNER.TABLE ...; default: those without contents yet.", callback=table_names)
    ] = None,
    pipeline: PipelineOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Read a live or held table anew and replace its contents.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """First contents of tables: read them AS OF one SCN and load them into Delta."""
    from pipelines import steps

    with told(output):
        result = steps.take_snapshot(chosen(pipeline, config), tables or None, replace=replace, report=progress)
        rows = [(t["table"], t["scn"], t["rows"]) for t in result["tables"]]
        show(output, result, lambda: grid("Snapshot", ("table", "AS OF SCN", "rows"), rows))


@app.command()
def run(
    name: NameArgument = None,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Go on until no sealed redo is left to land or apply.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an archived log that is due; without it `run` ends with exit code 75.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Do in one process what the DAGs do: snapshot new tables, then plan, mine, land and apply one window, or all there are."""
    from pipelines import steps

    with told(output):
        result = steps.run_pipeline(chosen(name, config), until_caught_up=until_caught_up, wait=wait, report=progress)
        rows = [(t["table"], t["state"], t["complete_to"]) for t in result["tables"]]
        title = f"{result['windows']} window(s) landed, {result['batches']} batch(es) applied"
        show(output, result, lambda: grid(title, ("table", "state", "complete to SCN"), rows))
        if any(t["state"] == "held" for t in result["tables"]):
            raise typer.Exit(DIFFERS)
        if result["outcome"] == "wait":
            progress(f"waiting for a log: {result['reason']}")
            raise typer.Exit(TRY_AGAIN)


@app.command()
def status(name: NameArgument = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Where the pipeline stands: position, windows, tables, open transactions. Asks only the ledger and the landing."""
    from pipelines import steps

    with told(output):
        result = steps.read_status(chosen(name, config))

        def tables() -> Grid:
            rows = [(t["table"], t["state"], t["complete_to"]) for t in result["tables"]]
            return grid(
                f"{result['pipeline']}: landed to SCN {result['landed_to']}", ("table", "state", "complete to SCN"), rows
            )

        show(output, result, tables)
        if output is Output.table:
            show_held(result["tables"])
            rows = [(w["name"], w["state"], w["logs"], w["rows"]) for w in result["windows"]]
            console.print(grid("Latest windows", ("window", "state", "logs", "rows"), rows, ("window",)))
            if result["open_transactions"]:
                console.print(f"{result['open_transactions']} open transaction(s): redolake tx list {result['pipeline']}")
            show_breaks(result["breaks"])
            show_dropped(result["dropped"])
            if result["lost"]:
                console.print(
                    f"LOST since {result['lost']['since']}: {result['lost']['what']}\n"
                    f"  do this: redolake recover {result['pipeline']}",
                    style="red", markup=False, highlight=False, soft_wrap=True,
                )  # fmt: skip


def show_held(tables: Sequence[dict[str, Any]]) -> None:
    """What, where and cure, as text that may be copied: what cannot be read is shown in it."""
    for found in tables:
        if found["error"] is not None:
            where = ", ".join(f"{name} {value}" for name, value in (found["where"] or {}).items() if name != "table")
            told_error = f"{found['table']} is held, {found['code']}: {found['error']}" + (f" ({where})" if where else "")
            text = f"{told_error}\n  do this: {found['cure']}"
            console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def show_breaks(breaks: Sequence[dict[str, Any]]) -> None:
    """What a person decided not to read stays visible until the tables are read anew."""
    for found in breaks:
        tables = ", ".join(found["tables"])
        text = Text(
            f"{found['kind']}: SCN {found['from_scn']} to {found['to_scn']} was never read, in {tables}\n", style="yellow"
        )
        text.append(f"  {found['reason']} ({found['by']}, {found['at']}); {found['lost']}\n", style="dim")
        text.append(transactions_text("dropped, open at its start", found["dropped"]), style="dim")
        text.append(transactions_text("torn, without what they did in it", found["torn"] or []), style="dim")
        text.append("  until `redolake snapshot OWNER.TABLE --replace`", style="dim")
        console.print(text, soft_wrap=True)


def transactions_text(what: str, transactions: Sequence[dict[str, Any]], most: int = 5) -> str:
    if not transactions:
        return ""
    named = ", ".join(f"{t['xid']} ({t['rows']} rows)" for t in transactions[:most])
    more = f" and {len(transactions) - most} more" if len(transactions) > most else ""
    return f"  {what}: {named}{more}\n"


@app.command()
def runway(name: NameArgument = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """How much time is left before redo that is still needed may be deleted. Asks Oracle, changes nothing there.

    For a monitor: it exits with 0 when that is enough, 1 below the threshold (`runway` in pipelines.yml) or when redo is lost
    already, 2 when it cannot be told.
    """
    from pipelines import steps

    with told(output, code=CONFIGURATION):
        result = steps.measure_runway(chosen(name, config))
        show(output, result, lambda: Text(f"{result['summary']}\n{result['standing']}"))
        if output is Output.table:
            if rows := [runway_row(t) for t in result["threads"]]:
                console.print(grid("", ("thread", "needs log", "kept from log", "hours left", "older redo"), rows))
            console.print(findings_text([Finding(**f) for f in result["findings"]]), soft_wrap=True, end="")
    if result["state"] != "enough":
        raise typer.Exit(TERMINAL)


def runway_row(thread: dict[str, Any]) -> tuple[object, ...]:
    def log(of: dict[str, Any] | None) -> str:
        return "" if of is None else f"{of['sequence']} of {(of['began_at'] or '')[5:16]}"

    hours = "" if thread["hours_left"] is None else f"{int(thread['hours_left'] * 10) / 10:.1f}"
    left = "lost" if thread["lost"] else f"≥ {hours}" if thread["at_least"] and hours else hours
    needed = log(thread["needed"]) + ("" if thread["needed_is_archived"] or thread["needed"] is None else ", online")
    kept = log(thread["oldest"]) if thread["bytes_kept"] else "none older"
    return (f"{thread['thread']} {thread['instance'] or ''}", needed, kept, left, thread["older_redo"])


@app.command()
def verify(
    tables: Annotated[list[str] | None, typer.Argument(help="OWNER.TABLE ...; default: all.", callback=table_names)] = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Compare Delta tables with the source AS OF their applied SCN, cell by cell."""
    from pipelines import steps

    with told(output):
        result = steps.verify_tables(chosen(pipeline, config), tables or None, report=progress)
        columns = ("table", "AS OF SCN", "source rows", "Delta rows", "differing cells")
        rows = [
            (t["table"], t["applied_scn"], t["source_rows"], t["delta_rows"], t["differing_cells"]) for t in result["tables"]
        ]
        show(output, result, lambda: grid("Source and Delta, cell by cell", columns, rows))
        samples = [(t["table"], *s.values()) for t in result["tables"] for s in t["samples"]]
        if samples and output is Output.table:
            console.print(grid("First differences", ("table", "key", "column", "source", "Delta"), samples))
        if output is Output.table:
            show_breaks(result["breaks"])
            show_dropped(result["dropped"])
        if not result["equal"]:
            raise typer.Exit(DIFFERS)


@app.command()
def resume(
    tables: Annotated[list[str], typer.Argument(help="OWNER.TABLE ...", callback=table_names)],
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Let held tables go on from their own position; the next run applies what was kept for them."""
    from pipelines import steps

    with told(output):
        result = steps.resume_tables(chosen(pipeline, config), tables)
        show(output, result, lambda: "\n".join(f"{t}: goes on with the next run" for t in result["resumed"]))


@app.command()
def recover(
    name: NameArgument = None,
    restored: Annotated[bool, typer.Option("--restored", help="Look again, after logs were restored.")] = False,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="Go on from now, and read the tables anew.")] = False,
    declare_gap: Annotated[bool, typer.Option("--declare-gap", help="Go on without what is lost; it stays visible.")] = False,
    to_scn: Annotated[int | None, typer.Option("--to", help="End of the gap; default: where the redo is whole again.")] = None,
    position: Annotated[int | None, typer.Option("--position", help="Go on from this SCN; it is checked.")] = None,
    reason: Annotated[str, typer.Option(help="Kept with the decision.")] = "",
    tables: Annotated[
        list[str] | None, typer.Option("--table", help="With --snapshot: only these now; the others are held.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """When redo is lost: tell which, and the ways on with what each costs; with an option, go that way.

    Nothing is chosen for you. Exits with 0 when the position can go on, 1 while a choice is open.
    """
    from pipelines import steps

    with told(output):
        pipeline = chosen(name, config)
        asked: list[tuple[Literal["snapshot", "gap", "position"], int | None]] = []
        asked += [("snapshot", None)] if snapshot else []
        asked += [("gap", to_scn)] if declare_gap else []
        asked += [("position", position)] if position is not None else []
        if len(asked) + restored > 1 or (to_scn is not None and not declare_gap):
            raise typer.BadParameter("choose one of --restored, --snapshot, --declare-gap [--to] and --position")
        if asked:
            confirm(pipeline, yes)
            kind, scn = asked[0]
            made = steps.recover_redo_loss(
                pipeline, kind, scn=scn, reason=reason, by=getpass.getuser(), tables=tables or None, report=progress
            )
            show(output, made, lambda: led_over(made))
            return
        found = steps.recheck_redo_loss(pipeline) if restored else steps.inspect_redo_loss(pipeline)
        show(output, found, lambda: Text(steps.recovery_text(found)))
        if found["lost"]:
            raise typer.Exit(TERMINAL)


def confirm(pipeline: Pipeline, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("this cannot be taken back: say --yes")
    if typer.prompt(f"This cannot be taken back. Type {pipeline.name} to go on", err=True) != pipeline.name:
        raise typer.Abort


def led_over(made: dict[str, Any]) -> str:
    lines = [f"{made['kind']}: SCN {made['from_scn']} to {made['to_scn']} is not read; the next run goes on behind it"]
    lines += [
        f"  transaction {t['xid']} (open since SCN {t['start_scn']}): {t['rows']} row(s) dropped" for t in made["dropped"]
    ]
    lines += [f"  {t['table']}: {t['rows']} rows AS OF SCN {t['scn']}" for t in made["snapshots"]]
    return "\n".join(lines)


@app.command()
def windows(
    name: NameArgument = None,
    limit: Annotated[int, typer.Option(help="How many, newest last.")] = 20,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """The landed windows: SCN range, logs, hash, and what became of their change rows in the batch that applied them."""
    from pipelines import steps

    with told(output):
        result = steps.list_windows(chosen(name, config), limit)
        columns = ("start SCN", "end SCN", "logs", "rows", *ACCOUNT, "row hash")
        rows = [(w["start"], w["end"], w["logs"], w["rows"], *account_row(w["account"]), w["hash"][:8]) for w in result]
        show(output, result, lambda: grid("Landed windows", columns, rows))


ACCOUNT = ("applied", "undone", "still open", "before snapshot", "held", "dropped")


def account_row(account: dict[str, int] | None) -> tuple[int | None, ...]:
    """The terms of the invariant, as they add up to the window's change rows; nothing before the window is applied."""
    if account is None:
        return (None,) * len(ACCOUNT)
    undone = account.get("undone", 0) + account.get("rolled_back", 0)
    rest = ("carried_out", "before_position", "held", "dropped")
    return (account.get("applied", 0), undone, *(account.get(term, 0) for term in rest))


@app.command()
def remine(
    window: Annotated[str, typer.Argument(help="The window's name, as `windows --output json` and `status` show it.")],
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Mine a landed window once more and compare its manifest with the landed one; nothing is changed."""
    from pipelines import steps

    with told(output):
        result = steps.remine_window(chosen(pipeline, config), window, report=progress)
        show(
            output,
            result,
            lambda: "The manifests are equal." if result["equal"] else f"They differ in: {', '.join(result['differs'])}",
        )
        if not result["equal"]:
            raise typer.Exit(DIFFERS)


@app.command()
def backfill(
    from_scn: Annotated[int, typer.Option("--from", help="First commit SCN.")],
    to_scn: Annotated[int, typer.Option("--to", help="Commit SCNs below this one.")],
    tables: Annotated[list[str] | None, typer.Argument(help="OWNER.TABLE ...; default: all.", callback=table_names)] = None,
    pipeline: PipelineOption = None,
    execute: Annotated[bool, typer.Option("--execute/--dry-run", help="Do it, or only show the plan.")] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Fold an old SCN range from the landing into shadow tables."""
    from pipelines import steps

    with told(output):
        result = steps.run_backfill(
            chosen(pipeline, config), from_scn, to_scn, tables or None, execute=execute, report=progress
        )
        if not execute:
            show(output, result, lambda: f"Nothing is done yet; --execute does it: {result['plan']}")
            return
        columns = ("table", "shadow", "inserted", "updated", "deleted")
        rows = [tuple(t[column] for column in ("table", "target", *columns[2:])) for t in result["tables"]]
        show(output, result, lambda: grid(f"Commits of SCN [{from_scn}, {to_scn})", columns, rows))


@tx.command(name="list")
def tx_list(name: NameArgument = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Transactions that were open at the end of the last batch, with what is carried for them, and those that were dropped."""
    from pipelines import steps

    with told(output):
        result = steps.list_transactions(chosen(name, config))
        columns = ("xid", "container", "thread", "start SCN", "started at", "age", "rows", "bytes", "user")
        rows = [
            (
                t["xid"],
                t["con_id"],
                t["thread"],
                t["start_scn"],
                t["first_at"],
                age_text(t),
                t["rows"],
                t["bytes"],
                t["username"],
            )
            for t in result["open"]
        ]
        until = "" if result["read_to"] is None else f", redo read to {result['read_to']}"
        show(output, result, lambda: grid(f"Open transactions{until}", columns, rows, ("xid", "start SCN")))
        if output is Output.table:
            show_dropped(result["dropped"])


def age_text(transaction: dict[str, Any]) -> str:
    seconds = transaction["age_seconds"]
    return "" if seconds is None else str(timedelta(seconds=seconds))


@tx.command(name="drop")
def tx_drop(
    xid: Annotated[str, typer.Argument(help="As `tx list` shows it.")],
    reason: Annotated[str, typer.Option(help="Kept with the decision.")],
    container: Annotated[int | None, typer.Option(help="Needed only where the xid is open in several.")] = None,
    pipeline: PipelineOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Never apply an open transaction, however it ends. Tells what that costs, and asks."""
    from pipelines import steps

    with told(output):
        of = chosen(pipeline, config)
        found = steps.look_up_transaction(of, xid, container)
        progress(drop_text(found))
        confirm(of, yes)
        made = steps.drop_transaction(of, xid, found["con_id"], reason=reason, by=getpass.getuser())
        show(output, made, lambda: f"Transaction {xid} is dropped; the next batch goes by it.")


def drop_text(found: dict[str, Any]) -> str:
    rows = "".join(f"\n  {table}: {count} row(s)" for table, count in found["tables"].items())
    return (
        f"Transaction {found['xid']} of container {found['con_id']}, open since SCN {found['start_scn']} "
        f"({found['first_at']}, thread {found['thread']}, user {found['username'] or 'unknown'}), has so far changed{rows}\n"
        "None of that, and nothing it still does, will be applied. If it commits, or has committed meanwhile, these tables "
        "lack it until `redolake snapshot OWNER.TABLE --replace`, and a later change to one of its rows may hold its table."
    )


def show_dropped(dropped: Sequence[dict[str, Any]]) -> None:
    """What a person has dropped stays visible while a table lacks it."""
    for found in dropped:
        text = Text(f"dropped: transaction {found['xid']} of container {found['con_id']}, ", style="yellow")
        text.append(f"start SCN {found['start_scn']}; {found['rows']} row(s); {FATES[found['state']]}")
        text.append("" if found["end_scn"] is None else f" SCN {found['end_scn']}")
        text.append(f"\n  {found['reason']} ({found['by']}, {found['at']})\n", style="dim")
        if found["lacking"]:
            text.append(
                f"  lacking in {', '.join(found['lacking'])} until `redolake snapshot OWNER.TABLE --replace`\n", style="dim"
            )
        console.print(text, soft_wrap=True, end="")


FATES = {
    "open": "not ended yet",
    "committed": "committed at",
    "rolled back": "rolled back, so nothing lacks, at",
    "unknown": "its end may lie in redo that was never read, before",
}


@app.command(name="setup-sql")
def setup_sql(name: NameArgument = None, config: ConfigOption = None) -> None:
    """The statements a DBA runs before: user, grants, supplemental logging of the captured tables."""
    from pipelines import steps

    with told(Output.table):
        sys.stdout.write(steps.setup_sql(chosen(name, config)))


def main() -> None:
    app()
