"""A backfill from archived logs: the range is mined beside the chain, and its shadow has what committed in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from pipelines.errors import ConfigurationError, RedoLost
from tests.fixtures.shop import Shop
from tests.references.folder_lake import FolderLake, rows_in_folder
from tests.states.losing_pipeline import LosingPipeline, scn_of
from tests.support.killed import killed_at


@pytest.fixture
def losing(shop: Shop) -> Iterator[LosingPipeline]:
    with FolderLake().in_place_of_spark():
        yield LosingPipeline(shop, "no Spark")


def from_logs(losing: LosingPipeline, start: int, end: int, *logs: str, execute: bool = True) -> Any:
    reads = steps.LogsToRead(logs, losing.shop.params)
    return steps.run_backfill(losing.pipeline, start, end, ["SHOP.PARTS"], execute=execute, from_logs=reads, spark="no Spark")


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


def test_a_range_is_read_from_logs_although_its_windows_are_gone(losing: LosingPipeline) -> None:
    start = int(losing.status().landed_to_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1", "DELETE FROM parts WHERE id = 3")
    losing.catch_up()
    end = int(losing.status().landed_to_scn or 0)
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
    end = int(losing.status().landed_to_scn or 0)

    with pytest.raises(ConfigurationError, match="began before the range"):
        from_logs(losing, inside, end)


def test_logs_in_a_folder_are_read_through_the_database(losing: LosingPipeline) -> None:
    start = int(losing.status().landed_to_scn or 0)
    losing.change("UPDATE parts SET quantity = 5 WHERE id = 1")
    losing.catch_up()
    end = int(losing.status().landed_to_scn or 0)
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
