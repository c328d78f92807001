"""Every state of a table that is not right has a way to heal it, or a sentence why a person must decide."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.reconcile.cures import MOST_ROWS, WAYS, ways_of
from redolake.reconcile.table_state import OpenGap, TableLine
from redolake.records.proofs import ProvedHistory
from redolake.records.shown_facts import ProofFact, SnapshotFact

NOW = datetime(2026, 5, 1, 14, 0, tzinfo=UTC)
GAP = OpenGap(500, 599, NOW)
HOLD = {"code": "UnsupportedDdl", "error": "a DDL is not followed"}
CURES = [
    "", "add it, then `redolake resume SHOP.A`", "`redolake snapshot SHOP.A --replace`",
    "`redolake repair SHOP.A --execute --reason TEXT`, or `redolake snapshot SHOP.A --replace`",
    "`redolake quarantine retry SHOP.A --execute --reason TEXT`", "`redolake resume SHOP.A --ddl follow --reason TEXT --yes`",
    "`redolake fill-columns SHOP.A --execute --reason TEXT` reads these alone; `redolake snapshot SHOP.A --replace`",
    "`redolake resume SHOP.A --new-history --reason TEXT`", "see the manual",
]  # fmt: skip


def line(**about: Any) -> TableLine:
    known: dict[str, Any] = {
        "inserted": 0, "updated": 0, "deleted": 0, "table": "SHOP.A", "target": "/lake/a", "state": "live",
        "complete_to_scn": 1000, "delta_version": 3, "behind": False, "changed_at": NOW, "proofs": (), "snapshot": "",
        "snapshot_scn": 400, "loaded": SnapshotFact("loaded", 400, 12_000, 61.0, bytes=5_000_000),
    }  # fmt: skip
    return TableLine(**known | about)


def proof(**about: Any) -> ProofFact:
    return ProofFact(900, 3, 100, at=(NOW - timedelta(hours=1)).isoformat(), **about)


UNEQUAL = ProvedHistory(missing_rows=1)
proofs = st.lists(
    st.builds(
        proof,
        missing_rows=st.sampled_from([0, 3, MOST_ROWS + 1]),
        error=st.sampled_from([None, "ORA-01555"]),
        history=st.sampled_from([None, UNEQUAL]),
    ),
    max_size=2,
).map(tuple)
lines = st.builds(
    line,
    state=st.sampled_from(["live", "held", "new", "snapshotting"]),
    complete_to_scn=st.sampled_from([None, 1000]),
    proofs=proofs,
    quarantined_keys=st.sampled_from([0, 2]),
    gaps=st.sampled_from([(), (GAP,), (GAP, replace(GAP, first_scn=700, last_scn=710))]),
    dropped_transactions=st.sampled_from([(), ("1.2.3",)]),
    listed=st.booleans(),
    dropped_at=st.sampled_from([None, 800]),
    cure=st.sampled_from(CURES),
    loaded=st.sampled_from([None, SnapshotFact("loaded", 400, 12_000, 61.0, bytes=5_000_000)]),
).map(lambda one: replace(one, **HOLD) if one.state == "held" else replace(one, cure=""))


@settings(max_examples=500, deadline=None)
@given(lines)
def test_a_table_that_is_not_right_gets_a_way_or_a_sentence_and_a_right_one_nothing(table: TableLine) -> None:
    ways = ways_of(table)
    assert bool(ways) == bool(table.faults)
    assert {fault for way in ways for fault in way.faults} == {*table.faults} or "not loaded" in table.faults
    for way in ways:
        assert way.why
        assert way.command in ("", *WAYS)
        assert bool(way.command) == bool(way.typed)
        assert "TABLE" not in way.typed_for(table.table)
    commands = [way.command for way in ways]
    assert len(commands) == len({*commands})
    assert commands.count("snapshot") == 0 or {*commands} <= {"snapshot", "history rebuild", ""}


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({}, []),
        ({"listed": False, "quarantined_keys": 2}, []),
        ({"state": "new", "complete_to_scn": None}, ["snapshot"]),
        ({"state": "snapshotting", "complete_to_scn": None}, [""]),
        ({"proofs": (proof(missing_rows=3),)}, ["repair"]),
        ({"proofs": (proof(error="ORA-1"), proof(extra_rows=3))}, ["repair"]),
        ({"proofs": (proof(missing_rows=MOST_ROWS + 1),)}, ["snapshot"]),
        ({"gaps": (GAP,)}, ["close-gap"]),
        ({"proofs": (proof(history=UNEQUAL),)}, ["history rebuild"]),
        ({"proofs": (proof(history=UNEQUAL),), "dropped_transactions": ("1.2.3",)}, ["snapshot", "history rebuild"]),
        ({"dropped_transactions": ("1.2.3",), "gaps": (GAP,), "quarantined_keys": 1}, ["snapshot"]),
        ({"quarantined_keys": 1}, ["quarantine retry"]),
        ({"quarantined_keys": 1, "proofs": (proof(missing_rows=3),)}, ["repair", "quarantine retry"]),
        *(
            ({"state": "held", "cure": cure, **HOLD}, [command])
            for cure, command in zip(
                CURES,
                ["resume", "resume", "snapshot", "", "quarantine retry", "", "fill-columns", "", "resume"],
                strict=True,
            )
        ),
        ({"state": "held", "cure": CURES[3], "proofs": (proof(missing_rows=3),), **HOLD}, ["repair"]),
        ({"state": "held", "cure": "", "proofs": (proof(missing_rows=3),), **HOLD}, ["resume", "repair"]),
    ],
)
def test_each_state_has_its_way(about: dict[str, Any], expected: list[str]) -> None:
    assert [way.command for way in ways_of(line(**about))] == expected


def test_a_gap_among_several_is_named() -> None:
    (way,) = ways_of(line(gaps=(GAP, replace(GAP, first_scn=700, last_scn=710))))
    assert way.typed_for("SHOP.A", "-p shop") == "redolake close-gap SHOP.A --execute --reason TEXT --scn 500 -p shop"
    assert way.chosen == {"scn": 500}


def test_the_page_of_ways_says_what_each_reads_cannot_and_how_it_is_undone() -> None:
    """The table 'the table is .. -> do ..' is that of the decision."""
    page = (Path(__file__).parents[3] / "docs/how-to/make-a-table-right.md").read_text()
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in page.splitlines() if row.startswith("| ")][1:]
    by_command = {}
    for _, do, reads, cannot, undo in rows:
        (command,) = (name for name in sorted(WAYS, key=len) if re.search(rf"`redolake {name}\b", do))
        by_command[command] = (reads, cannot, undo)
    assert by_command == {name: (way.reads, way.cannot, way.undo) for name, way in WAYS.items()}


@pytest.mark.parametrize(
    ("loaded", "costs"),
    [
        (SnapshotFact("loaded", 400, 12_000, 61.0, bytes=5_000_000), "12,000 rows, 5.0 MB, 1 min 1 s to read, the last time"),
        (SnapshotFact("loaded", 400, 1), "1 row, the last time"),
        (None, "all rows"),
    ],
)
def test_a_snapshot_costs_what_the_last_one_did(loaded: SnapshotFact | None, costs: str) -> None:
    (way,) = ways_of(line(state="held", loaded=loaded, cure="`redolake snapshot SHOP.A --replace`", **HOLD))
    assert way.costs == costs
