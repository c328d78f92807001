"""The layout of a table's rows: positions, conversions, internal bytes, supplemental logging.

It is derived from TableDef after each DDL. A value's position is that of its column in the definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from standin.engine.types.values import EmptyText, coercer_of, encoder_of, is_lob, is_unlogged
from standin.model import TableDef, is_extended

Row = tuple[Any, ...]
_CHARSETS = {"CLOB": "utf-8", "NCLOB": "utf-16-be"}


class RowLayout:
    """Encoders and coercers by position, and the columns that supplemental logging adds to an UPDATE."""

    def __init__(self, table: TableDef, database_wide: Set[str], database_zone: int | str = 0) -> None:
        columns = table.columns
        self.names = tuple(c.name for c in columns)
        self.position = {c.name: i for i, c in enumerate(columns)}
        self.encoders = tuple(encoder_of(c.type, database_zone) for c in columns)
        self.coercers = tuple(coercer_of(c.type, f'"{table.owner}"."{table.name}"."{c.name}"') for c in columns)
        self.segment_ids = tuple(c.segment_id for c in columns)
        self.virtual = tuple((i, c.virtual) for i, c in enumerate(columns) if c.virtual is not None)
        self.guard = next((i for i, c in enumerate(columns) if c.kind == "guard"), None)
        self.guard_bits = {i: 1 << c.guard_bit for i, c in enumerate(columns) if c.guard_bit is not None}
        self.lobs = frozenset(i for i, c in enumerate(columns) if is_lob(c.type))
        self.charsets = {
            c.segment_id: _CHARSETS.get(c.type.name) for c in columns if is_lob(c.type)
        }  # of their redo; None: bytes
        self.unlogged = frozenset(i for i, c in enumerate(columns) if is_unlogged(c.type))
        self.documents = frozenset(i for i, c in enumerate(columns) if c.type.name == "XMLTYPE")
        self.extended = frozenset(i for i, c in enumerate(columns) if is_extended(c.type) and c.segment_id)
        self.has_large = bool(self.lobs or self.documents or self.extended)
        keys = {name for k in table.constraints if k.kind == "P" and k.enabled for name in k.columns}
        self.key = frozenset(self.position[name] for name in keys)
        self.not_null = tuple(i for i, c in enumerate(columns) if not c.nullable or c.name in keys)
        self.always_logged, self.logged_groups = self._supplemental(table, database_wide)

    def _supplemental(self, table: TableDef, database_wide: Set[str]) -> tuple[frozenset[int], tuple[frozenset[int], ...]]:
        """Return the columns that every UPDATE logs, and the groups it logs when one of their columns changes.

        Without minimal logging of the database, the table's own log groups have no effect.
        """
        if not database_wide:
            return frozenset(), ()
        if not table.logical_replication:
            database_wide = frozenset()
        kinds = {g.kind for g in table.log_groups}
        loggable = frozenset(range(len(self.names))) - self.unlogged
        if "ALL" in database_wide or "ALL COLUMN LOGGING" in kinds:
            return loggable, ()
        always: set[int] = set()
        groups: list[frozenset[int]] = []
        if "PK" in database_wide or "PRIMARY KEY LOGGING" in kinds:
            key = [self.position[n] for k in table.constraints if k.kind == "P" and k.enabled for n in k.columns]
            always |= set(key) or loggable  # without a key Oracle logs the whole row
        for flag, logging, kind in (("UI", "UNIQUE KEY LOGGING", "U"), ("FK", "FOREIGN KEY LOGGING", "R")):
            if flag in database_wide or logging in kinds:
                groups += [frozenset(self.position[n] for n in k.columns) for k in table.constraints if k.kind == kind]
        for group in table.log_groups:
            if group.kind == "USER LOG GROUP":
                members = frozenset(self.position[n] for n in group.columns)
                if group.always:
                    always |= members
                else:
                    groups.append(members)
        return frozenset(always) & loggable, tuple(groups)

    def logged(self, changed: Set[int]) -> set[int]:
        """Return the positions whose old values an UPDATE of `changed` logs."""
        found = set(self.always_logged) | (set(changed) - self.unlogged)
        for group in self.logged_groups:
            if not group.isdisjoint(changed):
                found |= group
        return found

    def stored(self, position: int, value: Any, nls: Mapping[str, str]) -> Any:
        """Return a value as the column stores it: an empty text is NULL, an empty large object is not."""
        if value is None or isinstance(value, EmptyText):
            return value if position in self.lobs else None
        return None if value == "" else self.coercers[position](value, nls)

    def guarded(self, values: Row, written: Iterable[int]) -> Row:
        """Return the row with the bits of the written columns set in its guard column: it stores them itself."""
        if self.guard is None:
            return values
        bits = int.from_bytes(values[self.guard] or b"", "little")
        for i in written:
            bits |= self.guard_bits.get(i, 0)
        mark = bits.to_bytes((bits.bit_length() + 7) // 8, "little") or None
        return (*values[: self.guard], mark, *values[self.guard + 1 :])

    def encode(self, values: Row, positions: Set[int] | range | tuple[int, ...]) -> dict[int, bytes | None]:
        """Return internal bytes by segment column number, without virtual columns and those added after the row was stored."""
        encoded: dict[int, bytes | None] = {}
        stored = len(values)
        for i in positions:
            if i < stored and self.segment_ids[i]:
                value = values[i]
                encoded[self.segment_ids[i]] = None if value is None else self.encoders[i](value)
        return encoded
