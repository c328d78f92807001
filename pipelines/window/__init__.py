"""Which SCNs come next, and whether the redo for them is there. Pure decisions."""

from pipelines.window.incarnation import goes_on_in, incarnation_at
from pipelines.window.missing import MissingLog, missing_logs, next_whole_scn
from pipelines.window.plan import Lost, NothingNew, Plan, Sealed, Wait, plan_window

__all__ = [
    "Lost",
    "MissingLog",
    "NothingNew",
    "Plan",
    "Sealed",
    "Wait",
    "goes_on_in",
    "incarnation_at",
    "missing_logs",
    "next_whole_scn",
    "plan_window",
]
