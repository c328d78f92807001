"""Declared gaps, and the transactions whose START is not in the windows after a gap, or after the chain's begin."""

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
from redolake.records.unlisted import NobodyListed
from redolake.records.windows import WindowManifest
from redolake.values.scn import ChainPosition

BEFORE_WINDOWS = "0"  # sorts before the name of each window


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

    def split_by(self, gap: DeclaredGap) -> tuple[SplitTransaction, ...] | None:
        """Return the transactions that the gap has split; None while no window follows it."""
        state = self.without_start(gap.name, gap.end.chain_position)
        return None if state is None else tuple(one for one in state.transactions if one.rows)

    def last_before(self, position: ChainPosition) -> DeclaredGap | None:
        """Return the last declared gap that ends at or before a position."""
        return next((gap for gap in reversed(self.all()) if gap.end.chain_position <= position), None)

    @crash.writer
    def without_start(self, name: str, start: ChainPosition) -> SplitTransactions | None:
        """Return which transactions have no START since `start`: that of the gap called `name`, or the chain's. None while no
        window follows. Each window is read once, and what is known at its end is kept."""
        state, newest = SplitTransactions(), ""
        for file_name in self._files.names(layout.split_folder(name))[-1:]:
            newest = file_name.removesuffix(".json")
            file = layout.split_file(name, newest)
            state = self._files.read_record(SplitTransactions, file, found_again(file)) or state
        windows = self._windows_after(name, start, newest)
        for window in windows:
            paths = [layout.in_window(window.name, file) for file in window.files]
            digests = {layout.in_window(window.name, file): one for file, one in window.digests.items()}
            batches = read_columns(self._files, paths, COLUMNS, digests, mine_again(window.name))
            state = after_next_window(state, batches, window.resetlogs_id)
            self._files.write_record_once(layout.split_file(name, window.name), state)
        return state if windows or newest else None

    @crash.writer
    def keep_without_start(self, name: str) -> None:
        """Keep from now on which transactions have no START: a snapshot was begun, and nobody showed what was open. That this
        is so is beside the states, which may be removed."""
        self._files.write_record_once(layout.unlisted_file(name), NobodyListed())
        if not self._files.names(layout.split_folder(name)):
            self._files.write_record_once(layout.split_file(name, BEFORE_WINDOWS), SplitTransactions())

    @property
    def keeps_without_start(self) -> bool:
        """Whether a snapshot was begun at which nobody showed what was open."""
        return bool(self._files.names(layout.UNLISTED))

    def _windows_after(self, name: str, start: ChainPosition, newest: str) -> Sequence[WindowManifest]:
        """Return the windows after the one called `newest`, from `start` to the next gap."""
        end = min((gap.start.chain_position for gap in self.all() if gap.name > name), default=None)
        names = (one for one in self._chain.window_names() if one > newest and layout.ends_after(one, start))
        found = [manifest for manifest in map(self._chain.manifest, names) if manifest is not None]
        return [m for m in found if start <= m.start_position and (end is None or m.start_position < end)]
