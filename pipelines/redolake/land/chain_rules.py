"""Which window or declared gap may continue the chain, and the manifest of a window. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from redolake.errors import InvariantBroken, LandingConflict, report_with
from redolake.land.tally import log_identity
from redolake.records.gaps import DeclaredGap
from redolake.records.readers import READS_FROM
from redolake.records.windows import SliceRecord, WindowManifest
from redolake.values.redo import Position, Window
from redolake.values.scn import BEFORE_ALL, ChainPosition
from redolake.values.table import TableId

TAKEN_CURE = "plan again from the end of the chain, with a new run: the range has landed already"


def build_manifest(window: Window, tables: Sequence[TableId], records: Sequence[SliceRecord]) -> WindowManifest:
    """Return the window's manifest. Raises InvariantBroken when the records are not exactly the slices and logs of the window,
    LandingConflict when they were mined for other tables than the plan's."""
    ordered = sorted(records, key=lambda r: r.number)
    wanted = [(s.number, [log_identity(g) for g in s.logs]) for s in window.slices]
    found = [(r.number, [tally.log for tally in r.logs]) for r in ordered]
    if found != wanted or any(r.window != window.name for r in ordered):
        cure = "mine the window's slices again; records of another plan cannot be published under it"
        raise InvariantBroken("the mined slices are not those of the window", cure=cure, window=window.name)
    captured = tuple(sorted(str(t) for t in tables))
    for record in ordered:
        if record.tables != captured:
            raise LandingConflict(
                f"a slice was mined for {', '.join(record.tables) or 'no table'}; the plan says {', '.join(captured)}",
                cure="begin a new run: plan, mine and land under one list of tables",
                window=window.name,
                slice=record.number,
            )
    tallies = sorted((tally for r in ordered for tally in r.logs), key=lambda t: t.log)
    counts: dict[str, int] = {}
    for record in ordered:
        for name, count in record.counts.items():
            counts[name] = counts.get(name, 0) + count
    lines = "".join(f"{t.log.thread}/{t.log.sequence} {t.row_count} {t.row_hash}\n" for t in tallies)
    return WindowManifest(
        dbid=window.dbid,
        resetlogs_id=window.resetlogs_id,
        start=int(window.scns.start),
        end=int(window.scns.end),
        logs=tuple(t.log for t in tallies),
        tables=captured,
        counts=dict(sorted(counts.items())),
        row_hash=hashlib.sha256(lines.encode()).hexdigest(),
        ddl=tuple(sorted((row for r in ordered for row in r.ddl), key=lambda d: (d.scn, d.thread, d.rs_id, d.ssn))),
        files=tuple(name for r in ordered for name in r.files),
        doubtful_scn=None if window.doubtful_scn is None else int(window.doubtful_scn),
        circumstance={"slices": {str(r.number): _circumstance(r) for r in ordered}, **_taken_over(window)},
    )


def _taken_over(window: Window) -> Mapping[str, Any]:
    return {} if window.reads_from is None else {READS_FROM: int(window.reads_from)}


def _circumstance(record: SliceRecord) -> Mapping[str, Any]:
    return {"token": record.token, **record.circumstance}


def capture_starts(
    newest_first: Iterable[WindowManifest], tables: Collection[TableId], enough: ChainPosition = BEFORE_ALL
) -> dict[TableId, int]:
    """Return by table the start of the last run of adjoining windows that capture it, or of its newest window that begins at
    `enough` or before, so that no older ones are read. A table that the newest window does not capture is left out."""
    rest, starts, next_start = {str(table): table for table in tables}, dict[TableId, int](), None
    for window in newest_first:
        captured = set(window.tables)
        rest = {name: table for name, table in rest.items() if name in captured}
        if not rest or next_start not in (None, window.end):
            break
        starts.update(dict.fromkeys(rest.values(), window.start))
        if window.start_position <= enough and window.start <= enough.scn:
            break
        next_start = window.start
    return starts


def check_position(window: Window, end: Position | None, previous_end: int | None) -> None:
    """Raise LandingConflict unless the window continues the chain, whose end is `end`, and was `previous_end` when its writer
    planned."""
    start, replan = int(window.scns.start), "plan again from the end of the chain"
    if previous_end is not None and (end is None or end.scn != previous_end):
        shown = "nothing is landed" if end is None else f"it ends at {end.scn}"
        what = f"the window was planned when the chain ended at SCN {previous_end}, but {shown}"
        raise LandingConflict(what, cure=replan, window=window.name)
    if previous_end is not None and start != previous_end:
        what = f"the window begins at SCN {start}, but the chain ends at {previous_end}: that would leave a hole or an overlap"
        raise LandingConflict(what, cure=replan, window=window.name)
    if end is not None and end.resetlogs_id == window.resetlogs_id and start < end.scn:
        raise LandingConflict(
            "another window has its position in the chain", cure=TAKEN_CURE, window=window.name, chain_end=end.scn
        )


def check_gap(gap: DeclaredGap, end: Position | None) -> None:
    """Raise LandingConflict unless the gap begins at the chain's end and ends later: in a later incarnation, or at a higher SCN
    of the same one."""
    if end is not None and end != gap.start:
        what = f"the declared gap begins at SCN {gap.start.scn}, but the chain ends at {end.scn}"
        raise LandingConflict(what, cure="run `redolake recover` again: the chain has grown meanwhile")
    if gap.end.chain_position <= gap.start.chain_position:
        what = f"the declared gap ends before it begins: from SCN {gap.start.scn} to {gap.end.scn}"
        raise LandingConflict(what, cure="choose a position after the last landed window")


def check_same(published: WindowManifest, mine: WindowManifest) -> None:
    """Raise LandingConflict unless two runs over the same redo have found the same rows."""
    theirs, ours = published.identity(), mine.identity()
    differing = sorted(name for name in theirs if theirs[name] != ours[name])
    if differing:
        folder = f"the folder windows/{published.name}/ of the landing, with both attempts' files"
        cure = f"go on with a new run: the published window stays as it is. {report_with(folder)}"
        raise LandingConflict(
            f"another run landed this window with other {', '.join(differing)}", cure=cure, window=published.name
        )
