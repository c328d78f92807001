"""Scenarios of faults at the source. Each ends with equal tables, some of them after a typed error and its cure."""

from .catalogue import SCENARIOS, summary
from .testbed import Outcome, Testbed, open_testbed

__all__ = ["SCENARIOS", "Outcome", "Testbed", "open_testbed", "summary"]
