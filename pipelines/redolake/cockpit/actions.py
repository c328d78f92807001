"""What a button starts: a DAG, the values that are given, and the fields that a person fills in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from redolake.cockpit.values import DecisionLine, Overview, Recovery, WindowLine
from redolake.operations import MENDS, OPERATIONS, Operation, Parameter
from redolake.operations.recover import CHOICES, RESTORED
from redolake.reconcile.cures import Way, ways_of
from redolake.reconcile.dropped_transactions import OpenTransactionReport
from redolake.reconcile.table_state import TableLine
from redolake.records.shown_facts import Choice

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


def pipeline_actions(overview: Overview, tables: Sequence[str]) -> list[Action]:
    name, options = overview.pipeline, list(tables)[:MOST_OPTIONS]
    unread = Field("tables", "Tables", [], "None chosen: all tables that have no contents yet.", options=options)
    replace = Field("replace", "Read tables again that have contents", False)
    snapshot = Action("Snapshot", f"{name}_snapshot", fields=(unread, replace))
    doctor = Action("Doctor", f"{name}_doctor", costs="Checks the source; reads only. The findings are in the task's log.")
    if not overview.tables and not overview.windows:
        return [snapshot, doctor]
    return [
        button("Verify now", name, "verify", fields=fields_of("verify", options, only=("tables",))),
        button("Backfill", name, "backfill", fields=fields_of("backfill", options)),
        snapshot,
        doctor,
        Action(
            "Maintain", f"{name}_maintain", fields=fields_of("prune", (), only=("dry_run",)), costs=OPERATIONS["prune"].does
        ),
    ]


def fields_of(
    command: str, tables: Sequence[str], given: Mapping[str, Any] | None = None, only: Sequence[str] = ()
) -> tuple[Field, ...]:
    """Return the fields of an operation's form, or some of them, with values that are given. Lists are for Airflow's form."""
    operation, given = OPERATIONS[command], given or {}
    found = [
        field_of(one, tables, given.get(one.name)) for one in operation.parameters if one.name == "tables" or not one.several
    ]
    if operation.reason:
        found.append(Field("reason", "Reason", "", operation.reason))
    if not operation.looks:
        found.append(Field("dry_run", "Only show what it would do", True))
    return tuple(one for one in found if not only or one.name in only)


def field_of(one: Parameter, tables: Sequence[str], given: Any) -> Field:
    about: dict[str, Any] = {"help": one.option.help, "required": one.is_needed}
    default = "" if one.is_needed else one.default
    if one.name == "tables":
        return Field(one.name, one.title, [], about["help"], options=tables)
    if one.option.choices:
        about["options"] = list(one.option.choices)
    return Field(
        one.name, one.title, default if given is None else given, kind="number" if one.type is int else "text", **about
    )


def button(
    label: str, pipeline: str, command: str, chosen: Mapping[str, Any] | None = None, fields: tuple[Field, ...] = ()
) -> Action:
    return Action(label, f"{pipeline}_{command}", chosen or {}, fields, OPERATIONS[command].does)


def window_actions(pipeline: str, window: WindowLine, tables: Sequence[str]) -> list[Action]:
    if window.landed_at is None and window.state == "planned":
        return []
    given = {"from_scn": str(window.start_scn), "to_scn": str(window.end_scn)}
    fields = fields_of("backfill", list(tables)[:MOST_OPTIONS], given)
    return [button("Backfill this range", pipeline, "backfill", fields=fields)]


def table_actions(pipeline: str, table: TableLine) -> list[Action]:
    """Offer the ways that make the table right; a held one may always be resumed or read again, as a person decides."""
    if not table.listed:
        return []
    chosen = {"tables": [table.table]}
    again = Action("Read again", f"{pipeline}_snapshot", {**chosen, "replace": True}, costs=READ_AGAIN)
    resume = mend("Resume", pipeline, MENDS["resume"], chosen)
    ways = [way for way in ways_of(table) if way.command not in ("", "quarantine retry", "close-gap")]  # these have buttons
    found = {way.command: button_of(pipeline, way, chosen, again, resume) for way in ways if table.complete_to_scn is not None}
    if table.state == "held":
        found |= {"resume": resume} if table.complete_to_scn is not None else {}
        found["snapshot"] = again
    elif table.state == "live":
        found["verify"] = button("Verify", pipeline, "verify", chosen)
    return list(found.values())


def button_of(pipeline: str, way: Way, chosen: Mapping[str, Any], again: Action, resume: Action) -> Action:
    if way.command in ("snapshot", "resume"):
        return again if way.command == "snapshot" else resume
    return mend(way.command.capitalize(), pipeline, MENDS[way.command], {**chosen, **way.chosen})


def quarantine_actions(pipeline: str, table: TableLine) -> list[Action]:
    """Offer to list what is in quarantine, and to read it again. What nobody applies is chosen in the form."""
    if not table.quarantined_keys or not table.listed:
        return []
    retry, tables = MENDS["quarantine retry"], {"tables": [table.table]}
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
    given = {"from_scn": str(decision.from_scn), "to_scn": str(decision.to_scn or ""), "from_logs": True}
    fields, gap = fields_of("backfill", list(tables)[:MOST_OPTIONS], given), {"scn": decision.from_scn}
    return [
        mend("What closing takes", pipeline, MENDS["close-gap"], gap, dry_run=True),
        mend("Close", pipeline, MENDS["close-gap"], gap),
        button("Backfill this gap", pipeline, "backfill", fields=fields),
    ]


def transaction_actions(pipeline: str, transaction: OpenTransactionReport) -> list[Action]:
    """Offer only to show it: what can't be undone is chosen after it, in the form."""
    chosen = {"xid": transaction.xid, "container": transaction.con_id}
    return [mend("Show", pipeline, MENDS["tx drop"], chosen, dry_run=True)]


NOTHING_YET = "Changes nothing: the task's log says what it would do."
READ_AGAIN = "Reads the table from Oracle AS OF a new SCN and replaces its contents in one Delta commit."


def recovery_choices(pipeline: str, recovery: Recovery | None) -> list[tuple[Choice, Action]]:
    """Return the choices as the last plan or *show* has listed them; without a list, only *show*."""
    if recovery is None:
        return []
    if not recovery.choices:
        show = button("Show", pipeline, "recover")
        return [(Choice("show", "list the choices and what each costs", "nothing", f"redolake recover -p {pipeline}"), show)]
    return [card_of(pipeline, choice) for choice in recovery.choices if choice.name in (*RESTORED, *CHOICES)]


def card_of(pipeline: str, choice: Choice) -> tuple[Choice, Action]:
    chosen: dict[str, Any] = {"restored": True}
    fields: tuple[Field, ...] = ()
    if choice.name in CHOICES:
        chosen = {"choice": choice.name, "dry_run": False}
        of_it = ("scn", "reason") if choice.name == "position" else ("reason",)
        confirm = Field("confirm", "Confirm", "", f"This cannot be undone: write {pipeline} here.", required=True)
        fields = (*(replace(one, required=True) for one in fields_of("recover", (), only=of_it)), confirm)
    label = {"snapshot": "Snapshot all", "gap": "Declare the gap", "position": "Set the position"}.get(
        choice.name, "Check again"
    )
    return choice, Action(label, f"{pipeline}_recover", chosen, fields, f"Costs: {choice.costs}.")
