"""The whole pipeline in one process: stand-in, driver, LogMiner, landing, Spark, Delta, and the comparison."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from redolake import steps
from redolake.cockpit import read_overview
from redolake.config.on_ddl import OnDdl
from redolake.context import Run, ledger_url
from redolake.context.spark import Spark
from redolake.decode.changes import decode_changes
from redolake.errors import ConfigurationError, TableHeld, TextNotValid
from redolake.job import translation
from redolake.source.olr import needed_configuration
from redolake.steps.run import apply
from redolake.values.table import TableId
from tests.fixtures.shop import Shop, open_shop
from tests.generated.hunts import hunt
from tests.generated.lob_life import LobLife
from tests.generated.table_lives import lives
from tests.references.delta_table import delta_rows
from tests.references.source_comparison import compare_with_source
from tests.support.doctor import run_doctor
from tests.tables.papers import BIG, FIRST_ROWS, MOVED, PARTLY_ROLLED_BACK, change, changes, in_table
from tests.tables.unshown_types import CHANGES, fill

pytestmark = pytest.mark.spark

TWO_TABLES = ["SHOP.CUSTOMERS", "SHOP.ORDER_LINES"]  # for tests that the other three tables would not strengthen


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> dict[str, Any]:
    shop.switch_logs()
    return steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)


def parts_pipeline(shop: Shop) -> Any:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    return shop.pipeline(tables=["SHOP.PARTS"])


def differences(shop: Shop, pipeline: Any, *tables: str) -> dict[str, Any]:
    stopped = {t.table: t.error for t in steps.read_status(pipeline).tables if t.error}
    assert {table: why for table, why in stopped.items() if not tables or table in tables} == {}
    found = compare_with_source(pipeline, shop.params, tables or None)
    return {t.table: t for t in found.tables if t.differing_cells or t.source_rows != t.delta_rows}


def test_every_table_equals_the_source_after_windows_over_two_redo_threads(shop: Shop, spark: Any) -> None:
    shop.work(30, seed=1)
    pipeline = shop.pipeline(window={"max_bytes": "40KiB", "slice_bytes": "30KiB"})
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    done = shop.work(170, seed=2)
    outcome = caught_up(shop, pipeline, spark)

    assert done.tally.partial_rollbacks > 0
    assert done.tally.rollbacks > 0
    assert outcome.windows > 3
    assert differences(shop, pipeline) == {}
    verified = steps.verify_tables(pipeline, source=shop.params, spark=spark)
    assert verified == compare_with_source(pipeline, shop.params)  # so the other tests need no Spark to compare


def test_a_window_without_changes_of_the_tables_is_applied_without_a_session_of_spark(
    shop: Shop, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run_sql("CREATE TABLE others (id NUMBER(9) PRIMARY KEY)")
    shop.work(10)
    pipeline = shop.pipeline(tables=TWO_TABLES)
    caught_up(shop, pipeline, spark)
    before = {table.table: table.complete_to_scn for table in steps.read_status(pipeline).tables}
    shop.run_sql("INSERT INTO others VALUES (1)")
    monkeypatch.setattr("redolake.context.spark.open_spark", partial(pytest.fail, "a session was opened"))

    outcome = caught_up(shop, pipeline, None)

    assert outcome.batches == 1
    assert all(table.complete_to_scn > before[table.table] for table in steps.read_status(pipeline).tables)
    assert steps.list_transactions(pipeline).read_to_at is not None
    assert differences(shop, pipeline) == {}


def test_every_table_equals_the_source_that_openlogreplicator_reads(tmp_path: Path, spark: Any) -> None:
    with open_shop(tmp_path, threads=1) as shop:
        server = shop.oracle.replicate(needed_configuration("DB", "127.0.0.1:0", []))
        source = {
            "connection": "oracle_shop", "container": "FREEPDB1", "kind": "openlogreplicator", "address": server.address,
            "database": "DB",
        }  # fmt: skip
        shop.work(20, seed=1)
        pipeline = shop.pipeline(source=source)
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        shop.work(80, seed=2)
        outcome = steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)

        assert (outcome.windows > 0, outcome.batches > 0) == (True, True)
        assert differences(shop, pipeline) == {}
        verified = steps.verify_tables(pipeline, source=shop.params, spark=spark)
        assert verified.equal, verified


def test_names_and_defaults_of_the_source_that_name_variables_read_none_of_this_machine(shop: Shop, spark: Any) -> None:
    secret = spark._jvm.java.lang.System.getenv("PATH")
    name, text = '"${env:PATH}"', "v ${env:PATH} ${user} `\\"
    shop.run_sql(
        f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, {name} VARCHAR2(40))",
        f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        f"COMMENT ON TABLE {name} IS '{text}'",
        f"INSERT INTO {name} VALUES (1, '{text}')",
    )
    pipeline = shop.pipeline(tables=[f"SHOP.{name}"])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        f"ALTER TABLE {name} ADD (added VARCHAR2(40) DEFAULT '{text}')",
        f"COMMENT ON COLUMN {name}.{name} IS '{text}'",
        f"INSERT INTO {name} (id) VALUES (2)",
        f'ALTER TABLE {name} RENAME COLUMN added TO "${{spark:spark.master}}"',
        f"UPDATE {name} SET {name} = 'new' WHERE id = 1",
    )
    caught_up(shop, pipeline, spark)

    assert differences(shop, pipeline) == {}
    target = pipeline.target(TableId("SHOP", "${env:PATH}"))
    assert {tuple(row.values())[1:3] for row in delta_rows(target)} == {("new", text), (None, text)}
    written = [path for path in shop.folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert [path for path in written if secret.encode() in path.read_bytes()] == []


def test_verify_compares_the_delta_version_of_its_scn_while_batches_are_applied(shop: Shop, spark: Any) -> None:
    pipeline = parts_pipeline(shop)
    shop.run_sql(*(f"INSERT INTO parts (id, place, quantity) VALUES ({n}, 'W1', {n})" for n in (1, 2, 3, 4)))
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    target = pipeline.target(TableId("SHOP", "PARTS"))
    optimize, meddle = f"OPTIMIZE delta.`{target}`", f"UPDATE delta.`{target}` SET quantity = 7 WHERE id = 4"

    def apply_while_reading(line: str) -> None:
        changes = {"reading": "DELETE FROM parts WHERE id IN (1, 2)", "comparing": "ALTER TABLE parts ADD (shelf NUMBER(5))"}
        if line.partition(" ")[0] in changes:
            shop.run_sql(changes[line.partition(" ")[0]])
            caught_up(shop, pipeline, spark)

    spark.sql(optimize)
    meanwhile = steps.verify_tables(pipeline, source=shop.params, spark=spark, report=apply_while_reading)
    spark.sql(optimize)
    afterwards = steps.verify_tables(pipeline, source=shop.params, spark=spark)
    spark.sql(meddle)
    meddled = steps.verify_tables(pipeline, source=shop.params, spark=spark)

    assert meanwhile.equal, meanwhile
    assert afterwards.equal, afterwards
    assert [t.source_rows for t in (*meanwhile.tables, *afterwards.tables)] == [4, 2]
    assert meanwhile.tables[0].delta_version < afterwards.tables[0].delta_version
    assert [(d.key, d.column, d.source, d.delta) for found in meddled.samples.values() for d in found] == [
        ("4", "QUANTITY", "4", "7")
    ]


def test_values_that_do_not_fit_hold_their_tables_alone_with_column_and_key(shop: Shop, spark: Any) -> None:
    shop.run_sql("CREATE TABLE people (id NUMBER(9) PRIMARY KEY, born DATE, seen TIMESTAMP(3))")
    shop.run_sql("ALTER TABLE people ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    pipeline = shop.pipeline(tables=["SHOP.EDGE_VALUES", "SHOP.PAYMENTS", "SHOP.PEOPLE"])
    shop.run_sql("INSERT INTO edge_values (id, any_number) VALUES (1, 1.5)")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        "INSERT INTO edge_values (id, any_number) VALUES (2, 12345678901234567890123456789.5)",
        "INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)",
        insert_person(7, "-0044-03-15"),
    )
    caught_up(shop, pipeline, spark)

    tables = {t.table: t for t in steps.read_status(pipeline).tables}
    assert {name: t.state for name, t in tables.items()} == {
        "SHOP.EDGE_VALUES": "held", "SHOP.PAYMENTS": "live", "SHOP.PEOPLE": "held",
    }  # fmt: skip
    assert "column ANY_NUMBER: the value has more digits than decimal(38,10) (ID 2, ROWID " in str(
        tables["SHOP.EDGE_VALUES"].error
    )
    assert "column BORN: the value is before year 1 (ID 7, ROWID" in str(tables["SHOP.PEOPLE"].error)
    assert "`string`" in str(tables["SHOP.PEOPLE"].cure)
    assert differences(shop, pipeline, "SHOP.PAYMENTS") == {}
    counted = {one.table: one.total for one in steps.read_stats(pipeline, 24).tables}
    assert (counted["SHOP.PAYMENTS"].inserted, counted["SHOP.PAYMENTS"].rows) == (1, {"landed": 1, "applied": 1})
    assert (counted["SHOP.EDGE_VALUES"].inserted, counted["SHOP.EDGE_VALUES"].rows["held"]) == (0, 1)
    assert abs(datetime.now(UTC) - counted["SHOP.PAYMENTS"].first_commit_at) < timedelta(hours=1)
    assert counted["SHOP.EDGE_VALUES"].first_commit_at is None


ODD = {"CESU-8": "61EDA0BDEDB88062", "Latin-1": "636166E9", "cut": "78E282", "half a pair": "EDA0BD79"}
MEANT = {"CESU-8": "a😀b", "Latin-1": "caf\ufffd", "cut": "x\ufffd", "half a pair": "\ufffdy"}


def insert_words(first: int, *hex_: str) -> list[str]:
    octets = "UTL_RAW.CAST_TO_VARCHAR2(HEXTORAW('{}'))"
    return [f"INSERT INTO words VALUES ({n}, {octets.format(one)}, {octets.format(one)})" for n, one in enumerate(hex_, first)]


def test_text_that_is_not_valid_utf_8_holds_its_table_alone_and_is_read_by_rule(shop: Shop, spark: Any) -> None:
    shop.run_sql(
        "CREATE TABLE words (id NUMBER(9) PRIMARY KEY, t VARCHAR2(20), b VARCHAR2(20))",
        "ALTER TABLE words ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO words VALUES (1, 'grüße 😀', 'grüße 😀')",
    )
    strict = shop.pipeline(tables=["SHOP.WORDS", "SHOP.PAYMENTS"])
    steps.take_snapshot(strict, source=shop.params, spark=spark)
    shop.run_sql(*insert_words(2, ODD["CESU-8"]), "INSERT INTO payments (id, order_id, amount) VALUES (1, 2, 3.25)")
    caught_up(shop, strict, spark)

    held = {t.table: t for t in steps.read_status(strict).tables}
    assert {name: (t.state, t.code) for name, t in held.items()} == {
        "SHOP.WORDS": ("held", "TextNotValid"),
        "SHOP.PAYMENTS": ("live", None),
    }
    assert "column T: the value is not text: it has bytes that are no characters (ID 2" in str(held["SHOP.WORDS"].error)
    assert "`invalid_text: replace`" in str(held["SHOP.WORDS"].cure)
    with pytest.raises(TextNotValid, match=r"T contains a text .* in the row with ID 2"):
        steps.take_snapshot(strict, ["SHOP.WORDS"], replace=True, source=shop.params, spark=spark)

    by_rule = shop.pipeline(
        tables=[{"table": "SHOP.WORDS", "columns": {"B": "binary"}}, "SHOP.PAYMENTS"], invalid_text="replace"
    )
    steps.take_snapshot(by_rule, ["SHOP.WORDS"], replace=True, source=shop.params, spark=spark)
    shop.run_sql(
        *insert_words(3, *ODD.values()),
        "UPDATE words SET t = 'plain' WHERE id = 3",
        "ALTER TABLE words ADD (extra NUMBER(5))",  # so LogMiner shows the rows before it as internal bytes
    )
    shop.run_sql(*(sql[:-1] + ", 1)" for sql in insert_words(7, *ODD.values())))
    caught_up(shop, by_rule, spark)

    rows = {row["ID"]: row for row in DeltaTable(by_rule.target(TableId("SHOP", "WORDS"))).to_pyarrow_table().to_pylist()}
    meant = [MEANT["CESU-8"], "plain", *list(MEANT.values())[1:], *MEANT.values()]
    assert [rows[n]["T"] for n in range(1, 11)] == ["grüße 😀", *meant]
    octets = [bytes.fromhex(one) for one in (ODD["CESU-8"], *ODD.values(), *ODD.values())]
    assert [rows[n]["B"] for n in range(1, 11)] == ["grüße 😀".encode(), *octets]
    verified = steps.verify_tables(by_rule, source=shop.params, spark=spark)
    assert verified.equal, verified


def test_numbers_of_a_scale_above_their_precision_are_followed_compared_and_read_again(shop: Shop, spark: Any) -> None:
    shop.run_sql(
        "CREATE TABLE rates (id NUMBER(9) PRIMARY KEY, low NUMBER(3,8), high NUMBER(38,-10))",
        "ALTER TABLE rates ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO rates VALUES (1, .00000999, 9e47)",
    )
    refused = run_doctor(shop.pipeline(tables=["SHOP.RATES"]), shop.params)
    pipeline = shop.pipeline(tables=[{"table": "SHOP.RATES", "columns": {"HIGH": "string"}}], large_objects="reread")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        "INSERT INTO rates VALUES (2, -.00000001, -1e10)",
        "ALTER TABLE rates ADD (a NUMBER(2,4), b NUMBER(5,127))",
        "INSERT INTO rates VALUES (3, 0, 0, .0099, NULL)",
        "ALTER TABLE rates MODIFY (a NUMBER(3,5))",
        "INSERT INTO rates VALUES (4, NULL, NULL, .00999, NULL)",
    )
    caught_up(shop, pipeline, spark)
    held = {t.table: t for t in steps.read_status(pipeline).tables}["SHOP.RATES"]
    lenient = {"table": "SHOP.RATES", "columns": {"HIGH": "string", "B": "string"}}
    by_rule = shop.pipeline(tables=[lenient])
    steps.resume_tables(by_rule, ["SHOP.RATES"])
    caught_up(shop, by_rule, spark)

    (of_doctor,) = (f for f in refused if f.subject == "SHOP.RATES.HIGH" and f.severity == "error")
    assert "`columns: {HIGH: string}`" in of_doctor.cure
    assert (held.state, "B" in str(held.error)) == ("held", True)
    for _ in range(2):
        assert steps.verify_tables(by_rule, source=shop.params, spark=spark).equal
        steps.take_snapshot(by_rule, ["SHOP.RATES"], replace=True, source=shop.params, spark=spark)
    rows = {int(row["ID"]): row for row in delta_rows(by_rule.target(TableId("SHOP", "RATES")))}
    assert [str(rows[n]["LOW"]) for n in (1, 2)] == ["0.00000999", "-1E-8"]
    assert [rows[n]["HIGH"] for n in (1, 2)] == ["9" + "0" * 47, "-1" + "0" * 10]
    assert [str(rows[n]["A"]) for n in (3, 4)] == ["0.00990", "0.00999"]


def test_a_date_before_christ_holds_its_table_alone_and_is_text_by_rule(shop: Shop, spark: Any) -> None:
    shop.run_sql(
        "CREATE TABLE people (id NUMBER(9) PRIMARY KEY, born DATE, seen TIMESTAMP(3))",
        "ALTER TABLE people ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        *(insert_person(n, text) for n, text in enumerate(("-4712-01-01", "-0044-03-15", " 1500-02-29", " 2026-01-01"), 1)),
    )
    by_rule = {"table": "SHOP.PEOPLE", "columns": {"BORN": "string", "SEEN": "string"}}
    pipeline, lenient = (shop.pipeline(tables=[people, "SHOP.PAYMENTS"]) for people in ("SHOP.PEOPLE", by_rule))
    with pytest.raises(TableHeld, match=r"BORN contains a date before year 1.* in the row with ID 1"):
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    states = {t.table: (t.state, t.code) for t in steps.read_status(pipeline).tables}
    assert states == {"SHOP.PEOPLE": ("held", "ValueDoesNotFit"), "SHOP.PAYMENTS": ("live", None)}

    steps.take_snapshot(lenient, ["SHOP.PEOPLE"], replace=True, source=shop.params, spark=spark)
    shop.run_sql(
        insert_person(5, "-0001-12-31"),
        "UPDATE people SET seen = TO_TIMESTAMP('-0001-01-01 00:00:00.25', 'SYYYY-MM-DD HH24:MI:SS.FF') WHERE id = 1",
        "ALTER TABLE people ADD (extra NUMBER(5))",  # so LogMiner shows the rows before it as internal bytes
        insert_person(6, "-0001-12-31"),
    )
    caught_up(shop, lenient, spark)

    verified = steps.verify_tables(lenient, source=shop.params, spark=spark)
    assert verified.equal, verified
    rows = {row["ID"]: (row["BORN"], row["SEEN"]) for row in delta_rows(lenient.target(TableId("SHOP", "PEOPLE")))}
    assert rows[1] == ("-4712-01-01 00:00:00", "-0001-01-01 00:00:00.25")
    assert rows[3] == ("1500-02-29 00:00:00", None)
    assert rows[5] == rows[6] == ("-0001-12-31 00:00:00", None)


def insert_person(key: int, born: str) -> str:
    return f"INSERT INTO people (id, born) VALUES ({key}, TO_DATE('{born}', 'SYYYY-MM-DD'))"


def test_a_table_replaced_by_an_older_copy_is_held_until_a_new_snapshot(shop: Shop, spark: Any) -> None:
    pipeline = parts_pipeline(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    target, older = Path(pipeline.target(TableId("SHOP", "PARTS"))), shop.folder / "older"
    shutil.copytree(target, older)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900001, 'W1', 1)")
    caught_up(shop, pipeline, spark)
    shutil.rmtree(target)
    shutil.copytree(older, target)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900002, 'W2', 2)")
    caught_up(shop, pipeline, spark)

    (held,) = steps.read_status(pipeline).tables
    assert held.state == "held"
    assert "it is an older copy" in str(held.error)
    steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=spark)
    caught_up(shop, pipeline, spark)
    assert differences(shop, pipeline) == {}

    moved = shop.pipeline(tables=[{"table": "SHOP.PARTS", "target": "elsewhere/parts"}])
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900003, 'W3', 3)")
    caught_up(shop, moved, spark)
    (held,) = steps.read_status(moved).tables
    assert "there is no Delta table: `target` or `lake` in pipelines.yml was changed" in str(held.error)
    shutil.move(target, Path(moved.target(TableId("SHOP", "PARTS"))))
    steps.resume_tables(moved, ["SHOP.PARTS"])
    caught_up(shop, moved, spark)
    assert differences(shop, moved) == {}


def test_tables_whose_names_would_be_one_folder_never_write_over_each_other(shop: Shop, spark: Any) -> None:
    parts, mixed, hostile = "SHOP.PARTS", 'SHOP."Parts"', 'SHOP."../SHOP/PARTS"'
    for number, name in enumerate(("parts", '"Parts"', '"../SHOP/PARTS"')):
        shop.run_sql(
            f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
            f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            f"INSERT INTO {name} VALUES ({number}, '{number}')",
        )
    others = ["!SHOP.CUSTOMERS", "!SHOP.ORDER*", "!SHOP.PAYMENTS", "!SHOP.STOCK", "!SHOP.EDGE_VALUES"]
    pipeline = shop.pipeline(tables=["SHOP.*", *others])

    def rows() -> list[str]:
        return [row["PLACE"] for row in delta_rows(f"{pipeline.lake}/shop/parts")]

    with pytest.raises(TableHeld) as held:
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    assert [(f.subject, "target: shop/parts-2" in f.cure) for f in held.value.findings] == [(mixed, True)]
    assert {t.table: t.state for t in steps.read_status(pipeline).tables} == {parts: "live", mixed: "held", hostile: "live"}
    verified = steps.verify_tables(pipeline, source=shop.params, spark=spark)
    assert {t.table for t in verified.tables if t.equal} == {parts, hostile}
    assert rows() == ["0"]

    cured = shop.pipeline(tables=["SHOP.*", *others, {"table": mixed, "target": "shop/parts-2"}])
    steps.take_snapshot(cured, [mixed], replace=True, source=shop.params, spark=spark)
    for name in ("parts", '"Parts"', '"../SHOP/PARTS"'):
        shop.run_sql(f"INSERT INTO {name} VALUES (9, 'new')")
    caught_up(shop, cured, spark)
    assert differences(shop, cured) == {}
    assert sorted(str(f.relative_to(pipeline.lake).parent) for f in Path(pipeline.lake).rglob("_delta_log")) == [
        "shop/parts", "shop/parts-2", "shop/~2E~2E~2Fshop~2Fparts"
    ]  # fmt: skip

    edited = shop.pipeline(tables=["SHOP.*", *others, {"table": mixed, "target": "shop/parts"}])  # past the file's own check
    renamed = shop.pipeline(name="renamed", tables=[parts])
    moved = shop.pipeline(landing=f"{shop.folder}/other", tables=[parts])
    for wrong, table in ((edited, mixed), (renamed, parts), (moved, parts)):
        with pytest.raises(ConfigurationError, match=r"is that of SHOP\.PARTS|belongs to"):
            steps.take_snapshot(wrong, [table], replace=True, source=shop.params, spark=spark)
    shop.run_sql("INSERT INTO \"Parts\" VALUES (10, 'lost?')")
    caught_up(shop, edited, spark)
    (taken,) = (t for t in steps.read_status(edited).tables if t.state == "held")
    assert (taken.table, taken.code) == (mixed, "FolderTaken")
    assert sorted(rows()) == ["0", "new"]
    with pytest.raises(ConfigurationError):
        steps.take_snapshot(renamed, source=shop.params, spark=spark)
    assert not list(Path(renamed.landing_folder).rglob("*.parquet"))

    steps.take_snapshot(cured, [mixed], replace=True, source=shop.params, spark=spark)
    shop.run_sql("INSERT INTO \"Parts\" VALUES (11, 'after')")
    caught_up(shop, cured, spark)
    assert differences(shop, cured) == {}

    shutil.rmtree(f"{pipeline.lake}/shop/parts")  # as the cure says where the old landing is lost
    steps.take_snapshot(moved, source=shop.params, spark=spark)
    assert sorted(rows()) == ["0", "new"]


def test_added_and_dropped_columns_and_quoted_names_reach_delta_with_the_rows_from_before(shop: Shop, spark: Any) -> None:
    parts_pipeline(shop)
    shop.run_sql(
        "INSERT INTO parts (id, place, quantity) VALUES (900001, 'W1', 1)",
        'CREATE TABLE "Order Parts" ("Part No" NUMBER(9) PRIMARY KEY, "place" VARCHAR2(20), "select" NUMBER(9))',
        'ALTER TABLE "Order Parts" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS',
        """INSERT INTO "Order Parts" VALUES (1, 'shelf, "left"', 5)""",
        "CREATE TABLE plain (id NUMBER(9) PRIMARY KEY)",
        "ALTER TABLE plain ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    pipeline = shop.pipeline(tables=["SHOP.PARTS", 'SHOP."Order Parts"', "SHOP.PLAIN"])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        "INSERT INTO parts (id, place, quantity) VALUES (900002, 'W2', 2)",
        "ALTER TABLE parts ADD (shelf VARCHAR2(10) DEFAULT 'it''s new' NOT NULL)",
        "INSERT INTO parts (id, place, quantity, shelf) VALUES (900003, 'W3', 3, 'A')",
        "UPDATE parts SET quantity = 20 WHERE id = 900002",
        "ALTER TABLE parts ADD (spare NUMBER(5))",
        "UPDATE parts SET spare = 7 WHERE id = 900001",
        "ALTER TABLE parts DROP COLUMN spare",
        "INSERT INTO parts (id, place, quantity, shelf) VALUES (900004, 'W4', 4, 'B')",
        "ALTER TABLE parts ADD (colour VARCHAR2(9) DEFAULT 'grey')",  # brings a hidden guard column
        "INSERT INTO parts (id, quantity, shelf, colour) VALUES (900005, 5, 'C', NULL)",
        "UPDATE parts SET colour = NULL WHERE id = 900002",
        "ALTER TABLE parts ADD (tag RAW(4) DEFAULT HEXTORAW('0aff') NOT NULL, mark RAW(2) DEFAULT '00fe')",
        "UPDATE parts SET mark = HEXTORAW('01') WHERE id = 900002",
        "UPDATE parts SET quantity = 30 WHERE id = 900003",
        "ALTER TABLE parts SET UNUSED (place)",
        "DELETE FROM parts WHERE id = 900004",
        "ALTER TABLE parts ROW ARCHIVAL",
        "UPDATE parts SET ora_archive_state = '1', quantity = 31 WHERE id = 900003",
        "UPDATE parts SET ora_archive_state = '1' WHERE id = 900001",
    )
    shop.run_sql(
        """INSERT INTO "Order Parts" VALUES (2, 'it''s here', 7)""",
        """UPDATE "Order Parts" SET "select" = 6, "place" = NULL WHERE "Part No" = 1""",
        'ALTER TABLE plain ADD ("net weight" NUMBER(5))',
        "INSERT INTO plain VALUES (1, 5)",
    )
    caught_up(shop, pipeline, spark)

    assert differences(shop, pipeline) == {}
    assert read_overview(pipeline, ledger_url(pipeline), datetime.now(UTC)).ddl == {"add_column": 6, "drop_column": 2}
    assert {t.table for t in steps.read_status(pipeline).tables} == {"SHOP.PARTS", 'SHOP."Order Parts"', "SHOP.PLAIN"}


def test_a_table_created_again_is_replaced_by_itself_in_one_commit(shop: Shop, spark: Any) -> None:
    pipeline = parts_pipeline(shop).model_copy(update={"on_ddl": OnDdl(recreate="resnapshot")})
    shop.run_sql("INSERT INTO parts VALUES (1, 'A', 10)")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    target = pipeline.target(TableId("SHOP", "PARTS"))
    shop.run_sql(
        "DROP TABLE parts PURGE",
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, shelf NUMBER(3))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts VALUES (1, 7)",
    )
    with shop.oracle.connect("SHOP") as still_open, still_open.cursor() as cursor:
        cursor.execute("INSERT INTO parts VALUES (2, 8)")
        caught_up(shop, pipeline, spark)
        replaced = spark.read.format("delta").load(target).select("ID", "SHELF").collect()
        still_open.commit()
    caught_up(shop, pipeline, spark)

    assert [tuple(row) for row in replaced] == [(1, 7)]
    assert differences(shop, pipeline) == {}
    first = spark.read.format("delta").option("versionAsOf", 0).load(target).select("ID", "PLACE", "QUANTITY").collect()
    assert [tuple(row) for row in first] == [(1, "A", 10)]
    writes = [row.operation for row in spark.sql(f"DESCRIBE HISTORY delta.`{target}`").collect() if row.operation == "WRITE"]
    assert writes.count("WRITE") == 2, "one for each snapshot"


def test_a_better_parser_reads_a_row_again_from_the_landing(shop: Shop, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = parts_pipeline(shop).model_copy(update={"show_row_data": True})
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)

    def older_parser(batch: pa.RecordBatch, *version: Any, **charset: Any) -> pa.RecordBatch:
        """Parse without knowing that a doubled quote stands for one."""
        at, sql = batch.schema.get_field_index("sql_redo"), batch.column("sql_redo")
        unread = pc.if_else(pc.match_substring(sql, "''"), pc.binary_join_element_wise("?", sql, ""), sql)
        return decode_changes(batch.set_column(at, "sql_redo", unread), *version, **charset)

    monkeypatch.setattr(translation, "decoder_of", lambda *_: older_parser)
    monkeypatch.setattr(translation, "decode_changes", older_parser)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900001, 'it''s there', 1)")
    caught_up(shop, pipeline, spark)
    shop.run_sql("UPDATE parts SET quantity = 2 WHERE id = 900001", "DELETE FROM parts WHERE id = 900001")
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (900002, 'plain', 2)")
    caught_up(shop, pipeline, spark)
    (held,) = steps.read_status(pipeline).tables
    landed = {file: file.stat().st_mtime_ns for file in (shop.folder / "landing").glob("**/windows/*/*")}

    monkeypatch.undo()
    steps.resume_tables(pipeline, ["SHOP.PARTS"])
    with Spark(pipeline, spark) as session:
        assert apply(Run(pipeline, spark=session))  # without a source nothing can be mined

    assert held.state == "held"
    assert """insert into "SHOP"."PARTS"("ID","PLACE","QUANTITY") values ('900001','it''s there','1')""" in str(held.error)
    assert {file: file.stat().st_mtime_ns for file in (shop.folder / "landing").glob("**/windows/*/*")} == landed
    assert differences(shop, pipeline) == {}


@hunt
def test_a_generated_life_of_tables_in_delta(tmp_path: Path, spark: Any) -> None:
    with lives(tmp_path, 20, 2, spark, renames_keep_version=True) as played:
        played.play(3)

    assert sum(life.ddls for life in played.lives) > 3


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param({"lob_rows_without_rowid": True}, marks=hunt, id="INSERTs"),
        pytest.param({"lob_rows": "statement"}, id="26ai"),
    ],
)
def test_large_objects_equal_the_source_and_a_value_that_was_not_read_holds_the_table(
    spark, tmp_path: Path, reading: dict[str, Any]
) -> None:
    """LogMiner shows parts of them only, and rows without a ROWID; capture reads them again when a window lands."""
    with open_shop(tmp_path, **reading) as shop:
        for table in ("papers", "plain"):
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan BLOB)",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            )
        change(shop, FIRST_ROWS)
        change(shop, in_table("plain", FIRST_ROWS))
        tables = ["SHOP.PAPERS", {"table": "SHOP.PLAIN", "exclude_columns": ["BODY", "SCAN"]}]
        pipeline = shop.pipeline(tables=tables, large_objects="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        by_statement = "lob_rows" in reading
        changed = [*changes(", name = 'c'", moves=not by_statement), *PARTLY_ROLLED_BACK]
        change(shop, changed)
        change(shop, in_table("plain", changed))
        caught_up(shop, pipeline, spark)
        assert differences(shop, pipeline) == {}

        shop.oracle.faults.fail_statements(942, '\n  FROM "SHOP"."PAPERS" AS OF SCN', 1)
        change(shop, [("UPDATE papers SET body = :1 WHERE id = 1", (BIG[1:],))])
        change(shop, in_table("plain", [MOVED]))
        caught_up(shop, pipeline, spark)
        errors = {table.table: table.error or "" for table in steps.read_status(pipeline).tables}
        assert "neither read again nor deleted (BODY, SCAN)" in errors["SHOP.PAPERS"]
        moved = "changed the key of a row together with a large object"
        assert (moved in errors["SHOP.PLAIN"]) == by_statement


@hunt
def test_a_generated_life_of_large_objects_in_delta(tmp_path: Path, spark: Any) -> None:
    """Only the last row of a statement has a ROWID. A transaction is open over several windows and batches."""
    with open_shop(tmp_path, lob_rows="statement") as shop:
        shop.run_sql(
            "CREATE TABLE papers (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan BLOB)",
            "ALTER TABLE papers ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        )
        pipeline = shop.pipeline(tables=["SHOP.PAPERS"], large_objects="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        life = LobLife(shop, seed=1)
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO papers VALUES (99, 'open', :1, NULL)", (BIG,))
            life.play(20)
            caught_up(shop, pipeline, spark)
            assert differences(shop, pipeline) == {}
            life.play(20)
            connection.commit()
        caught_up(shop, pipeline, spark)

        assert differences(shop, pipeline) == {}
        assert life.calls > 5


def test_tables_that_logminer_does_not_show_equal_the_source_and_stop_where_their_rows_were_not_read(
    spark, tmp_path: Path
) -> None:
    """LETTERS has XMLTYPE values in rows of their own, without ROWIDs: there no statement may change the key too."""
    with open_shop(tmp_path, xml_rows="documents", lob_rows="statement") as shop:
        fill(shop)
        tables = ["SHOP.SWITCHES", "SHOP.LETTERS", "SHOP.IMAGES", "SHOP.HOMES"]
        pipeline = shop.pipeline(tables=tables, unsupported_columns="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        both = "UPDATE LETTERS SET id = 60, v = "
        moves = ("UPDATE LETTERS SET id = 60 WHERE id = 10", ())
        for statements in CHANGES:
            parts = [
                [(sql.replace("id = 60, ", ""), binds), moves] if both in sql else [(sql, binds)] for sql, binds in statements
            ]
            change(shop, [one for part in parts for one in part])
        caught_up(shop, pipeline, spark)
        assert differences(shop, pipeline) == {}

        shop.oracle.faults.fail_statements(1555, '\n  FROM "SHOP"."SWITCHES" AS OF SCN', 1)
        change(shop, [("DELETE FROM switches WHERE id = 1", ())])
        caught_up(shop, pipeline, spark)
        errors = {t.table: t.error for t in steps.read_status(pipeline).tables if t.error}
        assert list(errors) == ["SHOP.SWITCHES"]
        assert "1 changed row(s) were not read again" in errors["SHOP.SWITCHES"]


def test_a_table_with_which_java_ends_does_not_keep_the_next_from_being_compared(shop: Shop, spark: Any) -> None:
    pipeline = shop.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)

    given = json.dumps({"pipeline": pipeline.model_dump(mode="json", exclude_unset=True), "source": astuple(shop.params)})
    command = [sys.executable, "-m", "tests.support.verify_without_java"]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True, timeout=300)

    found = json.loads(done.stdout.splitlines()[-1])
    assert found["equal"] == ["SHOP.ORDER_LINES"]
    (lost,) = found["not_compared"]
    assert (lost["table"], lost["error"]["code"]) == ("SHOP.CUSTOMERS", "SparkLost")
    assert "`redolake verify SHOP.CUSTOMERS`" in lost["error"]["cure"]
