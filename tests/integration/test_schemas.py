"""Whole schemas, created by scripts as published ones are, through the pipeline with a plain fold in place of Spark."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.config import Pipeline, parse_configuration
from redolake.errors import ConfigurationError
from redolake.source import open_source
from redolake.steps.setup.init import FirstPipeline
from redolake.values.table import TableId
from standin.serve import standin
from standin.sqlplus import run_script
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor
from tests.tables.packaged_schemas import packaged_scripts
from tests.tables.published_scripts import USER, install, schemas_below

SCRIPTS = Path(__file__).parents[1] / "schemas"
NAMED = ("quartz", "spring_batch")
PUBLISHED = Path(os.environ.get("REDOLAKE_SCHEMAS", "/nowhere"))  # folders of scripts
PACKAGED = ("camunda", "flowable")  # for `make soak`, from Maven Central
CHANGES = {
    "staff": (
        "INSERT INTO staff (name, email, since, team_id) VALUES ('Eve', 'EVE', DATE '2026-02-01', 10)",
        "UPDATE people SET pay = NVL(pay, 0) + 1000 WHERE team_id = 20",
        "UPDATE lands SET area_id = 30 WHERE land_id = 'CC'",
        "INSERT INTO lands VALUES ('DD', NULL, 40)",
        "SAVEPOINT here",
        "DELETE FROM lands WHERE land_id > 'B' AND area_id > 20",
        "UPDATE lands SET land_name = 'undone'",
        "ROLLBACK TO SAVEPOINT here",
        "DELETE FROM people WHERE person_id = 207",
    ),
    "retail": (
        "UPDATE sold SET day_id = DATE '2027-01-01' WHERE line < 20",
        "UPDATE sold SET amount = NULL WHERE line BETWEEN 30 AND 40",
        "DELETE FROM sold WHERE good_id = 5",
        "INSERT INTO sold VALUES (1, 100, DATE '2025-03-01', 99, 1.5, 9.99)",
        "INSERT INTO events VALUES (50, DATE '2026-06-01', 'of a new week')",
        "UPDATE events SET what = 'changed' WHERE event_id IN (1, 50)",
        "UPDATE stocked SET pieces = pieces - 1 WHERE place = 'A' AND good_id < 4",
        "DELETE FROM stocked WHERE good_id = 6",
        "INSERT INTO buyers (name, born) VALUES ('new', 2000)",
        "UPDATE buyers SET born = 1999 WHERE name = 'buyer 1'",
    ),
}
ROWS = {
    "staff": {"AREAS": 4, "ASSIGNMENTS": 1, "LANDS": 4, "OFFICES": 2, "PEOPLE": 4, "TEAMS": 2},
    "retail": {"BUYERS": 7, "DAYS": 6, "EVENTS": 7, "GOODS": 6, "SOLD": 16, "STOCKED": 5},
}  # fmt: skip
KEYS = {"SOLD": ["line", "day_id"]}
LEFT_OUT = {"SOLD_BY_GOOD"}  # a materialized view's container


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    options: dict[str, Any] = {"supplemental": frozenset({"MIN", "ALL"}), "reuses_rowids": True}
    with standin(threads=2, log_bytes=256 * 1024, archive_lag_target=0, **options) as oracle:
        oracle.database.state.users["SHOP"].privileges.add("DBA")
        yield Shop(oracle, tmp_path)


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def run_scripts(shop: Shop, *scripts: Path) -> list[str]:
    """Run scripts as SQL*Plus does, with numbers for answers, and return the errors."""
    answers = map(str, count())
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        done = [
            run_script(s.read_text(encoding="utf-8", errors="replace"), cursor.execute, answers, (oracledb.Error,))
            for s in scripts
        ]
        connection.commit()
    return [error for transcript in done for error in transcript.errors]


def rows_of_schema(shop: Shop) -> dict[str, int]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM user_tables WHERE iot_type IS NULL OR iot_type = 'IOT' ORDER BY table_name")
        names = [name for (name,) in cursor]
        return {name: cursor.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in names}


@pytest.mark.parametrize("name", CHANGES)
def test_a_schema_is_created_by_its_own_script_and_captured_whole(shop: Shop, no_spark: str, name: str) -> None:
    assert run_scripts(shop, SCRIPTS / f"{name}.sql") == []
    tables = [table for table in rows_of_schema(shop) if table not in LEFT_OUT]
    named = [{"table": f"SHOP.{t}", **({"key": KEYS[t]} if t in KEYS else {})} for t in tables]
    pipeline = shop.pipeline(tables=named)
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    shop.run_sql(*CHANGES[name])
    caught_up(shop, pipeline, no_spark)
    shop.run_sql(*CHANGES[name][1:3])
    caught_up(shop, pipeline, no_spark)

    assert {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"} == {}
    assert differences(shop, pipeline) == {}
    assert {table: count for table, count in rows_of_schema(shop).items() if table in tables} == ROWS[name]


def test_a_materialized_view_is_captured_where_it_is_named_and_an_object_table_is_refused(shop: Shop, no_spark: str) -> None:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "INSERT INTO parts VALUES (1, 'a')",
        "CREATE MATERIALIZED VIEW part_copy AS SELECT id, place FROM parts",
        "CREATE TYPE part_type AS OBJECT (id NUMBER(9), place VARCHAR2(20))",
        "CREATE TABLE part_objects OF part_type (id PRIMARY KEY)",
    )
    by_pattern = shop.pipeline(tables=["SHOP.PART*"])
    named = shop.pipeline("named", tables=[{"table": "SHOP.PART_COPY", "key": "rowid"}])
    both = shop.pipeline(tables=["SHOP.PARTS", "SHOP.PART_OBJECTS"])
    found = {f.subject: f.what for f in run_doctor(by_pattern, shop.params)}
    notes = [(f.severity, f.what) for f in run_doctor(named, shop.params) if f.subject == "SHOP.PART_COPY"]
    refused = [(f.subject, f.what) for f in run_doctor(both, shop.params) if f.severity == "error"]

    assert ("warning", "stores the rows of a materialized view") in notes
    assert [(name, what.partition(",")[0]) for name, what in refused] == [("SHOP.PART_OBJECTS", "is an object table")]
    assert {name for name in found if name.startswith("SHOP.")} >= {"SHOP.PART_COPY", "SHOP.PART_OBJECTS"}, found


def value_for(random: Random, kind: str, size: int, precision: int | None, scale: int | None) -> Any:
    """Return a value of a column's type; None for types that need more than a literal."""
    if kind in ("NUMBER", "FLOAT"):
        digits = min(precision or 9, 15) - (scale or 0)
        return random.randrange(2 if digits < 2 else 10**digits)  # a single digit is a flag, and often checked
    if kind in ("VARCHAR2", "CHAR", "NVARCHAR2", "CLOB", "NCLOB"):
        most = random.choice((20, 9_000)) if "LOB" in kind else max(1, min(size // 4, 12))
        digit = str(random.randrange(9))
        return digit if size < 4 else "".join(random.choices("abc xyzé'", k=random.randint(1, most))) + digit
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return datetime(2021, 1, 1) + timedelta(days=random.randrange(1800), seconds=random.randrange(86400))
    if kind in ("RAW", "BLOB"):
        return random.randbytes(min(size, 8) if kind == "RAW" else random.choice((20, 9_000)))
    return random.random() < 0.5 if kind == "BOOLEAN" else None


COLUMNS = """SELECT column_name, data_type, data_length, data_precision, data_scale FROM dba_tab_cols
    WHERE owner = :1 AND table_name = :2 AND virtual_column = 'NO' AND hidden_column = 'NO' AND identity_column = 'NO'
    ORDER BY column_id"""
INDEXED = "SELECT column_name FROM dba_ind_columns WHERE table_owner = :1 AND table_name = :2"


def change_rows(shop: Shop, tables: Sequence[TableId], random: Random) -> Counter[TableId]:
    """Insert, update and delete generated rows; what constraints refuse is left out. Return the number of changed rows."""
    changed = Counter[TableId]()
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for table in tables:
            columns = cursor.execute(COLUMNS, [table.owner, table.name]).fetchall()
            quoted = f'"{table.owner}"."{table.name}"'
            names = ", ".join(f'"{name}"' for name, *_ in columns)
            binds = ", ".join(f":{number}" for number in range(1, len(columns) + 1))
            statements: list[tuple[str, list[Any]]] = [
                (f"INSERT INTO {quoted} ({names}) VALUES ({binds})", [value_for(random, *rest) for _, *rest in columns])
                for _ in range(8)
            ]
            keys = {name for (name,) in cursor.execute(INDEXED, [table.owner, table.name])}
            others = [column for column in columns if column[0] not in keys]
            for name, *rest in random.choices(others, k=3) if others else ():
                statements.append((f'UPDATE {quoted} SET "{name}" = :1 WHERE ROWNUM <= 2', [value_for(random, *rest)]))
            statements.append((f"DELETE FROM {quoted} WHERE ROWNUM <= 1", []))
            for sql, values in statements:
                try:
                    cursor.execute(sql, values)
                    changed[table] += cursor.rowcount
                except oracledb.DatabaseError:
                    continue
        connection.commit()
    return changed


def proposed_pipeline(shop: Shop, owners: Sequence[str]) -> tuple[Pipeline, FirstPipeline]:
    """Return the pipeline that `init` proposes for all tables of these owners, and what it says of them."""
    with open_source(shop.params) as source:
        found = steps.find_tables(source, "FREEPDB1", [f"{owner}.*" for owner in owners])
        made = steps.propose_pipeline(
            source,
            name="schema",
            connection="oracle_shop",
            container="FREEPDB1",
            found=found,
            large_objects="reread",
            landing=str(shop.folder / "landing"),
            lake=str(shop.folder / "lake"),
        )
    return parse_configuration(made.text, {}).pipelines["schema"], made


def captured_and_changed(shop: Shop, no_spark: str, seed: str, *owners: str) -> list[str]:
    """Capture schemas by the file that `init` writes, change rows of each table, and return the tables that it refuses."""
    shop.run_sql(
        *(f'ALTER TABLE "{owner}"."{table}" DISABLE CONSTRAINT "{name}"' for owner, table, name in foreign_keys(shop, owners))
    )
    pipeline, made = proposed_pipeline(shop, owners)
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    tables = [table.table for table in made.captured]
    random, changed = Random(seed), Counter[TableId]()
    for _ in range(2):
        changed += change_rows(shop, tables, random)
        caught_up(shop, pipeline, no_spark)

    assert {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"} == {}
    assert differences(shop, pipeline) == {}
    assert [table for table in tables if not changed[table]] == []
    return [str(table.table) for table in made.refused]


@pytest.mark.parametrize("name", NAMED)
def test_a_named_schema_is_captured_whole(shop: Shop, no_spark: str, name: str) -> None:
    run_scripts(shop, SCRIPTS / f"{name}.sql")  # Quartz begins with DROP TABLE

    assert captured_and_changed(shop, no_spark, name, "SHOP") == []


@pytest.mark.parametrize("folder", schemas_below(PUBLISHED), ids=lambda p: p.name)
def test_a_published_schema_is_captured(shop: Shop, no_spark: str, folder: Path) -> None:
    owners = install(shop.oracle, folder).owners

    captured_and_changed(shop, no_spark, folder.name, *owners)


def test_an_installer_of_several_scripts_and_users_is_captured_whole(shop: Shop, no_spark: str, tmp_path: Path) -> None:
    texts = {
        "install.sql": "@parts/make_owner.sql\n",
        "install.answers": "secret\n\n",
        "parts/make_owner.sql": """SET VERIFY OFF
WHENEVER SQLERROR EXIT SQL.SQLCODE
ACCEPT pass PROMPT 'Password of PLANT: ' HIDE
COLUMN property_value NEW_VALUE var_tbs NOPRINT
SELECT property_value FROM database_properties WHERE property_name = 'DEFAULT_PERMANENT_TABLESPACE';
ACCEPT tbs PROMPT 'Tablespace [&var_tbs]: ' DEFAULT '&var_tbs'
SPOOL made.log
CREATE USER plant IDENTIFIED BY "&pass" DEFAULT TABLESPACE &tbs QUOTA UNLIMITED ON &tbs;
GRANT CREATE SESSION, CREATE TABLE TO plant;
CONNECT plant/&pass@db
@@make_table machines 9
@@make_table orders 12
spool off
EXIT
""",
        "parts/make_table.sql": "CREATE TABLE &1 (id NUMBER(&2) PRIMARY KEY, name VARCHAR2(20));\n"
        "INSERT INTO &1 VALUES (1, '&1');\n",
        "later.sql": f"CREATE TABLE {USER}.lines (id NUMBER(9) PRIMARY KEY, plant NUMBER(9) REFERENCES plant.machines);\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / "schema" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "schema" / name).write_text(text)
    done = install(shop.oracle, tmp_path / "schema")

    assert (done.owners, done.creates, done.refused) == ([USER, "PLANT"], 3, {})
    assert captured_and_changed(shop, no_spark, "plant", *done.owners) == []


@pytest.mark.skipif("REDOLAKE_PACKAGED_SCHEMAS" not in os.environ, reason="a part of make soak")
@pytest.mark.parametrize("name", PACKAGED)
def test_a_schema_of_a_package_is_captured_whole(shop: Shop, no_spark: str, packages: dict[str, list[Path]], name: str) -> None:
    assert run_scripts(shop, *packages[name]) == []

    assert captured_and_changed(shop, no_spark, name, "SHOP") == []


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Get the scripts of packages in the order in which they run; the test is skipped where they cannot be had."""
    folder = tmp_path_factory.mktemp("packages")
    try:
        return packaged_scripts(folder)
    except ConfigurationError as error:
        pytest.skip(f"the packages cannot be had here: {error}")


def foreign_keys(shop: Shop, owners: Sequence[str]) -> list[tuple[str, str, str]]:
    sql = """SELECT owner, table_name, constraint_name FROM dba_constraints
        WHERE constraint_type = 'R' AND status = 'ENABLED' AND owner = :1"""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        return [row for owner in owners for row in cursor.execute(sql, [owner]).fetchall()]
