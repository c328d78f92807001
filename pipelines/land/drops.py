"""An open transaction that a person has dropped: its rows are not applied, however it ends. Pure.

It is written once beside the landing, under the transaction's own name. It says what only people knew, and is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.batch import Dropped, OpenTransaction
from pipelines.formats import check_format, made
from pipelines.manifest import FORMAT


@dataclass(frozen=True, slots=True)
class Drop:
    """`transaction` as it was open at `scn` of the incarnation, the end of the last batch; `rows` are those carried then, by
    table, `servers` the xids of its parallel servers."""

    transaction: OpenTransaction
    resetlogs_id: int
    scn: int
    reason: str
    by: str
    at: str
    rows: Mapping[str, int]
    servers: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def name(self) -> str:
        t = self.transaction
        return f"{self.resetlogs_id:010d}-{t.start_scn:020d}-{t.con_id}-{t.xid}"

    @property
    def place(self) -> tuple[int, int]:
        return self.resetlogs_id, self.scn

    @property
    def key(self) -> tuple[int, str, int]:
        return self.transaction.con_id, self.transaction.xid, self.transaction.start_scn

    @property
    def ordered(self) -> Dropped:
        """As the Spark job is told of it."""
        return Dropped(*self.key, servers=self.servers)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "rows": dict(self.rows), "servers": list(self.servers)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any], file: str) -> Drop:
        """Raises FormatTooNew."""
        check_format(body, FORMAT, file)
        own = {"transaction": made(OpenTransaction, body["transaction"], file), "servers": tuple(body["servers"])}
        return made(cls, {**body, **own}, file)
