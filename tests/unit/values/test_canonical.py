"""Both sides know every form of a value's text, and a table without one for its key is not hashed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.apply.verify import buckets as in_spark
from redolake.decode.datatypes import spark_ddl_type
from redolake.source import buckets as in_oracle
from redolake.values.canonical import (
    COLUMNS_OF_A_HASH,
    FORMS,
    columns_behind,
    form_of,
    hash_plan,
    naming_plan,
    of_filter,
    of_key,
)
from redolake.values.mapping import FIRST_ADDED, Computed, RowFilter, TableMapping
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

NUMBER, TEXT, INTERVAL = (
    OracleType("NUMBER", precision=9, scale=0),
    OracleType("VARCHAR2"),
    OracleType("INTERVAL DAY TO SECOND"),
)


def plan_version(*types: OracleType, key: tuple[int, ...] = (1,), kind: str = "primary") -> TableVersion:
    columns = tuple(Column(n, f"C{n}", type_, n, nullable=n not in key) for n, type_ in enumerate(types, 1))
    return TableVersion(TableId("SHOP", "T"), Scn(5), 7, 8, columns, key, len(types) + 1, kind)


def plan(*types: OracleType, key: tuple[int, ...] = (1,), kind: str = "primary", encoding: Encoding = Encoding()):  # noqa: B008
    return hash_plan(plan_version(*types, key=key, kind=kind), {}, spark_ddl_type, encoding, 3)


def test_each_form_has_an_expression_on_both_sides() -> None:
    assert set(in_oracle.TEXTS) == set(in_spark.FORMS) == set(FORMS)
    assert (in_oracle.PARTS, in_oracle.groups_of) == (in_spark.PARTS, in_spark.groups_of)  # both hash the same columns together


def test_a_column_without_a_form_is_fetched_and_the_others_are_hashed() -> None:
    found = plan(NUMBER, TEXT, INTERVAL)

    assert found is not None
    assert (found.key, found.columns, found.fetched) == (((1, "number"),), ((1, "number"), (2, "text")), (3,))


@pytest.mark.parametrize(
    ("types", "key", "kind"),
    [((INTERVAL, TEXT), (1,), "primary"), ((TEXT, INTERVAL), (), "append")],
    ids=["a key without a form", "rows that are known by all their columns"],
)
def test_a_table_that_hashes_would_not_prove_equal_is_not_hashed(types, key, kind) -> None:
    assert plan(*types, key=key, kind=kind) is None


def test_text_of_another_character_set_is_converted_and_hashed_in_pieces_and_only_longer_text_is_fetched() -> None:
    texts = (OracleType("VARCHAR2", length=1000), OracleType("CHAR", length=1001), OracleType("EXTENDED VARCHAR2", length=9000))
    found = plan(NUMBER, *texts, encoding=Encoding(text="WE8MSWIN1252"))

    assert found is not None
    assert found.columns[1:] == ((2, "converted text"), (3, "long converted text"))
    assert found.fetched == (4,)


def mapped(**parts) -> TableVersion:
    version = plan_version(NUMBER, TEXT, TEXT, TEXT)
    return replace(version, mapping=TableMapping(**parts))


def test_columns_that_a_mapping_computes_are_fetched_with_what_they_are_made_of_and_the_others_are_hashed() -> None:
    masked = Computed(2, "C2", "string", "mask", (2,), mask="redact")
    added = Computed(FIRST_ADDED, "x", "string", "expression", (3,))
    version = mapped(computed=(masked, added), names=((4, "other"),), where=RowFilter("c1 > 5", (1,), "c1 > 5"))
    found = hash_plan(version, {}, spark_ddl_type, Encoding(), 3)

    assert found is not None
    assert (found.columns, found.fetched, found.clear_key) == (
        ((1, "number"), (3, "text"), (4, "text")),
        (2, FIRST_ADDED),
        (),
    )
    assert columns_behind(version, found.fetched) == {1, 2, 3}
    assert [c.id for c in of_filter(version).columns] == [1]


def test_a_row_without_a_key_is_named_by_the_columns_that_both_sides_have() -> None:
    masked = Computed(2, "C2", "string", "mask", (2,), mask="redact")
    append = replace(plan_version(NUMBER, TEXT, INTERVAL, key=(), kind="append"), mapping=TableMapping(computed=(masked,)))
    with_null = replace(append, key=(1,), key_kind="columns")
    with_null = replace(with_null, columns=(replace(append.columns[0], nullable=True), *append.columns[1:]))
    by_key = plan_version(NUMBER, INTERVAL)
    found = [naming_plan(one, {}, spark_ddl_type, Encoding()) for one in (append, with_null, by_key)]

    assert [one and (one.key, one.columns) for one in found] == [
        ((), ((1, "number"),)),
        (((1, "number"),), ((1, "number"),)),
        None,
    ]


def test_no_row_is_named_where_a_mapping_computes_all_that_would_name_it() -> None:
    both = tuple(Computed(n, f"C{n}", "string", "mask", (n,), mask="redact") for n in (1, 2))
    version = plan_version(NUMBER, TEXT, key=(), kind="append")

    assert naming_plan(replace(version, mapping=TableMapping(computed=both)), {}, spark_ddl_type, Encoding()) is None


def test_rows_with_a_computed_key_are_named_by_the_key_of_the_lake_and_looked_up_by_that_of_oracle() -> None:
    version = mapped(computed=(Computed(1, "C1", "string", "mask", (1,), mask="hash"),))
    found = hash_plan(version, {}, spark_ddl_type, Encoding(), 3)

    assert found is not None
    assert (found.key, found.clear_key) == (((1, "text"),), ((1, "number"),))
    assert [c.id for c in of_key(version).columns] == [1]


@pytest.mark.parametrize(
    ("type_", "rule", "lake", "form"),
    [
        (OracleType("NUMBER"), None, "decimal(38,10)", "number"),
        (OracleType("NUMBER"), "string", "string", "number as text"),
        (OracleType("FLOAT"), "double", "double", None),
        (OracleType("TIMESTAMP", scale=9), "truncate", "timestamp_ntz", "truncated timestamp"),
        (OracleType("TIMESTAMP WITH TIME ZONE"), None, "timestamp", "instant"),
        (OracleType("VARCHAR2"), "binary", "binary", None),
        (OracleType("CLOB"), None, "string", None),
    ],
)
def test_a_form_follows_from_both_types(type_, rule, lake, form) -> None:
    assert form_of(type_, rule, lake, Encoding()) == form


def test_the_statement_hashes_a_wide_row_by_parts_within_the_limit_of_a_text() -> None:
    columns = tuple(in_oracle.HashedColumn(f"C{n}", "number") for n in range(120))
    found = in_oracle.hash_of(columns)

    assert found.count("STANDARD_HASH(") == 4  # three parts, and one of their hashes
    assert COLUMNS_OF_A_HASH * (64 + 1) + 1 < 4000
