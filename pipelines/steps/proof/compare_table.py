"""Read one table from Oracle AS OF its applied SCN and compare it with Delta: all of its rows, or those of some buckets.

Both sides hash a large table by buckets (values/canonical.py), and only buckets whose hashes differ are read and compared cell
by cell. Values of columns that cannot be hashed alike on both sides are read of all rows.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

import pyarrow as pa

from pipelines.apply.verify.comparison import CompareTask, Comparison, Digest, HistoryComparison, KeyRanges, Part
from pipelines.context import PipelineContext, Report
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import RedolakeError, SchemaConflict, Transient
from pipelines.host import crash
from pipelines.host.progress import count_rows
from pipelines.ledger import TableEntry
from pipelines.reconcile.lake_place import lake_place
from pipelines.reconcile.pushed_filter import push_filter
from pipelines.reconcile.table_versions import app_id, known_versions, origin, rules
from pipelines.records.file_digest import FileDigest
from pipelines.records.proofs import FoundRow, ProofMethod
from pipelines.schema import version_as_of
from pipelines.source import NO_ITEMS, ConnectParams, Source, counted_rows, read_tables
from pipelines.source.buckets import MOST_BUCKETS, BucketSum, HashedColumn, Hashing, hash_of, in_buckets, read_digests
from pipelines.source.quoting import quote
from pipelines.source.snapshot import Part as RowsOf
from pipelines.steps.proof.hash_chunks import (
    Hashed,
    HashedPart,
    Position,
    at_reachable,
    differing_buckets,
    hash_by_chunks,
    position_of,
)
from pipelines.steps.shared.shown_facts import expected_rows
from pipelines.steps.shared.spark_session import Spark
from pipelines.steps.shared.table_rows import read_rows
from pipelines.values.canonical import (
    BUCKET,
    ROW_HASH,
    Form,
    HashPlan,
    columns_behind,
    hash_plan,
    naming_plan,
    of_filter,
    of_key,
)
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.ora_codes import NO_SUCH_COLUMN
from pipelines.values.scn import Scn
from pipelines.values.table import ROWID_COLUMN, TableId, TableVersion

log = logging.getLogger(__name__)
T = TypeVar("T")

Method = Literal["auto", "rows", "buckets"]
BY_BUCKETS_FROM = 100_000  # rows: to read fewer costs less than to hash them on both sides
# Hexadecimal digits of a bucket, by the rows from which on they are used: a bucket that differs has some thousand rows to read.
DIGITS = ((20_000_000, 4), (BY_BUCKETS_FROM, 3), (0, 2))
MOST_SHARE = 0.25  # of the buckets: where more differ, all rows are read
KEYS_AT_ONCE = 100  # in a statement
# How a key's text in the lake is given to Oracle. Other forms are found by their hash.
KEY_VALUES: Mapping[Form, Callable[[str], object]] = {
    "number": Decimal,
    "text": str,
    "date": datetime.fromisoformat,
    "timestamp": datetime.fromisoformat,
}
ORDERED = frozenset[Form]({"number", "date", "timestamp"})
BYTES_OF_A_BUCKET = 64  # about: its name and three numbers


@dataclass
class Cost:
    """What was fetched from Oracle, and how often Spark has read the table's files."""

    source_rows: int = 0
    source_bytes: int = 0
    lake_reads: int = 0


@dataclass(frozen=True, slots=True)
class TableToCompare:
    """A table as the dictionary describes it now, with the columns of the version that the lake has."""

    context: PipelineContext
    params: ConnectParams | None
    oracle: Source
    entry: TableEntry
    dictionary: DictionaryTable
    version: TableVersion
    token: str
    report: Report
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


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison. `share` is that of the buckets that were compared; `scns` are those of ranges of the key,
    where undo did not last for one."""

    comparison: Comparison
    method: ProofMethod
    cost: Cost
    buckets: int = 0
    differing_buckets: int = 0
    share: float = 1.0
    scns: tuple[int, ...] = ()


def describe(
    context: PipelineContext, params: ConnectParams | None, oracle: Source, entry: TableEntry, token: str, report: Report
) -> TableToCompare:
    """Return what is compared. Raise SchemaConflict for a table that is not as it was AS OF its applied SCN."""
    assert entry.complete_to_scn is not None
    table = entry.table
    version = version_at(context, table, entry.complete_to_scn)
    found = read_tables(oracle, (table,), context.pipeline.source.container, context.pipeline.renamed).get(table)
    if found is None:
        raise SchemaConflict("the table is not in the dictionary any more", cure="redolake status", table=table)
    return TableToCompare(context, params, oracle, entry, columns_of(found, version), version, token, report)


def version_at(context: PipelineContext, table: TableId, scn: Scn) -> TableVersion:
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


def compare_in_lake(one: TableToCompare, spark: Spark, method: Method, sample: float | None) -> Compared:
    """Compare the table, or a sample of its buckets. A table that cannot be hashed is compared by all its rows."""
    plan = hash_plan_of(one)
    if plan is None or plan.clear_key or method == "rows":
        return compare_reachable(one, lambda there: compare_rows(there, spark, naming_plan_of(one)))
    if method == "auto" and not (saves(one, plan) and (sample or is_large(one))):
        return compare_reachable(one, lambda there: compare_rows(there, spark, plan))
    try:
        found = compare_reachable(one, lambda there: compare_buckets(there, spark, plan, sample))
    except RedolakeError as error:
        if not isinstance(error, Transient):  # what cannot go on at its SCN begins again
            one.context.landing.proofs.end_hashing(one.version.table)
        if error.ora_code != NO_SUCH_COLUMN:  # there is no STANDARD_HASH before 12.1, and UTL_RAW may be revoked
            raise
        log.warning("%s is compared by all its rows: %s", one.version.table, error.what)
        return compare_reachable(one, lambda there: compare_rows(there, spark, plan))
    if sample is None:
        one.context.landing.proofs.end_hashing(one.version.table)
    return found


def compare_its_history(one: TableToCompare, spark: Spark, compared: Compared) -> HistoryComparison | None:
    """Compare the table's history with the version that was compared; None for a table without one."""
    from pipelines.job.comparison import compare_with_history

    path = one.context.pipeline.history_target(one.version.table)
    if path is None:
        return None
    one.report(f"comparing the history of {one.version.table} with it")
    scn = compared.scns[0] if compared.scns else compared.comparison.complete_to
    task = replace(task_of(one), complete_to=scn, delta_version=compared.comparison.delta_version)
    return compare_with_history(spark.session(), task, path)


def compare_reachable(one: TableToCompare, compare: Callable[[TableToCompare], T]) -> T:
    """Compare at the table's position, or where undo does not reach it, at one that the table has reached since."""
    start = position_of(one.entry)
    return at_reachable(start, lambda at: compare(one if at == start else at_position(one, at)), one.newer)[0]


def at_position(one: TableToCompare, at: Position) -> TableToCompare:
    one.report(f"undo no longer reaches the SCN: {one.version.table} is read AS OF SCN {at.scn}")
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


def saves(one: TableToCompare, plan: HashPlan) -> bool:
    """Return whether fewer columns are fetched than by a comparison of all rows. A mapping may need all of them."""
    if not plan.fetched:
        return True
    return len(columns_behind(one.version, plan.fetched)) < len(one.version.columns)


def rows_of(one: TableToCompare) -> int | None:
    """Return about how many rows the table has; None if nobody has counted them."""
    known = expected_rows(one.context, one.version.table)
    return counted_rows(one.oracle, one.dictionary.in_oracle, one.context.pipeline.source.container) if known is None else known


def is_large(one: TableToCompare) -> bool:
    return (rows_of(one) or 0) >= BY_BUCKETS_FROM


def compare_rows(one: TableToCompare, spark: Spark, plan: HashPlan | None) -> Compared:
    """Compare all rows."""
    comparison = compare_part(one, spark, replace(task_of(one), hashing=plan), "", 0)
    return Compared(comparison, "rows", one.cost)


def compare_buckets(one: TableToCompare, spark: Spark, plan: HashPlan, sample: float | None) -> Compared:
    """Compare the hashes of all buckets, or of a sample of them, and then the rows of those that differ."""
    plan, chosen = (plan, ()) if sample is None else choose_buckets(plan, sample)
    hashing, task = hashing_of(one, plan), replace(task_of(one), hashing=plan)
    one.report(f"hashing {one.version.table} AS OF SCN {one.scn}")
    if (passing := of_filter(one.version)) is not None:
        parts = [HashedPart(position_of(one.entry), digests_of_passing(one, spark, task, hashing, passing, chosen))]
    elif chosen:
        container = one.context.pipeline.source.container
        sums = read_digests(one.oracle, one.dictionary, hashing, one.scn, container, chosen)
        parts = [HashedPart(position_of(one.entry), sums)]
    else:
        how = Hashed(hashing, ordered_columns(one.version, plan), one.newer, one.is_later, one.params)
        parts = hash_by_chunks(one.context, one.oracle, one.dictionary, how, one.entry, one.report)
    one.cost.source_bytes += BYTES_OF_A_BUCKET * sum(len(part.sums) for part in parts)
    one.report(f"hashing {one.version.table} in Delta")
    lake = [digest_part(one, spark, task, part) for part in parts]
    wrong = frozenset[str]().union(
        *(differing_buckets(part.sums, sums_of(theirs, chosen)) for part, theirs in zip(parts, lake, strict=True))
    )
    equal = sum(bucket.rows for part in parts for name, bucket in part.sums.items() if name not in wrong)
    found = BucketsFound(tuple(sorted(wrong)), chosen, plan, equal, lake[0])
    there = one if parts[-1].at == position_of(one.entry) else at_position(one, parts[-1].at)
    compared = compare_reachable(there, lambda last: compare_found(last, spark, found))
    scns = sorted({*(part.at.scn for part in parts), compared.comparison.complete_to})
    return replace(compared, scns=tuple(scns) if len(scns) > 1 else ())


@dataclass(frozen=True, slots=True)
class BucketsFound:
    """The buckets whose hashes differ, of all or of those that were `chosen`; `equal` is the number of rows in the others."""

    wrong: tuple[str, ...]
    chosen: tuple[str, ...]
    plan: HashPlan
    equal: int
    lake: Digest

    @property
    def total(self) -> int:
        return len(self.chosen) or self.plan.buckets

    @property
    def share(self) -> float:
        return len(self.chosen) / self.plan.buckets if self.chosen else 1.0


def compare_found(one: TableToCompare, spark: Spark, found: BucketsFound) -> Compared:
    """Compare the rows of the buckets that differ, and the values that are not hashed of the others."""
    plan, wrong, chosen, table = found.plan, found.wrong, found.chosen, one.version.table
    hashing, task = hashing_of(one, plan), replace(task_of(one), hashing=plan)
    if len(wrong) > min(MOST_BUCKETS, max(1, int(found.total * MOST_SHARE))) and not chosen:
        one.report(f"{len(wrong)} of {found.total} buckets of {table} differ: all rows are compared")
        return replace(compare_rows(one, spark, plan), buckets=found.total, differing_buckets=len(wrong))
    lake = found.lake
    comparison = Comparison(table, int(one.scn), lake.delta_version, found.equal, found.equal, 0, 0, 0, bytes=lake.bytes)
    if wrong:
        one.report(f"{len(wrong)} of {found.total} buckets of {table} differ")
        part = replace(task, part=Part(wrong))
        comparison = comparison.with_more(compare_part(one, spark, part, in_buckets(hashing, wrong), 1))
    if plan.fetched:
        comparison = comparison.with_more(compare_fetched(one, spark, task, hashing, wrong, chosen))
    return Compared(comparison, "buckets", one.cost, found.total, len(wrong), found.share)


def digest_part(one: TableToCompare, spark: Spark, task: CompareTask, part: HashedPart) -> Digest:
    """Return the hashes of the Delta version of the part's position."""
    from pipelines.job.comparison import digest_table

    column = one.version.named(part.column)
    limits = tuple((chunk.low, chunk.high) for chunk in part.chunks)
    ranges = None if column is None else KeyRanges(column.id, part.type, limits)
    task = replace(task, complete_to=part.at.scn, delta_version=part.at.delta_version, ranges=ranges)
    one.cost.lake_reads += 1
    return digest_table(spark.session(), task, lake_place(one.context))


def sums_of(lake: Digest, chosen: Collection[str]) -> dict[str, BucketSum]:
    return {name: BucketSum(*sums) for name, sums in lake.buckets.items() if not chosen or name in chosen}


def ordered_columns(version: TableVersion, plan: HashPlan) -> frozenset[str]:
    """Return the columns whose values Oracle and Spark order alike, so that ranges of them are the same rows on both sides."""
    return frozenset(version.column(i).name for i, form in plan.columns if i != ROWID_COLUMN and form in ORDERED)


def digests_of_passing(
    one: TableToCompare,
    spark: Spark,
    task: CompareTask,
    hashing: Hashing,
    version: TableVersion,
    chosen: tuple[str, ...],
) -> dict[str, BucketSum]:
    """Return the sums of the rows that the table's filter lets into the lake. Spark alone can compute the filter: of each row
    the hashes are fetched, and the columns that it needs."""
    from pipelines.job.comparison import digest_rows

    where = in_buckets(hashing, chosen) if chosen else ""
    items = {BUCKET: hashing.bucket, ROW_HASH: hash_of(hashing.columns)}
    path, digest = read_columns(
        one, {c.id for c in version.columns}, (RowsOf(condition=where),), 3, rows_of(one) if not where else None, more=items
    )
    task = replace(task, version=version, files=(path,), digests={path: digest})
    found = digest_rows(spark.session(), task, lake_place(one.context))
    return {name: BucketSum(*sums) for name, sums in found.items()}


def choose_buckets(plan: HashPlan, sample: float) -> tuple[HashPlan, tuple[str, ...]]:
    """Return a random sample of the buckets: other ones each time. They are larger where a statement could not list all."""
    while (wanted := max(1, round(plan.buckets * sample))) > MOST_BUCKETS:
        plan = replace(plan, digits=plan.digits - 1)
    chosen = random.SystemRandom().sample(range(plan.buckets), wanted)
    return plan, tuple(sorted(f"{number:0{plan.digits}X}" for number in chosen))


def compare_fetched(
    one: TableToCompare, spark: Spark, task: CompareTask, hashing: Hashing, wrong: tuple[str, ...], chosen: tuple[str, ...]
) -> Comparison:
    """Compare the values that are not hashed, of the rows in buckets that are equal by their hashes."""
    assert task.hashing is not None
    if chosen:
        rest = tuple(name for name in chosen if name not in wrong)
        part, where = Part(rest, columns=task.hashing.fetched), in_buckets(hashing, rest) if rest else "1 = 0"
    else:
        part = Part(wrong, others=True, columns=task.hashing.fetched)
        where = f"NOT ({in_buckets(hashing, wrong)})" if wrong else ""
    found = compare_part(one, spark, replace(task, part=part), where, 2)
    return replace(found, source_rows=0, delta_rows=0)  # they are counted already


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


def compare_part(one: TableToCompare, spark: Spark, task: CompareTask, where: str, number: int) -> Comparison:
    """Read the rows on a condition, with the columns of the part, and compare them."""
    from pipelines.job.comparison import compare_tables

    columns = task.part.columns if task.part is not None else ()
    path, digest = read_part(one, columns, (RowsOf(condition=where),), number, rows_of(one) if not where else None)
    one.report(f"comparing {one.version.table} with Delta")
    task = replace(task, files=(path,), digests={path: digest})
    (found,) = compare_tables(spark.session(), [task], lake_place(one.context))
    one.cost.lake_reads += 1
    return found


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

    def write(batches: Iterator[Any]) -> tuple[str, FileDigest]:
        counted = count_rows(count_read(one.cost, batches), f"rows of {table}", one.report, expected)
        return context.landing.snapshots.write_for_comparison(one.token, one.dictionary.object_id, counted, number)

    names = {c.name for c in version.columns if c.id in columns}
    captured = {column.name for column in one.dictionary.captured}
    kept = tuple(column for column in one.dictionary.columns if column.name in names or column.name not in captured)
    dictionary = replace(one.dictionary, columns=kept)
    parts = without_filtered(one, conditions)
    rowid = version.key_kind == "rowid"
    return read_rows(context, one.params, one.oracle, dictionary, one.scn, rowid, write, *parts, more=more)


def without_filtered(one: TableToCompare, parts: Sequence[RowsOf]) -> Sequence[RowsOf]:
    """Return the parts without rows of which Oracle can say that the filter leaves them out."""
    mapping = one.version.mapping
    if mapping is None or mapping.where is None:
        return parts
    pushed = push_filter(mapping.where, one.version, rules(one.context, one.version.table, (one.version,)))
    return parts if pushed is None else [pushed.within(part) for part in parts]


def read_found(one: TableToCompare, spark: Spark, plan: HashPlan, rows: Sequence[FoundRow]) -> tuple[str, FileDigest]:
    """Read rows by their keys, where Oracle can be given these as they are, else by the hashes of them, which reads the whole
    table inside the database. A key that a mapping computes does not say which one it is in Oracle: all keys are read there,
    and mapped."""
    if plan.clear_key:
        return read_part(one, (), conditions_of(hashing_of(one, plan), clear_hashes(one, spark, plan, rows)), 0)
    conditions = key_conditions(one.version, plan, rows) or hash_conditions(hashing_of(one, plan), rows)
    return read_part(one, (), conditions, 0)


def hash_conditions(hashing: Hashing, rows: Sequence[FoundRow]) -> tuple[RowsOf, ...]:
    return conditions_of(hashing, {row.hash for row in rows})


def conditions_of(hashing: Hashing, hashes: Collection[str]) -> tuple[RowsOf, ...]:
    """Return the conditions of the rows whose keys have these hashes; one that is never true if there are none."""
    ordered = sorted(hashes)
    parts = [ordered[i : i + MOST_BUCKETS] for i in range(0, len(ordered), MOST_BUCKETS)]
    return tuple(RowsOf(condition=in_buckets(hashing, part)) for part in parts) or (RowsOf(condition="1 = 0"),)


def clear_hashes(one: TableToCompare, spark: Spark, plan: HashPlan, rows: Sequence[FoundRow]) -> frozenset[str]:
    """Return the hashes of the keys in Oracle of the rows, which are named by their keys in the lake."""
    from pipelines.job.repair import map_keys

    version = of_key(one.version)
    items = {BUCKET: hashing_of(one, plan).key_hash}
    path, digest = read_columns(one, {c.id for c in version.columns}, (RowsOf(),), 3, rows_of(one), more=items)
    task = replace(task_of(one), version=version, files=(path,), digests={path: digest}, hashing=plan)
    return map_keys(spark.session(), task, frozenset(row.hash for row in rows))


def key_conditions(version: TableVersion, plan: HashPlan, rows: Sequence[FoundRow]) -> tuple[RowsOf, ...]:
    """Return conditions of the rows' keys; none where a key, or one of its values, cannot be given to Oracle as it is."""
    makers = [KEY_VALUES.get(form) for _, form in plan.key]
    names = [quote(version.column(i).name) for i, _ in plan.key if i != ROWID_COLUMN]
    keys = sorted({row.key for row in rows}, key=str)
    if not makers or None in makers or any(None in key or len(key) != len(makers) for key in keys):
        return ()
    try:
        values = [[make(text) for make, text in zip(makers, key, strict=True) if make and text is not None] for key in keys]
    except (ArithmeticError, ValueError):  # the lake has a key that no value of Oracle's is
        return ()
    found = []
    for start in range(0, len(values), KEYS_AT_ONCE):
        chunk = values[start : start + KEYS_AT_ONCE]
        one = [" AND ".join(f"{name} = :k{n}_{m}" for m, name in enumerate(names)) for n in range(len(chunk))]
        binds = {f"k{n}_{m}": value for n, key in enumerate(chunk) for m, value in enumerate(key)}
        found.append(RowsOf(condition=" OR ".join(f"({text})" for text in one), binds=binds))
    return tuple(found)


def count_read(cost: Cost, batches: Iterator[Any]) -> Iterator[Any]:
    """Pass the driver's frames on, and add up their rows and bytes."""
    for batch in batches:
        rows = pa.table(batch)
        cost.source_rows += rows.num_rows
        cost.source_bytes += rows.nbytes
        yield batch
