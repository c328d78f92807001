"""`recover`: continue after lost redo, as a person chooses."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from redolake.errors import plain_lines
from redolake.operations.declared import AnyTables, Option, Outcome, Verdict, operation
from redolake.values.scn import check_scn
from redolake.values.utc import beside

if TYPE_CHECKING:
    from redolake.context import Run
    from redolake.records.shown_facts import Choice
    from redolake.steps.shared.status import DeclaredGapReport

CHOICES = {
    "snapshot": "continue from now and read the tables again",
    "gap": "continue without the lost redo; it stays visible until the tables are read again, or the gap is closed",
    "position": "continue from the SCN, which is checked",
}
RESTORED = ("restore", "connection")  # ways to continue that need work elsewhere, and then only another look

How = Annotated[
    Any,
    Option("Without a choice, all are shown with what each costs.", "Choice", choices=CHOICES, positional=True),
]
Restored = Annotated[bool, Option("Check again after logs were restored.")]
AtScn = Annotated[
    int | None,
    Option(
        "The position; or the end of the gap. Default of a gap: the SCN from which no redo is missing.", "SCN", check=check_scn
    ),
]


def in_form(choice: Choice) -> str:
    """Say how a way to continue is chosen in Airflow; some need work outside of it."""
    if choice.name in RESTORED:
        return "trigger this DAG again with *Restored*"
    needs = ", an *SCN*, a *Reason*" if choice.name == "position" else ", a *Reason*"
    chosen = f"trigger this DAG again with *Choice* {choice.name}{needs}, and without *Dry run*"
    return chosen if choice.name in CHOICES else choice.command


@operation("recover", reason="Stored with the decision; a choice needs it.", connects=True, final="choice")
def recover(run: Run, choice: How = None, tables: AnyTables = (), restored: Restored = False, scn: AtScn = None) -> Outcome:
    """Show which redo is lost and what each way to continue costs; with a choice and --execute, carry it out.

    Redolake chooses nothing for you. What a gap declares is never read; let what has landed be applied first. With tables, a
    snapshot reads only these again, and the others are held. It stops while redo is lost and nothing is chosen.
    """
    from redolake import steps

    check_choice(choice, restored, scn)
    if choice is None:
        found = steps.recheck_redo_loss(run) if restored else steps.inspect_redo_loss(run)
        text = steps.recovery_text(found, in_form) if run.apart else steps.recovery_text(found)
        return Outcome(found, tuple(text.splitlines()), Verdict.STOPPED if found.lost else Verdict.DONE, is_all=True)
    if not run.execute:
        found = steps.inspect_redo_loss(run, tables)
        cost = steps.cost_of(found, choice)
        given = (("SCN", scn), ("tables", ", ".join(tables)))
        return Outcome(found, (*cost.splitlines(), *(f"{name}: {value}" for name, value in given if value)), shown=cost)
    if run.apart:
        gap = steps.declare_gap(run, choice, scn=scn, approved=run.shown, tables=tables)
        again = (list(tables) or steps.capturable_tables(run.pipeline)) if choice == "snapshot" else None
        return Outcome(gap, tuple(declared_lines(gap)), rest=again)
    made = steps.recover_redo_loss(run, choice, scn=scn, approved=run.shown, tables=tables)
    read = (f"  {t.table}: {t.rows} rows AS OF SCN {t.scn}{beside(t.at)}" for t in made.snapshots)
    return Outcome({**asdict(made.gap), "snapshots": made.snapshots}, plain_lines((*declared_lines(made.gap), *read)))


def check_choice(choice: str | None, restored: bool, scn: int | None) -> None:
    """Raise ConfigurationError for what means nothing together."""
    from redolake.errors import ConfigurationError, Finding

    if restored and choice:
        raise ConfigurationError([Finding("recover", f"restored and {choice} exclude each other", "leave one of them out")])
    if scn is not None and choice not in ("gap", "position"):
        raise ConfigurationError(
            [Finding("--scn", "means something to a gap and a position alone", "choose one, or leave it out")]
        )


def declared_lines(gap: DeclaredGapReport) -> tuple[str, ...]:
    head = (
        f"{gap.kind}: SCN {gap.from_scn}{beside(gap.from_at)} to {gap.to_scn - 1} is not read; the next run continues after it"
    )
    return (head, *(f"  transaction {t.xid} (open since SCN {t.start_scn}): {t.rows} row(s) dropped" for t in gap.dropped))
