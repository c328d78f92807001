"""A table's history from the source to the lake: DDL, key-only logging, masks, a second table without one, repair, verify."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import ConfigurationError, NotReadableAsOf, Terminal
from redolake.steps.shown.history_views import history_of
from redolake.values.history_sql import as_of_sql
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import read_delta
from tests.support.killed import Killed
from tests.thirds import EVERY, third_of_this_run

pytestmark = pytest.mark.spark

NOTES = TableId.parse("SHOP.NOTES")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path_factory.mktemp("history"))
        shop.run_sql(
            "CREATE TABLE notes (id NUMBER(9) PRIMARY KEY, text VARCHAR2(20), secret VARCHAR2(20), gone NUMBER(9))",
            "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO notes VALUES ({n}, 'first', 'clear', 1)" for n in (1, 2, 3)),
        )
        yield shop


def scn_of(shop: Shop) -> int:
    with shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
        return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])


def at(pipeline: Pipeline, scn: int, *columns: str, of: TableId = NOTES) -> list[tuple[Any, ...]]:
    """Return the rows that the history says there were at an SCN, by the query that users get."""
    path = str(pipeline.history_target(of))
    one = history_of(of, path, pipeline.target(of))
    assert one is not None
    with duckdb.connect() as connection:
        connection.register("history", read_delta(path))
        sql = as_of_sql("history", one.columns, one.key, lambda name: f'"{name}"', scn)
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM ({sql}) ORDER BY id").fetchall()
    return [tuple(int(v) if isinstance(v, float) else v for v in row) for row in rows]


def run_with_ends(pipeline: Pipeline, shop: Shop, spark: Any, ended: set[str]) -> None:
    """Run the pipeline, where each write of a history ends the process the first time."""

    def end(point: str) -> None:
        if point.startswith("history") and point not in ended:
            ended.add(point)
            raise Killed(point)

    before = None
    while before != len(ended):
        before = len(ended)
        with suppress(Killed), mock.patch("redolake.host.crash.point", end):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)


def test_a_history_follows_ddl_truncate_and_repair_and_verify_compares_it(shop: Shop, spark: Any) -> None:
    settings = {"table": str(NOTES), "history": "scd2", "mask": {"SECRET": "redact"}, "on_ddl": {"truncate": "follow"}}
    pipeline, seen, ended = shop.pipeline(tables=[settings]), list[int](), set[str]()

    def step(*changes: Sequence[str]) -> None:
        """Apply them in one batch, and see what the history then says of the SCN after each."""
        for statements in changes:
            shop.run_sql(*statements)
            seen.append(scn_of(shop))
        shop.switch_logs()
        run_with_ends(pipeline, shop, spark, ended)
        (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        assert compared.equal, compared
        assert str(compared).endswith("its history says the same"), compared

    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    step(("UPDATE notes SET text = 'second', secret = 'never in the lake' WHERE id = 1", "DELETE FROM notes WHERE id = 2"))
    added = "ALTER TABLE notes ADD (more VARCHAR2(10) DEFAULT 'given' NOT NULL)"
    renamed = "ALTER TABLE notes RENAME COLUMN text TO words"
    step(
        (added, "UPDATE notes SET text = 'third' WHERE id = 1", "ALTER TABLE notes ADD (last NUMBER(3))"),
        (renamed, "ALTER TABLE notes DROP COLUMN gone", "DELETE FROM notes WHERE id = 3"),
    )
    step(("TRUNCATE TABLE notes", "INSERT INTO notes VALUES (4, 'new', 'clear', 'x', 0)"))

    assert ended == {"history created", "history", "history's columns"}
    assert at(pipeline, seen[0], "id", "words") == [(1, "second"), (3, "first")]
    assert at(pipeline, seen[1], "id", "words", "gone", "more") == [(1, "third", 1, "given"), (3, "first", 1, "given")]
    assert at(pipeline, seen[2], "id", "words", "more") == [(1, "third", "given")]
    assert at(pipeline, seen[3], "id", "words", "more") == [(4, "new", "x")]
    history = read_delta(str(pipeline.history_target(NOTES)))
    assert not {"clear", "never in the lake"} & set(history.column("SECRET").to_pylist())
    notes = [row["_note"] for row in history.to_pylist() if row["_op"] == "begin"]
    assert notes == ["the history begins", *["a DDL changed all rows without redo"] * 2]
    assert "SHOP" in {row["_user"] for row in history.to_pylist()}

    spark.sql(f"UPDATE delta.`{pipeline.target(NOTES)}` SET words = 'by hand'")
    assert not steps.verify_tables(pipeline, source=shop.params, spark=spark).equal
    steps.repair_table(pipeline, str(NOTES), reason="changed by hand", source=shop.params, spark=spark)
    (waiting,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert waiting.history is not None
    assert (waiting.equal, waiting.history.waits) == (True, "rows were repaired")
    step(("UPDATE notes SET more = 'y' WHERE id = 4",))
    assert at(pipeline, seen[4], "id", "words", "more") == [(4, "new", "y")]

    # Somebody takes a row out of the history.
    spark.sql(f"DELETE FROM delta.`{pipeline.history_target(NOTES)}` WHERE id = 4 AND _image = 'after'")
    (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert not compared.equal
    assert "its HISTORY DIFFERS from the table: 1 rows missing, 0 extra" in str(compared)


def test_a_history_that_is_gone_holds_its_table_until_it_is_rebuilt_or_may_begin_again(shop: Shop, spark: Any) -> None:
    shop.run_sql(
        "CREATE TABLE kept (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20))",
        "ALTER TABLE kept ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        "INSERT INTO kept VALUES (1, 'first')",
    )
    folder, table = Path(shop.folder) / "gone", TableId.parse("SHOP.KEPT")
    settings = {"table": str(table), "history": "changes"}
    pipeline = shop.pipeline(tables=[settings], landing=str(folder / "landing"), lake=str(folder / "lake"))
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    path = Path(str(pipeline.history_target(table)))

    def change(text: str) -> str | None:
        """Return the code of the error that holds the table after the change."""
        shop.run_sql(f"UPDATE kept SET a = '{text}' WHERE id = 1")
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
        (found,) = steps.read_status(pipeline).tables
        assert found.code is None or "redolake history rebuild SHOP.KEPT --execute" in str(found.cure)
        return found.code

    assert change("second") is None
    shutil.rmtree(path)
    assert change("third") == "TableSetBack"
    steps.resume_tables(pipeline, [str(table)])
    assert (change("fourth"), path.exists()) == ("TableSetBack", False), "an epoch has begun without a word"
    steps.rebuild_history(pipeline, str(table), "first", execute=True, spark=spark)
    steps.resume_tables(pipeline, [str(table)])
    assert change("fifth") is None
    texts = {row["A"] for row in read_delta(str(path)).to_pylist()}
    assert texts >= {"first", "second", "third", "fourth", "fifth"}

    shutil.rmtree(path)
    assert change("sixth") == "TableSetBack"
    with pytest.raises(Terminal, match="needs a reason"):
        steps.resume_tables(pipeline, [str(table)], new_history=True)
    steps.resume_tables(pipeline, [str(table)], reason="nobody reads it", new_history=True)
    assert change("seventh") is None
    assert {row["_note"] for row in read_delta(str(path)).to_pylist() if row["_op"] == "begin"} == {"the history begins"}
    shutil.rmtree(path)
    assert change("eighth") == "TableSetBack", "what was accepted once counts for ever"


LATER = TableId.parse("SHOP.LATER")
# A rebuild that ends there leaves a copy without changes, one with the beginning of a history, or all but the live history.
LEFT_THERE = {"copy", "history created", "merge"}
EVERY_WRITE = third_of_this_run() == EVERY


def test_a_history_that_was_wanted_later_is_rebuilt_from_the_redo_that_has_landed(shop: Shop, spark: Any) -> None:
    """Also across DDL, and where a process ends after a write (each write where all kills are made). It says the same as one
    that was there from the beginning."""
    shop.run_sql(
        "CREATE TABLE later (id NUMBER(9) PRIMARY KEY, words VARCHAR2(20), gone NUMBER(9))",
        "ALTER TABLE later ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        *(f"INSERT INTO later VALUES ({n}, 'first', {n})" for n in (1, 2, 3)),
    )
    folder = Path(shop.folder) / "rebuilt"
    settings: dict[str, Any] = {"table": str(LATER), "on_ddl": {"truncate": "follow"}}
    places = {"landing": str(folder / "landing"), "lake": str(folder / "lake")}
    without = shop.pipeline(tables=[settings], **places)
    pipeline = shop.pipeline(tables=[{**settings, "history": "changes"}], **places)
    in_batches = pipeline.model_copy(update={"batch": pipeline.batch.model_copy(update={"max_rows": 3})})
    steps.take_snapshot(without, source=shop.params, spark=spark)
    seen = list[int]()
    for statements in (
        ("UPDATE later SET words = 'second' WHERE id = 1", "DELETE FROM later WHERE id = 2"),
        ("ALTER TABLE later ADD (more NUMBER(3) DEFAULT 7 NOT NULL)", "UPDATE later SET id = 30 WHERE id = 3"),
        ("ALTER TABLE later DROP COLUMN gone", "ALTER TABLE later RENAME COLUMN words TO text"),
        ("UPDATE later SET text = 'last' WHERE id = 30",),
    ):
        shop.run_sql(*statements)
        seen.append(scn_of(shop))
        shop.switch_logs()
        steps.run_pipeline(without, until_caught_up=True, source=shop.params, spark=spark)
    with pytest.raises(ConfigurationError, match="has no history"):
        steps.rebuild_history(without, str(LATER), "first", spark=spark)

    planned = steps.rebuild_history(in_batches, str(LATER), "first", spark=spark)
    assert (planned.done, planned.windows > 3, planned.batches > 1) == (False, True, True)
    assert not Path(str(pipeline.history_target(LATER))).exists()
    ended, done = set[str](), None

    def end(point: str) -> None:
        is_ours = threading.current_thread().name != "lease" and not point.startswith("ledger.")
        if point not in ended and is_ours and (EVERY_WRITE or point in LEFT_THERE):
            ended.add(point)
            raise Killed(point)

    while done is None:
        with suppress(Killed), mock.patch("redolake.host.crash.point", end):
            done = steps.rebuild_history(pipeline, str(LATER), "first", execute=True, spark=spark)
    assert ended >= LEFT_THERE
    assert not EVERY_WRITE or ended >= {"copy's position", "history"}
    assert done.changes == 7
    assert not list((folder / "lake" / "_as_of").glob("*"))

    assert at(pipeline, seen[0], "id", "text", "gone", of=LATER) == [(1, "second", 1), (3, "first", 3)]
    assert at(pipeline, seen[1], "id", "text", "more", of=LATER) == [(1, "second", 7), (30, "first", 7)]
    assert at(pipeline, seen[3], "id", "text", "more", of=LATER) == [(1, "second", 7), (30, "last", 7)]
    (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert str(compared).endswith("its history says the same"), compared
    spark.sql(f"DELETE FROM delta.`{pipeline.history_target(LATER)}` WHERE id = 30 AND _image = 'after'")
    assert at(pipeline, seen[3], "id", of=LATER) == [(1,)]
    again = steps.rebuild_history(in_batches, str(LATER), "first", execute=True, spark=spark)
    assert (again.done, again.batches, again.changes) == (True, planned.batches, done.changes)
    assert at(pipeline, seen[3], "id", "text", "more", of=LATER) == [(1, "second", 7), (30, "last", 7)]

    # The stream continues it, and begins no epoch.
    shop.run_sql("INSERT INTO later VALUES (5, 'new', 0)")
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    assert at(pipeline, seen[0], "id", "text", of=LATER) == [(1, "second"), (3, "first")]
    assert at(pipeline, scn_of(shop), "id", "text", of=LATER) == [(1, "second"), (5, "new"), (30, "last")]
    begins = [row for row in read_delta(str(pipeline.history_target(LATER))).to_pylist() if row["_op"] == "begin"]
    assert [row["_note"] for row in sorted(begins, key=lambda row: row["_epoch"])] == [
        "the history was rebuilt from redo",
        "a DDL changed all rows without redo",
    ] * 2


def test_a_history_is_rebuilt_from_archived_logs_where_the_landing_was_pruned(shop: Shop, spark: Any) -> None:
    """What is still there of the landing continues it: prune keeps what was open then."""
    old = TableId.parse("SHOP.OLD")
    shop.run_sql(
        "CREATE TABLE old (id NUMBER(9) PRIMARY KEY, words VARCHAR2(20))",
        "ALTER TABLE old ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        *(f"INSERT INTO old VALUES ({n}, 'first')" for n in (1, 2, 3)),
    )
    folder = Path(shop.folder) / "pruned"
    places = {"landing": str(folder / "landing"), "lake": str(folder / "lake"), "keep": {"landing": "0s"}}
    without = shop.pipeline(tables=[str(old)], **places)
    pipeline = shop.pipeline(tables=[{"table": str(old), "history": "scd2"}], **places)
    steps.take_snapshot(without, source=shop.params, spark=spark)
    seen = list[int]()

    def step(*statements: str) -> None:
        shop.run_sql(*statements)
        seen.append(scn_of(shop))
        shop.switch_logs()
        steps.run_pipeline(without, until_caught_up=True, source=shop.params, spark=spark)

    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        step("UPDATE old SET words = 'second' WHERE id = 1", "DELETE FROM old WHERE id = 2")
        cursor.execute("INSERT INTO old VALUES (9, 'long')")
        step("UPDATE old SET id = 30 WHERE id = 3", "INSERT INTO old VALUES (2, 'again')")
        steps.prune_pipeline(without, execute=True, by="test")
        cursor.execute("UPDATE old SET words = 'longer' WHERE id = 9")
        step("UPDATE old SET words = 'third' WHERE id = 1")
        connection.commit()
    step("DELETE FROM old WHERE id = 30")

    with pytest.raises(NotReadableAsOf, match="is not landed without a break"):
        steps.rebuild_history(pipeline, str(old), "first", spark=spark)
    logs = steps.LogsToRead((), shop.params)
    planned = steps.rebuild_history(pipeline, str(old), "first", from_logs=logs, spark=spark)
    assert "mines" in str(planned), planned
    done = steps.rebuild_history(pipeline, str(old), "first", execute=True, from_logs=logs, spark=spark)
    assert done.done

    for scn in seen:
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            wanted = cursor.execute(f"SELECT id, words FROM old AS OF SCN {scn} ORDER BY id").fetchall()
        assert at(pipeline, scn, "id", "words", of=old) == wanted, scn
    (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert str(compared).endswith("its history says the same"), compared


def test_tables_of_other_kinds_have_histories_too(shop: Shop, spark: Any) -> None:
    """Index-organized, without a key, with a filter, and with a column whose type Delta cannot widen and a name used again."""
    shop.run_sql(
        "CREATE TABLE in_index (id NUMBER(9) PRIMARY KEY, words VARCHAR2(20)) ORGANIZATION INDEX",
        "CREATE TABLE bare (id NUMBER(9), words VARCHAR2(20))",
        "CREATE TABLE chosen (id NUMBER(9) PRIMARY KEY, words VARCHAR2(20))",
        "CREATE TABLE typed (id NUMBER(9) PRIMARY KEY, n NUMBER(4), words VARCHAR2(9))",
    )
    names = ("IN_INDEX", "BARE", "CHOSEN", "TYPED")
    for name in names:
        shop.run_sql(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        shop.run_sql(*(f"INSERT INTO {name} (id, words) VALUES ({n}, 'first')" for n in (1, 2, 3)))
    settings: dict[str, dict[str, Any]] = {
        "BARE": {"key": "rowid"}, "CHOSEN": {"where": "words <> 'hidden'"}, "TYPED": {"readers": "any"},
    }  # fmt: skip
    tables = [{"table": f"SHOP.{name}", "history": "scd2", **settings.get(name, {})} for name in names]
    folder = Path(shop.folder) / "kinds"
    pipeline = shop.pipeline(tables=tables, landing=str(folder / "landing"), lake=str(folder / "lake"))
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    seen = list[int]()
    for typed in (
        ["UPDATE typed SET n = 5 WHERE id = 1"],
        ["ALTER TABLE typed MODIFY (n NUMBER(15))", "UPDATE typed SET n = 123456789012 WHERE id = 2"],
        [
            "ALTER TABLE typed DROP COLUMN words",
            "ALTER TABLE typed ADD (words NUMBER(3))",
            "UPDATE typed SET words = 7 WHERE id = 3",
        ],
    ):
        number = 3 * len(seen)
        for name in ("in_index", "bare", "chosen"):
            shop.run_sql(
                f"UPDATE {name} SET words = 'hidden' WHERE id = {number + 1}",
                f"UPDATE {name} SET words = 'seen', id = {number + 20} WHERE id = {number + 2}",
                f"DELETE FROM {name} WHERE id = {number + 3}",
                *(f"INSERT INTO {name} VALUES ({number + n}, 'again')" for n in (4, 5, 6)),
            )
        shop.run_sql(*typed)
        seen.append(scn_of(shop))
        if len(seen) > 1:  # the first two are of one batch
            shop.switch_logs()
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    assert {t.table: t.error for t in steps.read_status(pipeline).tables if t.error} == {}
    compared = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert [str(one) for one in compared if not str(one).endswith("its history says the same")] == []

    for name in ("IN_INDEX", "BARE", "CHOSEN"):
        for scn in seen:
            with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
                where = " WHERE words <> 'hidden'" if name == "CHOSEN" else ""
                wanted = cursor.execute(f"SELECT id, words FROM {name} AS OF SCN {scn}{where} ORDER BY id").fetchall()
            assert at(pipeline, scn, "id", "words", of=TableId("SHOP", name)) == wanted, (name, scn)
    typed_id = TableId("SHOP", "TYPED")
    log = read_delta(str(pipeline.history_target(typed_id)))
    later = sorted(name for name in log.column_names if "__from_" in name)
    assert [name.partition("__")[0] for name in later] == ["N", "WORDS"]
    assert at(pipeline, seen[0], "id", "n", of=typed_id) == [(1, 5), (2, None), (3, None)]
    assert at(pipeline, seen[1], "id", f'"{later[0]}"', of=typed_id) == [(1, 5), (2, 123456789012), (3, None)]
    assert at(pipeline, seen[2], "id", f'"{later[1]}"', of=typed_id) == [(1, None), (2, None), (3, 7)]
    begins = [row["_note"] for row in log.to_pylist() if row["_op"] == "begin"]
    assert begins == ["the history begins", "the type of N changed"]
