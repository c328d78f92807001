"""A commit range is prepared by the module of its delivery, and by no other."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redolake.apply import delivery as deliveries
from redolake.apply.commit_ranges import CommitRange
from redolake.apply.delivery import appended, assembled, keyed, nullable_key, plain, reread_rows, reread_values, whole_table
from redolake.apply.delivery.prepared import NetChanges
from redolake.errors import RedoNotUnderstood
from redolake.records.batches.spec import WholeFile
from redolake.values.delivery import (
    PLAIN,
    Appended,
    Assembled,
    Delivery,
    NullableKey,
    RereadRows,
    RereadValues,
    WholeTable,
)
from tests.unit.records.samples import VERSION

WHOLE = WholeFile(150, "whole.parquet", (120,))
BY_KEY = {"plain": plain, "nullable": nullable_key, "values": reread_values, "assembled": assembled}


def committed(delivery: Delivery, whole: WholeFile | None = None) -> CommitRange:
    return CommitRange(0, 100, 200, VERSION, (), whole, delivery)


@pytest.mark.parametrize("delivery", [PLAIN, RereadValues((3,)), Assembled((3,))], ids=str)
def test_a_file_of_the_whole_table_completes_changes_by_key(delivery: Delivery) -> None:
    assert committed(delivery, WHOLE).delivery == WholeTable(cast("Any", delivery))
    assert committed(delivery).delivery == delivery


def test_rows_without_a_key_are_in_no_file_of_the_whole_table() -> None:
    assert committed(NullableKey(), WHOLE).delivery == WholeTable(PLAIN)


@pytest.mark.parametrize("delivery", [RereadRows(), Appended()], ids=str)
def test_a_delivery_without_a_net_change_by_key_stays_what_it_is(delivery: Delivery) -> None:
    assert committed(delivery, WHOLE).delivery == delivery


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the parts that are asked, in order."""
    names: list[str] = []

    def part(name: str, result: object) -> Any:
        def prepare(*_: object) -> Iterator[object]:
            names.append(name)
            yield from ()
            return result

        return prepare

    for name, module in BY_KEY.items():
        monkeypatch.setattr(module, "net_changes", part(name, NetChanges(cast("Any", name), 1)))
    for name, module in {"rows": reread_rows, "appended": appended}.items():
        monkeypatch.setattr(module, "prepare", part(name, name))
    monkeypatch.setattr(keyed, "check_net_changes", part("checked", ("net", "frame", None)))
    monkeypatch.setattr(keyed, "to_merge", lambda *_, **__: "merge")
    monkeypatch.setattr(whole_table, "with_whole_table", lambda *_: names.append("whole") or "frame")
    return names


@pytest.mark.parametrize(
    ("commit_range", "expected"),
    [
        (committed(PLAIN), ["plain", "checked"]),
        (committed(NullableKey()), ["nullable", "checked"]),
        (committed(RereadValues((3,))), ["values", "checked"]),
        (committed(Assembled((3,))), ["assembled", "checked"]),
        (committed(RereadRows()), ["rows"]),
        (committed(Appended()), ["appended"]),
        (committed(Assembled((3,)), WHOLE), ["assembled", "checked", "whole"]),
        (committed(NullableKey(), WHOLE), ["plain", "checked", "whole"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "range",
)
def test_each_delivery_has_its_module(taken: list[str], commit_range: CommitRange, expected: list[str]) -> None:
    kept = SimpleNamespace(keep=lambda _, frame: frame)
    table = SimpleNamespace(bytes=None)
    task = SimpleNamespace(table="S.T")
    part: Any = SimpleNamespace(commit_range=commit_range, table=table, version=VERSION, task=task, counts_nulls=False)

    with pytest.raises(StopIteration):
        next(deliveries.by_delivery(cast("Any", SimpleNamespace(kept=kept)), part))

    assert taken == expected


def test_a_range_with_a_problem_is_not_decoded() -> None:
    problem = RedoNotUnderstood("two rows", cure="none")
    part: Any = SimpleNamespace(committed=SimpleNamespace(problem=problem))

    with pytest.raises(RedoNotUnderstood, match="two rows"):
        next(deliveries.prepare_range(cast("Any", None), part))
