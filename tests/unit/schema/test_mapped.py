"""DDL of a table whose columns are mapped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.config.on_ddl import DdlPolicies
from redolake.schema.derive import derive
from redolake.values.mapping import FIRST_ADDED, Computed, RowFilter, TableMapping, Transform
from redolake.values.table import TableVersion
from tests.unit.schema.ddl_golden import ORDERS, row

AMOUNT = ORDERS.column(3)
TWICE = Computed(FIRST_ADDED, "twice", "bigint", "expression", (1, AMOUNT.id), "..", "id * amount")


def mapped(**parts: object) -> TableVersion:
    return replace(ORDERS, mapping=TableMapping(**parts))  # type: ignore[arg-type]


def why_held(version: TableVersion, statement: str, **policies: str) -> str:
    derived = derive([version], [row(statement, 200)], policies=DdlPolicies(**policies))  # type: ignore[arg-type]
    return "" if derived.hold is None else derived.hold.error.what


def test_an_added_column_gets_its_name_and_keeps_it() -> None:
    version = mapped(later=(("CITY", "town"),))
    derived = derive(
        [version],
        [
            row("alter table orders add (city varchar2(9), zip varchar2(9))", 200),
            row("alter table orders rename column city to c", 300),
        ],
    )
    after = derived.versions[-1]
    city, zip_ = after.named("C"), after.named("ZIP")

    assert city is not None
    assert zip_ is not None
    assert after.mapping is not None
    assert (after.mapping.name(city.id), after.mapping.name(zip_.id)) == ("town", None)


@pytest.mark.parametrize(
    ("parts", "statement", "why"),
    [
        ({"computed": (TWICE,)}, "alter table orders drop column amount", "twice (`id * amount`) needs the column AMOUNT"),
        (
            {"where": RowFilter("..", (AMOUNT.id,), "amount > 1")},
            "alter table orders drop column amount",
            "where: amount > 1 needs",
        ),
        (
            {"transform": Transform("m:f", "0", ((AMOUNT.id, "AMOUNT"),))},
            "alter table orders drop column amount",
            "m:f needs the column AMOUNT",
        ),
        ({"shaped": ("*_SSN",)}, "alter table orders add my_ssn number", "has a mask or an expression for MY_SSN"),
    ],
)
def test_a_ddl_after_which_a_value_cannot_be_computed_holds_the_table(
    parts: dict[str, object], statement: str, why: str
) -> None:
    assert why in why_held(mapped(**parts), statement)
    assert why_held(ORDERS, statement) == ""


def test_a_masked_column_may_be_dropped() -> None:
    masked = Computed(AMOUNT.id, "AMOUNT", "string", "mask", (AMOUNT.id,), mask="redact")

    assert why_held(mapped(computed=(masked,)), "alter table orders drop column amount") == ""


def test_rows_that_go_without_redo_hold_a_table_with_a_filter() -> None:
    statement = "alter table orders drop partition p1"
    filtered = mapped(where=RowFilter("..", (1,), "id > 1"))

    assert "cannot be compared with a table that has a filter" in why_held(filtered, statement, drop_partition="follow")
    assert why_held(ORDERS, statement, drop_partition="follow") == ""
