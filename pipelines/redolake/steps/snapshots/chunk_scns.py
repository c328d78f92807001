"""A newer SCN for chunks that undo no longer reaches, where the table's redo makes chunks of several SCNs equal."""

from __future__ import annotations

import threading
from dataclasses import replace

from redolake.context import Run
from redolake.errors import (
    ChunksNeedOneScn,
    RedolakeError,
    SnapshotTooEarly,
)
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.reconcile.mappings import with_mapping
from redolake.reconcile.omitted_tables import open_in_redo
from redolake.reconcile.snapshot_start import chain_epoch, check_followed
from redolake.records.snapshots import ChunkScn
from redolake.schema import baseline
from redolake.source import (
    read_handover_and_tables,
    read_redo_facts,
)
from redolake.steps.snapshots.read_task import ReadTask
from redolake.values.delivery import deliveries_of, is_named_in_redo
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.mapping import computes_key

_choosing = threading.Lock()  # one thread chooses a newer SCN, which the others then use


def newest_scn(context: Run, task: ReadTask) -> int:
    return max([task.scn, *context.landing.chunks.later_scns(task.table, task.scn)])


def later_than(context: Run, task: ReadTask, found: DictionaryTable, scn: int, error: RedolakeError) -> int:
    """Return an SCN after `scn`, which undo no longer reaches: one that another reader has chosen, else a new one.

    Raises ChunksNeedOneScn where chunks of several SCNs would not make the table."""
    with _choosing:
        known = newest_scn(context, task)
        if known > scn:
            return known
        check_several_scns(context, task, found, error)
        later = choose_scn(context, task, found)
        context.landing.chunks.record_later(task.table, task.scn, ChunkScn(later, error.what))
        return later


def check_several_scns(context: Run, task: ReadTask, found: DictionaryTable, error: RedolakeError) -> None:
    table = task.table
    policy, choice = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
    version = baseline(found, found.scn_before, None, policy, choice)
    mapping = with_mapping(context.pipeline, version, has_key=False).mapping
    if computes_key(mapping, version.key) or not is_named_in_redo(deliveries_of((version,))):
        raise ChunksNeedOneScn(
            f"the table was to be read AS OF SCN {task.scn}: {error.what}. Its redo cannot make chunks of several SCNs "
            "equal: it has no key, its key may be NULL or an expression computes it, or its rows or large objects are read "
            "again or assembled",
            cure="raise UNDO_RETENTION or `snapshot.sessions`, or read it at a quieter time; then run `redolake snapshot "
            f"{table} --replace`",
            table=table,
            scn=task.scn,
        )


def choose_scn(context: Run, task: ReadTask, found: DictionaryTable) -> int:
    """Return the current SCN, at which the table is still as it was when the snapshot began."""
    table, pipeline = task.table, context.pipeline
    with context.connect() as oracle:
        check_followed(context, read_redo_facts(oracle))
        handover, tables = read_handover_and_tables(
            oracle, [table], pipeline.source.container, pipeline.renamed, open_in_redo(context)
        )
        present = chosen_columns(pipeline, tables).get(table)
    if not context.landing.snapshots.was_begun(table, task.scn, chain_epoch(context)):
        raise SnapshotTooEarly(
            "a RESETLOGS or a declared gap lies between the chunks", cure="begin the snapshot again", table=table
        )
    if present is None or replace(present, scn_before=found.scn_before, scn_after=found.scn_after) != found:
        raise ChunksNeedOneScn(
            f"a DDL has changed the table since SCN {task.scn}, and undo no longer reaches it",
            cure=f"run `redolake snapshot {table} --replace`, which reads it from the beginning",
            table=table,
            scn=task.scn,
        )
    return int(handover.snapshot_scn)
