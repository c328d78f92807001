"""Large objects assembled from the redo alone: the lake equals the source, in every reading of what LogMiner shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.errors import Terminal
from tests.fixtures.shop import Shop, open_shop
from tests.generated.hunts import EXAMPLES
from tests.generated.lob_life import LobLife
from tests.integration.test_large_objects import READINGS
from tests.integration.test_pipeline import caught_up, differences
from tests.references.delta_table import delta_rows, rows_left
from tests.support.doctor import run_doctor
from tests.support.killed import killed_at
from tests.tables.papers import APPEND_TO_OPEN, BIG, FIRST_ROWS, PARTLY_ROLLED_BACK, Statements, change, changes, in_table

pytestmark = pytest.mark.spark

BLOCK = "DECLARE l CLOB; BEGIN SELECT body INTO l FROM papers WHERE id = {row} FOR UPDATE; DBMS_LOB.{call}; END;"
TABLE = (
    "CREATE TABLE papers (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan BLOB)",
    "ALTER TABLE papers ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
)


# The first needs every part of the assembly, the second is what was published last; `make soak` plays the others too.
HUNTED = tuple(READINGS) if EXAMPLES else ("one ROWID, locators with text", "as published of 26ai")


def papers(shop: Shop, spark: Any) -> Any:
    pipeline = shop.pipeline(tables=["SHOP.PAPERS"], large_objects="redo")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    return pipeline


@pytest.mark.parametrize("name", HUNTED)
def test_the_lake_equals_the_source_after_any_life(tmp_path: Path, spark: Any, name: str) -> None:
    """A transaction is open over three windows and batches."""
    reading: dict[str, Any] = READINGS[name]
    with open_shop(tmp_path, **reading) as shop:
        shop.run_sql(*TABLE)
        change(shop, FIRST_ROWS)
        pipeline = papers(shop, spark)
        life = LobLife(shop, seed=3, undoes_alone=True)
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO papers VALUES (99, 'open', :1, NULL)", (BIG,))
            for statements in ([*changes(", name = 'c'", moves="lob_rows" not in reading)], PARTLY_ROLLED_BACK):
                change(shop, statements)
                life.play(12)
                cursor.execute(APPEND_TO_OPEN)
                caught_up(shop, pipeline, spark)
                assert differences(shop, pipeline) == {}
            connection.commit()
        caught_up(shop, pipeline, spark)

        assert differences(shop, pipeline) == {}
        assert life.calls > 5


def test_characters_beyond_the_bmp_count_twice_where_oracle_counts_code_units(tmp_path: Path, spark: Any) -> None:
    """The batch is killed before its manifest, and runs again."""
    with open_shop(tmp_path, lob_counts="code units") as shop:
        shop.run_sql(*TABLE)
        change(shop, [("INSERT INTO papers VALUES (:1, 'a', '😀ä😀', NULL)", (n,)) for n in (1, 2)])
        pipeline = papers(shop, spark)
        calls = ["WRITE(l, 2, 4, '😀')", "WRITE(l, 1, 9, 'x')", "TRIM(l, 8)", "ERASE(l, 1, 3)"]
        change(shop, [(BLOCK.format(row=1, call=call), ()) for call in calls])
        change(shop, [("UPDATE papers SET body = :1 WHERE id = 2", ("😀" * 3_000,))])
        shop.switch_logs()

        with killed_at("before manifest"):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
        caught_up(shop, pipeline, spark)

        assert differences(shop, pipeline) == {}


APPEND: tuple[str, tuple[Any, ...]] = (BLOCK.format(row=1, call="WRITEAPPEND(l, 1, 'x')"), ())
UNDONE: Statements = [
    ("SAVEPOINT s", ()),
    ("UPDATE papers SET name = 'b' WHERE id = 2", ()),
    ("ROLLBACK TO SAVEPOINT s", ()),
]
HOLDING: dict[str, tuple[Statements, str]] = {
    "papers": ([APPEND, *UNDONE], "LogMiner may not show whether that change is undone"),
    "doubtful": ([(BLOCK.format(row=3, call="WRITE(l, 1, 3, 'x')"), ())], "count once or twice"),
    "fine": ([*UNDONE, APPEND], ""),
}


def test_what_cannot_be_followed_holds_the_table(tmp_path: Path, spark: Any) -> None:
    with open_shop(tmp_path) as shop:
        for table in HOLDING:
            shop.run_sql(*(sql.replace("papers", table) for sql in TABLE))
            change(shop, in_table(table, [*FIRST_ROWS[:2], ("INSERT INTO papers VALUES (3, 'a', '😀ä😀', NULL)", ())]))
        tables = [f"SHOP.{table.upper()}" for table in HOLDING]
        pipeline = shop.pipeline(tables=tables, large_objects="redo")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        for table, (statements, _) in HOLDING.items():
            change(shop, in_table(table, statements))
        caught_up(shop, pipeline, spark)

        errors = {one.table: one.error or "" for one in steps.read_status(pipeline).tables}
        assert {table: why for table, (_, why) in HOLDING.items() if why not in errors[f"SHOP.{table.upper()}"]} == {}
        assert {table for table, why in errors.items() if why} == {*tables} - {"SHOP.FINE"}
        assert differences(shop, pipeline, "SHOP.FINE") == {}


def test_writes_that_name_no_row_hold_a_table_that_is_read_again(tmp_path: Path, spark: Any) -> None:
    """A BasicFile that is never in its row has writes without a locator: they are no part of the object before them."""
    storage = "LOB (old) STORE AS BASICFILE (DISABLE STORAGE IN ROW)"
    with open_shop(tmp_path) as shop:
        shop.run_sql(
            f"CREATE TABLE scans (id NUMBER(9) PRIMARY KEY, new CLOB, old CLOB) {storage}",
            "ALTER TABLE scans ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            "INSERT INTO scans VALUES (1, 'a', 'a')",
            "INSERT INTO scans VALUES (2, 'b', 'b')",
        )
        pipeline = shop.pipeline(tables=["SHOP.SCANS"], large_objects="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        change(
            shop,
            [
                ("UPDATE scans SET new = :1 WHERE id = 1", (BIG,)),
                ("UPDATE scans SET old = :1 WHERE id = 2", ("short",)),
            ],
        )
        caught_up(shop, pipeline, spark)

        (table,) = steps.read_status(pipeline).tables
        assert "write(s) of large objects name no row" in (table.error or "")


LETTERS = (
    "CREATE TABLE letters (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), v XMLTYPE, body CLOB)",
    "ALTER TABLE letters ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
)
LONG = f"<long>{'tä' * 4_000}</long>"  # outside the row, in parts that end within characters
FIRST_LETTERS: Statements = [("INSERT INTO letters VALUES (:1, 'a', XMLTYPE('<a/>'), 'text')", (n,)) for n in range(1, 9)]
LETTER_CHANGES: Statements = [
    ("UPDATE letters SET v = XMLTYPE(:1) WHERE id = 1", ('<b n="1">it\'s</b>',)),
    ("UPDATE letters SET v = XMLTYPE(:1), name = 'b' WHERE id = 2", (LONG,)),
    ("UPDATE letters SET v = XMLTYPE(:1), body = :2 WHERE id = 3", (LONG, BIG)),
    ("UPDATE letters SET v = NULL, body = NULL WHERE id = 4", ()),
    ("UPDATE letters SET id = 50 WHERE id = 5", ()),
    ("UPDATE letters SET v = XMLTYPE('<c/>') WHERE id = 50", ()),
    ("UPDATE letters SET v = XMLTYPE('<c/>') WHERE id = 6", ()),
    ("DELETE FROM letters WHERE id = 6", ()),
    ("INSERT INTO letters VALUES (6, 'again', XMLTYPE('<d/>'), EMPTY_CLOB())", ()),
    ("UPDATE letters SET body = :1 WHERE id = 6", (BIG,)),
    ("UPDATE letters SET name = 'kept' WHERE id = 7", ()),
    ("INSERT INTO letters VALUES (9, 'new', XMLTYPE(:1), :2)", (LONG, BIG)),
    ("INSERT INTO letters VALUES (10, 'none', NULL, NULL)", ()),
    ("INSERT INTO letters VALUES (11, 'empty', XMLTYPE('<g/>'), EMPTY_CLOB())", ()),
    ("UPDATE letters SET v = XMLTYPE('<e/>') WHERE id = 10", ()),
    ("UPDATE letters SET v = XMLTYPE('<f/>') WHERE id = 10", ()),
]
XML_READINGS: dict[str, dict[str, Any]] = {
    "documents": {"xml_rows": "documents"},
    "as texts, without ROWIDs": {"xml_rows": "texts", "lob_rows": "statement", "xml_nulls": "document"},
    "documents, placeholder ROWIDs": {"xml_rows": "documents", "lob_rows_without_rowid": True, "xml_nulls": "document"},
    "as texts": {"xml_rows": "texts"},
}
# The tests after this one have documents.
XML_HUNTED = tuple(XML_READINGS) if EXAMPLES else ("as texts, without ROWIDs",)


@pytest.mark.parametrize("name", XML_HUNTED)
def test_documents_equal_the_source(tmp_path: Path, spark: Any, name: str) -> None:
    """One is written by a transaction that is open over two batches."""
    with open_shop(tmp_path, **XML_READINGS[name]) as shop:
        shop.run_sql(*LETTERS)
        change(shop, FIRST_LETTERS)
        pipeline = shop.pipeline(tables=["SHOP.LETTERS"], large_objects="redo")
        assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("UPDATE letters SET v = XMLTYPE('<open/>') WHERE id = 8")
            change(shop, LETTER_CHANGES)
            change(shop, [("UPDATE letters SET v = XMLTYPE('<x/>') WHERE id = 7", ())], end="rollback")
            caught_up(shop, pipeline, spark)
            assert differences(shop, pipeline) == {}
            cursor.execute("INSERT INTO letters VALUES (20, 'open', XMLTYPE(:1), NULL)", (LONG,))
            connection.commit()
        change(shop, [("SAVEPOINT s", ()), *UNDONE_LETTERS])
        caught_up(shop, pipeline, spark)

        assert differences(shop, pipeline) == {}


UNDONE_LETTERS: Statements = [
    ("INSERT INTO letters VALUES (21, 'undone', XMLTYPE('<x/>'), 'x')", ()),
    ("ROLLBACK TO SAVEPOINT s", ()),
    ("UPDATE letters SET name = 'after' WHERE id = 1", ()),
]


def test_a_document_that_the_redo_does_not_show_holds_its_table(tmp_path: Path, spark: Any) -> None:
    """An INSERT with neither NULL nor a document may have had one that LogMiner does not show."""
    with open_shop(tmp_path, xml_rows="documents", xml_nulls="absent") as shop:
        shop.run_sql(*LETTERS)
        pipeline = shop.pipeline(tables=["SHOP.LETTERS"], large_objects="redo")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        change(shop, [("INSERT INTO letters VALUES (1, 'none', NULL, NULL)", ())])
        caught_up(shop, pipeline, spark)

        (held,) = (table.error or "" for table in steps.read_status(pipeline).tables)
        assert "V: a change contains neither NULL nor a document" in held
        assert "`unsupported_columns: reread` reads changed rows" in held


MIXED = (
    "CREATE TABLE mixed (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan BLOB, v XMLTYPE)",
    "ALTER TABLE mixed ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)
MIXED_INSERT = "INSERT INTO mixed (id, name, body, scan, v) VALUES (:1, :2, :3, :4, XMLTYPE(:5))"


def mixed_row(number: int, body: str = "short", document: str = "<a/>") -> tuple[str, tuple[Any, ...]]:
    return MIXED_INSERT, (number, "new", body, b"\1\2", document)


def write_mixed(call: str, row: int) -> tuple[str, tuple[Any, ...]]:
    return BLOCK.format(row=row, call=call).replace("papers", "mixed"), ()


def landed_to(shop: Shop, pipeline: Any, spark: Any) -> int:
    caught_up(shop, pipeline, spark)
    return int(steps.read_status(pipeline).next_start_scn or 0)


def source_mixed(shop: Shop, scn: int) -> dict[int, tuple[Any, ...]]:
    """Return the rows from 10 on as the source had them before the SCN."""
    columns = "id, name, body, scan, XMLSERIALIZE(CONTENT v AS CLOB)"
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM mixed AS OF SCN {scn - 1} WHERE id >= 10")
        return {int(row[0]): tuple(value.read() if hasattr(value, "read") else value for value in row[1:]) for row in cursor}


def test_a_backfill_has_the_objects_of_rows_inserted_in_its_range_and_stops_where_one_is_older(
    tmp_path: Path, spark: Any
) -> None:
    with open_shop(tmp_path, xml_rows="documents") as shop:
        shop.run_sql(*MIXED)
        change(shop, [mixed_row(1), mixed_row(2)])
        pipeline = shop.pipeline(tables=["SHOP.MIXED"], large_objects="redo")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute(*mixed_row(10, BIG))  # in the carry-over of the last batch before the range
            start = landed_to(shop, pipeline, spark)
            change(shop, [mixed_row(11, BIG, LONG), mixed_row(12), mixed_row(13), mixed_row(14)])
            change(shop, [write_mixed("WRITEAPPEND(l, 3, 'end')", 11), write_mixed("TRIM(l, 2)", 12)])
            change(shop, [("UPDATE mixed SET id = 40, v = NULL WHERE id = 14", ()), ("DELETE FROM mixed WHERE id = 13", ())])
            cursor.execute(*write_mixed("WRITE(l, 1, 2, 'x')", 10))
            connection.commit()
        end = landed_to(shop, pipeline, spark)
        then = source_mixed(shop, end)
        change(shop, [write_mixed("WRITEAPPEND(l, 1, 'y')", 11)])
        later = landed_to(shop, pipeline, spark)
        shop.run_sql("ALTER TABLE mixed ADD (more CLOB)")
        landed_to(shop, pipeline, spark)

        for schema in ("historic", "current"):
            done = steps.run_backfill(pipeline, start, end, execute=True, schema=schema, spark=spark).recorded
            rows = rows_left(done.tables[0].target)
            assert {int(row["ID"]) for row in delta_rows(done.tables[0].target) if row["_deleted"]} == {13, 14}
            assert {int(row["ID"]): tuple(row[name] for name in ("NAME", "BODY", "SCAN", "V")) for row in rows} == then
            assert {row.get("MORE", "absent") for row in rows} == {None if schema == "current" else "absent"}
        assert set(then) == {10, 11, 12, 40}
        with pytest.raises(Terminal, match=r"RedoNotUnderstood: .*BODY: the value from before is needed") as stopped:
            steps.run_backfill(pipeline, end, later, execute=True, spark=spark)
        assert "`large_objects: redo`" in stopped.value.cure
        assert differences(shop, pipeline) == {}
