"""What is still needed of the landing, and for which promise. `redolake prune` removes nothing at or after these positions.

Each promise has one function in PROMISES. It yields the first position from which windows must stay, in words for a person. A
promise that keeps files of other kinds says so where these are removed: see steps/upkeep/prune.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redolake.context import Run, now
from redolake.land import layout
from redolake.land.closings import still_open
from redolake.land.files import Files
from redolake.ledger import TableEntry
from redolake.reconcile.ledger import last_batch
from redolake.records.batches.spec import BatchSpec
from redolake.values.moment import COPY
from redolake.values.scn import BEFORE_ALL, ChainPosition

LISTED_AT_ONCE = 16
GAPS_STAY = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Need:
    """Windows that end after `position` stay, because of `what`; `cure` says how that ends."""

    position: ChainPosition
    what: str
    cure: str


def transactions(context: Run) -> Iterator[Need]:
    """Keep the windows from the start of the oldest open transaction on: its carried rows are read from them again where their
    files are damaged."""
    last = last_batch(context)
    if last is None:
        yield Need(BEFORE_ALL, "no batch has applied a window yet", "let apply run")
        return
    oldest = min(last.open_transactions, key=lambda found: found.start_scn, default=None)
    if oldest is not None:
        parked = any(part.part.key == oldest.key for part in last.parked)
        what = f"transaction {oldest.xid} of container {oldest.con_id} is open since SCN {oldest.start_scn}, {oldest.rows} rows"
        cure = f"wait until it ends, or drop it: `redolake tx drop {oldest.xid} --execute --reason TEXT --yes`"
        yield Need(ChainPosition(last.resetlogs_id, oldest.start_scn), what + (", parked" if parked else ""), cure)


def tables_behind(context: Run) -> Iterator[Need]:
    """Keep the windows that a held or lagging table has not applied."""
    last = last_batch(context)
    for entry in context.ledger.tables():
        end = entry.contents_end
        if end is None or entry.table not in context.pipeline.by_id:
            continue
        if entry.state == "held":
            cure = f"`redolake resume {entry.table.in_command}`, or `redolake snapshot {entry.table.in_command} --replace`"
            yield Need(end, f"{entry.table} is held and complete to SCN {entry.complete_to_scn}", cure)
        elif last is not None and end < last.end_position:
            yield Need(end, f"{entry.table} lags, complete to SCN {entry.complete_to_scn}", "let apply catch it up")


def snapshots_under_way(context: Run) -> Iterator[Need]:
    """Keep the windows after a snapshot that is being read or loaded."""
    entries = [entry for entry in context.ledger.tables() if entry.table in context.pipeline.by_id]
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
        for entry, begun in zip(entries, pool.map(lambda one: begun_snapshot(context, one), entries), strict=True):
            if begun is not None:
                what = f"a snapshot of {entry.table} AS OF SCN {begun.scn} was begun and is not loaded"
                replace = "" if entry.contents_end is None else " --replace"
                yield Need(
                    begun.plus(1), what, f"let it end, or run `redolake snapshot {entry.table.in_command}{replace}` again"
                )


def begun_snapshot(context: Run, entry: TableEntry) -> ChainPosition | None:
    """Return the position of the table's newest snapshot, if that is younger than `keep.attempts` and not loaded."""
    snapshots = context.landing.snapshots
    scn = max(snapshots.scns(entry.table), default=None)
    if scn is None or (scn == entry.snapshot_scn and entry.state in ("live", "held")):
        return None
    at = max(
        (file.modified for file in context.landing.files.list_files(layout.snapshot_folder(entry.table, scn))), default=None
    )
    since = snapshots.redo_needed_from(entry.table, scn)
    is_young = at is not None and at > now() - context.pipeline.keep.attempts
    return ChainPosition(since.resetlogs_id, scn) if since is not None and is_young else None


def backfills_under_way(context: Run) -> Iterator[Need]:
    """Keep the windows that a running backfill reads; one that was killed long ago has left a spec without a manifest too."""
    files = context.landing.files
    for name in files.names(layout.BACKFILLS):
        at = (
            None
            if files.exists(layout.replay_manifest(layout.backfill_folder(name)))
            else files.time_of(layout.backfill_spec(name))
        )
        if at is None or at <= now() - context.pipeline.keep.attempts:
            continue
        spec = files.read_record(BatchSpec, layout.backfill_spec(name))
        if spec is not None:
            position = ChainPosition(spec.resetlogs_id, spec.start)
            yield Need(position, f"a backfill from SCN {spec.start} to {spec.end} was begun", "let it end")


def open_gaps(context: Run) -> Iterator[Need]:
    """Keep what closing a declared gap reads: the windows since the oldest transaction that it dropped began."""
    for gap in context.landing.gaps.all():
        present = still_open(gap, context.landing.closings.of)
        captured = [entry for entry in context.ledger.tables() if entry.table in context.pipeline.by_id]
        lacking = [entry for entry in captured if present.concerns(entry.table, entry.snapshot_scn)]
        is_old = datetime.fromisoformat(gap.at).astimezone(UTC) <= now() - GAPS_STAY
        if gap.kind == "snapshot" or not lacking or is_old:
            continue
        first = min((one.start_scn for one in gap.dropped), default=int(gap.start.scn))
        what = f"{lacking[0].table} lacks the declared gap from SCN {gap.start.scn}, which restored logs may close"
        cure = f"`redolake close-gap`, or `redolake snapshot {lacking[0].table.in_command} --replace`"
        yield Need(ChainPosition(gap.start.resetlogs_id, first), what, cure)


def replay(context: Run) -> Iterator[Need]:
    """Keep what `keep.replay` promises for backfills."""
    horizon = context.pipeline.keep.replay
    if horizon is not None:
        what = f"`keep.replay` promises the windows of the last {text_of(horizon)}"
        yield Need(end_of_older(context, now() - horizon), what, "choose a shorter `keep.replay`")


def whole_copies(context: Run) -> Iterator[Need]:
    """Keep the windows since the whole copies of tables that may take the live ones' places, or go back there."""
    last = last_batch(context)
    names = Files(context.pipeline.lake, public=True).names(layout.SHADOWS) if last is not None else []
    for found in filter(None, map(COPY.fullmatch, names)):
        scn = int(found["start"]) if found["kind"] == "replaced" else int(found["end"]) - 1
        assert last is not None, "else there are no names"
        cure = f"remove the folder {layout.SHADOWS}/{found[0]} of the lake, or set `keep.shadows`"
        yield Need(ChainPosition(last.resetlogs_id, scn + 1), f"the copy {found[0]} of tables is complete to SCN {scn}", cure)


PROMISES: tuple[Callable[[Run], Iterable[Need]], ...] = (
    transactions,
    tables_behind,
    snapshots_under_way,
    backfills_under_way,
    open_gaps,
    whole_copies,
    replay,
)


def find_needs(context: Run) -> list[Need]:
    """Return what is needed, the oldest first."""
    return sorted((need for promise in PROMISES for need in promise(context)), key=lambda need: need.position)


def end_of_older(context: Run, limit: datetime) -> ChainPosition:
    """Return the end of the newest window that landed by then; BEFORE_ALL if there is none.

    Windows land in the order of the chain, so few are asked for. One that was mined again since, or copied with the
    landing, counts as younger: it stays longer."""
    names = context.landing.windows.names()
    low, high = 0, len(names)
    while low < high:
        middle = (low + high) // 2
        at = context.landing.windows.landing_time(names[middle])
        low, high = (middle + 1, high) if at is not None and at <= limit else (low, middle)
    return layout.end_position(names[low - 1]) if low else BEFORE_ALL


def text_of(age: timedelta) -> str:
    """Return `30 days`, or hours of what is shorter than two days."""
    return f"{age.days} days" if age >= timedelta(days=2) else f"{age.total_seconds() / 3600:g} hours"
