"""Kill capture with SIGKILL after every write and run it again: it lands the same rows as an undisturbed capture.

No Spark is needed. tests/e2e/test_kills_everywhere.py does the same for apply, snapshots, recovery and decisions.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.land.landing import Landing
from tests.e2e.kills import IN_TURN, ChangingSource, KillSequence, PipelineCopy, begin_first_snapshot, capture_all
from tests.fix_shop import open_shop

NO_SPARK = "sc://127.0.0.1:1"


def landed_from(copy: PipelineCopy, scn: int) -> Counter[tuple[Any, ...]]:
    """Return the landed redo rows from `scn` on, counted."""
    landing = Landing(copy.pipeline.landing, copy.name)
    rows: Counter[tuple[Any, ...]] = Counter()
    for manifest in landing.windows.after():
        for file in landing.windows.files_of(manifest):
            found = pq.read_table(file, columns=["scn", "thread", "rs_id", "ssn", "xid", "operation_code", "sql_redo"])
            rows.update(tuple(row.values()) for row in found.filter(pc.field("scn") >= scn).to_pylist())
    return rows


def test_a_capture_killed_after_each_write_lands_the_rows_of_an_undisturbed_one(tmp_path: Path) -> None:
    with open_shop(tmp_path) as shop:
        source = ChangingSource(shop)
        killed, twice, undisturbed = (
            PipelineCopy(name, source, tmp_path / name, NO_SPARK) for name in ("shop1", "shop2", "shop3")
        )
        kills = KillSequence(killed, tmp_path / "killed-at", IN_TURN, count())
        kills.run(begin_first_snapshot, killed.name)
        # The first copy's snapshot has begun, so a second copy is killed at the later points of its beginning.
        KillSequence(twice, kills.killed_at, IN_TURN, count()).run(begin_first_snapshot, twice.name)
        undisturbed.succeed(begin_first_snapshot, undisturbed.name)
        killed.keep_ledger()
        kills.run_in_rounds(source.work, capture_all, killed.name)
        source.finish()
        for copy in (killed, undisturbed):
            copy.succeed(capture_all, copy.name)
            copy.check_landing()
        start = Landing(undisturbed.pipeline.landing, undisturbed.name).windows.after()[0].start

        landed = landed_from(killed, start)
        assert landed == landed_from(undisturbed, start)
        assert sum(landed.values()) > 100
        assert {point.rpartition(" ")[2] if point.endswith((".json", ".parquet")) else point for point in kills.points()} == {
            "*.json",
            "landing/*/handover.json",
            "dictionary/*.json",
            "chain/*.json",
            "dictionary.json",
            "land.chain",
            "ledger.add_table",
            "ledger.add_tables",
            "ledger.record_all_landed",
            "ledger.correct_position",
            "ledger.record_landed",
            "ledger.lease",
            "ledger.plan_window",
            "ledger.planned",
            "ledger.record_version",
            "ledger.release_lease",
            "ledger.start_at",
            "part of a file",
            "part of a stream",
            "windows/*/*.parquet",
            "windows/*/manifest.json",
        }
