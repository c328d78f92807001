"""Probe a table's changes where the plan depends on them. The probes of small tables are answered together, in one Spark job.

A job costs the same for ten rows as for ten thousand, and most of it is Spark's planning.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from redolake.apply.spark.shallow import unite
from redolake.errors import RedolakeError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Probe:
    """Aggregates of `rows`, as SQL. `rows` have the columns of these and no others; probes with the same aggregates have the
    same columns."""

    rows: DataFrame
    aggregates: tuple[str, ...]

    def answer(self) -> Row:
        return self.rows.selectExpr(*self.aggregates).collect()[0]


# A plan yields its probes and gets their answers; what it returns is its result.
Plan = Generator[Probe, Row, T]


def take_alone(plan: Plan[T]) -> T:
    try:
        probe = next(plan)
        while True:
            probe = plan.send(probe.answer())
    except StopIteration as end:
        result: T = end.value
        return result


def take_together(plans: Sequence[Plan[T]], side_by_side: int) -> list[Future[T]]:
    """Take the plans to their ends, with one job for all probes that have the same aggregates. `side_by_side` plans go on at a
    time. A RedolakeError of a plan is its own result; any other error is raised, whichever plan it comes from."""
    results: list[Future[T]] = [Future() for _ in plans]

    def step(number: int, answer: Row | None) -> Probe | None:
        plan = plans[number]
        try:
            return next(plan) if answer is None else plan.send(answer)
        except StopIteration as end:
            results[number].set_result(end.value)
        except RedolakeError as error:
            results[number].set_exception(error)
        return None

    answers: Mapping[int, Row | None] = dict.fromkeys(range(len(plans)))
    with ThreadPoolExecutor(side_by_side, "plan") as threads:
        while answers:
            probes = dict(zip(answers, threads.map(step, answers, answers.values()), strict=True))
            answers = answer_together({number: probe for number, probe in probes.items() if probe is not None})
    return results


def answer_together(probes: Mapping[int, Probe]) -> dict[int, Row]:
    """Return the answer to each probe, by its number."""
    found: dict[int, Row] = {}
    for aggregates in dict.fromkeys(probe.aggregates for probe in probes.values()):
        alike = {number: probe.rows for number, probe in probes.items() if probe.aggregates == aggregates}
        rows = unite([rows.withColumns({"probe": F.lit(number)}) for number, rows in alike.items()])
        found |= {row["probe"]: row for row in rows.groupBy("probe").agg(*map(F.expr, aggregates)).collect()}
    # A probe at no rows has no group.
    return {number: found[number] if number in found else probe.answer() for number, probe in probes.items()}
