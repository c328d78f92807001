"""What lies written beside the data, as values: landed windows, and batches with what became of them.

All of it is JSON with a format number; newer code reads older formats, older code refuses newer ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipelines.formats import check_format, made
from pipelines.scn import Scn, ScnRange

FORMAT = 1


@dataclass(frozen=True, slots=True, order=True)
class LogIdentity:
    """A log by what cannot differ between two runs over the same redo."""

    thread: int
    sequence: int
    resetlogs_id: int
    first_scn: int
    next_scn: int


@dataclass(frozen=True, slots=True)
class DdlRow:
    """A DDL of the redo that names a captured table or object id; `sql` is the user's text."""

    scn: int
    thread: int
    rs_id: str
    ssn: int
    owner: str
    table: str
    object_id: int
    sql: str
    info: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A landed window. The identity part is equal on every run over the same redo; `circumstance` may differ."""

    dbid: int
    resetlogs_id: int
    start: int
    end: int
    logs: tuple[LogIdentity, ...]
    tables: tuple[str, ...]  # OWNER.NAME captured, sorted
    counts: dict[str, int]  # "OWNER.NAME insert" -> rows; commits and rollbacks under "* commit", "* rollback"
    row_hash: str  # over position, SCN, xid, operation and object id of every row, log by log
    ddl: tuple[DdlRow, ...]
    files: tuple[str, ...]  # Parquet files, names relative to the window's folder
    circumstance: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def scns(self) -> ScnRange:
        return ScnRange(Scn(self.start), Scn(self.end))

    @property
    def name(self) -> str:
        return f"{self.resetlogs_id:010d}-{self.start:020d}-{self.end:020d}"

    def identity(self) -> dict[str, Any]:
        """Everything but the files' names (each attempt has its own), the circumstances, and the format it was written in."""
        return {k: v for k, v in as_json(self).items() if k not in ("files", "circumstance", "format")}


def as_json(manifest: Manifest) -> dict[str, Any]:
    from dataclasses import asdict

    body = asdict(manifest)
    body["logs"] = [asdict(log) for log in manifest.logs]
    body["ddl"] = [asdict(row) for row in manifest.ddl]
    body["tables"], body["files"] = list(manifest.tables), list(manifest.files)
    return body


def from_json(body: dict[str, Any], file: str) -> Manifest:
    """Raises FormatTooNew for what a newer Redolake wrote."""
    check_format(body, FORMAT, file)
    body = dict(body)
    body["logs"] = tuple(made(LogIdentity, log, file) for log in body["logs"])
    body["ddl"] = tuple(made(DdlRow, row, file) for row in body["ddl"])
    body["tables"], body["files"] = tuple(body["tables"]), tuple(body["files"])
    return made(Manifest, body, file)
