"""Tables and columns as Oracle's dictionary describes them, and the choice of those that are captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from redolake.values.datatypes import DOCUMENTS, EXTENDED, LARGE_OBJECTS, is_unshown
from redolake.values.scn import Scn
from redolake.values.table import (
    IGNORED_NAMES,
    ColumnChoice,
    IgnoredColumn,
    IgnoredKind,
    KeyPolicy,
    LeftOut,
    OracleType,
    Organization,
    Part,
    TableId,
    UniqueIndex,
)


@dataclass(frozen=True, slots=True)
class DictionaryColumn:
    """A column of ALL_TAB_COLS. `segment_id` is None for virtual columns, `column_id` for invisible ones.

    `hidden` are INVISIBLE columns of users and, unless `user_generated`, columns of Oracle's own. `bytes` is DATA_LENGTH.
    """

    name: str
    type: OracleType
    segment_id: int | None
    column_id: int | None
    nullable: bool
    hidden: bool = False
    virtual: bool = False
    has_default: bool = False
    user_generated: bool = True
    bytes: int | None = None
    comment: str = ""
    left_out: LeftOut | None = None
    part_of: str = ""  # the column left out that this hidden one stores

    @property
    def stored(self) -> bool:
        return not self.virtual and self.segment_id is not None

    @property
    def system(self) -> bool:
        """Whether it is a column of Oracle's own."""
        return self.hidden and (
            not self.user_generated or any(pattern.fullmatch(self.name) for pattern in IGNORED_NAMES.values())
        )

    @property
    def ignored_kind(self) -> IgnoredKind | None:
        """The kind of a stored column of Oracle's own; None if it is not known."""
        kind = next((kind for kind, pattern in IGNORED_NAMES.items() if pattern.fullmatch(self.name)), None)
        return None if kind == "guard" and self.type.name != "RAW" else kind


@dataclass(frozen=True, slots=True)
class DictionaryTable:
    """A table as read from the dictionary between two readings of CURRENT_SCN, without DDL in between."""

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
    hybrid: bool = False  # some of its partitions are external
    logging: bool = True  # False: direct loads write no redo, unless the database forces it
    logical_replication: bool = True  # False: supplemental logging of the whole database does not apply to the table
    comment: str = ""
    key_constraint: str | None = None  # the name of the enabled primary key
    parts: tuple[Part, ...] = ()
    columnar: bool = False  # hybrid columnar compression, of the table or of a partition
    parents: tuple[TableId, ...] = ()  # TRUNCATE .. CASCADE of one of them removes the table's rows too
    sees_parents: bool = True  # False: the user may not see all of them
    renamed_to: TableId | None = None  # the name under which it was read, where that is no longer the one in `tables`
    rereads_rows: bool = False  # changed rows are read again whole, as `chosen` decides
    definitions: tuple[tuple[str, str], ...] = ()  # columns of users' types, each with a hash of what the type consists of

    @property
    def in_oracle(self) -> TableId:
        """The name for SQL."""
        return self.renamed_to or self.table

    @property
    def organization(self) -> Organization:
        return "index" if self.iot else "cluster" if self.clustered else "heap"

    @property
    def captured(self) -> tuple[DictionaryColumn, ...]:
        """The columns that are captured, in the order of the segment: the users' own stored ones, INVISIBLE ones too."""
        found = (column for column in self.columns if column.stored and not column.system and column.left_out is None)
        return tuple(sorted(found, key=lambda column: column.segment_id or 0))

    @property
    def unshown(self) -> tuple[DictionaryColumn, ...]:
        """The columns for which LogMiner does not show changes of the table as they are, those left out too."""
        own = (c for c in self.columns if not c.system and is_unshown(c.type.name))
        return tuple(c for c in own if not (c.virtual and c.type.name in EXTENDED.values()))  # an expression is not stored

    @property
    def large_objects(self) -> tuple[DictionaryColumn, ...]:
        return tuple(column for column in self.captured if column.type.name in LARGE_OBJECTS)

    @property
    def documents(self) -> tuple[DictionaryColumn, ...]:
        return tuple(column for column in self.captured if column.type.name in DOCUMENTS)

    @property
    def unknown_storage(self) -> tuple[DictionaryColumn, ...]:
        """Stored columns of Oracle's own that are of no known kind, as those that store an XMLTYPE or object column."""
        own = (c for c in self.columns if c.stored and c.system and c.ignored_kind is None and c.left_out is None)
        return tuple(c for c in own if not c.part_of)

    @property
    def ignored(self) -> tuple[IgnoredColumn, ...]:
        """The columns that are not captured, except hidden virtual ones (of indexes and statistics)."""
        found = []
        for c in self.columns:
            segment_id = (c.segment_id or 0) if c.stored else 0
            if c.left_out is not None:
                found.append(IgnoredColumn(segment_id, c.left_out, c.name, c.type.name, c.part_of))
            elif c.part_of:
                found.append(IgnoredColumn(segment_id, "system", c.name, part_of=c.part_of))
            elif c.stored and c.system and c.ignored_kind is not None:
                found.append(IgnoredColumn(segment_id, c.ignored_kind, c.name))
            elif c.virtual and not c.system:
                found.append(IgnoredColumn(0, "virtual", c.name))
        return tuple(sorted(found, key=lambda c: (not c.segment_id, c.segment_id)))

    def without(self, names: Mapping[str, LeftOut]) -> DictionaryTable:
        """Return the table without these columns, and without the hidden ones that store them: Oracle gives both the same
        COLUMN_ID."""
        owners = {c.column_id: c.name for c in self.columns if c.name in names and c.column_id is not None}

        def marked(column: DictionaryColumn) -> DictionaryColumn:
            if column.name in names:
                return replace(column, left_out=names[column.name])
            owner = owners.get(column.column_id or 0) if column.system else None
            return column if owner is None else replace(column, left_out=names[owner], part_of=owner)

        return replace(self, columns=tuple(map(marked, self.columns))) if names else self

    def chosen(self, choice: ColumnChoice, key: KeyPolicy, refused: Callable[[DictionaryColumn], bool]) -> DictionaryTable:
        """Return the table without the columns that `choice` leaves out. `refused` says which types are not supported.

        A column of the key is never left out. One whose value a hidden column stores is of an object type or XMLTYPE.
        """
        if choice.unsupported == "reread" and self.unshown and not self.rereads_rows:
            return replace(self.with_stored_types(), rereads_rows=True).chosen(choice, key, refused)
        if choice.assembles and not self.rereads_rows:
            documents = tuple(c for c in self.unshown if c.type.name in DOCUMENTS)
            self = self.with_stored_types(documents)
        kept = {*(self.key if key.kind == "primary" else key.columns)}
        parents = {c.column_id for c in self.unknown_storage if c.column_id is not None}
        names: dict[str, LeftOut] = {}
        for c in self.columns:
            if c.system or c.name in kept:
                continue
            if choice.excludes(c.name):
                names[c.name] = "excluded"
            elif choice.leaves_out(c.type) and (c.column_id in parents or (c.stored and refused(c))):
                names[c.name] = "unsupported"
        return self.without(names)

    def with_stored_types(self, columns: Sequence[DictionaryColumn] | None = None) -> DictionaryTable:
        """Return the table with each of the columns, by default those of a type that LogMiner does not show, as a stored one,
        and the hidden ones that store them as parts of it: Oracle gives both the same COLUMN_ID."""
        owners = {c.column_id: c.name for c in (self.unshown if columns is None else columns) if c.column_id is not None}
        # An attribute of type RAW looks like a guard column, which has no COLUMN_ID.
        own = (c for c in self.columns if c.stored and c.system and c.ignored_kind in (None, "guard") and c.left_out is None)
        parts = {c.name: owners[c.column_id] for c in own if c.column_id in owners}

        def marked(column: DictionaryColumn) -> DictionaryColumn:
            if column.name in parts.values():
                return replace(column, virtual=False, segment_id=column.segment_id or 0)
            return replace(column, part_of=parts.get(column.name, column.part_of))

        return replace(self, columns=tuple(map(marked, self.columns)))

    @property
    def key_candidates(self) -> tuple[UniqueIndex, ...]:
        """The unique indexes that can be a key, those whose columns are all NOT NULL first.

        Oracle allows any number of rows whose columns are all NULL: see apply/delivery/null_keys.py.
        """
        stored = {c.name for c in self.columns if c.stored and not c.system}
        possible = (index for index in self.unique if stored.issuperset(index.columns))
        return tuple(sorted(possible, key=lambda index: bool(self.nullable(index.columns))))

    def nullable(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of the columns that may be NULL."""
        may_be = {c.name for c in self.columns if c.nullable}
        return tuple(name for name in names if name in may_be)
