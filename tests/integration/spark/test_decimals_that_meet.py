"""Every place where two decimals meet whose values no type of 38 digits holds: each keeps the digits, or refuses.

Spark itself rounds 0.5 to 1 where a DECIMAL(38,10) meets a DECIMAL(38,0), and stores 2.5 in one as 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from redolake.apply.delta.rewrite import choose_casting, widens
from redolake.apply.landed.key_texts import key_text
from redolake.apply.landed.source_rows import check_keys, read_source
from redolake.apply.mapping import shape
from redolake.apply.schema import check_columns
from redolake.apply.target import TargetColumn
from redolake.apply.verify.buckets import FORMS
from redolake.apply.verify.compare import OWN_SCN, count_rows
from redolake.config.union_views import UnionView
from redolake.errors import ConfigurationError, MappingFailed, SchemaConflict
from redolake.job.translation import TRANSLATION
from redolake.reconcile.pushed_filter import push_filter
from redolake.steps.shown.union_views import Member, make_union
from redolake.values.lake_rules import LakeColumn
from redolake.values.mapping import Computed, RowFilter, TableMapping, source_value
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.integration.spark.specs import version

pytestmark = pytest.mark.spark

LONG, PART = "decimal(38,0)", "decimal(38,10)"
WHOLE, HALVES = Decimal("12345678901234567890123456789012345678"), Decimal("2.5")
W, P = (Column(n, name, OracleType("NUMBER", precision=38, scale=scale), n) for n, name, scale in ((2, "W", 0), (3, "P", 10)))
KEY = Column(1, "ID", OracleType("NUMBER", precision=38, scale=10), 1, False)
A, B = f"`{source_value(2)}`", f"`{source_value(3)}`"
TOO_LONG = "NUMERIC_VALUE_OUT_OF_RANGE"


def numbers(spark: Any, whole: Decimal = WHOLE, part: Decimal = HALVES) -> Any:
    return spark.createDataFrame([(whole, part)], f"w {LONG}, p {PART}")


def mapped(
    computed: Computed | None = None, where: str | None = None, columns: tuple[Column, ...] = (KEY, W, P)
) -> TableVersion:
    of_row = None if where is None else RowFilter(where, (2, 3), where)
    return replace(
        version(columns=columns), mapping=TableMapping(computed=() if computed is None else (computed,), where=of_row)
    )


def view_over_both(_spark: Any, _folder: Path) -> str:
    columns = {type_: (LakeColumn("N", type_),) for type_ in (LONG, PART)}
    members = [Member(TableId("A", "T"), "1", columns[LONG]), Member(TableId("B", "T"), "2", columns[PART])]
    return str(make_union("V.T", UnionView(tables=["A.T", "B.T"], discriminator="OF"), members))


def expression_over(whole: Decimal, type_: str = PART) -> Callable[[Any, Path], str]:
    def ask(spark: Any, _folder: Path) -> str:
        one = Computed(2, "W", type_, needs=(2, 3), sql=f"COALESCE({B}, {A})" if whole == WHOLE else f"COALESCE({A}, {B})")
        frame = numbers(spark, whole).withColumnsRenamed({"w": source_value(2), "p": source_value(3)})
        return str(frame.select(shape(mapped(one)).values[2]).collect()[0][0])

    return ask


def filter_by(condition: str, whole: str) -> Callable[[Any, Path], str]:
    def ask(spark: Any, _folder: Path) -> str:
        frame = numbers(spark, Decimal(whole)).withColumnsRenamed({"w": source_value(2), "p": source_value(3)})
        passes = shape(mapped(where=condition)).passes
        assert passes is not None
        return str(frame.filter(passes).count())

    return ask


def filter_in_oracle(_spark: Any, _folder: Path) -> str:
    return str(push_filter(RowFilter(f"{B} < {WHOLE}", (3,), "p < .."), version(columns=(KEY, W, P)), {}))


def change_of_type(old: str, new: str) -> Callable[[Any, Path], str]:
    def ask(spark: Any, _folder: Path) -> str:
        cast = choose_casting("w" if old == LONG else "p", old, new)
        assert not widens(old, new), "the history, too, gets a column of its own"
        return "refused" if numbers(spark).select(cast.misfit).collect()[0][0] else "kept"

    return ask


def load(column: Column, type_: pa.DataType, value: Any) -> Callable[[Any, Path], str]:
    """Return what a load makes of a value whose file has another type than the column has in the lake."""

    def ask(spark: Any, folder: Path) -> str:
        file = folder / "rows.parquet"
        pq.write_table(
            pa.table({"ID": pa.array([Decimal(1)], pa.decimal128(38, 10)), column.name: pa.array([value], type_)}), file
        )
        rows = read_source(spark, [str(file)], version(columns=(KEY, column)), {}, TRANSLATION)
        wrong = [one for one in rows.misfits if rows.raw.filter(one.condition).count()]
        return f"refused: {wrong[0].what}" if wrong else str(rows.frame.collect()[0][1])

    return ask


def merge_into_another_type(_spark: Any, _folder: Path) -> str:
    target = {1: TargetColumn(1, "ID", PART, None), 2: TargetColumn(2, "W", PART, None)}
    check_columns(version(columns=(KEY, W)), {}, target, TRANSLATION)
    return "merged"


def verify_hashes(spark: Any, _folder: Path) -> str:
    form = FORMS["number"]
    return str(tuple(numbers(spark, Decimal(3)).select(form(F.col("w")), form(F.col("p"))).collect()[0]))


def verify_rows(ours: str, whole: Decimal) -> Callable[[Any, Path], str]:
    """Return how many rows differ where Oracle's have one of the types, and the lake's the other one."""

    def ask(spark: Any, _folder: Path) -> str:
        frame = numbers(spark, whole)
        lake = frame.select(F.col("p").alias("W"), F.lit(1).cast("bigint").alias(OWN_SCN))
        source = frame.select(F.col(ours).alias("W"))
        return str(count_rows(source, lake, version(columns=(W,))).filter("source != delta OR source IS NULL").count())

    return ask


def key_made_by_rounding(spark: Any, folder: Path) -> str:
    file = folder / "rows.parquet"
    pq.write_table(pa.table({"ID": pa.array([HALVES, Decimal(3)], pa.decimal128(38, 10))}), file)
    one = Computed(1, "ID", LONG, needs=(1,), sql=f"`{source_value(1)}`", text="id")
    made = mapped(one, columns=(KEY,))
    check_keys(read_source(spark, [str(file)], made, {}, TRANSLATION), made)
    return "loaded"


def text_of_a_key(spark: Any, _folder: Path) -> str:
    both = replace(version(columns=(W, P)), key=(2, 3))
    return str(numbers(spark).select(key_text(both, lambda i: F.col("w" if i == 2 else "p"))).collect()[0][0])


PLACES: dict[str, tuple[Callable[[Any, Path], str], object]] = {
    "steps/shown/union_views.py: a view over both": (view_over_both, ConfigurationError),
    "apply/mapping.py: COALESCE, the small value": (expression_over(WHOLE), "2.5000000000"),
    "apply/mapping.py: COALESCE, the whole number": (expression_over(Decimal(3)), "3.0000000000"),
    "apply/mapping.py: `type` with fewer decimals, a CAST of the user's": (expression_over(WHOLE, LONG), "3"),
    "apply/mapping.py: where =": (filter_by(f"{A} = {B}", "3"), "0"),
    "apply/mapping.py: where IN": (filter_by(f"{B} IN ({A})", "3"), "0"),
    "apply/mapping.py: where BETWEEN, of a long value": (filter_by(f"{B} BETWEEN {A} AND {A}", str(WHOLE)), TOO_LONG),
    "reconcile/pushed_filter.py: a filter in Oracle": (filter_in_oracle, "None"),
    "apply/delta/rewrite.py, history.py: fewer decimals": (change_of_type(PART, LONG), "refused"),
    "apply/delta/rewrite.py, history.py: fewer whole digits": (change_of_type(LONG, PART), "refused"),
    "apply/landed/source_rows.py: a file with more decimals": (
        load(W, pa.decimal128(38, 10), HALVES), "refused: a number",
    ),
    "apply/landed/source_rows.py: a file with more decimals that are zero": (load(W, pa.decimal128(38, 10), Decimal(2)), "2"),
    "apply/landed/source_rows.py: a file with more whole digits": (load(P, pa.decimal128(38), WHOLE), "refused: a number"),
    "apply/landed/source_rows.py: a file with decimals for an int": (
        load(replace(W, type=OracleType("NUMBER", precision=9, scale=0)), pa.decimal128(9, 1), HALVES), "refused: a number",
    ),
    "apply/landed/source_rows.py: a text": (load(W, pa.string(), "2.5"), "refused: a number"),
    "apply/schema.py: a batch into another type": (merge_into_another_type, SchemaConflict),
    "apply/verify/buckets.py: hashes": (verify_hashes, "('3', '2.5')"),
    "apply/verify/compare.py: rows without a key": (verify_rows("w", Decimal(3)), "2"),
    "apply/verify/compare.py: rows without a key, the same": (verify_rows("p", Decimal(3)), "0"),
    "apply/verify/compare.py: rows without a key, a long value": (verify_rows("w", WHOLE), TOO_LONG),
    "apply/landed/source_rows.py: two keys that are one, injective": (key_made_by_rounding, MappingFailed),
    "apply/landed/key_texts.py: the text of a key": (text_of_a_key, f'{{"W":"{WHOLE}","P":"2.5000000000"}}'),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_two_decimals_that_meet_keep_their_digits_or_are_refused(spark: Any, tmp_path: Path, place: str) -> None:
    ask, expected = PLACES[place]
    if isinstance(expected, type):
        with pytest.raises(expected):
            ask(spark, tmp_path)
    elif expected == TOO_LONG:
        with pytest.raises(Exception, match=TOO_LONG):
            ask(spark, tmp_path)
    else:
        assert ask(spark, tmp_path).startswith(str(expected))
