"""The specification of a batch: which transactions the Spark job applies to which tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from redolake.records.batches.carry import OpenTransaction, ParkedRows
from redolake.records.file_digest import FileDigest
from redolake.records.lakes import LakePlace
from redolake.values.delivery import Delivery, deliveries_of
from redolake.values.quarantine import QuarantineRule
from redolake.values.redo import Encoding
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, Rules, TableId, TableVersion, valid_of
from redolake.values.target_options import DEFAULT, TargetOptions

ChangeKind = Literal[
    "add_column", "drop_column", "rename_column", "change_type", "nullable", "comment", "comment_table", "truncate", "renumber",
    "remove_rows", "fill_column",
]  # fmt: skip

ChangesForm = Literal["delta", "parquet"]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A followed DDL at `scn`: one change of one column. `column` is the column as it is afterwards.

    rename_column  the column `column.id` is called `column.name` from now on
    change_type    it has the type `column.type`; the target's type follows from it, and may stay the same
    nullable       `column.nullable` has changed
    comment        `comment` is its comment, empty to remove it
    comment_table  `comment` is the table's; `column` is any column
    truncate       all rows are deleted; `column` is any column
    renumber       rows have other ROWIDs from now on, so that redo before and after is applied apart; `column` is any column
    remove_rows    some rows are gone; `column` is any column. A file of `whole` shows which are left
    fill_column    the column that was just added has values in older rows, which a file of `whole` shows

    `default` is that of ADD COLUMN, neutral text as schema/ derives it. Several changes may have one SCN; they are followed in
    their order, and two columns that exchange their names may do so in two changes.
    """

    scn: int
    kind: ChangeKind
    column: Column
    default: str | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class HoldAt:
    """Apply the table up to `at_scn`, exclusively; `error` is that of a RedolakeError.as_dict()."""

    at_scn: int
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MinedNames:
    """Column ids by the names in the redo of one slice and table version, where these are not the version's own.

    `window` is the start of the slice's window, `version` the first SCN of the version.
    """

    window: int
    slice: int
    version: int
    names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NameInRedo:
    """A name under which the redo shows the table's rows, up to the SCN `until` at which it lost it."""

    name: TableId
    until: int | None = None


@dataclass(frozen=True, slots=True)
class WholeFile:
    """What was read of all rows of a table AS OF `scn`, the end of a window, for the DDLs at `ddl`; see
    windows.WholeTable."""

    scn: int
    path: str
    ddl: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """What a table's changes mean in the range: under which versions and names its redo is read, and the DDL in it."""

    versions: tuple[TableVersion, ...] = ()  # ascending by from_scn
    rules: Rules = field(default_factory=dict)
    ddl: tuple[ColumnChange, ...] = ()
    # Ids of older columns that, by the dictionary (DATA_DEFAULT), Oracle may show by default in rows that do not store them.
    # Those whose ADD COLUMN was followed are known from the target.
    defaulted: tuple[int, ...] = ()
    mined_names: tuple[MinedNames, ...] = ()
    names: tuple[NameInRedo, ...] = ()  # empty for the table's own name alone
    known_from: int = 0  # the columns of changes below this SCN are not known: a DDL ran while their transactions were open
    whole: tuple[WholeFile, ...] = ()
    deliveries: tuple[Delivery, ...] = ()  # under each of the versions; decided when the course is made, if none are given

    def __post_init__(self) -> None:
        if not self.deliveries:
            object.__setattr__(self, "deliveries", deliveries_of(self.versions))

    @property
    def latest(self) -> TableVersion:
        return self.versions[-1]

    def valid_at(self, scn: int) -> TableVersion:
        """Return the version that is valid at an SCN: the first one also before its own."""
        return valid_of(self.versions, scn) or self.versions[0]

    @property
    def known(self) -> tuple[tuple[TableVersion, Delivery], ...]:
        return tuple(zip(self.versions, self.deliveries, strict=True))


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a table's changes go, how the table is written there, and what it is known to have."""

    target: str
    app_id: str  # <pipeline>/<OWNER.NAME>/<resetlogs id>
    shadow_from: int | None = None  # create the target empty, complete below this SCN, where it does not exist
    reshape: tuple[ColumnChange, ...] = ()  # later changes of its columns, followed once the range is applied
    reshaped: TableVersion | None = None  # the version that they lead to
    at_least: int | None = None  # the position that the last batch left in the Delta log; a lower one has older contents
    options: TargetOptions = DEFAULT
    # Where the oldest transaction began that was open at its load, or where another reader goes on, if the table goes on there.
    open_since: int | None = None
    settles_at: int | None = None  # before this SCN, rows are those of several SCNs; the range that passes it has no DDL
    history: str | None = None  # the folder of its history, if it has one
    history_at_least: int | None = None  # the position that the last batch left in its history, as `at_least`
    quarantine: QuarantineRule | None = None  # None where nothing may go there, and nothing is there


@dataclass(frozen=True, slots=True)
class TableTask:
    """One table's part of the batch. A held table is part of it too (with `hold`), so that its rows are accounted for."""

    table: TableId
    destination: Destination
    course: Course
    hold: HoldAt | None = None


@dataclass(frozen=True, slots=True)
class RereadFile:
    """What was read again of one table's rows AS OF `scn`, by key; see windows.RereadRows."""

    table: TableId
    scn: int
    path: str
    late: bool = False
    before: str | None = None
    bases: tuple[int, ...] = ()
    asked: int = 0


@dataclass(frozen=True, slots=True)
class LandedWindow:
    """A landed window: commits in [start, end), files as full paths."""

    name: str
    start: int
    end: int
    files: tuple[str, ...]
    reread: tuple[RereadFile, ...] = ()


@dataclass(frozen=True, slots=True)
class DroppedXid:
    """A transaction whose rows are not applied. Oracle reuses an xid once its slot wraps; `start_scn` identifies the use.
    `servers` are the xids of its parallel servers, as far as they are known."""

    con_id: int
    xid: str
    start_scn: int
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redo:
    """What transactions are assembled from: the rows of `windows`, and in `carry_in` and `parked` those of transactions that
    were open before them."""

    windows: tuple[LandedWindow, ...] = ()
    carry_in: tuple[str, ...] = ()
    parked: tuple[ParkedRows, ...] = ()
    open_in: tuple[OpenTransaction, ...] = ()
    dropped: tuple[DroppedXid, ...] = ()  # those that have not ended before the first window
    container: str | None = None  # con_name of the rows, None for a non-CDB
    doubtful_scn: int | None = None  # the SCN before a RESETLOGS, which may have undone its redo: a commit there stops a table
    encoding: Encoding = field(default_factory=Encoding)  # of the PDB: LogMiner shows some values as internal bytes
    single_quotes: bool = False  # LogMiner of this database is known to leave quotes inside values single
    rows: int | None = None  # landed in the windows, START and COMMIT too, and carried in; None where nobody counted them
    change_rows: int | None = None  # of the rows that landed in the windows, those of changes and DDL
    digests: Mapping[str, FileDigest] = field(default_factory=dict)  # of all files that a batch may read, by their paths

    @property
    def carried(self) -> tuple[str, ...]:
        """All files with rows of transactions that were open."""
        return (*self.carry_in, *(file for one in self.parked for file in one.files))


def gather(body: Mapping[str, Any], name: str, part: type[Redo | Course | Destination]) -> dict[str, Any]:
    """Return the JSON object with the values that `part` has as one."""
    if name in body:
        return dict(body)
    own = {field.name for field in fields(part)} & body.keys()
    rest = {key: value for key, value in body.items() if key not in own}
    return {**rest, name: {key: body[key] for key in own}}


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """Apply the transactions that commit in [start, end) to tables.

    It has no settings of Spark: their values may be keys of stores, and each job gets them when it is started."""

    FORMAT: ClassVar[int] = 18
    GONE: ClassVar[tuple[str, ...]] = ("spark",)

    pipeline: str
    resetlogs_id: int
    start: int
    end: int
    token: str
    redo: Redo
    tables: tuple[TableTask, ...]
    carry_out: str  # folder
    manifest: str  # file, written last
    lease: int | None = None  # token of the lease it was written under; None where no live table is written
    show_row_data: bool = False  # errors may contain the redo text of rows that cannot be decoded
    parallel_tables: int | None = None  # None: as many as the driver has cores
    lake: LakePlace | None = None  # None where nobody checks it
    origin: str = ""  # of the landing: FirstPosition.origin
    changes: ChangesForm | None = None  # the changes themselves are written to the targets, and no table is applied
    events: tuple[Mapping[str, Any], ...] = ()  # for the lake's log, by the columns of values/events.py

    @classmethod
    def of_older(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object of an older format in today's form: up to format 13, the parts of `redo` and of each table's
        `course` stood beside them, up to format 14 those of its `destination`."""
        tables = [gather(gather(task, "course", Course), "destination", Destination) for task in body.get("tables", ())]
        return {**gather(body, "redo", Redo), "tables": tables}

    @property
    def scns(self) -> ScnRange:
        return ScnRange(Scn(self.start), Scn(self.end))

    @property
    def is_quiet(self) -> bool:
        """Return whether it is known to change no table, and to await the end of no transaction. A DDL may be about a table
        that no row names."""
        redo, follows = self.redo, any(task.course.ddl or task.destination.reshape for task in self.tables)
        awaits = redo.carried or redo.open_in or redo.dropped
        return self.changes is None and redo.change_rows == 0 and not (follows or awaits)
