"""Rows that are read again, whoever names them (a person, a range of redo, a declared gap), are then as in the source AS OF the
table's position, and every other row is as it was. Without Spark, over random lives.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.records.closed import ClosedTable
from redolake.values.table import TableId
from tests.generated.hunts import EXAMPLES
from tests.generated.table_writers import Writers, catch_up, writers
from tests.references.plain_lake import PlainLake

MORE = EXAMPLES // 10
SEEDS = random.Random(os.environ.get("REDOLAKE_SEED")).sample(range(10**9), MORE) or [1, 2, 3]
NAMES = ("KEYED", "LEAN")
Row = tuple[Any, ...]
Rows = dict[int, Row]


@pytest.fixture(params=SEEDS)
def life(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Writers]:
    with writers(tmp_path, request.param, PlainLake(), NAMES) as made:
        work(made)
        yield made


def work(life: Writers) -> None:
    for _ in range(life.chance.randint(3, 6)):
        life.work()
    for session in range(2):
        life.end(session)
    catch_up(life)


def damage(life: Writers, name: str) -> Rows:
    """Remove rows of the lake, change some and add others; return what is there then."""
    assert life.plain is not None
    table = life.plain.tables[life.target(name)]
    for key in sorted(table.rows):
        chance = life.chance.random()
        if chance < 0.3:
            del table.rows[key]
        elif chance < 0.5:
            table.rows[key] = (table.rows[key][0], "by hand", *table.rows[key][2:])
    stray = 900 + life.chance.randrange(9)
    table.rows[(str(stray),)] = (str(stray), "by hand", "1")
    return life.rows(name)


def position(life: Writers, name: str) -> int:
    found = life.delta_position(name)
    assert found is not None
    return found


def changed_in(life: Writers, name: str, start: int, end: int) -> set[int]:
    """Return the keys whose rows are others after a commit of the range than before it."""
    found, before = set[int](), life.truth(name, start)
    for state in life.states[name]:
        if start <= state.since < end:
            found |= {key for key in before.keys() | state.rows.keys() if before.get(key) != state.rows.get(key)}
            before = state.rows
    return found


def check_rows(life: Writers, name: str, before: Rows, surely: set[int], only: set[int] | None = None) -> None:
    """`surely` are keys that were read again, and no others than `only`."""
    after, truth = life.rows(name), life.truth(name, position(life, name))
    for key in sorted(before.keys() | after.keys() | truth.keys()):
        if key in surely:
            assert after.get(key) == truth.get(key), f"{name} {key}\n{life.story()}"
        elif only is not None and key not in only:
            assert after.get(key) == before.get(key), f"{name} {key}\n{life.story()}"
        else:
            assert after.get(key) in (before.get(key), truth.get(key)), f"{name} {key}\n{life.story()}"


def says_of(life: Writers, name: str) -> dict[str, Any]:
    assert life.plain is not None
    said = dict(life.plain.tables[life.target(name)].says)
    assert str(said.pop("repair")), "the record of the decision"
    return said


def test_rows_that_a_person_names_are_those_of_the_position_and_no_other_row_is_touched(life: Writers) -> None:
    for name in NAMES:
        before, at = damage(life, name), position(life, name)
        there = sorted(before.keys() | life.truth(name, at).keys())
        keys = set(life.chance.sample(there, life.chance.randint(1, len(there))))
        keys |= {777_777} if life.chance.random() < 0.5 else set()
        done = steps.repair_table(
            life.pipeline, f"SHOP.{name}", reason=" they differ ", by="ann", keys=[{"ID": str(key)} for key in sorted(keys)],
            source=life.shop.params, spark=life.spark,
        )  # fmt: skip

        check_rows(life, name, before, keys, keys)
        assert (done.rows, done.applied_scn, done.equal, done.released) == (len(keys), at, True, False)
        assert position(life, name) == at
        assert says_of(life, name) == {
            "pipeline": life.pipeline.name, "table": f"SHOP.{name}", "cause": "keys that a person named", "by": "ann",
            "reason": "they differ", "scn": at,
        }  # fmt: skip


def test_rows_that_an_old_range_touches_are_those_of_the_position(life: Writers) -> None:
    start, end = life.some_range(NAMES)
    ats = {name: position(life, name) for name in NAMES}
    before = {name: damage(life, name) for name in NAMES}
    tables = [f"SHOP.{name}" for name in NAMES]
    again = partial(
        steps.backfill_live, life.pipeline, start, end, tables, reason="by hand", by="ann", source=life.shop.params,
        spark=life.spark,
    )  # fmt: skip
    planned, done = again(), again(execute=True)

    assert [(one.table, one.why_not) for one in done.tables] == [(table, "") for table in tables]
    for name, one, plan in zip(NAMES, done.tables, planned.tables, strict=True):
        check_rows(life, name, before[name], changed_in(life, name, start, end))
        assert (plan.changes, plan.unknown, plan.equal) == (one.changes, one.unknown, False)
        assert (one.equal, one.applied_scn, position(life, name)) == (True, ats[name], ats[name])
        if one.changes:
            says = says_of(life, name)
            assert (says["cause"].startswith("a backfill of SCN "), says["by"], says["scn"]) == (True, "ann", ats[name])


def test_rows_of_a_closed_gap_are_those_of_the_position(life: Writers) -> None:
    life.lose()
    since = life.gaps[-1][0]
    work(life)
    ats = {name: position(life, name) for name in NAMES}
    before = {name: damage(life, name) for name in NAMES}
    life.shop.oracle.faults.restore_logs()
    (gap,) = steps.read_status(life.pipeline).declared_gaps
    planned = steps.close_gap(life.pipeline, source=life.shop.params, spark=life.spark)
    done = steps.close_gap(
        life.pipeline, execute=True, reason="by hand", by="ann", source=life.shop.params, spark=life.spark
    )  # fmt: skip

    states = {one.table: one.state for one in steps.read_status(life.pipeline).tables}
    assert {one.table for one in done.tables} == {one.table for one in planned.tables} == set(gap.tables)
    for one in done.tables:
        name = TableId.parse(one.table).name
        if one.why_not:
            assert life.rows(name) == before[name]
            continue
        assert states[one.table] == "live"
        check_rows(life, name, before[name], changed_in(life, name, since, gap.to_scn))
        (closed,) = closed_tables(life, one.table)
        at = position(life, name)
        assert at >= ats[name]
        assert set(closed.scns) <= {at}
        assert (closed.changes, closed.inserted, closed.updated, closed.deleted, closed.reason, closed.by) == (
            one.changes, one.inserted, one.updated, one.deleted, "by hand", "ann",
        )  # fmt: skip
    assert done.done == (not steps.read_status(life.pipeline).declared_gaps)


def closed_tables(life: Writers, table: str) -> list[ClosedTable]:
    with Run(life.pipeline) as context:
        gaps = context.landing.gaps.all()
        return [one for gap in gaps for one in context.landing.closings.of(gap.name) if one.table == table]
