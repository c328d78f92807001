"""Read the views and plan from them, twice where a log seems lost only because its row has not come yet."""

from __future__ import annotations

import time

from redolake.source import Source, read_redo_facts
from redolake.values.redo import Position, RedoFacts
from redolake.window import Lost, WindowDecision, plan_window
from redolake.window.plan import SizeLimits

PAUSE_SECONDS = 3.0


def read_and_plan(
    oracle: Source, position: Position, limits: SizeLimits, pause_seconds: float = PAUSE_SECONDS
) -> tuple[RedoFacts, WindowDecision]:
    """Return the facts that were read last, and the next window or why there is none.

    Lost redo is reported only from all logs that the views show, read once more: V$LOG may report a log as archived before
    V$ARCHIVED_LOG has its row.
    """
    facts = read_redo_facts(oracle, position.scn)
    found = plan_window(position, facts, limits)
    if isinstance(found, Lost):
        time.sleep(pause_seconds if found.may_appear else 0)
        facts = read_redo_facts(oracle)
        found = plan_window(position, facts, limits)
    return facts, found
