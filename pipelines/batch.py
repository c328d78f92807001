"""A Spark job's order and its outcome, as values and as JSON: batches and snapshot loads; comparisons as values only.

The job gets its order as a file and touches no ledger; what it did is the batch's own manifest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pipelines.formats import check_format, made
from pipelines.scn import Scn, ScnRange
from pipelines.table import Column, OracleType, TableId, TableVersion, TypeRule

# 2: kinds of keys, defaults of columns, shadows, character set, lease, dropped transactions, accounts per window, the time
# that was read to, positions in the Delta log, what a load supersedes.
FORMAT = 2

# The columns of a committed change that tell its place in the order of truth, as assemble gives them and apply sorts by.
COMMIT_ORDER = ("commit_scn", "commit_thread", "commit_rs_id")
CHANGE_ORDER = (*COMMIT_ORDER, "window_start", "slice", "ordinal")

Rules = Mapping[int, TypeRule]  # per column id


@dataclass(frozen=True, slots=True)
class Step:
    """A followed DDL: one column added or dropped at `scn`. `default` is neutral text, as schema/ derives it."""

    scn: int
    kind: Literal["add_column", "drop_column"]
    column: Column
    default: str | None = None


@dataclass(frozen=True, slots=True)
class HoldAt:
    """The table is applied up to, and without, `at_scn`; `error` is that of a RedolakeError.as_dict()."""

    at_scn: int
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableTask:
    """What the batch does for one table. A held table is named too (with `hold`), so that its rows are accounted for."""

    table: TableId
    target: str
    app_id: str  # <pipeline>/<OWNER.NAME>/<resetlogs id>
    versions: tuple[TableVersion, ...]  # ascending by from_scn
    rules: Rules = field(default_factory=dict)
    ddl: tuple[Step, ...] = ()
    hold: HoldAt | None = None
    # Ids of columns that Oracle may show by default in rows that do not store them. Those whose ADD COLUMN was followed
    # are known from the target; name here what the dictionary says of older ones (DATA_DEFAULT).
    defaulted: tuple[int, ...] = ()
    shadow_from: int | None = None  # a shadow: made empty, complete below this SCN, where there is none
    at_least: int | None = None  # the position that the last batch has left in the Delta log: a lower one is of older contents


@dataclass(frozen=True, slots=True)
class LandedWindow:
    """A landed window: commits in [start, end), files as full paths."""

    name: str
    start: int
    end: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction without commit or rollback at the batch's end; `start_scn` and `first_at` are those of its START, or of its
    first change where no START was read."""

    con_id: int
    xid: str
    thread: int
    start_scn: int
    first_at: str | None
    rows: int
    bytes: int
    username: str | None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A transaction that a person has dropped. An xid comes again once its slot wraps; `start_scn` tells which one is meant.
    `servers` are the xids of its parallel servers, as far as they are known."""

    con_id: int
    xid: str
    start_scn: int
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DroppedRows:
    """What a batch met of a dropped transaction: change rows by table, and its end once it is seen."""

    con_id: int
    xid: str
    start_scn: int
    rows: Mapping[str, int] = field(default_factory=dict)
    end_scn: int | None = None
    committed: bool | None = None


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """Decides the transactions that commit in [start, end); `carry_in` holds the rows of those open at `start`."""

    pipeline: str
    resetlogs_id: int
    start: int
    end: int
    token: str
    windows: tuple[LandedWindow, ...]
    tables: tuple[TableTask, ...]
    carry_out: str  # folder
    manifest: str  # file, written last
    carry_in: tuple[str, ...] = ()
    open_in: tuple[OpenTransaction, ...] = ()
    dropped: tuple[Dropped, ...] = ()  # those that have not ended before `start`
    container: str | None = None  # con_name of the rows, None for a non-CDB
    spark: Mapping[str, str] = field(default_factory=dict)
    lease: int | None = None  # token of the lease it was written under; None where no live table is written
    character_set: str = "AL32UTF8"  # NLS_CHARACTERSET: text that LogMiner shows in internal form is in it
    format: int = FORMAT
    kind: Literal["batch"] = "batch"

    @property
    def scns(self) -> ScnRange:
        return ScnRange(Scn(self.start), Scn(self.end))


@dataclass(frozen=True, slots=True)
class Balance:
    """The invariant's terms in change rows; the left side is counted before anything is joined."""

    landed: int = 0
    carried_in: int = 0
    applied: int = 0
    undone: int = 0  # cancelled by a partial rollback: the change and its undo
    rolled_back: int = 0
    carried_out: int = 0
    before_position: int = 0  # the table already is complete to their commit: snapshot or an earlier attempt
    held: int = 0
    dropped: int = 0  # of transactions that a person has dropped, whatever has become of them

    @property
    def difference(self) -> int:
        ended = self.applied + self.undone + self.rolled_back + self.before_position
        return self.landed + self.carried_in - (ended + self.carried_out + self.held + self.dropped)


CARRIED_IN = "carried in"  # among a batch's accounts: the rows that come from before its windows


@dataclass(frozen=True, slots=True)
class TableResult:
    """`complete_to` is None only for a held table that never had a position; `position` is the one in the Delta log, which lies
    before it where the last commits changed nothing."""

    table: TableId
    state: Literal["applied", "held"]
    complete_to: int | None
    error: Mapping[str, Any] | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    delta_version: int | None = None
    balance: Balance = Balance()
    position: int | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch; as JSON it is the batch's manifest."""

    pipeline: str
    resetlogs_id: int
    start: int
    end: int
    token: str
    windows: tuple[str, ...]
    tables: tuple[TableResult, ...]
    open_transactions: tuple[OpenTransaction, ...]
    carry_files: tuple[str, ...]
    foreign_rows: int = 0  # change rows of objects that are not captured
    dropped: tuple[DroppedRows, ...] = ()
    accounts: Mapping[str, Balance] = field(default_factory=dict)  # per window, by its name, and for what was carried in
    read_to: str | None = None  # the time of the newest redo row, by the database host's clock
    format: int = FORMAT
    kind: Literal["batch"] = "batch"

    def is_of(self, spec: BatchSpec) -> bool:
        """Whether this is the outcome of that order, whoever ran it."""
        dropped = {(d.con_id, d.xid, d.start_scn) for d in self.dropped}
        mine = (self.pipeline, self.resetlogs_id, self.start, self.end, self.windows, {t.table for t in self.tables}, dropped)
        return mine == (
            spec.pipeline,
            spec.resetlogs_id,
            spec.start,
            spec.end,
            tuple(w.name for w in spec.windows),
            {t.table for t in spec.tables},
            {(d.con_id, d.xid, d.start_scn) for d in spec.dropped},
        )


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """One table's Parquet chunks, read AS OF the order's SCN. `supersedes` names the batches and loads that have brought the
    table beyond that SCN before: once it is loaded they count for it no more."""

    table: TableId
    target: str
    app_id: str
    version: TableVersion
    files: tuple[str, ...]
    rules: Rules = field(default_factory=dict)
    rows: int | None = None  # as counted at the source; checked when given
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotSpec:
    pipeline: str
    scn: int
    token: str
    tables: tuple[SnapshotTask, ...]
    manifest: str
    replace: bool = False
    spark: Mapping[str, str] = field(default_factory=dict)
    lease: int | None = None
    format: int = FORMAT
    kind: Literal["snapshot"] = "snapshot"


@dataclass(frozen=True, slots=True)
class SnapshotLoaded:
    """`loaded` is False where the table already held this snapshot."""

    table: TableId
    state: Literal["applied", "held"]
    loaded: bool
    rows: int = 0
    delta_version: int | None = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    pipeline: str
    scn: int
    tables: tuple[SnapshotLoaded, ...]
    format: int = FORMAT
    kind: Literal["snapshot"] = "snapshot"


@dataclass(frozen=True, slots=True)
class CompareTask:
    """A Delta table against its rows read AS OF `complete_to`."""

    table: TableId
    target: str
    version: TableVersion
    files: tuple[str, ...]
    complete_to: int
    rules: Rules = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """One cell that differs, or a row only one side has (column "*")."""

    key: str
    column: str
    source: str | None
    delta: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    table: TableId
    complete_to: int
    source_rows: int
    delta_rows: int
    missing_rows: int  # in the source, not in Delta
    extra_rows: int
    differing_cells: int
    samples: tuple[Difference, ...] = ()

    @property
    def equal(self) -> bool:
        return not (self.missing_rows or self.extra_rows or self.differing_cells)


Spec = BatchSpec | SnapshotSpec
Result = BatchResult | SnapshotResult


TERMINAL_EXIT = 3  # of a job that would fail the same way again; 1 for all else


@dataclass(frozen=True, slots=True)
class Failure:
    """How a job ended that failed with a typed error: `text` is all the error says. In a cluster nothing else of it reaches the
    one who waits, so it is a file."""

    terminal: bool
    text: str


def failure_from_json(text: str) -> Failure:
    return Failure(**json.loads(text))


def to_json(value: Spec | Result | Failure) -> str:
    return json.dumps(asdict(value), indent=1, sort_keys=True)


def spec_from_json(text: str, file: str) -> Spec:
    """Raises FormatTooNew for what a newer Redolake wrote, ValueError for a kind nobody knows."""
    body = _opened(text, file)
    tables = body["tables"]
    if body["kind"] == "batch":
        read = {
            "windows": tuple(made(LandedWindow, {**w, "files": tuple(w["files"])}, file) for w in body["windows"]),
            "tables": tuple(_table_task(t, file) for t in tables),
            "carry_in": tuple(body["carry_in"]),
            "open_in": tuple(made(OpenTransaction, t, file) for t in body["open_in"]),
            "dropped": tuple(made(Dropped, {**d, "servers": tuple(d["servers"])}, file) for d in body.get("dropped", ())),
        }
        return made(BatchSpec, {**body, **read}, file)
    if body["kind"] == "snapshot":
        loads = [{**t, "supersedes": tuple(t.get("supersedes", ()))} for t in tables]
        return made(SnapshotSpec, {**body, "tables": tuple(_snapshot_task(t, file) for t in loads)}, file)
    raise ValueError(f"{file}: no job of kind {body['kind']!r} is known")


def batch_result_from_json(text: str, file: str) -> BatchResult:
    body = _opened(text, file)
    read = {
        "tables": tuple(
            made(TableResult, {**_of_table(t, file), "balance": made(Balance, t["balance"], file)}, file)
            for t in body["tables"]
        ),
        "windows": tuple(body["windows"]),
        "open_transactions": tuple(made(OpenTransaction, t, file) for t in body["open_transactions"]),
        "carry_files": tuple(body["carry_files"]),
        "dropped": tuple(made(DroppedRows, d, file) for d in body.get("dropped", ())),
        "accounts": {name: made(Balance, account, file) for name, account in body.get("accounts", {}).items()},
    }
    return made(BatchResult, {**body, **read}, file)


def snapshot_result_from_json(text: str, file: str) -> SnapshotResult:
    body = _opened(text, file)
    tables = tuple(made(SnapshotLoaded, _of_table(t, file), file) for t in body["tables"])
    return made(SnapshotResult, {**body, "tables": tables}, file)


def _opened(text: str, file: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(text)
    check_format(body, FORMAT, file)
    return body


def _of_table(body: dict[str, Any], file: str) -> dict[str, Any]:
    return {**body, "table": made(TableId, body["table"], file)}


def _table_task(body: dict[str, Any], file: str) -> TableTask:
    read = {
        "versions": tuple(_version(v, file) for v in body["versions"]),
        "rules": _rules(body["rules"]),
        "ddl": tuple(made(Step, {**s, "column": _column(s["column"], file)}, file) for s in body["ddl"]),
        "hold": None if body["hold"] is None else made(HoldAt, body["hold"], file),
        "defaulted": tuple(body.get("defaulted", ())),
    }
    return made(TableTask, {**_of_table(body, file), **read}, file)


def _snapshot_task(body: dict[str, Any], file: str) -> SnapshotTask:
    read = {"version": _version(body["version"], file), "rules": _rules(body["rules"]), "files": tuple(body["files"])}
    return made(SnapshotTask, {**_of_table(body, file), **read}, file)


def _rules(body: dict[str, TypeRule]) -> Rules:
    return {int(column_id): rule for column_id, rule in body.items()}


def _column(body: dict[str, Any], file: str) -> Column:
    return made(Column, {**body, "type": made(OracleType, body["type"], file)}, file)


def _version(body: dict[str, Any], file: str) -> TableVersion:
    columns = tuple(_column(c, file) for c in body["columns"])
    return made(
        TableVersion, {**_of_table(body, file), "columns": columns, "key": tuple(body["key"])}, file
    )  # without a kind it is the primary key
