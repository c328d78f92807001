"""Values read from Oracle are converted to the target's types without rounding."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.apply.source_rows import one_spelling

pytestmark = pytest.mark.spark

SPELLINGS = {
    "0": "0",
    ".05": "0.05",
    "-.05": "-0.05",
    "100": "100",
    "-1200": "-1200",
    "1.50": "1.5",
    "12.0": "12",
    "0E-10": "0",
    "1.25E-07": "0.000000125",
    "-1.5E+40": "-1" + "5" + "0" * 39,
    "9.99E+02": "999",
    "123456789012345678901234567890.123": "123456789012345678901234567890.123",
}


def test_a_number_kept_as_text_has_one_spelling(spark: Any) -> None:
    rows = spark.createDataFrame([(text,) for text in SPELLINGS], "text string")

    found = {row["text"]: row["spelled"] for row in rows.withColumn("spelled", one_spelling(rows["text"])).collect()}

    assert found == SPELLINGS
