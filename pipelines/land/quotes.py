"""Whether LogMiner of the database doubles the quotes inside values: the first evidence that it does not is kept for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.host import crash
from pipelines.land import layout
from pipelines.land.files import Files
from pipelines.records.single_quotes import DoubtfulWindows, SingleQuotes
from pipelines.records.windows import SINGLE_QUOTE_ROWS, SliceRecord, WindowManifest, doubtful_quote_rows


class Quotes:
    def __init__(self, files: Files) -> None:
        self._files = files

    def evidence(self) -> SingleQuotes | None:
        """Return None while nothing shows that quotes are left single."""
        return self._files.read_record(SingleQuotes, layout.SINGLE_QUOTES)

    @crash.writer
    def record_evidence(self, window: str, before: Iterable[WindowManifest]) -> None:
        """Record that a window has rows with single quotes. `before` are all windows that have landed."""
        self._files.create_record(layout.SINGLE_QUOTES, SingleQuotes(window, doubtful_windows(before)))


def has_single_quotes(slice_records: Sequence[SliceRecord]) -> bool:
    return any(record.circumstance.get(SINGLE_QUOTE_ROWS, 0) for record in slice_records)


def doubtful_windows(manifests: Iterable[WindowManifest]) -> dict[str, DoubtfulWindows]:
    """Return the tables with quotes side by side, in the order of their first window."""
    found: dict[str, DoubtfulWindows] = {}
    for manifest in manifests:
        for table, rows in doubtful_quote_rows(manifest).items():
            earlier = found.get(table, DoubtfulWindows(manifest.name, manifest.name, 0))
            found[table] = DoubtfulWindows(earlier.first, manifest.name, earlier.rows + rows)
    return found
