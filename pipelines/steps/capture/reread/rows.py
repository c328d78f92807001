"""Read whole rows again, of a table whose changes LogMiner does not show.

A row that is there AS OF the window's end belongs into the lake as it is. One that is not there was deleted, under the key that
it had AS OF the window's start.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pipelines.context import PipelineContext
from pipelines.errors import OF_ALL_TABLES, RedolakeError
from pipelines.reconcile.chosen_columns import converted_columns, rules_of
from pipelines.reconcile.mappings import masked_columns
from pipelines.records.windows import RereadRows, WindowPlan
from pipelines.source import Source, Wanted, read_again, require_unfiltered
from pipelines.steps.capture.reread.keys import by_rowid, decoded_keys, key_names
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.ora_codes import OUT_OF_REACH
from pipelines.values.scn import Scn

log = logging.getLogger(__name__)


def reread_rows(
    context: PipelineContext,
    oracle: Source,
    made: WindowPlan,
    table: DictionaryTable,
    rows: pa.Table,
    token: str,
    number: int,
) -> RereadRows:
    """Read one table's changed rows AS OF the window's end, and the keys that they had at its start and at each snapshot inside
    it: the table's contents are of one of these SCNs. There is no other SCN to read at if undo does not reach these."""
    start, end, name = int(made.window.scns.start) - 1, int(made.window.scns.end) - 1, str(table.table)
    key, windows = key_names(context, table), context.landing.windows
    rowids, unnamed = by_rowid(rows)
    keys = tuple(decoded_keys(context, table, key, unnamed))
    if len(keys) < unnamed.num_rows:
        return RereadRows(name, end, None, error="the redo contains neither a ROWID nor a key of a changed row")
    values = tuple(column for column in table.captured if column.name not in key)
    inside = [scn for scn in context.landing.snapshots.scns(table.table) if start < scn < end]
    container = context.pipeline.source.container
    try:
        require_unfiltered(oracle, table.in_oracle, container)
        texts = rules_of(context.pipeline, table), converted_columns(table, context.landing.encoding())
        hidden = masked_columns(context.pipeline, table)
        after = Wanted(table, key, values, rowids, keys, *texts, hidden)
        file, count = windows.write_reread(made.window.name, token, number, read_again(oracle, after, Scn(end), container))
        earlier, why = keys_at(oracle, replace(after, columns=(), keys=()), (start, *inside), container)
        frames = [frame for found in earlier.values() for frame in found]
        before = windows.write_reread(made.window.name, token, number, frames, before=True)[0] if frames else None
    except RedolakeError as error:
        if isinstance(error, OF_ALL_TABLES) and error.ora_code not in OUT_OF_REACH:
            raise  # the window lands once the step is repeated
        log.warning("window %s: rows of %s could not be read again: %s", made.window.name, name, error.what)
        return RereadRows(name, end, None, error=error.what)
    log.info("window %s: %s row(s) of %s read again AS OF SCN %s", made.window.name, count, name, end)
    return RereadRows(name, end, file, count, error=why, before=before, bases=tuple(earlier), asked=len(rowids) + len(keys))


def keys_at(oracle: Source, wanted: Wanted, scns: Sequence[int], container: str | None) -> tuple[dict[int, list[Any]], str]:
    """Return the keys as frames by SCN, without SCNs that the database can no longer show, and why it shows none. Apply needs
    one of them: a table was often altered between the window's start and a snapshot inside it."""
    found: dict[int, list[Any]] = {}
    error = ""
    for scn in scns:
        try:
            found[scn] = list(read_again(oracle, wanted, Scn(scn), container))
        except RedolakeError as refused:
            if refused.ora_code not in OUT_OF_REACH:
                raise
            error = f"keys AS OF SCN {scn}: {refused.what}"
    return found, "" if found else error
