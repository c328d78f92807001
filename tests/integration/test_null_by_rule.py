"""`on_error: {value: null}`: a value that its column's type in the lake cannot hold is NULL by one rule, however it is read."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake import steps
from redolake.apply.delta.table import DeltaTable
from redolake.errors import TableHeld
from standin.serve import standin
from tests.fixtures.shop import Shop

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("REDOLAKE_SEED", "7"))
LOG = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA ({}) COLUMNS"
NULL = ("NULL", None)
# Literals of Oracle, and what the lake has for them.
NUMBERS = (
    NULL, ("1.25", "1.25"), ("-0.01", "-0.01"), ("1.234", None), ("1E-20", None), ("1E30", "1" + 30 * "0" + ".00"),
    ("1E36", None), ("-9999999999999999999999999999999999999999", None), ("1.5E+3", "1500.00"), ("0", "0.00"),
)  # fmt: skip
WHOLE = (NULL, ("5", "5"), ("5.5", None), ("9223372036854775807", "9223372036854775807"), ("9223372036854775808", None))
DAY = "TO_DATE('{}', 'SYYYY-MM-DD HH24:MI:SS')"
DATES = (
    NULL, *(
        (DAY.format(text), text.strip() if fits else None)
        for text, fits in (
            (" 2026-01-31 12:00:01", True), ("-4712-01-01 00:00:00", False), ("-0001-12-31 23:59:59", False),
            (" 1500-02-29 00:00:00", False), (" 0001-01-01 00:00:00", True), (" 9999-12-31 23:59:59", True),
        )
    ),
)  # fmt: skip
MOMENT = "TO_TIMESTAMP('{}', 'SYYYY-MM-DD HH24:MI:SS.FF')"
MOMENTS = (
    NULL, *(
        (MOMENT.format(text), lake)
        for text, lake in (
            (" 2026-01-31 12:00:01.123456000", "2026-01-31 12:00:01.123456"), (" 2026-01-31 12:00:01.123456789", None),
            ("-0044-03-15 00:00:00.000000000", None), (" 2026-01-31 12:00:01.500000000", "2026-01-31 12:00:01.5"),
        )
    ),
)  # fmt: skip
ZONED = (
    NULL, ("TIMESTAMP '2026-01-31 12:00:01.25 +02:00'", "2026-01-31 10:00:01.25"),
    ("TIMESTAMP '9999-12-31 23:59:59 -05:00'", None), ("TIMESTAMP '2026-01-31 12:00:01.123456789 +00:00'", None),
)  # fmt: skip
SPANS = (NULL, ("INTERVAL '1 00:00:00.5' DAY TO SECOND(9)", "86400500000"),
         ("INTERVAL '0 00:00:00.123456789' DAY TO SECOND(9)", None))  # fmt: skip
VALUES = {"N": NUMBERS, "W": WHOLE, "D": DATES, "T": MOMENTS, "Z": ZONED, "S": SPANS}
TABLE = {"table": "SHOP.HOSTILE", "columns": {"N": 2, "W": "integer", "S": "microseconds"}}


@dataclass(slots=True)
class Life:
    """A table of the source and what the lake must have of it. `unfit` counts the values that are NULL by rule."""

    shop: Shop
    chance: random.Random
    rows: dict[int, dict[str, tuple[str, str | None]]]

    def change(self, count: int) -> None:
        self.shop.run_sql(*(self.statement() for _ in range(count)))

    def statement(self) -> str:
        chance, kind = self.chance, self.chance.choice(("insert", "update", "update", "move", "delete"))
        free = min(set(range(1, 1000)) - set(self.rows))
        if kind == "insert" or not self.rows:
            self.rows[free] = row = {name: chance.choice(some) for name, some in VALUES.items()}
            return f"INSERT INTO hostile VALUES ({free}, {', '.join(sql for sql, _ in row.values())})"
        key = chance.choice(sorted(self.rows))
        if kind == "delete":
            del self.rows[key]
            return f"DELETE FROM hostile WHERE id = {key}"
        if kind == "move":
            self.rows[free] = self.rows.pop(key)
            return f"UPDATE hostile SET id = {free} WHERE id = {key}"
        name = chance.choice(sorted(VALUES))
        self.rows[key] = {**self.rows[key], name: chance.choice(VALUES[name])}
        return f"UPDATE hostile SET {name} = {self.rows[key][name][0]} WHERE id = {key}"

    @property
    def unfit(self) -> dict[str, int]:
        counts = {name: sum(row[name][0] != "NULL" and row[name][1] is None for row in self.rows.values()) for name in VALUES}
        return {name: count for name, count in counts.items() if count}

    def expected(self) -> dict[int, tuple[str | None, ...]]:
        return {key: tuple(row[name][1] for name in VALUES) for key, row in self.rows.items()}


def lake_of(spark: Any, path: str) -> dict[int, tuple[str | None, ...]]:
    """Return the rows of the lake as Spark spells them."""
    rows = spark.read.format("delta").load(path).selectExpr("ID", *(f"CAST({name} AS STRING)" for name in VALUES)).collect()
    return {int(row["ID"]): tuple(row[name] for name in VALUES) for row in rows}


@pytest.fixture
def life(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Life]:
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE hostile (id NUMBER(9) PRIMARY KEY, n NUMBER, w NUMBER, d DATE, t TIMESTAMP(9), "
            "z TIMESTAMP(9) WITH TIME ZONE, s INTERVAL DAY(9) TO SECOND(9))",
            LOG.format("hostile", getattr(request, "param", "ALL")),
        )
        yield Life(shop, random.Random(SEED), {})


def caught_up(life: Life, pipeline: Any, spark: Any) -> Any:
    life.shop.switch_logs()
    with suppress(TableHeld):
        steps.run_pipeline(pipeline, until_caught_up=True, source=life.shop.params, spark=spark)
    return steps.read_status(pipeline).tables[0]


@pytest.mark.parametrize("life", ["ALL", "PRIMARY KEY"], indirect=True)
def test_snapshot_stream_verify_and_repair_make_the_same_values_null_and_count_them(spark: Any, life: Life) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    pipeline = life.shop.pipeline(tables=[TABLE], on_error={"value": "null"})
    path = pipeline.target(pipeline.tables[0].id)
    life.change(60)
    (loaded,) = steps.take_snapshot(pipeline, source=life.shop.params, spark=spark).tables
    assert lake_of(spark, path) == life.expected()
    assert dict(loaded.nulled) == life.unfit

    for _ in range(2):
        life.change(40)
        assert caught_up(life, pipeline, spark).state == "live"
        assert lake_of(spark, path) == life.expected()
    assert steps.read_stats(pipeline, 1).total.nulled > 0
    for method in ("rows", "buckets"):
        (compared,) = steps.verify_tables(pipeline, source=life.shop.params, spark=spark, method=method).tables
        assert (compared.equal, compared.differing_cells, dict(compared.nulled)) == (True, 0, life.unfit)
        assert "NULL by rule" in str(compared)

    key = next(key for key, row in life.rows.items() if row["N"] != NULL and row["N"][1] is None)
    spark.sql(f"UPDATE delta.`{path}` SET N = 7 WHERE ID = {key}")
    (compared,) = steps.verify_tables(pipeline, source=life.shop.params, spark=spark).tables
    assert (compared.equal, compared.differing_cells) == (False, 1)
    repaired = steps.repair_table(pipeline, "SHOP.HOSTILE", reason="a test", source=life.shop.params, spark=spark)
    assert repaired.equal
    assert lake_of(spark, path) == life.expected()


def test_tables_without_a_key_or_with_nulls_in_it_or_with_a_history_have_the_rule_and_a_mapped_column_has_not(
    spark: Any, life: Life
) -> None:
    life.shop.run_sql(
        *(f"CREATE TABLE {name} (id NUMBER(9), k NUMBER(9), n NUMBER, d DATE)" for name in ("logged", "nk", "tales", "mapped")),
        "CREATE UNIQUE INDEX nk_k ON nk (k)",
        *(f"ALTER TABLE {name} ADD CONSTRAINT {name}_pk PRIMARY KEY (id)" for name in ("tales", "mapped")),
        *(LOG.format(name, "ALL") for name in ("logged", "nk", "tales", "mapped")),
        *(f"INSERT INTO {name} VALUES (1, 1, 1.001, {DATES[2][0]})" for name in ("logged", "nk", "tales")),
        f"INSERT INTO mapped VALUES (1, 1, 1.01, {DATES[2][0]})",
    )
    columns = {"N": 2}
    pipeline = life.shop.pipeline(
        tables=[
            {"table": "SHOP.LOGGED", "key": "append", "columns": columns},
            {"table": "SHOP.NK", "key": ["K"], "columns": columns},
            {"table": "SHOP.TALES", "history": "changes", "columns": columns},
            {
                "table": "SHOP.MAPPED",
                "columns": columns,
                "add": {"twice": {"expression": "coalesce(n, 0) * 2", "type": "double"}},
            },
        ],
        on_error={"value": "null"},
    )
    steps.take_snapshot(pipeline, source=life.shop.params, spark=spark)
    life.shop.run_sql(
        *(f"INSERT INTO logged VALUES ({n}, {n}, {n}.0001, {DATES[3][0]})" for n in (2, 3)),
        *(f"INSERT INTO nk VALUES (2, NULL, {n}, {DATES[3][0]})" for n in ("2.0001", "2.0002", "2.0001")),
        "DELETE FROM nk WHERE n = 2.0002",
        "UPDATE nk SET n = 3.0003 WHERE k = 1",
        "UPDATE tales SET n = 5 WHERE id = 1",
        f"UPDATE tales SET n = 5.0005, d = {DATES[1][0]} WHERE id = 1",
        "UPDATE mapped SET n = 1.0001 WHERE id = 1",
    )
    caught_up(life, pipeline, spark)
    states = {table.table: table for table in steps.read_status(pipeline).tables}

    assert {name: table.state for name, table in states.items()} == {
        "SHOP.LOGGED": "live", "SHOP.NK": "live", "SHOP.TALES": "live", "SHOP.MAPPED": "held",
    }  # fmt: skip
    assert "has more decimals" in str(states["SHOP.MAPPED"].error)
    done = steps.verify_tables(pipeline, source=life.shop.params, spark=spark)
    assert {one.table: (one.equal, dict(one.nulled)) for one in done.tables} == {
        "SHOP.LOGGED": (True, {"N": 3, "D": 3}), "SHOP.NK": (True, {"N": 3, "D": 3}), "SHOP.TALES": (True, {"N": 1}),
        "SHOP.MAPPED": (True, {"D": 1}),
    }  # fmt: skip
    history = spark.read.format("delta").load(pipeline.history_target(pipeline.tables[2].id)).filter("_op = 'update'")
    changes = [(row["_image"], row["N"], row["D"]) for row in history.orderBy("_commit_scn", "_seq").collect()]
    assert [(image, None if n is None else str(n), d is None) for image, n, d in changes] == [
        ("before", None, True), ("after", "5.00", True), ("before", "5.00", True), ("after", None, False),
    ]  # fmt: skip
    nulled = {one.table: one.total.nulled for one in steps.read_stats(pipeline, 1).tables}
    assert (nulled["SHOP.LOGGED"], nulled["SHOP.NK"], nulled["SHOP.TALES"]) == (4, 7, 1)


def test_shadows_changes_files_a_live_range_and_a_swapped_copy_have_the_same_values_null(spark: Any, life: Life) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    pipeline = life.shop.pipeline(tables=[TABLE], on_error={"value": "null"})
    path = pipeline.target(pipeline.tables[0].id)
    life.change(20)
    good, before = steps.take_snapshot(pipeline, source=life.shop.params, spark=spark).scn, life.expected()
    for _ in range(40):
        life.change(1)
    assert caught_up(life, pipeline, spark).state == "live"
    after, end = life.expected(), int(steps.read_status(pipeline).next_start_scn or 0)
    touched = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert None in {value for key in touched & {*after} for value in after[key]}

    def written(target: Any, folder: str = "") -> str:
        where = {"target": target, "folder": folder}
        (done,) = steps.run_backfill(pipeline, good + 1, end, execute=True, spark=spark, **where).recorded.tables
        return str(done.target)

    shadow = written("shadow")
    deleted = {int(row["ID"]) for row in spark.read.format("delta").load(shadow).filter("_deleted").collect()}
    replayed = {key: row for key, row in lake_of(spark, shadow).items() if key not in deleted}
    assert replayed == {key: after[key] for key in replayed}
    assert touched <= {*replayed, *deleted}
    for form, where in (("delta", ("changes",)), ("parquet", ("files", f"{life.shop.folder}/files"))):
        assert played(before, spark.read.format(form).load(written(*where))) == after

    damage(pipeline, spark)
    (filled,) = steps.backfill_live(
        pipeline, good + 1, end, execute=True, reason="a fault", source=life.shop.params, spark=spark
    ).tables
    found = lake_of(spark, path)
    assert (filled.unknown, {key: found.get(key) for key in touched}) == (0, {key: after.get(key) for key in touched})
    damage(pipeline, spark)
    copies = steps.copy_tables(pipeline, good, end, execute=True, spark=spark)
    assert lake_of(spark, copies.tables[0].target) == after
    steps.swap_table(pipeline, "SHOP.HOSTILE", copies.name, execute=True, reason="a fault", spark=spark)
    (compared,) = steps.verify_tables(pipeline, source=life.shop.params, spark=spark).tables
    assert (compared.equal, dict(compared.nulled), lake_of(spark, path)) == (True, life.unfit, after)


def damage(pipeline: Any, spark: Any) -> None:
    """Damage rows as a fault of ours would: under our own application id, so that no other writer is seen."""
    path = pipeline.target(pipeline.tables[0].id)
    log = DeltaTable(spark, path, f"{pipeline.name}/SHOP.HOSTILE/1")
    rows = spark.read.format("delta").load(path).withColumn("N", F.lit(7).cast("decimal(38,2)"))
    writer = rows.write.format("delta").mode("overwrite").option("txnAppId", f"{log.app_id}/ddl")
    writer.option("txnVersion", log.version).save(path)


def played(rows: dict[int, tuple[str | None, ...]], changes: Any) -> dict[int, tuple[str | None, ...]]:
    """Return the rows with the changes of a range."""
    images = {
        side: [f"CAST({side}.{name} AS STRING) AS {side}_{name}" for name in ("ID", *VALUES)] for side in ("before", "after")
    }
    rows = dict(rows)
    for change in changes.orderBy("_commit_scn", "_scn").selectExpr("_op", *images["before"], *images["after"]).collect():
        if change["_op"] != "insert":
            del rows[int(change["before_ID"])]
        if change["_op"] != "delete":
            rows[int(change["after_ID"])] = tuple(change[f"after_{name}"] for name in VALUES)
    return rows


def test_chunks_a_mask_a_filter_a_quarantine_and_a_history_keep_to_the_rule(spark: Any, tmp_path: Path) -> None:
    entry = {
        "table": "SHOP.BUSY",
        "columns": {"N": 2},
        "where": "region = 'EU'",
        "mask": {"NOTE": "redact"},
        "history": "changes",
    }
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0, urowids="unsupported") as oracle:
        shop, lines = Shop(oracle, tmp_path), list[str]()
        shop.run_sql("GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS")
        shop.run_sql(
            "CREATE TABLE busy (id NUMBER(9) PRIMARY KEY, n NUMBER, region VARCHAR2(2), note VARCHAR2(20), v UROWID)",
            LOG.format("busy", "ALL"),
            "INSERT INTO busy SELECT LEVEL, LEVEL / 8, 'EU', 'n' || LEVEL, NULL FROM dual CONNECT BY LEVEL <= 5000",
            "UPDATE busy SET region = 'US' WHERE id IN (2, 3)",
        )
        pipeline = shop.pipeline(
            tables=[entry], on_error={"value": "null", "undecodable": "quarantine"}, snapshot={"chunk_bytes": "64KiB"}
        )
        steps.take_snapshot(pipeline, source=shop.params, spark=spark, report=lines.append)
        assert "chunk 4 of 4" in str(lines)

        def check(apart: frozenset[int] = frozenset()) -> None:
            with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
                cursor.execute("SELECT id, TO_CHAR(n) FROM busy WHERE region = 'EU'")
                source = {key: Decimal(n) for key, n in cursor if key not in apart}
            wanted = {key: n if n == round(n, 2) else None for key, n in source.items()}
            rows = spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id)).select("ID", "N", "NOTE").collect()
            assert {int(row["ID"]): row["N"] for row in rows if row["ID"] not in apart} == wanted
            assert not any(str(row["NOTE"]).startswith("n") for row in rows)
            nulls = {"N": sum(n is None for n in wanted.values())}
            for method in ("rows", "buckets"):
                (one,) = steps.verify_tables(pipeline, source=shop.params, spark=spark, method=method).tables
                assert (one.equal, one.quarantined_keys, dict(one.nulled)) == (True, len(apart), nulls)

        shop.run_sql(
            "UPDATE busy SET n = 1.111 WHERE id = 1",
            "UPDATE busy SET n = 2.222, region = 'EU' WHERE id = 2",
            "UPDATE busy SET n = 3.333 WHERE id = 3",
            "UPDATE busy SET n = 4.444, region = 'US' WHERE id = 4",
            "UPDATE busy SET n = 5.555, v = 'AAAR3sAAEAAAACXAAB' WHERE id = 5",
            "UPDATE busy SET n = 0.5 WHERE id = 7",
            "UPDATE busy SET id = 9000 WHERE id = 9",
            "DELETE FROM busy WHERE id = 11",
            "INSERT INTO busy VALUES (9001, 9.001, 'EU', 'new', NULL)",
        )
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
        check(frozenset({5}))
        done = steps.retry_quarantine(pipeline, "SHOP.BUSY", reason="read again", source=shop.params, spark=spark)
        assert (done.done, done.left) == (('{"ID":"5"}',), {})
        check()
