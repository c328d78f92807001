"""The data dictionary's description of the captured tables, read when a window was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redolake.values.dictionary_table import DictionaryTable


@dataclass(frozen=True, slots=True)
class DictionaryContent:
    """Descriptions of tables, kept once however often they were read. Their SCNs are 0: each reading has its own."""

    tables: tuple[DictionaryTable, ...]


@dataclass(frozen=True, slots=True)
class DictionaryReading:
    """`scn` is one of the incarnation that was open when the dictionary was read; a later RESETLOGS may set SCNs back.

    `content` names the DictionaryContent. `later` contains the SCNs of tables that a DDL changed while they were read;
    `renamed` the names under which tables were looked up, where these are not those of their entries.
    """

    resetlogs_id: int
    scn: int
    content: str
    later: Mapping[str, int]
    renamed: Mapping[str, str] = field(default_factory=dict)
