"""Whether LogMiner of the database doubles the quotes inside values: the first evidence that it does not is kept for good.

Manifests of windows say it too, those of the later windows as well. So where the file is damaged or gone, it is made again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from redolake.errors import LandingDamaged
from redolake.host import crash
from redolake.land import layout
from redolake.land.chain import Chain
from redolake.land.cures import restore
from redolake.records.single_quotes import DoubtfulWindows, SingleQuotes
from redolake.records.windows import (
    SINGLE_QUOTE_ROWS,
    SliceRecord,
    WindowManifest,
    doubtful_quote_rows,
    knows_of_single_quotes,
    single_quote_rows,
)

log = logging.getLogger(__name__)


class Quotes:
    def __init__(self, chain: Chain) -> None:
        self._chain, self._files = chain, chain.files

    def evidence(self) -> SingleQuotes | None:
        """Return None while nothing shows that quotes are left single."""
        try:
            found = self._files.read_record(SingleQuotes, layout.SINGLE_QUOTES)
        except LandingDamaged as error:
            return self._from_windows(error)
        if found is None and any(map(knows_of_single_quotes, self._chain.last_windows(1))):
            gone = LandingDamaged("the file is gone", cure=restore(), path=self._files.path_text(layout.SINGLE_QUOTES))
            return self._from_windows(gone)
        return found

    def _from_windows(self, damage: LandingDamaged) -> SingleQuotes:
        """Write the evidence again, and return it. Raises the damage if no window has it."""
        pruned = self._chain.pruned
        if pruned is not None and pruned.single_quotes is not None:
            return self._write_again(pruned.single_quotes, damage)
        before = list[WindowManifest]()
        for manifest in filter(None, map(self._chain.manifest, self._chain.window_names())):
            if single_quote_rows(manifest):
                return self._write_again(self._evidence_of(manifest.name, before), damage)
            before.append(manifest)
        raise damage

    @crash.writer
    def _write_again(self, found: SingleQuotes, damage: LandingDamaged) -> SingleQuotes:
        log.warning("%s is written again from the windows: %s", layout.SINGLE_QUOTES, damage.what)
        self._files.replace_record(layout.SINGLE_QUOTES, found)
        return found

    def _evidence_of(self, window: str, before: Iterable[WindowManifest]) -> SingleQuotes:
        """Return the evidence of a window; `before` are all landed windows before it, which do not include pruned ones."""
        pruned = self._chain.pruned
        return SingleQuotes(window, join_doubtful({} if pruned is None else pruned.doubtful, doubtful_windows(before)))

    @crash.writer
    def record_evidence(self, window: str, before: Iterable[WindowManifest]) -> None:
        """Record that a window has rows with single quotes. `before` are all windows that have landed."""
        self._files.create_record(layout.SINGLE_QUOTES, self._evidence_of(window, before))


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


def join_doubtful(older: Mapping[str, DoubtfulWindows], newer: Mapping[str, DoubtfulWindows]) -> dict[str, DoubtfulWindows]:
    """Return the tables with quotes side by side in older or newer windows."""
    found = {**newer, **older}
    for table in older.keys() & newer.keys():
        first, last = older[table], newer[table]
        found[table] = DoubtfulWindows(first.first, last.last, first.rows + last.rows)
    return found
