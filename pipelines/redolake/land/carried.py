"""The rows that a batch has carried over for one open transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from redolake.land.cures import carried_again
from redolake.land.files import Files
from redolake.land.parquet import read_columns
from redolake.records.file_digest import Digests
from redolake.values.redo import CONTROL

COLUMNS = ("con_id", "xid", "pxid", "operation_code", "seg_owner", "table_name", "object_id")


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """`rows` are change rows by LogMiner's owner, name and object id; `servers` the xids of its parallel servers."""

    rows: Counter[tuple[str | None, str | None, int | None]] = field(default_factory=Counter)
    servers: set[str] = field(default_factory=set)

    def add(self, batch: pa.RecordBatch, con_id: int, xid: str) -> None:
        is_server = pc.fill_null(pc.equal(batch["pxid"], xid), False)
        mine = pc.and_(pc.equal(batch["con_id"], con_id), pc.or_(pc.fill_null(pc.equal(batch["xid"], xid), False), is_server))
        change = pc.invert(pc.is_in(batch["operation_code"], value_set=pa.array(CONTROL, batch["operation_code"].type)))
        found = batch.filter(pc.fill_null(pc.and_(mine, change), False))
        self.rows.update(zip(*(found[name].to_pylist() for name in ("seg_owner", "table_name", "object_id")), strict=True))
        self.servers.update(pc.unique(found["xid"]).to_pylist())
        self.servers.discard(xid)


def read_carried(paths: Sequence[str], con_id: int, xid: str, digests: Digests) -> CarriedRows:
    """Read one transaction's rows from carry-over files; `digests` are by their paths."""
    found = CarriedRows()
    for path in paths:
        folder, _, name = path.rpartition("/")
        known = {name: digests[path]} if path in digests else {}
        for batch in read_columns(Files(folder), [name], COLUMNS, known, carried_again()):
            found.add(batch, con_id, xid)
    return found
