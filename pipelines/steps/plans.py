"""A window's plan as JSON, as the ledger keeps it between the tasks of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.formats import check_format, made
from pipelines.redo import LogCopy, LogFile, Slice, Window
from pipelines.scn import Scn, ScnRange
from pipelines.table import TableId

FORMAT = 2  # 2: whether a log is archived, by V$LOG
NAME = "the plan of a window"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the mining tasks need to know; `object_ids` are all ids the captured tables have or had, with whose they are."""

    window: Window
    tables: tuple[TableId, ...]
    object_ids: Mapping[int, TableId]
    dictionary_scn: int

    def to_json(self) -> dict[str, Any]:
        window = self.window
        return {
            "format": FORMAT,
            "dbid": window.dbid,
            "resetlogs_id": window.resetlogs_id,
            "start": window.scns.start,
            "end": window.scns.end,
            "slices": [
                {"number": s.number, "thread": s.thread, "logs": [_log_to_json(log) for log in s.logs]} for s in window.slices
            ],
            "tables": [asdict(table) for table in self.tables],
            "object_ids": [[number, asdict(table)] for number, table in sorted(self.object_ids.items())],
            "dictionary_scn": self.dictionary_scn,
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Plan:
        """Raises FormatTooNew."""
        check_format(body, FORMAT, NAME)
        slices = tuple(Slice(s["number"], s["thread"], tuple(_log_from_json(log) for log in s["logs"])) for s in body["slices"])
        scns = ScnRange(Scn(body["start"]), Scn(body["end"]))
        return cls(
            Window(body["dbid"], body["resetlogs_id"], scns, slices),
            tuple(made(TableId, t, NAME) for t in body["tables"]),
            {number: made(TableId, table, NAME) for number, table in body["object_ids"]},
            body["dictionary_scn"],
        )


def _log_to_json(log: LogFile) -> dict[str, Any]:
    return {**asdict(log), "first_at": None, "copies": [asdict(copy) for copy in log.copies]}


def _log_from_json(body: dict[str, Any]) -> LogFile:
    return made(LogFile, {**body, "copies": tuple(made(LogCopy, copy, NAME) for copy in body["copies"])}, NAME)
