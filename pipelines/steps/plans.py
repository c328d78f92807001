"""A window's plan as JSON, as the ledger keeps it between the tasks of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.redo import LogCopy, LogFile, Slice, Window
from pipelines.scn import Scn, ScnRange
from pipelines.table import DictionaryColumn, DictionaryTable, OracleType, TableId, UniqueIndex


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
        slices = tuple(Slice(s["number"], s["thread"], tuple(_log_from_json(log) for log in s["logs"])) for s in body["slices"])
        scns = ScnRange(Scn(body["start"]), Scn(body["end"]))
        return cls(
            Window(body["dbid"], body["resetlogs_id"], scns, slices),
            tuple(TableId(**t) for t in body["tables"]),
            {number: TableId(**table) for number, table in body["object_ids"]},
            body["dictionary_scn"],
        )


def _log_to_json(log: LogFile) -> dict[str, Any]:
    return {**asdict(log), "first_at": None, "copies": [asdict(copy) for copy in log.copies]}


def _log_from_json(body: dict[str, Any]) -> LogFile:
    return LogFile(**{**body, "copies": tuple(LogCopy(**copy) for copy in body["copies"])})


def dictionary_to_json(table: DictionaryTable) -> dict[str, Any]:
    return {**asdict(table), "log_groups": sorted(table.log_groups)}


def dictionary_from_json(body: dict[str, Any]) -> DictionaryTable:
    columns = tuple(DictionaryColumn(**{**c, "type": OracleType(**c["type"])}) for c in body["columns"])
    unique = tuple(UniqueIndex(**{**index, "columns": tuple(index["columns"])}) for index in body.get("unique", ()))
    fixed = {"table": TableId(**body["table"]), "columns": columns, "key": tuple(body["key"]), "unique": unique}
    return DictionaryTable(**{**body, **fixed, "log_groups": frozenset(body["log_groups"])})
