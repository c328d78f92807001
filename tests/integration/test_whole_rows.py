"""Tables with columns that LogMiner does not show: their changed rows are read again whole when a window lands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.steps.run import capture
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor
from tests.tables.papers import change
from tests.tables.unshown_types import CHANGES, SHOWN, TABLES, fill


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with standin(log_bytes=64 * 1024, archive_lag_target=0, **getattr(request, "param", {})) as oracle:
        made = Shop(oracle, tmp_path)
        fill(made)
        yield made


@pytest.fixture
def lake() -> PlainLake:
    return PlainLake()


@pytest.fixture
def no_spark(lake: PlainLake) -> Iterator[str]:
    with lake.in_place_of_spark():
        yield "no Spark"


def pipeline_of(shop: Shop, *tables: str, **settings: Any) -> Any:
    names = tables or tuple(f"SHOP.{name}" for name in TABLES)
    return shop.pipeline(tables=list(names), unsupported_columns="reread", **settings)


def states(pipeline: Any) -> dict[str, str]:
    return {t.table: t.state for t in steps.read_status(pipeline).tables}


READINGS = {
    "23ai": {},
    "placeholder ROWIDs, and rows with objects UNSUPPORTED": {"lob_rows_without_rowid": True, "object_rows": "unsupported"},
    "as on 26ai": {"lob_rows": "statement", "urowids": "unsupported"},
}


@pytest.mark.parametrize("shop", READINGS.values(), indirect=True, ids=READINGS)
def test_changed_rows_of_each_type_equal_the_source(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_of(shop)
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert differences(shop, pipeline) == {}
    for changes in CHANGES:
        change(shop, changes)
        caught_up(shop, pipeline, no_spark)

        assert differences(shop, pipeline) == {}
    assert set(states(pipeline).values()) == {"live"}


EXTENDED = {"extended_strings": True, "xml_rows": "documents"}
IN_OTHER_ROWS = {
    "UNSUPPORTED": EXTENDED,
    "32K rows": {**EXTENDED, "extended_rows": "pieces"},
    "32K rows without ROWIDs": {**EXTENDED, "extended_rows": "pieces", "lob_rows": "statement", "xml_nulls": "document"},
}
LONG = {"STORIES": ("it''s " * 2_000, "short"), "SCANS": ("00ff" * 1_500, "aa")}


@pytest.mark.parametrize("shop", IN_OTHER_ROWS.values(), indirect=True, ids=IN_OTHER_ROWS)
def test_strings_of_32k_and_documents_in_rows_of_their_own_equal_the_source(shop: Shop, no_spark: str) -> None:
    """The parts of a value may have no ROWID: only their first row names the table's row, by its key."""
    for table, type_ in (("stories", "VARCHAR2(32767)"), ("scans", "RAW(32767)")):
        shop.run_sql(
            f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), v {type_})",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO {table} VALUES ({n}, 'a', '{LONG[table.upper()][n % 2]}')" for n in range(1, 7)),
        )
    names = ["SHOP.STORIES", "SHOP.SCANS", "SHOP.LETTERS"]
    assert {f.subject for f in run_doctor(shop.pipeline(tables=names), shop.params) if f.severity == "error"} == {
        f"{name}.V" for name in names
    }
    pipeline = pipeline_of(shop, *names)
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert differences(shop, pipeline) == {}
    for table, (one, two) in {
        **{t: (f"'{a}'", f"'{b}'") for t, (a, b) in LONG.items()},
        "LETTERS": TABLES["LETTERS"][1:],
    }.items():
        shop.run_sql(
            f"UPDATE {table} SET v = {two} WHERE id = 1",
            f"UPDATE {table} SET v = {one}, name = 'b' WHERE id = 2",
            f"UPDATE {table} SET name = 'c' WHERE id = 3",
            f"UPDATE {table} SET v = NULL WHERE id = 4",
            f"DELETE FROM {table} WHERE id = 5",
            f"UPDATE {table} SET id = 60 WHERE id = 6",
        )
        change(shop, [(f"INSERT INTO {table} VALUES (10, 'new', {one})", ())])
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
    assert set(states(pipeline).values()) == {"live"}


def test_rows_of_an_open_transaction_are_read_when_it_has_committed(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_of(shop, "SHOP.SWITCHES")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE switches SET id = 20, v = FALSE WHERE id = 1")
        cursor.execute("DELETE FROM switches WHERE id = 2")
        change(shop, [("UPDATE switches SET v = NULL WHERE id = 3", ())])
        caught_up(shop, pipeline, no_spark)
        assert differences(shop, pipeline) == {}
        connection.commit()
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_keys_are_read_as_of_each_snapshot_inside_a_window(shop: Shop, no_spark: str) -> None:
    """A row that was inserted before the snapshot and deleted after it has no key at the window's start nor at its end."""
    pipeline = pipeline_of(shop, "SHOP.SWITCHES")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    caught_up(shop, pipeline, no_spark)
    change(shop, [("INSERT INTO switches VALUES (70, 'short', TRUE)", ()), ("UPDATE switches SET id = 71 WHERE id = 1", ())])
    steps.take_snapshot(pipeline, ["SHOP.SWITCHES"], replace=True, source=shop.params, spark=no_spark)
    change(shop, [("DELETE FROM switches WHERE id = 70", ()), ("UPDATE switches SET id = 72 WHERE id = 71", ())])
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
    with Run(pipeline) as context:
        (read,) = context.landing.windows.after()[-1].reread
    assert len(read.bases) == 2


@pytest.mark.parametrize("code", [1555, 1466])
def test_rows_that_undo_no_longer_shows_are_named_in_the_window(shop: Shop, no_spark: str, code: int) -> None:
    """Apply then holds the table: see test_pipeline.py."""
    pipeline = pipeline_of(shop, "SHOP.SWITCHES")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, [("DELETE FROM switches WHERE id = 1", ())])
    shop.switch_logs()
    shop.oracle.faults.fail_statements(code, '\n  FROM "SHOP"."SWITCHES" AS OF SCN', 1)
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"

    (read,) = (one for window in steps.read_status(pipeline).windows for one in window.reread)
    assert f"ORA-{code:05}" in read.error
    assert read.file is None


def test_objects_are_json_of_their_attributes(shop: Shop, no_spark: str, lake: PlainLake) -> None:
    pipeline = pipeline_of(shop, *(f"SHOP.{table}" for table in SHOWN))
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, [(f"UPDATE {table} SET v = {TABLES[table][2]} WHERE id = 2", ()) for table in SHOWN])
    caught_up(shop, pipeline, no_spark)

    kept = {path.rpartition("/")[2]: table.rows for path, table in lake.tables.items()}
    assert {name: tuple(rows[n,][2] for n in ("1", "2")) for name, rows in kept.items()} == {
        table.lower(): shown for table, shown in SHOWN.items()
    }


REFUSED = {  # the column's type, and the reason
    "lines) NESTED TABLE v STORE AS lines_of_sets": "its elements are rows of another table",
    "album) NESTED TABLE v.pages STORE AS lines_of_sets": "its elements are rows of another table",
    "BFILE)": "the value is a file outside the database",
    "REF home)": "what it refers to is a row of another table",
    "hidden)": 'GRANT EXECUTE ON "SHOP"."HIDDEN" to the user of the connection',
}


@pytest.mark.parametrize("rest", REFUSED)
def test_a_type_that_cannot_be_read_again_is_refused_with_the_reason(shop: Shop, rest: str) -> None:
    shop.run_sql(
        "CREATE TYPE lines AS TABLE OF VARCHAR2(20)",
        "CREATE TYPE album AS OBJECT (name VARCHAR2(20), pages lines)",
        "CREATE TYPE hidden AS OBJECT (name VARCHAR2(20))",
        *(f"GRANT EXECUTE ON {name} TO c##redolake" for name in ("lines", "album")),
        f"CREATE TABLE sets (id NUMBER PRIMARY KEY, v {rest}",
        "ALTER TABLE sets ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    )
    found = [f for f in run_doctor(pipeline_of(shop, "SHOP.SETS"), shop.params) if f.severity == "error"]
    left_out = shop.pipeline(tables=[{"table": "SHOP.SETS", "exclude_columns": ["V"]}], unsupported_columns="reread")

    assert [(f.subject, REFUSED[rest] in f.what) for f in found] == [("SHOP.SETS.V", True)]
    assert [f for f in run_doctor(left_out, shop.params) if f.severity == "error"] == []


def test_an_object_column_is_refused_once_without_the_setting(shop: Shop) -> None:
    found = [f for f in run_doctor(shop.pipeline(tables=["SHOP.HOMES"]), shop.params) if f.severity == "error"]

    assert [(f.subject, f.what) for f in found] == [
        ("SHOP.HOMES.V", "OBJECT: its changes are captured with `unsupported_columns: reread` only")
    ]


@pytest.mark.parametrize("altered", ["spot", "floor"], ids=["the type of an attribute", "the type of elements"])
def test_an_altered_type_holds_its_tables_until_their_next_snapshot(shop: Shop, no_spark: str, altered: str) -> None:
    shop.run_sql(
        "CREATE TYPE spot AS OBJECT (x NUMBER(9))",
        "CREATE TYPE floor AS OBJECT (name VARCHAR2(20))",
        "CREATE TYPE floors AS VARRAY(3) OF floor",
        "CREATE TYPE house AS OBJECT (place spot, levels floors)",
        *(f"GRANT EXECUTE ON {name} TO c##redolake" for name in ("spot", "floor", "floors", "house")),
        "CREATE TABLE houses (id NUMBER(9) PRIMARY KEY, v house)",
        "ALTER TABLE houses ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        *(f"INSERT INTO houses VALUES ({n}, house(spot(1.5), floors(floor('a'), NULL)))" for n in (1, 2)),
    )
    pipeline = pipeline_of(shop, "SHOP.HOUSES", "SHOP.SWITCHES")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql(f"ALTER TYPE {altered} ADD ATTRIBUTE (since DATE) CASCADE", "UPDATE houses SET v = v WHERE id = 1")
    caught_up(shop, pipeline, no_spark)
    shop.run_sql("UPDATE switches SET v = NULL WHERE id = 1")
    caught_up(shop, pipeline, no_spark)

    held = {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"}
    assert list(held) == ["SHOP.HOUSES"]
    assert "the type of column V was altered" in held["SHOP.HOUSES"]
    steps.take_snapshot(pipeline, ["SHOP.HOUSES"], replace=True, source=shop.params, spark=no_spark)
    shop.run_sql("DELETE FROM houses WHERE id = 2")
    caught_up(shop, pipeline, no_spark)
    assert differences(shop, pipeline) == {}
    assert set(states(pipeline).values()) == {"live"}


@pytest.mark.parametrize("shop", [{"urowids": "unsupported"}], indirect=True)
def test_a_urowid_that_logminer_does_not_show_holds_its_table_until_its_rows_are_read_again(shop: Shop, no_spark: str) -> None:
    def pointers(name: str, **entry: Any) -> Any:
        folders = {kind: str(shop.folder / name / kind) for kind in ("landing", "lake")}
        return shop.pipeline(name=name, tables=[{"table": "SHOP.POINTERS", **entry}], **folders)

    pipelines = {
        "by_text": pointers("by_text"),
        "left_out": pointers("left_out", exclude_columns=["V"]),
        "not_shown": pointers("not_shown", unsupported_columns="exclude"),
    }
    for pipeline in pipelines.values():
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("UPDATE pointers SET name = 'b' WHERE id = 1", "UPDATE pointers SET v = 'AAAR3sAAEAAAACXAAB' WHERE id = 2")
    for pipeline in pipelines.values():
        caught_up(shop, pipeline, no_spark)
    found = {name: steps.read_status(pipeline).tables[0] for name, pipeline in pipelines.items()}

    assert {name: table.state for name, table in found.items()} == {"by_text": "held", "left_out": "live", "not_shown": "live"}
    assert "column V: UROWID written as UNSUPPORTED" in (found["by_text"].error or "")
    cured = pointers("by_text", unsupported_columns="reread")
    steps.take_snapshot(cured, ("SHOP.POINTERS",), replace=True, source=shop.params, spark=no_spark)
    shop.run_sql("UPDATE pointers SET v = 'AAAR3sAAEAAAACXAAC' WHERE id = 3", "INSERT INTO pointers VALUES (9, 'c', NULL)")
    caught_up(shop, cured, no_spark)
    assert states(cured) == {"SHOP.POINTERS": "live"}
    assert differences(shop, cured) == {}
