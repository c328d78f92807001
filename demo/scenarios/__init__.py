"""What can go wrong at the source, played through: into a right table, or a typed error and after its cure a right table."""

from demo.scenarios.catalogue import SCENARIOS, summary
from demo.scenarios.testbed import Outcome, Testbed, open_testbed

__all__ = ["SCENARIOS", "Outcome", "Testbed", "open_testbed", "summary"]
