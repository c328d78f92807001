"""The tables that the patterns of a pipeline have matched, as resolved against the dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CapturedTables:
    """Tables are `OWNER.NAME`. `scn` is one at which the dictionary was not older than the listing.

    `tables` are captured. `announced` match too but came later, with the SCN at which each was seen first. `left_out` match and
    cannot be captured, with the reason. `gone` are captured ones that the dictionary no longer shows, with the SCN of the first
    listing without them. `patterns` are those of the configuration then: tables of a new pattern are no late ones. `renamed`
    has the names in Oracle of captured tables that were renamed to another name that a pattern matches.
    """

    scn: int
    patterns: tuple[str, ...]
    tables: tuple[str, ...]
    announced: Mapping[str, int]
    left_out: Mapping[str, str]
    gone: Mapping[str, int]
    renamed: Mapping[str, str] = field(default_factory=dict)
