"""What can go wrong at the source, played through: into a right table, or a typed error and after its cure a right table."""

from demo.scenarios.plays import SCENARIOS, summary
from demo.scenarios.stage import Ending, Stage, stage

__all__ = ["SCENARIOS", "Ending", "Stage", "stage", "summary"]
