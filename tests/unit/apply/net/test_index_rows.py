"""Which changes belong to one row of an index-organized table, by a model that knows it: any order inside a statement."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from redolake.apply.net.index_rows import STEP, name_rows

INSERT, DELETE, UPDATE = 1, 2, 3
SCHEMA = pa.schema([
    ("window_start", pa.int64()), ("slice", pa.int32()), ("ordinal", pa.int64()), ("code", pa.int32()),
    ("before", pa.string()), ("after", pa.string()),
])  # fmt: skip


def named(target: list[str], changes: list[tuple[int, str | None, str | None]]) -> list[dict[str, Any]]:
    """Return what `name_rows` yields for changes on a target with these keys."""
    steps = [dict(zip(STEP, (None, None, None, None, None, key), strict=True)) for key in target]
    steps += [dict(zip(STEP, (0, 0, n, *change), strict=True)) for n, change in enumerate(changes)]
    half = len(steps) // 2
    batches = (pa.RecordBatch.from_pylist(part, SCHEMA) for part in (steps[:half], steps[half:]))
    return [row for batch in name_rows(batches) for row in batch.to_pylist()]


class Table:
    """The model: keys with the identity of their rows. Each statement changes each row at most once, and no key is taken twice
    at its end."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.rows = {key: f"old {key}" for key in range(6) if chance.random() < 0.6}
        self.born = 0

    def statement(self) -> Iterator[tuple[int, str | None, str | None, str]]:
        """Yield the changes of one statement, in any order: code, key before, key after and the row's identity."""
        kind = self.chance.choice(["insert", "delete", "in place", "shift", "swap", "move", "move", "cycle"])
        there, free = list(self.rows), [key for key in range(9) if key not in self.rows]
        if kind == "insert" and free:
            key, self.born = self.chance.choice(free), self.born + 1
            self.rows[key] = f"new {self.born}"
            yield INSERT, None, str(key), self.rows[key]
        elif kind == "delete" and there:
            key = self.chance.choice(there)
            yield DELETE, str(key), None, self.rows.pop(key)
        elif kind == "in place" and there:
            key = self.chance.choice(there)
            yield UPDATE, str(key), str(key), self.rows[key]
        elif there:
            yield from self._moved(self._new_keys(kind, there, free))

    def _new_keys(self, kind: str, there: list[int], free: list[int]) -> dict[int, int]:
        if kind == "shift":
            return {key: key + 1 for key in there}
        if kind == "move" and free:
            return {self.chance.choice(there): self.chance.choice(free)}
        chosen = self.chance.sample(there, min(len(there), 2 if kind == "swap" else 4))
        return dict(zip(chosen, [*chosen[1:], chosen[0]], strict=True))

    def _moved(self, keys: dict[int, int]) -> Iterator[tuple[int, str, str, str]]:
        moved = {new: self.rows.pop(old) for old, new in keys.items()}
        changes = [(UPDATE, str(old), str(new), moved[new]) for old, new in keys.items()]
        self.rows |= moved
        self.chance.shuffle(changes)
        yield from changes


@pytest.mark.parametrize("seed", range(400))
def test_changes_of_one_row_have_one_name_through_all_its_keys(seed: int) -> None:
    table = Table(random.Random(seed))
    target = [str(key) for key in table.rows]
    changes = [change for _ in range(12) for change in table.statement()]

    found = named(target, [change[:3] for change in changes])

    assert [row["why"] for row in found] == [None] * len(changes)
    pairs = {(identity, row["row"]) for (*_, identity), row in zip(changes, found, strict=True)}
    assert len(pairs) == len({identity for identity, _ in pairs}) == len({name for _, name in pairs})


def test_a_chain_of_statements_and_a_shift_in_one_have_the_same_redo_and_the_target_tells_them_apart() -> None:
    changes = [(UPDATE, "1", "2"), (UPDATE, "2", "3")]

    assert [row["row"] for row in named(["1"], changes)] == ["1", "1"]
    assert [row["row"] for row in named(["1", "2"], changes)] == ["1", "2"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([(UPDATE, "1", "2"), (UPDATE, "1", "3")], "which no row has by then"),
        ([(UPDATE, "1", "2"), (DELETE, "2", None)], "of one of two rows with key 2"),
        ([(UPDATE, "1", "2"), (UPDATE, "2", "2")], "of one of two rows with key 2"),
    ],
    ids=["a row that has left", "two rows of which one is deleted", "two rows of which one changes"],
)
def test_a_change_that_contradicts_those_before_it_is_said(changes: list[Any], why: str) -> None:
    *_, last = named(["1", "2"], changes)

    assert why in str(last["why"])


def test_a_batch_of_names_has_the_places_of_the_changes_and_their_types() -> None:
    expected = pa.schema([*list(SCHEMA)[:3], ("row", pa.string()), ("why", pa.string())])
    step = dict(zip(STEP, (5, 1, 7, DELETE, "a", None), strict=True))

    (batch,) = name_rows(iter([pa.RecordBatch.from_pylist([], SCHEMA), pa.RecordBatch.from_pylist([step], SCHEMA)]))

    assert batch == pa.RecordBatch.from_pylist(
        [{"window_start": 5, "slice": 1, "ordinal": 7, "row": "a", "why": None}], expected
    )


def test_more_changes_than_one_process_shall_remember_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.apply.net.index_rows.MOST_STEPS", 2)

    found = named([], [(UPDATE, "1", "2"), (UPDATE, "3", "4"), (UPDATE, "5", "6")])

    assert [row["why"] is None for row in found] == [True, True, False]
