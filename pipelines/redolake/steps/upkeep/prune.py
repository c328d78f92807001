"""Prune: remove what `keep` says is too old and nothing needs any more. Files that a promise still needs stay, and are listed
with it.

The record of what was pruned is written first, under the apply lease; from then on nobody reads the windows and batches before
it. A removal that is killed is finished by the next prune.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redolake.config import Pipeline
from redolake.context import Run, held_lease, now, step
from redolake.errors import ConfigurationError, Finding, Terminal
from redolake.host import crash
from redolake.host.progress import silent
from redolake.land import layout
from redolake.land.files import Files
from redolake.land.pruned import PrunedFiles
from redolake.reconcile import prunable
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.needed import end_of_older, find_needs, text_of
from redolake.reconcile.omitted_tables import without_start
from redolake.reconcile.pruning import cut_at, make_record
from redolake.steps.shared.leases import apply_lease
from redolake.steps.shared.status import lacked_gaps
from redolake.values.scn import BEFORE_ALL, ChainPosition

LEASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Staying:
    """What stays although it is older than `keep` says, why, and how that ends."""

    what: str
    why: str
    cure: str


@dataclass(frozen=True, slots=True)
class PrunedKind:
    """`number` files and folders, or rows of the ledger, of one kind; `because` names the setting."""

    kind: str
    number: int
    because: str


@dataclass(frozen=True, slots=True)
class PruneReport:
    """The chain begins at `begins_at`, or would; None where nothing of it was ever pruned. `done` is False for a dry run.
    `keep` counts back from `at`; `cut` is the position from which the chain newly begins."""

    pipeline: str
    done: bool
    begins_at: int | None
    kinds: tuple[PrunedKind, ...]
    stays: tuple[Staying, ...]
    at: str
    cut: str | None

    @property
    def shown(self) -> list[Any]:
        """What identifies what is removed."""
        return [self.at, self.cut, {kind.kind: kind.number for kind in self.kinds}]


Kinds = list[PrunedKind]  # what is to be removed, kind by kind


def take_away(run: Run, kinds: Kinds, kind: str, paths: Iterable[str], because: str, files: PrunedFiles | None = None) -> None:
    """Count the files and folders, and remove them unless it is a dry run."""
    found = list(paths)
    if found:
        kinds.append(PrunedKind(kind, len(found), because))
        run.report(f"{kind}: {len(found)}")
    if run.execute:
        (files or run.landing.pruning).remove_all(found)


@step
def prune_pipeline(run: Run, *, shown: Sequence[Any] | None = None) -> PruneReport:
    """Remove what is too old, or only say what would go and why the rest stays. `shown` is what a person approved
    (PruneReport.shown): then that is removed and nothing else.

    Raises LeaseHeld while a batch runs, and Terminal where it is not what was shown."""
    check_horizons(run.pipeline)
    at, shown_cut = (now(), None) if shown is None else (datetime.fromisoformat(shown[0]), shown[1])
    with apply_lease(run) if run.execute else nullcontext():
        reconcile_ledger(run)
        cut, stays = choose_cut(run, at, shown_cut)
        begins = cut if cut is not None else begins_at(run)
        if shown is not None:
            check_shown(cut, remove_old(looking(run), at, begins), shown)
        if cut is not None and run.execute:
            record_cut(run, cut)
        elif run.execute and run.landing.pruned is not None:
            run.landing.pruning.complete(run.landing.pruned)
    kinds = remove_old(run, at, begins)
    scn = None if begins is None else begins.scn
    return PruneReport(run.name, run.execute, scn, kinds, tuple(stays), at.isoformat(), None if cut is None else cut.name)


def looking(run: Run) -> Run:
    """Return the run without what it would do."""
    made = copy(run)
    made.execute, made.report = False, silent
    return made


def remove_old(run: Run, at: datetime, begins: ChainPosition | None) -> tuple[PrunedKind, ...]:
    run.look_again()  # from here on it reads what was recorded
    with apply_lease(run) if run.execute else nullcontext():
        left = list(prunable.left_files(run, at - run.pipeline.keep.attempts))
    kinds = Kinds()
    if begins is not None:
        remove_before(run, kinds, begins)
    remove_others(run, kinds, at, left)
    remove_rows(run, kinds, at, begins)
    return tuple(kinds)


def check_shown(cut: ChainPosition | None, kinds: Sequence[PrunedKind], shown: Sequence[Any]) -> None:
    """Raise Terminal where something else would be removed than was shown to who decided."""
    _, shown_cut, numbers = shown
    if (None if cut is None else cut.name, {kind.kind: kind.number for kind in kinds}) != (shown_cut, numbers):
        counted = ", ".join(f"{kind.number} {kind.kind}" for kind in kinds) or "nothing"
        approved = ", ".join(f"{number} {kind}" for kind, number in numbers.items()) or "nothing"
        raise Terminal(
            f"{counted} would be removed, and {approved} were shown",
            cure="look again, and decide of these",
        )


def check_horizons(pipeline: Pipeline) -> None:
    """Raise ConfigurationError for a horizon that contradicts another one."""
    keep = pipeline.keep
    if keep.landing is not None and keep.replay is not None and keep.landing < keep.replay:
        what = f"is {text_of(keep.landing)}, and `keep.replay` promises {text_of(keep.replay)}"
        raise ConfigurationError([Finding(f"{pipeline.name}.keep.landing", what, "make `landing` the longer one")])


def begins_at(context: Run) -> ChainPosition | None:
    return None if context.landing.pruned is None else context.landing.pruned.position


def choose_cut(context: Run, at: datetime, shown: str | None) -> tuple[ChainPosition | None, list[Staying]]:
    """Return where the chain can begin, None where it can lose nothing, and what stays although it is old enough to go. It does
    not begin later than was shown."""
    if context.pipeline.keep.landing is None:
        return None, []
    needs, wanted = find_needs(context), end_of_older(context, at - context.pipeline.keep.landing)
    stays = [Staying(f"windows from SCN {n.position.scn} on", n.what, n.cure) for n in needs if n.position < wanted]
    if shown is not None:
        wanted = min(wanted, ChainPosition.parse(shown))
    cut = cut_at(context, min([wanted, *(need.position for need in needs)]))
    return (None if cut is None or cut <= (begins_at(context) or BEFORE_ALL) else cut), stays


@crash.writer
def record_cut(context: Run, cut: ChainPosition) -> None:
    for gap in lacked_gaps(context):
        context.landing.gaps.split_by(gap)  # what it knows of the windows that go
    without_start(context, cut)
    by = context.decided_by
    context.ledger.record_decision("prune", {"from_scn": cut.scn, "reason": context.reason}, by)
    context.landing.pruning.write_pruned(make_record(context, cut, now().isoformat(timespec="seconds"), by))


def remove_before(context: Run, kinds: Kinds, cut: ChainPosition) -> None:
    """Remove what the cut has left behind, also that of an older cut whose removal was killed."""
    because = "keep.landing"
    take_away(context, kinds, "windows", prunable.pruned_windows(context, cut), because)
    take_away(context, kinds, "links between windows and batches", prunable.pruned_links(context, cut), because)
    take_away(
        context,
        kinds,
        "batches, or files of batches whose rows are still carried",
        prunable.pruned_batches(context, cut),
        because,
    )
    take_away(context, kinds, "loads of tables that were loaded again", prunable.pruned_loads(context, cut), because)
    take_away(context, kinds, "states of split transactions", prunable.passed_splits(context), because)
    with held_lease(context, "capture", LEASE_SECONDS) if context.execute else nullcontext():
        gone = prunable.pruned_readings(context, cut)
        contents = prunable.pruned_contents(context, set(gone)) if gone else set()
        take_away(context, kinds, "dictionary readings", map(context.landing.dictionary.file_of, gone), because)
        take_away(context, kinds, "dictionary contents", map(layout.dictionary_content, sorted(contents)), because)


def remove_others(context: Run, kinds: Kinds, at: datetime, left: Sequence[str]) -> None:
    keep = context.pipeline.keep
    take_away(context, kinds, "files of killed attempts", left, "keep.attempts")
    if keep.snapshots is not None:
        take_away(
            context, kinds, "files of snapshots", prunable.loaded_snapshots(context, at - keep.snapshots), "keep.snapshots"
        )
    if keep.proofs is not None:
        take_away(context, kinds, "results of comparisons", prunable.old_proofs(context, at - keep.proofs), "keep.proofs")
    if keep.shadows is not None:
        lake = Files(context.pipeline.lake, public=True)
        take_away(context, kinds, "backfills", prunable.old_backfills(context, at - keep.shadows), "keep.shadows")
        take_away(
            context,
            kinds,
            "shadow tables' folders",
            prunable.old_shadows(lake, at - keep.shadows),
            "keep.shadows",
            PrunedFiles(lake),
        )


def remove_rows(context: Run, kinds: Kinds, at: datetime, begins: ChainPosition | None) -> None:
    """Remove rows of the ledger about what is no longer in the landing."""
    horizon = context.pipeline.keep.ledger
    if horizon is None:
        return
    number = context.ledger.forget_pruned(begins or BEFORE_ALL, at - horizon, dry_run=not context.execute)
    if number:
        kinds.append(PrunedKind("rows of the ledger", number, "keep.ledger"))


def describe_pruned(found: PruneReport) -> Iterator[str]:
    """Yield lines for a person."""
    if not found.kinds and not found.stays:
        yield "Nothing is too old: `keep` in pipelines.yml says how long what stays."
    for kind in found.kinds:
        yield f"{'removed' if found.done else 'would go'}: {kind.number} {kind.kind} ({kind.because})"
    if found.begins_at is not None and found.kinds:
        yield f"the chain {'begins' if found.done else 'would begin'} at SCN {found.begins_at}"
    for one in found.stays:
        yield f"stays: {one.what}, because {one.why}. To change that: {one.cure}"
