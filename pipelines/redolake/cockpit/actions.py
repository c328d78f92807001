"""What a button starts: a DAG, the values that are given, and the fields that a person fills in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redolake.cockpit.values import DecisionLine, Overview, Recovery, TableLine, TransactionLine, WindowLine
from redolake.operations import MENDS, Operation
from redolake.records.shown_facts import Choice
from redolake.values.moment import FORMS

PARTS = {
    "capture": "Capture",
    "apply": "Apply",
    "snapshot": "Snapshot",
    "backfill": "Backfill",
    "verify": "Verify",
    "mend": "Mend",
    "maintain": "Maintain",
    "recover": "Recover",
    "doctor": "Doctor",
}
# The choice of `<name>_recover`, by the name of the way to continue.
FORM_CHOICES = {
    "restore": "restored",
    "connection": "restored",
    "snapshot": "snapshot",
    "gap": "gap",
    "position": "position",
}
MOST_OPTIONS = 200


@dataclass(frozen=True, slots=True)
class Field:
    """`value` also says what kind of field it is: a list for several of the options, a bool for a check box."""

    name: str
    label: str
    value: Any = None
    help: str = ""
    kind: str = "text"
    options: Sequence[str] | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    label: str
    dag: str
    conf: Mapping[str, Any] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    costs: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceCard:
    name: str
    what: str
    costs: str
    command: str
    action: Action


def pipeline_actions(overview: Overview, tables: Sequence[str]) -> list[Action]:
    name, options = overview.pipeline, list(tables)[:MOST_OPTIONS]
    all_or_some = Field("tables", "Tables", [], "None chosen: all tables.", options=options)
    unread = Field("tables", "Tables", [], "None chosen: all tables that have no contents yet.", options=options)
    replace = Field("replace", "Read tables again that have contents", False)
    snapshot = Action("Snapshot", f"{name}_snapshot", fields=(unread, replace))
    doctor = Action("Doctor", f"{name}_doctor", costs="Checks the source; reads only. The findings are in the task's log.")
    if not overview.tables and not overview.windows:
        return [snapshot, doctor]
    return [
        Action("Verify now", f"{name}_verify", fields=(all_or_some,), costs=COMPARES),
        Action("Backfill", f"{name}_backfill", fields=backfill_fields("", "", options)),
        snapshot,
        doctor,
        Action("Maintain", f"{name}_maintain", fields=(Field("dry_run", "Only show what would go", True),), costs=MAINTAIN),
    ]


def backfill_fields(start: str, end: str, options: Sequence[str], source: str = "landed") -> tuple[Field, ...]:
    return (
        Field("from_scn", "From", start, f"Changes that committed from here on: {FORMS}.", required=True),
        Field("to_scn", "To", end, "Changes that committed before this moment.", required=True),
        Field("tables", "Tables", list(options), options=options),
        Field("source", "Source", source, SOURCE, options=("landed", "logs")),
        Field("dry_run", "Only show the plan", True),
    )


def window_actions(pipeline: str, window: WindowLine, tables: Sequence[str]) -> list[Action]:
    if window.landed_at is None and window.state == "planned":
        return []
    fields = backfill_fields(str(window.start_scn), str(window.end_scn), list(tables)[:MOST_OPTIONS])
    costs = "Fills shadow tables beside the live ones, from the landing; Oracle is not read."
    return [Action("Backfill this range", f"{pipeline}_backfill", fields=fields, costs=costs)]


def table_actions(pipeline: str, table: TableLine) -> list[Action]:
    chosen = {"tables": [table.name]}
    if not table.listed:
        return []
    repair = [mend("Repair", pipeline, MENDS["repair"], chosen)] if table.differs else []
    if table.state == "held":
        found = [] if table.complete_to_scn is None else [mend("Resume", pipeline, MENDS["resume"], chosen)]
        return [*repair, *found, Action("Read again", f"{pipeline}_snapshot", {**chosen, "replace": True}, costs=READ_AGAIN)]
    if table.state == "live":
        return [*repair, Action("Verify", f"{pipeline}_verify", chosen, costs=COMPARES)]
    return []


def quarantine_actions(pipeline: str, table: TableLine) -> list[Action]:
    """Offer to list what is in quarantine, and to read it again. What nobody applies is chosen in the form."""
    if not table.quarantined_keys or not table.listed:
        return []
    retry, tables = MENDS["quarantine retry"], {"tables": [table.name]}
    return [
        mend("List", pipeline, retry, tables, dry_run=True),
        mend("Retry", pipeline, retry, tables),
    ]


def mend(label: str, pipeline: str, operation: Operation, chosen: Mapping[str, Any], *, dry_run: bool = False) -> Action:
    """Return the button of an operation for what is chosen; a dry run only shows in the task's log what it would do."""
    conf = {"mend": operation.command, **chosen, "dry_run": dry_run}
    asked = () if dry_run or operation.at_once else (Field("reason", "Reason", "", operation.reason, required=True),)
    costs = f"{NOTHING_YET} {operation.does}" if dry_run else operation.does
    return Action(label, f"{pipeline}_mend", conf, asked, costs)


def decision_actions(pipeline: str, decision: DecisionLine, tables: Sequence[str] = ()) -> list[Action]:
    """Offer to close a declared gap that a table still lacks, and to read what committed in it beside the tables."""
    if not decision.is_open or decision.from_scn is None:
        return []
    options = list(tables)[:MOST_OPTIONS]
    fields = backfill_fields(str(decision.from_scn), str(decision.to_scn or ""), options, "logs")
    beside = Action("Backfill this gap", f"{pipeline}_backfill", fields=fields, costs=FROM_LOGS)
    closing = {"scn": decision.from_scn, "choice": "closing"}
    close = Action("Close", f"{pipeline}_recover", {**closing, "choice": "close"}, (CLOSE_REASON,), CLOSE)
    return [Action("What closing takes", f"{pipeline}_recover", closing, costs=CLOSING), close, beside]


def transaction_actions(pipeline: str, transaction: TransactionLine) -> list[Action]:
    """Offer only to show it: what can't be undone is chosen after it, in the form."""
    chosen = {"xid": transaction.xid, "container": transaction.con_id}
    return [mend("Show", pipeline, MENDS["tx drop"], chosen, dry_run=True)]


NOTHING_YET = "Changes nothing: the task's log says what it would do."
CLOSE_REASON = Field("reason", "Reason", "", "Stored with the decision and in the Delta commits.", required=True)
CLOSING = "Lists in the task's log the logs that are still missing, or the windows and tables to read. Changes nothing."
CLOSE = "Mines the gap from logs that were restored, and reads the rows again that it changes, AS OF each table's position."
SOURCE = "The windows that have landed, or archived logs, read again."
FROM_LOGS = "Mines the gap from restored logs, and fills shadow tables with what committed in it. Tables stay as they are."
MAINTAIN = "Removes what `keep` in pipelines.yml need not keep, then rewrites tables with many small files."
COMPARES = "Reads each table from Oracle once and compares it, cell by cell."
READ_AGAIN = "Reads the table from Oracle AS OF a new SCN and replaces its contents in one Delta commit."


def recovery_choices(pipeline: str, recovery: Recovery | None) -> list[ChoiceCard]:
    """Return the choices as the last plan or *show* has listed them; without a list, only *show*."""
    if recovery is None:
        return []
    if not recovery.choices:
        show = Action("Show", f"{pipeline}_recover", {"choice": "show"})
        return [ChoiceCard("show", "list the choices and what each costs", "nothing", f"redolake recover -p {pipeline}", show)]
    return [card_of(pipeline, choice) for choice in recovery.choices if choice.name in FORM_CHOICES]


def card_of(pipeline: str, choice: Choice) -> ChoiceCard:
    chosen = FORM_CHOICES[choice.name]
    fields: tuple[Field, ...] = ()
    if chosen == "position":
        fields = (Field("scn", "SCN", None, "The position from which capture goes on.", "number", required=True),)
    if chosen in ("gap", "position"):
        fields = (*fields, Field("reason", "Reason", "", "Stored with the decision.", required=True))
    if chosen != "restored":
        fields = (*fields, Field("confirm", "Confirm", "", f"This cannot be undone: write {pipeline} here.", required=True))
    label = {"restored": "Check again", "snapshot": "Snapshot all", "gap": "Declare the gap"}.get(chosen, "Set the position")
    action = Action(label, f"{pipeline}_recover", {"choice": chosen}, fields, f"Costs: {choice.costs}.")
    return ChoiceCard(choice.name, choice.what, choice.costs, choice.command, action)
