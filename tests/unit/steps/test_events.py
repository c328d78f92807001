"""What the next job appends to the lake's log: each fact of the ledger under one name, and nothing where nobody asked."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from redolake.cockpit.health import FailureFact
from redolake.config import Pipeline
from redolake.context import Run
from redolake.records.codec import from_body
from redolake.steps.shared.events import due_events, record_failure
from redolake.values.events import FIELDS, FOLDER
from redolake.values.table import TableId
from tests.states.cockpit_ledger import CockpitLedger


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    made = CockpitLedger(tmp_path, datetime.now(UTC))
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


@pytest.mark.parametrize("name", ["_EVENTS.ORDERS", 'SHOP."_events"', '"_events"."_events"'])
def test_no_table_has_the_folder_of_the_log(pipeline: Pipeline, name: str) -> None:
    body = pipeline.model_dump(mode="json", exclude={"tables", "matches", "name"})
    try:
        made = Pipeline(name="shop", **{**body, "tables": [name]})
    except ValueError:
        return
    path = made.table(TableId.parse(name)).path
    assert path.partition("/")[0] != FOLDER
