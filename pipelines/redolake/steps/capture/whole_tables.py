"""Read whole tables again when a window lands with a DDL that changed rows without redo: the key AS OF the window's end, and
the columns that Oracle filled.

Policies of `on_ddl` with `follow` ask for it. There is no second chance: a later SCN would show later changes too. Where undo
does not reach the window's end, or the table was altered since, the error is recorded, and apply holds the table before it.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redolake.config.on_ddl import DdlPolicies
from redolake.context import Run
from redolake.errors import OF_ALL_TABLES, RedolakeError, SchemaConflict
from redolake.host import crash
from redolake.land.dictionary import Readings
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.next_batch import unbroken
from redolake.reconcile.table_versions import derive_over, known_versions
from redolake.reconcile.whole_tables import steps_with_rows
from redolake.records.windows import WholeTable, WindowManifest, WindowPlan
from redolake.source import Source, read_tables
from redolake.steps.shared.table_rows import read_rows
from redolake.steps.snapshots.resnapshot import limit_rows
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import BEFORE_ALL, Scn
from redolake.values.table import TableId, TableVersion

log = logging.getLogger(__name__)

MAY_NEED_ROWS = re.compile(r"\b(?:SUB)?PARTITIONS?\b|\bDEFAULT\b|\bIDENTITY\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Needed:
    """A table to read: its version at the window's end, the names of the columns to read, and the SCNs of the DDLs."""

    version: TableVersion
    names: tuple[str, ...]
    ddl: tuple[int, ...]


def read_whole_tables(context: Run, made: WindowPlan, manifest: WindowManifest) -> tuple[WholeTable, ...]:
    """Read what the DDL of the window needs into files that its manifest will name. `manifest` has not landed yet."""
    wanted = list(needed(context, made.tables, manifest))
    if not wanted:
        return ()
    token, found = uuid.uuid4().hex, []
    with context.oracle() as oracle:
        tables = [one.version.table for one in wanted]
        described = chosen_columns(
            context.pipeline, read_tables(oracle, tables, context.pipeline.source.container, context.pipeline.renamed)
        )
        for number, one in enumerate(wanted):
            here = described.get(one.version.table)
            found.append(read_whole(context, oracle, made, one, here, f"{token}-{number:05d}"))
    crash.point("whole")
    return tuple(found)


def needed(context: Run, tables: Sequence[TableId], manifest: WindowManifest) -> Iterator[Needed]:
    """Yield the tables of which a DDL of the window changed rows, as apply will find it to."""
    followed = [table for table in tables if follows_rows(context.pipeline.ddl_policies(table))]
    if not followed or not any(MAY_NEED_ROWS.search(row.sql) for row in manifest.ddl):
        return
    before = last_batch(context)
    windows = unbroken([*context.landing.windows.after(BEFORE_ALL if before is None else before.end_position), manifest])
    readings = Readings(context.landing.dictionary)
    for table in followed:
        if known := known_versions(context, table):
            derived = derive_over(context, known, windows[0].start, windows, readings)
            steps, version = steps_with_rows(derived.steps, manifest), derived.versions[-1]
            if steps:
                filled = {step.column.id for step in steps if step.kind == "fill_column"}
                names = tuple(column.name for column in version.columns if column.id in {*version.key, *filled})
                yield Needed(version, names, tuple(sorted({int(step.scn) for step in steps})))


def follows_rows(policies: DdlPolicies) -> bool:
    return "follow" in (policies.drop_partition, policies.computed_default)


def read_whole(
    context: Run,
    oracle: Source,
    made: WindowPlan,
    needed: Needed,
    here: DictionaryTable | None,
    file: str,
) -> WholeTable:
    """Read one table AS OF the window's end. An error is recorded: it stops no other table."""
    scn, table = Scn(made.window.scns.end - 1), needed.version.table
    most = context.pipeline.settings(table).resnapshot.max_rows

    def write(answers: Iterator[Any]) -> tuple[str, int]:
        return context.landing.windows.write_whole(made.window.name, file, limit_rows(answers, table, most))

    try:
        narrow = only(needed, here)
        name, rows = read_rows(context, oracle, narrow, scn, needed.version.key_kind == "rowid", write)
    except RedolakeError as error:
        if isinstance(error, OF_ALL_TABLES) and error.ora_code not in OUT_OF_REACH:
            raise  # the window lands once the step is repeated
        log.warning("window %s: %s could not be read again: %s", made.window.name, table, error.what)
        return WholeTable(str(table), int(scn), needed.ddl, None, error=error.what)
    log.info("window %s: %s row(s) of %s read again AS OF SCN %s", made.window.name, rows, table, scn)
    return WholeTable(str(table), int(scn), needed.ddl, name, rows)


def only(needed: Needed, here: DictionaryTable | None) -> DictionaryTable:
    """Return the table with the needed columns alone. Raises SchemaConflict if it, or one of them, is another one by now."""
    version, own = needed.version, {} if here is None else {column.name: column for column in here.captured}
    places = {name: version.named(name) for name in needed.names}
    is_same = all(c is not None and name in own and own[name].segment_id == c.segment_id for name, c in places.items())
    if here is None or here.object_id != version.object_id or not is_same:
        raise SchemaConflict(
            f"the dictionary no longer shows {', '.join(needed.names) or 'the table'} as they were then",
            cure=f"run `redolake snapshot {version.table} --replace`",
            table=version.table,
        )
    return replace(here, columns=tuple(c for c in here.columns if c.name in needed.names or c.name not in own))
