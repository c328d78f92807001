"""What a DDL statement does to a table: the version after it and the steps that a target follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipelines.scn import Scn
from pipelines.table import Column, TableVersion


@dataclass(frozen=True, slots=True)
class DdlStep:
    """One column added or dropped at `scn`. `default` is what older rows show in an added column, in neutral text."""

    scn: Scn
    kind: Literal["add", "drop"]
    column: Column
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """`version` is the one before, unchanged, where the statement touches neither columns nor key."""

    version: TableVersion
    steps: tuple[DdlStep, ...] = ()
