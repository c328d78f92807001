"""A planned window, as the ledger keeps it between the tasks of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.values.redo import ContainerIdentity, Window
from pipelines.values.table import TableId


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """`object_ids` maps every object id that a captured table has or had to that table. `container` is the PDB then."""

    window: Window
    tables: tuple[TableId, ...]
    object_ids: Mapping[int, TableId]
    dictionary_scn: int
    container: ContainerIdentity | None = None
