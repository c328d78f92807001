"""Any SCN range that has landed is replayed under the schema of its time, whatever snapshots were taken since, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake import steps
from redolake.apply.delta.table import DeltaTable
from redolake.errors import ConfigurationError, Terminal
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows
from tests.references.replayed_changes import read_changes, replayed
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> int:
    """Apply everything; return the SCN that is landed to."""
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    return int(steps.read_status(pipeline).next_start_scn or 0)


def current_scn(shop: Shop) -> int:
    with shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
        return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])


def shadow_rows(pipeline: Any, spark: Any, start: Any, end: Any) -> dict[int, tuple[Any, ...]]:
    """Return the rows of the shadow by their ID, without `_commit_scn`."""
    done = steps.run_backfill(pipeline, start, end, ["SHOP.PARTS"], execute=True, spark=spark)
    rows = delta_rows(done.recorded.tables[0].target)
    return {row["ID"]: tuple(value for name, value in row.items() if name not in ("ID", "_commit_scn")) for row in rows}


def test_a_range_from_before_the_last_snapshot_is_replayed_with_the_columns_of_its_time(tmp_path: Path, spark: Any) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'W{n}', {n})" for n in range(1, 6)),
        )
        pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        taken = steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        shop.run_sql(
            "UPDATE parts SET quantity = 10 WHERE id = 1",
            "INSERT INTO parts VALUES (6, 'new', 6)",
            "DELETE FROM parts WHERE id = 6",
            "UPDATE parts SET id = 20 WHERE id = 2",
        )
        middle = caught_up(shop, pipeline, spark)
        shop.run_sql("DELETE FROM parts WHERE id IN (3, 4)")
        last = caught_up(shop, pipeline, spark)
        held_at = current_scn(shop)
        shop.run_sql(
            "ALTER TABLE parts DROP PRIMARY KEY",
            "ALTER TABLE parts DROP COLUMN place",
            "ALTER TABLE parts ADD (place NUMBER(9))",
            "ALTER TABLE parts ADD PRIMARY KEY (id)",
        )
        caught_up(shop, pipeline, spark)
        again = steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=spark)
        shop.run_sql("INSERT INTO parts VALUES (30, 3, 33)")
        caught_up(shop, pipeline, spark)

        assert shadow_rows(pipeline, spark, taken.scn + 1, middle) == {
            1: ("W1", 10, False), 6: (None, None, True), 2: (None, None, True), 20: ("W2", 2, False),
        }  # fmt: skip
        assert shadow_rows(pipeline, spark, middle, last) == {3: (None, None, True), 4: (None, None, True)}
        assert shadow_rows(pipeline, spark, again.scn + 1, "now") == {30: (3, 33, False)}
        with pytest.raises(
            ConfigurationError, match=r"end the range at SCN \d+, or begin it at SCN \d+, where a snapshot"
        ) as stop:
            steps.prepare_backfill(pipeline, middle, "now")
        assert held_at < int(stop.value.findings[0].cure.split()[5].strip(",")) < again.scn
        plan = steps.prepare_backfill(pipeline, taken.scn + 1, middle).details
        assert {kind: plan.tables[0].changes[kind] for kind in ("update", "delete")} == {"update": 2, "delete": 1}


def damage(pipeline: Any, spark: Any) -> None:
    """Damage rows: change two of the first table, remove one, and add two that are gone; change and add one of the second."""
    rows, mapped = (spark.read.format("delta").load(pipeline.target(table.id)) for table in pipeline.tables)
    kept = rows.filter("CODE <> 2").withColumn("QUANTITY", F.expr("IF(CODE IN (1, 4), -1, QUANTITY)"))
    more = rows.filter("CODE = 5").withColumns({"CODE": F.explode(F.array(F.lit(3), F.lit(7))), "QUANTITY": F.lit(-1)})
    write_as_ours(pipeline, spark, "SHOP.PARTS", kept.unionByName(more))
    wrong = mapped.withColumn("AMOUNT", F.expr("IF(ID = 2, -1, AMOUNT)"))
    write_as_ours(pipeline, spark, "SHOP.SHAPED", wrong.unionByName(mapped.filter("ID = 1").withColumn("ID", F.lit(3))))


def write_as_ours(pipeline: Any, spark: Any, table: str, rows: Any) -> None:
    """Write rows as a fault of ours would: under our own application id, so that no other writer is seen."""
    target = pipeline.target(TableId.parse(table))
    app = DeltaTable(spark, target, f"{pipeline.name}/{table}/1").app_id
    fields = spark.read.format("delta").load(target).schema.fields
    writer = rows.select(*(F.col(field.name).cast(field.dataType).alias(field.name) for field in fields)).write
    writer.format("delta").mode("overwrite").option("txnAppId", f"{app}/ddl").option("txnVersion", 1).save(target)


def test_rows_that_ranges_have_touched_are_read_again_into_the_live_table(tmp_path: Path, spark: Any) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9), kind VARCHAR2(9), quantity NUMBER(9), PRIMARY KEY (id, kind))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'it''s', {n})" for n in range(1, 7)),
            "CREATE TABLE shaped (id NUMBER(9) PRIMARY KEY, amount NUMBER(9))",
            "ALTER TABLE shaped ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(f"INSERT INTO shaped VALUES ({n}, {n})" for n in range(1, 5)),
        )
        shaped = {"columns": {"AMOUNT": {"expression": "amount * 100", "type": "decimal(20,0)"}}, "where": "amount < 9"}
        pipeline = shop.pipeline(tables=["SHOP.PARTS", {"table": "SHOP.SHAPED", **shaped}])
        start = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn + 1
        with shop.oracle.connect("SHOP") as long_one, long_one.cursor() as cursor:
            cursor.execute("UPDATE parts SET quantity = 40 WHERE id = 4")
            shop.run_sql(
                "UPDATE parts SET quantity = 10 WHERE id = 1",
                "DELETE FROM parts WHERE id = 2",
                "UPDATE parts SET id = 30 WHERE id = 3",
                "INSERT INTO parts VALUES (7, 'it''s', 7)",
                "UPDATE shaped SET amount = amount + 6 WHERE id > 1",
            )
            middle = caught_up(shop, pipeline, spark)
            long_one.commit()
        shop.run_sql(
            "ALTER TABLE parts RENAME COLUMN id TO code",
            "ALTER TABLE parts ADD (note VARCHAR2(9))",
            "INSERT INTO parts (code, kind, note) VALUES (2, 'it''s', 'again')",
            "DELETE FROM parts WHERE code = 7",
        )
        end = caught_up(shop, pipeline, spark)
        steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=spark)
        shop.run_sql("UPDATE parts SET quantity = 55 WHERE code IN (1, 5)", "DELETE FROM parts WHERE code = 30")
        caught_up(shop, pipeline, spark)
        damage(pipeline, spark)

        def fill(start: int, end: int, **choice: Any) -> steps.LiveBackfill:
            choice = {"execute": True, "reason": "a fault", **choice}
            tables = choice.pop("tables", ["SHOP.PARTS"])
            return steps.backfill_live(pipeline, start, end, tables, source=shop.params, spark=spark, **choice)

        def differing() -> tuple[int, ...]:
            (found,) = steps.verify_tables(pipeline, ["SHOP.PARTS"], source=shop.params, spark=spark).tables
            return found.missing_rows, found.extra_rows, found.differing_cells

        assert differing() == (1, 2, 2)
        position = steps.read_status(pipeline).tables[0].complete_to_scn
        planned = fill(start, middle, execute=False)
        assert (planned.tables[0].rows, planned.tables[0].unknown, planned.is_whole) == (
            6,
            0,
            True,
        )  # and 4, which commits later
        with pytest.raises(Terminal, match="needs a reason"):
            fill(start, middle, reason=" ")

        # The later range first. Row 4 changed before it, in a transaction that commits in it.
        later = fill(middle, end)
        assert (later.tables[0].rows, later.tables[0].inserted, later.tables[0].deleted) == (3, 1, 1)
        assert differing() == (0, 1, 1), "rows 3 and 1 are of the earlier range"
        with killed_at("repair"):
            fill(start, middle)
        assert differing() == (0, 0, 0)
        again = fill(start, middle)
        assert (again.tables[0].inserted, again.tables[0].deleted, again.is_whole) == (0, 0, True)
        # The logs say the same: their rows have the names of now, and the beginning of what commits in them has landed.
        mined = fill(middle, end, from_logs=steps.LogsToRead((), shop.params))
        assert (mined.tables[0].rows, mined.tables[0].unknown, mined.cut) == (3, 0, 0)
        assert steps.read_status(pipeline).tables[0].complete_to_scn == position
        # Rows that are mapped and filtered: of those that the range names, 3 and 4 no longer pass the filter.
        mapped = fill(start, middle, tables=["SHOP.SHAPED"]).tables[0]
        assert (mapped.rows, mapped.inserted, mapped.updated, mapped.deleted, mapped.why_not) == (3, 0, 1, 1, "")
        shop.run_sql("UPDATE parts SET quantity = 56 WHERE code = 1")
        caught_up(shop, pipeline, spark)
        assert differing() == (0, 0, 0)
        assert steps.verify_tables(pipeline, ["SHOP.SHAPED"], source=shop.params, spark=spark).equal


def test_the_changes_of_a_range_are_written_as_they_are(tmp_path: Path, spark: Any) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'W{n}', {n})" for n in range(1, 4)),
        )
        pipeline = shop.pipeline(tables=["SHOP.PARTS"], on_ddl={"truncate": "follow"})
        start = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn + 1
        with shop.oracle.connect("SHOP") as undone, undone.cursor() as cursor:
            cursor.execute("UPDATE parts SET quantity = 0")
            undone.rollback()
        shop.run_sql(
            "INSERT INTO parts VALUES (7, 'new', 7)",
            "UPDATE parts SET quantity = 10 WHERE id = 1",
            "UPDATE parts SET id = 30 WHERE id = 3",
            "DELETE FROM parts WHERE id = 2",
            "ALTER TABLE parts RENAME COLUMN place TO shelf",
            "UPDATE parts SET shelf = 'S' WHERE id = 7",
            "TRUNCATE TABLE parts",
            "INSERT INTO parts VALUES (9, NULL, 9)",
        )
        end = caught_up(shop, pipeline, spark)

        def write(target: Any, folder: str = "") -> Any:
            where = {"target": target, "folder": folder}
            return steps.run_backfill(pipeline, start, end, ["SHOP.PARTS"], execute=True, spark=spark, **where)

        with killed_at("changes"):
            write("changes")
        (done,) = write("changes").recorded.tables
        assert (done.inserted, done.updated, done.deleted, done.unknown) == (2, 3, 1, 3)
        assert done.target == f"{pipeline.lake}/_shadow/{start}-{end}-changes/shop/parts"
        (files,) = write("files", str(tmp_path / "files")).recorded.tables

        def rows(form: str, target: str) -> list[tuple[Any, ...]]:
            found = spark.read.format(form).load(target).orderBy("_scn").collect()
            images = [[row[name] and tuple(row[name]) for name in ("before", "after")] for row in found]
            unknown = [(row["_unknown_before"], row["_unknown_after"]) for row in found]
            return [(row["_op"], *image, *names) for row, image, names in zip(found, images, unknown, strict=True)]

        nothing = (None, None)
        assert rows("delta", done.target) == rows("parquet", files.target) == [
            ("insert", None, (7, "new", 7), *nothing),
            ("update", (1, None, 1), (1, None, 10), ["SHELF"], ["SHELF"]),
            ("update", (3, None, None), (30, None, None), ["SHELF", "QUANTITY"], ["SHELF", "QUANTITY"]),
            ("delete", (2, "W2", 2), None, *nothing),
            ("update", (7, "new", None), (7, "S", None), ["QUANTITY"], ["QUANTITY"]),
            ("truncate", None, None, *nothing),
            ("insert", None, (9, None, 9), *nothing),
        ]  # fmt: skip
        one = spark.read.format("delta").load(done.target).filter("_op = 'delete'").collect()[0]
        assert one["_commit_scn"] > one["_scn"] >= start
        assert (one["_user"], bool(one["_xid"]), bool(one["_commit_time"])) == ("SHOP", True, True)
        with pytest.raises(ConfigurationError, match="files need a folder"):
            write("files", "somewhere")


MAPPED = {
    "rename": {"NOTE": "remark"},
    "columns": {
        "ID": {"expression": "`ID` * 2", "type": "bigint", "injective": True},
        "AMOUNT": {"expression": "amount / 10", "type": "decimal(10,1)"},
    },
    "add": {"total": {"expression": "amount + `ID`", "type": "bigint"}, "origin": "'ERP'"},
    "mask": {"NAME": "hash"},
    "mask_key": {"variable": "REDOLAKE_MASK_KEY"},
    "transform": {"function": "tests.references.user_code:sized", "columns": {"size": "int"}},
    "where": "region = 'EU' AND amount < 90",
}


def clear_texts_of(folder: Path) -> list[str]:
    """Return the files in which a name of a person stands, other than rows of the landing."""
    texts = [file for file in folder.rglob("*") if file.is_file() and "secret " in file.read_bytes().decode("latin-1")]
    return [str(file) for file in texts if file.suffix != ".parquet"]


def test_the_changes_of_a_mapped_table_are_those_of_its_rows_in_the_lake(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", "a key of masks that nobody guesses")
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, name VARCHAR2(40), amount NUMBER(9), region VARCHAR2(2), "
            "note VARCHAR2(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'secret {n}', {n}, '{'EU' if n % 2 else 'US'}', 'n')" for n in range(1, 9)),
            "CREATE TABLE bins (id NUMBER(9), kind VARCHAR2(9), amount NUMBER(9), place NUMBER(9), PRIMARY KEY (id, kind)) "
            "ORGANIZATION INDEX",
            "ALTER TABLE bins ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            "INSERT INTO bins VALUES (1, 'secret 1', 1, 5)",
        )
        # A composite key: a mask of one of its columns, and an expression of the other one that is not injective.
        bins = {
            "columns": {"ID": {"expression": "abs(`ID`)", "type": "bigint", "injective": True}},
            "mask": {"KIND": "hash"},
            "add": {
                "dozens": {"expression": "amount * 12", "type": "bigint"},
                "next": {"expression": "place + 1", "type": "int"},
            },
        }
        secret = {"mask_key": MAPPED["mask_key"]}
        pipeline = shop.pipeline(tables=[{"table": "SHOP.PARTS", **MAPPED}, {"table": "SHOP.BINS", **secret, **bins}])
        start = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn + 1
        target = pipeline.target(TableId.parse("SHOP.PARTS"))
        began = delta_rows(target)
        with shop.oracle.connect("SHOP") as session, session.cursor() as cursor:
            for statement in (
                "INSERT INTO parts VALUES (20, 'secret 20', 5, 'EU', 'in')",
                "INSERT INTO parts VALUES (21, 'secret 21', 5, 'US', 'out')",
                "UPDATE parts SET amount = 6, name = 'secret x' WHERE id = 20",
                "UPDATE parts SET region = 'EU' WHERE id = 2",  # in
                "UPDATE parts SET region = 'US' WHERE id = 1",  # out
                "UPDATE parts SET note = 'still' WHERE id = 4",  # outside
                "UPDATE parts SET id = 30, amount = 7 WHERE id = 3",
                "UPDATE parts SET id = 31, amount = 91 WHERE id = 5",  # out, with another key
                "DELETE FROM parts WHERE id = 6",  # outside
                "DELETE FROM parts WHERE id = 7",
                "UPDATE bins SET amount = 2 WHERE id = 1",
            ):
                cursor.execute(statement)
            session.commit()
        middle = caught_up(shop, pipeline, spark)
        shop.run_sql(
            "ALTER TABLE parts ADD (city VARCHAR2(9))",
            "ALTER TABLE parts RENAME COLUMN note TO comment_",
            "UPDATE parts SET city = 'Rome', amount = NULL WHERE id = 20",  # out: NULL is not true
            "UPDATE parts SET city = 'Oslo', comment_ = NULL WHERE id = 30",
        )
        end = caught_up(shop, pipeline, spark)

        def write(target: Any, *tables: str, to: int = end, folder: str = "") -> Any:
            where = {"target": target, "folder": folder}
            return steps.run_backfill(pipeline, start, to, [*tables], execute=True, spark=spark, **where)

        with killed_at("changes"):
            write("changes", "SHOP.PARTS")
        result = write("changes", "SHOP.PARTS")
        (done,) = result.recorded.tables
        assert (done.inserted, done.updated, done.deleted, done.unknown, done.filtered) == (2, 3, 4, 2, 3)
        assert "which of them `where: region = 'EU' AND amount < 90` leaves out" in result.prepared.plan
        changes = read_changes(spark, "delta", done.target)
        made = replayed([{**row, "CITY": None} for row in began], changes, "ID")
        assert sorted(made.values(), key=repr) == sorted(delta_rows(target), key=repr)
        assert [made[key]["remark"] for key in (4, 60)] == ["n", None], "the mapped name stays"

        (files,) = write("files", "SHOP.PARTS", folder=str(tmp_path / "files")).recorded.tables
        assert read_changes(spark, "parquet", files.target) == changes
        assert "secret" not in repr(changes)
        assert clear_texts_of(tmp_path) == []

        # Key-only logging: a value is known where all its columns are.
        (of_bins,) = write("changes", "SHOP.BINS", to=middle).recorded.tables
        (change,) = read_changes(spark, "delta", of_bins.target)
        assert (change["_unknown_before"], change["_unknown_after"]) == (["PLACE", "next"],) * 2
        assert (change["before"]["dozens"], change["after"]["dozens"], change["after"]["next"]) == (12, 24, None)
        shop.run_sql("INSERT INTO bins VALUES (-1, 'secret 1', 1, 5)")
        caught_up(shop, pipeline, spark)
        collision = r"two keys of Oracle become one: ID -?1, KIND \*\*\*"
        with pytest.raises(Terminal, match=collision) as stopped:
            steps.run_backfill(pipeline, start, "now", ["SHOP.BINS"], execute=True, target="changes", spark=spark)
        assert "secret" not in f"{stopped.value} {[table.error for table in steps.read_status(pipeline).tables]}"


def test_a_whole_copy_takes_the_place_of_a_table_that_another_writer_has_damaged_and_goes_back(
    tmp_path: Path, spark: Any
) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, {n})" for n in range(1, 5)),
        )
        pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        good = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn
        with shop.oracle.connect("SHOP") as long_one, long_one.cursor() as cursor:
            cursor.execute("UPDATE parts SET quantity = 40 WHERE id = 4")
            shop.run_sql("UPDATE parts SET quantity = 10 WHERE id = 1")
            middle = caught_up(shop, pipeline, spark)
            long_one.commit()
        shop.run_sql(
            "ALTER TABLE parts ADD (place VARCHAR2(9))",
            "INSERT INTO parts VALUES (5, 5, 'new')",
            "DELETE FROM parts WHERE id = 2",
        )
        caught_up(shop, pipeline, spark)
        target = pipeline.target(pipeline.tables[0].id)
        spark.sql(f"UPDATE delta.`{target}` SET QUANTITY = -1")
        shop.run_sql("UPDATE parts SET quantity = 11 WHERE id = 1")
        caught_up(shop, pipeline, spark)
        (held,) = steps.read_status(pipeline).tables
        assert (held.state, "another writer changed rows" in str(held.error)) == ("held", True)

        def swap(shadow: str | None, **choice: Any) -> steps.SwappedTable:
            choice = {"execute": True, "reason": "a fault", **choice}
            return steps.swap_table(pipeline, "SHOP.PARTS", shadow, spark=spark, **choice)

        def quantities() -> dict[int, int]:
            return {row["ID"]: row["QUANTITY"] for row in delta_rows(target)}

        # The copy is the first version and the changes up to the middle; the swap folds what came later.
        def copy(**choice: Any) -> steps.Copies:
            return steps.copy_tables(pipeline, good, middle, execute=True, spark=spark, **choice)

        for point in ("copy", "copy removed", "copy's rows", "merge"):
            with killed_at(point):
                copy()
        made = copy()
        assert made.name == f"{good}-{middle}-copy"
        assert {row["ID"]: row["QUANTITY"] for row in delta_rows(made.tables[0].target)} == {1: 10, 2: 2, 3: 3, 4: 4}
        planned = swap(made.name, execute=False)
        assert (planned.copy_scn, planned.windows > 0) == (middle - 1, True)
        assert set(quantities().values()) == {-1}
        for point in ("merge", "copy's rows#1", "swap"):
            with killed_at(point):
                swap(made.name)
        done = swap(made.name)
        assert (done.applied_scn, quantities()) == (held.complete_to_scn, {1: 10, 3: 3, 4: 40, 5: 5})

        steps.resume_tables(pipeline, ["SHOP.PARTS"], by="test", reason="swapped")
        caught_up(shop, pipeline, spark)
        assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal
        assert quantities()[1] == 11

        # Back: the rows that were replaced, with what was committed since.
        undone = swap(None)
        assert (undone.copy, quantities()) == (done.kept, {1: 11, 3: -1, 4: -1, 5: -1})
        caught_up(shop, pipeline, spark)
        with killed_at("copy's position"):  # nothing of it has changed since
            swap(None)
        swap(None)
        assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal
        with pytest.raises(Terminal, match="no whole copy"):
            swap("1-2-copy")
