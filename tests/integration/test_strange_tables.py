"""Hidden, invisible, identity and virtual columns through capture and apply; and a table that can't be captured, which
stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.context import Run
from redolake.decode.changes import decode_changes
from redolake.errors import ConfigurationError, TableHeld
from redolake.land.dictionary import Readings
from redolake.reconcile.table_versions import History, history, known_versions
from redolake.schema import valid_at
from redolake.steps import run
from redolake.steps.run import capture
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import CHANGES
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source
from tests.support.doctor import run_doctor

LOGGED = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
PLAIN = ("CREATE TABLE plain (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))", LOGGED.format("plain"))
IN_REDO = ["name", "number", "none"]  # how SQL_REDO shows Oracle's own columns


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with standin(log_bytes=64 * 1024, archive_lag_target=0, **getattr(request, "param", {})) as oracle:
        yield Shop(oracle, tmp_path)


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def states(pipeline) -> dict[str, str]:
    return {table.table: table.state for table in steps.read_status(pipeline).tables}


@pytest.mark.parametrize("shop", [{"hidden_columns": form} for form in IN_REDO], indirect=True, ids=IN_REDO)
def test_tables_with_columns_of_oracles_own_equal_the_source(shop: Shop, no_spark: str) -> None:
    shop.run_sql(
        "CREATE TABLE guarded (id NUMBER(9) PRIMARY KEY)",
        "INSERT INTO guarded VALUES (1)",
        "ALTER TABLE guarded ADD (size_ NUMBER(9) DEFAULT 5, place VARCHAR2(9))",
        "CREATE TABLE emptied (id NUMBER(9) PRIMARY KEY, gone VARCHAR2(9), kept NUMBER(9))",
        "INSERT INTO emptied VALUES (1, 'x', 2)",
        "ALTER TABLE emptied SET UNUSED COLUMN gone",
        "CREATE TABLE archived (id NUMBER(9) PRIMARY KEY, kept NUMBER(9)) ROW ARCHIVAL",
        "INSERT INTO archived VALUES (1, 10)",
        "INSERT INTO archived VALUES (2, 20)",
        "UPDATE archived SET ora_archive_state = '1' WHERE id = 2",
        "CREATE TABLE quiet (id NUMBER(9) PRIMARY KEY, hush VARCHAR2(9) INVISIBLE, kept NUMBER(9))",
        "INSERT INTO quiet (id, hush, kept) VALUES (1, 'x', 1)",
        "CREATE TABLE numbered (id NUMBER(9) GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kept NUMBER(9), v NUMBER AS (kept * 2))",
        "INSERT INTO numbered (kept) VALUES (7)",
        *(LOGGED.format(name) for name in ("guarded", "emptied", "archived", "quiet", "numbered")),
    )
    names = ["GUARDED", "EMPTIED", "ARCHIVED", "QUIET", "NUMBERED"]
    pipeline = shop.pipeline(tables=[f"SHOP.{name}" for name in names])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert differences(shop, pipeline) == {}
    shop.run_sql(
        "INSERT INTO guarded VALUES (2, NULL, 'a')",
        "UPDATE guarded SET place = 'b', size_ = 6 WHERE id = 1",
        "INSERT INTO emptied VALUES (2, 3)",
        "UPDATE emptied SET kept = 4 WHERE id = 1",
        "UPDATE archived SET ora_archive_state = '1' WHERE id = 1",
        "UPDATE archived SET ora_archive_state = '0' WHERE id = 2",
        "UPDATE archived SET kept = 11",
        "INSERT INTO quiet (id, hush) VALUES (2, 'y')",
        "UPDATE quiet SET hush = NULL WHERE id = 1",
        "INSERT INTO numbered (kept) VALUES (8)",
        "UPDATE numbered SET kept = 9 WHERE id = 1",
    )
    caught_up(shop, pipeline, no_spark)

    assert set(states(pipeline).values()) == {"live"}
    assert differences(shop, pipeline) == {}


DDL = {
    "GUARDED": ("ALTER TABLE {} ADD (size_ NUMBER(9) DEFAULT 5, colour VARCHAR2(9))", {"SIZE_": 7, "COLOUR": "'red'"}),
    "AGAIN": ("ALTER TABLE {} ADD (weight NUMBER(9), size_ NUMBER(9) DEFAULT 5)", {"WEIGHT": 3, "SIZE_": 7}),
    "EMPTIED": ("ALTER TABLE {} SET UNUSED (place)", {}),
    "DROPPED": ("ALTER TABLE {} DROP COLUMN place", {}),
    "ARCHIVED": ("ALTER TABLE {} ROW ARCHIVAL", {}),
    "QUIET": ("ALTER TABLE {} MODIFY (place INVISIBLE)", {"PLACE": "'x'"}),
    "COMPUTED": ("ALTER TABLE {} ADD twice NUMBER GENERATED ALWAYS AS (quantity * 2) VIRTUAL", {}),
}
BEFORE = {
    "AGAIN": "ALTER TABLE again ADD first_ NUMBER(9) DEFAULT 1",
    "DROPPED": "ALTER TABLE dropped SET UNUSED (gone)",
}


@pytest.mark.parametrize("mined", ["at once", "after a later DDL"])
@pytest.mark.parametrize("shop", [{}, {"guards_added_columns": False}], indirect=True, ids=["12c", "11g"])
def test_redo_around_a_ddl_decodes_exactly(shop: Shop, no_spark: str, mined: str) -> None:
    """Rows from before a later DDL are shown as COL n, so each SEGMENT_COLUMN_ID must be right, hidden columns included."""
    for name in DDL:
        shop.run_sql(
            f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, gone NUMBER(9), place VARCHAR2(20), quantity NUMBER(9))",
            LOGGED.format(name),
        )
        shop.run_sql(
            *([BEFORE[name]] if name in BEFORE else ()), f"INSERT INTO {name} (id, place, quantity) VALUES (1, 'A', 1)"
        )
    pipeline = shop.pipeline(tables=[f"SHOP.{name}" for name in DDL])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    for name, (ddl, values) in DDL.items():
        columns, literals = ", ".join(values), ", ".join(str(value) for value in values.values())
        more, given = (f", {columns}", f", {literals}") if values else ("", "")
        shop.run_sql(
            f"INSERT INTO {name} (id, place, quantity) VALUES (2, 'B', 2)",
            ddl.format(name),
            f"INSERT INTO {name} (id, quantity{more}) VALUES (3, 3{given})",
            f"UPDATE {name} SET quantity = 4 WHERE id = 3",
        )
        if mined != "at once":
            shop.run_sql(f"ALTER TABLE {name} ADD later NUMBER(9)")
    for _ in range(2):  # the second dictionary reading lies within the range, and is compared with the derived versions
        shop.switch_logs()
        assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
        shop.run_sql("UPDATE guarded SET quantity = 1 WHERE id = 1")

    for name in DDL:
        past, rows = decoded(pipeline, TableId("SHOP", name))
        assert (past.derived.hold, past.conflict) == (None, None), name
        names = [column.name for column in past.derived.versions[-1].columns]
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            (expected,) = cursor.execute(f"SELECT {', '.join(names)} FROM {name} WHERE id = 3").fetchall()
        assert {**dict.fromkeys(names), **rows[3]} == dict(zip(names, expected, strict=True)), name
        assert rows[2]["QUANTITY"] == 2, name


@pytest.mark.parametrize("shop", [{"keeps_guards": True}, {"keeps_guards": False}], indirect=True, ids=["kept", "dropped"])
def test_rows_after_a_drop_of_the_guarded_column_are_not_misread(shop: Shop, no_spark: str) -> None:
    """If Oracle drops the guard too, all numbers are one lower than derived: the table is held before its rows are read."""
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY)",
        LOGGED.format("parts"),
        "ALTER TABLE parts ADD size_ NUMBER(9) DEFAULT 5",
        "ALTER TABLE parts ADD colour VARCHAR2(9)",
    )
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql(
        "ALTER TABLE parts DROP COLUMN size_", "INSERT INTO parts VALUES (1, 'red')", "ALTER TABLE parts ADD later VARCHAR2(9)"
    )
    shop.switch_logs()
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    keeps = shop.oracle.database.options.keeps_guards
    if keeps:
        assert decoded(pipeline, TableId("SHOP", "PARTS"))[1][1] == {"ID": 1, "COLOUR": "red"}
    with Run(pipeline) as context:
        windows = context.landing.windows.after()
        readings = Readings(context.landing.dictionary)
        past = history(
            context, known_versions(context, TableId("SHOP", "PARTS")), windows[0].start, windows, windows[-1].end, readings
        )
    assert (past.conflict is None) == keeps, past.conflict


def decoded(pipeline, table: TableId) -> tuple[History, dict[int, dict[str, object]]]:
    """Return the table's versions, and the last values of each row by ID as its redo shows them."""
    with Run(pipeline) as context:
        windows = context.landing.windows.after()
        past = history(
            context,
            known_versions(context, table),
            windows[0].start,
            windows,
            windows[-1].end,
            Readings(context.landing.dictionary),
        )
        parts = [pq.read_table(file) for window in windows for file in context.landing.windows.files_of(window)]
    versions = past.derived.versions
    found: dict[int, dict[str, object]] = {}
    for row in sorted((row for part in parts for row in part.to_pylist()), key=lambda row: row["scn"]):
        if row["object_id"] != versions[0].object_id or row["operation_code"] not in CHANGES:
            continue
        if row["scn"] < versions[0].from_scn:  # read by the snapshot
            continue
        version = valid_at(versions, row["scn"])
        (change,) = decode_changes(pa.RecordBatch.from_pylist([row], LANDED_SCHEMA), version, {}).to_pylist()
        assert (change["error"], change["unknown"]) == (None, None), (table, row["sql_redo"])
        values = {column.name: change[f"n{column.id}"] for column in version.columns}
        found.setdefault(int(values["ID"]), {}).update(values)
    return past, found


STRANGE = {
    "BINARY": "CREATE TABLE binary (id NUMBER(9) PRIMARY KEY, body BLOB)",
    "KEYLESS": "CREATE TABLE keyless (id NUMBER(9), n NUMBER(9))",
    "MISSPELT": "CREATE TABLE misspelled (id NUMBER(9) PRIMARY KEY)",
    "LENGTHY": "CREATE TABLE lengthy (id NUMBER(9) PRIMARY KEY, " + "n" * 31 + " NUMBER(9))",
    "WIDE": "CREATE TABLE wide (id NUMBER(9) PRIMARY KEY, note VARCHAR2(4001))",
    "VALID": "CREATE TABLE valid (id NUMBER(9) PRIMARY KEY, a DATE, b DATE, PERIOD FOR valid (a, b))",
}


@pytest.mark.parametrize("shop", [{"extended_strings": True}], indirect=True, ids=[""])
def test_tables_that_cannot_be_captured_are_held_and_stop_no_other(shop: Shop, no_spark: str) -> None:
    shop.run_sql(*PLAIN, "INSERT INTO plain VALUES (1, 'A')", *STRANGE.values())
    names = {f"SHOP.{name}" for name in STRANGE}
    pipeline = shop.pipeline(tables=[*sorted(names), "SHOP.PLAIN"])
    errors = [f for f in run_doctor(pipeline, shop.params) if f.severity == "error" and f.subject.startswith("SHOP.")]
    assert {".".join(f.subject.split(".")[:2]) for f in errors} == names

    with pytest.raises(TableHeld) as held:
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert {f.subject for f in held.value.findings} == names
    assert states(pipeline) == {**dict.fromkeys(names, "held"), "SHOP.PLAIN": "live"}
    shop.run_sql("INSERT INTO plain VALUES (2, 'B')", "INSERT INTO wide (id) VALUES (1)", "INSERT INTO valid (id) VALUES (1)")
    caught_up(shop, pipeline, no_spark)

    assert states(pipeline) == {**dict.fromkeys(names, "held"), "SHOP.PLAIN": "live"}
    assert all(table.error for table in steps.read_status(pipeline).tables if table.table in names)
    assert [(t.table, t.differing_cells) for t in compare_with_source(pipeline, shop.params, ["SHOP.PLAIN"]).tables] == [
        ("SHOP.PLAIN", 0)
    ]


def test_a_snapshot_of_tables_none_of_which_can_be_captured_writes_nothing(shop: Shop) -> None:
    shop.run_sql("CREATE TABLE strange (id NUMBER(9), n NUMBER(9))")

    with pytest.raises(ConfigurationError, match="no enabled primary key"):
        steps.begin_snapshot(Run(shop.pipeline(tables=["SHOP.STRANGE"]), shop.params))


@pytest.mark.parametrize(("index", "refused"), [("UNIQUE INDEX", []), ("INDEX", ["has no enabled primary key"])])
def test_a_primary_key_that_is_not_validated_counts_only_over_a_unique_index(
    shop: Shop, index: str, refused: list[str]
) -> None:
    """Else rows from before may have equal keys."""
    shop.run_sql(
        "CREATE TABLE older (id NUMBER(9) NOT NULL, n NUMBER(9))",
        "ALTER TABLE older ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        f"CREATE {index} older_id ON older (id)",
        "ALTER TABLE older ADD CONSTRAINT older_pk PRIMARY KEY (id) USING INDEX older_id ENABLE NOVALIDATE",
    )

    found = run_doctor(shop.pipeline(tables=["SHOP.OLDER"]), shop.params)

    assert [f.what for f in found if f.severity == "error"] == refused


def test_a_table_added_to_a_running_pipeline_that_cannot_be_captured_stops_no_plan(shop: Shop, no_spark: str) -> None:
    shop.run_sql(*PLAIN)
    steps.take_snapshot(shop.pipeline(tables=["SHOP.PLAIN"]), source=shop.params, spark=no_spark)
    shop.run_sql("CREATE TABLE strange (id NUMBER(9), n NUMBER(9))", "INSERT INTO plain VALUES (1, 'A')")
    pipeline = shop.pipeline(tables=["SHOP.PLAIN", "SHOP.STRANGE", "SHOP.ABSENT"])
    shop.switch_logs()

    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    with Run(pipeline) as context:
        held = {str(entry.table): entry.error for entry in context.ledger.tables("held")}
    assert set(held) == {"SHOP.ABSENT"}  # STRANGE can be described; doctor and its snapshot refuse it
    assert "is not in the dictionary" in held["SHOP.ABSENT"]["what"]


def test_a_cured_table_is_snapshotted_by_its_name(shop: Shop, no_spark: str) -> None:
    shop.run_sql(*PLAIN, "CREATE TABLE strange (id NUMBER(9), n NUMBER(9))", LOGGED.format("strange"))
    pipeline = shop.pipeline(tables=["SHOP.STRANGE", "SHOP.PLAIN"])
    with pytest.raises(TableHeld):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("ALTER TABLE strange ADD PRIMARY KEY (id)", "INSERT INTO strange VALUES (1, 1)")
    steps.take_snapshot(pipeline, ["SHOP.STRANGE"], replace=True, source=shop.params, spark=no_spark)

    assert states(pipeline) == {"SHOP.STRANGE": "live", "SHOP.PLAIN": "live"}
    assert differences(shop, pipeline) == {}


def test_a_table_that_cannot_be_read_is_held_and_the_others_are_loaded(
    shop: Shop, no_spark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run_sql(*PLAIN, "CREATE TABLE broken (id NUMBER(9) PRIMARY KEY)", LOGGED.format("broken"))
    pipeline = shop.pipeline(tables=["SHOP.BROKEN", "SHOP.PLAIN"])
    begin = run.begin_snapshot

    def begun_before_the_drop(*given, **named):
        found = begin(*given, **named)
        shop.run_sql("DROP TABLE broken PURGE")
        return found

    monkeypatch.setattr(run, "begin_snapshot", begun_before_the_drop)
    with pytest.raises(TableHeld, match=r"SHOP\.BROKEN"):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    assert states(pipeline) == {"SHOP.BROKEN": "held", "SHOP.PLAIN": "live"}


DOCUMENTS = (
    "CREATE TABLE documents (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan_blob BLOB, size_ NUMBER(9))",
    LOGGED.format("documents"),
)
BIG = "t" * 20_000  # stored outside the row


def columns_landed(pipeline) -> set[str]:
    files = list(Path(pipeline.landing).rglob("snapshots/**/*.parquet"))
    return {name for file in files for name in pq.read_schema(file).names}


def with_big_lobs(shop: Shop, *statements: str) -> None:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"big": BIG} if ":big" in statement else {})
        connection.commit()


@pytest.mark.parametrize("choice", [{"exclude_columns": ["body", "*_blob"]}, {"unsupported_columns": "exclude"}], ids=str)
def test_columns_left_out_never_land_and_their_changes_hold_no_table(shop: Shop, no_spark: str, choice) -> None:
    shop.run_sql(*DOCUMENTS, "INSERT INTO documents VALUES (1, 'A', 'old', HEXTORAW('ff'), 1)")
    pipeline = shop.pipeline(tables=[{"table": "SHOP.DOCUMENTS", **choice}])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert columns_landed(pipeline) == {"ID", "NAME", "SIZE_"}
    with_big_lobs(
        shop,
        "UPDATE documents SET body = :big WHERE id = 1",
        "UPDATE documents SET scan_blob = NULL, name = 'B' WHERE id = 1",
        "INSERT INTO documents VALUES (2, 'C', :big, NULL, 2)",
        "UPDATE documents SET body = 'short' WHERE id = 2",
        "ALTER TABLE documents ADD (more_blob BLOB)",
        "UPDATE documents SET more_blob = HEXTORAW('aa'), size_ = 3 WHERE id = 2",
    )
    caught_up(shop, pipeline, no_spark)

    assert states(pipeline) == {"SHOP.DOCUMENTS": "live"}
    assert differences(shop, pipeline) == {}
    notes = {f.subject for f in run_doctor(pipeline, shop.params) if "left out" in f.what}
    assert notes == {"SHOP.DOCUMENTS.BODY", "SHOP.DOCUMENTS.SCAN_BLOB", "SHOP.DOCUMENTS.MORE_BLOB"}


def test_a_change_of_exclude_holds_the_table_until_it_is_read_again(shop: Shop, no_spark: str) -> None:
    shop.run_sql(*DOCUMENTS, "INSERT INTO documents VALUES (1, 'A', 'old', HEXTORAW('ff'), 1)")
    out = ["BODY", "*_BLOB"]
    for before, after, what in (
        (out, [*out, "NAME"], "leaves out NAME, which the table was read with"),
        ([*out, "NAME"], [*out, "OTHER*"], "captures NAME, which the table was read without"),
    ):
        pipeline = shop.pipeline(tables=[{"table": "SHOP.DOCUMENTS", "exclude_columns": before}])
        steps.take_snapshot(pipeline, ["SHOP.DOCUMENTS"], replace=True, source=shop.params, spark=no_spark)
        shop.run_sql("UPDATE documents SET size_ = size_ + 1")
        pipeline = shop.pipeline(tables=[{"table": "SHOP.DOCUMENTS", "exclude_columns": after}])
        caught_up(shop, pipeline, no_spark)
        (table,) = steps.read_status(pipeline).tables
        assert table.error is not None
        assert what in table.error
        steps.take_snapshot(pipeline, ["SHOP.DOCUMENTS"], replace=True, source=shop.params, spark=no_spark)
        caught_up(shop, pipeline, no_spark)
        assert states(pipeline) == {"SHOP.DOCUMENTS": "live"}
        assert differences(shop, pipeline) == {}


def test_a_key_column_cannot_be_left_out(shop: Shop) -> None:
    shop.run_sql(*DOCUMENTS)
    pipeline = shop.pipeline(tables=[{"table": "SHOP.DOCUMENTS", "exclude_columns": ["I*", "body", "*_blob"]}])

    with pytest.raises(ConfigurationError, match="`exclude_columns` names ID, which is part of the primary key"):
        steps.begin_snapshot(Run(pipeline, shop.params))
