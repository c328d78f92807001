"""The tables of published scenarios, captured by Redolake, have the values that OpenLogReplicator read from the real redo.

Source: github.com/rophy/OpenLogReplicator, branch rac-support, `tests/data/expected/*/output.json`, folded: 26ai, February
2026. A text of a thousand characters is its SHA-256. Doubles have six digits there, timestamps whole seconds, rounded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.errors import ReplicatorRefused
from redolake.source.olr import needed_configuration
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.published.recorded_stream import (
    FIRST_SCN,
    LAST_SCN,
    NAME,
    OBJECT_ID,
    SECOND_LOG_SCN,
    SEQUENCE,
    recorded_server,
)
from tests.published.replayed_output import ADDS, OF_VALUES, published_lines, scns_of, stream_of
from tests.published.scenarios import SCENARIOS, SECOND
from tests.references.plain_lake import PlainLake
from tests.support.short_pauses import short_pauses

READ = Path(__file__).parents[1] / "published" / "olr_26ai.json"
AS_PUBLISHED: dict[str, Any] = {"lob_rows": "statement", "null_updates": "all", "young_columns": "null"}
LEFT_OUT = {"boolean-type", "example-free-23"}  # LogMiner shows no row of the first; the second has the name of another table
RULES = {"TEST_TIMESTAMPS": {"COL_TS9": "truncate"}, "TEST_NUMBERS": {"COL_NUMBER": "string"}}


def test_the_tables_have_the_values_that_another_reader_found_in_the_real_redo(tmp_path: Path) -> None:
    expected: dict[str, list[dict[str, str]]] = json.loads(READ.read_text(encoding="utf-8"))
    expected["TEST_BULK"] = [{"ID": str(n), "PAYLOAD": f"row_{n:04d}", "VAL": str(n * 10 + 1)} for n in range(1, 201, 2)]
    scenarios = [scenario for name, scenario in SCENARIOS.items() if name not in LEFT_OUT]
    lake = PlainLake()
    with lake.in_place_of_spark(), standin(threads=2, archive_lag_target=0, **AS_PUBLISHED) as oracle:
        shop = Shop(oracle, tmp_path)
        for scenario in scenarios:
            shop.run_sql(*scenario.ddl)
        tables = [{"table": f"SHOP.{name}", "columns": RULES.get(name, {})} for name in expected]
        pipeline = shop.pipeline(tables=tables, large_objects="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        for scenario in scenarios:
            first, second = (oracle.connect("SHOP", instance_name=name) for name in ("FREE1", "FREE2"))
            with first, second, first.cursor() as one, second.cursor() as two:
                for statement in scenario.work:
                    if statement == "switch":
                        shop.switch_logs()
                    else:
                        (two if statement.startswith(SECOND) else one).execute(statement.removeprefix(SECOND))
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark")

        assert {t.table: t.error for t in steps.read_status(pipeline).tables if t.error} == {}
        found = {name: rows_of(lake, f"{pipeline.lake}/shop/{name.lower()}") for name in expected}
    assert {name: len(rows) for name, rows in found.items()} == {name: len(rows) for name, rows in expected.items()}
    assert [
        cell
        for name, rows in expected.items()
        for row in rows
        for cell in differing(row, found[name][next(iter(row.values()))])
    ] == []


NOT_GIVEN = {  # large objects, and tables with texts that are stored as such
    "lob-operations", "wide-rows", "large-transaction",
}  # fmt: skip


def test_through_openlogreplicator_the_tables_have_the_values_that_a_real_one_wrote(tmp_path: Path) -> None:
    """The scenarios of one instance, with the settings that Redolake needs. The real one wrote no commit SCNs and no numbers of
    changes, so its own bytes cannot be received; what it wrote for the same statements is what must arrive."""
    expected: dict[str, list[dict[str, str]]] = json.loads(READ.read_text(encoding="utf-8"))
    scenarios = [
        one
        for name, one in SCENARIOS.items()
        if name not in LEFT_OUT | NOT_GIVEN and not any(step.startswith(SECOND) for step in one.work)
    ]
    tables = {name.upper(): text for one in scenarios for name, text in one.tables.items() if name.upper() in expected}
    blurred = {name: re.findall(r"(\w+) BINARY_(?:FLOAT|DOUBLE)", text.upper()) for name, text in tables.items()}
    lake = PlainLake()
    with lake.in_place_of_spark(), standin(threads=1, null_updates="all", young_columns="null") as oracle:
        shop = Shop(oracle, tmp_path)
        for scenario in scenarios:
            shop.run_sql(*scenario.ddl)
        server = oracle.replicate(needed_configuration("DB", "127.0.0.1:0", []))
        stream = {"kind": "openlogreplicator", "address": server.address, "database": "DB"}
        pipeline = shop.pipeline(
            tables=[
                {"table": f"SHOP.{name}", "columns": RULES.get(name, {}), "exclude_columns": blurred[name]} for name in tables
            ],
            source={"connection": "oracle_shop", "container": "FREEPDB1", **stream},
        )
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        for scenario in scenarios:
            shop.run_sql(*(statement for statement in scenario.work if statement != "switch"))
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark")
        assert {t.table: t.error for t in steps.read_status(pipeline).tables if t.error} == {}
        found = {name: rows_of(lake, f"{pipeline.lake}/shop/{name.lower()}") for name in tables}
    assert len(tables) > 12
    assert {name: len(found[name]) for name in tables} == {name: len(expected[name]) for name in tables}
    assert [
        cell
        for name in tables
        for row in expected[name]
        for cell in differing(row, found[name][next(iter(row.values()))])
        if cell[0] not in blurred[name]
    ] == []


def rows_of(lake: PlainLake, path: str) -> dict[str, dict[str, Any]]:
    """Return the rows by the text of their first column, without NULLs."""
    table = lake.tables[path]
    assert table.version is not None
    names = [column.name for column in table.version.columns]
    rows = [dict(zip(names, values, strict=True)) for values in table.rows.values()]
    return {str(int(row[names[0]])): {n: v for n, v in row.items() if v is not None} for row in rows}


def differing(expected: dict[str, str], found: dict[str, Any]) -> list[tuple[str, str | None, Any]]:
    """Return the columns with another value than OpenLogReplicator's."""
    names = expected.keys() | found.keys()
    return [
        (name, expected.get(name), found.get(name))
        for name in names
        if name not in expected or name not in found or not is_equal(expected[name], found[name])
    ]


def is_equal(text: str, value: Any) -> bool:
    if isinstance(value, datetime):
        return abs(value.replace(tzinfo=UTC).timestamp() - int(text)) <= 1
    if isinstance(value, date):
        return is_equal(text, datetime(value.year, value.month, value.day))
    if isinstance(value, float):
        return f"{value:.6g}" == f"{float(text):.6g}"
    if isinstance(value, Decimal):
        return f"{value:.16g}" == f"{Decimal(text):.16g}" or value == Decimal(text)
    if isinstance(value, bytes):
        return value.hex() == text
    return text in (value, f"sha256 {hashlib.sha256(value.encode()).hexdigest()}") or _same_number(text, value)


def _same_number(text: str, value: str) -> bool:
    """Return whether a NUMBER kept as text has the value, of which OpenLogReplicator shows 16 digits."""
    try:
        return f"{float(text):.15g}" == f"{float(value):.15g}"
    except ValueError:
        return False


OF_RECORDED = (
    "CREATE USER olr_test IDENTIFIED BY x",
    "GRANT UNLIMITED TABLESPACE TO olr_test",
    "CREATE TABLE olr_test.test_cdc (id NUMBER PRIMARY KEY, name VARCHAR2(100))",
    "ALTER TABLE olr_test.test_cdc ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


def test_the_bytes_that_a_real_one_sent_of_a_real_oracles_redo_land_and_are_applied(tmp_path: Path) -> None:
    """The stand-in has the table and the logs with the SCNs of that Oracle; the rows come from the recorded bytes alone."""
    lake = PlainLake()
    with (
        short_pauses(),
        lake.in_place_of_spark(),
        standin(threads=1, start_scn=FIRST_SCN - 2_000, scns_per_second=0, background=False, archive_lag_target=0) as oracle,
        recorded_server() as address,
    ):
        shop, clock = Shop(oracle, tmp_path), oracle.database.clock
        oracle.database.counters["object"] = OBJECT_ID - 1
        with oracle.connect("SYS", dsn=oracle.pdb_dsn) as connection, connection.cursor() as cursor:
            for statement in OF_RECORDED:
                cursor.execute(statement)
        while oracle.database.state.threads[1].current.sequence < SEQUENCE:
            shop.switch_logs()
        clock.advance(FIRST_SCN - clock.scn)
        pipeline = shop.pipeline(
            tables=["OLR_TEST.TEST_CDC"],
            wait_max_minutes=10_000_000,  # these bytes were sent long ago, and a stream that has sent nothing since hangs
            source={
                "connection": "oracle_shop", "container": "FREEPDB1", "kind": "openlogreplicator", "address": address,
                "database": NAME, "silent_seconds": 1,
            },
        )  # fmt: skip
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        clock.advance(SECOND_LOG_SCN - 1 - clock.scn)
        shop.switch_logs()
        clock.advance(LAST_SCN + 100 - clock.scn)
        done = steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark")
        assert {t.table: t.error for t in steps.read_status(pipeline).tables if t.error} == {}
        assert done.windows == 1
        assert rows_of(lake, f"{pipeline.lake}/olr_test/test_cdc") == {"1": {"ID": "1", "NAME": "hello world"}}


OF_OUTPUT = ["basic-crud", "special-chars", "null-handling"]


@pytest.mark.parametrize("name", OF_OUTPUT)
def test_the_published_output_is_refused_setting_by_setting_and_lands_with_what_these_add(tmp_path: Path, name: str) -> None:
    """The first bytes are those that a real one wrote of real redo; each refusal names what the next ones have in addition."""
    ((table, columns),), lines = SCENARIOS[name].tables.items(), published_lines(name)
    first, last = scns_of(lines)
    lake = PlainLake()
    with (
        short_pauses(),
        lake.in_place_of_spark(),
        standin(threads=1, start_scn=first - 2_000, scns_per_second=0, background=False, archive_lag_target=0) as oracle,
    ):
        shop, clock = Shop(oracle, tmp_path), oracle.database.clock
        oracle.database.counters["object"] = OBJECT_ID - 1
        with oracle.connect("SYS", dsn=oracle.pdb_dsn) as connection, connection.cursor() as cursor:
            for statement in (
                *OF_RECORDED[:2],
                f"CREATE TABLE olr_test.{table} ({columns})",
                f"ALTER TABLE olr_test.{table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            ):
                cursor.execute(statement)
        clock.advance(first - 100 - clock.scn)

        def pipeline_at(address: str, called: str = "shop") -> Any:
            source = {"kind": "openlogreplicator", "address": address, "database": "DB", "silent_seconds": 0.7}
            return shop.pipeline(
                called,
                tables=[f"OLR_TEST.{table.upper()}"],
                lake=str(tmp_path / called),
                source={"connection": "oracle_shop", "container": "FREEPDB1", **source},
            )

        for called in ("shop", "whole"):
            steps.take_snapshot(pipeline_at("127.0.0.1:1", called), source=shop.params, spark="no Spark")
        clock.advance(last + 100 - clock.scn)

        def run(added: Collection[str], called: str = "shop") -> Any:
            body = stream_of(lines, added, OBJECT_ID, [part.split()[0].upper() for part in columns.split(", ")])
            with recorded_server(body, first) as address:
                pipeline = pipeline_at(address, called)
                steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark")
                return pipeline

        added: list[str] = []
        while "flags" not in added:
            with pytest.raises(ReplicatorRefused) as refused:
                run(added)
            found = re.search(r'"([a-z-]+)": \d|`(flags)`', refused.value.cure)
            assert found is not None
            added.append(found[1] or found[2])
        assert set(added) == ADDS.keys() - OF_VALUES
        assert steps.list_windows(pipeline_at("127.0.0.1:1")) == []

        held = run(added)  # its forms are found when values are read
        (error,) = (t.error for t in steps.read_status(held).tables)
        assert re.search(r"needs `char: 2`|lacks", str(error))
        whole = run(ADDS, "whole")
        assert {t.table: t.error for t in steps.read_status(whole).tables if t.error} == {}
        found_rows = rows_of(lake, f"{whole.lake}/olr_test/{table}")
    expected: list[dict[str, str]] = json.loads(READ.read_text(encoding="utf-8"))[table.upper()]
    assert len(found_rows) == len(expected)
    assert [cell for row in expected for cell in differing(row, found_rows[row["ID"]])] == []
