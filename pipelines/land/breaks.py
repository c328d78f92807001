"""A break in the chain of windows: what lies between two positions is not read, because a person said so. Pure.

It takes the place in the chain that the window from its start would have had, so that of a break and a window only one gets
there. It says once what only people knew; nothing of it is ever changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipelines.batch import OpenTransaction
from pipelines.formats import check_format, made
from pipelines.manifest import FORMAT
from pipelines.redo import Position
from pipelines.scn import Scn

Kind = Literal["position", "snapshot", "gap"]


@dataclass(frozen=True, slots=True)
class Break:
    """`tables` are the captured ones with the SCN of the snapshot their contents came from: a newer one makes them whole.
    `dropped` are the transactions open at `start`: their rows were carried, and their commits may lie in the break."""

    kind: Kind
    start: Position
    end: Position
    reason: str
    by: str
    at: str
    lost: str
    tables: Mapping[str, int | None]
    dropped: tuple[OpenTransaction, ...] = ()
    format: int = FORMAT

    @property
    def name(self) -> str:
        """In the order of the chain, as windows are named."""
        return place_name(self.start.resetlogs_id, int(self.start.scn))

    @property
    def dropped_rows(self) -> int:
        return sum(transaction.rows for transaction in self.dropped)

    def concerns(self, table: object, snapshot_scn: int | None) -> bool:
        """Whether the table still has the contents it had when the break was made."""
        return str(table) in self.tables and self.tables[str(table)] == snapshot_scn

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "tables": dict(self.tables), "dropped": [asdict(t) for t in self.dropped], "is": "break"}

    @classmethod
    def from_json(cls, body: Mapping[str, Any], file: str) -> Break:
        """Raises FormatTooNew."""
        values = {name: value for name, value in body.items() if name != "is"}
        check_format(values, FORMAT, file)
        for edge in ("start", "end"):
            values[edge] = made(Position, {**values[edge], "scn": Scn(values[edge]["scn"])}, file)
        values["dropped"] = tuple(made(OpenTransaction, t, file) for t in values["dropped"])
        return made(cls, values, file)


def place_name(resetlogs_id: int, scn: int) -> str:
    return f"{resetlogs_id:010d}-{scn:020d}"


def is_break(body: Mapping[str, Any]) -> bool:
    return body.get("is") == "break"
