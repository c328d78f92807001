"""By what rows are read again: their ROWIDs, or their keys as the redo shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from redolake.context import Run
from redolake.decode.changes import decode_changes
from redolake.host.arrow_check import check_arrow
from redolake.reconcile.table_versions import known_versions, rules
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.logminer import NO_ROWID
from redolake.values.redo import Operation
from redolake.values.table import ROWID_NAME


def key_names(context: Run, table: DictionaryTable) -> tuple[str, ...]:
    policy = context.pipeline.table(table.table).key_policy
    return {"primary": table.key, "rowid": (ROWID_NAME,)}.get(policy.kind, policy.columns)


def by_rowid(rows: pa.Table) -> tuple[tuple[str, ...], pa.Table]:
    """Return the ROWIDs of the rows, and the rows without one."""
    has_rowid = pc.and_(rows["row_id"].is_valid(), pc.not_equal(rows["row_id"], NO_ROWID)).fill_null(False)
    return tuple(sorted(pc.unique(rows.filter(has_rowid)["row_id"]).to_pylist())), rows.filter(pc.invert(has_rowid))


def decoded_keys(context: Run, table: DictionaryTable, key: Sequence[str], rows: pa.Table) -> Iterator[tuple[object, ...]]:
    """Yield the keys of rows without a ROWID: INSERTs, and all changes of a statement that writes large objects but the last. A
    row that cannot be decoded, and an UPDATE of the key, are left to apply, which holds the table."""
    versions = known_versions(context, table.table)
    if not versions or not rows.num_rows or ROWID_NAME in key:
        return
    version = versions[-1]
    columns = [column for name in key if (column := version.named(name)) is not None]
    narrow, types = replace(version, columns=tuple(columns)), rules(context, table.table, (version,))
    check_arrow()
    for batch in rows.combine_chunks().to_batches():
        for row in decode_changes(batch, narrow, types, encoding=context.landing.encoding()).to_pylist():
            sides = {Operation.INSERT: "n", Operation.UPDATE: "on"}.get(row["operation_code"], "o")
            found = {tuple(row[f"{side}{column.id}"] for column in columns) for side in sides}
            if row["error"] is None and len(columns) == len(key) and len(found) == 1:
                yield found.pop()
