"""The effect of a DDL statement on a table: the version after it, and the steps for the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipelines.scn import Scn
from pipelines.table import Column, TableVersion


@dataclass(frozen=True, slots=True)
class DdlStep:
    """A column added or dropped at `scn`. `default` is the value of older rows in an added column, in neutral text."""

    scn: Scn
    kind: Literal["add", "drop"]
    column: Column
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """`version` is the unchanged one if the statement changes neither columns nor key."""

    version: TableVersion
    steps: tuple[DdlStep, ...] = ()
