"""Large tables: read in chunks, by several sessions and again after kills, AS OF one SCN or of several."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.cockpit.overview import read_overview
from redolake.config.snapshot import SnapshotSettings
from redolake.context import Run
from redolake.errors import RedolakeError, SnapshotPaused, TableHeld
from redolake.host.progress import silent
from redolake.source.buckets import read_digests
from redolake.steps.proof import hash_chunks
from redolake.steps.proof.table_to_compare import describe, hash_plan_of, hashing_of
from redolake.steps.proof.verify import entry_with_contents
from redolake.values.table import TableId
from standin.engine.types.rowids import ROWS_OF_BLOCK
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.states.lost_ledger import lose_ledger
from tests.support.doctor import run_doctor
from tests.support.killed import killed_at
from tests.support.waiting import wait_until

PARTS = TableId("SHOP", "PARTS")
CHUNKS = SnapshotSettings(chunk_bytes=65536)
READ = '\n  FROM "SHOP"."PARTS" AS OF SCN'


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


CREATED = "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))"
LOGGED = "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
ROWS, IN_BLOCK = 500, 20


def fill(shop: Shop, rows: int, place: str = "'W' || {}, ") -> None:
    """Insert rows with the keys 10, 20, 30 .., and a tenth of the rows into each block that it has room for."""
    store = shop.oracle.database.tables.stores[(3, "SHOP", "PARTS")]
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for row in range(0, rows, IN_BLOCK):
            key, last = f"({row} + LEVEL) * 10", min(IN_BLOCK, rows - row)
            cursor.execute(f"INSERT INTO parts SELECT {key}, {place.format(key)}{key} FROM dual CONNECT BY LEVEL <= {last}")
            store.next_row = -(-store.next_row // ROWS_OF_BLOCK) * ROWS_OF_BLOCK
        connection.commit()


def scattered(shop: Shop, columns: str = "", **settings: Any) -> Any:
    """Return a pipeline over a table of 500 rows in as many blocks as 5,000 would need, which is cut at each of its extents."""
    shop.run_sql(CREATED, LOGGED)
    fill(shop, ROWS)
    shop.run_sql(*([f"ALTER TABLE parts ADD ({columns})"] if columns else ()))
    return pipeline_of(shop, **settings)


def large(shop: Shop, **settings: Any) -> Any:
    """Return a pipeline over a table of 5,000 rows, which is cut at each of its extents."""
    inserted = "INSERT INTO parts SELECT LEVEL, 'W' || LEVEL, LEVEL FROM dual CONNECT BY LEVEL <= 5000"
    shop.run_sql(CREATED, LOGGED, inserted)
    return pipeline_of(shop, **settings)


def pipeline_of(shop: Shop, **settings: Any) -> Any:
    shop.run_sql("GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS")
    settings.setdefault("snapshot", {"chunk_bytes": "64KiB"})
    return shop.pipeline(**{"tables": ["SHOP.PARTS"], **settings})


def chunk_files(shop: Shop) -> dict[str, bytes]:
    folder = shop.folder / "landing"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("chunk-*.json")}


def test_a_large_table_is_read_in_chunks_by_several_sessions_and_equals_the_source(shop: Shop, no_spark: str) -> None:
    pipeline, lines = scattered(shop), list[str]()
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=lines.append)
    shop.run_sql("UPDATE parts SET quantity = 0 WHERE id IN (10, 2500, 5000)", "DELETE FROM parts WHERE id = 4000")
    caught_up(shop, pipeline, no_spark)

    assert [table.rows for table in taken.tables] == [ROWS]
    assert len(chunk_files(shop)) == 4
    assert {line for line in lines if "chunk 4 of 4" in line}
    assert differences(shop, pipeline) == {}


def fail_after(shop: Shop, chunks: int, code: int, then: tuple[str, ...] = (), times: int = 1) -> Any:
    """Return a report that, when so many chunks are read for the first time, runs statements and lets the next reads fail."""
    seen: list[str] = []

    def report(line: str) -> None:
        if f"chunk {chunks} of" in line and not seen:
            seen.append(line)
            shop.run_sql(*then)
            shop.oracle.faults.fail_statements(code, READ, times)

    return report


def test_a_read_that_ends_early_is_continued_and_reads_only_what_is_missing(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    with pytest.raises(RedolakeError):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=fail_after(shop, 2, 600))
    read = chunk_files(shop)
    shop.run_sql("UPDATE parts SET quantity = -id WHERE MOD(id, 7) = 0")
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    again = chunk_files(shop)
    caught_up(shop, pipeline, no_spark)

    assert (len(read), len(again)) == (2, 4)
    assert {name: again[name] for name in read} == read
    assert taken.tables[0].rows == ROWS
    assert differences(shop, pipeline) == {}


def test_a_table_whose_first_read_failed_while_others_were_loaded_is_read_by_the_same_command(
    shop: Shop, no_spark: str
) -> None:
    """It is held, and has no contents that could be replaced. The page says how many chunks are there."""
    shop.run_sql("CREATE TABLE other (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE other ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    settings = {"chunk_bytes": "64KiB", "sessions": 1}
    pipeline = scattered(shop, snapshot=settings, tables=["SHOP.PARTS", "SHOP.OTHER"])
    with pytest.raises(TableHeld):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=fail_after(shop, 2, 600))
    steps.pause_snapshots(pipeline, ["SHOP.PARTS"], paused=True, by="ann")
    with pytest.raises(SnapshotPaused, match="ann has paused"):
        steps.take_snapshot(pipeline, ["SHOP.PARTS"], source=shop.params, spark=no_spark)
    shown = {table.table: table.snapshot for table in read_overview(pipeline, pipeline.ledger_url, datetime.now(UTC)).tables}
    steps.pause_snapshots(pipeline, ["SHOP.PARTS"], paused=False, by="ann")
    taken = steps.take_snapshot(pipeline, ["SHOP.PARTS"], source=shop.params, spark=no_spark)
    caught_up(shop, pipeline, no_spark)

    assert "2 of 4 chunks" in shown["SHOP.PARTS"]
    assert [table.rows for table in taken.tables] == [ROWS]
    assert differences(shop, pipeline) == {}


def test_chunks_that_undo_no_longer_reaches_are_read_at_a_newer_scn_and_the_redo_makes_them_equal(
    shop: Shop, no_spark: str
) -> None:
    """Rows change in every chunk while they are read: some move to a key, or a ROWID, of a chunk that was read before."""
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    meanwhile = (
        "UPDATE parts SET quantity = -id WHERE MOD(id, 3) = 0",
        "DELETE FROM parts WHERE id BETWEEN 4900 AND 5000",
        "INSERT INTO parts (id, place, quantity) SELECT 4900 + LEVEL, 'again', LEVEL FROM dual CONNECT BY LEVEL <= 50",
        "UPDATE parts SET id = id + 10000 WHERE id BETWEEN 1500 AND 1700",
        "UPDATE parts SET id = 1000000 - id WHERE id BETWEEN 3300 AND 3400",
        "DELETE FROM parts WHERE id BETWEEN 10 AND 20",
        "INSERT INTO parts (id, place, quantity) SELECT 9 + LEVEL, 'back', 0 FROM dual CONNECT BY LEVEL <= 5",
    )
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=fail_after(shop, 2, 1555, meanwhile))
    scns = {int(found[1]) for body in chunk_files(shop).values() if (found := re.search(rb'"scn": (\d+)', body))}
    waiting = {t.table: t.complete_to_scn for t in steps.read_status(pipeline).tables}
    (refused,) = steps.verify_tables(pipeline, source=shop.params, spark=no_spark).not_compared
    lose_ledger(shop.folder / "landing")
    caught_up(shop, pipeline, no_spark)

    assert len(scns) == 2
    assert waiting == {"SHOP.PARTS": min(scns)}
    assert f"SCNs up to {max(scns)}" in str(refused)
    assert differences(shop, pipeline) == {}


def test_a_table_of_several_scns_waits_until_the_redo_up_to_the_highest_is_landed(shop: Shop, no_spark: str) -> None:
    """Other tables go on; no commit of it ends before that SCN."""
    shop.run_sql("CREATE TABLE other (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE other ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1}, tables=["SHOP.PARTS", "SHOP.OTHER"])

    def changes(line: str) -> None:
        if "chunk 2 of" in line:
            shop.run_sql("UPDATE parts SET quantity = 1 WHERE MOD(id, 3) = 0", "INSERT INTO other VALUES (1)")
            shop.switch_logs()
            shop.run_sql("UPDATE parts SET quantity = 2 WHERE MOD(id, 3) = 1")
            shop.oracle.faults.fail_statements(1555, READ, 1)

    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=changes)
    early = steps.run_pipeline(pipeline, source=shop.params, spark=no_spark)
    first = {t.table: t.complete_to_scn for t in early.tables}
    outcome = caught_up(shop, pipeline, no_spark)
    last = {t.table: t.complete_to_scn for t in outcome.tables}

    assert first["SHOP.PARTS"] < first["SHOP.OTHER"]
    assert last["SHOP.PARTS"] == last["SHOP.OTHER"] > first["SHOP.OTHER"]
    assert differences(shop, pipeline) == {}


def test_a_table_whose_redo_cannot_make_chunks_equal_is_read_again_from_the_beginning(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(
        shop,
        tables=[{"table": "SHOP.PARTS", "key": ["CODE"]}],
        columns="code NUMBER(9) CONSTRAINT parts_code UNIQUE",
        snapshot={"chunk_bytes": "64KiB", "sessions": 1},
    )
    report = fail_after(shop, 2, 1555, ("UPDATE parts SET code = id WHERE MOD(id, 20) = 0",))
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=report)

    folders = {Path(name).parent.name for name in chunk_files(shop)}
    given_up = [path.parent.name for path in (shop.folder / "landing").rglob("given-up.json")]
    assert given_up == [min(folders)]
    assert len([name for name in chunk_files(shop) if max(folders) in name]) == 4


@pytest.mark.parametrize(
    ("mapped", "begins_again"),
    [
        ({"rename": {"PLACE": "where_it_is"}, "where": "quantity >= 0"}, False),
        ({"columns": {"ID": {"expression": "`ID` * 2", "type": "bigint", "injective": True}}}, True),
    ],
)
def test_a_mapped_table_goes_on_at_a_newer_scn_unless_an_expression_makes_its_key(
    shop: Shop, mapped: dict[str, Any], begins_again: bool
) -> None:
    pipeline = scattered(shop, tables=[{"table": "SHOP.PARTS", **mapped}], snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    read = steps.read_snapshot_table(Run(pipeline, shop.params, report=fail_after(shop, 2, 1555)), begun.scn, "SHOP.PARTS")

    given_up = list((shop.folder / "landing").rglob("given-up.json"))
    assert (read.rows, len(given_up)) == (ROWS, int(begins_again))


@pytest.mark.parametrize(("key", "given_up"), [("ID", False), ("CODE", True)])
def test_undo_that_never_lasts_ends_with_an_error_that_says_what_to_do(
    shop: Shop, no_spark: str, key: str, given_up: bool
) -> None:
    """With a key that may be NULL, chunks of several SCNs do not make the table: it begins again, and not for ever. The other
    table keeps the chunks that were read."""
    pipeline = scattered(
        shop,
        tables=[{"table": "SHOP.PARTS", "key": [key]}],
        columns="code NUMBER(9) CONSTRAINT parts_code UNIQUE",
        snapshot={"chunk_bytes": "64KiB", "sessions": 1},
    )
    with pytest.raises(RedolakeError) as ended:
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=fail_after(shop, 1, 1555, times=1000))
    shop.oracle.faults.mend_statements()
    read = chunk_files(shop)

    assert bool(list((shop.folder / "landing").rglob("given-up.json"))) == given_up
    assert (len(read), "raise UNDO_RETENTION" in (ended.value.cure or "")) == (1, True)
    (loaded,) = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark).tables
    assert loaded.rows == ROWS
    assert given_up or all(chunk_files(shop)[name] == body for name, body in read.items())


def test_a_ddl_between_the_chunks_begins_the_snapshot_again(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    report = fail_after(shop, 2, 1466, ("ALTER TABLE parts ADD (colour VARCHAR2(9))", "UPDATE parts SET colour = 'red'"))
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=report)
    caught_up(shop, pipeline, no_spark)

    assert len(list((shop.folder / "landing").rglob("given-up.json"))) == 1
    assert differences(shop, pipeline) == {}


@pytest.mark.parametrize(
    "ddl", ["DROP PARTITION p1", "RENAME PARTITION p2 TO p9", "TRUNCATE PARTITION p2", "MOVE PARTITION p2"]
)
def test_a_partition_that_changes_between_the_chunks_begins_the_snapshot_again(shop: Shop, no_spark: str, ddl: str) -> None:
    """Oracle shows nothing of it AS OF an SCN before that, and the plan names it."""
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9), place VARCHAR2(20), quantity NUMBER(9)) PARTITION BY RANGE (id) (PARTITION p0 "
        "VALUES LESS THAN (2000), PARTITION p1 VALUES LESS THAN (4000), PARTITION p2 VALUES LESS THAN (MAXVALUE))",
        LOGGED,
    )
    fill(shop, 600)
    pipeline = pipeline_of(
        shop, tables=[{"table": "SHOP.PARTS", "key": "rowid"}], snapshot={"chunk_bytes": "64KiB", "sessions": 1}
    )
    lines = list[str]()

    def report(line: str) -> None:
        if "chunk 1 of" in line and not lines:
            lines.append(line)
            shop.run_sql(f"ALTER TABLE parts {ddl}")

    taken = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=report)
    caught_up(shop, pipeline, no_spark)

    assert [t.rows for t in taken.tables] == [{"DROP": 400, "TRUNCATE": 399}.get(ddl.split()[0], 600)]
    assert len(list((shop.folder / "landing").rglob("given-up.json"))) == 1
    assert differences(shop, pipeline) == {}


def test_a_paused_snapshot_reads_no_further_chunk_until_it_is_resumed(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1})

    def pause(line: str) -> None:
        if "chunk 1 of" in line:
            steps.pause_snapshots(pipeline, ["SHOP.PARTS"], paused=True, by="ann")

    with pytest.raises(SnapshotPaused, match="ann has paused"):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=pause)
    (found,) = steps.read_chunked_tables(pipeline)
    steps.pause_snapshots(pipeline, ["SHOP.PARTS"], paused=False, by="ann")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    assert (found.read, found.chunks, found.paused_by) == (1, 4, "ann")
    assert steps.read_chunked_tables(pipeline) == ()
    assert differences(shop, pipeline) == {}


def test_a_chunk_file_cut_short_is_found_and_read_again(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    with pytest.raises(RedolakeError):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=fail_after(shop, 2, 600))
    cut = sorted((shop.folder / "landing").rglob("part-*.parquet"))[0]
    cut.write_bytes(cut.read_bytes()[:100])
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    assert differences(shop, pipeline) == {}


def test_without_the_grant_a_table_is_cut_by_ranges_of_its_key(shop: Shop, no_spark: str) -> None:
    pipeline = large(shop)
    shop.run_sql("BEGIN DBMS_STATS.GATHER_TABLE_STATS('\"SHOP\"', '\"PARTS\"'); END;")
    shop.run_sql("REVOKE SELECT ON dba_extents FROM c##redolake", "REVOKE SELECT ON dba_segments FROM c##redolake", user="SYS")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    with Run(pipeline) as context:
        (scn,) = context.landing.snapshots.scns(PARTS)
        plan = context.landing.chunks.plan(PARTS, scn)
        rows = [one.rows for one in context.landing.chunks.read(PARTS, scn).values()]
    assert plan is not None
    assert (plan.by, plan.column, len(plan.chunks)) == ("key", "ID", 4)
    assert (sum(rows), min(rows) > 500) == (5000, True)
    assert differences(shop, pipeline) == {}


def test_partitions_are_cut_one_by_one_and_two_runs_at_once_agree(shop: Shop, no_spark: str) -> None:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9)) PARTITION BY RANGE (id) (PARTITION few VALUES LESS "
        "THAN (100), PARTITION many VALUES LESS THAN (4000), PARTITION rest VALUES LESS THAN (MAXVALUE))",
        LOGGED,
    )
    fill(shop, 399, place="")
    pipeline = pipeline_of(shop)
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    first = steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PARTS")
    again = steps.begin_snapshot(Run(pipeline, shop.params))
    second = steps.read_snapshot_table(Run(pipeline, shop.params), again.scn_of("SHOP.PARTS"), "SHOP.PARTS")

    assert begun.chunks == (("SHOP.PARTS", 5),)  # one of `few`, three of `many`, and one of `rest`, which is empty
    assert (first.rows, second) == (399, first)


KILLS = {
    "begin chunks.json": (None, ()),
    "write_rows *.parquet#3": (None, ()),
    "publish *.json#2": (None, ()),
    "publish_manifest snapshot.json": (None, ()),
    "record_later *.json": (1555, ("UPDATE parts SET id = id + 9000 WHERE MOD(id, 5) = 0",)),
    "give_up given-up.json": (1555, ("ALTER TABLE parts ADD (colour VARCHAR2(9))", "UPDATE parts SET colour = 'red'")),
}


@pytest.mark.parametrize("point", KILLS)
def test_a_process_that_is_killed_after_a_write_is_repeated_and_makes_the_table_equal(
    shop: Shop, no_spark: str, point: str
) -> None:
    pipeline, (code, then) = scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1}), KILLS[point]
    report = silent if code is None else fail_after(shop, 2, code, then)
    with killed_at(point):
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark, report=report)
    left = chunk_files(shop)
    shop.run_sql("UPDATE parts SET quantity = 0 WHERE MOD(id, 11) = 0")
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    caught_up(shop, pipeline, no_spark)

    assert taken.tables[0].rows >= ROWS
    assert all((shop.folder / "landing" / name).read_bytes() == body for name, body in left.items())
    assert differences(shop, pipeline) == {}


def test_doctor_says_what_the_snapshot_of_a_large_table_takes_and_whether_undo_lasts(shop: Shop, no_spark: str) -> None:
    pipeline = large(shop, snapshot={"chunk_bytes": "64KiB", "rows_per_second": 2, "hours_utc": "22-05"})
    (guessed,) = (f for f in run_doctor(pipeline, shop.params) if f.subject == "SHOP.PARTS" and "chunks" in f.what)
    shop.run_sql("BEGIN DBMS_STATS.GATHER_TABLE_STATS('\"SHOP\"', '\"PARTS\"'); END;")
    shop.oracle.database.clock.skip(10)

    def found() -> list[Any]:
        return [f for f in run_doctor(pipeline, shop.params) if f.subject == "SHOP.PARTS" and "chunks" in f.what]

    (before,) = found()
    shop.run_sql("ALTER SYSTEM SET UNDO_RETENTION = 3600", user="SYS")
    (after,) = found()
    steps.take_snapshot(pipeline.model_copy(update={"snapshot": CHUNKS}), source=shop.params, spark=no_spark)

    assert "and 2,621 rows if each has 100 bytes: there are no statistics" in guessed.what
    assert guessed.severity == "warning"
    assert "5,000 rows by statistics: its snapshot is read in some 4 chunks, some 41 min with 4 sessions" in before.what
    assert (before.severity, "UNDO_RETENTION is 900 s" in before.what) == ("warning", True)
    assert after.severity == "note"
    assert found() == []


def test_doctor_says_where_nobody_knows_the_size_of_a_table_that_is_to_be_read_at_night(shop: Shop) -> None:
    pipeline = scattered(shop, snapshot={"hours_utc": "22-05"})
    shop.run_sql("REVOKE SELECT ON dba_segments FROM c##redolake", user="SYS")
    (found,) = (f for f in run_doctor(pipeline, shop.params) if "hours_utc" in f.subject)

    assert "does not hold for SHOP.PARTS" in found.what
    assert "GATHER_TABLE_STATS('\"SHOP\"', '\"PARTS\"')" in found.cure


def test_capture_and_apply_go_on_while_follow_reads_the_chunks_of_a_large_table(shop: Shop, no_spark: str) -> None:
    """Redo of that time is landed, and applied to another table, before the second chunk is read."""
    shop.run_sql("CREATE TABLE other (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE other ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    pipeline = scattered(
        shop,
        snapshot={"chunk_bytes": "64KiB", "sessions": 1},
        tables=["SHOP.OTHER", "SHOP.PARTS"],
        wait_max_pause_seconds=0.2,
    )
    steps.take_snapshot(pipeline, ["SHOP.OTHER"], source=shop.params, spark=no_spark)
    stop, lines = threading.Event(), list[str]()

    def states() -> dict[str, str]:
        return {t.table: t.state for t in steps.read_status(pipeline).tables}

    def report(line: str) -> None:
        lines.append(line)
        if "chunk 1 of" in line:
            shop.run_sql("INSERT INTO other VALUES (1)", "UPDATE parts SET quantity = 0 WHERE id > 4000")
            shop.switch_logs()
            wait_until(lambda: any("is visible" in said for said in lines))
            lines.append(f"meanwhile: {states()}")
        if "is visible" in line and states()["SHOP.PARTS"] == "live":
            stop.set()

    done = steps.follow_pipeline(Run(pipeline, source=shop.params, spark=no_spark, report=report), stop)

    assert "meanwhile: {'SHOP.OTHER': 'live', 'SHOP.PARTS': 'new'}" in lines
    assert [t.state for t in done.tables] == ["live", "live"]
    assert differences(shop, pipeline) == {}


def meanwhile(shop: Shop, pipeline: Any, lines: list[str]) -> Any:
    """Return a reporter that changes rows after the first chunk, and waits until another table shows it before the second."""

    def report(line: str) -> None:
        lines.append(line)
        if "chunk 1 of" in line:
            shop.run_sql("INSERT INTO other VALUES (1)", "UPDATE parts SET quantity = 0 WHERE id > 4000")
            shop.switch_logs()
            wait_until(lambda: any("is visible" in said for said in lines[lines.index(line) :]))
            lines.append(f"meanwhile: {[t.state for t in steps.read_status(pipeline).tables]}")

    return report


def with_another_table(shop: Shop, **settings: Any) -> Any:
    shop.run_sql("CREATE TABLE other (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE other ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    return scattered(shop, snapshot={"chunk_bytes": "64KiB", "sessions": 1}, tables=["SHOP.OTHER", "SHOP.PARTS"], **settings)


@pytest.mark.parametrize("until_caught_up", [False, True])
def test_capture_and_apply_go_on_while_run_reads_the_chunks_of_a_large_table(
    shop: Shop, no_spark: str, until_caught_up: bool
) -> None:
    pipeline, lines = with_another_table(shop), list[str]()
    steps.take_snapshot(pipeline, ["SHOP.OTHER"], source=shop.params, spark=no_spark)
    done = steps.run_pipeline(
        pipeline,
        until_caught_up=until_caught_up,
        source=shop.params,
        spark=no_spark,
        report=meanwhile(shop, pipeline, lines),
    )

    assert "meanwhile: ['live', 'new']" in lines
    assert [t.state for t in done.tables] == ["live", "live"]
    assert differences(shop, pipeline) == {}


def test_capture_and_apply_go_on_while_a_policy_reads_a_large_table_again(shop: Shop, no_spark: str) -> None:
    pipeline, lines = with_another_table(shop, on_ddl={"unknown_ddl": "resnapshot"}), list[str]()
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("ALTER TABLE parts MODIFY (place CHAR(20))")
    shop.switch_logs()
    done = steps.run_pipeline(
        pipeline, until_caught_up=True, source=shop.params, spark=no_spark, report=meanwhile(shop, pipeline, lines)
    )

    assert "meanwhile: ['live', 'held']" in lines
    assert [(t.state, t.error) for t in done.tables] == [("live", None), ("live", None)]
    assert differences(shop, pipeline) == {}


def test_two_processes_that_read_one_snapshot_load_it_once(shop: Shop, no_spark: str) -> None:
    pipeline = scattered(shop)
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    reads = {"SHOP.PARTS": steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PARTS").scn}
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("UPDATE parts SET quantity = 0")
    caught_up(shop, pipeline, no_spark)
    second = steps.prepare_snapshot_load(pipeline, reads)
    steps.run_spark_job(Run(pipeline, spark=no_spark), second)

    assert steps.record_snapshot_load(pipeline, second).tables == ()
    assert {t.table: (t.state, t.error) for t in steps.read_status(pipeline).tables} == {"SHOP.PARTS": ("live", None)}
    assert differences(shop, pipeline) == {}


@pytest.mark.parametrize("sessions", [1, 3])
def test_a_comparison_that_is_killed_hashes_only_the_chunks_that_are_missing_at_its_own_scn(
    shop: Shop, no_spark: str, monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    monkeypatch.setattr(hash_chunks, "HASHED_AT_ONCE", 65536)
    pipeline, asked = scattered(shop, verify={"sessions": sessions}), list[int]()
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    def killed_after_two(line: str) -> None:
        asked.append(line.done)  # type: ignore[attr-defined]
        if len(asked) == 2:
            raise KeyboardInterrupt

    def sums(report: Any) -> tuple[Any, Any, int]:
        with Run(pipeline, shop.params, report=report) as context, context.connect() as oracle:
            entry = hash_chunks.with_unfinished(context, entry_with_contents(context, PARTS))
            one = describe(context, oracle, entry, "token")
            plan = hash_plan_of(one)
            assert plan is not None
            hashing = hashing_of(one, plan)
            how = hash_chunks.Hashed(hashing, (), hash_chunks.nowhere)
            (found,) = hash_chunks.hash_by_chunks(context, oracle, one.dictionary, how, entry)
            return found.sums, read_digests(oracle, one.dictionary, hashing, one.scn, "FREEPDB1"), int(one.scn)

    with pytest.raises(KeyboardInterrupt):
        sums(killed_after_two)
    began = steps.read_status(pipeline).tables[0].complete_to_scn
    shop.run_sql("UPDATE parts SET quantity = 0 WHERE id IN (10, 2500, 5000)")
    caught_up(shop, pipeline, no_spark)
    found, at_once, scn = sums(lambda line: asked.append(line.done))
    with Run(pipeline) as context:
        context.landing.proofs.end_hashing(PARTS)
        left = [name for name in context.landing.files.names("proofs/SHOP.PARTS") if name.startswith("hashed")]

    assert asked == [1, 2, 2, 2, 3, 4]  # the first two were there already
    assert (scn, found) == (began, at_once)
    assert sum(one.rows for one in found.values()) == ROWS
    assert left == []
