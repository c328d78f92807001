"""`history prune`: what a person approved is removed, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.apply.history_cut import HistoryCut
from redolake.errors import Terminal
from redolake.operations import prune_histories
from redolake.steps.ranges import history_prune
from redolake.values.table import TableId

TABLE = TableId("SHOP", "A $B")
CUT = HistoryCut(500, 1, 7, 20)


class Prune:
    """`history prune` of one table, whose cut is `cut`; `removed` are the limits with which rows were removed."""

    def __init__(self) -> None:
        self.cut: HistoryCut | None = CUT
        self.removed: list[Any] = []
        self.has_begun = True

    def shorten(self, _spark: Any, _path: str, _target: str, limit: Any, *_: Any, **__: Any) -> HistoryCut | None:
        self.removed.append(limit)
        return self.cut

    def act(self, *, execute: bool = False, shown: Any = None) -> Any:
        run = mock.Mock(execute=execute, shown=shown, by="ann", reason=" old ")
        run.pipeline.keep.history = timedelta(days=365)
        run.name = "shop"
        return prune_histories.act(run)


@pytest.fixture
def prune() -> Iterator[Prune]:
    made = Prune()
    places: dict[str, Any] = {
        "redolake.steps.ranges.history_prune.named_tables": lambda *_: [TABLE],
        "redolake.steps.ranges.history_prune.read_log": lambda *_: object() if made.has_begun else None,
        "redolake.steps.ranges.history_prune.apply_lease_renewed": lambda _: nullcontext(SimpleNamespace(check=None)),
        "redolake.job.history_prune.older_history": lambda *_: made.cut,
        "redolake.job.history_prune.shorten_history": made.shorten,
        "redolake.apply.epochs.damage_in": lambda *_: None,
    }
    unwrapped = history_prune.prune_histories.__wrapped__  # type: ignore[attr-defined]
    with ExitStack() as patched:
        for place, stand_in in places.items():
            patched.enter_context(mock.patch(place, stand_in))
        patched.enter_context(mock.patch.object(steps, "prune_histories", unwrapped))
        yield made


def approved(prune: Prune) -> Any:
    """Return what was shown, as Airflow keeps it until it is approved."""
    return json.loads(json.dumps(prune.act().shown))


def test_what_was_approved_is_removed_with_its_own_limit_days_later(prune: Prune) -> None:
    shown = approved(prune)
    assert shown == {str(TABLE): [mock.ANY, 500, 7]}

    with mock.patch.object(history_prune, "limit_of", return_value=datetime(2099, 1, 1)):
        done = prune.act(execute=True, shown=shown)

    assert [limit.isoformat() for limit in prune.removed] == [shown[str(TABLE)][0]]
    assert "it begins there now" in done.lines[0]


@pytest.mark.parametrize("cut", [None, HistoryCut(501, 1, 7, 20), HistoryCut(500, 1, 8, 20)])
def test_nothing_else_than_was_approved_is_removed(prune: Prune, cut: HistoryCut | None) -> None:
    shown = approved(prune)
    prune.cut = cut
    with pytest.raises(Terminal, match="7 before SCN 500 were shown"):
        prune.act(execute=True, shown=shown)
    assert prune.removed == []


def test_an_approved_history_that_is_gone_is_named(prune: Prune) -> None:
    shown = approved(prune)
    prune.has_begun = False
    with pytest.raises(Terminal, match="is not there any more"):
        prune.act(execute=True, shown=shown)


def test_approval_of_nothing_removes_nothing_and_says_so(prune: Prune) -> None:
    prune.cut = None
    shown = approved(prune)
    prune.cut = CUT
    done = prune.act(execute=True, shown=shown)
    assert (shown, prune.removed) == ({}, [])
    assert done.lines == ("Nothing was shown to be older, so nothing is removed.",)
