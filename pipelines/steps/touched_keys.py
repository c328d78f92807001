"""Which rows a range of redo touches, by their keys, and which of its transactions have ended by when.

A key that no change of the range names has the same row with the range as without it. So the rows with the other keys, read AS
OF a later SCN, are all that a table lacks that was applied without the range: if no transaction of the range is open there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.context import PipelineContext
from pipelines.decode.changes import decode_changes
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import SchemaConflict
from pipelines.host.arrow_check import check_arrow
from pipelines.land import layout
from pipelines.land.landing import Landing
from pipelines.land.parquet import read_columns
from pipelines.reconcile.table_versions import rules
from pipelines.records.windows import DdlRow, WindowManifest
from pipelines.schema.ddl import effect_of
from pipelines.steps.compare_table import KEY_VALUES
from pipelines.values.canonical import hash_plan
from pipelines.values.delivery import NullableKey, delivery_of
from pipelines.values.landed_schema import LANDED_SCHEMA
from pipelines.values.logminer import LARGE_OBJECT_CHANGES, Mined
from pipelines.values.redo import CHANGES, TRANSACTION_ENDS, Operation
from pipelines.values.table import TableId, TableVersion

READ = (
    "con_id", "xid", "pxid", "scn", "row_id", "operation_code", "rollback", "status", "info", "seg_owner", "table_name",
    "object_id", "sql_redo",
)  # fmt: skip
ENDS = ("con_id", "xid", "scn", "operation_code")
OPAQUE = (Mined.UNSUPPORTED, *LARGE_OBJECT_CHANGES)  # they do not contain the key of the row
NONE_KNOWN = "0.0.0"
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
            one = Transaction(names, set(), scn)
            self.every.append(one)
        one.names |= names
        one.tables.add(table)
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
    """`why_not` says why the keys are not known; `changes` rows of redo were read."""

    version: TableVersion
    keys: set[Key] = field(default_factory=set)
    changes: int = 0
    why_not: str = ""

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.version.column(number).name for number in self.version.key)

    def refuse(self, why: str) -> None:
        self.why_not = self.why_not or why


@dataclass
class TouchedRows:
    """What was read so far: `tables` by name, `ids` the object ids that they have or had."""

    tables: Mapping[TableId, TouchedTable]
    ids: Mapping[int, TableId]
    transactions: Transactions = field(default_factory=Transactions)

    @cached_property
    def names(self) -> Mapping[tuple[str, str], TableId]:
        return {(one.version.in_oracle.owner, one.version.in_oracle.name): name for name, one in self.tables.items()}

    def table_of(self, row: Mapping[str, object]) -> TableId | None:
        number = row["object_id"]
        table = self.ids.get(number) if isinstance(number, int) else None
        return table or self.names.get((str(row["seg_owner"]), str(row["table_name"])))

    def own_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the changes that may be of the tables, and the ends of transactions."""
        code = batch["operation_code"]
        by_id = pc.is_in(batch["object_id"], pa.array([number for number, table in self.ids.items() if table in self.tables]))
        by_name = pc.is_in(batch["table_name"], pa.array(sorted({name for _, name in self.names}), pa.string()))
        changes = pc.is_in(code, pa.array([*CHANGES, *OPAQUE], pa.int32()))
        ends = pc.is_in(code, pa.array(TRANSACTION_ENDS, pa.int32()))
        return batch.filter(pc.or_(ends, pc.and_(changes, pc.or_(by_id, by_name))))


def why_not_by_key(context: PipelineContext, version: TableVersion) -> str:
    """Return why rows of the table cannot be read again by the keys in the redo; empty where they can."""
    plan = hash_plan(version, rules(context, version.table, (version,)), spark_ddl_type, context.landing.encoding(), 2)
    if version.mapping is not None:
        return "its columns in the lake are computed from those in Oracle"
    if plan is None or not plan.key or version.key_kind == "rowid":
        return "it has no key of columns, or one that Oracle and Spark do not hash alike"
    if any(form not in KEY_VALUES for _, form in plan.key):
        return "its key has a column that is no number, text, DATE or TIMESTAMP"
    if isinstance(delivery_of(version), NullableKey):
        return "its key may be NULL"
    return ""


# --- Rows of redo -----------------------------------------------------------------------------------------------------


def read_window(
    context: PipelineContext,
    landing: Landing,
    window: WindowManifest,
    into: TouchedRows,
    only: Iterable[Xid] | None = None,
) -> None:
    """Add what a window's rows touch. With `only`, the rows of these transactions count alone."""
    wanted = None if only is None else frozenset(only)
    found = list[dict[str, object]]()
    for batch in columns_of(landing, window, READ):
        found += into.own_rows(batch).to_pylist()
    found.sort(key=lambda row: (row["scn"], row["operation_code"] in TRANSACTION_ENDS))
    changed = dict[TableId, list[dict[str, object]]]()
    for row in found:
        table = take_row(into, row, wanted)
        if table is not None:
            changed.setdefault(table, []).append(row)
    for table, rows in changed.items():
        add_keys(context, landing, into.tables[table], rows)
    if wanted is None:
        for ddl in window.ddl:
            add_ddl(into, ddl)


def columns_of(landing: Landing, window: WindowManifest, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    paths = [layout.in_window(window.name, name) for name in window.files]
    digests = {layout.in_window(window.name, name): one for name, one in window.digests.items()}
    return read_columns(landing.files, paths, columns, digests, DAMAGED)


def take_row(into: TouchedRows, row: Mapping[str, object], only: frozenset[Xid] | None) -> TableId | None:
    """Return the table of a change whose key counts, and follow its transaction."""
    code, scn = row["operation_code"], int(str(row["scn"]))
    names = names_of(row)
    if only is not None and not names & only:
        return None
    if code in TRANSACTION_ENDS:
        for name in names:
            into.transactions.end(name, scn)
        return None
    table = into.table_of(row)
    if table is None or table not in into.tables:
        return None
    one = into.tables[table]
    if row["xid"] is None or row["xid"] == NONE_KNOWN or str(row["xid"]).endswith(".4294967295"):
        one.refuse(f"a change at SCN {scn} does not say of which transaction it is")
    into.transactions.change(names, table, scn)
    if code in OPAQUE:
        one.refuse(f"a change at SCN {scn} (operation {code}) does not contain the row's key")
        return None
    one.changes += 1
    return None if row["rollback"] else table  # what it undoes has the key


def names_of(row: Mapping[str, object]) -> frozenset[Xid]:
    con_id = row["con_id"]
    number = con_id if isinstance(con_id, int) else None
    return frozenset((number, str(row[name])) for name in ("xid", "pxid") if row.get(name))


def add_keys(context: PipelineContext, landing: Landing, one: TouchedTable, rows: Sequence[Mapping[str, object]]) -> None:
    """Decode the keys before and after each change."""
    version = one.version
    columns = tuple(version.column(number) for number in version.key)
    narrow, types = replace(version, columns=columns), rules(context, version.table, (version,))
    single = any(found.quotes.evidence() is not None for found in (landing, context.landing))
    check_arrow()
    batch = pa.RecordBatch.from_pylist([dict(row) for row in rows], pa.schema([LANDED_SCHEMA.field(name) for name in READ]))
    decoded = decode_changes(batch, narrow, types, encoding=context.landing.encoding(), single_quotes=single)
    for row in decoded.to_pylist():
        if row["error"] is not None:
            one.refuse(f"the key of a change at SCN {row['scn']} cannot be read: {row['error']}")
            return
        sides = {Operation.INSERT: "n", Operation.UPDATE: "on"}.get(row["operation_code"], "o")
        for side in sides:
            values = [row[f"{side}{column.id}"] for column in columns]
            if any(value is None for value in values):
                one.refuse(f"a change at SCN {row['scn']} does not contain the row's key")
                return
            one.keys.add(tuple(map(text_of, values)))


def text_of(value: object) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def add_ddl(into: TouchedRows, row: DdlRow) -> None:
    """Refuse the tables whose columns or rows a DDL of the range changed: it may have removed rows that no redo shows."""
    owned = into.ids.get(row.object_id)
    for name, one in into.tables.items():
        its_own = owned == name or (row.owner, row.table) == (one.version.in_oracle.owner, one.version.in_oracle.name)
        if row.cascades_from or (its_own and has_effect(row, one.version)):
            one.refuse(f"a DDL at SCN {row.scn} may have changed its columns, or rows that no redo shows")


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
        for row in sorted(ends_of(landing, window), key=lambda row: int(str(row["scn"]))):
            for name in names_of(row):
                into.transactions.end(name, int(str(row["scn"])))


def ends_of(landing: Landing, window: WindowManifest) -> Iterator[dict[str, object]]:
    for batch in columns_of(landing, window, ENDS):
        yield from batch.filter(pc.is_in(batch["operation_code"], pa.array(TRANSACTION_ENDS, pa.int32()))).to_pylist()
