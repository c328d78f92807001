"""Read large objects of changed rows again AS OF the window's end.

A window answers for the transactions that commit before its end, so the value AS OF its end is the right one for every key
whose last committed change is in it. More rows than needed do no harm: each value is true AS OF that SCN.
"""

from __future__ import annotations

import logging

import pyarrow as pa

from pipelines.context import PipelineContext
from pipelines.errors import OF_ALL_TABLES, RedolakeError
from pipelines.reconcile.chosen_columns import converted_columns, rules_of
from pipelines.reconcile.mappings import masked_columns
from pipelines.records.windows import RereadRows, WindowPlan
from pipelines.source import Source, Wanted, read_again, read_current_scn, require_unfiltered
from pipelines.steps.capture.reread.keys import by_rowid, decoded_keys, key_names
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.ora_codes import OUT_OF_REACH
from pipelines.values.scn import Scn

log = logging.getLogger(__name__)


def reread_values(
    context: PipelineContext,
    oracle: Source,
    made: WindowPlan,
    table: DictionaryTable,
    rows: pa.Table,
    token: str,
    number: int,
) -> RereadRows:
    """Read one table's rows again AS OF the window's end; at a current SCN where undo no longer reaches that."""
    scn, container = Scn(made.window.scns.end - 1), context.pipeline.source.container
    key = key_names(context, table)
    rowids, unnamed = by_rowid(rows)
    keys = tuple(dict.fromkeys(decoded_keys(context, table, key, unnamed)))
    rules_, sets = rules_of(context.pipeline, table), converted_columns(table, context.landing.encoding())
    hidden = masked_columns(context.pipeline, table)
    wanted = Wanted(table, key, table.large_objects, rowids, keys, rules_, sets, hidden)
    name = str(table.table)
    if not rowids and not keys:
        return RereadRows(name, int(scn), None, error="the redo contains neither a ROWID nor a key of the changed rows")
    for late in (False, True):
        try:
            if late:
                oracle.use_container(container)
                scn = max(scn, read_current_scn(oracle))  # a standby may be behind the window, and then refuses its SCN
            require_unfiltered(oracle, table.in_oracle, container)
            file, count = context.landing.windows.write_reread(
                made.window.name, token, number, read_again(oracle, wanted, scn, container)
            )
        except RedolakeError as error:
            out_of_reach = error.ora_code in OUT_OF_REACH
            if out_of_reach and not late:
                continue
            if isinstance(error, OF_ALL_TABLES) and not out_of_reach:
                raise  # the window lands once the step is repeated
            log.warning("window %s: large objects of %s could not be read again: %s", made.window.name, name, error.what)
            return RereadRows(name, int(scn), None, late=late, error=error.what)
        else:
            log.info("window %s: %s row(s) of %s read again AS OF SCN %s", made.window.name, count, name, scn)
            return RereadRows(name, int(scn), file, count, late)
    raise AssertionError("a late reading returns")
