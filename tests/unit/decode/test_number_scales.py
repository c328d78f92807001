"""NUMBER(p,s) of every precision and scale that Oracle allows: stored exactly, or refused with the rule that helps."""

from __future__ import annotations

from decimal import Context, Decimal
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.decode.datatypes import family_of, target_type, why_refused
from redolake.source.capture_findings import ConfiguredTable, capture_findings
from redolake.source.snapshot import select_item
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import OracleType, TableId
from standin.engine.types.values import encode_number

ALL = [OracleType("NUMBER", precision=p, scale=s) for p, s in product(range(1, 39), range(-84, 128))]
EXACT = Context(prec=300)
TABLE = TableId("SHOP", "T")


def column(type_: OracleType) -> DictionaryColumn:
    return DictionaryColumn("N", type_, 2, 2, True)


def largest(type_: OracleType) -> Decimal:
    """Return 99.9 as far as the precision goes, which the scale moves; Oracle has nothing below 1E-130."""
    assert type_.precision is not None
    nines = Decimal("9" * type_.precision)
    return EXACT.scaleb(nines, -(type_.scale or 0))


def test_every_number_is_a_column_that_arrow_and_parquet_hold_or_is_fetched_as_text() -> None:
    fetched = [type_ for type_ in ALL if "TO_CHAR" not in select_item(column(type_))]

    assert all(0 <= (t.scale or 0) <= (t.precision or 0) for t in fetched)
    schema = pa.schema([(f"N{n}", pa.decimal128(t.precision or 0, t.scale or 0)) for n, t in enumerate(fetched)])
    pq.write_table(schema.empty_table(), pa.BufferOutputStream())
    assert len(fetched) == sum(p + 1 for p in range(1, 39))


def test_a_number_that_no_decimal_holds_is_text_by_rule_and_the_cure_says_so() -> None:
    refused = [type_ for type_ in ALL if why_refused(type_) is not None]

    assert refused
    assert all(max(t.precision or 0, t.scale or 0, (t.precision or 0) - (t.scale or 0)) > 38 for t in refused)
    assert [type_ for type_ in refused if why_refused(type_, "string") is not None] == []
    for type_ in refused[:: len(refused) // 50]:
        one = DictionaryTable(TABLE, 1, 1, (column(type_),), (), frozenset(), Scn(1), Scn(2))
        (found,) = (f for f in capture_findings(one, ConfiguredTable(TABLE), why_refused) if f.subject.endswith(".N"))
        assert "`columns: {N: string}`" in found.cure


@pytest.mark.parametrize("sign", ["", "-"])
def test_the_largest_value_of_each_is_read_from_redo_and_from_internal_bytes(sign: str) -> None:
    for type_ in ALL[::7]:
        rule = None if why_refused(type_) is None else "string"
        target, family, value = target_type(type_, rule), family_of(type_), largest(type_)
        if value >= Decimal("1E126") or value.as_tuple().exponent < -130:  # type: ignore[operator]
            continue
        texts = [f"{sign}{value:f}", f"{sign}{value:f}".replace("0.", ".", 1) if value < 1 else f"{sign}{value:E}"]
        read = family.cast(pa.array(texts), target, rule)
        internal = family.internal(pa.array([encode_number(Decimal(texts[0]))], pa.binary()), target, Encoding(), rule)
        assert (dict(read.refused), dict(internal.refused)) == ({}, {}), type_
        found = {Decimal(str(one)) for one in (*read.values.to_pylist(), *internal.values.to_pylist())}
        assert found == {Decimal(texts[0])}, type_
