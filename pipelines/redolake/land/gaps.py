"""Declared gaps, and the transactions that each of them has split."""

from __future__ import annotations

from collections.abc import Sequence

from redolake.errors import LandingConflict
from redolake.host import crash
from redolake.land import layout
from redolake.land.chain import Chain
from redolake.land.chain_rules import check_gap
from redolake.land.cures import found_again, mine_again
from redolake.land.parquet import read_columns
from redolake.land.split import COLUMNS, after_next_window
from redolake.records.gaps import DeclaredGap
from redolake.records.split import SplitTransaction, SplitTransactions
from redolake.records.windows import WindowManifest
from redolake.values.scn import ChainPosition


class Gaps:
    def __init__(self, chain: Chain) -> None:
        self._chain, self._files = chain, chain.files

    @crash.writer
    def declare(self, gap: DeclaredGap) -> DeclaredGap:
        """Continue the chain with a declared gap. Raises LandingConflict when the chain does not end at its start, or continues
        in another way already."""
        self._chain.finish(gap.name)
        published = self.gap_at(gap.start.chain_position)
        if published is None:
            check_gap(gap, self._chain.end())
            self._chain.continue_with(gap.name, gap)
            self._chain.finish(gap.name)
            published = self.gap_at(gap.start.chain_position)
        if published is None or (published.kind, published.end) != (gap.kind, gap.end):
            by = "a window" if published is None else f"a declared gap ({published.kind}, to SCN {published.end.scn})"
            raise LandingConflict(f"the chain continues with {by}", cure="see `redolake status`", scn=gap.start.scn)
        return published

    def gap_at(self, position: ChainPosition) -> DeclaredGap | None:
        return self._chain.gap_from(position)

    def all(self) -> list[DeclaredGap]:
        """Return the declared gaps in the order of the chain."""
        return self._chain.gaps()

    @crash.writer
    def split_by(self, gap: DeclaredGap) -> tuple[SplitTransaction, ...] | None:
        """Return the transactions that the gap has split; None while no window follows it. Each window is read once, and what
        is known at its end is kept."""
        state, newest = SplitTransactions(), ""
        for name in self._files.names(layout.split_folder(gap.name))[-1:]:
            newest = name.removesuffix(".json")
            file = layout.split_file(gap.name, newest)
            state = self._files.read_record(SplitTransactions, file, found_again(file)) or state
        windows = self._windows_after(gap, newest)
        for window in windows:
            paths = [layout.in_window(window.name, name) for name in window.files]
            digests = {layout.in_window(window.name, name): one for name, one in window.digests.items()}
            state = after_next_window(state, read_columns(self._files, paths, COLUMNS, digests, mine_again(window.name)))
            self._files.write_record_once(layout.split_file(gap.name, window.name), state)
        return state.transactions if windows or newest else None

    def _windows_after(self, gap: DeclaredGap, newest: str) -> Sequence[WindowManifest]:
        """Return the windows after the one called `newest`, from the gap's end to the next gap or RESETLOGS: no transaction
        continues after these."""
        start = gap.end.chain_position
        later = [other.start.chain_position for other in self.all() if other.name > gap.name]
        end = min(later, default=ChainPosition(start.resetlogs_id + 1, 0))
        names = (name for name in self._chain.window_names() if name > newest and layout.ends_after(name, start))
        found = [manifest for manifest in map(self._chain.manifest, names) if manifest is not None]
        return [m for m in found if m.resetlogs_id == start.resetlogs_id and start <= m.start_position < end]
