"""What is known of one landed slice. It travels between tasks as JSON, so it holds counts and hashes, never rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.formats import check_format, made
from pipelines.manifest import FORMAT, DdlRow, LogIdentity


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
        name = f"record of slice {values.get('number')}"
        check_format(values, FORMAT, name)
        values["tables"], values["files"] = tuple(values.get("tables", ())), tuple(values["files"])
        values["logs"] = tuple(
            made(LogTally, {**tally, "log": made(LogIdentity, tally["log"], name)}, name) for tally in values["logs"]
        )
        values["ddl"] = tuple(made(DdlRow, row, name) for row in values["ddl"])
        return made(cls, values, name)
