"""What the next job appends to the lake's log: each fact of the ledger under one name, and nothing where nobody asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from redolake.cockpit.health import FailureFact
from redolake.config import Pipeline
from redolake.context import Run
from redolake.records.codec import from_body, to_body
from redolake.records.proofs import ProvedHistory
from redolake.records.shown_facts import ProofFact
from redolake.steps.shared import events
from redolake.steps.shared.events import due_events, record_failure
from redolake.values.events import FIELDS, FOLDER, commits_of
from redolake.values.table import TableId
from tests.states.cockpit_ledger import CockpitLedger, lately


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    made = CockpitLedger(tmp_path, lately(__name__))
    made.run()
    made.hold_stock()
    made.decide()
    made.lose_redo()
    made.ledger.close()
    found: Pipeline = made.pipeline
    keep = found.keep.model_copy(update={"events": timedelta(days=30)})
    return found.model_copy(update={"keep": keep})


def test_each_kind_of_fact_is_an_event_with_one_name(pipeline: Pipeline) -> None:
    with Run(pipeline) as run:
        found, again = due_events(run), due_events(run)

    assert {one["kind"] for one in found} >= {"window", "batch", "hold", "decision", "loss"}
    assert max(Counter(one["id"] for one in found).values()) == 1
    assert {name for one in found for name in one} <= set(FIELDS)
    assert [one["id"] for one in again] == [one["id"] for one in found]
    assert found == tuple(sorted(found, key=lambda one: (one["happened_at"], one["id"])))


def test_without_the_setting_nothing_is_written_and_no_failure_stays(pipeline: Pipeline) -> None:
    with Run(pipeline.model_copy(update={"keep": pipeline.keep.model_copy(update={"events": None})})) as run:
        record_failure(run, "the disk is full")
        assert due_events(run) == ()
        assert run.ledger.fact("events") is None


class Log:
    """The lake's log, as the jobs append to it."""

    def __init__(self) -> None:
        self.ids, self.last = set[str](), dict[str, int]()

    def append(self, found: Sequence[Mapping[str, Any]]) -> None:
        if {one["id"] for one in found} <= self.ids:
            return
        self.ids |= {one["id"] for one in found}
        newest = max(datetime.fromisoformat(one["happened_at"]) for one in found)
        self.last = {commits_of("shop"): int(newest.timestamp() * 1_000_000)}

    def txns(self) -> dict[str, int]:
        return self.last


def test_more_events_of_one_moment_than_a_job_writes_keep_no_later_one_out(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a rebuilt ledger has them of batches whose time it does not know, and a busy one of five minutes."""
    with Run(pipeline) as run:
        every, log = due_events(run), Log()
        moment = max(one["happened_at"] for one in every)
        alike = [{**one, "happened_at": moment} for one in every]
        for name in ("of_windows", "of_batches", "of_people"):
            monkeypatch.setattr(events, name, lambda *_: iter(()))
        monkeypatch.setattr(events, "of_tables", lambda _: iter(alike))
        monkeypatch.setattr(events, "read_log", lambda _: log)
        monkeypatch.setattr(events, "MOST", 3)
        for _ in range(3):
            log.append(due_events(run))

    assert log.ids == {one["id"] for one in every}


def test_a_fact_that_is_damaged_stops_no_batch(pipeline: Pipeline) -> None:
    """Facts are shown, and nothing is decided by them."""
    with Run(pipeline) as run:
        run.ledger.record_fact("proofs", {"proofs": [{"record": "proof", "format": 1, "rows": "many"}]}, "SHOP.STOCK")
        assert due_events(run) == ()
        said = run.ledger.fact("events")
        assert said is not None
        assert "the lake's log is not written" in from_body(FailureFact, said, "").what


def test_a_repair_is_no_comparison_that_found_rows_equal(pipeline: Pipeline) -> None:
    table = TableId("SHOP", "STOCK")
    with Run(pipeline) as run:
        for fact in (
            ProofFact(5, 1, 9, quarantined_keys=2),
            ProofFact(5, 1, None, share=0.0),
            ProofFact(5, 1, 9, extra_rows=1),
        ):
            run.ledger.record_proof(table, to_body(fact))
        found = [one["reason"] for one in due_events(run) if one["kind"] == "proof" and one["table_name"] == str(table)]

    assert sorted(found[-3:]) == ["differs", "equal but for quarantine", "repaired"]


def test_a_log_that_cannot_be_read_is_recorded_with_its_first_time_and_forgotten_once_it_can(pipeline: Pipeline) -> None:
    log = Path(pipeline.lake) / FOLDER / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{1:020d}.json").write_text("{}")
    with Run(pipeline) as run:
        assert due_events(run) == ()
        first = run.ledger.fact("events")
        assert due_events(run) == ()
        second = run.ledger.fact("events")
        assert first is not None
        assert second is not None
        said = from_body(FailureFact, second, "")
        assert (said.since, "a commit is missing" in said.what) == (from_body(FailureFact, first, "").since, True)
        record_failure(run, "")
        assert run.ledger.fact("events") is None


def test_a_fact_of_the_ledger_that_cannot_be_read_stops_no_batch(pipeline: Pipeline) -> None:
    """Facts are shown to people, and nothing else waits for them."""
    with Run(pipeline) as run:
        run.ledger.record_fact("snapshot", {"state": "no state"}, "SHOP.ORDERS")
        assert due_events(run) == ()
        assert "the snapshot of SHOP.ORDERS" in from_body(FailureFact, run.ledger.fact("events") or {}, "").what


def test_a_proof_whose_history_differs_is_not_equal(pipeline: Pipeline) -> None:
    differs = ProofFact(99, 7, 12, history=ProvedHistory(extra_rows=2))
    with Run(pipeline) as run:
        run.ledger.record_proof(TableId("SHOP", "ORDERS"), to_body(differs))
        (found,) = (one for one in due_events(run) if one["kind"] == "proof" and one["last_scn"] == 99)
    assert (found["reason"], found["text"]) == ("differs", "its history: 0 missing rows, 2 extra rows")


@pytest.mark.parametrize("name", ["_EVENTS.ORDERS", 'SHOP."_events"', '"_events"."_events"'])
def test_no_table_has_the_folder_of_the_log(pipeline: Pipeline, name: str) -> None:
    body = pipeline.model_dump(mode="json", exclude={"tables", "matches", "name"})
    try:
        made = Pipeline(name="shop", **{**body, "tables": [name]})
    except ValueError:
        return
    path = made.table(TableId.parse(name)).path
    assert path.partition("/")[0] != FOLDER
