"""A backfill from archived logs: the range is mined beside the chain, and its shadow has what committed in it."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import ConfigurationError, NotReadableAsOf, RedoLost
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.references.folder_lake import FolderLake, rows_in_folder
from tests.states.losing_pipeline import LosingPipeline, scn_of
from tests.support.killed import killed_at


@pytest.fixture
def losing(shop: Shop) -> Iterator[LosingPipeline]:
    with FolderLake().in_place_of_spark():
        yield LosingPipeline(shop, "no Spark")


def from_logs(losing: LosingPipeline, start: int | str, end: int | str, *logs: str, execute: bool = True) -> Any:
    reads = steps.LogsToRead(logs, losing.shop.params)
    return steps.run_backfill(
        losing.pipeline,
        start,
        end,
        ["SHOP.PARTS"],
        execute=execute,
        from_logs=reads,
        spark="no Spark",
        source=losing.shop.params,
    )


def from_landed(losing: LosingPipeline, start: int | str, end: int | str) -> Any:
    return steps.run_backfill(losing.pipeline, start, end, ["SHOP.PARTS"], source=losing.shop.params)


def rows(found: Any) -> list[tuple[Any, ...]]:
    (shadow,) = found.recorded.tables
    return sorted(tuple(row.values()) for row in rows_in_folder(shadow.target))


def test_a_shadow_of_a_declared_gap_has_what_committed_in_it(losing: LosingPipeline) -> None:
    losing.lose_redo()
    made = losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    start, end = made.gap.from_scn, made.gap.to_scn
    with pytest.raises(RedoLost, match=r"log\(s\) of the range are missing"):
        from_logs(losing, start, end, execute=False)
    losing.shop.oracle.faults.restore_logs()

    planned = from_logs(losing, start, end, execute=False)
    assert "mines 1 window(s) from" in planned.prepared.plan
    with killed_at("publish chain/*.json"):
        from_logs(losing, start, end)
    found = from_logs(losing, start, end)

    # Part 10 began before the gap: the batch that ends there has carried its row. Part 20 commits after it.
    assert [row[:3] for row in rows(found)] == [(1, "A", 100), (4, "D", 4), (10, "open", 10)]
    assert [gap.from_scn for gap in losing.status().declared_gaps] == [start], "the live table is not touched"


def test_a_range_after_a_declared_gap_is_known_unless_it_has_what_began_before_the_gaps_end(losing: LosingPipeline) -> None:
    losing.lose_redo()
    made = losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    (split,) = losing.status().declared_gaps[0].split_transactions or ()
    assert split.committed_at is not None
    after = int(split.committed_at.scn) + 1
    losing.change("INSERT INTO parts VALUES (50, 'later', 5)", "UPDATE parts SET quantity = 6 WHERE id = 50")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)

    for start in (made.gap.to_scn, after - 1):
        with pytest.raises(ConfigurationError, match="what commits in the range may have begun before its end"):
            from_landed(losing, start, end)
    found = steps.run_backfill(
        losing.pipeline, after, end, ["SHOP.PARTS"], execute=True, spark="no Spark", source=losing.shop.params
    )
    assert [row[:3] for row in rows(found)] == [(3, "C", 300), (50, "later", 6)]


def test_views_of_an_scn_in_a_declared_gap_are_refused_and_those_around_it_are_written(losing: LosingPipeline) -> None:
    losing.lose_redo()
    made = losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    start, end = made.gap.from_scn, made.gap.to_scn

    for scn in (start, end - 2):
        with pytest.raises(NotReadableAsOf, match="lies in a declared gap") as refused:
            steps.write_views(losing.pipeline, "duckdb", str(scn))
        assert refused.value.cure.startswith(f"choose SCN {start - 1} or lower")
    before = steps.write_views(losing.pipeline, "duckdb", str(start - 1))
    assert (before.scn, "AS OF SCN" in before.text) == (start - 1, True)
    assert steps.write_views(losing.pipeline, "duckdb", "now").tables == ("SHOP.PARTS",)


def test_a_range_is_read_from_logs_although_its_windows_are_gone(losing: LosingPipeline) -> None:
    start = int(losing.status().next_start_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1", "DELETE FROM parts WHERE id = 3")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)
    for folder in Path(losing.pipeline.landing).glob("shop/windows/*"):
        for file in folder.glob("*.parquet"):
            file.unlink()

    assert [row[:3] for row in rows(from_logs(losing, start, end))] == [(1, "A", 5)]


def test_a_range_that_cuts_a_transaction_of_unknown_beginning_is_refused(losing: LosingPipeline) -> None:
    with losing.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO parts (id, place, quantity) VALUES (7, 'cut', 7)")
        losing.change("UPDATE parts SET quantity = 5 WHERE id = 1")
        inside = scn_of(losing.shop) + 1
        losing.change("UPDATE parts SET quantity = 6 WHERE id = 1")
        connection.commit()
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)

    with pytest.raises(ConfigurationError, match="began before the range"):
        from_logs(losing, inside, end)


def test_a_range_across_a_resetlogs_is_refused_and_its_two_parts_are_read(losing: LosingPipeline) -> None:
    start = int(losing.status().next_start_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1")
    losing.shop.oracle.faults.reset_logs()
    losing.change("UPDATE parts SET quantity = 6 WHERE id = 2", "DELETE FROM parts WHERE id = 3")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)

    for read in (from_logs, from_landed):
        with pytest.raises(ConfigurationError, match="crosses a RESETLOGS") as refused:
            read(losing, start, end)
        cure = re.fullmatch(r"end the range at SCN (\d+), or begin it at SCN (\d+)", refused.value.findings[0].cure)
        assert cure is not None
        first, second = int(cure[1]), int(cure[2])
        if read is from_logs:
            assert [row[:3] for row in rows(from_logs(losing, start, first))] == [(1, "A", 5)]
            assert [row[0] for row in rows(from_logs(losing, second, end))] == [2]
        for part in ((start, first), (second, end)):
            assert from_landed(losing, *part).prepared.plan


def test_logs_in_a_folder_are_read_through_the_database(losing: LosingPipeline) -> None:
    start = int(losing.status().next_start_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)
    losing.shop.oracle.faults.purge_logs()
    folder = losing.shop.folder / "tape"
    losing.shop.oracle.faults.restore_logs(folder=str(folder), catalogue=False)
    strange = folder / "notes.txt"
    strange.write_text("no log")

    with pytest.raises(ConfigurationError, match=r"notes\.txt"):
        from_logs(losing, start, end, str(folder))
    strange.unlink()
    assert [row[:3] for row in rows(from_logs(losing, start, end, str(folder)))] == [(1, "A", 5)]
    shutil.rmtree(folder)


def let_pass(losing: LosingPipeline, seconds: int) -> None:
    """Let time pass as the database sees it: every three seconds it notes the SCN of that time."""
    for _ in range(seconds // 3):
        losing.shop.oracle.database.clock.skip(3)


def test_a_range_by_time_has_the_commits_of_its_time_by_the_clock_of_the_database(losing: LosingPipeline) -> None:
    before = int(losing.status().next_start_scn or 0)
    for number, quantity in ((1, 11), (2, 22), (3, 33)):
        let_pass(losing, 60)
        losing.change(f"UPDATE parts SET quantity = {quantity} WHERE id = {number}")
    let_pass(losing, 60)
    losing.catch_up()
    # The second of the three changes is 120 s old by the database, whose clock is 240 s further ahead than it was.
    start, end = ((datetime.now(UTC) - timedelta(seconds=old)).isoformat() for old in (140, 100))
    with pytest.raises(ConfigurationError, match=r"has SCN .* for it, which has landed with other times"):
        from_logs(losing, start, end)
    Path(losing.pipeline.ledger_url.removeprefix("sqlite:///")).unlink()  # one that is built again knows no times

    found = from_logs(losing, start, end)

    assert [row[0] for row in rows(found)] == [2]
    plan = found.prepared.details
    assert (plan.start.by, plan.end.by) == ("database", "database")
    assert before < plan.start.scn < plan.end.scn
    assert f"for {end}" in found.prepared.plan
    losing.shop.oracle.database.clock.forget()
    with pytest.raises(ConfigurationError, match=r"no time of a landed window is known.*does not know its SCN any more"):
        from_landed(losing, start, end)


def test_windows_of_a_range_are_mined_side_by_side_and_land_in_their_order(losing: LosingPipeline) -> None:
    start = int(losing.status().next_start_scn or 0)
    with losing.shop.oracle.connect("SHOP") as across, across.cursor() as cursor:
        cursor.execute("INSERT INTO parts (id, place, quantity) VALUES (7, 'across', 7)")
        for quantity in (51, 52, 53, 54):
            losing.change(f"UPDATE parts SET quantity = {quantity} WHERE id = 1")
            losing.shop.switch_logs()
        cursor.execute("UPDATE parts SET quantity = 8 WHERE id = 7")
        across.commit()
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)
    window = losing.pipeline.window.model_copy(update={"max_bytes": 1})
    losing.pipeline = losing.pipeline.model_copy(update={"window": window, "parallel_sessions": 3})
    planned = from_logs(losing, start, end, execute=False).prepared.plan
    # A window has a slice of each of two redo threads: a third session can only mine another window.
    met, faults, begins = threading.Barrier(3), losing.shop.oracle.faults, "DBMS_LOGMNR.START_LOGMNR"

    def meet(others: int) -> None:
        if others:
            faults.act_before(begins, lambda: meet(others - 1))
        met.wait(60)

    faults.act_before(begins, lambda: meet(2))
    found = from_logs(losing, start, end)

    assert not met.broken
    assert int(re.findall(r"mines (\d+) window", planned)[0]) >= 4
    assert [row[:3] for row in rows(found)] == [(1, "A", 54), (7, "across", 8)]


def test_a_plan_into_a_live_table_names_the_keys_and_what_is_not_known(losing: LosingPipeline) -> None:
    with losing.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO parts (id, place, quantity) VALUES (7, 'cut', 7)")
        losing.change("UPDATE parts SET id = 9 WHERE id = 1")
        losing.catch_up()
        start = int(losing.status().next_start_scn or 0)
        connection.commit()
    losing.change("DELETE FROM parts WHERE id = 3")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)

    def plan() -> Any:
        return steps.backfill_live(losing.pipeline, start, end, source=losing.shop.params, spark="no Spark")

    found = plan()
    assert (found.tables[0].changes, found.tables[0].rows, found.cut, found.is_whole) == (2, 2, 0, True)
    assert found.lines[2].startswith("SHOP.PARTS: 2 change(s) of 2 key(s), whose rows are read again AS OF its position")

    for folder in Path(losing.pipeline.landing).glob("shop/windows/*"):
        if int(folder.name.split("-")[2]) <= start:
            shutil.rmtree(folder)
    found = plan()
    assert (found.tables[0].rows, found.cut, found.is_whole) == (1, 1, False)
    assert found.lines[-1].startswith("not known: what 1 transaction(s) changed before SCN")


def test_rows_of_a_live_table_are_read_again_from_logs_although_the_windows_are_gone(losing: LosingPipeline) -> None:
    start = int(losing.status().next_start_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1", "DELETE FROM parts WHERE id = 3")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)
    for file in Path(losing.pipeline.landing).glob("shop/windows/*/*.parquet"):
        file.unlink()
    lake, target = FolderLake(), losing.pipeline.target(TableId("SHOP", "PARTS"))
    good, _, *others = (table := lake.tables[target]).rows.items()
    lake.tables[target] = replace(table, rows=dict([(good[0], (*good[1][:2], "999")), *others]))
    assert len(rows_in_folder(target)) == 1

    logs = steps.LogsToRead((), losing.shop.params)
    found = steps.backfill_live(
        losing.pipeline, start, end, execute=True, reason="by hand", from_logs=logs, source=losing.shop.params, spark="no Spark"
    )

    assert (found.is_whole, found.tables[0].rows, found.tables[0].equal) == (True, 2, True)
    assert [tuple(row.values())[:3] for row in rows_in_folder(target)] == [(1, "A", 5)], "the other one is not of the range"


def test_a_range_is_mined_for_one_of_several_tables(losing: LosingPipeline) -> None:
    losing.change("CREATE TABLE other (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE other ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    losing.pipeline = losing.shop.pipeline(tables=["SHOP.PARTS", "SHOP.OTHER"])
    losing.catch_up()
    start = int(losing.status().next_start_scn or 0)
    losing.change("INSERT INTO other (id) VALUES (1)", "UPDATE parts SET quantity = 5 WHERE id = 1")
    losing.catch_up()
    end = int(losing.status().next_start_scn or 0)

    assert [row[:3] for row in rows(from_logs(losing, start, end))] == [(1, "A", 5)]


def test_a_range_from_before_the_first_snapshot_is_read_where_no_ddl_came_in_between(losing: LosingPipeline) -> None:
    with Run(losing.pipeline) as context:
        entry = context.ledger.table(TableId.parse("SHOP.PARTS"))
        end = int(entry.snapshot_scn) + 1
    began = losing.shop.oracle.database.state.incarnation.resetlogs_scn

    with pytest.raises(ConfigurationError, match=r"a DDL at SCN \d+ changed it before it was first described") as refused:
        from_logs(losing, began, end)
    start = int(re.findall(r"begin at SCN (\d+) or later", str(refused.value))[0])
    with pytest.raises(ConfigurationError, match="began before the range") as refused:  # the transaction of the DDL itself
        from_logs(losing, start, end)
    start = int(re.findall(r"or at SCN (\d+), which cuts none", str(refused.value))[0])
    planned = from_logs(losing, start, end, execute=False).prepared.plan
    found = from_logs(losing, start, end)

    assert "SHOP.PARTS: first described at SCN" in planned
    assert [row[:3] for row in rows(found)] == [(1, "A", 1), (2, "B", 2), (3, "C", 3)]
    assert losing.is_equal(), "the live table is not touched"
