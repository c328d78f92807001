"""Which SCNs come next, and whether the redo for them is there. Pure decisions."""

from pipelines.window.incarnation import follow_resetlogs, incarnation_at
from pipelines.window.missing import MissingLog, missing_logs, next_complete_scn
from pipelines.window.plan import Lost, NothingNew, Sealed, Wait, WindowDecision, plan_window

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
    "next_complete_scn",
    "plan_window",
]
