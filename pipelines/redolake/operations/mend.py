"""`mend`: look at a table, and take the way that makes it right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from redolake.errors import in_shell, plain_lines
from redolake.operations.close_gap import close_gap
from redolake.operations.declared import Outcome, Table, Verdict, operation
from redolake.operations.fill_columns import fill_columns
from redolake.operations.history import rebuild_history
from redolake.operations.quarantine import retry_quarantine
from redolake.operations.repair import repair
from redolake.operations.resume import resume

if TYPE_CHECKING:
    from redolake.context import Run
    from redolake.reconcile.cures import Way
    from redolake.reconcile.table_state import TableLine

BY_COMMAND = {one.command: one for one in (repair, close_gap, retry_quarantine, fill_columns, rebuild_history, resume)}


@operation("mend", reason="Stored with what is done.", decides=True, connects=True)
def mend(run: Run, table: Table) -> Outcome:
    """Say which way makes a table right, what that costs, what it does not heal and how it is taken back. Do the first one with
    --execute.

    It ends as differing where only a person can decide. What is not in the ledger, such as a column that is wanted now, is not
    seen.
    """
    from redolake import steps

    line, ways = steps.look_up_ways(run.pipeline, table)
    typed = [replace(way, typed=way.typed_for(line.table)) for way in ways]
    result, shown = {"table": line.table, "state": line.state_text, "ways": typed}, tuple(plain_lines(lines_of(line, ways)))
    if not ways:
        return Outcome(result, shown, is_all=True)
    first = ways[0]
    if not is_done_here(first):
        final = ("It cannot be undone, so it is not done here: type it",) if first.command else ()
        return Outcome(result, (*shown, *final), Verdict.DIFFERS, is_all=True)
    if not run.execute:
        return Outcome(result, shown)
    if first.command == "snapshot":
        made = steps.mend_by_snapshot(run, line.table, replace=bool(first.chosen))
        done = tuple(f"{one.table}: {one.rows} rows AS OF SCN {one.scn}" for one in made.tables)
        return Outcome(made, plain_lines((*done, *after(line, ways))))
    one = BY_COMMAND[first.command]
    names = {"table": line.table, "tables": (line.table,)}
    chosen = {each.name: first.chosen.get(each.name, names.get(each.name, each.default)) for each in one.parameters}
    found = one.act(run, **chosen)
    return found if found.verdict else replace(found, lines=(*found.lines, *plain_lines(after(line, ways))))


def is_done_here(way: Way) -> bool:
    """Return whether --execute takes the way: not one that a person must choose, or that cannot be undone."""
    one = BY_COMMAND.get(way.command)
    if one is None:
        return way.command == "snapshot"
    return not one.is_final({each.name: each.default for each in one.parameters})


def lines_of(line: TableLine, ways: Sequence[Way]) -> Iterator[str]:
    to = "" if line.complete_to_scn is None else f", complete to SCN {line.complete_to_scn}"
    yield f"{line.table}: {line.state_text}{to}"
    if not ways:
        yield "nothing to do" if line.is_captured else "nothing to do: it is not captured, and its Delta table stays as it is"
    for way in ways:
        yield f"- {way.why}"
        if not way.command:
            yield "  wait for it" if line.state == "snapshotting" else "  a person must decide"
            continue
        yield f"  {way.command}: `{way.typed_for(line.table)}`"
        about = {"costs": way.costs, "reads": way.reads, "does not heal": way.cannot, "undone by": way.undo}
        yield from (f"  {name}: {text}" for name, text in about.items() if text)


def after(line: TableLine, ways: Sequence[Way]) -> Iterator[str]:
    name = in_shell(line.table)
    if len(ways) > 1:
        yield f"then: {ways[1].why}: `redolake mend {name}`"
    when = "prove it after the next run" if ways[0].command == "resume" else "prove it"
    yield f"{when}: `redolake verify {name}`"
