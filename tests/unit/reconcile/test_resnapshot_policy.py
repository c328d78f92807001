"""Which held tables are snapshotted again by themselves, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from redolake.config.on_ddl import DdlPolicies
from redolake.config.resnapshot import ResnapshotLimits
from redolake.reconcile.resnapshot_policy import answering_policy, name_policy, obstacle
from redolake.records.approvals import Approval
from redolake.records.batches.spec import HoldAt

NOON = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
HELD_AT = 500


def attempt(minutes_ago: float, at_scn: int = HELD_AT) -> Approval:
    at = NOON - timedelta(minutes=minutes_ago)
    return Approval("resnapshot", "SHOP.PARTS", at_scn, "recreate", "resnapshot", "", "pipelines.yml", at.isoformat(), "")


ANYTIME = ResnapshotLimits()
CASES = {
    "nothing forbids it": (ANYTIME, [], None, None, None),
    "a read ended at the limit of rows": (ResnapshotLimits(max_rows=10), [], 10, "more than 10 rows", False),
    "the limit of rows was raised since": (ResnapshotLimits(max_rows=11), [], 10, None, None),
    "all attempts for this hold are used": (ANYTIME, [attempt(300), attempt(200), attempt(100)], None, "3 attempts", False),
    "attempts were for an older hold": (ANYTIME, [attempt(m, 400) for m in (300, 200, 100)], None, None, None),
    "the last attempt is too recent": (ANYTIME, [attempt(59)], None, "the next attempt is at 2026-11-22 12:31 UTC", True),
    "the last attempt, for an older hold, is too recent": (ANYTIME, [attempt(59, 400)], None, "next attempt", True),
    "the last attempt is long enough ago": (ANYTIME, [attempt(60)], None, None, None),
    "outside the hours of the night": (ResnapshotLimits(hours_utc="22-05"), [], None, "in the hours 22-05 UTC", True),
    "inside the hours of the day": (ResnapshotLimits(hours_utc="12-13"), [], None, None, None),
    "at the end of the hours": (ResnapshotLimits(hours_utc="10-12"), [], None, "in the hours 10-12 UTC", True),
}


@pytest.mark.parametrize(("limits", "earlier", "rows", "what", "passing"), CASES.values(), ids=CASES)
def test_a_limit_forbids_to_read_a_table_again_by_itself(limits, earlier, rows, what, passing) -> None:
    found = obstacle(limits, earlier, HELD_AT, rows, NOON)

    if what is None:
        assert found is None
    else:
        assert what in found.what
        assert found.passing is passing


@pytest.mark.parametrize(("hour", "begins"), [(21, False), (22, True), (23, True), (0, True), (4, True), (5, False)])
def test_hours_may_cross_midnight(hour: int, begins: bool) -> None:
    assert ResnapshotLimits(hours_utc="22-05").begins_at(hour) is begins


POLICIES = {
    "a policy that says so": (DdlPolicies(unknown_ddl="resnapshot"), "unknown_ddl", "unknown_ddl"),
    "another policy": (DdlPolicies(unknown_ddl="resnapshot"), "primary_key", None),
    "a dropped table waits until it is created again": (DdlPolicies(recreate="resnapshot"), "drop_table", "recreate"),
    "a dropped table stays held": (DdlPolicies(unknown_ddl="resnapshot"), "drop_table", None),
    "a policy that cannot say so": (DdlPolicies(), "truncate", None),
    "an error that no policy answers": (DdlPolicies(unknown_ddl="resnapshot"), None, None),
}


@pytest.mark.parametrize(("policies", "policy", "answer"), POLICIES.values(), ids=POLICIES)
def test_the_policy_that_lets_a_held_table_be_read_again(policies, policy, answer) -> None:
    assert answering_policy(policies, policy) == answer


@pytest.mark.parametrize(
    ("where", "cure", "hint"),
    [
        ({"policy": "unknown_ddl"}, "snapshot", "with `on_ddl: {unknown_ddl: resnapshot}`"),
        ({"policy": "drop_table"}, "snapshot", "with `on_ddl: {recreate: resnapshot}`"),
        ({"policy": "truncate"}, "snapshot", ""),  # no such policy takes a snapshot
        ({"policy": "unknown_ddl", "rs_id": "1"}, "snapshot", ""),  # the cure of a statement names all its answers
        ({"policy": "unknown_ddl"}, "with `on_ddl: {unknown_ddl: resnapshot}` by itself", ""),
        ({}, "snapshot", ""),
    ],
)
def test_the_cure_of_a_hold_names_the_policy_that_would_take_the_snapshot(where, cure, hint) -> None:
    found = name_policy(HoldAt(5, {"what": "a difference", "where": where, "cure": cure}), where.get("policy"))

    assert hint in found.error["cure"]
    assert (found.error["cure"] == cure) is not bool(hint)
