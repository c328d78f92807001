"""What of an OpenLogReplicator configuration decides what the network target sends, and readings of what is uncertain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

SHOW_DDL, SHOW_HIDDEN, SHOW_CHECKPOINTS = 0x20, 0x40, 0x1000


@dataclass(frozen=True, slots=True)
class Format:
    """Element `format`, with the defaults of its documents."""

    attributes: int = 0
    char: int = 0
    column: int = 0
    db: int = 0
    interval_dts: int = 0
    interval_ytm: int = 0
    message: int = 0
    rid: int = 0
    redo_thread: int = 0
    schema: int = 0
    scn: int = 0
    scn_type: int = 0
    timestamp: int = 0
    timestamp_metadata: int = 0
    timestamp_tz: int = 0
    timestamp_type: int = 0
    unknown: int = 0
    unknown_type: int = 0
    user_type: int = 0
    xid: int = 0

    @classmethod
    def of(cls, element: Mapping[str, Any]) -> Format:
        """Read the element. Raises ValueError for an output that is not JSON."""
        if element.get("type") != "json":
            raise ValueError(f"the stand-in's OpenLogReplicator writes JSON only, not {element.get('type')}")
        known = {field.name for field in fields(cls)}
        given = {name.replace("-", "_"): value for name, value in element.items()}
        return cls(**{name: value for name, value in given.items() if name in known})


@dataclass(frozen=True, slots=True)
class Configuration:
    """`tables` are pairs of regular expressions for owner and name; empty for all."""

    alias: str
    format: Format
    flags: int = 0
    tables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Configuration:
        """Read OpenLogReplicator.json. Raises ValueError unless it has one source."""
        sources = body.get("source", [])
        if len(sources) != 1:
            raise ValueError("one source is needed")
        source = sources[0]
        listed = source.get("filter", {}).get("table", [])
        return cls(
            source["name"],  # a client asks for it, not for `alias`
            Format.of(source["format"]),
            source.get("flags", 0),
            tuple((entry["owner"], entry["table"]) for entry in listed),
        )

    def sends(self, owner: str, table: str) -> bool:
        return not self.tables or any(re.fullmatch(a, owner) and re.fullmatch(b, table) for a, b in self.tables)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Where releases differ, or nobody knows.

    `c_scn`: what numbers the messages of a transaction: `commit`, the group of redo in which its commit is (up to 1.9), or
    `begin`, its first SCN (2.0: a CONTINUE then drops transactions that began before the client's position).
    `group_scn`: the SCN of a group of redo: that of its `first` record, or the one `below` it.
    `first_index`: the number of an SCN's first message: 1, as a 1.9.0 that was run has it, or 0.
    `dictionary`: which DDL it follows: what its `own` redo thread has, as it reads nothing else, or all of the `database`.
    `commits_in_group`: commits that the log writer writes at once, if they come soon enough.
    """

    c_scn: str = "commit"
    group_scn: str = "below"
    first_index: int = 1
    dictionary: str = "own"
    commits_in_group: int = 1
    idle_seconds: float = 0.05  # after which a group ends, and between groups of background processes
    long_lengths: bool = False  # every message has a length of 8 bytes
    splits: int = 0  # write to the socket in pieces of so many bytes; 0: whole
    skipped_by_continue: int = 0  # messages that a CONTINUE skips, as in its issue 324
    undecodable: frozenset[str] = frozenset()  # columns whose values it writes as ?
    skipped_log: int = 0  # the sequence of a log that it leaves out
    lost_change: int = 0  # every n-th change is not sent, nor numbered
    hours: int = 0  # by which its times are off (host-timezone)
    uncommitted_dictionary: bool = False  # tables show as OBJ_n
