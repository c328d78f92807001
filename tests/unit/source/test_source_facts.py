"""Facts about redo from rows of the V$ views, unusual ones included."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import pytest

from redolake.errors import SourceRefused
from redolake.source.facts import read_redo_facts

AT = datetime(2026, 1, 1)
ARCHIVED = {
    "thread": 1, "sequence_no": 1, "resetlogs_id": 11, "first_scn": 50, "next_scn": 200, "first_at": AT, "bytes": 512,
    "dest_id": 1, "name": "/arch/1", "status": "A", "deleted": "NO", "standby_dest": "NO", "archived": "YES",
}  # fmt: skip
ONLINE = {
    "thread": 1, "sequence_no": 2, "first_scn": 200, "next_scn": None, "first_at": AT, "bytes": 512, "archived": "NO",
    "status": "CURRENT",
}  # fmt: skip
TRACE = {"thread": 1, "sequence_no": 1, "first_scn": 50, "next_scn": 200, "resetlogs_scn": 1, "resetlogs_at": AT}


class FakeSource:
    """Answers each query with fixed rows."""

    pdb_only = False

    def __init__(self, **views):
        self.views = {
            "redo_head": [{"dbid": 7, "current_scn": 300, "database_role": "PRIMARY"}],
            "log_history": [TRACE],
            "incarnations": [
                {"resetlogs_id": 11, "resetlogs_scn": 1, "resetlogs_at": AT, "status": "CURRENT", "prior_resetlogs_scn": None}
            ],
            "online_logs": [ONLINE],
            "archived_logs": [ARCHIVED],
            "redo_threads": [],
            **views,
        }

    def use_container(self, name):
        assert name is None

    def query(self, name, **_):
        return [SimpleNamespace(**row) for row in self.views[name]]


def test_a_null_in_a_row_of_a_log_is_no_failure():
    nowhere = {"dest_id": None, "name": None, "bytes": None, "status": None, "archived": None}
    old = {"sequence_no": 9, "resetlogs_id": None, "next_scn": None, "first_at": None}
    facts = read_redo_facts(
        FakeSource(archived_logs=[ARCHIVED, ARCHIVED | nowhere, ARCHIVED | old], online_logs=[ONLINE | {"status": None}])
    )

    one, other = sorted(facts.archived, key=lambda log: -log.resetlogs_id)
    assert [(copy.dest_id, copy.is_claimed) for copy in one.copies] == [(0, False), (1, True)]
    assert (other.sequence, other.resetlogs_id, other.next_scn) == (9, 0, None)
    assert facts.online[0].next_scn is None


def test_a_row_without_the_range_of_its_log_shows_no_redo():
    empty = {"first_scn": None}
    facts = read_redo_facts(
        FakeSource(
            archived_logs=[ARCHIVED | empty, ARCHIVED | {"sequence_no": None}],
            online_logs=[ONLINE | empty],
            log_history=[TRACE | empty],
        )
    )

    assert (facts.archived, facts.online, facts.history) == ((), (), ())


@pytest.mark.parametrize("role", ["SNAPSHOT STANDBY", "LOGICAL STANDBY", "FAR SYNC"])
def test_a_database_with_redo_of_its_own_is_refused(role: str):
    with pytest.raises(SourceRefused, match=role) as refused:
        read_redo_facts(FakeSource(redo_head=[{"dbid": 7, "current_scn": 300, "database_role": role}]))
    assert "connect to the primary" in refused.value.cure


def test_a_database_that_is_not_the_primary_is_a_standby():
    heads = {role: [{"dbid": 7, "current_scn": 300, "database_role": role}] for role in ("PRIMARY", "PHYSICAL STANDBY")}

    assert {role: read_redo_facts(FakeSource(redo_head=head)).is_standby for role, head in heads.items()} == {
        "PRIMARY": False,
        "PHYSICAL STANDBY": True,
    }
