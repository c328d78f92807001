"""Prepare the small tables of a batch in groups: looking at their changes before MERGE takes two jobs for a group, not two for
each table. Where this process merges them, one job fetches the changes of a group that are plain, one more the net changes of
the others. Each table is committed by itself, in its turn.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.commit_ranges import CommitRange, plan_commit_ranges
from redolake.apply.context import ApplyContext
from redolake.apply.delivery import prepare_range
from redolake.apply.delivery.few_changes import columns_to_fetch, is_plain, prepare_here
from redolake.apply.delivery.prepared import ChangesOf, PreparedRange, TableRange, ToMerge
from redolake.apply.landed.decoded import fetch_changes
from redolake.apply.own_columns import of_change
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.probes import take_together
from redolake.apply.spark.shallow import unite
from redolake.apply.target import Target, TargetColumn
from redolake.errors import RedolakeError
from redolake.host.spark_settings import FEW_CHANGES
from redolake.records.batches.spec import TableTask
from redolake.values.delivery import is_in_redo
from redolake.values.own_columns import OWN_COLUMNS

log = logging.getLogger(__name__)

# Of a table. This process prepares one table after the other, Spark several side by side, with two seconds of planning each.
MOST_CHANGES, MOST_HERE = 25_000, 50_000
# Of a group: tables, and changes, which stay in the executors until its last table is merged, or are here as redo SQL.
MOST_TABLES, MOST_TOGETHER, MOST_REDO_BYTES = 16, 40_000, 64 << 20
# What this process holds of each table of a group that Spark has prepared: changes, and bytes of their texts.
MOST_FETCHED, MOST_FETCHED_BYTES = 1_000, 1 << 20
TEXTS = frozenset({"string", "binary"})  # types whose values may have any length

ChangesOfTables = Callable[[Collection[int]], DataFrame]  # assembled changes, by the numbers of tables


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome for a commit range under `columns` of the target, and the table's share of the time that one thread would
    have needed."""

    commit_range: CommitRange
    columns: Mapping[int, TargetColumn]
    outcome: Future[PreparedRange]
    seconds: float

    def fits(self, commit_range: CommitRange, table: Target) -> bool:
        return self.commit_range == commit_range and self.columns == table.columns


class SmallTables:
    """The small tables of a batch, by number. A group is prepared when the turn of its first table comes."""

    def __init__(
        self, context: ApplyContext, small: Mapping[int, TableRange], side_by_side: int, changes_of_tables: ChangesOfTables
    ) -> None:
        self.context, self.small, self.side_by_side, self.changes_of = context, small, side_by_side, changes_of_tables
        self.groups = {group[0]: group for group in groups_of({n: one.committed.count for n, one in small.items()})}
        self.known: dict[int, Prepared] = {}
        self.fetches = bool(small) and context.spark.conf.get(FEW_CHANGES, "direct") == "direct"

    def prepare(self, number: int) -> Prepared | None:
        """Return None for a table that is to be prepared by itself."""
        group = self.groups.pop(number, ())
        if len(group) > 1 or (group and self.fetches):
            self.known |= self._prepare(group)
        return self.known.pop(number, None)

    def _prepare(self, group: tuple[int, ...]) -> dict[int, Prepared]:
        began = time.monotonic()
        try:
            outcomes = self._outcomes(group)
        except Exception as surprise:
            check_session(self.context.spark, surprise)
            # One of them may be the reason: by itself it is held, and the others are applied.
            log.info("%s tables are prepared one by one: %s", len(group), type(surprise).__name__)
            return {}
        seconds = (time.monotonic() - began) * min(self.side_by_side, len(group)) / len(group)
        return {
            number: Prepared((one := self.small[number]).commit_range, one.table.columns, outcome, seconds)
            for number, outcome in outcomes.items()
        }

    def _outcomes(self, group: Sequence[int]) -> dict[int, Future[PreparedRange]]:
        here = self._prepare_here(group) if self.fetches else {}
        left = [number for number in group if number not in here]
        tables = [self.small[number] for number in left]
        outcomes = take_together([prepare_range(self.context, one) for one in tables], self.side_by_side)
        if self.fetches:
            outcomes = fetch_together(tables, outcomes)
        return {**here, **dict(zip(left, outcomes, strict=True))}

    def _prepare_here(self, group: Sequence[int]) -> dict[int, Future[PreparedRange]]:
        """Return the tables whose changes are plain, as this process alone has prepared them."""
        few = {n: one for n in group if is_few((one := self.small[n]).committed.count, self.side_by_side)}
        plain = {number: one for number, one in few.items() if is_plain(self.context, one)}
        if not plain:
            return {}
        names = tuple(dict.fromkeys(name for one in plain.values() for name in columns_to_fetch(one.there.options)))
        changes = self.changes_of(tuple(plain))
        found = fetch_changes(changes, names, MOST_REDO_BYTES // sum(one.committed.count for one in plain.values()))
        outcomes = {n: self._prepare_one(one, changes_in(found, n, one.commit_range.number)) for n, one in plain.items()}
        return {number: as_future(outcome) for number, outcome in outcomes.items() if outcome is not None}

    def _prepare_one(self, part: TableRange, rows: pa.Table) -> ToMerge | None:
        try:
            return prepare_here(self.context, part, rows)
        except Exception as surprise:  # Spark's workers meet it too, and then it holds the table
            log.info("%s is left to Spark: %s", part.task.table, type(surprise).__name__)
            return None


def groups_of(counts: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """Yield the tables, by number and with their changes, in groups of at most MOST_TABLES with MOST_TOGETHER changes."""
    group, left = list[int](), MOST_TOGETHER
    for number, count in counts.items():
        if group and (len(group) == MOST_TABLES or count > left):
            yield tuple(group)
            group, left = [], MOST_TOGETHER
        group.append(number)
        left -= count
    if group:
        yield tuple(group)


def is_few(changes: int, side_by_side: int) -> bool:
    """Return whether this process prepares a table sooner than Spark, which prepares so many tables at a time."""
    return changes * side_by_side <= MOST_HERE


def changes_in(found: pa.Table, table: int, commit_range: int) -> pa.Table:
    mine = pc.and_(pc.equal(found["table_number"], table), pc.equal(found["range_number"], commit_range))
    return found.filter(mine).drop_columns(["table_number", "range_number"])


def as_future(outcome: PreparedRange) -> Future[PreparedRange]:
    future = Future[PreparedRange]()
    future.set_result(outcome)
    return future


def fetch_together(tables: Sequence[TableRange], outcomes: Sequence[Future[PreparedRange]]) -> list[Future[PreparedRange]]:
    """Return the outcomes with the net changes themselves, where the tables take them, by one job for all."""
    ready = {place: one.result() for place, one in enumerate(outcomes) if one.exception() is None}
    wanted = {place: one for place, one in ready.items() if isinstance(one, ToMerge) and may_fetch(tables[place], one)}
    found = fetch_rows({place: (tables[place], one) for place, one in wanted.items()}) if wanted else {}
    results = list(outcomes)
    for place, rows in found.items():
        results[place] = as_future(replace(wanted[place], rows=rows))
    return results


def may_fetch(part: TableRange, ready: ToMerge) -> bool:
    count = part.committed.count
    return count <= MOST_FETCHED and not ready.is_empty and ready.has.are_plain and part.table.takes_rows(count)


def fetch_rows(wanted: Mapping[int, tuple[TableRange, ToMerge]]) -> dict[int, pa.Table]:
    """Return the net changes of each table that has no change of more than its share of MOST_FETCHED_BYTES. In the one frame of
    all, tables share columns of the same type."""
    types = {
        place: {
            **ready.has.types(part.table.columns),
            **{name: OWN_COLUMNS[name].type for name in part.there.options.own_columns},
        }
        for place, (part, ready) in wanted.items()
    }
    places = {place: shared_places(of_table) for place, of_table in types.items()}
    shared = dict(sorted({pair for of_table in places.values() for pair in of_table.values()}))
    frames = []
    for place, (part, ready) in wanted.items():
        rows = ready.changes().select(*ready.has.types(part.table.columns), *of_change(part.there.options))
        names = {slot: name for name, (slot, _) in places[place].items()}
        texts = sorted(name for name, type_ in types[place].items() if type_ in TEXTS)
        size = sum((F.coalesce(F.octet_length(name), F.lit(0)) for name in texts), F.lit(0))
        fits = size <= MOST_FETCHED_BYTES // max(part.committed.count, 1)
        fetched = {name: F.when(fits, F.col(name)) if name in texts else F.col(name) for name in types[place]}
        values = [
            (fetched[names[slot]] if slot in names else F.lit(None)).cast(type_).alias(slot) for slot, type_ in shared.items()
        ]
        frames.append(rows.select(F.lit(place).alias("place"), fits.alias("fits"), *values))
    found = unite(frames).toArrow()
    of_places = {place: found.filter(pc.equal(found["place"], place)) for place in places}
    return {
        place: rows.select([slot for slot, _ in places[place].values()]).rename_columns(list(places[place]))
        for place, rows in of_places.items()
        if pc.all(rows["fits"], min_count=0).as_py()
    }


def shared_places(types: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return a name for each column that tables share by its type: the first one of that type, the second."""
    seen, found = Counter[str](), dict[str, tuple[str, str]]()
    for name, type_ in types.items():
        found[name] = f"{re.sub(r'[^a-z0-9]', '_', type_)}_{seen[type_]}", type_
        seen[type_] += 1
    return found


def small_table(context: ApplyContext, table: Target, task: TableTask, changes_of: ChangesOf) -> TableRange | None:
    """Return the table if it has a single commit range of few changes, with no DDL and no large objects; else None."""
    if table.log is None or not is_in_redo(task.course.deliveries):
        return None
    try:
        ranges = plan_commit_ranges(task, context.scns, -1 if table.position is None else table.position)
    except RedolakeError:
        return None  # it is raised again in the table's turn
    if len(ranges) != 1 or ranges[0].steps or ranges[0].whole is not None:
        return None
    committed = changes_of(ranges[0].number)
    if committed.problem is not None or not 0 < committed.count <= MOST_CHANGES:
        return None
    return TableRange(table, task, ranges[0], committed)
