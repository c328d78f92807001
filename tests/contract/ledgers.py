"""The clock of the ledgers, their windows, and calls side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from redolake.ledger import Ledger
from redolake.ledger.entries import Lease
from redolake.records.windows import WindowManifest
from redolake.values.redo import Position
from redolake.values.scn import Scn, ScnRange

R = TypeVar("R")
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=10)
START = Position(dbid=4_000_000_000, resetlogs_id=1_100_000_000, scn=Scn(2**53 + 1))


@dataclass
class Clock:
    time: datetime = NOW

    def __call__(self) -> datetime:
        return self.time


def scns(start: int, end: int) -> ScnRange:
    return ScnRange(Scn(start), Scn(end))


def name(start: int, end: int) -> str:
    return f"{1:010d}-{start:020d}-{end:020d}"


def plan(ledger: Ledger, lease: Lease, start: int, end: int):
    return ledger.plan_window(name(start, end), 1, scns(start, end), {"slices": [1, 2]}, lease)


def manifest(start: int, end: int) -> WindowManifest:
    return WindowManifest(7, 1, start, end, (), ("SHOP.ORDERS",), {}, "hash", (), ())


def at_once(*calls: Callable[[], R]) -> list[R | Exception]:
    """Run the calls side by side, let go at the same moment; what each gave or raised."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], R]) -> R | Exception:
        ready.wait(timeout=20)
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
