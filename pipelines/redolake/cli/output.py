"""Print results: tables and text for people, JSON for programs. Progress and errors go to stderr."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, is_dataclass
from datetime import datetime
from enum import StrEnum
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from redolake.errors import Finding, one_line, plain_lines, with_options
from redolake.host.pauses import growing_pauses
from redolake.host.progress import SILENT_SECONDS, Progress
from redolake.values.amounts import duration

if TYPE_CHECKING:
    from redolake.reconcile.dropped_transactions import DropReport
    from redolake.steps.checks.doctor_report import DoctorReport, FindingGroup
    from redolake.steps.shared.status import DeclaredGapReport, TableStatus

SEVERITY_STYLES = {"error": "red", "warning": "yellow"}
LISTED_SUBJECTS = 8
LONGEST_SILENCE_SECONDS = 600.0  # of a run that waits for days
LAST_LINE = 40  # of 80 columns: the bar, the amounts and the times need the others

COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Terminal(Console):
    """Names and values of the source are shown as they are: no brackets are styles, no `:word:` is an emoji, and a character
    that commands the terminal or turns the text's direction is written out."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else without_commands(text), style, control)

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(naming(text), **how)


class Given:
    """The options with which this command has found its pipeline, such as `-p shop`: each command that it prints needs them."""

    options: tuple[str, ...] = ()


given = Given()


def naming(text: str) -> str:
    """Return a text whose commands name the pipeline. A terminal that is narrow breaks them over lines only after that."""
    return with_options(text, given.options)


def without_commands(text: str) -> str:
    return COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


console = Terminal()
stderr = Terminal(stderr=True)


class Grid(Table):
    """A table whose title is a line of its own. Rich breaks a title at the width of its table."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(str(self.title), style="table.title")
        untitled = copy(self)
        untitled.title = None
        yield from Table.__rich_console__(untitled, console, options)


class Output(StrEnum):
    table = "table"
    json = "json"


def show(output: Output, result: Any, table: Callable[[], Grid | Group | Text | str]) -> None:
    """Print `result` as JSON, or what `table` makes for a person."""
    if output is Output.json:
        print_json(result)
    else:
        shown = table()
        console.print(shown, soft_wrap=not isinstance(shown, Grid | Group))  # text that may be copied is not cut


def print_json(body: Any) -> None:
    sys.stdout.write(json.dumps(body, default=as_json) + "\n")


def as_json(value: object) -> object:
    """Return a result of a step as a JSON object, a time as ISO 8601 writes it, and any other value as text."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def print_error(text: str) -> None:
    stderr.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def print_progress(text: str) -> None:
    """Print a line of progress; the empty lines that only count work are left out."""
    if text:
        stderr.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)


class Counted(MofNCompleteColumn):
    """How much is done of work that is counted; nothing for what is not."""

    def render(self, task: Task) -> Text:
        return super().render(task) if task.completed or task.total else Text()


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that prints lines of progress. On a terminal there is a bar below them for work that is counted, and a
    line that says what is going on and for how long; elsewhere a silence of ten seconds ends in one that says the same."""
    if not stderr.is_terminal:
        with broken_silence() as report:
            yield report
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        Counted(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=stderr, transient=True) as bars:
        now = bars.add_task("beginning", total=None)

        def report(line: str) -> None:
            print_progress(line)
            if line:
                bars.reset(now, description=begin_of(line), total=None)
            if not isinstance(line, Progress):
                return
            if line.work not in tasks:
                tasks[line.work] = bars.add_task(line.work, total=line.total)
            bars.update(tasks[line.work], completed=line.done, total=line.total)
            if line.done == line.total:
                bars.remove_task(tasks.pop(line.work))

        yield report


@contextmanager
def broken_silence() -> Iterator[Callable[[str], None]]:
    """Yield a function that prints lines of progress. After ten seconds without one, say how long ago the last one was, and
    again after pauses that grow: a log keeps all of it."""
    said, ended = Event(), Event()
    last, since = "the beginning", time.monotonic()

    def report(line: str) -> None:
        nonlocal last, since
        print_progress(line)
        if line:
            last, since = line.partition("\n")[0], time.monotonic()
            said.set()

    def watch() -> None:
        pauses = growing_pauses(LONGEST_SILENCE_SECONDS, SILENT_SECONDS)
        while not ended.is_set():
            if said.wait(next(pauses)):
                pauses = growing_pauses(LONGEST_SILENCE_SECONDS, SILENT_SECONDS)
            else:
                print_progress(f"{duration(time.monotonic() - since)} since: {last}")
            said.clear()

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield report
    finally:
        ended.set()
        said.set()
        watching.join()


def begin_of(line: str) -> str:
    """Return the beginning of a line of progress, for a place that has one line."""
    first = line.partition("\n")[0]
    return first if len(first) <= LAST_LINE else f"{first[: LAST_LINE - 2]} .."


def print_alert(*lines: str) -> None:
    """Print part of a result that needs action."""
    print_lines(*lines, style="red")


def print_notice(*lines: str) -> None:
    """Print part of a result that somebody should know of."""
    print_lines(*lines, style="yellow")


def print_lines(*lines: str, style: str = "") -> None:
    console.print(text_of(*lines, style=style), soft_wrap=True)


def text_of(*lines: str, style: str = "") -> Text:
    """Return lines as a text: each stays one, whatever is in its names and values."""
    return Text(naming("\n".join(plain_lines(lines))), style=style)


WORDS = (24, 10)  # letters of a word that are not cut: the longest with which the terminal is wide enough for all columns


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], unbroken: Sequence[str] = ()) -> Grid:
    """Return a table with numbers aligned right. Cells of `unbroken` columns are never wrapped, so that they can be copied."""
    out = Grid(title=naming(one_line(title)), header_style="bold")
    cells = [["" if cell is None else naming(one_line(str(cell))) for cell in row] for row in rows]  # before it is measured
    texts = [[column, *(row[number] for row in cells)] for number, column in enumerate(columns)]
    widths = column_widths(texts, [column in unbroken for column in columns], console.width - 3 * len(columns) - 1)
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[number], int | float | None) for row in rows)
        out.add_column(
            column,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=column in unbroken,
            width=widths[number],
        )
    for row in cells:
        out.add_row(*row)
    return out


def column_widths(texts: Sequence[Sequence[str]], unbroken: Sequence[bool], room: int) -> list[int | None]:
    """Return the widths of columns in which no word is cut, with what is left of the room for those that need more. None of
    them where all fit anyway, or where the room is too small: then rich divides it, and cuts words."""
    wanted = [max(map(cell_len, column)) for column in texts]
    for longest in WORDS if sum(wanted) > room else ():
        widths = [
            width if whole else max((min(cell_len(word), longest) for text in column for word in text.split()), default=0)
            for column, width, whole in zip(texts, wanted, unbroken, strict=True)
        ]
        if (left := room - sum(widths)) >= 0:
            # Those that need least first, so that each gets an equal part of what the others leave.
            for done, number in enumerate(sorted(range(len(widths)), key=lambda n: wanted[n] - widths[n])):
                more = min(left // (len(widths) - done), wanted[number] - widths[number])
                widths[number], left = widths[number] + more, left - more
            return list(widths)
    return [None] * len(texts)


def findings_text(findings: Sequence[Finding]) -> Text:
    """Return a list, not a table, so that cures can be copied."""
    text = Text()
    for finding in findings:
        text.append(f"{finding.severity:7} ", style=SEVERITY_STYLES.get(finding.severity, "dim"))
        text.append(naming(f"{finding}\n"))
    return text


def doctor_text(found: DoctorReport, none_found: str) -> Text:
    """Return a line of totals, doctor's findings by cause, the summary of each schema, and what comes next."""
    text = Text(f"{found.closing}\n" if found.findings else none_found, style="bold")
    text.append_text(groups_text(found.groups))
    for schema in found.schemas:
        text.append(f"{schema}\n", style="bold")
    if found.findings and found.ok:
        text.append(f"{none_found.replace('No problems found', 'Nothing stops a run')}")
    return text


def groups_text(groups: Sequence[FindingGroup]) -> Text:
    """Return findings by cause, with their subjects and cures."""
    text = Text()
    for group in groups:
        text.append(f"{group.severity:7} ", style=SEVERITY_STYLES.get(group.severity, "dim"))
        if len(group.subjects) == 1:
            text.append(naming(f"{Finding(group.subjects[0], group.what, group.cure)}\n"))
            continue
        tables = f"in {group.tables} table(s)" if group.tables else "of"
        cure = (f"    do this: {group.cure}",) if group.cure else ()
        text.append_text(text_of(group.what, f"    {tables}: {list_subjects(group.subjects)}", *cure)).append("\n")
    return text


def list_subjects(subjects: Sequence[str]) -> str:
    """Return the first subjects and the number of the others."""
    more = len(subjects) - LISTED_SUBJECTS
    rest = f" and {more} more, which `--output json` lists" if more > 0 else ""
    return ", ".join(subjects[:LISTED_SUBJECTS]) + rest


def show_held(tables: Sequence[TableStatus]) -> None:
    """Print what holds each held table, where, and its cure."""
    for found in tables:
        if found.error is not None:
            places = ", ".join(f"{name} {value}" for name, value in (found.where or {}).items() if name != "table")
            where = f" ({places})" if places else ""
            print_alert(f"{found.table} is held, {found.code}: {found.error}{where}", f"  do this: {found.cure}")


def show_declared_gaps(gaps: Sequence[DeclaredGapReport]) -> None:
    """Print the declared gaps that some table still lacks."""
    from redolake.steps.shared.status import gap_lines

    for line in gap_lines(gaps):
        print_notice(line)


def show_dropped(dropped: Sequence[DropReport]) -> None:
    """Print the dropped transactions that still matter."""
    from redolake.steps.shared.status import dropped_lines

    for line in dropped_lines(dropped):
        print_notice(line)
