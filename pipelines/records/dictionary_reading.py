"""The data dictionary's description of the captured tables, read when a window was planned."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.table import DictionaryTable


@dataclass(frozen=True, slots=True)
class DictionaryReading:
    """`scn` is one of the incarnation that was open when the dictionary was read; a later RESETLOGS may set SCNs back."""

    resetlogs_id: int
    scn: int
    tables: tuple[DictionaryTable, ...]
