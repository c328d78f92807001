"""Plans yield probes and get their answers: alone one by one, together with one job for all probes that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from redolake.apply.spark import probes
from redolake.apply.spark.probes import Plan, Probe, take_alone, take_together
from redolake.errors import RedoNotUnderstood


@dataclass
class Frame:
    """Rows that count how often they are asked."""

    answers: dict[str, int]
    asked: list[str] = field(default_factory=list)

    def selectExpr(self, *aggregates: str) -> Frame:
        self.asked += aggregates
        return self

    def collect(self) -> list[dict[str, int]]:
        return [self.answers]


def probe(rows: Frame, *aggregates: str) -> Probe:
    return Probe(cast("Any", rows), aggregates)


def sums(rows: Frame) -> Plan[int]:
    first = yield probe(rows, "a")
    second = yield probe(rows, "b")
    return int(first["a"] + second["b"])


def refused(rows: Frame) -> Plan[int]:
    yield probe(rows, "a")
    raise RedoNotUnderstood("a change has no row", cure="load the table again")


def broken(rows: Frame) -> Plan[int]:
    yield probe(rows, "a")
    raise RuntimeError("no table's own")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[dict[int, Probe]]:
    """Return the probes of each job that `answer_together` would start; each is answered by its own rows."""
    taken: list[dict[int, Probe]] = []

    def answered(open_: dict[int, Probe]) -> dict[int, Any]:
        taken.append(dict(open_))
        return {number: one.answer() for number, one in open_.items()}

    monkeypatch.setattr(probes, "answer_together", answered)
    return taken


def test_a_plan_alone_gets_an_answer_to_each_look() -> None:
    rows = Frame({"a": 3, "b": 4})

    assert take_alone(sums(rows)) == 7
    assert rows.asked == ["a", "b"]


def test_plans_together_take_one_job_for_each_of_their_steps(jobs: list[dict[int, Probe]]) -> None:
    outcomes = take_together([sums(Frame({"a": n, "b": 10})) for n in range(3)], 2)

    assert [one.result() for one in outcomes] == [10, 11, 12]
    assert [sorted(job) for job in jobs if job] == [[0, 1, 2], [0, 1, 2]]


def test_an_error_of_one_table_is_the_outcome_of_that_table_alone(jobs: list[dict[int, Probe]]) -> None:
    first, second = take_together([refused(Frame({"a": 1})), sums(Frame({"a": 1, "b": 1}))], 2)

    assert second.result() == 2
    with pytest.raises(RedoNotUnderstood, match="a change has no row"):
        first.result()


def test_any_other_error_is_raised_whichever_table_it_is_of(jobs: list[dict[int, Probe]]) -> None:
    with pytest.raises(RuntimeError, match="no table's own"):
        take_together([sums(Frame({"a": 1, "b": 1})), broken(Frame({"a": 1}))], 2)
