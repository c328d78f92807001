"""How a large table is cut into chunks, and which snapshot in chunks goes on."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import (
    LandingDamaged,
)
from redolake.host import crash
from redolake.reconcile.batches import is_loaded
from redolake.reconcile.pushed_filter import pushed_for
from redolake.reconcile.snapshot_start import chain_epoch
from redolake.records.snapshots import ChunkPlan
from redolake.source import (
    Source,
    TableSize,
    cut_table,
    read_sizes,
)
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import TableId

log = logging.getLogger(__name__)


@crash.writer
def plan_chunks(context: Run, oracle: Source, tables: Sequence[DictionaryTable], scn: int) -> None:
    """Publish how each large table is cut."""
    sizes = read_sizes(oracle, [table.in_oracle for table in tables], context.pipeline.source.container)
    for table in tables:
        plan = plan_table(context, oracle, table, scn, sizes[table.in_oracle])
        if plan is not None:
            context.landing.chunks.begin(table.table, scn, plan)


def plan_table(context: Run, oracle: Source, table: DictionaryTable, scn: int, size: TableSize) -> ChunkPlan | None:
    """Return how the table is cut; None for one that is read in one piece."""
    settings = context.pipeline.settings(table.table).snapshot
    cut = cut_table(oracle, table, size, settings.chunk_bytes, context.pipeline.source.container)
    if cut is None:
        return None
    log.info("%s is read in %s chunks by %s: %s", table.table, len(cut.chunks), cut.by, size_text(size))
    pushed, chosen = pushed_for(context.pipeline, table), settings_of(context.pipeline, table.table)
    return ChunkPlan(
        str(table.table), scn, cut.by, cut.chunks, cut.column, cut.type, chosen, "" if pushed is None else pushed.record
    )


def size_text(size: TableSize) -> str:
    return f"{size.bytes} bytes{'' if size.is_measured else ' by statistics'}, {size.rows or 'unknown'} rows by statistics"


def settings_of(pipeline: Pipeline, table: TableId) -> str:
    """Return a hash of the settings that decide what is read of a table."""
    settings = pipeline.settings(table)
    said = (settings.key_policy, pipeline.choice(table), sorted(settings.columns.items()), settings.invalid_text)
    text = repr(said) if settings.where is None else repr((*said, settings.where))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_unfinished(context: Run, table: TableId) -> int | None:
    """Return the SCN of the table's newest snapshot in chunks that was begun, and neither loaded nor given up."""
    scns = context.landing.snapshots.scns(table)
    epoch = chain_epoch(context) if scns else ""
    for scn in reversed(scns):
        if context.landing.chunks.is_given_up(table, scn) or not context.landing.snapshots.was_begun(table, scn, epoch):
            continue
        try:
            plan = context.landing.chunks.plan(table, scn)
        except LandingDamaged as error:
            log.warning("the snapshot of %s AS OF SCN %s is not continued: %s", table, scn, error)
            continue
        if plan is None:
            continue
        is_usable = plan.settings == settings_of(context.pipeline, table) and not is_loaded(context, table, scn)
        return scn if is_usable else None
    return None
