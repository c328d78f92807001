"""What a MODIFY of a column means for values that are computed from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.config.expressions import with_ids
from redolake.schema.derive import derive
from redolake.values.mapping import FIRST_ADDED, Computed, RowFilter, TableMapping, Transform
from redolake.values.table import Column, OracleType, TableVersion
from tests.unit.schema.ddl_golden import ORDERS, row

QTY = Column(90, "QTY", OracleType("NUMBER", 22, 5, 0), 90)
TABLE = replace(ORDERS, columns=(*ORDERS.columns, QTY))
TO_SCALE = "alter table orders modify qty number(7,1)"
TO_INT, TO_LONG = "alter table orders modify qty number(9)", "alter table orders modify qty number(12)"


def computed(text: str, type_: str, name: str = "made") -> TableVersion:
    one = Computed(FIRST_ADDED, name, type_, "expression", (QTY.id,), with_ids(text, {"QTY": QTY.id}), text)
    return replace(TABLE, mapping=TableMapping(computed=(one,)))


def filtered(text: str) -> TableVersion:
    where = RowFilter(with_ids(text, {"QTY": QTY.id}), (QTY.id,), text)
    return replace(TABLE, mapping=TableMapping(where=where))


def why_held(version: TableVersion, statement: str) -> str:
    derived = derive([version], [row(statement, 200)])
    return "" if derived.hold is None else derived.hold.error.what


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("concat(qty, ' pieces')", "string"),
        ("qty", "string"),
        ("cast(qty as string) = '5'", "boolean"),
        ("qty = '5'", "boolean"),
        ("1 / qty", "decimal(20,10)"),
        ("qty * 1.5", "decimal(20,2)"),
        ("hash(qty)", "int"),
        ("qty + length(qty)", "int"),
        ("CASE WHEN qty > 1 THEN qty ELSE 0 END", "string"),
        ("CASE WHEN length(qty) > 1 THEN 1 ELSE 0 END", "int"),
        ("CASE qty WHEN '5' THEN 1 END", "int"),
        ("CASE 5 WHEN qty THEN qty ELSE 0 END", "string"),
    ],
)
def test_an_expression_that_sees_more_than_the_value_holds_the_table_after_modify(text: str, type_: str) -> None:
    held = why_held(computed(text, type_), TO_SCALE)

    assert f"made (`{text}`) may have other values" in held
    assert "QTY" in held


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("qty > 100", "boolean"),
        ("qty IS NULL", "boolean"),
        ("NOT (qty BETWEEN 1 AND 5) OR qty IN (7, 9)", "boolean"),
        ("CASE qty WHEN 1 THEN 'one' ELSE 'more' END", "string"),
        ("CASE WHEN qty > 1 THEN concat('a', 'b') END", "string"),
        ("CASE WHEN qty > 1 THEN qty ELSE 0 END", "decimal(9,2)"),
        ("coalesce(qty, 0) + 1 - (-qty)", "decimal(20,2)"),
    ],
)
def test_an_expression_of_the_value_alone_goes_on_after_modify(text: str, type_: str) -> None:
    assert why_held(computed(text, type_), TO_SCALE) == ""


def test_filters_and_users_code_are_asked_alike_and_the_place_of_the_column_itself_too() -> None:
    code = replace(TABLE, mapping=TableMapping(transform=Transform("shop:rows", "0", ((QTY.id, "QTY"),))))
    in_place = computed("concat(qty, '')", "string")
    (own,) = in_place.mapping.computed if in_place.mapping else ()
    in_place = replace(in_place, mapping=TableMapping(computed=(replace(own, id=QTY.id, name="QTY"),)))

    assert "where: length(qty) = 1 may" in why_held(filtered("length(qty) = 1"), TO_SCALE)
    assert why_held(filtered("qty NOT IN (0, 7)"), TO_SCALE) == ""
    assert "shop:rows may" in why_held(code, TO_SCALE)
    assert "concat(qty, '')" in why_held(in_place, TO_SCALE)


def test_a_type_that_is_the_same_in_the_lake_asks_nothing() -> None:
    text = computed("concat(qty, ' pieces')", "string")

    assert why_held(text, TO_INT) == ""
    assert "may have other values" in why_held(text, TO_LONG)
    assert why_held(text, "alter table orders modify qty default 5") == ""
