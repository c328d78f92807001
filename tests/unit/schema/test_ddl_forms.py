"""Each statement of tests/golden/ddl has the outcome written under it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.errors import SchemaConflict
from pipelines.schema.ddl import effect_of
from tests.unit.schema.ddl_golden import FOLDER, ORDERS, outcome_of, read_cases, row

CASES = [(file.stem, case) for file in sorted(FOLDER.glob("*.sql")) for case in read_cases(file)]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{stem}: {case.title}" for stem, case in CASES])
def test_the_statement_has_its_golden_outcome(case):
    assert outcome_of(case.sql) == case.outcome


def test_every_file_has_cases_with_outcomes():
    assert {stem for stem, _ in CASES} >= {"add_column", "drop_column", "ignorable", "refused"}
    assert all(case.outcome and case.sql for _, case in CASES)


def test_a_refusal_names_the_statement_its_scn_and_the_cure():
    with pytest.raises(SchemaConflict) as caught:
        effect_of(row("alter table orders\n modify (amount   number(5))", scn=4711), ORDERS)

    text = str(caught.value)
    for part in (
        "alter table orders modify (amount number(5))",
        "table SHOP.ORDERS",
        "scn 4711",
        "`redolake snapshot SHOP.ORDERS --replace`",
        "`redolake resume` would stop at the same statement",
    ):
        assert part in text


@pytest.mark.parametrize("change", ["drop supplemental log data (all) columns", "disable logical replication"])
def test_less_supplemental_logging_without_a_primary_key_is_refused(change):
    with pytest.raises(SchemaConflict, match="supplemental logging"):
        effect_of(row(f"alter table orders {change}"), replace(ORDERS, key=(), key_kind="append"))


def test_a_statement_may_end_with_a_nul_byte():
    assert effect_of(row("alter table orders pctfree 5;\0"), ORDERS).version == ORDERS


def test_a_very_long_statement_is_shortened_in_the_message():
    with pytest.raises(SchemaConflict) as caught:
        effect_of(row("alter table orders modify (amount " + "x" * 100_000 + ")"), ORDERS)

    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "literal", ["u'null'", "x'ff'", "1e500", "1e-400", "9e125000", "1_000", "0x1F", "5d", '"NULL"', "(null", "- -1"]
)
def test_a_text_that_only_resembles_a_constant_is_refused(literal):
    for type_ in ("varchar2(10)", "number", "number(10,2)", "date"):
        with pytest.raises(SchemaConflict):
            effect_of(row(f"alter table orders add (note {type_} default {literal})"), ORDERS)
