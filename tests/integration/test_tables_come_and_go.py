"""Tables are added, removed, listed again and changed in pipelines.yml while others are written: each alone is concerned,
`plan` says so before, and transactions that are open meanwhile are neither lost nor doubled. Without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.steps.run import RunOutcome
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.references.plain_lake import PlainLake

LOGGED = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
MANY = int(os.environ.get("REDOLAKE_MANY_TABLES", "8"))


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


class Life:
    """A pipeline whose list of tables is edited; `writes` changes a row of each table, and leaves a transaction open."""

    def __init__(self, shop: Shop, spark: str) -> None:
        self.shop, self.spark, self.rows = shop, spark, 0
        self.session = shop.oracle.connect("SHOP")
        self.cursor = self.session.cursor()
        self.tables: list[str] = []

    def create(self, *names: str) -> None:
        for name in names:
            self.shop.run_sql(f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))", LOGGED.format(name))
        self.tables += names

    def listing(self, *tables: Any, **more: Any) -> Pipeline:
        return self.shop.pipeline(tables=list(tables), **more)

    def commit_and_open_again(self) -> None:
        """Commit what was left open, change a row of each table, and leave more changes of each open."""
        self.session.commit()
        self.rows += 2
        self.shop.run_sql(*(f"INSERT INTO {name} VALUES ({self.rows}, 'committed')" for name in self.tables))
        for name in self.tables:
            self.cursor.execute(f"INSERT INTO {name} VALUES ({self.rows + 1}, 'open')")
            self.cursor.execute(f"UPDATE {name} SET place = 'changed' WHERE id = {self.rows + 1}")

    def run(self, pipeline: Pipeline) -> RunOutcome:
        self.commit_and_open_again()
        self.shop.switch_logs()
        return steps.run_pipeline(pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def settle(self, pipeline: Pipeline, *lacking: str) -> None:
        """Let all transactions end, and compare all tables but those that are held."""
        self.session.commit()
        self.shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)
        assert states(pipeline, "held") == list(lacking)
        assert set(differences(self.shop, pipeline)) <= set(lacking)


def states(pipeline: Pipeline, wanted: str) -> list[str]:
    return [t.table for t in steps.read_status(pipeline).tables if t.state == wanted and t.listed]


def effects(pipeline: Pipeline) -> dict[str, str]:
    return {edit.table: edit.effect for edit in steps.plan_edit(pipeline).edits}


@pytest.fixture
def life(shop: Shop, no_spark: str) -> Iterator[Life]:
    made = Life(shop, no_spark)
    made.create("a_one", "a_two")
    with made.session:
        yield made


ONE, TWO = "SHOP.A_ONE", "SHOP.A_TWO"


def begun(life: Life, tables: Sequence[Any] = (ONE, TWO)) -> Pipeline:
    pipeline = life.listing(*tables)
    life.commit_and_open_again()
    steps.take_snapshot(pipeline, source=life.shop.params, spark=life.spark)
    life.run(pipeline)
    return pipeline


def test_a_table_that_is_added_by_name_waits_for_transactions_that_are_open_and_loses_none(life: Life) -> None:
    before = begun(life)
    life.create("n_late")
    life.commit_and_open_again()
    edited = life.listing(ONE, TWO, "SHOP.N_LATE")
    assert effects(edited) == {"SHOP.N_LATE": "joins"}
    assert effects(before) == {}
    for _ in range(3):
        life.run(edited)
        assert set(states(edited, "live")) >= {ONE, TWO}
    life.settle(edited)
    assert "SHOP.N_LATE" in states(edited, "live")


def test_many_tables_that_a_pattern_adds_at_once_join_while_the_others_go_on(life: Life) -> None:
    begun(life)
    life.create(*(f"m_{number:03}" for number in range(MANY)))
    edited = life.listing(ONE, TWO, "SHOP.M_*", new_tables="capture")
    assert steps.plan_edit(edited).patterns == ("SHOP.M_*",)
    for _ in range(3):
        life.run(edited)
        assert set(states(edited, "live")) >= {ONE, TWO}
    life.settle(edited)
    assert len(states(edited, "live")) == MANY + 2


def test_a_table_that_is_removed_and_listed_again_is_held_alone_until_it_is_read_again(life: Life) -> None:
    both = begun(life)
    one = life.listing(ONE)
    assert effects(one) == {TWO: "leaves"}
    life.run(one)
    assert effects(both) == {TWO: "held"}
    life.run(both)
    assert (states(both, "live"), states(both, "held")) == ([ONE], [TWO])
    life.run(both)
    life.session.commit()
    steps.take_snapshot(both, [TWO], replace=True, source=life.shop.params, spark=life.spark)
    life.run(both)
    life.settle(both)


def test_an_edit_that_is_taken_back_before_a_window_has_landed_changes_nothing(life: Life) -> None:
    both = begun(life)
    life.create("n_late")
    edited = life.listing(ONE, "SHOP.N_LATE")
    assert effects(edited) == {TWO: "leaves", "SHOP.N_LATE": "joins"}
    assert effects(both) == {}
    life.run(both)
    life.settle(both)


def test_another_key_holds_its_table_alone_and_the_old_one_lets_it_go_on(life: Life) -> None:
    both = begun(life)
    edited = life.listing({"table": ONE, "key": "rowid"}, TWO)
    assert effects(edited) == {ONE: "held"}
    life.run(edited)
    assert (states(edited, "live"), states(edited, "held")) == ([TWO], [ONE])
    life.run(edited)
    steps.resume_tables(both, [ONE])
    life.run(both)
    life.settle(both)


def test_another_key_is_taken_up_by_a_new_snapshot(life: Life) -> None:
    begun(life)
    edited = life.listing({"table": ONE, "key": "rowid"}, TWO)
    life.run(edited)
    life.session.commit()
    steps.take_snapshot(edited, [ONE], replace=True, source=life.shop.params, spark=life.spark)
    life.run(edited)
    life.settle(edited)


def test_an_edit_is_no_longer_announced_once_the_table_was_read_again_with_it(life: Life) -> None:
    """Before any batch has had the table since, too, and where the new snapshot has set it back."""
    both = begun(life)
    life.run(both)
    edited = life.listing({"table": ONE, "deletes": "mark"}, TWO)
    before = effects(edited)
    life.session.commit()
    steps.take_snapshot(edited, [ONE], replace=True, source=life.shop.params, spark=life.spark)

    assert before == {ONE: "held"}
    assert effects(edited) == {}
    assert effects(both) == {ONE: "held"}


def test_other_columns_hold_their_table_alone(life: Life) -> None:
    both = begun(life)
    edited = life.listing({"table": ONE, "exclude_columns": ["PLACE"]}, TWO)
    assert effects(edited) == {ONE: "held"}
    life.run(edited)
    assert (states(edited, "live"), states(edited, "held")) == ([TWO], [ONE])
    steps.resume_tables(both, [ONE])
    life.run(both)
    life.settle(both)
