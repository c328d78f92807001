"""Approvals: written once beside the landing, and shown from the ledger, which can be rebuilt from them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from redolake.context import Run, now
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import approve_again
from redolake.records.approvals import Approval, ApprovalKind
from redolake.records.codec import from_body, to_body
from redolake.schema.derive import Approved
from redolake.values.table import TableId

CLOCKS_DIFFER = timedelta(days=7)  # at most, between the hosts that write approvals
NEW_HISTORY = "history"  # the policy of an approval to resume a table whose history is gone, and begins again
TIME_IN_NAME = "%Y%m%dT%H%M%S%f"
KINDS: Mapping[ApprovalKind, str] = {
    "resume": "resume",
    "ddl": "approve DDL",
    "resnapshot": "snapshot again",
    "repair": "repair",
    "quarantine": "drop from quarantine",
}


@crash.writer
def record_approval(
    context: Run,
    kind: ApprovalKind,
    table: TableId,
    at_scn: int | None,
    *,
    by: str,
    policy: str = "",
    choice: str = "",
    reason: str = "",
    rs_id: str = "",
    thread: int | None = None,
    at: datetime | None = None,
) -> Approval:
    """Record a choice in the landing and in the ledger."""
    at = at or now()
    name = f"{at:{TIME_IN_NAME}}-{uuid.uuid4().hex[:8]}"
    made = Approval(kind, str(table), at_scn, policy, choice, reason, by, at.isoformat(timespec="seconds"), name, rs_id, thread)
    context.landing.files.write_record_once(layout.approval_file(name), made)
    reconcile_approvals(context, at)
    return made


def reconcile_approvals(context: Run, since: datetime | None = None) -> None:
    """Record approvals that the ledger does not know as decisions. It knows those that were made long before its newest one, so
    their files are not looked for, unless one is of `since`."""
    newest = context.ledger.newest_decision(KINDS.values())
    after = None if newest is None else min(newest, since or newest) - CLOCKS_DIFFER
    first = "" if after is None else f"{after.astimezone(UTC):{TIME_IN_NAME}}"
    names = [file.removesuffix(".json") for file in context.landing.files.names(layout.APPROVALS, first)]
    # The ledger has whole seconds, names have fractions.
    known = {found.name for found in approvals(context, since=after and after - timedelta(seconds=1))} if names else set()
    for name in names:
        file = layout.approval_file(name)
        found = None if name in known else context.landing.files.read_record(Approval, file, approve_again(file))
        if found is not None:
            context.ledger.record_decision(KINDS[found.kind], to_body(found), found.by, datetime.fromisoformat(found.at))


def approvals(
    context: Run, kind: ApprovalKind | None = None, table: TableId | None = None, since: datetime | None = None
) -> list[Approval]:
    """Return the approvals that the ledger knows, all or since a time, in the order in which they were made."""
    wanted = KINDS.values() if kind is None else (KINDS[kind],)
    bodies = [decision.body for one in wanted for decision in context.ledger.decisions(one, since)]
    found = (from_body(Approval, body, "an approval in the ledger") for body in bodies)
    return sorted((one for one in found if table is None or one.table == str(table)), key=lambda one: one.name)


def approved_ddl(context: Run, table: TableId) -> Approved:
    """Return how people have chosen to treat a DDL row of the table: the policy and its value, or None."""
    made = {(one.at_scn, one.thread, one.rs_id): (one.policy, one.choice) for one in approvals(context, "ddl", table)}
    return lambda row: made.get((row.scn, row.thread, row.rs_id.strip()))
