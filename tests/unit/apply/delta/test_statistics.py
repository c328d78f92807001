"""Which columns Delta keeps minima of, for readers that do not all mean the same by them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as T

from redolake.apply.delta.features import MOST_MEASURED, statistics, statistics_clause
from redolake.apply.key_range import WHOLE_NUMBER
from redolake.apply.spark.types import parse_type
from redolake.values.target_options import TargetOptions

TYPES = {
    "ID": "decimal(38,0)", "N": "int", "AMOUNT": "decimal(15,6)", "PRICE": "decimal(15,7)", "LONG": "decimal(16,2)",
    "D": "double", "F": "float", "FLAG": "boolean", "R": "binary", "a`b": "string", "AT": "timestamp", "DAY": "timestamp_ntz",
}  # fmt: skip


def schema(types: dict[str, str]) -> T.StructType:
    return T.StructType([T.StructField(name, parse_type(type_)) for name, type_ in types.items()])


@pytest.mark.parametrize(
    ("options", "partitions", "wanted"),
    [
        ({}, (), "`N`,`AMOUNT`,`a``b`,`AT`,`DAY`"),
        ({"cluster_by": ("ID",)}, (), "`ID`,`N`,`AMOUNT`,`a``b`,`AT`,`DAY`"),
        ({"partition_by": ("N",)}, ("N",), "`AMOUNT`,`a``b`,`AT`,`DAY`"),
    ],
)
def test_readers_any_measures_what_all_read_alike(options: Any, partitions: tuple[str, ...], wanted: str) -> None:
    found = statistics(schema(TYPES), TargetOptions("any", **options), partitions)
    assert found == {"delta.dataSkippingStatsColumns": wanted}


@pytest.mark.parametrize(
    "options",
    [
        TargetOptions("spark"),
        *(
            TargetOptions("any", properties=((f"delta.dataSkipping{name}", "1"),))
            for name in ("StatsColumns", "NumIndexedCols")
        ),
    ],
)
def test_statistics_stay_as_the_settings_say(options: TargetOptions) -> None:
    assert statistics(schema(TYPES), options, ()) == {}


@pytest.mark.parametrize(
    ("listed", "after", "wanted"),
    [
        ("`A`,`B`", {"A": "int", "B": "string"}, None),
        ("`A`", {"A": "int", "B": "string"}, None),  # measures less: the next batch adds it
        ("`A`,`B`", {"A": "int", "C": "string"}, "`A`"),  # Delta would refuse the name B
        ("`A`,`B`", {"A": "decimal(38,10)", "B": "string"}, "`B`"),
        ("`A`,`B`", {"A": "string", "B": "int"}, None),
        ("`A`,`B`", {"A": "boolean", "B": "double"}, "0"),
        (None, {"A": "int", "B": "string"}, "`A`,`B`"),
    ],
)
def test_a_table_measures_what_it_has_before_and_after_its_rows_are_replaced(
    listed: str | None, after: dict[str, str], wanted: str | None
) -> None:
    properties = {} if listed is None else {"delta.dataSkippingStatsColumns": listed}
    present = json.loads(schema({"A": "int", "B": "string"}).json())
    log: Any = SimpleNamespace(properties=lambda: properties, schema=lambda: present, partition_columns=list)

    clause = statistics_clause(log, schema(after), TargetOptions("any"))

    assert (clause is None) == (wanted is None)
    assert wanted is None or (clause is not None and clause.endswith(f"= '{wanted}')"))
    assert statistics_clause(log, schema(after), TargetOptions("spark")) is None


def test_a_table_of_many_columns_measures_as_many_as_delta_does() -> None:
    found = statistics(schema({f"C{n}": "int" for n in range(40)}), TargetOptions("any"), ())
    assert found["delta.dataSkippingStatsColumns"].count("`C") == MOST_MEASURED


def test_a_table_without_such_columns_measures_none() -> None:
    assert statistics(schema({"F": "boolean"}), TargetOptions("any"), ()) == {"delta.dataSkippingNumIndexedCols": "0"}


@pytest.mark.parametrize("type_", ["decimal(19,0)", "decimal(18,4)", "decimal(2,1)", "double", "string", "timestamp_ntz"])
def test_a_key_of_a_type_with_other_statistics_has_no_range(type_: str) -> None:
    """delta-rs, which others compact tables with, writes the statistics of a decimal with a scale as a double."""
    assert WHOLE_NUMBER.fullmatch(type_) is None
