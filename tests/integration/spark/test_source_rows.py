"""Values read from Oracle are converted to the target's types without rounding."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.landed.source_rows import check_values, read_source
from redolake.apply.spark.spelling import one_spelling
from redolake.errors import ValueDoesNotFit
from redolake.job.translation import TRANSLATION
from redolake.values.mapping import Computed, TableMapping, source_value
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.integration.spark.specs import ID, version

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


def test_a_row_is_named_by_the_hexadecimal_digits_of_its_key_of_bytes_and_by_valid_text(spark: Any, tmp_path: Path) -> None:
    columns = (
        Column(1, "R", OracleType("RAW", length=16), 1, False),
        Column(2, "T", OracleType("VARCHAR2", length=9), 2, False),
        Column(3, "D", OracleType("DATE"), 3),
    )
    version = TableVersion(TableId("SHOP", "T"), Scn(0), 7, 7, columns, (1, 2), 4)
    names = pa.schema([("R", pa.binary()), ("T", pa.binary()), ("D", pa.string())])
    rows = [{"R": b"\xe9\xff", "T": b"caf\xe9", "D": "-0044-03-15 00:00:00"}]
    pq.write_table(pa.Table.from_pylist(rows, names), tmp_path / "rows.parquet")

    source = read_source(spark, [str(tmp_path / "rows.parquet")], version, {2: "binary"}, TRANSLATION)

    assert source.raw.select(source.row.alias("row")).toArrow()["row"].to_pylist() == ["R E9FF, T caf\ufffd"]
    with pytest.raises(ValueDoesNotFit, match="in the row with R E9FF, T caf\ufffd"):
        check_values(source, version)


@pytest.mark.parametrize("type_", ["BINARY_DOUBLE", "BINARY_FLOAT"])
def test_a_load_writes_one_zero(spark: Any, tmp_path: Path, type_: str) -> None:
    """Oracle has no -0, as an expression may have: also one of users' code, which shape() treats alike."""
    file, kind = tmp_path / "rows.parquet", pa.float64() if type_ == "BINARY_DOUBLE" else pa.float32()
    pq.write_table(pa.table({"ID": pa.array([Decimal(1)], pa.decimal128(10, 0)), "D": pa.array([-0.0], kind)}), file)
    column = Column(2, "D", OracleType(type_), 2)
    negated = Computed(2, "D", "double" if type_ == "BINARY_DOUBLE" else "float", needs=(2,), sql=f"-abs(`{source_value(2)}`)")
    plain = version(columns=(ID, column))
    for made in (plain, replace(plain, mapping=TableMapping(computed=(negated,)))):
        (row,) = read_source(spark, [str(file)], made, {}, TRANSLATION).frame.collect()
        assert str(row["D"]) == "0.0"
