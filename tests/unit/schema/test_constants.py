"""Defaults as Spark SQL."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.schema.constant import spark_literal
from pipelines.schema.ddl import effect_of
from tests.unit.schema.ddl_golden import ORDERS, row


@pytest.mark.parametrize(
    ("default", "spark_type", "expected"),
    [
        (None, "STRING", "CAST(NULL AS STRING)"),
        ("-50", "DECIMAL(38,10)", "CAST('-50' AS DECIMAL(38,10))"),
        ("it's \\ a", "STRING", r"CAST('it\'s \\ a' AS STRING)"),
        ("2020-02-29 00:00:00", "TIMESTAMP_NTZ", "CAST('2020-02-29 00:00:00' AS TIMESTAMP_NTZ)"),
    ],
)
def test_a_default_becomes_a_cast_of_its_text(default, spark_type, expected):
    assert spark_literal(default, spark_type) == expected


@given(st.text())
def test_no_text_can_end_its_literal(text):
    literal = spark_literal(text, "STRING")

    body = re.fullmatch(r"CAST\('((?:[^'\\]|\\['\\])*)' AS STRING\)", literal)
    assert body is not None
    assert re.sub(r"\\(.)", r"\1", body[1], flags=re.DOTALL) == text


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_text_default_is_kept_unchanged(text):
    quoted = text.replace("'", "''")
    effect = effect_of(row(f"ALTER TABLE orders ADD (note VARCHAR2(4000) DEFAULT '{quoted}' NOT NULL)"), ORDERS)

    assert effect.steps[0].default == text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15, places=5))
def test_a_number_default_keeps_its_value(number):
    effect = effect_of(row(f"ALTER TABLE orders ADD note NUMBER DEFAULT {number:f}"), ORDERS)

    default = effect.steps[0].default
    assert default is not None
    assert Decimal(default) == number
    assert re.fullmatch(r"-?\d+(\.\d*[1-9])?", default)
