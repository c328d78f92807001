"""Which columns of Oracle the columns of the lake are made of."""

from __future__ import annotations

from dataclasses import replace

from redolake.steps.shown.column_lineage import ColumnOrigin, origin_of
from redolake.values.mapping import FIRST_ADDED, Computed, RowFilter, TableMapping
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from redolake.values.target_options import TargetOptions

COLUMNS = tuple(Column(n, name, OracleType("NUMBER"), n) for n, name in enumerate(("ID", "SSN", "QTY"), 1))
VERSION = TableVersion(TableId("SHOP", "T"), Scn(1), 1, 1, COLUMNS, (1,), 4)
LOWER = TargetOptions(column_names="lower")


def test_without_a_mapping_each_column_is_that_of_oracle() -> None:
    assert origin_of(VERSION, LOWER).columns == tuple(ColumnOrigin(c.name.lower(), (c.name,)) for c in COLUMNS)


def test_computed_columns_name_what_they_are_made_of_and_a_filter_what_it_reads() -> None:
    computed = (
        Computed(2, "ssn", "string", "mask", (2,), mask="hash"),
        Computed(FIRST_ADDED, "twice", "bigint", "expression", (1, 3), "..", "`id` * qty"),
    )
    mapping = TableMapping(
        names=((3, "how_many"),), computed=computed, where=RowFilter("..", (3,), "qty > 1"), order=("twice",)
    )
    found = origin_of(replace(VERSION, mapping=mapping), LOWER)

    assert found.columns == (
        ColumnOrigin("twice", ("ID", "QTY"), "`id` * qty"),
        ColumnOrigin("id", ("ID",)),
        ColumnOrigin("ssn", ("SSN",), "mask: hash", masks=True),
        ColumnOrigin("how_many", ("QTY",)),
    )
    assert found.filter == ("QTY",)
