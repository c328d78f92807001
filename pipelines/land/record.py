"""What is known of one landed slice. It travels between tasks as JSON, so it holds counts and hashes, never rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.manifest import FORMAT, DdlRow, LogIdentity, check_format


@dataclass(frozen=True, slots=True)
class LogTally:
    """One log's rows, as far as the window answers for them; `row_hash` does not depend on batches or slicing."""

    log: LogIdentity
    row_count: int
    row_hash: str


@dataclass(frozen=True, slots=True)
class SliceRecord:
    window: str
    number: int
    token: str
    tables: tuple[str, ...]  # OWNER.NAME captured, sorted
    files: tuple[str, ...]  # relative to the window's folder
    logs: tuple[LogTally, ...]
    counts: Mapping[str, int]
    ddl: tuple[DdlRow, ...]
    circumstance: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        body = asdict(self)
        for name in ("tables", "files", "logs", "ddl"):
            body[name] = list(body[name])
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SliceRecord:
        """Raises FormatTooNew."""
        values = dict(body)
        check_format(values, f"record of slice {values.get('number')}")
        values["tables"], values["files"] = tuple(values.get("tables", ())), tuple(values["files"])
        values["logs"] = tuple(
            LogTally(LogIdentity(**tally["log"]), tally["row_count"], tally["row_hash"]) for tally in values["logs"]
        )
        values["ddl"] = tuple(DdlRow(**row) for row in values["ddl"])
        return cls(**values)
