"""Prune a landing of many windows while capture and apply go on, then lose the ledger: it comes back the same.

python -m benchmarks.prune [windows] [that stay]     by default 100,000 and 1,000
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redolake.config.keep import KeepSettings
from redolake.context import Run
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.table_versions import all_known_versions
from redolake.steps.upkeep.prune import prune_pipeline
from tests.states.aged_landing import SCNS, AgedLanding
from tests.states.lost_ledger import lose_ledger

MONTH = 40 * 86_400


def main(windows: int = 100_000, stay: int = 1_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with timed(f"{windows:,} windows are made"):
            aged = AgedLanding(Path(folder), windows)
        names = aged.files.names("windows")
        for name in names[:-stay]:
            os.utime(aged.folder / "shop/windows" / name / "manifest.json", (time.time() - MONTH,) * 2)
        keeping = aged.pipeline.model_copy(update={"keep": KeepSettings.model_validate({"landing": "30d", "ledger": "0s"})})
        processes = multiprocessing.get_context("spawn")
        is_over, rounds = processes.Event(), processes.Value("i", 0)
        work = processes.Process(target=go_on, args=(aged, is_over, rounds))
        work.start()
        while not rounds.value:
            time.sleep(0.1)
        already = rounds.value
        with timed("prune"):
            report = prune_pipeline(keeping, execute=True, by="benchmark")
        is_over.set()
        work.join()
        aged.end += rounds.value * SCNS
        say(f"{rounds.value - already} windows landed and were applied meanwhile; the chain begins at SCN {report.begins_at}")
        say(f"{len(aged.files.names('windows')):,} windows are left, {len(aged.files.names('batches')):,} batches")
        before = state(aged)
        lose_ledger(aged.folder)
        with timed("the lost ledger is rebuilt"):
            aged.reconcile()
        say("the ledger is the same" if state(aged) == before else f"THE LEDGER DIFFERS: {before} {state(aged)}")
        aged.land_one()
        aged.run_batch()
        say("and the next window is applied")


def go_on(aged: AgedLanding, is_over: Any, rounds: Any) -> None:
    """Land and apply a window after the other. A process of its own: the lease tells processes apart."""
    while not is_over.is_set():
        aged.land_one()
        aged.reconcile()
        aged.run_batch()
        rounds.value += 1


def state(aged: AgedLanding) -> tuple[object, ...]:
    with Run(aged.pipeline) as context:
        reconcile_ledger(context)
        return context.ledger.tables(), context.ledger.position(), all_known_versions(context), context.ledger.landed_names()


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    say(f"{what}: {time.perf_counter() - began:.1f} s")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
