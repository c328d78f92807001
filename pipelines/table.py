"""Tables, their columns and versions, in Oracle's terms and with column ids of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pipelines.scn import Scn

KeyKind = Literal["primary", "columns", "rowid", "append"]
TypeRule = str | int | None  # how a column is stored, as the configuration says; None for the default
Rules = Mapping[int, TypeRule]  # by column id
ROWID_COLUMN = 0  # the column id of ROWID, which is no column of the segment; those of columns begin at 1
ROWID_NAME = "_rowid"


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """Owner and name as the dictionary spells them, within the pipeline's container."""

    owner: str
    name: str

    def __str__(self) -> str:
        """What `parse` takes back: a part that it would read otherwise stands in double quotes."""
        parts = (self.owner, self.name)
        return ".".join(p if p == p.strip().upper() and "." not in p else f'"{p}"' for p in parts)

    @classmethod
    def parse(cls, text: str) -> TableId:
        """`owner.name`; upper-cased unless a part stands in double quotes. Raises ValueError."""
        parts, rest = [], text.strip()
        while rest:
            if rest.startswith('"'):
                part, quote, rest = rest[1:].partition('"')
                if not quote:
                    raise ValueError(f"unbalanced quote in table name {text!r}")
            else:
                cut = len(rest) if "." not in rest else rest.index(".")
                part, rest = rest[:cut].upper(), rest[cut:]
            parts.append(part)
            if rest:
                if not rest.startswith(".") or rest == ".":
                    raise ValueError(f"not OWNER.TABLE: {text!r}")
                rest = rest[1:]
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"not OWNER.TABLE: {text!r}")
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class OracleType:
    """A column's type as the dictionary tells it (DATA_TYPE, DATA_LENGTH/CHAR_LENGTH, DATA_PRECISION, DATA_SCALE).

    `name` is the bare word: NUMBER, VARCHAR2, CHAR, DATE, TIMESTAMP, RAW, CLOB ... For TIMESTAMP(p) `scale` is p.
    NUMBER without precision has precision and scale None; NUMBER(*, s) has precision 38.
    """

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        if self.name == "NUMBER" and self.precision is not None:
            return f"NUMBER({self.precision},{self.scale or 0})"
        if self.name == "TIMESTAMP":
            return f"TIMESTAMP({6 if self.scale is None else self.scale})"
        return self.name if self.length is None else f"{self.name}({self.length})"


@dataclass(frozen=True, slots=True)
class Column:
    """`id` is ours, given at the column's birth and never used again; `segment_id` is Oracle's SEGMENT_COLUMN_ID,
    which numbers `COL n` in redo that LogMiner can no longer name, and which Oracle renumbers on DROP. `has_default`: rows
    older than the column may show NULL in the redo where every SELECT shows the default."""

    id: int
    name: str
    type: OracleType
    segment_id: int
    nullable: bool = True
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """What tells the rows of a table apart, as a person declared it; `columns` only where they are what does."""

    kind: KeyKind = "primary"
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As pipelines.yml takes it."""
        return f"[{', '.join(map(_in_yaml, self.columns))}]" if self.kind == "columns" else self.kind


def _in_yaml(name: str) -> str:
    plain = re.fullmatch(r"[A-Z][A-Z0-9_$]*", name) and name not in ("ON", "OFF", "YES", "NO", "TRUE", "FALSE", "NULL")
    quoted = name.replace("'", "''")
    return name if plain else f"""'"{quoted}"'"""


PRIMARY = KeyPolicy()


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """A valid unique index on plain columns; a unique constraint is its index. `object_id` is new whenever it is made anew,
    and None where this user may not see it."""

    name: str
    object_id: int | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The columns a table has from `from_scn` to its next DDL. `key` holds column ids, in key order: of the primary key, of
    the declared columns (`key_index` is the OBJECT_ID of the unique index on them), ROWID's, or none for a table of appends."""

    table: TableId
    from_scn: Scn
    object_id: int
    data_object_id: int
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    next_column_id: int  # the id the next new column gets; higher than any ever used
    key_kind: KeyKind = "primary"
    key_index: int | None = None

    def column(self, column_id: int) -> Column:
        return next(c for c in self.columns if c.id == column_id)

    def named(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)

    def since(self, scn: Scn) -> TableVersion:
        return replace(self, from_scn=scn)

    @property
    def policy(self) -> KeyPolicy:
        named = self.key_kind == "columns"
        return KeyPolicy(self.key_kind, tuple(self.column(i).name for i in self.key) if named else ())


@dataclass(frozen=True, slots=True)
class DictionaryColumn:
    """A column of ALL_TAB_COLS. `segment_id` is None for virtual columns, `column_id` for invisible ones."""

    name: str
    type: OracleType
    segment_id: int | None
    column_id: int | None
    nullable: bool
    hidden: bool = False
    virtual: bool = False
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class DictionaryTable:
    """A table as the dictionary told it between two readings of CURRENT_SCN with no DDL in between."""

    table: TableId
    object_id: int
    data_object_id: int
    columns: tuple[DictionaryColumn, ...]
    key: tuple[str, ...]  # columns of the enabled primary key, in its order; empty when there is none
    log_groups: frozenset[str]  # LOG_GROUP_TYPE of ALL_LOG_GROUPS, e.g. "ALL COLUMN LOGGING"
    scn_before: Scn
    scn_after: Scn
    partitioned: bool = False
    iot: bool = False
    temporary: bool = False
    unique: tuple[UniqueIndex, ...] = ()
    clustered: bool = False
    external: bool = False
    logging: bool = True  # where not, direct loads leave no redo, unless the database forces it

    @property
    def key_candidates(self) -> tuple[UniqueIndex, ...]:
        """Those that find every row: Oracle has no entry for a row whose columns are all NULL, and lets NULLs be twice."""
        certain = {c.name for c in self.columns if not c.nullable and not c.virtual and not c.hidden}
        return tuple(index for index in self.unique if certain.issuperset(index.columns))
