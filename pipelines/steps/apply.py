"""Apply: make a batch of landed windows, let Spark run it, and write down what became of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines import crash
from pipelines.config import Pipeline
from pipelines.context import Workplace, owner, read_order, read_outcome, workplace
from pipelines.errors import Finding, InvariantBroken, RedoLost, SchemaConflict, TableHeld, Terminal
from pipelines.land import layout
from pipelines.ledger import TableEntry
from pipelines.reconcile.batches import attempt_of, batch_name, batch_result, end_of, superseded
from pipelines.reconcile.ledger import NOT_LOADED, correct_ledger, drops, is_from_before, last_batch, not_read, write_down
from pipelines.reconcile.omitted_tables import left_out
from pipelines.reconcile.table_versions import app_id, history, record_derived, table_task
from pipelines.records.batch_result import BatchResult, TableResult
from pipelines.records.batch_spec import BatchSpec, HoldAt, LandedWindow, TableTask
from pipelines.records.codec import decode
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.handover import FirstPosition
from pipelines.records.window_manifest import WindowManifest
from pipelines.scn import BEFORE_ALL, ChainPosition
from pipelines.steps.leases import renewed, take_apply_lease
from pipelines.steps.transactions import in_force
from pipelines.table import TableId


@crash.writer
def prepare_batch(pipeline: Pipeline) -> dict[str, Any]:
    """Write the order for the next batch: a resumed table's catch-up first, else all landed windows not yet applied."""
    with workplace(pipeline) as work:
        lease = take_apply_lease(work)
        correct_ledger(work)
        last = last_batch(work)
        spec = catch_up(work, last) or next_batch(work, last)
        if spec is None:
            work.ledger.release_lease(lease)
            return {"batch": None, "tables": [], "start": 0, "end": 0, "reason": "every landed window is applied"}
        spec = replace(spec, lease=lease.token)
        name = layout.name_of(spec.manifest)
        path = work.landing.files.write_new_record(layout.batch_spec(name, attempt_of(spec.token)), spec)
        work.ledger.prepare_batch(name, spec.scns, path, lease=lease)
        live = [str(task.table) for task in spec.tables if task.hold is None or task.hold.at_scn > spec.start]
        return {"batch": path, "tables": live, "start": spec.start, "end": spec.end, "reason": f"{len(spec.windows)} window(s)"}


def next_batch(work: Workplace, last: BatchResult | None) -> BatchSpec | None:
    """All landed windows behind the last batch, up to the next break or RESETLOGS."""
    ahead = of_one_stretch(work.landing.windows.after(BEFORE_ALL if last is None else last.end_position))
    tables = [entry for entry in work.ledger.tables() if is_configured(work, entry.table)]
    return batch_of(work, ahead, last, tables, None) if ahead else None


def of_one_stretch(windows: Sequence[WindowManifest]) -> list[WindowManifest]:
    """The first ones, as far as they are of one incarnation and adjoin."""
    found = list(windows[:1])
    for window in windows[1:]:
        if window.start_position != found[-1].end_position:
            break
        found.append(window)
    return found


def is_configured(work: Workplace, table: TableId) -> bool:
    return any(t.id == table for t in work.pipeline.tables)


def catch_up(work: Workplace, last: BatchResult | None) -> BatchSpec | None:
    """For a table behind the chain: from the last batch whose end it has reached, with that batch's carry-over."""
    if last is None:
        return None
    for entry in work.ledger.tables("live"):
        if not is_configured(work, entry.table) or entry.complete_to_scn is None or reaches(entry, last):
            continue
        before = last_batch(work, entry.position.plus(1))
        windows = work.landing.windows.after(BEFORE_ALL if before is None else before.end_position)
        ahead = of_one_stretch([m for m in windows if m.end_position <= last.end_position])
        if ahead:
            return batch_of(work, ahead, before, [entry], entry.table)
    return None


def batch_of(
    work: Workplace,
    windows: Sequence[WindowManifest],
    before: BatchResult | None,
    entries: Sequence[TableEntry],
    only: TableId | None,
) -> BatchSpec:
    start, end, resetlogs_id = windows[0].start, windows[-1].end, windows[0].resetlogs_id
    crossed = breaks_behind(work, before)
    check_chain(windows, before, crossed)
    carried = None if crossed else before  # what was open at a break cannot be completed
    at_least = left_at(work, before) if before is not None and before.resetlogs_id == resetlogs_id else {}
    tasks: list[TableTask] = []
    for entry in entries:
        past = history(work, entry.table, start, windows, end)
        if past is None:
            continue
        later = of_later_incarnation(entry, resetlogs_id, start)
        if later is None:
            record_derived(work, past, end)
        hold = first_of(
            hold_of(entry, start),
            later,
            without_it(entry, windows),
            behind(entry, goes_on_at(work, before), start),
            beyond(entry, windows[0], goes_on_at(work, before) if crossed else None),
            left_out(work, entry, carried, windows),
            None if past.complaint is None else HoldAt(start, past.complaint.as_dict()),
            past.hold,
        )
        app, target = app_id(work, entry.table, resetlogs_id), work.pipeline.target(entry.table)
        tasks.append(table_task(work, past, app, target, hold, contents_at(entry, resetlogs_id, at_least.get(entry.table))))
    token = uuid.uuid4().hex if only is None else f"{only}:{uuid.uuid4().hex}"
    name = batch_name(resetlogs_id, start, end, attempt_of(token) if only else "")
    location = work.landing.files.location
    return BatchSpec(
        pipeline=work.name,
        resetlogs_id=resetlogs_id,
        start=start,
        end=end,
        token=token,
        windows=tuple(LandedWindow(m.name, m.start, m.end, work.landing.windows.files_of(m)) for m in windows),
        tables=tuple(tasks),
        carry_out=location(layout.batch_carry(name, attempt_of(token))),
        manifest=location(layout.batch_manifest(name)),
        carry_in=carried.carry_files if carried else (),
        open_in=carried.open_transactions if carried else (),
        dropped=in_force(drops(work), work.landing.gaps.all(), before, windows[0].start_position, end),
        container=work.pipeline.source.container,
        character_set=character_set(work),
        spark=dict(work.pipeline.spark.conf),
    )


def first_of(*holds: HoldAt | None) -> HoldAt | None:
    """The one that stops the table earliest: behind it nothing may be applied, whatever else holds it further on."""
    return min((hold for hold in holds if hold is not None), key=lambda hold: hold.at_scn, default=None)


def contents_at(entry: TableEntry, resetlogs_id: int, left: int | None) -> int | None:
    """The position that its contents must have in the Delta log: the last batch left it there, or a load since."""
    loaded = entry.snapshot_scn if (entry.resetlogs_id, entry.complete_to_scn) == (resetlogs_id, entry.snapshot_scn) else None
    return max((scn for scn in (left, loaded) if scn is not None), default=None)


def left_at(work: Workplace, before: BatchResult) -> dict[TableId, int]:
    """The positions in the Delta logs as they were left where that batch ends, by it and by the catch-ups to its end."""
    void, found = superseded(work), dict[TableId, int]()
    for name in work.landing.files.names(layout.BATCHES):
        result = batch_result(work, name) if end_of(name) == before.end_position else None
        for done in result.tables if result is not None else ():
            if done.position is not None and name not in void.get(done.table, ()):
                found[done.table] = max(done.position, found.get(done.table, done.position))
    return found


def character_set(work: Workplace) -> str:
    """Return the database's character set when the pipeline began."""
    start = work.landing.files.read_record(FirstPosition, layout.HANDOVER)
    return "AL32UTF8" if start is None else start.character_set


def hold_of(entry: TableEntry, start: int) -> HoldAt | None:
    """Held tables and those without contents take part, so that their rows are accounted for and carried over."""
    if entry.state == "held":
        return HoldAt(start, dict(entry.error or {}))
    return None if entry.state == "live" else HoldAt(start, NOT_LOADED)


def without_it(entry: TableEntry, windows: Sequence[WindowManifest]) -> HoldAt | None:
    """A window mined while the table was not in pipelines.yml has no rows of it: nothing may be applied past it."""
    for window in windows:
        if window.end_position.plus(-1) > entry.position and str(entry.table) not in window.tables:
            cure = f"`redolake snapshot {entry.table} --replace` reads the table anew"
            return HoldAt(
                window.start, SchemaConflict("a window was landed without the table", cure=cure, window=window.name).as_dict()
            )
    return None


def reaches(entry: TableEntry, batch: BatchResult) -> bool:
    return entry.position >= batch.end_position.plus(-1)


def of_later_incarnation(entry: TableEntry, resetlogs_id: int, start: int) -> HoldAt | None:
    """A table that was read behind a RESETLOGS has all that counts of the windows before it; its position is none of theirs,
    so they would be applied to contents that are newer."""
    if (entry.resetlogs_id or 0) <= resetlogs_id:
        return None
    return HoldAt(start, {**NOT_LOADED, "what": "the table's contents are of a later incarnation", "cure": "nothing"})


def behind(entry: TableEntry, chain: ChainPosition, start: int) -> HoldAt | None:
    """A live table never lacks what came before the batch, which goes on at `chain`; if it does, a catch-up is missing."""
    if entry.complete_to_scn is None or entry.position >= chain.plus(-1):
        return None
    error = InvariantBroken(
        f"the table is complete to SCN {entry.complete_to_scn}, the batch begins at {start}",
        cure=f"`redolake resume {entry.table}` catches it up",
        table=entry.table,
    )
    return HoldAt(start, error.as_dict())


def beyond(entry: TableEntry, first: WindowManifest, broken_at: ChainPosition | None) -> HoldAt | None:
    """A snapshot may be of a later SCN than what is landed. Where a RESETLOGS lies between, and capture has followed it, the
    table has contents that the database has forgotten. If it lies in a break, nothing here tells its SCN: then what was read
    behind the break's start may be forgotten."""
    if (entry.resetlogs_id or 0) >= first.resetlogs_id or entry.complete_to_scn is None:
        return None
    if entry.complete_to_scn < first.start if broken_at is None else entry.position < broken_at:
        return None
    since = f"has set the database back to {first.start}" if broken_at is None else f"came behind SCN {broken_at.scn}"
    error = RedoLost(
        f"the table was read AS OF SCN {entry.complete_to_scn}, and a RESETLOGS {since}",
        cure=f"`redolake snapshot {entry.table} --replace` reads the table anew",
        table=entry.table,
    )
    return HoldAt(first.start, error.as_dict())


def breaks_behind(work: Workplace, before: BatchResult | None) -> list[DeclaredGap]:
    """The breaks that lead on from a batch's end, or from where the first window should have begun. What the batch carried out
    must be what the first of them has dropped."""
    found: list[DeclaredGap] = []
    position = goes_on_at(work, before)
    while (next_one := work.landing.gaps.starting_at(position)) is not None:
        found.append(next_one)
        position = next_one.end.chain
    carried = 0 if before is None else sum(transaction.rows for transaction in before.open_transactions)
    if found and found[0].dropped_rows != carried:
        raise InvariantBroken(
            f"{carried} change rows were carried to the break at SCN {found[0].start.scn}, it names {found[0].dropped_rows}",
            cure="nothing was merged; report it with the break's file and the batch's manifest",
        )
    return found


def goes_on_at(work: Workplace, before: BatchResult | None) -> ChainPosition:
    """Where the chain goes on behind a batch; before the first one, where it begins."""
    if before is not None:
        return before.end_position
    start = work.landing.files.read_record(FirstPosition, layout.HANDOVER)
    assert start is not None, "the first snapshot has left it"
    return start.chain


def check_chain(windows: Sequence[WindowManifest], before: BatchResult | None, crossed: Sequence[DeclaredGap]) -> None:
    """Windows reach a table in order and without a hole but for breaks; anything else is an error."""
    end = int(crossed[-1].end.scn) if crossed else windows[0].start if before is None else before.end
    for window in windows:
        if window.start != end:
            raise Terminal(
                f"the landed windows have a hole: SCN {end} to {window.start}",
                cure="restore the missing window's folder in the landing; a range across a break is two ranges",
                window=window.name,
            )
        end = window.end


def record_batch(pipeline: Pipeline, batch: str) -> dict[str, Any]:
    """Write down what the batch's manifest says. Raises TableHeld, after that, when a table was held by this batch."""
    with workplace(pipeline) as work:
        spec = read_order(work, batch)
        result = decode(BatchResult, read_outcome(work, spec), spec.manifest)
        name = layout.name_of(spec.manifest)
        entry = work.ledger.batch(name)
        if entry is None or entry.state != "applied":
            lease = renewed(work, spec)
            write_down(work, result, name, superseded(work))
            work.ledger.release_lease(lease)
        newly = newly_held(result, last_batch(work, result.start_position))
        tables = {str(t.table): {"state": t.state, "complete_to": t.complete_to, **changes(t)} for t in result.tables}
        held = [name for name, t in tables.items() if t["state"] == "held"]
        outcome = {"tables": tables, "held": held, "start": result.start, "end": result.end}
        if newly:
            raise TableHeld([finding_of(t.table, t.error) for t in newly], outcome)
        return outcome


def newly_held(result: BatchResult, before: BatchResult | None) -> list[TableResult]:
    """Told by the manifests alone: another step may have brought the ledger to this one already."""
    held_before = {t.table for t in before.tables if t.state == "held"} if before else set()
    return [
        t
        for t in result.tables
        if t.state == "held" and t.table not in held_before and (t.error or {}).get("code") != NOT_LOADED["code"]
    ]


def finding_of(table: TableId, error: Mapping[str, Any] | None) -> Finding:
    told = error or {}
    return Finding(
        str(table), f"{told.get('code')}: {told.get('what')} {told.get('where') or ''}".strip(), str(told.get("cure", ""))
    )


def changes(table: TableResult) -> dict[str, int]:
    return {"inserted": table.inserted, "updated": table.updated, "deleted": table.deleted}


def resume_tables(pipeline: Pipeline, tables: Sequence[str]) -> dict[str, Any]:
    """Release held tables; the next apply catches them up from their own position."""
    with workplace(pipeline) as work:
        correct_ledger(work)
        resumed = []
        for text in tables:
            table = TableId.parse(text)
            check_contents(work, table)
            if not work.ledger.release(table):
                raise Terminal("the table is not held", cure="`redolake status` shows which are", table=table)
            work.ledger.record_decision("resume", {"table": str(table)}, owner())
            resumed.append(str(table))
        return {"resumed": resumed}


def check_contents(work: Workplace, table: TableId) -> None:
    """Raises RedoLost for a table that was to be read anew at a break, and was not yet."""
    entry = work.ledger.table(table)
    for found in work.landing.gaps.all():
        if found.kind == "snapshot" and entry is not None and is_from_before(entry, found):
            raise not_read(found, table)
