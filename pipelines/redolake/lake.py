"""Read a pipeline's tables from Python as they were at one moment of the source.

from redolake.lake import lake

with lake("shop").at(spark, "2026-11-20 08:00 Europe/Berlin") as then:
    then.table("SHOP.ORDERS").show()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redolake.config import Pipeline, load_configuration
from redolake.context import Run
from redolake.errors import ConfigurationError, Finding
from redolake.steps.ranges.as_of import ReadPlan, opened_as_of, plan_read, view_names
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class TablesAsOf:
    """All tables as they were after the same commits. The data frames can be read until the `with` block ends."""

    plan: ReadPlan
    frames: Mapping[TableId, Any]
    wrong: Mapping[TableId, tuple[str, ...]]

    @property
    def scn(self) -> int:
        return self.plan.scn

    def table(self, name: str) -> Any:
        """Return the data frame of OWNER.TABLE."""
        return self.frames[TableId.parse(name)]

    def wrong_keys(self, name: str) -> tuple[str, ...]:
        """Return the keys of OWNER.TABLE that were in quarantine, each as JSON: their rows are known to be wrong."""
        return self.wrong.get(TableId.parse(name), ())

    def create_views(self) -> tuple[str, ...]:
        """Make a temporary view of each table, OWNER_NAME, and NAME where no other table has it. Return their names."""
        views = view_names(self.frames)
        for view, table in views.items():
            self.frames[table].createOrReplaceTempView(view)
        return tuple(views)


@dataclass(frozen=True, slots=True)
class Lake:
    """The lake of one pipeline."""

    pipeline: Pipeline

    @contextmanager
    def at(self, spark: Any, moment: str | int, tables: Sequence[str] | None = None) -> Iterator[TablesAsOf]:
        """Yield the tables AS OF an SCN, a time with its zone, `now` or the end of a window. Raises NotReadableAsOf."""
        with Run(self.pipeline, spark=spark) as run:
            plan = plan_read(run, str(moment), tables)
            with opened_as_of(run, plan) as (frames, wrong):
                yield TablesAsOf(plan, frames, wrong)


def lake(name: str, config: Path | str | None = None) -> Lake:
    """Return the lake of a pipeline of pipelines.yml, by its name. `config` is the file; default: as for `redolake`."""
    pipelines = load_configuration(None if config is None else Path(config)).pipelines
    if name not in pipelines:
        raise ConfigurationError([Finding(str(config or "pipelines.yml"), f"no pipeline {name!r}", ", ".join(pipelines))])
    return Lake(pipelines[name])
