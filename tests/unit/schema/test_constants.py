"""Defaults of added columns."""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from redolake.schema.ddl import effect_of
from tests.unit.schema.ddl_golden import ORDERS, row

MARKS = "".join(map(chr, range(0x10FE80, 0x10FF00)))  # stand for bytes that are no characters, and hold the table


@given(st.text(st.characters(exclude_characters="\0" + MARKS, exclude_categories=["Cs"]), min_size=1))
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
