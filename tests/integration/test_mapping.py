"""Tables whose columns are mapped: the lake equals the mapping applied to the source, through snapshot, changes and DDL."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from pipelines.steps.status import TableStatus
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows

pytestmark = pytest.mark.spark

KEY = "a key of masks that nobody guesses"
ALL = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA ({}) COLUMNS"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", KEY)
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            'CREATE TABLE people (id NUMBER(9) PRIMARY KEY, "id" VARCHAR2(9), cust_nm VARCHAR2(40), ssn VARCHAR2(20), '
            "email VARCHAR2(60), iban VARCHAR2(34), note VARCHAR2(200), amount NUMBER(12,2), qty NUMBER(5), "
            'region VARCHAR2(2), "_commit_scn" NUMBER(3))',
            ALL.format("people", "ALL"),
            *(insert(n) for n in range(1, 6)),
        )
        yield shop


def insert(n: int, region: str = "EU") -> str:
    return (
        f"INSERT INTO people VALUES ({n}, 'x{n}', 'name {n}', 'ssn-{n}', 'p{n}@example.com', 'DE8937040044053201300{n}', "
        f"'secret {n}', {n}.50, {n}, '{region}', {n})"
    )


PEOPLE = {
    "table": "SHOP.PEOPLE",
    "rename": {"CUST_NM": "customer_name", '"id"': "id_lower", '"_commit_scn"': "scn_of_theirs"},
    "columns": {"AMOUNT": {"type": "decimal(20,4)", "expression": "amount / 100", "comment": "in hundreds"}},
    "add": {
        "domain": "substring_index(email, '@', -1)",
        "total": {"expression": "amount * qty", "type": "decimal(20,2)"},
        "origin": "'ERP'",
    },
    "mask": {"SSN": "hash", "EMAIL": "redact", "IBAN": "last4", "NOTE": None},
    "mask_key": {"variable": "REDOLAKE_MASK_KEY"},
    "column_order": ["customer_name", "domain"],
}


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> TableStatus:
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    (table,) = steps.read_status(pipeline).tables
    return table


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_names_expressions_masks_and_added_columns_hold_through_snapshot_changes_and_verify(spark: Any, source: Shop) -> None:
    pipeline = source.pipeline(tables=[PEOPLE])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    rows = spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id))
    first = {row["ID"]: row.asDict() for row in rows.collect()}
    source.run_sql(
        "UPDATE people SET amount = 7, email = 'q@other.org' WHERE id = 1",
        "UPDATE people SET id = 20, qty = 9 WHERE id = 2",
        "UPDATE people SET ssn = NULL, note = NULL WHERE id = 3",
        "DELETE FROM people WHERE id = 4",
        insert(6),
    )
    status = caught_up(source, pipeline, spark)
    then = {
        row["ID"]: row.asDict() for row in spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id)).collect()
    }
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)

    assert rows.columns[:2] == ["customer_name", "domain"]
    assert (first[1]["customer_name"], first[1]["id_lower"], first[1]["scn_of_theirs"]) == ("name 1", "x1", 1)
    assert (first[1]["SSN"], first[1]["EMAIL"], first[1]["NOTE"]) == (hashed("ssn-1"), "***", None)
    assert first[1]["IBAN"] == "****3001"
    assert (str(first[1]["AMOUNT"]), str(first[1]["total"]), first[1]["domain"], first[1]["origin"]) == (
        "0.0150", "1.50", "example.com", "ERP",
    )  # fmt: skip
    assert status.error is None
    assert sorted(then) == [1, 3, 5, 6, 20]
    assert (str(then[1]["AMOUNT"]), str(then[1]["total"]), then[1]["domain"]) == ("0.0700", "7.00", "other.org")
    assert (str(then[20]["total"]), then[3]["SSN"]) == ("22.50", None)
    assert [(t.missing_rows, t.extra_rows, t.differing_cells) for t in verified.tables] == [(0, 0, 0)]
