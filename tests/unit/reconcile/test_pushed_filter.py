"""What of a row filter Oracle evaluates itself."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from redolake.config.expressions import uses, with_ids
from redolake.reconcile.pushed_filter import PushedFilter, push_filter
from redolake.source.snapshot import Part
from redolake.values.mapping import RowFilter
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, Rules, TableId, TableVersion

TYPES = {
    "ID": OracleType("NUMBER", precision=9, scale=0),
    "AMOUNT": OracleType("NUMBER", precision=12, scale=2),
    "BIG": OracleType("NUMBER", precision=38, scale=0),
    "LOOSE": OracleType("NUMBER"),
    "REGION": OracleType("VARCHAR2", length=4),
    "code": OracleType("CHAR", length=4),
    "DAY": OracleType("DATE"),
    "AT": OracleType("TIMESTAMP", scale=6),
    "FINE": OracleType("TIMESTAMP", scale=9),
    "RATE": OracleType("BINARY_DOUBLE"),
}
COLUMNS = tuple(Column(number, name, type_, number) for number, (name, type_) in enumerate(TYPES.items(), 1))
VERSION = TableVersion(TableId("SHOP", "ORDERS"), Scn(5), 7, 8, COLUMNS, (1,), len(COLUMNS) + 1)
NO_RULES: Rules = {}


def pushed(text: str, rules: Rules = NO_RULES) -> PushedFilter | None:
    return push_filter(row_filter(text), VERSION, rules)


def row_filter(text: str) -> RowFilter:
    ids = {column.name: column.id for column in COLUMNS}
    return RowFilter(with_ids(text, ids), tuple(ids[name] for name, _, _ in uses(text)), text)


@pytest.mark.parametrize(
    ("text", "condition", "binds"),
    [
        ("region = 'EU' AND amount > 10.5", '"REGION" = :f0 AND "AMOUNT" > :f1', {"f0": "EU", "f1": Decimal("10.5")}),
        ("100 <= amount", '"AMOUNT" >= :f0', {"f0": Decimal(100)}),
        ("amount = -1 OR amount IS NULL", '("AMOUNT" = :f0 OR "AMOUNT" IS NULL)', {"f0": Decimal(-1)}),
        ("NOT (amount BETWEEN 1 AND 2)", 'NOT (("AMOUNT" >= :f0 AND "AMOUNT" <= :f1))', {"f0": Decimal(1), "f1": Decimal(2)}),
        ("`code` IN ('A', 'B')", '("code" = :f0 OR "code" = :f1)', {"f0": "A", "f1": "B"}),
        (
            "day < DATE'2024-02-29'",
            "\"DAY\" < TO_DATE(:f0, 'YYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')",
            {"f0": "2024-02-29 00:00:00"},
        ),
        (
            "at >= TIMESTAMP_NTZ'2024-01-01 00:00:00.5'",
            "\"AT\" >= TO_TIMESTAMP(:f0, 'YYYY-MM-DD HH24:MI:SS.FF6', 'NLS_CALENDAR=GREGORIAN')",
            {"f0": "2024-01-01 00:00:00.500000"},
        ),
        ("(id > 5 AND rate > 1) AND upper(region) = 'EU'", '"ID" > :f0', {"f0": Decimal(5)}),
    ],
)
def test_what_both_evaluate_alike_is_given_to_oracle(text: str, condition: str, binds: dict[str, object]) -> None:
    found = pushed(text)

    assert found is not None
    assert (found.condition, dict(found.binds)) == (condition, binds)


@pytest.mark.parametrize(
    "text",
    [
        "region <> 'EU'",  # a collation could make more texts equal
        "NOT (region = 'EU')",
        "region = ''",  # NULL in Oracle
        "region = 'EU '",
        "region = 'Zürich'",  # another character set
        "region > 'A'",  # another order
        "region = 5",
        "amount = '5'",
        "amount > 1e2",  # a double
        "amount = 5.0D",
        "big = 1.5",  # more digits than a decimal has
        "big IN (1, 1.5)",
        "loose > 5",  # a text in the lake
        "rate > 1",
        "fine > TIMESTAMP_NTZ'2024-01-01 00:00:00'",
        "at > TIMESTAMP'2024-01-01 00:00:00'",  # has the session's zone
        "day > '2024-01-01'",
        "day > DATE'2024-02-30'",
        "day = TIMESTAMP_NTZ'2024-01-01 00:00:00.5'",
        "day > CAST('2024-01-01' AS DATE)",
        "amount <=> 5",
        "amount > id",
        "region = 'EU' OR rate > 1",
        "amount + 1 > 5",
    ],
)
def test_what_is_not_certain_to_be_alike_is_left_to_spark(text: str) -> None:
    assert pushed(text) is None


def test_a_column_with_a_rule_is_left_to_spark() -> None:
    assert pushed("amount > 5", {2: "string"}) is None


def test_a_filter_narrows_a_part_and_keeps_its_binds() -> None:
    found = pushed("id = 1 OR id = 2")
    assert found is not None

    part = found.within(Part(" PARTITION (P)", "ROWID < :high", {"high": "x"}))
    assert part.condition == '(ROWID < :high) AND (("ID" = :f0 OR "ID" = :f1))'
    assert part.binds == {"high": "x", "f0": Decimal(1), "f1": Decimal(2)}


def test_what_is_recorded_differs_with_the_condition_and_with_its_constants() -> None:
    records = [one.record for one in map(pushed, ("id = 1", "id = 2", "id  = 1", "id = 1 AND rate > 1")) if one is not None]

    assert len(set(records)) == 4


def test_a_column_that_was_renamed_since_is_given_under_its_name_of_now_and_never_another_one_under_its_old_name() -> None:
    renamed = replace(
        VERSION, columns=tuple(replace(c, name={"ID": "AMOUNT", "AMOUNT": "ID"}.get(c.name, c.name)) for c in COLUMNS)
    )
    found = push_filter(row_filter("amount > 10.5"), renamed, NO_RULES)

    assert found is not None
    assert (found.condition, found.binds) == ('"ID" > :f0', {"f0": Decimal("10.5")})


def test_a_filter_of_thousands_of_parts_is_given_as_far_as_oracle_takes_it() -> None:
    found = pushed(" AND ".join(f"id <> {n}" for n in range(3000)) + " AND region = 'EU'")
    alternatives = pushed("(" + " OR ".join(f"id = {n}" for n in range(900)) + ") AND amount > 1")

    assert found is not None
    assert alternatives is not None
    assert len(found.binds) == 1000
    assert alternatives.condition.count(" OR ") == 899
    assert pushed(" OR ".join(f"id = {n}" for n in range(1001))) is None
    assert pushed("NOT " * 90 + "id = 1") is not None
