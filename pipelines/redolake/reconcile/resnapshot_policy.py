"""Whether a held table is snapshotted again by itself: which policy says so, and what forbids it now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from redolake.config import Pipeline
from redolake.config.on_ddl import DdlPolicies
from redolake.config.resnapshot import ResnapshotLimits
from redolake.context import Run
from redolake.land.dictionary import Readings
from redolake.ledger import TableEntry
from redolake.reconcile.table_versions import known_versions
from redolake.records.approvals import Approval
from redolake.records.batches.spec import HoldAt
from redolake.values.ddl_policies import ANSWERS, Answers, PolicyName
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a table, or a chunk of it, is not read now. One that is not `passing` needs a person."""

    what: str
    passing: bool
    cure: str = ""


def obstacle(
    limits: ResnapshotLimits, earlier: Sequence[Approval], stopped_at: int, rows_refused: int | None, at: datetime
) -> Obstacle | None:
    """Return what forbids to read a table now that stopped before `stopped_at`, or None.

    `earlier` are all attempts for the table, oldest first; `rows_refused` is the limit at which the last one ended.
    """
    if rows_refused is not None and rows_refused >= limits.max_rows:
        return too_large(limits.max_rows)
    used = sum(one.at_scn == stopped_at for one in earlier)
    if used >= limits.attempts:
        return Obstacle(f"{used} attempts have failed (`resnapshot.attempts`)", False, "remove the cause that they report")
    if earlier:
        next_at = datetime.fromisoformat(earlier[-1].at) + timedelta(minutes=limits.pause_minutes)
        if at < next_at:
            return Obstacle(f"the next attempt is at {next_at:%Y-%m-%d %H:%M} UTC", True)
    if not limits.begins_at(at.hour):
        return Obstacle(f"reads begin only in the hours {limits.hours_utc} UTC", True)
    return None


def too_large(most: int) -> Obstacle:
    return Obstacle(f"it has more than {most} rows (`resnapshot.max_rows`)", False, "raise `resnapshot.max_rows`")


def answer(context: Run, entry: TableEntry) -> str | None:
    """Return the policy by which a held table is read again; None if there is none, or if the table is not there again."""
    where = (entry.error or {}).get("where", {})
    if entry.table not in context.pipeline.by_id or entry.complete_to_scn is None:
        return None
    policy = answering_policy(context.pipeline.ddl_policies(entry.table), where.get("policy"))
    if policy != "recreate":
        return policy
    return policy if is_there_again(context, entry.table) else None


def answering_policy(policies: DdlPolicies, policy: str | None) -> str | None:
    """Return which policy says `resnapshot` for a hold. A dropped table may be created again."""
    wanted = "recreate" if policy == "drop_table" else policy
    return wanted if wanted is not None and getattr(policies, wanted, None) == "resnapshot" else None


def announce(pipeline: Pipeline, table: TableId, hold: HoldAt | None) -> HoldAt | None:
    """Return a new hold with a cure that says that the table is snapshotted again by itself, where a policy says so, or which
    policy would."""
    policy = None if hold is None else hold.error.get("where", {}).get("policy")
    if hold is None:
        return None
    if answering_policy(pipeline.ddl_policies(table), policy) is None:
        return name_policy(hold, policy)
    hours = pipeline.settings(table).resnapshot.hours_utc
    when = "after the next run of apply" if hours is None else f"in the hours {hours} UTC"
    if policy in ("drop_table", "recreate"):  # it may have been dropped or renamed for good
        cure = f"wait, if a table of this name is created again: it is snapshotted by itself {when}; else {hold.error['cure']}"
    else:
        at_once = f"to do it now, run `redolake snapshot {table.in_command} --replace`"
        cure = f"wait: it is snapshotted again by itself {when}; {at_once}"
    return replace(hold, error={**hold.error, "cure": cure})


def name_policy(hold: HoldAt, policy: str | None) -> HoldAt:
    """Return the hold with a cure that names the policy, if it is of no statement: the cure of a statement does."""
    wanted = "recreate" if policy == "drop_table" else policy
    knows = "rs_id" in hold.error.get("where", {}) or "`on_ddl: {" in str(hold.error.get("cure"))
    if knows or "resnapshot" not in ANSWERS.get(cast(PolicyName, wanted), Answers()).on:
        return hold
    cure = f"{hold.error['cure']}; with `on_ddl: {{{wanted}: resnapshot}}` the table is snapshotted again by itself"
    return replace(hold, error={**hold.error, "cure": cure})


def is_there_again(context: Run, table: TableId) -> bool:
    """Return whether the newest dictionary reading shows the table with an OBJECT_ID that it has not had."""
    since = [window.start_position for window in context.landing.windows.last(1)]
    newest = next(Readings(context.landing.dictionary, *since).newest_first(0, 0), None)
    here = None if newest is None else newest.table(table)
    return here is not None and here.object_id not in {version.object_id for version in known_versions(context, table)}


def restate(entry: TableEntry, found: Obstacle, **where: Any) -> dict[str, Any]:
    """Return the error of a held table with the reason why it is not snapshotted again by itself, once."""
    error = dict(entry.error or {})
    what = str(error.get("what", "")).partition("; not snapshotted again by itself: ")[0]
    return {
        **error,
        "what": f"{what}; not snapshotted again by itself: {found.what}",
        "cure": f"{found.cure}, or run `redolake snapshot {entry.table.in_command} --replace`, which has no limits",
        "where": {**error.get("where", {}), **where},
    }
