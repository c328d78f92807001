"""Which SCNs come next, and whether the redo for them is there. Pure decisions."""

from pipelines.window.plan import Lost, NothingNew, Plan, Sealed, Wait, plan_window

__all__ = ["Lost", "NothingNew", "Plan", "Sealed", "Wait", "plan_window"]
