"""Names of tables as people write them and as files keep them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.values.table import TableId

# What Oracle takes between double quotes: anything but these two.
names = st.text(st.characters(codec="utf-8", exclude_characters='"\0', exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(names, names)
def test_a_name_is_read_back_from_its_text(owner: str, name: str) -> None:
    table = TableId(owner, name)

    assert TableId.parse(str(table)) == table


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("shop.orders", TableId("SHOP", "ORDERS")),
        ('shop."Order Lines"', TableId("SHOP", "Order Lines")),
        ('"Shop"."a.b"', TableId("Shop", "a.b")),
        ("shop.straße", TableId("SHOP", "STRAßE")),
        ("SHOP.SALES$2024", TableId("SHOP", "SALES$2024")),
    ],
)
def test_a_name_is_upper_case_unless_it_is_quoted(text: str, table: TableId) -> None:
    assert TableId.parse(text) == table


@pytest.mark.parametrize("text", ["ORDERS", "A.B.C", 'SHOP."ORDERS', "SHOP.", ".ORDERS", ""])
def test_what_is_no_table_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"OWNER\.TABLE|unbalanced"):
        TableId.parse(text)
