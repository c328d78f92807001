"""Import in the scheduler what tasks need: LocalExecutor forks its workers from it, and each task from a worker.

Otherwise each task imports it again, which takes longer than most tasks do. Workers of other executors are not forked from the
scheduler, and import it themselves.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
import sys
from importlib import import_module

from airflow.listeners import hookimpl

MODULES = (
    "redolake.airflow.factory",
    "redolake.steps",
    "redolake.job.job",
    "oracledb.thin_impl",
    "pyspark.sql.connect.session",
)

log = logging.getLogger(__name__)


class Preload:
    """Airflow calls it when a process of its own starts, and before a task."""

    @hookimpl
    def on_starting(self, component: object) -> None:
        if "scheduler" in sys.argv[1:2]:  # the component has no type yet
            preload()


def preload() -> None:
    """Import the modules. One that cannot be imported stops the tasks that need it, and not the scheduler."""
    for name in MODULES:
        try:
            import_module(name)
        except ImportError:
            log.warning("%s is not imported ahead", name, exc_info=True)
