"""The effect of a DDL statement on a table: the version after it, and the steps for the target."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redolake.records.batches.spec import ColumnChange
from redolake.values.table import Column, TableVersion


@dataclass(frozen=True, slots=True)
class Effect:
    """`version` is the unchanged one if the statement changes neither columns nor key."""

    version: TableVersion
    steps: tuple[ColumnChange, ...] = ()

    def with_change(self, column: Column, step: ColumnChange | None = None) -> Effect:
        """Return the effect with the column of the same id replaced, and one more step."""
        columns = tuple(column if c.id == column.id else c for c in self.version.columns)
        return Effect(replace(self.version, columns=columns), self.steps if step is None else (*self.steps, step))
