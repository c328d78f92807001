"""Which rows a range of redo touches, by their keys, and which of its transactions have ended by when.

A key that no change of the range names has the same row with the range as without it. So the rows with the other keys, read AS
OF a later SCN, are all that a table lacks that was applied without the range: if no transaction of the range is open there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from redolake.context import Run
from redolake.decode.changes import decode_changes
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import SchemaConflict
from redolake.host.arrow_check import check_arrow
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.land.parquet import read_columns
from redolake.reconcile.table_versions import rules
from redolake.records.batches.spec import MinedNames
from redolake.records.windows import DdlRow, WindowManifest
from redolake.schema import version_as_of
from redolake.schema.ddl import effect_of
from redolake.steps.proof.found_rows import KEY_VALUES
from redolake.steps.ranges.replay import missing_files
from redolake.steps.shared.redo_rows import own_rows, table_of
from redolake.values.canonical import hash_plan
from redolake.values.delivery import delivery_of
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.logminer import LARGE_OBJECT_CHANGES, Mined
from redolake.values.redo import (
    CHANGES,
    NO_XID,
    TRANSACTION_BOUNDS,
    TRANSACTION_ENDS,
    UNKNOWN_SEQUENCE,
    Operation,
    names_no_transaction,
)
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId, TableVersion

READ = (
    "slice", "con_id", "xid", "pxid", "scn", "row_id", "operation_code", "rollback", "status", "info", "seg_owner",
    "table_name", "object_id", "sql_redo",
)  # fmt: skip
BOUNDS = ("con_id", "xid", "scn", "operation_code")
OPAQUE = (Mined.UNSUPPORTED, *LARGE_OBJECT_CHANGES)  # they do not contain the key of the row
DAMAGED = (
    "restore the file from a copy; of a closed gap, remove its folder `restored/<gap>`, and run `redolake close-gap` again"
)

Key = tuple[str, ...]
Xid = tuple[int | None, str]


@dataclass(slots=True)
class Transaction:
    """Changes of one transaction, by any of its `names`: of parallel DML, that of the coordinator ends it too."""

    names: frozenset[Xid]
    tables: set[TableId]
    first_scn: int
    last_scn: int
    ended_at: int | None = None


@dataclass(slots=True)
class Transactions:
    """The transactions of the rows read so far. Oracle reuses xids: an end belongs to the rows before it."""

    every: list[Transaction] = field(default_factory=list)
    open: dict[Xid, Transaction] = field(default_factory=dict)

    def change(self, names: frozenset[Xid], table: TableId, scn: int) -> None:
        one = next((self.open[name] for name in names if name in self.open), None)
        if one is None:
            one = Transaction(names, set(), scn, scn)
            self.every.append(one)
        one.names |= names
        one.tables.add(table)
        one.first_scn = min(one.first_scn, scn)
        one.last_scn = max(one.last_scn, scn)
        self.open |= dict.fromkeys(one.names, one)

    def end(self, name: Xid, scn: int) -> None:
        if (one := self.open.get(name)) is not None and scn >= one.last_scn:
            one.ended_at = scn
            for each in one.names:
                self.open.pop(each, None)

    def open_at(self, table: TableId, scn: int) -> list[Transaction]:
        """Return the transactions with changes of the table that have not ended by an SCN."""
        return [one for one in self.every if table in one.tables and (one.ended_at is None or one.ended_at > scn)]


@dataclass(slots=True)
class TouchedTable:
    """`version` is that of the position AS OF which the keys are read; changes were mined under `versions`, with the names
    `mined`. `changes` rows of redo were read; `unknown` ones of them have no key that can be read, the first `why_unknown`.
    `why_not` says why the keys are not all that the range touches. The contents began with a snapshot AS OF `since`;
    `older_ddl` is the last DDL before it."""

    version: TableVersion
    versions: tuple[TableVersion, ...] = ()
    mined: tuple[MinedNames, ...] = ()
    since: int = -1
    older_ddl: int = -1
    keys: set[Key] = field(default_factory=set)
    changes: int = 0
    unknown: int = 0
    why_unknown: str = ""
    why_not: str = ""

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.version.column(number).name for number in self.version.key)

    @property
    def named_keys(self) -> list[dict[str, str]]:
        """The keys by column name."""
        return [dict(zip(self.key_names, key, strict=True)) for key in sorted(self.keys)]

    def refuse(self, why: str) -> None:
        self.why_not = self.why_not or why

    def lack(self, why: str) -> None:
        """Count a change whose key is not known."""
        self.unknown += 1
        self.why_unknown = self.why_unknown or why
        self.refuse(why)

    def version_at(self, scn: int) -> TableVersion:
        return version_as_of(self.versions, scn) if self.versions else self.version

    def names_at(self, window: int, slice_: int, version: TableVersion) -> Mapping[str, int] | None:
        """Return the names of the key's columns in the redo of a slice, where they are not the version's own."""
        where = (window, slice_, int(version.from_scn))
        found = next((one.names for one in self.mined if (one.window, one.slice, one.version) == where), None)
        return None if found is None else {name: number for name, number in found.items() if number in self.version.key}


@dataclass
class TouchedRows:
    """What was read so far: `tables` by name, `ids` the object ids that they have or had. `why_not` of other tables says why
    their rows cannot be read again; of transactions that are `cut` the beginning is not there."""

    tables: Mapping[TableId, TouchedTable]
    ids: Mapping[int, TableId]
    transactions: Transactions = field(default_factory=Transactions)
    why_not: Mapping[TableId, str] = field(default_factory=dict)
    cut: Collection[Xid] = ()

    @cached_property
    def names(self) -> Mapping[TableId, TableId]:
        return {one.version.in_oracle: name for name, one in self.tables.items()}

    def own_rows(self, batch: pa.RecordBatch, only: frozenset[Xid] | None) -> pa.RecordBatch:
        """Return the changes that may be of the tables, and the ends of transactions. With `only`, those that may be of these
        transactions."""
        ids = {number: table for number, table in self.ids.items() if table in self.tables}
        own = own_rows(batch, ids, self.names, (*CHANGES, *OPAQUE))
        if only is None:
            return own
        named = pa.array(sorted({name for _, name in only}), pa.string())
        unknown = pc.or_(pc.ends_with(own["xid"], UNKNOWN_SEQUENCE), pc.equal(own["xid"], NO_XID))
        by_xid = pc.or_(pc.is_in(own["xid"], named), pc.is_in(own["pxid"], named))
        return own.filter(pc.or_(pc.fill_null(unknown, True), by_xid))


def why_not_by_key(context: Run, version: TableVersion) -> str:
    """Return why rows of the table cannot be read again by the keys in the redo; empty where they can."""
    mapping, plain = version.mapping, replace(version, mapping=None)
    plan = hash_plan(plain, rules(context, version.table, (version,)), spark_ddl_type, context.landing.encoding(), 2)
    if mapping is not None and any(one.id in version.key for one in mapping.computed):
        return "its key in the lake is computed from columns in Oracle"
    if plan is None or not plan.key or version.key_kind == "rowid":
        return "it has no key of columns, or one that Oracle and Spark do not hash alike"
    if any(form not in KEY_VALUES for _, form in plan.key):
        return "its key has a column that is no number, text, DATE or TIMESTAMP"
    if delivery_of(version).null_keys:
        return "its key may be NULL"
    return ""


# --- Rows of redo -----------------------------------------------------------------------------------------------------


def read_window(
    context: Run,
    landing: Landing,
    window: WindowManifest,
    into: TouchedRows,
    only: Iterable[Xid] | None = None,
    scns: ScnRange | None = None,
) -> None:
    """Add what a window's rows touch. With `only`, the rows of these transactions count alone, and changes that may be theirs
    because they name none; with `scns`, those in it."""
    wanted = None if only is None else frozenset(only)
    found = list[dict[str, object]]()
    for batch in columns_of(landing, window, READ):
        found += into.own_rows(batch, wanted).to_pylist()
    if scns is not None:
        found = [row for row in found if int(str(row["scn"])) in scns]
    found.sort(key=lambda row: (row["scn"], row["operation_code"] in TRANSACTION_ENDS))
    changed = dict[TableId, list[dict[str, object]]]()
    for row in found:
        table = take_row(into, row, wanted)
        if table is not None:
            changed.setdefault(table, []).append(row)
    for table, rows in changed.items():
        add_keys(context, landing, into.tables[table], rows, window.start)
    if wanted is None:
        for ddl in window.ddl:
            add_ddl(into, ddl)


def read_beginnings(
    context: Run, start: ChainPosition, names: Collection[Xid], into: TouchedRows, since: int | None = None
) -> tuple[frozenset[Xid], Sequence[WindowManifest]]:
    """Add what transactions changed before a range, from the windows of the chain before it, back to where each of them began,
    or all by an SCN. Return those whose beginning is not there any more, and the windows."""
    sought, reached, before = set(names), start.scn, ScnRange(Scn(0), Scn(start.scn))
    found = list[tuple[WindowManifest, frozenset[Xid]]]()
    for window in reversed(context.landing.windows.after()):
        if window.start >= start.scn or window.resetlogs_id != start.resetlogs_id:
            continue
        if not sought or window.end < reached or any(missing_files(context, [window])):
            break
        found.insert(0, (window, frozenset(sought)))
        bounds = bounds_of(context.landing, window)
        sought -= {name for scn, code, name in bounds if code == Operation.START and scn in before}
        reached = int(window.start)
        if since is not None and reached <= since:
            sought.clear()
    for window, only in found:
        read_window(context, context.landing, window, into, only, before)
    return frozenset(sought), [window for window, _ in found]


def columns_of(landing: Landing, window: WindowManifest, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    paths = [layout.in_window(window.name, name) for name in window.files]
    digests = {layout.in_window(window.name, name): one for name, one in window.digests.items()}
    return read_columns(landing.windows.files, paths, columns, digests, DAMAGED)


def take_row(into: TouchedRows, row: Mapping[str, object], only: frozenset[Xid] | None) -> TableId | None:
    """Return the table of a change whose key counts, and follow its transaction."""
    code, scn = row["operation_code"], int(str(row["scn"]))
    names, is_unknown = names_of(row), names_no_transaction(row["xid"])
    if only is not None and not names & only and (row["rollback"] or not is_unknown):
        return None
    if code in TRANSACTION_ENDS:
        for name in names:
            into.transactions.end(name, scn)
        return None
    table = table_of(row, into.ids, into.names)
    if table is None or table not in into.tables:
        return None
    one = into.tables[table]
    if is_unknown:
        one.refuse(f"a change at SCN {scn} does not say of which transaction it is")
    into.transactions.change(names, table, scn)
    one.changes += 1
    if code in OPAQUE:
        one.lack(f"a change at SCN {scn} (operation {code}) does not contain the row's key")
        return None
    return None if row["rollback"] else table  # what it undoes has the key


def names_of(row: Mapping[str, object]) -> frozenset[Xid]:
    con_id = row["con_id"]
    number = con_id if isinstance(con_id, int) else None
    return frozenset((number, str(row[name])) for name in ("xid", "pxid") if row.get(name))


def add_keys(context: Run, landing: Landing, one: TouchedTable, rows: Sequence[Mapping[str, object]], window: int) -> None:
    """Decode the keys before and after each change, under the version and the names of its own time."""
    alike = dict[tuple[int, int], list[Mapping[str, object]]]()
    for row in rows:
        from_scn = int(one.version_at(int(str(row["scn"]))).from_scn)
        alike.setdefault((int(str(row["slice"] or 0)) if one.mined else 0, from_scn), []).append(row)
    for (number, from_scn), same in alike.items():
        version = one.version_at(from_scn)
        if why := other_key(version, one.version):
            for _ in same:
                one.lack(f"a change at SCN {same[0]['scn']}: {why}")
            continue
        keyed, names = with_key(version, one.version), one.names_at(window, number, version)
        decoded = decode_keys(context, landing, keyed, same, names)
        for row in decoded.to_pylist():
            take_keys(one, row)


def other_key(then: TableVersion, now: TableVersion) -> str:
    """Return why the key of now cannot be read in changes of an older version; empty where it can."""
    known = {column.id: column.type for column in then.columns}
    if all(known.get(number) == now.column(number).type for number in now.key):
        return ""
    return "its key's columns were others then, or of another type"


def with_key(then: TableVersion, now: TableVersion) -> TableVersion:
    """Return an older version with the columns of the key of now alone."""
    return replace(then, columns=tuple(then.column(number) for number in now.key), key=now.key)


def decode_keys(
    context: Run,
    landing: Landing,
    version: TableVersion,
    rows: Sequence[Mapping[str, object]],
    names: Mapping[str, int] | None,
) -> pa.RecordBatch:
    single = any(found.quotes.evidence() is not None for found in (landing, context.landing))
    check_arrow()
    batch = pa.RecordBatch.from_pylist([dict(row) for row in rows], pa.schema([LANDED_SCHEMA.field(name) for name in READ]))
    types, encoding = rules(context, version.table, (version,)), context.landing.encoding()
    return decode_changes(batch, version, types, names=names, encoding=encoding, single_quotes=single)


def take_keys(one: TouchedTable, row: Mapping[str, Any]) -> None:
    """Add the keys before and after a decoded change, or count it as unknown."""
    if row["error"] is not None:
        one.lack(f"the key of a change at SCN {row['scn']} cannot be read: {row['error']}")
        return
    for side in {Operation.INSERT: "n", Operation.UPDATE: "on"}.get(row["operation_code"], "o"):
        values = [row[f"{side}{number}"] for number in one.version.key]
        if any(value is None for value in values):
            one.lack(f"a change at SCN {row['scn']} does not contain the row's key")
            return
        one.keys.add(tuple(map(text_of, values)))


def text_of(value: object) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def add_ddl(into: TouchedRows, row: DdlRow) -> None:
    """Refuse the tables whose columns or rows a DDL of the range changed: it may have removed rows that no redo shows. What it
    did before the table's snapshot, that has seen."""
    owned = into.ids.get(row.object_id)
    for name, one in into.tables.items():
        its_own = owned == name or (row.owner, row.table) == (one.version.in_oracle.owner, one.version.in_oracle.name)
        if not row.cascades_from and not (its_own and has_effect(row, one.version)):
            continue
        if row.scn <= one.since:
            one.older_ddl = max(one.older_ddl, row.scn)
        else:
            one.refuse(f"a DDL at SCN {row.scn} may have changed its columns, or rows that no redo shows")


def refuse_older(into: TouchedRows) -> None:
    """Refuse the tables with changes from before a DDL that their snapshot has not seen, because their transaction was open at
    it: their columns then are not known. Call it once the transactions' ends are read."""
    for name, one in into.tables.items():
        if any(found.first_scn < one.older_ddl for found in into.transactions.open_at(name, one.since)):
            one.refuse(
                f"a DDL ran at SCN {one.older_ddl}, before the table's snapshot, while a transaction with changes was open"
            )


def has_effect(row: DdlRow, version: TableVersion) -> bool:
    try:
        effect = effect_of(row, version)
    except SchemaConflict:
        return True
    return bool(effect.steps) or effect.version != version


# --- Ends of transactions after the range -----------------------------------------------------------------------------


def read_ends(landing: Landing, windows: Iterable[WindowManifest], into: TouchedRows) -> None:
    """Read later windows until every transaction of the range has ended."""
    for window in windows:
        if not into.transactions.open:
            return
        for scn, code, name in bounds_of(landing, window):
            if code != Operation.START:
                into.transactions.end(name, scn)


def bounds_of(landing: Landing, window: WindowManifest) -> list[tuple[int, int, Xid]]:
    """Return the SCNs of the beginnings and ends of transactions in a window, in their order, with the operation."""
    codes, found = pa.array(TRANSACTION_BOUNDS, pa.int32()), list[dict[str, Any]]()
    for batch in columns_of(landing, window, BOUNDS):
        found += batch.filter(pc.is_in(batch["operation_code"], codes)).to_pylist()
    found.sort(key=lambda row: int(row["scn"]))
    return [(int(row["scn"]), int(row["operation_code"]), (row["con_id"], str(row["xid"]))) for row in found]
