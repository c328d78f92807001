"""Which landed rows are of these tables, where this process reads them itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from redolake.values.redo import TRANSACTION_ENDS
from redolake.values.table import TableId

Ids = Mapping[int, TableId]  # object ids that tables have or had
Names = Mapping[TableId, TableId]  # tables by the names that the redo may have for them


def own_rows(batch: pa.RecordBatch, ids: Ids, names: Names, codes: Sequence[int]) -> pa.RecordBatch:
    """Return the rows with these operations that may be of the tables, and the ends of transactions."""
    code = batch["operation_code"]
    by_id = pc.is_in(batch["object_id"], pa.array(sorted(ids), pa.int64()))
    by_name = pc.is_in(batch["table_name"], pa.array(sorted({one.name for one in names}), pa.string()))
    own = pc.and_(pc.is_in(code, pa.array(codes, pa.int32())), pc.or_(by_id, by_name))
    return batch.filter(pc.or_(pc.is_in(code, pa.array(TRANSACTION_ENDS, pa.int32())), own))


def table_of(row: Mapping[str, object], ids: Ids, names: Names) -> TableId | None:
    number = row["object_id"]
    known = ids.get(number) if isinstance(number, int) else None
    return known or names.get(TableId(str(row["seg_owner"]), str(row["table_name"])))
