"""Which changes go to quarantine, and what is true of the lake then: lives of a small table, with batches cut anywhere."""

import random
from dataclasses import dataclass, field

import pytest

from redolake.values.quarantine import (
    Decision,
    Event,
    QuarantineRule,
    Touch,
    Wrong,
    decide,
    fold,
    over_limit,
    wrong_as_of,
    wrong_keys,
)

COLUMNS = ("a", "b")


@dataclass(frozen=True)
class Change:
    """`sets` are the columns that the redo has, all of them where every column is logged."""

    before: str | None
    after: str | None
    sets: dict = field(default_factory=dict)
    is_bad: bool = False

    @property
    def touch(self):
        lacks = self.before is not None and self.after is not None and len(self.sets) < len(COLUMNS)
        return Touch(self.before, self.after, lacks=lacks, is_bad=self.is_bad)


def life(chance, length, logs_all, bad_share):
    """Return the changes of a generated life, and the table after each of them."""
    table, changes, tables = {}, [], [{}]
    for number in range(length):
        free = [key for key in "12345" if key not in table]
        kinds = [*(["insert"] if free else []), *(["update", "move", "delete"] if table else [])]
        kind, bad = chance.choice(kinds), chance.random() < bad_share
        if kind == "insert":
            key, row = chance.choice(free), dict.fromkeys(COLUMNS, number)
            change, table = Change(None, key, row, bad), {**table, key: row}
        elif kind == "delete":
            key = chance.choice(sorted(table))
            change, table = Change(key, None, {}, bad), {k: v for k, v in table.items() if k != key}
        else:
            key = chance.choice(sorted(table))
            to = chance.choice(free) if kind == "move" and free else key
            row = {**table[key], chance.choice(COLUMNS): number}
            shown = row if logs_all else {name: value for name, value in row.items() if value == number}
            change, table = Change(key, to, shown, bad), {**{k: v for k, v in table.items() if k != key}, to: row}
        changes.append(change)
        tables.append(table)
    return changes, tables


def merge(lake, changes):
    """Apply changes as MERGE does; fail where a row's missing values would have to be invented."""
    lake = dict(lake)
    for change in changes:
        row = lake.pop(change.before, None) if change.before is not None else None
        if change.after is not None:
            if len(change.sets) < len(COLUMNS):
                assert row is not None, "a row was invented"
            lake[change.after] = {**(row or {}), **change.sets}
    return lake


@pytest.mark.parametrize("logs_all", [True, False], ids=["all columns logged", "the key logged"])
def test_the_lake_is_as_the_source_except_for_exactly_the_listed_keys(logs_all):
    healed = 0
    for seed in range(400):
        chance = random.Random(seed)
        changes, tables = life(chance, chance.randint(1, 40), logs_all, chance.choice([0.05, 0.2, 0.5]))
        lake, events, at = {}, [], 0
        while at < len(changes):
            end = min(len(changes), at + chance.randint(1, 8))
            wrong, batch = fold(events, at), changes[at:end]
            decision = decide(wrong, [change.touch for change in batch])
            lake = merge(lake, [change for change in batch if not decision.out & set(change.touch.keys)])
            events += [Event("quarantined", (key,), end) for key in decision.out]
            events += [Event("healed", (key,), end) for key in decision.healed]
            healed += len(decision.healed)
            at = end
            listed = fold(events, at)
            source = tables[at]
            assert {k: v for k, v in lake.items() if k not in listed} == {k: v for k, v in source.items() if k not in listed}
    assert healed > 50


def test_nothing_is_taken_out_where_nothing_is_wrong():
    changes, _ = life(random.Random(1), 30, False, 0)
    assert decide((), [change.touch for change in changes]) == Decision()


def test_an_update_onto_a_listed_key_never_invents_a_row():
    assert decide({"1"}, [Touch("1", "1", lacks=True)]) == Decision(frozenset({"1"}))
    assert decide({"1"}, [Touch("1", "2", lacks=True)]) == Decision(frozenset({"1", "2"}))


@pytest.mark.parametrize("touch", [Touch(None, "1"), Touch("1", None), Touch("1", "1"), Touch("1", "2")])
def test_a_change_that_says_all_of_the_row_heals_its_key(touch):
    assert decide({"1"}, [touch]) == Decision(healed=frozenset({"1"}))


def test_a_row_whose_key_is_healed_first_may_be_updated_afterwards():
    assert decide({"1"}, [Touch("1", None), Touch(None, "1"), Touch("1", "1", lacks=True)]).healed == {"1"}


def test_both_rows_of_a_swap_are_listed_where_one_of_its_changes_is_bad():
    assert decide((), [Touch("1", "2", is_bad=True), Touch("2", "1")]).out == {"1", "2"}


def test_an_event_counts_once_the_table_has_its_position():
    events = [Event("quarantined", ("1",), 10), Event("healed", ("1",), 20)]
    assert [fold(events, at) for at in (9, 10, 19, 20)] == [{}, {"1": "open"}, {"1": "open"}, {}]


def test_a_key_is_wrong_since_the_first_change_after_it_was_right():
    events = [Event("quarantined", ("1",), at) for at in (10, 20, 40, 50)] + [Event("healed", ("1",), 30)]
    assert [wrong_keys(events, at).get("1") for at in (20, 30, 50)] == [Wrong("open", 10), None, Wrong("open", 40)]
    assert wrong_keys([*events, Event("dropped", ("1",), 50, "b")], 50) == {"1": Wrong("dropped", 40)}


def test_a_dropped_key_stays_listed_until_it_is_right_again():
    events = [Event("quarantined", ("1",), 10), Event("dropped", ("1",), 10, "b"), Event("dropped", ("2",), 10, "b")]
    assert fold(events, 10) == {"1": "dropped"}
    assert fold([*events, Event("quarantined", ("1",), 11)], 11) == {"1": "open"}
    assert fold([*events, Event("retried", ("1",), 10, "c")], 10) == {}


def test_a_change_put_aside_counts_from_its_own_commit_on_where_one_version_is_the_table_before_and_after_it():
    events = [Event("quarantined", ("1",), 199, commit_scn=150), Event("healed", ("1",), 299)]
    assert [wrong_as_of(events, scn, 5).keys() for scn in (149, 150, 298, 299)] == [set(), {"1"}, {"1"}, set()]


def test_rows_read_again_are_right_in_the_version_that_has_them_and_wrong_in_older_ones_of_the_same_position():
    events = [Event("quarantined", ("1",), 199, commit_scn=150), Event("retried", ("1",), 199, "b", delta_version=6)]
    assert [wrong_as_of(events, 199, version).keys() for version in (5, 6)] == [{"1"}, set()]
    unknown = [events[0], Event("retried", ("1",), 199, "b")]  # as an older Redolake wrote it
    assert [wrong_as_of(unknown, scn, 6).keys() for scn in (199, 200)] == [{"1"}, set()]


def test_a_row_that_an_undone_swap_brings_back_is_wrong_again_also_at_the_position_of_its_retry():
    events = [Event("quarantined", ("1",), 10), Event("retried", ("1",), 10, "b"), Event("listed", ("1",), 10, "c")]
    assert fold(events, 10) == {"1": "open"}
    assert fold([*events, Event("retried", ("1",), 10, "d")], 10) == {}


def test_a_limit_counts_open_keys_or_the_share_of_a_batch_and_allows_one():
    rule = QuarantineRule("p", rows=2, percent=10)
    assert over_limit(rule, 2, 1, 1) is None
    assert "at_most.rows" in over_limit(rule, 3, 1, 100)
    assert over_limit(rule, 2, 2, 20) is None
    assert "at_most.percent" in over_limit(rule, 2, 2, 19)
