"""A window: as it is planned, each slice of it as mined, and its manifest: logs, row counts, DDL and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from redolake.records.codec import to_body
from redolake.records.file_digest import FileDigest
from redolake.values.redo import ContainerIdentity, Window
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True, order=True)
class LogIdentity:
    """A log by values that are equal in every run over the same redo."""

    thread: int
    sequence: int
    resetlogs_id: int
    first_scn: int
    next_scn: int


PERHAPS = "PERHAPS"  # the `info` of a DDL that counts for a table of the session's user too; not every run knows that user


@dataclass(frozen=True, slots=True)
class DdlRow:
    """A DDL in the redo that names a captured table or its object id; `sql` is the user's text. `cascades_from` is the table
    from which it removes the rows of all that refer to it, captured or not (`*.NAME` where its owner is not known), or the
    `user U` or `cluster O.C` whose tables it drops or empties; empty for other statements.
    `username` is empty where LogMiner does not know it."""

    scn: int
    thread: int
    rs_id: str
    ssn: int
    owner: str
    table: str
    object_id: int
    sql: str
    info: str = ""
    cascades_from: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class RereadRows:
    """The values of one table's large objects that were read again AS OF `scn`, by key. `late`: undo no longer reached the
    window's end, and `scn` is above it. `error` says why nothing was read; then there is no file.

    Where whole rows are read again, `before` is a file with the keys that the `asked` rows had AS OF the SCNs of `bases`: the
    window's start, and each snapshot inside the window."""

    table: str
    scn: int
    file: str | None  # its name relative to the window's folder
    rows: int = 0
    late: bool = False
    error: str = ""
    before: str | None = None
    bases: tuple[int, ...] = ()
    asked: int = 0


@dataclass(frozen=True, slots=True)
class WholeTable:
    """The key of every row of a table, and some columns, read AS OF `scn`, the window's end: the DDLs at the SCNs of `ddl`
    changed rows that no redo shows. `error` says why nothing was read; then there is no file."""

    table: str
    scn: int
    ddl: tuple[int, ...]
    file: str | None  # its name relative to the window's folder
    rows: int = 0
    error: str = ""


SINGLE_QUOTE_ROWS = "single_quote_rows"  # in the circumstance of a slice: its rows with quotes that LogMiner left single

SINGLE_QUOTES_KNOWN = "single_quotes"  # in the circumstance of a window: this one, or one before it, has such rows
DOUBTFUL_QUOTE_ROWS = "doubtful_quote_rows"  # rows with quotes side by side, by table: they are doubled, or single ones
OTHER_NAMES = "other_names"  # by table: names that LogMiner gave to rows of its objects, other than its own
UNKNOWN_OBJECTS = "unknown_objects"  # that have changes, and that LogMiner resolved to no table
OTHERS_OBJECTS = "others_objects"  # the ids of objects of which DDL shows that they are tables that are not captured


@dataclass(frozen=True, slots=True)
class UnknownObject:
    """An object that LogMiner did not resolve, or found in the recycle bin: how many changes it has, and their SCNs. `number`
    is 0 for all whose number is not in the redo."""

    number: int
    changes: int
    first: int
    last: int
    in_bin: bool = False

    def merge(self, other: UnknownObject) -> UnknownObject:
        first, last = min(self.first, other.first), max(self.last, other.last)
        return UnknownObject(self.number, self.changes + other.changes, first, last, self.in_bin and other.in_bin)


def doubtful_quote_rows(manifest: WindowManifest) -> dict[str, int]:
    """Return by table the number of change rows in which quotes stand side by side."""
    found: Counter[str] = Counter()
    slices: Mapping[str, Mapping[str, Mapping[str, int]]] = manifest.circumstance.get("slices", {})
    for facts in slices.values():
        found.update(facts.get(DOUBTFUL_QUOTE_ROWS, {}))
    return dict(sorted(found.items()))


def single_quote_rows(manifest: WindowManifest) -> int:
    """Return the number of change rows in which LogMiner left the quotes inside a value single."""
    slices: Mapping[str, Mapping[str, int]] = manifest.circumstance.get("slices", {})
    return sum(facts.get(SINGLE_QUOTE_ROWS, 0) for facts in slices.values())


def knows_of_single_quotes(manifest: WindowManifest) -> bool:
    """Return whether it was known, when the window landed, that LogMiner leaves quotes single."""
    return bool(manifest.circumstance.get(SINGLE_QUOTES_KNOWN)) or single_quote_rows(manifest) > 0


def other_names(manifest: WindowManifest, table: TableId) -> set[TableId]:
    """Return the names that rows of the table's objects have, other than its own."""
    slices: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = manifest.circumstance.get("slices", {})
    return {TableId.parse(name) for facts in slices.values() for name in facts.get(OTHER_NAMES, {}).get(str(table), ())}


def unknown_objects(manifest: WindowManifest) -> list[UnknownObject]:
    """Return the objects with changes that LogMiner resolved to no table. A window of an older Redolake names none."""
    slices: Mapping[str, Mapping[str, list[list[int]]]] = manifest.circumstance.get("slices", {})
    found = [one for facts in slices.values() for one in facts.get(UNKNOWN_OBJECTS, ())]
    return [UnknownObject(one[0], one[1], one[2], one[3], bool(one[4])) for one in found]


def others_objects(manifest: WindowManifest) -> set[int]:
    """Return the ids of objects of which DDL of the window shows that they are tables that are not captured."""
    slices: Mapping[str, Mapping[str, list[int]]] = manifest.circumstance.get("slices", {})
    return {number for facts in slices.values() for number in facts.get(OTHERS_OBJECTS, ())}


@dataclass(frozen=True, slots=True)
class WindowManifest:
    """`circumstance` may differ between two runs over the same redo; the identity may not."""

    dbid: int
    resetlogs_id: int
    start: int
    end: int
    logs: tuple[LogIdentity, ...]
    tables: tuple[str, ...]  # OWNER.NAME captured, sorted
    counts: Mapping[str, int]  # "OWNER.NAME insert" -> rows; commits and rollbacks under "* commit", "* rollback"
    row_hash: str  # over position, SCN, xid, operation and object id of every row, log by log
    ddl: tuple[DdlRow, ...]
    files: tuple[str, ...]  # Parquet files, names relative to the window's folder
    doubtful_scn: int | None = None  # see redo.Window
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    reread: tuple[RereadRows, ...] = ()
    reread_later: str | None = None  # file with the rows of open transactions that must be read again once they have committed
    whole: tuple[WholeTable, ...] = ()
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # of all files of the window, by their names

    FORMAT: ClassVar[int] = 2

    @property
    def scns(self) -> ScnRange:
        return ScnRange(Scn(self.start), Scn(self.end))

    @property
    def start_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.start)

    @property
    def end_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.end)

    @property
    def all_files(self) -> tuple[str, ...]:
        """The names of all Parquet files of the window, those of rows that were read again too."""
        again = (
            self.reread_later,
            *(file for one in self.reread for file in (one.file, one.before)),
            *(one.file for one in self.whole),
        )
        return (*self.files, *(file for file in again if file is not None))

    @property
    def rows(self) -> int:
        """The number of landed rows, those of START and COMMIT too."""
        return sum(self.counts.values())

    @property
    def change_rows(self) -> int:
        """The number of change rows; counts of other rows have a name that starts with `* `."""
        return sum(count for name, count in self.counts.items() if not name.startswith("* "))

    @property
    def name(self) -> str:
        return f"{self.resetlogs_id:010d}-{self.start:020d}-{self.end:020d}"

    def identity(self) -> dict[str, Any]:
        """Return the fields that every run over the same redo must agree on. Each attempt names its files differently, a newer
        Redolake may write another format, and LogMiner knows the user only where it has read the START."""
        other = ("files", "circumstance", "format", "reread", "reread_later", "whole", "digests")
        anonymous = replace(self, ddl=tuple(replace(row, username="") for row in self.ddl if row.info != PERHAPS))
        return {name: value for name, value in to_body(anonymous).items() if name not in other}


@dataclass(frozen=True, slots=True)
class LogTally:
    """One log's rows within the window; `row_hash` does not depend on batches or slicing."""

    log: LogIdentity
    row_count: int
    row_hash: str


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """One mined slice. It travels between tasks, so it contains counts and hashes, never rows."""

    window: str
    number: int
    token: str
    tables: tuple[str, ...]  # OWNER.NAME captured, sorted
    files: tuple[str, ...]  # relative to the window's folder
    logs: tuple[LogTally, ...]
    counts: Mapping[str, int]
    ddl: tuple[DdlRow, ...]
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # by the names in `files`

    FORMAT: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """A window before it is mined, as the ledger keeps it between the tasks of one run. `object_ids` maps every object id that
    a captured table has or had to that table. `container` is the PDB then."""

    window: Window
    tables: tuple[TableId, ...]
    object_ids: Mapping[int, TableId]
    dictionary_scn: int
    container: ContainerIdentity | None = None

    FORMAT: ClassVar[int] = 2
