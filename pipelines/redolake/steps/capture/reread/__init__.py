"""Read rows again when a window lands: AS OF the window's end, for each row whose change commits in it.

The table's delivery decides what is read (BY_KIND). Rows of open transactions are kept until their end is read.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from redolake.context import Run
from redolake.host import crash
from redolake.land.windows import NOTHING_REREAD, Reread
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.records.windows import SliceRecord, WindowPlan
from redolake.source import read_tables
from redolake.steps.capture.reread.changed_rows import rows_to_reread
from redolake.steps.capture.reread.rows import reread_rows
from redolake.steps.capture.reread.touched import LATER, by_end, touched_rows, waiting_after
from redolake.steps.capture.reread.values import reread_values
from redolake.steps.shared.same_container import read_same_container
from redolake.values.delivery import RereadRows, RereadValues, reread_kind

BY_KIND = {RereadValues: reread_values, RereadRows: reread_rows}


def reread(context: Run, made: WindowPlan, records: Sequence[SliceRecord]) -> Reread:
    """Read again what the window needs into files that its manifest will name. An error of one table is recorded: apply holds
    the table if it needs a value. So it does if a table that was removed since the plan comes back."""
    choices = {table: context.pipeline.choice(table) for table in made.tables if context.pipeline.lists(table)}
    wanted = [table for table, one in choices.items() if "reread" in (one.large_objects, one.unsupported)]
    if not wanted:
        return NOTHING_REREAD
    token = uuid.uuid4().hex
    with context.oracle() as oracle:
        found = chosen_columns(
            context.pipeline, read_tables(oracle, wanted, context.pipeline.source.container, context.pipeline.renamed)
        )
        kinds = {table: kind for table, one in found.items() if (kind := reread_kind(one, choices[table])) is not None}
        described = {table: found[table] for table in kinds}
        if not described:
            return NOTHING_REREAD
        # Apply carries no transaction over a declared gap, so rows that wait for the end of one would wait for ever.
        before = [one for one in context.landing.windows.last(1) if context.landing.gaps.gap_at(one.end_position) is None]
        waiting = waiting_after(context, before[-1], made.object_ids, described) if before else LATER.empty_table()
        touched, ends = touched_rows(context, made.window.name, made.object_ids, records, described)
        now, later = by_end(pa.concat_tables([waiting, touched]), ends)
        later_file = context.landing.windows.write_reread_later(made.window.name, token, later) if later.num_rows else None
        tables = []
        for number, (table, one) in enumerate(described.items()):
            mine = now.filter(pc.equal(now["table"], str(table)))
            if mine.num_rows:
                tables.append(BY_KIND[kinds[table]](rows_to_reread(context, oracle, made, token, number, one, mine)))
        if tables:
            read_same_container(context, oracle)  # raises if the values may be those of another PDB
    crash.point("reread")
    return Reread(tuple(tables), later_file)
