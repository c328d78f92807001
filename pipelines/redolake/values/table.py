"""Tables, their columns and versions, in Oracle's terms, with column ids of our own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, Protocol, TypeVar

from redolake.errors import in_shell, one_line
from redolake.values.datatypes import EXTENDED, LARGE_OBJECTS, LARGE_TYPES, PLAIN_BYTES
from redolake.values.mapping import OF_LAKE, TableMapping
from redolake.values.scn import Scn

KeyKind = Literal["primary", "columns", "rowid", "append"]
Organization = Literal["heap", "index", "cluster"]  # how a table's rows are stored
TypeRule = str | int | None  # how a column is stored, as the configuration says; None for the default
REPLACE, BINARY = TEXT_RULES = ("replace", "binary")  # of texts with bytes that are no characters
Rules = Mapping[int, TypeRule]  # by column id
LeftOut = Literal["excluded", "unsupported"]
IgnoredKind = Literal["guard", "unused", "archive", "system", "virtual"] | LeftOut
LONGEST_MINED_NAME_BYTES = 30  # LogMiner shows rows of a table with a longer name, or a column of one, as UNSUPPORTED
LEFT_OUT: tuple[LeftOut, ...] = ("excluded", "unsupported")
LargeObjects = Literal["refuse", "reread", "redo", "exclude"]
IGNORED_NAMES: dict[IgnoredKind, re.Pattern[str]] = {
    "guard": re.compile(r"SYS_NC\d+\$"),
    "unused": re.compile(r"SYS_C\d+_.+\$"),
    "archive": re.compile("ORA_ARCHIVE_STATE"),
    "system": re.compile(r"M_ROW\$\$|ORABCTAB_\w+\$?"),
}
ROWID_COLUMN = 0  # the column id of ROWID, which is not in the segment; ids of columns begin at 1
ROWID_NAME = "_rowid"


def string_type(name: str, length: int | None, in_bytes: int | None) -> OracleType:
    """Return the type of a string: VARCHAR2, NVARCHAR2 or RAW, or EXTENDED with that name."""
    is_extended = (in_bytes or 0) > PLAIN_BYTES.get(name, in_bytes or 0)
    return OracleType(EXTENDED[name] if is_extended else name, length=length)


def of_columns(version: TableVersion, ids: Collection[int]) -> TableVersion:
    """Return the version for rows that only have these columns."""
    mapping = None if version.mapping is None else version.mapping.for_columns(ids)
    return replace(version, columns=tuple(column for column in version.columns if column.id in ids), mapping=mapping)


def lake_type(spark_type: str) -> OracleType:
    """Return our type of a column that the lake has and Oracle has not, or not so."""
    return OracleType(f"{OF_LAKE}{spark_type}")


def upper_name(text: str) -> str:
    """Return an identifier as Oracle spells it without quotes: letter by letter, so that ß, which has no capital, stays."""
    return text.upper() if text.isascii() else "".join(c if len(c.upper()) > 1 else c.upper() for c in text)


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """Owner and name as the dictionary spells them, within the pipeline's container."""

    owner: str
    name: str

    def __str__(self) -> str:
        """Return the text that `parse` reads back; a part is in double quotes where that is needed."""
        parts = (self.owner, self.name)
        return ".".join(p if p == upper_name(p.strip()) and "." not in p else f'"{p}"' for p in parts)

    @property
    def in_sql(self) -> str:
        """The name for a statement that a person may paste: always in double quotes, and on one line."""
        return one_line(f'"{self.owner}"."{self.name}"')

    @property
    def in_command(self) -> str:
        """The name as one word of a command line, for a text that is no error's and no finding's."""
        return in_shell(str(self))

    @classmethod
    def parse(cls, text: str) -> TableId:
        """Read `owner.name`; a part that is not in double quotes becomes upper case. Raises ValueError."""
        parts, rest = [], text.strip()
        while rest:
            if rest.startswith('"'):
                part, quote, rest = rest[1:].partition('"')
                if not quote:
                    raise ValueError(f"unbalanced quote in table name {text!r}")
            else:
                cut = len(rest) if "." not in rest else rest.index(".")
                part, rest = upper_name(rest[:cut]), rest[cut:]
            parts.append(part)
            if rest:
                if not rest.startswith(".") or rest == ".":
                    raise ValueError(f"not OWNER.TABLE: {text!r}")
                rest = rest[1:]
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"not OWNER.TABLE: {text!r}")
        return cls(*parts)


Renamed = Mapping[TableId, TableId]  # the names in Oracle of the tables that have another one than their entry
NOT_RENAMED: Renamed = {}


@dataclass(frozen=True, slots=True)
class OracleType:
    """A column's type from the dictionary (DATA_TYPE, DATA_LENGTH/CHAR_LENGTH, DATA_PRECISION, DATA_SCALE).

    `name` is the bare word: NUMBER, VARCHAR2, CHAR, DATE, TIMESTAMP, RAW, CLOB ..., or one of EXTENDED. For TIMESTAMP(p)
    `scale` is p. For a user's type it is one of USER_TYPES, or OWNER.NAME if this user may not see the type. NUMBER without
    precision has precision and scale None; NUMBER(*, s) has precision 38.
    """

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        if self.name == "NUMBER" and self.precision is not None:
            return f"NUMBER({self.precision},{self.scale or 0})"
        if self.name.startswith("TIMESTAMP"):
            return self.name.replace("TIMESTAMP", f"TIMESTAMP({6 if self.scale is None else self.scale})")
        if self.name == "FLOAT" and self.precision is not None:
            return f"FLOAT({self.precision})"
        return self.name if self.length is None else f"{self.name}({self.length})"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table version.

    `id` is ours: given when the column is added, never used again. `segment_id` is Oracle's SEGMENT_COLUMN_ID, the n of
    `COL n` in redo that LogMiner cannot resolve; Oracle renumbers it on DROP. With `has_default`, redo may contain NULL for
    rows older than the column, where SELECT returns the default.
    """

    id: int
    name: str
    type: OracleType
    segment_id: int
    nullable: bool = True
    has_default: bool = False


def names_not_mined(names: Iterable[str]) -> list[str]:
    return [name for name in names if len(name.encode()) > LONGEST_MINED_NAME_BYTES]


@dataclass(frozen=True, slots=True)
class IgnoredColumn:
    """A column that is not captured. Redo may contain values of a stored one; they are dropped.

    guard    SYS_NC..$, a bitmap that Oracle adds in front of the first nullable column added with a default
    unused   SYS_C.._..$, left by SET UNUSED
    archive  ORA_ARCHIVE_STATE of ROW ARCHIVAL
    system   another hidden column of Oracle's own
    virtual  not stored: computed from others, and not in redo
    excluded, unsupported  left out by pipelines.yml: by its name, or because its type is not supported

    `segment_id` is its SEGMENT_COLUMN_ID, 0 if virtual. `name` is empty where only the redo's DDL is known, not the
    dictionary. `type` is the name of the type of a column that is left out. `part_of` names the column that a hidden one
    stores.
    """

    segment_id: int
    kind: IgnoredKind
    name: str = ""
    type: str = ""
    part_of: str = ""

    def is_called(self, name: str) -> bool:
        """Return whether redo may call the column by that name."""
        pattern = IGNORED_NAMES.get(self.kind)
        return name == self.name or (pattern is not None and pattern.fullmatch(name) is not None)


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """The key of a table as configured; `columns` only for kind `columns`."""

    kind: KeyKind = "primary"
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text for pipelines.yml."""
        return f"[{', '.join(map(_in_yaml, self.columns))}]" if self.kind == "columns" else self.kind


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """Which columns pipelines.yml leaves out: patterns with * and ? for names as the dictionary spells them.

    With `include`, only these and the key are captured. `unsupported` says what happens to a column of a type that is not
    supported; `reread` captures those of UNSHOWN.
    """

    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    unsupported: Literal["refuse", "exclude", "reread"] = "refuse"
    large_objects: LargeObjects = "refuse"

    def excludes(self, name: str) -> bool:
        """Return whether a column outside the key is left out by its name."""
        return self.names(name) or (bool(self.include) and not any(fnmatchcase(name, pattern) for pattern in self.include))

    def names(self, name: str) -> bool:
        """Return whether `exclude` names the column."""
        return any(fnmatchcase(name, pattern) for pattern in self.exclude)

    @property
    def assembles(self) -> bool:
        """Return whether large objects are assembled from the redo."""
        return self.large_objects == "redo"

    def leaves_out(self, type_: OracleType) -> bool:
        """Return whether a column of this type is left out if it is not supported."""
        return self.unsupported == "exclude" or (self.large_objects == "exclude" and type_.name in LARGE_OBJECTS)


ALL_COLUMNS = ColumnChoice()


def _in_yaml(name: str) -> str:
    plain = re.fullmatch(r"[A-Z][A-Z0-9_$]*", name) and name not in ("ON", "OFF", "YES", "NO", "TRUE", "FALSE", "NULL")
    return name if plain else yaml_text(f'"{name}"')


def yaml_text(text: str) -> str:
    """Return a text of the source in quotes, for a value in pipelines.yml: on one line, and no variable of it."""
    text = text.replace("${", "$${")
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    escaped = (c if c.isprintable() and c not in '\\"' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(escaped)}"'


def yaml_table(name: str) -> str:
    """Return a name of a table, or a pattern, for pipelines.yml: in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Z][A-Z0-9_$]*\.[A-Z][A-Z0-9_$]*", name) else yaml_text(name)


PRIMARY = KeyPolicy()


def file_names(names: Sequence[str]) -> list[str]:
    """Return the names of columns in a Parquet file. Spark ignores case in them, so that of two names that differ only in
    case the second one is replaced."""
    found, taken = list[str](), set[str]()
    for name in names:
        found.append(replaced_name(name) if name.lower() in taken else name)
        taken.add(name.lower())
    return found


def replaced_name(name: str) -> str:
    return f"redolake {hashlib.sha256(name.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """A valid unique index on plain columns; that of a unique constraint too.

    Oracle gives an index that is created again a new `object_id`. It is None where this user may not see it.
    """

    name: str
    object_id: int | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """An object of its own under whose ids redo has a table's rows: a partition or subpartition, or the top index or overflow
    segment of an index-organized table.

    `data_object_id` is 0 for a partition whose subpartitions have the segments.
    """

    object_id: int
    data_object_id: int = 0


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The columns and the key of a table, valid from `from_scn` to its next DDL.

    `data_object_id` is 0 if a DDL has changed it and no dictionary was read since.
    `key` contains column ids, in key order: of the primary key, of the declared columns (`key_index` is the OBJECT_ID of
    their unique index), or of ROWID. It is empty for a table that only gets INSERTs.
    """

    FORMAT: ClassVar[int] = 2

    table: TableId
    from_scn: Scn
    object_id: int
    data_object_id: int
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    next_column_id: int  # the id the next new column gets; higher than any ever used
    key_kind: KeyKind = "primary"
    key_index: int | None = None
    ignored: tuple[IgnoredColumn, ...] = ()
    parts: tuple[Part, ...] = ()
    organization: Organization = "heap"
    key_constraint: str | None = None  # the name of the primary key, or how it begins: `BIN$`
    choice: ColumnChoice = ALL_COLUMNS  # for columns that a later DDL adds
    renamed_to: TableId | None = None  # its name in Oracle, where that is no longer the one in `tables`
    definitions: tuple[tuple[int, str], ...] = ()  # ids of columns of users' types, with a hash of what the type consists of
    dropped_at: int | None = None  # the SCN of its DROP TABLE, until FLASHBACK TABLE takes it out of the recycle bin
    mapping: TableMapping | None = None  # how its columns become those of the lake; None: as they are

    @property
    def in_oracle(self) -> TableId:
        """The name that statements have in the redo."""
        return self.renamed_to or self.table

    @property
    def names_not_mined(self) -> list[str]:
        """Return the names, of the table or of columns, for which LogMiner shows no row."""
        of_columns = (*(c.name for c in self.columns), *(c.name for c in self.ignored))
        return names_not_mined((self.in_oracle.owner, self.in_oracle.name, *of_columns))

    def column(self, column_id: int) -> Column:
        """Return the column with this id."""
        return next(c for c in self.columns if c.id == column_id)

    def named(self, name: str) -> Column | None:
        """Return the column of this name, or None."""
        return next((c for c in self.columns if c.name == name), None)

    def ignores(self, name: str) -> bool:
        """Return whether a name in redo is that of a column whose values are dropped."""
        return any(column.is_called(name) for column in self.ignored)

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """The columns that pipelines.yml leaves out, by name."""
        return {c.name: kind for c in self.ignored if not c.part_of for kind in LEFT_OUT if c.kind == kind}

    @property
    def has_large_objects(self) -> bool:
        """Return whether it has a column whose changes LogMiner may show as operations of their own: on large objects, XML
        documents, extended strings."""
        return any(c.type.name in LARGE_TYPES for c in self.columns)

    @property
    def large_columns(self) -> frozenset[str]:
        """The columns, captured or not, that hold large objects or of which that is not known."""
        ignored = (c.name for c in self.ignored if c.kind == "unsupported" or c.type in LARGE_TYPES)
        return frozenset((*(c.name for c in self.columns if c.type.name in LARGE_TYPES), *ignored))

    @property
    def hides_rowids(self) -> bool:
        """Return whether LogMiner may show changes without their ROWID: of a statement that writes large objects, only the last
        row has it."""
        return self.has_large_objects or any(c.kind == "unsupported" or c.type in LARGE_TYPES for c in self.ignored)

    @property
    def next_segment_id(self) -> int:
        """The SEGMENT_COLUMN_ID that the next stored column gets."""
        return 1 + max([0, *(c.segment_id for c in self.columns), *(c.segment_id for c in self.ignored)])

    def since(self, scn: Scn) -> TableVersion:
        """Return the same version, valid from `scn`."""
        return replace(self, from_scn=scn)

    @property
    def object_ids(self) -> frozenset[int]:
        """The ids under which redo has the table's rows."""
        return frozenset((self.object_id, *(part.object_id for part in self.parts)))

    @property
    def segments(self) -> frozenset[int]:
        """The DATA_OBJECT_IDs with which the ROWIDs of the rows begin."""
        return frozenset(part.data_object_id for part in self.parts if part.data_object_id) or frozenset((self.data_object_id,))

    @property
    def policy(self) -> KeyPolicy:
        """The key as the configuration would declare it."""
        named = self.key_kind == "columns"
        return KeyPolicy(self.key_kind, tuple(self.column(i).name for i in self.key) if named else ())


class Beginning(Protocol):
    """What is valid from an SCN on."""

    @property
    def from_scn(self) -> int: ...


Valid = TypeVar("Valid", bound=Beginning)


def valid_of(versions: Sequence[Valid], scn: int) -> Valid | None:
    """Return the version that is valid at an SCN, of versions in their order; None before the first."""
    return next((version for version in reversed(versions) if version.from_scn <= scn), None)
