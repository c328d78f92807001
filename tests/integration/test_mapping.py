"""Tables whose columns are mapped: the lake equals the mapping applied to the source, through snapshot, changes and DDL."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import io
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
import yaml
from pyspark.errors import ArithmeticException
from pyspark.logger import PySparkLogger
from pyspark.sql import functions as F

from redolake import steps
from redolake.apply.mapping import hash_udf, is_true, shape
from redolake.cockpit import read_overview
from redolake.config.expressions import uses
from redolake.context import Run, open_pipeline_source
from redolake.errors import ConfigurationError, Finding, SchemaConflict, TableHeld
from redolake.host.user_code import digest_of
from redolake.reconcile.pushed_filter import pushed_for
from redolake.source import read_tables
from redolake.steps.shared.status import TableStatus
from redolake.steps.shown.stats import PipelineStats
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.mapping import Computed, SecretName, TableMapping, source_value
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.hunts import EXAMPLES
from tests.references.delta_table import delta_rows
from tests.references.plain_lake import PlainLake
from tests.support.assumes import assumes
from tests.support.doctor import run_doctor

pytestmark = pytest.mark.spark

KEY = "a key of masks that nobody guesses"
LANDING_KEY, SECOND_KEY = "the landing's first key 7f3a9c1e5b2d", "the landing's second key 40d8e6b19a57"
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


MAPPED = ("customer_name", "id_lower", "scn_of_theirs", "AMOUNT", "total", "domain", "origin", "SSN", "EMAIL", "IBAN", "NOTE")


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> TableStatus:
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    (table,) = steps.read_status(pipeline).tables
    return table


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_names_expressions_masks_and_added_columns_hold_through_snapshot_changes_verify_and_backfill(
    spark: Any, source: Shop
) -> None:
    pipeline = source.pipeline(tables=[PEOPLE])
    taken = steps.take_snapshot(pipeline, source=source.params, spark=spark)
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
    landed = steps.read_status(pipeline).next_start_scn
    shadow = steps.run_backfill(pipeline, taken.tables[0].scn + 1, int(landed or 0), execute=True, spark=spark)
    assert shadow.recorded is not None
    replayed = {row["ID"]: row for row in delta_rows(shadow.recorded.tables[0].target) if not row["_deleted"]}
    described = steps.list_versions(pipeline, "SHOP.PEOPLE")[-1].columns

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
    assert sorted(replayed) == [1, 3, 6, 20]
    assert {name: replayed[6][name] for name in MAPPED} == {name: then[6][name] for name in MAPPED}
    assert {c.name: c.lake for c in described if c.name in ("CUST_NM", "SSN", "total")} == {
        "CUST_NM": "customer_name",
        "SSN": "SSN (mask: hash)",
        "total": "total (`amount * qty`)",
    }


def test_a_filter_takes_rows_in_and_out_as_their_values_change(spark: Any, source: Shop) -> None:
    entry = {"table": "SHOP.PEOPLE", "exclude_columns": ['"id"', '"_commit_scn"'], "where": "region = 'EU' AND qty <> 3"}
    pipeline = source.pipeline(tables=[entry])
    source.run_sql(insert(30, "US"), insert(31, "US"), "UPDATE people SET region = NULL WHERE id = 5")
    taken = steps.take_snapshot(pipeline, source=source.params, spark=spark)
    target = pipeline.target(pipeline.tables[0].id)
    first = ids(spark, target)
    source.run_sql(
        "UPDATE people SET region = 'EU' WHERE id = 30",  # in
        "UPDATE people SET region = 'US' WHERE id = 1",  # out
        "UPDATE people SET qty = 7 WHERE id = 3",  # in
        "UPDATE people SET note = 'x' WHERE id = 31",  # stays out
        insert(40, "US"),
        insert(41, "EU"),
        "UPDATE people SET id = 42, region = 'EU' WHERE id = 40",  # out, then in under another key
        "DELETE FROM people WHERE id = 41",
        insert(41, "US"),
        "DELETE FROM people WHERE id = 31",
    )
    status = caught_up(source, pipeline, spark)
    second = ids(spark, target)
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)
    source.run_sql("UPDATE people SET region = 'US' WHERE id = 2", "UPDATE people SET id = 43 WHERE id = 30")
    caught_up(source, pipeline, spark)
    third, counted = ids(spark, target), accounts(source)["filtered"]
    source.run_sql(
        ALL.format("people", "PRIMARY KEY"),
        "ALTER TABLE people DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "UPDATE people SET qty = 8 WHERE id = 3",
        "UPDATE people SET region = 'EU' WHERE id = 1",
    )
    held = caught_up(source, pipeline, spark)
    statement = re.search(r"ALTER TABLE [^,;]+ \(ALL\) COLUMNS", str(held.cure))
    assert statement is not None, held
    source.run_sql(statement[0])
    steps.take_snapshot(pipeline, tables=["SHOP.PEOPLE"], replace=True, source=source.params, spark=spark)
    source.run_sql("UPDATE people SET region = 'EU' WHERE id = 2")
    cured = caught_up(source, pipeline, spark)

    assert (first, [t.rows for t in taken.tables]) == ([1, 2, 4], [3])
    assert [t.source_rows_read for t in verified.tables] == [5]  # Oracle has left out the other rows itself
    assert (status.error, second) == (None, [2, 3, 4, 30, 42])
    assert verified.equal
    assert (third, counted) == ([3, 4, 42, 43], 5)
    assert held.code == "NotLogged"
    assert (cured.error, ids(spark, target)) == (None, [1, 2, 3, 4, 42, 43])


def test_a_filter_goes_on_with_the_columns_that_it_meant_and_verify_and_repair_ask_oracle_for_these(
    spark: Any, source: Shop
) -> None:
    source.run_sql(
        "CREATE TABLE moved (id NUMBER(9) PRIMARY KEY, region VARCHAR2(2), area VARCHAR2(2), qty NUMBER(5), flag CHAR(3))",
        ALL.format("moved", "ALL"),
        "INSERT INTO moved VALUES (1, 'EU', 'US', 1, 'y')",
        "INSERT INTO moved VALUES (2, 'US', 'EU', 1, 'y')",
        "INSERT INTO moved VALUES (3, 'EU', 'EU', NULL, 'y')",
        "INSERT INTO moved VALUES (4, '', 'EU', 1, 'y')",
    )
    where = "region = 'EU' AND qty NOT IN (0, 7) AND (rtrim(flag) = 'y' OR flag IS NULL) -- and so on"
    settings = {"deletes": "mark", "on_ddl": {"truncate": "follow"}}
    pipeline = source.pipeline(tables=[{"table": "SHOP.MOVED", "where": where}], **settings)
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    target = pipeline.target(TableId("SHOP", "MOVED"))
    source.run_sql(
        "UPDATE moved SET qty = 2 WHERE id = 3",  # in: it was NULL
        "ALTER TABLE moved RENAME COLUMN region TO other",
        "ALTER TABLE moved RENAME COLUMN area TO region",
        "ALTER TABLE moved RENAME COLUMN other TO area",
        "ALTER TABLE moved MODIFY qty NUMBER(7,1)",
        "UPDATE moved SET qty = 7 WHERE id = 1",  # out
        "UPDATE moved SET area = 'EU', flag = NULL WHERE id = 2",  # in
        "INSERT INTO moved (id, area, region, qty) VALUES (5, 'EU', 'US', 0.5)",
        "INSERT INTO moved (id, area, region, qty) VALUES (6, 'US', 'EU', 0.5)",
    )
    first, live = caught_up(source, pipeline, spark), live_ids(spark, target)
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)
    spark.sql(f"DELETE FROM delta.`{target}` WHERE ID = 5")
    found = steps.verify_tables(pipeline, source=source.params, spark=spark)
    mended = steps.repair_table(pipeline, "SHOP.MOVED", reason="why", source=source.params, spark=spark)
    other = source.pipeline(tables=[{"table": "SHOP.MOVED", "where": "region = 'EU'"}], **settings)
    edits = steps.plan_edit(other).edits
    source.run_sql("TRUNCATE TABLE moved", "INSERT INTO moved (id, area, qty) VALUES (1, 'EU', 1)", "UPDATE moved SET qty = 0")
    source.run_sql("INSERT INTO moved (id, area, qty) VALUES (5, 'EU', 1)")
    last = caught_up(source, pipeline, spark)

    assert (first.error, live) == (None, [2, 3, 5])
    assert (verified.equal, verified.tables[0].source_rows, verified.tables[0].source_rows_read) == (True, 3, 3)
    assert [(t.missing_rows, t.extra_rows) for t in found.tables] == [(1, 0)]
    assert (mended.inserted, mended.deleted, mended.equal) == (1, 0, True)
    assert [(edit.effect, edit.what.rpartition(": ")[2]) for edit in edits] == [("held", "`where`")]
    assert (last.error, live_ids(spark, target)) == (None, [5])
    assert steps.verify_tables(pipeline, source=source.params, spark=spark).equal


def live_ids(spark: Any, target: str) -> list[int]:
    rows = spark.read.format("delta").load(target).filter("NOT _deleted").collect()
    return sorted(row["ID"] for row in rows)


HOSTILE = (
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "0, 0, '', '', TO_DATE('0001-01-01', 'YYYY-MM-DD'), TO_TIMESTAMP('0001-01-01', 'YYYY-MM-DD'), 0, 0, '', NULL",
    "-9999999999.99, -1, 'EU', 'EU', TO_DATE('1500-02-28', 'YYYY-MM-DD'), TO_TIMESTAMP('1582-10-04', 'YYYY-MM-DD'), -1, -100, "
    "'EU', TO_TIMESTAMP('1582-10-15', 'YYYY-MM-DD')",
    "9999999999.99, 1, 'EU ', 'EU', TO_DATE('9999-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS'), NULL, BINARY_DOUBLE_NAN, 9999900, "
    "'EU ', TIMESTAMP '9999-12-31 23:59:59.999'",
    "0.01, 99999999999999999999999999999999999999, 'eu', 'eu', DATE '2024-02-29', TIMESTAMP '2024-02-29 00:00:00', 1, 100, "
    "'\u0415U', TIMESTAMP '2024-02-29 00:00:00.001'",
    "5, 5, 'EU\u00e9', 'A', TO_DATE('2024-02-29 00:00:01', 'YYYY-MM-DD HH24:MI:SS'), "
    "TIMESTAMP '2024-02-29 00:00:00.000001', BINARY_DOUBLE_INFINITY, 500, 'a_b', TIMESTAMP '2024-02-29 00:00:00'",
    "-0.01, -5, ' EU', 'US', TO_DATE('2024-02-28 23:59:59', 'YYYY-MM-DD HH24:MI:SS'), "
    "TIMESTAMP '2024-02-28 23:59:59.999999', 5, -500, 'E%', TIMESTAMP '2024-02-28 23:59:59.999'",
    "0.1, 10, 'E_U', 'E U', DATE '1900-01-01', TIMESTAMP '1969-12-31 23:59:59.5', 1E-300, 1000, 'EUEU', "
    "TIMESTAMP '1970-01-01 00:00:00'",
)
STOPPING = ("n = w", "w > 4.5")  # with decimals of more digits after the point, Spark stops at 38 digits before it
FITTING = "w IS NULL OR w BETWEEN -1000 AND 1000"
ATOMS = (
    *STOPPING, "n = 0", "n > 0.005", "n <> 5", "n >= -0.01", "n IN (0, 5, 9999999999.99)", "w < 1", "w BETWEEN -1 AND 1",
    "w = 99999999999999999999999999999999999999", "v = 'EU'", "v IN ('EU', 'eu')", "v IS NULL", "v <> 'EU'", "c = 'EU'",
    "c IS NOT NULL", "c = 'A'", "d = DATE'2024-02-29'", "d < DATE'1600-01-01'", "d >= DATE'2024-02-29'", "d IS NULL",
    "d > TIMESTAMP_NTZ'2024-02-29 00:00:00'", "t <= TIMESTAMP_NTZ'2024-02-29 00:00:00.000001'", "t < DATE'2024-02-29'",
    "t IS NULL", "b > 1", "b = 0", "length(v) = 2",
    # Reversed, NULL in lists, signs, the constant first, other spellings of one thing.
    "n BETWEEN 5 AND 0", "n NOT BETWEEN -1 AND 5", "n IN (0, NULL)", "n NOT IN (5, NULL)", "n NOT IN (0, 5.00)", "0.010 >= n",
    "5 <> n", "n = -0.0", "n != +5", "n == 00005", "n < - 0", "n <=> 5", "n IS DISTINCT FROM 5", "NOT n IS NULL", "w IN (5)",
    "w = 99999999999999999999999999999999999998 OR w IS NULL", "k = 100", "k > -100.5", "k IN (500, 9999900)",
    "v = ''", "v IN ('', 'EU')", "v NOT IN ('EU')", "v LIKE 'E\\_U'", "v LIKE 'E!_U' ESCAPE '!'", "v > 'EU'", "v = 'EU '",
    "v = \"EU\"", "v = 'E' 'U'", "v = r'EU'", "upper(v) = 'EU'", "c = 'EU  '", "c IN ('A', 'US')", "rtrim(c) = 'A'",
    "c = 'E U'",
    "u = 'EU'", "u IN ('a_b', 'EUEU')", "u IS NULL", "u = 'E%'", "q = TIMESTAMP_NTZ'2024-02-29 00:00:00.001'",
    "q < TIMESTAMP_NTZ'2024-02-29 00:00:00.0015'", "q BETWEEN DATE'1582-10-15' AND DATE'1970-01-01'", "q IS NOT NULL",
    "d = TIMESTAMP_NTZ'2024-02-29 00:00:01'", "d IN (DATE'2024-02-29', DATE'1900-01-01')", "d <> DATE'9999-12-31'",
    "t IN (TIMESTAMP_NTZ'1969-12-31 23:59:59.5')", "DATE'2024-02-29' = d", "year(d) = 2024", "b = double('NaN')", "b <> b",
    "n = 5 IS NULL", "NOT n = 5 IS NULL", "! n = 5", "n = 5 /* AND v = 'x' */", "n = 5 -- AND v = 'x'\n", "true",
    "n = 5 <=> true",
    "(((n = 5)))", "CASE WHEN n = 5 THEN v = 'EU' ELSE c = 'A' END", "if(n > 0, v IS NULL, NULL)",
)  # fmt: skip
CONDITIONS, SEED = EXAMPLES or 150, int(os.environ.get("REDOLAKE_SEED", "36"))


def conditions(chance: Random, number: int) -> list[str]:
    """Return the atoms, and conditions made of several of them."""

    def made(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice(ATOMS)
        if chance.random() < 0.3:
            return f"{chance.choice(('NOT', 'NOT NOT', '!'))} ({made(depth - 1)})"
        sign = chance.choice(("AND", "AND", "OR"))
        return (
            f"({made(depth - 1)} {sign} {made(depth - 1)})"
            if chance.random() < 0.7
            else f"({made(depth - 1)}) {sign} ({made(depth - 1)})"
        )

    return [*ATOMS, *(made(4) for _ in range(number))]


def test_what_oracle_evaluates_of_a_filter_leaves_out_no_row_that_spark_would_keep(spark: Any, source: Shop) -> None:
    source.run_sql(
        "CREATE TABLE odd (id NUMBER(9) PRIMARY KEY, n NUMBER(12,2), w NUMBER(38), v VARCHAR2(10), c CHAR(4), d DATE, "
        "t TIMESTAMP(6), b BINARY_DOUBLE, k NUMBER(5,-2), u NVARCHAR2(10), q TIMESTAMP(3))",
        ALL.format("odd", "ALL"),
        *(f"INSERT INTO odd VALUES ({number}, {values})" for number, values in enumerate(HOSTILE)),
    )
    pipeline = source.pipeline(tables=["SHOP.ODD"])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    lake = spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id)).cache()
    for text in STOPPING:
        with pytest.raises(ArithmeticException, match="NUMERIC_VALUE_OUT_OF_RANGE"):
            lake.select(is_true(text)).collect()
    texts, passing, asked = conditions(Random(SEED), CONDITIONS), dict[int, set[int]](), dict[int, frozenset[int]]()
    stops = {n for n, text in enumerate(texts) if any(one in text for one in STOPPING)}
    for start in range(0, len(texts), 250):
        part = {*range(start, min(start + 250, len(texts)))}
        for frame, numbers in ((lake, part - stops), (lake.filter(FITTING), part & stops)):
            rows = frame.select("ID", *(is_true(texts[n]).alias(f"is {n}") for n in sorted(numbers))).collect()
            passing |= {n: {row["ID"] for row in rows if row[f"is {n}"]} for n in numbers}
            asked |= dict.fromkeys(numbers, frozenset(row["ID"] for row in rows))
    given, exact = 0, 0
    with source.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        table = table_of(source, pipeline)
        for number, text in enumerate(texts):
            entry = {"table": "SHOP.ODD", "where": text}
            pushed = pushed_for(source.pipeline(tables=[entry]), table)
            if pushed is None:
                continue
            in_spark = passing[number]
            cursor.execute(f"SELECT id FROM odd WHERE {pushed.condition}", dict(pushed.binds))
            in_oracle = {found for (found,) in cursor.fetchall()} & asked[number]
            given += 1
            exact += in_oracle == in_spark
            assert in_spark <= in_oracle, (text, pushed.condition)

    assert given > 80
    assert exact > given / 2


def table_of(shop: Shop, pipeline: Any) -> DictionaryTable:
    with open_pipeline_source(pipeline, shop.params, pipeline.source.container) as oracle:
        (table,) = read_tables(oracle, [pipeline.tables[0].id], pipeline.source.container).values()
    return table


def test_rows_that_were_read_by_one_filter_are_not_loaded_by_another(source: Shop) -> None:
    entry = {"table": "SHOP.PEOPLE", "exclude_columns": ['"id"', '"_commit_scn"'], "where": "qty > 2"}
    first, second = (source.pipeline(tables=[{**entry, "where": where}]) for where in ("qty > 2", "qty > 1"))
    begun = steps.begin_snapshot(Run(first, source.params), ["SHOP.PEOPLE"])
    read = steps.read_snapshot_table(Run(first, source.params), begun.scn, "SHOP.PEOPLE")

    assert read.rows == 3
    with pytest.raises(SchemaConflict, match="filters the table in another way than its rows were read") as caught:
        steps.prepare_snapshot_load(second, {"SHOP.PEOPLE": begun.scn})
    assert "redolake snapshot SHOP.PEOPLE --replace" in caught.value.cure
    assert steps.prepare_snapshot_load(first, {"SHOP.PEOPLE": begun.scn})


def test_a_value_that_a_filter_cannot_see_holds_the_table_instead_of_leaving_its_row_out(spark: Any, source: Shop) -> None:
    source.run_sql(
        "CREATE TABLE old (id NUMBER(9) PRIMARY KEY, d DATE)",
        ALL.format("old", "ALL"),
        "INSERT INTO old VALUES (1, TO_DATE('-0044-03-15', 'SYYYY-MM-DD'))",
    )
    pipeline = source.pipeline(tables=[{"table": "SHOP.OLD", "where": "coalesce(year(d), 0) < 2000 AND d IS NOT NULL"}])
    with pytest.raises(TableHeld, match="D contains a date before year 1"):
        steps.take_snapshot(pipeline, source=source.params, spark=spark)


def ids(spark: Any, target: str) -> list[int]:
    return sorted(row["ID"] for row in spark.read.format("delta").load(target).collect())


def accounts(shop: Shop) -> dict[str, int]:
    """Return the sums of the row accounts of all batches."""
    found = Counter[str]()
    for file in (shop.folder / "landing").rglob("batches/*/manifest.json"):
        for table in json.loads(file.read_text())["tables"]:
            found.update(table["balance"])
    return dict(found)


def test_an_expression_of_the_key_holds_where_it_makes_one_of_two_keys(spark: Any, source: Shop) -> None:
    for name in ("codes", "pairs", "nulls", "later"):
        source.run_sql(
            f"CREATE TABLE {name} (code VARCHAR2(9) PRIMARY KEY, n NUMBER(5))",
            ALL.format(name, "PRIMARY KEY"),
            f"INSERT INTO {name} VALUES ('a', 1)",
            f"INSERT INTO {name} VALUES ('b', 2)",
        )
    source.run_sql(
        "CREATE TABLE personal (ssn VARCHAR2(9), code VARCHAR2(9), PRIMARY KEY (ssn, code))",
        ALL.format("personal", "PRIMARY KEY"),
        "INSERT INTO personal VALUES ('clear-1', 'a')",
    )
    key = {"columns": {"CODE": {"expression": "upper(code)", "injective": True}}}
    masked = {"mask": {"SSN": "hash"}, "mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
    no_key = {"columns": {"CODE": {"expression": "nullif(upper(code), 'Z')", "injective": True}}}
    entries = [
        *({"table": f"SHOP.{name}", **key} for name in ("CODES", "PAIRS")),
        {"table": "SHOP.PERSONAL", **key, **masked},
        *({"table": f"SHOP.{name}", **no_key} for name in ("NULLS", "LATER")),
    ]
    pipeline = source.pipeline(tables=entries)
    source.run_sql("INSERT INTO pairs VALUES ('B', 3)", "INSERT INTO nulls VALUES ('z', 3)")
    with pytest.raises(TableHeld) as held:
        steps.take_snapshot(pipeline, source=source.params, spark=spark)
    assert "two keys of Oracle become one: CODE B and CODE b are both B" in str(held.value)
    assert "makes the key of a row NULL, by which no later change would find it: CODE z" in str(held.value)
    source.run_sql("UPDATE codes SET n = 5 WHERE code = 'a'", "UPDATE codes SET code = 'c' WHERE code = 'b'")
    source.run_sql("UPDATE later SET code = 'z' WHERE code = 'b'")
    source.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)
    rows = delta_rows(pipeline.target(TableId("SHOP", "CODES")))
    source.run_sql("INSERT INTO codes VALUES ('A', 3)", "INSERT INTO personal VALUES ('clear-1', 'A')")
    source.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)
    status = {table.table: table for table in steps.read_status(pipeline).tables}
    both = f"{hashed('clear-1')}, A"

    assert sorted((row["CODE"], row["N"]) for row in rows) == [("A", 5), ("C", 2)]
    assert status["SHOP.CODES"].state == "held"
    assert "two keys of Oracle become one: CODE A, and that of another row, are both A" in str(status["SHOP.CODES"].error)
    assert f"become one: SSN ***, CODE A, and that of another row, are both {both}" in str(status["SHOP.PERSONAL"].error)
    assert "makes the key of a row NULL, by which no later change would find it: CODE z" in str(status["SHOP.LATER"].error)


def test_ddl_is_followed_through_names_and_stops_at_what_an_expression_needs(spark: Any, source: Shop, tmp_path: Path) -> None:
    source.run_sql(
        "CREATE TABLE orders (id NUMBER(9) PRIMARY KEY, cust_nm VARCHAR2(9), price NUMBER(9,2), qty NUMBER(5))",
        ALL.format("orders", "ALL"),
        "INSERT INTO orders VALUES (1, 'ann', 2.5, 2)",
    )
    entry = {
        "match": "SHOP.ORD*",
        "rename": {"CUST_NM": "customer", "CITY": "town"},
        "mask": {"*_SECRET": "redact"},
        "add": {"total": {"expression": "price * qty", "type": "decimal(20,2)", "comment": "in all"}},
        "columns": {"QTY": {"comment": "how many"}},
    }
    pipeline = source.pipeline(tables=[entry])
    source.run_sql("COMMENT ON COLUMN orders.cust_nm IS 'who'", "COMMENT ON COLUMN orders.qty IS 'of Oracle'")
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "COMMENT ON COLUMN orders.qty IS 'of Oracle again'",
        "COMMENT ON COLUMN orders.price IS 'each'",
        "ALTER TABLE orders ADD city VARCHAR2(9)",
        "ALTER TABLE orders RENAME COLUMN cust_nm TO client",
        "ALTER TABLE orders RENAME COLUMN price TO each_price",
        "ALTER TABLE orders MODIFY qty NUMBER(7)",
        "UPDATE orders SET client = 'bob', city = 'Rome', qty = 4 WHERE id = 1",
        "INSERT INTO orders (id, client, each_price, qty, city) VALUES (2, 'cy', 1, 3, 'Oslo')",
    )
    followed = caught_up(source, pipeline, spark)
    rows = delta_rows(pipeline.target(TableId("SHOP", "ORDERS")))
    fields = spark.read.format("delta").load(pipeline.target(TableId("SHOP", "ORDERS"))).schema.fields
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)
    warned = [[f for f in found if f.severity in ("error", "warning")] for found in both_findings(source, pipeline)]
    wrong = {"table": "SHOP.ORDERS", "where": "region = 'EU'", "rename": {"NOBODY": "x"}}
    file = tmp_path / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"shop": {"tables": [wrong]}}}))
    lines = [
        [f"line {1 + file.read_text()[: file.read_text().index(sought)].count(chr(10))}" for sought in ("NOBODY", "where")],
        *(
            [f.cure.rpartition(", ")[2] for f in found if f.severity == "error"]
            for found in both_findings(source, source.pipeline(tables=[wrong]), file)
        ),
    ]
    source.run_sql("ALTER TABLE orders DROP COLUMN each_price")
    stopped = caught_up(source, pipeline, spark)

    assert lines[0] == lines[1] == lines[2]
    assert (followed.error, verified.equal) == (None, True)
    assert [[(f.subject, f.severity, f.what.partition(":")[0]) for f in found] for found in warned] == [
        [("SHOP.ORDERS", "warning", "the added column total needs PRICE, which does not exist any more")]
    ] * 2
    assert all(found[0].cure.startswith("leave it so; correct it before the table is read again: ") for found in warned)
    assert sorted((row["ID"], row["customer"], row["town"], str(row["total"])) for row in rows) == [
        (1, "bob", "Rome", "10.00"),
        (2, "cy", "Oslo", "3.00"),
    ]
    assert "total (`price * qty`) needs the column EACH_PRICE" in str(stopped.error)
    comments = {field.name: field.metadata["comment"] for field in fields if "comment" in field.metadata}
    assert comments == {"customer": "who", "QTY": "how many", "EACH_PRICE": "each", "total": "in all"}


def both_findings(shop: Shop, pipeline: Any, file: Path | None = None) -> tuple[list[Finding], list[Finding]]:
    of_tables = [f for f in run_doctor(pipeline, shop.params, file=file) if f.subject.startswith("SHOP.")]
    return [f for f in steps.validate(steps.Run(pipeline), file=file) if f.subject.startswith("SHOP.")], of_tables


def test_a_value_that_cannot_be_cast_holds_its_table_and_another_expression_cures_it(spark: Any, source: Shop) -> None:
    source.run_sql(
        "CREATE TABLE texts (id NUMBER(9) PRIMARY KEY, v VARCHAR2(9))",
        ALL.format("texts", "PRIMARY KEY"),
        "INSERT INTO texts VALUES (1, '12')",
    )
    pipeline = source.pipeline(tables=[{"table": "SHOP.TEXTS", "add": {"number": {"expression": "v", "type": "int"}}}])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql("UPDATE texts SET v = '13' WHERE id = 1")
    good = caught_up(source, pipeline, spark)
    source.run_sql("UPDATE texts SET v = 'x' WHERE id = 1")
    held = caught_up(source, pipeline, spark)
    cured = source.pipeline(
        tables=[{"table": "SHOP.TEXTS", "add": {"number": {"expression": "try_cast(v AS int)", "type": "int"}}}]
    )
    edits = steps.plan_edit(cured).edits
    misfit = source.pipeline(
        tables=[{"table": "SHOP.TEXTS", "add": {"days": {"expression": "date_add(v, array(1))", "type": "date"}}}]
    )
    by_landing = [f.what for f in steps.validate(steps.Run(misfit, spark=spark), start_spark=True) if f.severity == "error"]
    steps.take_snapshot(cured, tables=["SHOP.TEXTS"], replace=True, source=source.params, spark=spark)
    source.run_sql("UPDATE texts SET v = '14' WHERE id = 1")
    again = caught_up(source, cured, spark)

    assert (good.error, again.error) == (None, None)
    assert ["DATATYPE_MISMATCH" in what for what in by_landing] == [True], "types are those of the landed dictionary"
    assert "a value of number (`v`) cannot be cast to int" in str(held.error)
    assert [(edit.effect, "number (`try_cast(v AS int)`)" in edit.what) for edit in edits] == [("held", True)]
    assert [row["number"] for row in delta_rows(cured.target(TableId("SHOP", "TEXTS")))] == [14]


def test_a_mapping_that_needs_more_than_the_redo_has_is_refused_before_a_load(source: Shop) -> None:
    source.run_sql(
        "CREATE TABLE lean (id NUMBER(9) PRIMARY KEY, a NUMBER(5), b NUMBER(5), email VARCHAR2(9))",
        ALL.format("lean", "PRIMARY KEY"),
    )
    one = source.pipeline(tables=[{"table": "SHOP.LEAN", "add": {"twice": "a * 2"}}])
    two = source.pipeline(tables=[{"table": "SHOP.LEAN", "add": {"sum": "a + b"}, "where": "no = 1"}])
    found = {f.what: f.cure for f in run_doctor(two, source.params) if f.severity == "error"}
    filtered = source.pipeline(tables=[{"table": "SHOP.LEAN", "where": "a = 1"}])
    (lacking,) = (f for f in run_doctor(filtered, source.params) if f.severity == "error")
    notes = [f.what for f in run_doctor(one, source.params) if f.severity == "note"]

    assert [f for f in run_doctor(one, source.params) if f.severity == "error"] == []
    assert "columns that look personal and have no mask: EMAIL (an e-mail address)" in notes
    assert list(found) == [
        "`where` needs NO, which does not exist",
        "the redo of an UPDATE would lack columns that this needs: sum (`a + b`)",
    ]
    assert 'ALTER TABLE "SHOP"."LEAN" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS' in found[list(found)[1]]
    with pytest.raises(ConfigurationError, match="needs NO"):
        steps.begin_snapshot(Run(two, source.params), ["SHOP.LEAN"])
    assert lacking.what == "the redo of an UPDATE would lack columns that this needs: where: a = 1"
    source.run_sql(lacking.cure.partition(";")[0])
    assert [f for f in run_doctor(filtered, source.params) if f.severity == "error"] == []


def test_users_code_makes_columns_and_holds_its_table_alone_where_it_fails(spark: Any, source: Shop) -> None:
    code = "tests.references.user_code:{}"
    good = {"function": code.format("initials"), "columns": {"initial": "string", "NOTE": "int"}}
    bad = {"function": code.format("failing"), "columns": {"n": "bigint"}}
    source.run_sql(
        "CREATE TABLE others (id NUMBER(9) PRIMARY KEY)", ALL.format("others", "ALL"), "INSERT INTO others VALUES (1)"
    )
    entry = {"table": "SHOP.PEOPLE", "exclude_columns": ['"id"', '"_commit_scn"'], "transform": good}
    pipeline = source.pipeline(tables=[entry])
    both = source.pipeline(tables=[entry, {"table": "SHOP.OTHERS", "transform": bad}])
    findings = [f.what for f in run_doctor(both, source.params) if f.severity == "error"]
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "UPDATE people SET cust_nm = 'zoe', note = 'four' WHERE id = 1", "DELETE FROM people WHERE id = 2", insert(9)
    )
    status = caught_up(source, pipeline, spark)
    rows = {row["ID"]: row for row in delta_rows(pipeline.target(TableId("SHOP", "PEOPLE")))}
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)
    versions = json.dumps([json.loads(f.read_text()) for f in (source.folder / "landing").rglob("spec.json")])

    assert findings == ["redolake: users' code tests.references.user_code:failing raised KeyError."]
    assert (status.error, verified.equal) == (None, True)
    assert (rows[1]["initial"], rows[1]["NOTE"], rows[9]["initial"], rows[9]["NOTE"]) == ("Z", 4, "N", 8)
    assert sorted(rows) == [1, 3, 4, 5, 9]
    assert digest_of(good["function"]) in versions  # type: ignore[arg-type]


def test_no_file_plan_error_or_line_has_the_key_of_masks_or_the_clear_text_of_a_masked_key(
    spark: Any, source: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = list[object]()
    source.run_sql(
        "CREATE TABLE secrets (ssn VARCHAR2(20) PRIMARY KEY, v VARCHAR2(9))",
        ALL.format("secrets", "PRIMARY KEY"),
        "INSERT INTO secrets VALUES ('clear-1', 'x')",
    )
    masked = {"table": "SHOP.SECRETS", "mask": {"SSN": "hash"}, "mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
    wrong = source.pipeline(tables=[{**masked, "add": {"n": {"expression": "v", "type": "int"}}}])
    with pytest.raises(TableHeld) as held:
        steps.take_snapshot(wrong, source=source.params, spark=spark)
    good = source.pipeline(tables=[masked])
    steps.take_snapshot(good, tables=["SHOP.SECRETS"], replace=True, source=source.params, spark=spark, report=said.append)
    source.run_sql("UPDATE secrets SET v = 'y' WHERE ssn = 'clear-1'", "INSERT INTO secrets VALUES ('clear-2', 'z')")
    status = caught_up(source, good, spark)
    target = good.target(TableId("SHOP", "SECRETS"))
    rows = delta_rows(target)
    spark.sql(f"DELETE FROM delta.`{target}` WHERE V = 'z'")
    spark.sql(f"UPDATE delta.`{target}` SET V = 'a'")
    spark.sql(f"INSERT INTO delta.`{target}` SELECT 'one too many' AS SSN, V, _commit_scn FROM delta.`{target}`")
    found = steps.verify_tables(good, source=source.params, spark=spark, report=said.append)
    mended = steps.repair_table(good, "SHOP.SECRETS", reason="why", source=source.params, spark=spark, report=said.append)
    again = steps.verify_tables(good, source=source.params, spark=spark, report=said.append)
    kept = [file for folder in ("landing", "lake") for file in (source.folder / folder).rglob("*") if file.is_file()]
    without_rows = [file for file in kept if file.suffix != ".parquet" or "lake" in file.relative_to(source.folder).parts]
    plan = spark.createDataFrame([("x",)], "s string").select(hash_udf(KEY.encode())(F.col("s").cast("binary")))
    lines = " ".join(map(str, (*said, held.value, status, found, mended, again, steps.read_status(good), caplog.text)))

    assert "in the row with SSN ***" in str(held.value)
    assert status.error is None
    assert {row["SSN"]: row["V"] for row in rows} == {hashed("clear-1"): "y", hashed("clear-2"): "z"}
    (compared,) = found.tables
    assert (compared.missing_rows, compared.extra_rows, compared.differing_cells) == (1, 1, 1)
    assert {one.key for one in found.samples[compared.table]} == {hashed("clear-1"), hashed("clear-2"), "one too many"}
    assert (mended.equal, again.equal) == (True, True)
    assert "clear-" not in lines
    assert KEY not in lines
    assert [file for file in kept if KEY.encode() in file.read_bytes()] == []
    assert [file for file in without_rows if b"clear-" in bytes_of(file)] == [], "the ledger and the proofs too"
    assert KEY not in plan._jdf.queryExecution().toString()


def test_the_hash_of_bytes_that_are_no_characters_keeps_two_keys_apart(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`binary` keeps each value of a text, and `hash` is what a key may have: together they made one key of two."""
    monkeypatch.setenv("REDOLAKE_MASK_KEY", KEY)
    version = TableVersion(
        TableId("SHOP", "T"), Scn(1), 1, 1, (Column(1, "CODE", OracleType("VARCHAR2", length=9), 1, False),), (1,), 2,
        mapping=TableMapping(
            computed=(Computed(1, "CODE", "string", "mask", (1,), mask="hash"),),
            secret=SecretName(variable="REDOLAKE_MASK_KEY"),
        ),
    )  # fmt: skip
    values = [b"\xff", b"\xfe", b"\xef\xbf\xbd", b"plain", "\u00e9\u4e2d".encode(), b"a\x00b", None]
    rows = spark.createDataFrame([(value,) for value in values], "b binary").withColumnRenamed("b", source_value(1))

    hashes = [row[0] for row in rows.select(shape(version).values[1]).collect()]

    assert hashes == [None if value is None else hmac.new(KEY.encode(), value, hashlib.sha256).hexdigest() for value in values]


def bytes_of(file: Path) -> bytes:
    body = file.read_bytes()
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def test_equal_numbers_and_moments_have_one_hash_in_columns_of_any_scale_and_after_modify(spark: Any, source: Shop) -> None:
    columns = {
        "a": "NUMBER(9)", "b": "NUMBER(12,2)", "c": "NUMBER", "d": "NUMBER(5,3)", "t": "VARCHAR2(9)", "p": "CHAR(3)",
        "day": "DATE", "at": "TIMESTAMP(6)", "tail": "NUMBER(12,2)", "face": "VARCHAR2(40)", "raw": "RAW(9)",
    }  # fmt: skip
    values = "1.5, 1.5, 1.5, '1.5', '1', DATE '2024-01-31', TIMESTAMP '2024-01-31 00:00:00', 12345678.5, '{}', 'AB'"
    faces = "abcd" + 2 * "\U0001f469\u200d\U0001f4bb"  # six characters: each face is joined of three
    source.run_sql(
        f"CREATE TABLE sums (id NUMBER(9) PRIMARY KEY, {', '.join(map(' '.join, columns.items()))})",
        ALL.format("sums", "ALL"),
        f"INSERT INTO sums VALUES (1, 1, {values.format(faces)})",
    )
    masks = {**dict.fromkeys(columns, "hash"), "tail": "last4", "face": "last4"}
    entry = {"table": "SHOP.SUMS", "mask": masks, "mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
    pipeline = source.pipeline(tables=[entry])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "ALTER TABLE sums MODIFY a NUMBER(12,2)",
        f"INSERT INTO sums VALUES (2, 1.5, {values.format('ab' + faces[-6:])})",
        "INSERT INTO sums (id, a) VALUES (3, 1)",
    )
    status = caught_up(source, pipeline, spark)
    rows = {row["ID"]: row for row in delta_rows(pipeline.target(TableId("SHOP", "SUMS")))}
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark)

    assert (status.error, verified.equal) == (None, True)
    assert rows[1]["A"] == rows[3]["A"] == hashed("1")
    assert {rows[n][name] for n in (1, 2) for name in "BCDT"} | {rows[2]["A"]} == {hashed("1.5")}
    assert rows[1]["P"] == hashed("1  ")
    assert rows[1]["DAY"] == rows[1]["AT"] == hashed("2024-01-31 00:00:00")
    assert rows[1]["RAW"] == hashed("AB")
    assert (rows[1]["TAIL"], rows[1]["FACE"], rows[2]["FACE"]) == ("****78.5", f"****{faces[-4:]}", f"****{faces[-4:]}")
    assert (rows[3]["TAIL"], rows[3]["B"]) == (None, None)


def test_a_column_that_oracle_renames_is_not_read_again_without_its_mask(source: Shop) -> None:
    source.run_sql(
        "CREATE TABLE owners (id NUMBER(9) PRIMARY KEY, ssn VARCHAR2(20))",
        ALL.format("owners", "ALL"),
        "INSERT INTO owners VALUES (1, 'clear-1')",
    )
    settings = {"mask": {"*SSN": "redact", "EMIAL": "redact"}, "masked_in_landing": "clear"}
    pipeline = source.pipeline(tables=["SHOP.OWNERS"], **settings)
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=source.params)
    warned = [f.what for f in run_doctor(pipeline, source.params) if f.severity == "warning"]
    source.run_sql("ALTER TABLE owners RENAME COLUMN ssn TO social")
    with pytest.raises(ConfigurationError, match="SOCIAL was masked as SSN before it was renamed") as refused:
        steps.begin_snapshot(Run(pipeline, source.params), ["SHOP.OWNERS"], replace=True)
    cured = source.pipeline(tables=[{"table": "SHOP.OWNERS", "mask": {"SOCIAL": "redact"}}], **settings)

    assert "`EMIAL` masks nothing: no table has such a column" in warned
    assert "`SOCIAL: redact`" in str(refused.value)
    assert steps.begin_snapshot(Run(cured, source.params), ["SHOP.OWNERS"], replace=True).tables == ("SHOP.OWNERS",)


def test_no_file_of_an_encrypted_landing_has_clear_text_and_its_tables_equal_the_source(
    spark: Any, source: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDING_KEY", LANDING_KEY)
    source.run_sql(
        "CREATE TABLE secrets (ssn VARCHAR2(20) PRIMARY KEY, v VARCHAR2(9), doc CLOB)",
        ALL.format("secrets", "ALL"),
        "INSERT INTO secrets VALUES ('clear-1', 'x', 'a document')",
    )
    masked = {
        "table": "SHOP.SECRETS",
        "exclude_columns": ["DOC"],
        "mask": {"SSN": "hash"},
        "mask_key": {"variable": "REDOLAKE_MASK_KEY"},
    }
    encrypted = {"landing_key": {"variable": "LANDING_KEY"}, "masked_in_landing": "refuse"}
    pipeline = source.pipeline(tables=[masked], **encrypted)
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    with source.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO secrets VALUES ('clear-2', 'open', NULL)")  # its rows are carried over
        source.run_sql("UPDATE secrets SET v = 'y' WHERE ssn = 'clear-1'", "INSERT INTO secrets VALUES ('clear-3', 'z', NULL)")
        first = caught_up(source, pipeline, spark)
        monkeypatch.setenv("AIRFLOW_CONN_SECOND", json.dumps({"conn_type": "generic", "password": SECOND_KEY}))
        rotated = source.pipeline(
            tables=[masked],
            landing_key={"connection": "second"},
            old_landing_keys=[{"variable": "LANDING_KEY"}],
            masked_in_landing="refuse",
        )
        source.run_sql("DELETE FROM secrets WHERE ssn = 'clear-3'")
        second = caught_up(source, rotated, spark)
        connection.commit()
    third = caught_up(source, rotated, spark)
    rows = delta_rows(rotated.target(TableId("SHOP", "SECRETS")))
    verified = steps.verify_tables(rotated, source=source.params, spark=spark)
    files = [file for folder in ("landing", "lake") for file in (source.folder / folder).rglob("*") if file.is_file()]
    carried = [file for file in files if "/carry-" in str(file)]
    monkeypatch.setenv("LANDING_KEY", "not the key of the landing 93be07c1d4f8")
    source.run_sql("INSERT INTO secrets VALUES ('clear-4', 'w', NULL)")
    source.switch_logs()
    before = sorted((source.folder / "landing").rglob("*.parquet"))
    with pytest.raises(ConfigurationError, match="another one than files of the landing were written with"):
        steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)

    assert (first.error, second.error, third.error) == (None, None, None)
    assert {row["SSN"]: row["V"] for row in rows} == {hashed("clear-1"): "y", hashed("clear-2"): "open"}
    assert verified.equal
    assert [file for file in files if b"clear-" in file.read_bytes()] == []
    assert [file for file in files if any(key.encode() in file.read_bytes() for key in (KEY, LANDING_KEY, SECOND_KEY))] == []
    assert len(carried) >= 2
    assert all(file.name.endswith(".encrypted.parquet") for file in carried)
    assert sorted((source.folder / "landing").rglob("*.parquet")) == before


def test_an_expression_that_spark_cannot_compute_is_named_with_the_condition_of_spark(
    spark: Any, source: Shop, tmp_path: Path
) -> None:
    expressions = {"RATES": "100 / n", "CALLS": "no_such_function(n)", "HIDDEN": "cast(concat('secret', n) AS int)"}
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION somebodys(n INT) RETURNS INT RETURN CAST(rand() * n AS INT)")
    for name in expressions:
        source.run_sql(
            f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, n NUMBER(5))",
            ALL.format(name, "ALL"),
            f"INSERT INTO {name} VALUES (1, 0)",
        )
    tables = [{"table": f"SHOP.{name}", "add": {"x": {"expression": sql, "type": "int"}}} for name, sql in expressions.items()]
    others = [{"table": "SHOP.RATES", "add": {"x": "somebodys(n)"}}]
    changing = run_doctor(source.pipeline(tables=others), source.params, ask_spark=True, spark=spark)
    pipeline = source.pipeline(tables=tables)
    refused = [f for f in run_doctor(pipeline, source.params, ask_spark=True, spark=spark) if f.severity == "error"]
    file = tmp_path / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"shop": {"tables": tables}}}))
    unread = [f for f in steps.validate(steps.Run(pipeline, spark=spark), start_spark=True, file=file) if f.severity == "error"]
    logged = io.StringIO()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).addHandler(logging.StreamHandler(logged))
    with pytest.raises(TableHeld):
        steps.take_snapshot(pipeline, source=source.params, spark=spark)
    said = {table.table.removeprefix("SHOP."): str(table.error) for table in steps.read_status(pipeline).tables}

    assert "INVALID_NON_DETERMINISTIC" in "".join(f.what for f in changing), "also in a function that somebody made"
    assert [f.subject for f in refused] == ["SHOP.CALLS"], "what no row can have is known before one is read"
    assert "Spark refuses x (`no_such_function(n)`)" in refused[0].what
    assert [f.what for f in unread] == [refused[0].what], "also before the dictionary was read"
    line = 1 + next(n for n, text in enumerate(file.read_text().splitlines()) if "no_such_function" in text)
    assert unread[0].cure.endswith(f"in {file}, line {line}")
    assert {name: text.partition(":")[0] for name, text in said.items()} == {
        "RATES": "DIVIDE_BY_ZERO",
        "CALLS": "UNRESOLVED_ROUTINE",
        "HIDDEN": "CAST_INVALID_INPUT",
    }
    assert all(f"x (`{sql}`)" in said[name] for name, sql in expressions.items())
    assert "secret0" not in "".join(said.values())
    assert logged.getvalue() == "", "pyspark logs the messages of exceptions, with the value that cannot be cast"


KILLS = ("merge", "evolve", "before manifest")  # of three ranges of commits; each attempt goes on


class Killed(BaseException):
    """Ends a process at a point, as a kill does: no handler of errors sees it."""


def test_statistics_of_a_batch_that_was_killed_again_and_again_are_those_of_one_that_was_not_also_after_a_lost_ledger(
    spark: Any, source: Shop
) -> None:
    entry: dict[str, Any] = {
        "table": "SHOP.PEOPLE", "exclude_columns": ['"id"', '"_commit_scn"'], "where": "region = 'EU'",
        "mask": {"SSN": "hash"}, "mask_key": {"variable": "REDOLAKE_MASK_KEY"},
    }  # fmt: skip
    pipeline = source.pipeline(tables=[entry])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "UPDATE people SET qty = 9 WHERE id = 1",
        insert(30, "US"),  # filtered
        "UPDATE people SET region = 'US' WHERE id = 2",  # filtered, and the row goes
        "ALTER TABLE people ADD city VARCHAR2(9)",
        "UPDATE people SET city = 'Rome' WHERE id = 3",
        "ALTER TABLE people ADD zip VARCHAR2(9)",
        "DELETE FROM people WHERE id = 4",
    )
    source.switch_logs()
    for point in KILLS:
        with killed_at(point), pytest.raises(Killed):
            steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)
    caught_up(source, pipeline, spark)
    counted = steps.read_stats(pipeline, 24)
    (one,) = (batch for batch in counted.batches if batch.total.rows)
    seen = seen_of(pipeline, counted)

    assert (one.total.inserted, one.total.updated, one.total.deleted) == (0, 2, 2)
    assert {term: one.total.rows[term] for term in ("applied", "filtered")} == {"applied": 3, "filtered": 2}
    assert (one.total.masked, one.total.ddl) == (3, {"add_column": 2})
    assert seen["windows"] == {"applied": 3, "filtered": 2}

    Path(pipeline.ledger_url.removeprefix("sqlite:///")).unlink()
    caught_up(source, pipeline, spark)
    rebuilt = steps.read_stats(pipeline, 24)
    assert seen_of(pipeline, rebuilt) == seen
    assert rebuilt.batches[0].applied_at <= one.applied_at  # that of the manifest, and not of the rebuild


def killed_at(name: str) -> Any:
    def point(passed: str) -> None:
        if passed == name:
            raise Killed

    return mock.patch("redolake.host.crash.point", point)


def seen_of(pipeline: Any, counted: PipelineStats) -> dict[str, Any]:
    """Return what a person sees of the batches that changed something; a rebuilt ledger does not know when windows landed."""
    accounts = Counter[str]()
    for window in steps.list_windows(pipeline, 9):
        accounts.update({term: (window.account or {}).get(term, 0) for term in ("applied", "filtered")})
    shown = read_overview(pipeline, pipeline.ledger_url, datetime.now(UTC)).tables[0]
    return {
        "batches": [
            replace(batch, landed_at=None, windows=0, applied_at=datetime.max.replace(tzinfo=UTC))
            for batch in counted.batches
            if batch.total.rows
        ],
        "windows": dict(accounts),
        "page": (shown.inserted, shown.updated, shown.deleted),
    }


NO_ROWS = ("agg_funcs", "window_funcs", "generator_funcs", "table_funcs")
OF_SEVERAL = ("aggregate.AggregateFunction", "Generator", "Nondeterministic", "WindowFunction", "TimeWindow", "SessionWindow")


@assumes(
    "the functions whose value changes, or that are not of one row, are those of the lists", of="pyspark",
    used_in="pipelines/redolake/config/expressions.py", says="A test compares these lists with Spark's own",
)  # fmt: skip
def test_each_function_of_spark_that_is_none_of_one_row_or_changes_is_refused_by_its_name(spark: Any) -> None:
    java = spark._jvm
    functions = getattr(getattr(java.org.apache.spark.sql.catalyst.analysis, "FunctionRegistry$"), "MODULE$").builtin()
    loader = java.org.apache.spark.util.Utils.getContextOrSparkClassLoader()

    def of(name: str) -> Any:
        return java.java.lang.Class.forName(name, False, loader)

    several = [of(f"org.apache.spark.sql.catalyst.expressions.{name}") for name in OF_SEVERAL]
    taken = []
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        found = functions.lookupFunction(java.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        if not name.isidentifier() or name == "case":
            continue  # operators
        if found.isDefined():
            about = found.get()
            classes = (one.isAssignableFrom(of(about.getClassName())) for one in several)
            if about.getGroup() not in NO_ROWS and not any(classes):
                continue
        with suppress(ValueError):
            uses(f"{name}(a)")
            taken.append(name)

    assert taken == [], "also functions of tables, which are in no registry of expressions"
