"""Decide which SCNs come next and whether their redo is available. Pure functions over values."""

from redolake.window.dictionary import newest_before, with_dictionary
from redolake.window.gate import Lost
from redolake.window.incarnation import follow_resetlogs, incarnation_at
from redolake.window.log_state import Wait
from redolake.window.missing import MissingLog, missing_logs, next_complete_scn
from redolake.window.plan import NothingNew, Sealed, WindowDecision, plan_window

__all__ = [
    "Lost",
    "MissingLog",
    "NothingNew",
    "Sealed",
    "Wait",
    "WindowDecision",
    "follow_resetlogs",
    "incarnation_at",
    "missing_logs",
    "newest_before",
    "next_complete_scn",
    "plan_window",
    "with_dictionary",
]
