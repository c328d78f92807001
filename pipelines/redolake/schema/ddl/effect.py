"""The effect of a DDL statement on a table: the version after it, and the steps for the target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from redolake.values.scn import Scn
from redolake.values.table import Column, TableVersion

StepKind = Literal[
    "add", "drop", "rename", "change_type", "truncate", "renumber", "remove_rows", "fill", "comment", "comment_table"
]


@dataclass(frozen=True, slots=True)
class DdlStep:
    """A change of the target at `scn`. `default` is the value of older rows in an added column, in neutral text.

    add, drop      the column
    rename         the column has the name after it
    change_type    the column has the type after it
    truncate       all rows are deleted
    renumber       nothing changes, but rows have other ROWIDs from here on
    remove_rows    some rows are deleted; only the source knows which
    fill           older rows have values in the column that was just added, which only the source knows

    comment        the column, or the table, has this comment; empty for none

    For a step of the whole table `column` is any column.
    """

    scn: Scn
    kind: StepKind
    column: Column
    default: str | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """`version` is the unchanged one if the statement changes neither columns nor key."""

    version: TableVersion
    steps: tuple[DdlStep, ...] = ()

    def with_change(self, column: Column, step: DdlStep | None = None) -> Effect:
        """Return the effect with the column of the same id replaced, and one more step."""
        columns = tuple(column if c.id == column.id else c for c in self.version.columns)
        return Effect(replace(self.version, columns=columns), self.steps if step is None else (*self.steps, step))
