"""Damaged files that a batch would read, found before it is prepared.

The rows of open transactions that a batch has carried over are also in its windows, which are kept. So where such a file is
damaged, the next batch continues an older one. It reads the windows since then again; what the tables have already counts as
before their position. A batch is of one incarnation: rows carried over a RESETLOGS come again with their own batch only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from redolake.context import Run
from redolake.errors import LandingDamaged
from redolake.land import layout
from redolake.land.cures import apply_all_again, mine_again, run_again
from redolake.land.files import Files, check_file
from redolake.land.parquet import read_columns
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.newest_batches import batch_name, names_from
from redolake.records.batches.manifest import BatchResult
from redolake.records.file_digest import FileDigest
from redolake.records.readers import is_handed_over
from redolake.records.windows import WindowManifest

log = logging.getLogger(__name__)


def before_next(context: Run, last: BatchResult, following: WindowManifest) -> BatchResult | None:
    """Return the batch that the next one continues: the last, or an older one where its carried rows are damaged. They are
    checked after an attempt that left no manifest, because it may have found the damage, and always at a RESETLOGS, where no
    older batch can be continued."""
    if context.landing.gaps.gap_at(last.end_position) is not None or is_handed_over(following):
        return last  # nothing is carried over a declared gap, or to another reader
    if following.resetlogs_id == last.resetlogs_id and not was_attempted_after(context, last):
        return last
    return last_undamaged(context, last, following.resetlogs_id, apply_all_again)


def was_attempted_after(context: Run, last: BatchResult) -> bool:
    return bool(names_from(context, last.end_position.plus(1)))


def last_undamaged(
    context: Run, last: BatchResult | None, resetlogs_id: int, cure: Callable[[Sequence[str]], str]
) -> BatchResult | None:
    """Return the batch, or the newest one before it whose carried rows are undamaged, or are not needed after a declared gap.

    The windows since then are read again, in one batch of one incarnation. Raises LandingDamaged where those of an older
    incarnation would have to be; `cure` gets the manifests of the batches with damaged rows, newest first."""
    passed = list[str]()
    for batch in reversed_chain(context, last):
        is_cut_off = bool(passed) and context.landing.gaps.gap_at(batch.end_position) is not None
        error = None if is_cut_off else damage_of(batch)
        if error is None:
            return batch
        passed.append(layout.batch_manifest(batch_name(batch.resetlogs_id, batch.start, batch.end)))
        if batch.resetlogs_id != resetlogs_id:
            raise LandingDamaged(error.what, cure=cure(passed), path=error.where.get("path"))
        log.warning("the next batch continues an older one than that to SCN %s: %s", batch.end, error)
    return None


def with_whole_rows(context: Run, last: BatchResult | None) -> BatchResult | None:
    """Return the batch, or the newest one before it whose carried rows are undamaged, also one of an older incarnation."""
    return next((batch for batch in reversed_chain(context, last) if damage_of(batch) is None), None)


def reversed_chain(context: Run, last: BatchResult | None) -> Iterator[BatchResult]:
    """Yield the batch, and those before it, newest first."""
    while last is not None:
        yield last
        last = last_batch(context, last.start_position)


def damage_of(batch: BatchResult) -> LandingDamaged | None:
    """Return why the batch's carried rows cannot be read; None where they can."""
    try:
        for file in batch.carried:
            check_rows(file, batch.digests.get(file))
    except LandingDamaged as error:
        return error
    return None


def check_rows(path: str, written: FileDigest | None) -> None:
    """Raise LandingDamaged for a damaged file. One of an older version has no digest: all of it is read, as Spark would."""
    folder, _, name = path.rpartition("/")
    if written is not None:
        check_file(path, written, run_again())
        return
    for _ in read_columns(Files(folder), [name], None, {}, run_again()):
        pass


def check_window(context: Run, window: WindowManifest) -> None:
    """Raise LandingDamaged if a file of the window's redo is damaged."""
    digests = context.landing.windows.digests_of(window)
    for file in context.landing.windows.files_of(window):
        if file in digests:
            check_file(file, digests[file], mine_again(window.name))
