"""The result of the demo, as printed tables and as report.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from redolake.records.proofs import TableProof
from redolake.steps.proof.verify import Verification
from redolake.steps.shared.status import WindowReport

COUNTS = ("table", "source_rows", "delta_rows", "differing_cells")


@dataclass(frozen=True, slots=True)
class Report:
    """`workload` is its summary."""

    seconds: float
    windows: Sequence[WindowReport]
    verified: Verification
    workload: Mapping[str, Any]

    @property
    def equal(self) -> bool:
        """Whether no cell differs; False if nothing was compared."""
        return bool(self.verified.tables) and all(
            not t.differing_cells and t.source_rows == t.delta_rows and not t.missing_rows and not t.extra_rows
            for t in self.verified.tables
        )

    @property
    def applied_scn(self) -> int:
        """The SCN to which all tables are complete."""
        return min((t.scn for t in self.verified.tables if t.scn is not None), default=0)

    def as_dict(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 1),
            "applied_scn": self.applied_scn,
            "windows": len(self.windows),
            "tables": [{name: getattr(t, name) for name in COUNTS} for t in self.verified.tables],
        }

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(self.as_dict(), indent=2) + "\n")

    def rendered(self) -> RenderableType:
        parts: list[RenderableType] = [self._windows_table(), comparison_table(self.verified.tables)]
        samples = [(table, d.key, d.column, d.source, d.delta) for table, found in self.verified.samples.items() for d in found]
        if samples:
            parts.append(_table("First differences", ("table", "key", "column", "source", "Delta"), samples))
        verdict = "Source and Delta are equal, cell by cell." if self.equal else "SOURCE AND DELTA DIFFER."
        parts.append(Text(verdict, style="bold green" if self.equal else "bold red"))
        return Group(*parts)

    def _windows_table(self) -> Table:
        rows = [(w.from_scn, w.last_scn, w.logs, w.threads, w.rows) for w in self.windows]
        return _table("Landed windows", ("from SCN", "to SCN", "logs", "redo threads", "change rows"), rows)


def comparison_table(tables: Sequence[TableProof]) -> Table:
    """Return the rows of `redolake verify` as a table."""
    rows = [(t.table, t.scn, t.source_rows, t.delta_rows, t.differing_cells) for t in tables]
    return _table("Comparison AS OF the applied SCN", ("table", "SCN", "source rows", "Delta rows", "differing cells"), rows)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    grid = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        numeric = all(isinstance(row[number], int) for row in rows)
        grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return grid
