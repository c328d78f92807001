"""One table as it is compared: its columns, how its rows are named and hashed, and how they are read from Oracle."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from redolake.apply.verify.comparison import CompareTask
from redolake.context import Run
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import SchemaConflict
from redolake.host import crash
from redolake.host.progress import count_rows
from redolake.ledger import TableEntry
from redolake.reconcile.pushed_filter import push_filter
from redolake.reconcile.table_versions import app_id, known_versions, origin, rules
from redolake.records.file_digest import FileDigest
from redolake.schema import version_as_of
from redolake.source import NO_ITEMS, Source, counted_rows, read_tables
from redolake.source.buckets import HashedColumn, Hashing
from redolake.source.snapshot import Part as RowsOf
from redolake.steps.proof.hash_chunks import (
    Position,
    position_of,
)
from redolake.steps.shared.shown_facts import expected_rows
from redolake.steps.shared.table_rows import read_rows
from redolake.values.canonical import (
    HashPlan,
    columns_behind,
    hash_plan,
    naming_plan,
)
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import ROWID_COLUMN, TableId, TableVersion

BY_BUCKETS_FROM = 100_000  # rows: to read fewer costs less than to hash them on both sides
# Hexadecimal digits of a bucket, by the rows from which on they are used: a bucket that differs has some thousand rows to read.
DIGITS = ((20_000_000, 4), (BY_BUCKETS_FROM, 3), (0, 2))


@dataclass
class Cost:
    """What was fetched from Oracle, and how often Spark has read the table's files."""

    source_rows: int = 0
    source_bytes: int = 0
    lake_reads: int = 0


@dataclass(frozen=True, slots=True)
class TableToCompare:
    """A table as the dictionary describes it now, with the columns of the version that the lake has."""

    context: Run
    oracle: Source
    entry: TableEntry
    dictionary: DictionaryTable
    version: TableVersion
    token: str
    cost: Cost = field(default_factory=Cost)
    is_later: bool = False  # undo did not reach the position with which the comparison began

    @property
    def scn(self) -> Scn:
        assert self.entry.complete_to_scn is not None
        return self.entry.complete_to_scn

    def newer(self, at: Position) -> Position | None:
        """Return the table's position now, if it is a later one of the same load, and the columns are the same there."""
        entry = self.context.ledger.table(self.version.table)
        if entry is None or entry.complete_to_scn is None or entry.delta_version is None or entry.complete_to_scn <= at.scn:
            return None
        if (entry.snapshot_scn, entry.resetlogs_id) != (self.entry.snapshot_scn, self.entry.resetlogs_id):
            return None
        version = version_at(self.context, self.version.table, entry.complete_to_scn)
        return position_of(entry) if version == self.version else None


def describe(context: Run, oracle: Source, entry: TableEntry, token: str) -> TableToCompare:
    """Return what is compared. Raise SchemaConflict for a table that is not as it was AS OF its applied SCN."""
    assert entry.complete_to_scn is not None
    table = entry.table
    version = version_at(context, table, entry.complete_to_scn)
    found = read_tables(oracle, (table,), context.pipeline.source.container, context.pipeline.renamed).get(table)
    if found is None:
        raise SchemaConflict(
            "the table is not in the dictionary any more", cure="`redolake status` shows what became of it", table=table
        )
    return TableToCompare(context, oracle, entry, columns_of(found, version), version, token)


def version_at(context: Run, table: TableId, scn: Scn) -> TableVersion:
    return version_as_of(known_versions(context, table), scn)


def columns_of(dictionary: DictionaryTable, version: TableVersion) -> DictionaryTable:
    """Return the table with the captured columns that the version has. Raise SchemaConflict if the source has dropped one
    since."""
    captured = {column.name for column in dictionary.captured}
    kept = tuple(c for c in dictionary.columns if c.name not in captured or version.named(c.name) is not None)
    gone = sorted({c.name for c in version.columns} - captured)
    if gone:
        raise SchemaConflict(
            f"dropped in the source since: {', '.join(gone)}",
            cure="let capture and apply pass that DDL, then verify again",
            table=version.table,
        )
    return replace(dictionary, columns=kept)


def at_position(one: TableToCompare, at: Position) -> TableToCompare:
    one.context.report(f"undo no longer reaches the SCN: {one.version.table} is read AS OF SCN {at.scn}")
    return replace(one, entry=replace(one.entry, complete_to_scn=Scn(at.scn), delta_version=at.delta_version), is_later=True)


def hash_plan_of(one: TableToCompare) -> HashPlan | None:
    rows = rows_of(one) or 0
    digits = next(digits for least, digits in DIGITS if rows >= least)
    encoding, types = one.context.landing.encoding(), rules(one.context, one.version.table, (one.version,))
    return hash_plan(one.version, types, spark_ddl_type, encoding, digits)


def naming_plan_of(one: TableToCompare) -> HashPlan | None:
    """Return how rows that differ are named, so that they can be read again; None where they cannot be."""
    encoding, types = one.context.landing.encoding(), rules(one.context, one.version.table, (one.version,))
    return hash_plan_of(one) or naming_plan(one.version, types, spark_ddl_type, encoding)


def rows_of(one: TableToCompare) -> int | None:
    """Return about how many rows the table has; None if nobody has counted them."""
    known = expected_rows(one.context, one.version.table)
    return counted_rows(one.oracle, one.dictionary.in_oracle, one.context.pipeline.source.container) if known is None else known


def is_large(one: TableToCompare) -> bool:
    return (rows_of(one) or 0) >= BY_BUCKETS_FROM


def hashing_of(one: TableToCompare, plan: HashPlan) -> Hashing:
    names = {column.id: column.name for column in one.version.columns}
    key, columns = (
        tuple(HashedColumn(None if i == ROWID_COLUMN else names[i], form) for i, form in part)
        for part in (plan.clear_key or plan.key, plan.columns)
    )
    return Hashing(key, columns, plan.digits)


def task_of(one: TableToCompare) -> CompareTask:
    context, entry, table = one.context, one.entry, one.version.table
    assert entry.delta_version is not None
    return CompareTask(
        table=table,
        target=context.pipeline.target(table),
        version=one.version,
        files=(),
        complete_to=int(one.scn),
        delta_version=entry.delta_version,
        rules=rules(context, table, (one.version,)),
        options=context.pipeline.target_options(table),
        app_id=app_id(context, table, entry.resetlogs_id or 0),
        origin=origin(context),
        quarantine=context.pipeline.quarantine_path(table),
    )


def read_part(
    one: TableToCompare, columns: tuple[int, ...], conditions: Sequence[RowsOf], number: int, expected: int | None = None
) -> tuple[str, FileDigest]:
    """Read the rows on one of the conditions, with what some columns of the lake are made of, or all."""
    return read_columns(one, columns_behind(one.version, columns), conditions, number, expected)


@crash.writer
def read_columns(
    one: TableToCompare,
    columns: Collection[int],
    conditions: Sequence[RowsOf],
    number: int,
    expected: int | None = None,
    more: Mapping[str, str] = NO_ITEMS,
) -> tuple[str, FileDigest]:
    """Read columns of the rows on one of the conditions, and `more` expressions, into a file for this comparison."""
    context, table, version = one.context, one.version.table, one.version
    before = one.cost.source_rows, one.cost.source_bytes

    def write(batches: Iterator[Any]) -> tuple[str, FileDigest]:
        one.cost.source_rows, one.cost.source_bytes = before  # dates that the driver cannot convert are read once more
        counted = count_rows(count_read(one.cost, batches), f"rows of {table}", one.context.report, expected)
        return context.landing.snapshots.write_for_comparison(one.token, one.dictionary.object_id, counted, number)

    names = {c.name for c in version.columns if c.id in columns}
    captured = {column.name for column in one.dictionary.captured}
    kept = tuple(column for column in one.dictionary.columns if column.name in names or column.name not in captured)
    dictionary = replace(one.dictionary, columns=kept)
    parts = without_filtered(one, conditions)
    rowid = version.key_kind == "rowid"
    return read_rows(context, one.oracle, dictionary, one.scn, rowid, write, *parts, more=more)


def without_filtered(one: TableToCompare, parts: Sequence[RowsOf]) -> Sequence[RowsOf]:
    """Return the parts without rows of which Oracle can say that the filter leaves them out."""
    mapping = one.version.mapping
    if mapping is None or mapping.where is None:
        return parts
    pushed = push_filter(mapping.where, one.version, rules(one.context, one.version.table, (one.version,)))
    return parts if pushed is None else [pushed.within(part) for part in parts]


def count_read(cost: Cost, batches: Iterator[Any]) -> Iterator[Any]:
    """Pass the driver's frames on, and add up their rows and bytes."""
    for batch in batches:
        rows = pa.table(batch)
        cost.source_rows += rows.num_rows
        cost.source_bytes += rows.nbytes
        yield batch
