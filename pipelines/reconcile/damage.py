"""Damaged files that a batch would read, found before it is prepared.

The rows of open transactions that a batch has carried over are also in its windows, which are kept. So where such a file is
damaged, the next batch continues an older one. It reads the windows since then again; what the tables have already counts as
before their position.
"""

from __future__ import annotations

import logging

from pipelines.context import PipelineContext
from pipelines.errors import LandingDamaged
from pipelines.land import layout
from pipelines.land.cures import mine_again, run_again
from pipelines.land.files import check_file
from pipelines.reconcile.batches import end_of
from pipelines.reconcile.ledger import last_batch
from pipelines.records.batches.manifest import BatchResult
from pipelines.records.windows import WindowManifest

log = logging.getLogger(__name__)


def last_with_whole_rows(context: PipelineContext, last: BatchResult | None) -> BatchResult | None:
    """Return the newest batch whose carried rows are undamaged. They are checked after an attempt that left no manifest,
    because it may have found the damage."""
    return with_whole_rows(context, last) if last is not None and was_attempted_after(context, last) else last


def was_attempted_after(context: PipelineContext, last: BatchResult) -> bool:
    return any(end_of(name) > last.end_position for name in context.landing.files.names(layout.BATCHES))


def with_whole_rows(context: PipelineContext, batch: BatchResult | None) -> BatchResult | None:
    """Return the batch, or the newest one before it whose carried rows are undamaged."""
    while batch is not None:
        try:
            for file in batch.carried:
                if file in batch.digests:
                    check_file(file, batch.digests[file], run_again())
        except LandingDamaged as error:
            log.warning("the next batch continues an older one than that to SCN %s: %s", batch.end, error)
            batch = last_batch(context, batch.start_position)
        else:
            return batch
    return None


def check_window(context: PipelineContext, window: WindowManifest) -> None:
    """Raise LandingDamaged if a file of the window's redo is damaged."""
    digests = context.landing.windows.digests_of(window)
    for file in context.landing.windows.files_of(window):
        if file in digests:
            check_file(file, digests[file], mine_again(window.name))
