"""Read one table from Oracle AS OF its applied SCN and compare it with Delta: all of its rows, or those of some buckets.

Both sides hash a large table by buckets (values/canonical.py), and only buckets whose hashes differ are read and compared cell
by cell. Values of columns that cannot be hashed alike on both sides are read of all rows.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from redolake.apply.verify.comparison import CompareTask, Comparison, Digest, KeyRanges, Part
from redolake.errors import RedolakeError, Transient
from redolake.reconcile.lake_place import lake_place
from redolake.records.proofs import ProofMethod, ProvedHistory
from redolake.source.buckets import MOST_BUCKETS, BucketSum, Hashing, hash_of, in_buckets, read_digests
from redolake.source.snapshot import Part as RowsOf
from redolake.steps.proof.hash_chunks import (
    Hashed,
    HashedPart,
    at_reachable,
    differing_buckets,
    hash_by_chunks,
    position_of,
)
from redolake.steps.proof.table_to_compare import (
    Cost,
    TableToCompare,
    at_position,
    hash_plan_of,
    hashing_of,
    is_large,
    naming_plan_of,
    read_columns,
    read_part,
    rows_of,
    task_of,
)
from redolake.values.canonical import (
    BUCKET,
    ROW_HASH,
    Form,
    HashPlan,
    columns_behind,
    of_filter,
)
from redolake.values.ora_codes import NO_SUCH_COLUMN
from redolake.values.table import ROWID_COLUMN, TableVersion

log = logging.getLogger(__name__)
T = TypeVar("T")

Method = Literal["auto", "rows", "buckets"]
MOST_SHARE = 0.25  # of the buckets: where more differ, all rows are read
ORDERED = frozenset[Form]({"number", "date", "timestamp"})
BYTES_OF_A_BUCKET = 64  # about: its name and three numbers


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


def compare_in_lake(one: TableToCompare, method: Method, sample: float | None) -> Compared:
    """Compare the table, or a sample of its buckets. A table that cannot be hashed is compared by all its rows."""
    plan = hash_plan_of(one)
    if plan is None or plan.clear_key or method == "rows":
        return compare_reachable(one, lambda there: compare_rows(there, naming_plan_of(one)))
    if method == "auto" and not (saves(one, plan) and (sample or is_large(one))):
        return compare_reachable(one, lambda there: compare_rows(there, plan))
    try:
        found = compare_reachable(one, lambda there: compare_buckets(there, plan, sample))
    except RedolakeError as error:
        if not isinstance(error, Transient):  # what cannot go on at its SCN begins again
            one.context.landing.proofs.end_hashing(one.version.table)
        if error.ora_code != NO_SUCH_COLUMN:  # there is no STANDARD_HASH before 12.1, and UTL_RAW may be revoked
            raise
        log.warning("%s is compared by all its rows: %s", one.version.table, error.what)
        return compare_reachable(one, lambda there: compare_rows(there, plan))
    if sample is None:
        one.context.landing.proofs.end_hashing(one.version.table)
    return found


def compare_its_history(one: TableToCompare, compared: Compared) -> ProvedHistory | None:
    """Compare the table's history with the version that was compared; None for a table without one."""
    from redolake.job.comparison import compare_with_history

    path = one.context.pipeline.history_target(one.version.table)
    if path is None:
        return None
    one.context.report(f"comparing the history of {one.version.table} with it")
    scn = compared.scns[0] if compared.scns else compared.comparison.complete_to
    task = replace(task_of(one), complete_to=scn, delta_version=compared.comparison.delta_version)
    return compare_with_history(one.context.spark.session(), task, path)


def compare_reachable(one: TableToCompare, compare: Callable[[TableToCompare], T]) -> T:
    """Compare at the table's position, or where undo does not reach it, at one that the table has reached since."""
    start = position_of(one.entry)
    return at_reachable(start, lambda at: compare(one if at == start else at_position(one, at)), one.newer)[0]


def saves(one: TableToCompare, plan: HashPlan) -> bool:
    """Return whether fewer columns are fetched than by a comparison of all rows. A mapping may need all of them."""
    if not plan.fetched:
        return True
    return len(columns_behind(one.version, plan.fetched)) < len(one.version.columns)


def compare_rows(one: TableToCompare, plan: HashPlan | None) -> Compared:
    """Compare all rows."""
    comparison = compare_part(one, replace(task_of(one), hashing=plan), "", 0)
    return Compared(comparison, "rows", one.cost)


def compare_buckets(one: TableToCompare, plan: HashPlan, sample: float | None) -> Compared:
    """Compare the hashes of all buckets, or of a sample of them, and then the rows of those that differ."""
    plan, chosen = (plan, ()) if sample is None else choose_buckets(plan, sample)
    hashing, task = hashing_of(one, plan), replace(task_of(one), hashing=plan)
    one.context.report(f"hashing {one.version.table} AS OF SCN {one.scn}")
    if (passing := of_filter(one.version)) is not None:
        parts = [HashedPart(position_of(one.entry), digests_of_passing(one, task, hashing, passing, chosen))]
    elif chosen:
        container = one.context.pipeline.source.container
        sums = read_digests(one.oracle, one.dictionary, hashing, one.scn, container, chosen)
        parts = [HashedPart(position_of(one.entry), sums)]
    else:
        how = Hashed(hashing, ordered_columns(one.version, plan), one.newer, one.is_later)
        parts = hash_by_chunks(one.context, one.oracle, one.dictionary, how, one.entry)
    one.cost.source_bytes += BYTES_OF_A_BUCKET * sum(len(part.sums) for part in parts)
    one.context.report(f"hashing {one.version.table} in Delta")
    lake = [digest_part(one, task, part) for part in parts]
    wrong = frozenset[str]().union(
        *(differing_buckets(part.sums, sums_of(theirs, chosen)) for part, theirs in zip(parts, lake, strict=True))
    )
    equal = sum(bucket.rows for part in parts for name, bucket in part.sums.items() if name not in wrong)
    found = BucketsFound(tuple(sorted(wrong)), chosen, plan, equal, lake[0])
    there = one if parts[-1].at == position_of(one.entry) else at_position(one, parts[-1].at)
    compared = compare_reachable(there, lambda last: compare_found(last, found))
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


def compare_found(one: TableToCompare, found: BucketsFound) -> Compared:
    """Compare the rows of the buckets that differ, and the values that are not hashed of the others."""
    plan, wrong, chosen, table = found.plan, found.wrong, found.chosen, one.version.table
    hashing, task = hashing_of(one, plan), replace(task_of(one), hashing=plan)
    if len(wrong) > min(MOST_BUCKETS, max(1, int(found.total * MOST_SHARE))) and not chosen:
        one.context.report(f"{len(wrong)} of {found.total} buckets of {table} differ: all rows are compared")
        return replace(compare_rows(one, plan), buckets=found.total, differing_buckets=len(wrong))
    lake = found.lake
    comparison = Comparison(table, int(one.scn), lake.delta_version, found.equal, found.equal, 0, 0, 0, bytes=lake.bytes)
    if wrong:
        one.context.report(f"{len(wrong)} of {found.total} buckets of {table} differ")
        part = replace(task, part=Part(wrong))
        comparison = comparison.with_more(compare_part(one, part, in_buckets(hashing, wrong), 1))
    if plan.fetched:
        comparison = comparison.with_more(compare_fetched(one, task, hashing, wrong, chosen))
    return Compared(comparison, "buckets", one.cost, found.total, len(wrong), found.share)


def digest_part(one: TableToCompare, task: CompareTask, part: HashedPart) -> Digest:
    """Return the hashes of the Delta version of the part's position."""
    from redolake.job.comparison import digest_table

    column = one.version.named(part.column)
    limits = tuple((chunk.low, chunk.high) for chunk in part.chunks)
    ranges = None if column is None else KeyRanges(column.id, part.type, limits)
    task = replace(task, complete_to=part.at.scn, delta_version=part.at.delta_version, ranges=ranges)
    one.cost.lake_reads += 1
    return digest_table(one.context.spark.session(), task, lake_place(one.context))


def sums_of(lake: Digest, chosen: Collection[str]) -> dict[str, BucketSum]:
    return {name: BucketSum(*sums) for name, sums in lake.buckets.items() if not chosen or name in chosen}


def ordered_columns(version: TableVersion, plan: HashPlan) -> frozenset[str]:
    """Return the columns whose values Oracle and Spark order alike, so that ranges of them are the same rows on both sides."""
    return frozenset(version.column(i).name for i, form in plan.columns if i != ROWID_COLUMN and form in ORDERED)


def digests_of_passing(
    one: TableToCompare,
    task: CompareTask,
    hashing: Hashing,
    version: TableVersion,
    chosen: tuple[str, ...],
) -> dict[str, BucketSum]:
    """Return the sums of the rows that the table's filter lets into the lake. Spark alone can compute the filter: of each row
    the hashes are fetched, and the columns that it needs."""
    from redolake.job.comparison import digest_rows

    where = in_buckets(hashing, chosen) if chosen else ""
    items = {BUCKET: hashing.bucket, ROW_HASH: hash_of(hashing.columns)}
    path, digest = read_columns(
        one, {c.id for c in version.columns}, (RowsOf(condition=where),), 3, rows_of(one) if not where else None, more=items
    )
    task = replace(task, version=version, files=(path,), digests={path: digest})
    found = digest_rows(one.context.spark.session(), task, lake_place(one.context))
    return {name: BucketSum(*sums) for name, sums in found.items()}


def choose_buckets(plan: HashPlan, sample: float) -> tuple[HashPlan, tuple[str, ...]]:
    """Return a random sample of the buckets: other ones each time. They are larger where a statement could not list all."""
    while (wanted := max(1, round(plan.buckets * sample))) > MOST_BUCKETS:
        plan = replace(plan, digits=plan.digits - 1)
    chosen = random.SystemRandom().sample(range(plan.buckets), wanted)
    return plan, tuple(sorted(f"{number:0{plan.digits}X}" for number in chosen))


def compare_fetched(
    one: TableToCompare, task: CompareTask, hashing: Hashing, wrong: tuple[str, ...], chosen: tuple[str, ...]
) -> Comparison:
    """Compare the values that are not hashed, of the rows in buckets that are equal by their hashes."""
    assert task.hashing is not None
    if chosen:
        rest = tuple(name for name in chosen if name not in wrong)
        part, where = Part(rest, columns=task.hashing.fetched), in_buckets(hashing, rest) if rest else "1 = 0"
    else:
        part = Part(wrong, others=True, columns=task.hashing.fetched)
        where = f"NOT ({in_buckets(hashing, wrong)})" if wrong else ""
    found = compare_part(one, replace(task, part=part), where, 2)
    return replace(found, source_rows=0, delta_rows=0)  # they are counted already


def compare_part(one: TableToCompare, task: CompareTask, where: str, number: int) -> Comparison:
    """Read the rows on a condition, with the columns of the part, and compare them."""
    from redolake.job.comparison import compare_tables

    columns = task.part.columns if task.part is not None else ()
    path, digest = read_part(one, columns, (RowsOf(condition=where),), number, rows_of(one) if not where else None)
    one.context.report(f"comparing {one.version.table} with Delta")
    task = replace(task, files=(path,), digests={path: digest})
    (found,) = compare_tables(one.context.spark.session(), [task], lake_place(one.context))
    one.cost.lake_reads += 1
    return found
