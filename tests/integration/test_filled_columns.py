"""Columns that were left out and are wanted now come with all their values, without a snapshot of the other columns."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import MappingFailed, Terminal
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.column_lives import CREATE, ColumnLife
from tests.generated.hunts import EXAMPLES
from tests.references.delta_table import delta_rows
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source
from tests.states.lost_ledger import lose_ledger
from tests.support.killed import killed_at

TABLE = "SHOP.PARTS"


def caught_up(shop: Shop, pipeline: Pipeline, spark: Any) -> None:
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)


def without(shop: Shop, *names: str, **settings: Any) -> Pipeline:
    """Return the pipeline whose table lacks these columns."""
    return shop.pipeline(tables=[{"table": TABLE, "exclude_columns": list(names), **settings}])


def fill(shop: Shop, pipeline: Pipeline, spark: Any, **choice: Any) -> steps.ReadAgain:
    choice = {"execute": True, "reason": "wanted now", **choice}
    return steps.fill_columns(pipeline, TABLE, source=shop.params, spark=spark, **choice)


def table_of(pipeline: Pipeline) -> Any:
    (table,) = steps.read_status(pipeline).tables
    return table


@pytest.mark.spark
@pytest.mark.parametrize("deletes", ["remove", "mark"])
def test_left_out_columns_are_filled_from_the_source_and_then_from_the_redo(tmp_path: Path, spark: Any, deletes: str) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9), born DATE, size_ NUMBER)",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'W{n}', {n}, DATE '2026-01-0{n}', {n}.5)" for n in range(1, 7)),
        )
        more = {"deletes": deletes, "history": "changes", "columns": {"SIZE_": "decimal(10,2)"}}
        narrow, wide = without(shop, "PLACE", "BORN", "SIZE_", **more), without(shop, "SIZE_", **more)
        steps.take_snapshot(narrow, source=shop.params, spark=spark)
        shop.run_sql("DELETE FROM parts WHERE id = 6", "UPDATE parts SET place = 'moved', quantity = 20 WHERE id = 2")
        with shop.oracle.connect("SHOP") as long_one, long_one.cursor() as cursor:
            cursor.execute("UPDATE parts SET place = 'late' WHERE id = 4")
            cursor.execute("INSERT INTO parts VALUES (9, 'open', 9, NULL, 9)")
            caught_up(shop, narrow, spark)
            (edit,) = steps.plan_edit(wide).edits
            assert (
                "captures PLACE, BORN" in edit.what,
                "`redolake fill-columns SHOP.PARTS --execute --reason TEXT`" in edit.cure,
            ) == (True, True)
            shop.run_sql("UPDATE parts SET place = 'later' WHERE id = 1", "INSERT INTO parts VALUES (7, 'new', 7, NULL, 7)")
            long_one.commit()
        caught_up(shop, wide, spark)
        held = table_of(wide)
        assert (held.state, held.code) == ("held", "SchemaConflict")

        planned = fill(shop, wide, spark, execute=False)
        assert (planned.columns, planned.applied_scn) == (("PLACE", "BORN"), held.complete_to_scn)
        with pytest.raises(Terminal, match="needs a reason"):
            fill(shop, wide, spark, reason=" ")
        for point in ("columns added", "write_snapshot_result loads/*/manifest.json"):
            with killed_at(point):
                fill(shop, wide, spark)
            assert table_of(wide).state == "held"
        again = fill(shop, wide, spark)  # the second one was recorded before
        assert (again.columns, again.delta_version, str(again)) == (
            (),
            None,
            f"{TABLE}: stays as it is: it has every column that pipelines.yml wants: there is nothing to fill",
        )
        assert (table_of(wide).state, table_of(wide).complete_to_scn) == ("live", held.complete_to_scn)
        target = wide.target(wide.tables[0].id)
        assert {row["ID"]: row["PLACE"] for row in delta_rows(target) if row.get("_deleted") is not True} == {
            1: "W1", 2: "moved", 3: "W3", 4: "W4", 5: "W5",
        }  # fmt: skip

        def is_equal(pipeline: Pipeline) -> bool:
            found = steps.verify_tables(pipeline, source=shop.params, spark=spark)
            assert [one.history.is_equal for one in found.tables if one.history] == [True]
            return found.equal

        caught_up(shop, wide, spark)
        assert is_equal(wide)
        assert {row["ID"]: row["PLACE"] for row in delta_rows(target) if row["ID"] in (1, 4, 7, 9)} == {
            1: "later", 4: "late", 7: "new", 9: "open",
        }  # fmt: skip

        # A ledger that is lost learns of the columns from the landing, and another column is filled at once.
        lose_ledger(tmp_path / "landing")
        every = without(shop, **more)
        shop.run_sql("UPDATE parts SET size_ = 3.25 WHERE id = 3")
        done = fill(shop, every, spark)
        assert (done.columns, done.rows, done.applied_scn) == (("SIZE_",), 7, table_of(every).complete_to_scn)
        caught_up(shop, every, spark)
        assert is_equal(every)


@pytest.mark.spark
def test_columns_of_a_mapped_table_are_filled_as_its_mapping_makes_them(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", "a key of masks that nobody guesses")
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), place VARCHAR2(20), quantity NUMBER(9), "
            "region VARCHAR2(2), note VARCHAR2(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(
                f"INSERT INTO parts VALUES ({n}, 'secret {n}', 'W{n}', {n}, '{'EU' if n < 6 else 'US'}', 'n')"
                for n in range(1, 9)
            ),
        )
        first: dict[str, Any] = {
            "rename": {"NAME": "customer"},
            "columns": {"ID": {"expression": "`ID` * 2", "type": "bigint", "injective": True}},
            "add": {"dozens": {"expression": "quantity * 12", "type": "bigint"}},
            "where": "region = 'EU'",
            "mask_key": {"variable": "REDOLAKE_MASK_KEY"},
            "history": "changes",
        }
        narrow = without(shop, "PLACE", "NOTE", **first)
        steps.take_snapshot(narrow, source=shop.params, spark=spark)
        shop.run_sql("DELETE FROM parts WHERE id = 5", "UPDATE parts SET place = 'moved', quantity = 20 WHERE id = 2")
        # PLACE comes in under another name, NAME is masked now, DOZENS is computed otherwise, and the rest is new.
        more = {
            **first,
            "rename": {"NAME": "customer", "PLACE": "spot"},
            "add": {
                "origin": "'ERP'",
                "dozens": {"expression": "quantity * 13", "type": "bigint"},
                "at": "concat(place, region)",
            },
            "mask": {"NAME": "hash"},
            "transform": {"function": "tests.references.user_code:sized", "columns": {"size": "int"}},
        }
        wide = without(shop, "NOTE", **more)
        with shop.oracle.connect("SHOP") as long_one, long_one.cursor() as cursor:
            cursor.execute("UPDATE parts SET place = 'late', name = 'secret late' WHERE id = 4")
            cursor.execute("INSERT INTO parts VALUES (9, 'secret 9', 'open', 9, 'EU', 'n')")
            caught_up(shop, narrow, spark)
            (edit,) = steps.plan_edit(wide).edits
            assert "`redolake fill-columns SHOP.PARTS --execute --reason TEXT`" in edit.cure
            shop.run_sql("UPDATE parts SET region = 'EU' WHERE id = 7", "UPDATE parts SET region = 'US' WHERE id = 1")
            long_one.commit()
        caught_up(shop, wide, spark)
        assert (table_of(wide).state, table_of(wide).code) == ("held", "SchemaConflict")

        planned = fill(shop, wide, spark, execute=False)
        assert planned.lines[0].startswith(
            "SHOP.PARTS: PLACE, origin, at, size, NAME (computed again), dozens (computed again): read with the key of"
        )
        with pytest.raises(Terminal, match="another filter"):
            fill(shop, without(shop, "NOTE", **{**more, "where": "region <> 'US'"}), spark)
        raises = {"function": "tests.references.user_code:failing", "columns": {"size": "int"}}
        with pytest.raises(MappingFailed, match="failing") as failed:
            fill(shop, without(shop, "NOTE", **{**more, "transform": raises}), spark)
        assert "secret" not in str(failed.value)
        with killed_at("columns added"):
            fill(shop, wide, spark)
        done = fill(shop, wide, spark)
        assert (done.rows, done.again) == (4, ("NAME", "dozens"))
        rows = {row["ID"]: row for row in delta_rows(wide.target(wide.tables[0].id))}
        assert {key: (row["spot"], row["dozens"], row["at"], row["size"]) for key, row in rows.items()} == {
            2: ("W1", 13, "W1EU", 8), 4: ("moved", 260, "movedEU", 8), 6: ("W3", 39, "W3EU", 8), 8: ("W4", 52, "W4EU", 8),
        }  # fmt: skip
        assert all(len(row["customer"]) == 64 for row in rows.values())

        caught_up(shop, wide, spark)
        lose_ledger(tmp_path / "landing")
        every = without(shop, **more)
        fill(shop, every, spark)  # the code gets the new column too, so what it makes is computed again
        shop.run_sql("INSERT INTO parts VALUES (10, 'secret 10', 'last', 1, 'EU', 'end')")
        caught_up(shop, every, spark)
        rows = {row["ID"]: row for row in delta_rows(wide.target(wide.tables[0].id))}
        assert sorted((key, row["spot"], row["NOTE"]) for key, row in rows.items()) == [
            (4, "moved", "n"), (6, "W3", "n"), (8, "late", "n"), (14, "W7", "n"), (18, "open", "n"), (20, "last", "end"),
        ]  # fmt: skip
        found = steps.verify_tables(every, source=shop.params, spark=spark)
        assert (found.equal, [one.history.is_equal for one in found.tables if one.history]) == (True, [True])


@pytest.mark.parametrize("seed", range(EXAMPLES or 1))
def test_columns_that_are_wanted_at_any_time_have_every_value(tmp_path: Path, seed: int) -> None:
    lake = PlainLake()
    with standin(background=False, threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle, lake.in_place_of_spark():
        life = ColumnLife(Shop(oracle, tmp_path), lake, random.Random(seed))
        life.shop.run_sql(*CREATE)
        life.sessions = [oracle.connect("SHOP") for _ in range(2)]
        life.play(25)
        found = compare_with_source(life.pipeline, life.shop.params)
        for session in life.sessions:
            session.close()

    assert found.equal, "\n".join([*life.log, *map(str, found.tables)])
    assert life.filled, "\n".join(life.log)
