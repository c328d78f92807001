"""Choose the next batch: its windows, its tables, the batch that it continues, and the holds of its tables.

`before` is the batch that the new one continues: its windows begin where `before` ended, or after a declared gap there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile

from redolake.context import Run
from redolake.errors import InvariantBroken, LandingDamaged, Terminal, report_with
from redolake.land import layout
from redolake.land.cures import mine_again, restore
from redolake.land.dictionary import Readings
from redolake.land.layout import start_position
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import NEW_HISTORY, approvals
from redolake.reconcile.batches import attempt_of, batch_result, find_superseded, left_alone
from redolake.reconcile.damage import before_next, check_window, last_undamaged
from redolake.reconcile.dropped_transactions import drops_in_effect
from redolake.reconcile.holds import BatchedTable, first_hold, hold_later_incarnation, lack_of_windows, waits_at
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import check_explained, drops, last_batch
from redolake.reconcile.mined_names import columns_known_from, mined_names
from redolake.reconcile.newest_batches import batch_name, end_of, names_from
from redolake.reconcile.omitted_tables import older_transaction, omission, since_of, without_start
from redolake.reconcile.resnapshot_policy import announce
from redolake.reconcile.settling import hold_whole, settles_at, wait_to_settle
from redolake.reconcile.table_versions import all_known_versions, app_id, history, origin, record_derived, table_task
from redolake.reconcile.whole_tables import before_ddl
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec, LandedWindow, Redo, TableTask
from redolake.records.file_digest import FileDigest
from redolake.records.gaps import DeclaredGap
from redolake.records.readers import is_handed_over, lowest_scn, open_at
from redolake.records.windows import WindowManifest
from redolake.values.scn import BEFORE_ALL, ChainPosition
from redolake.values.table import TableId, TableVersion

VersionsOfTime = Mapping[TableId, Sequence[TableVersion]]


READINGS_BEFORE = 8


def next_batch(context: Run, last: BatchResult | None) -> BatchSpec | None:
    """Return a batch of the landed windows after the last batch, up to the next declared gap, RESETLOGS or `batch.max_rows`.

    If the rows that the last batch has carried over are damaged, it continues an older one, and reads the windows since then
    again."""
    windows, before = first_windows(take_adjoining(windows_after(context, last)), context.pipeline.batch.max_rows), last
    if windows and last is not None:
        before = before_next(context, last, windows[0])
        windows = [*windows_between(context, before, last), *windows]
    if windows and before is None:
        check_beginning(context, windows[0])
    tables = [entry for entry in context.ledger.tables() if is_configured(context, entry.table)]
    return build_batch(context, windows, before, tables) if windows else None


def windows_between(context: Run, before: BatchResult | None, last: BatchResult) -> list[WindowManifest]:
    """Return the windows after a batch up to the end of a later one."""
    return list(takewhile(lambda window: window.end_position <= last.end_position, windows_after(context, before)))


def windows_after(context: Run, batch: BatchResult | None) -> Iterator[WindowManifest]:
    return context.landing.windows.each_after(BEFORE_ALL if batch is None else batch.end_position)


def catch_up(context: Run, last: BatchResult | None) -> BatchSpec | None:
    """Return a batch for one table that lags the others, for example after `resume`; None if no table lags.

    It continues the last batch whose end the table has reached, with that batch's carry-over. Raises LedgerDamaged for a
    position that no manifest explains.
    """
    if last is None:
        return None
    for entry in context.ledger.tables("live"):
        if not is_configured(context, entry.table) or entry.complete_to_scn is None:
            continue
        check_explained(context, entry, last)
        if is_applied(entry, last):
            continue
        if (gone := lack_of_windows(context.landing.pruned, entry)) is not None:
            context.ledger.hold(entry.table, gone.as_dict())
            continue
        if (settles := settles_at(context, entry)) is not None and last.end <= settles:
            continue  # the redo that makes its rows those of one SCN is not applied to the others yet
        try:
            if (batch := catch_up_batch(context, entry, last)) is not None:
                return batch
        except LandingDamaged as error:
            context.ledger.hold(entry.table, hold_error(error, entry.table).as_dict())
    return None


def catch_up_batch(context: Run, entry: TableEntry, last: BatchResult) -> BatchSpec | None:
    """Return the batch that catches a table up, as far as no redo decides about it that is not landed yet; None if that is not
    at all. Raises LandingDamaged where a file is damaged that only this table needs."""
    before = reached = last_batch(context, entry.position.plus(1))
    following = next(windows_after(context, reached), None)
    if following is not None and not is_handed_over(following):
        before = last_undamaged(context, reached, following.resetlogs_id, lambda _: restore())
    windows = list(
        take_adjoining(window for window in windows_after(context, before) if window.end_position <= last.end_position)
    )
    if not windows:
        raise hole(context, continues_at(context, before), last.end_position)
    if before is None:
        check_beginning(context, windows[0])
    for window in windows:
        check_window(context, window)
    found = build_batch(context, windows, before, [entry], catch_up_of=entry.table)
    waits_from = next((at for task in found.tables if (at := waits_at(task.hold)) is not None), None)
    if waits_from is None:
        return found
    windows = [window for window in windows if window.end <= waits_from]
    if not windows or entry.position >= windows[-1].end_position.plus(-1):
        return None
    return build_batch(context, windows, before, [entry], catch_up_of=entry.table)


def check_beginning(context: Run, first: WindowManifest) -> None:
    """Raise LandingDamaged for a batch that continues none and does not begin where the chain does: what was carried over from
    the windows before it is gone."""
    gaps = gaps_after(context, None)
    begins = gaps[-1].end.chain_position if gaps else continues_at(context, None)
    if first.start == begins.scn:
        return
    pruned = context.landing.pruned
    if pruned is None:
        raise hole(context, begins, first.start_position)
    raise LandingDamaged(
        f"the windows up to SCN {pruned.position.scn} were pruned on {pruned.steps[-1].at}, and the batch that ended there is "
        "gone, with the rows of transactions that were open",
        cure=restore(),
        path=context.landing.files.path_text(layout.BATCHES),
    )


def hold_error(error: LandingDamaged, table: TableId) -> LandingDamaged:
    """Return the error of a table whose older redo is damaged or gone. The other tables have it already, and continue."""
    cure = f"run `redolake snapshot {table} --replace`; or else {error.cure}, then `redolake resume {table}`"
    return LandingDamaged(error.what, cure=cure, path=error.where.get("path"), window=error.where.get("window"), table=table)


def take_adjoining(windows: Iterable[WindowManifest]) -> Iterator[WindowManifest]:
    """Yield the windows up to the first that does not begin where the one before ended, in the same incarnation, or that
    another reader has read: what that one shows of older transactions counts only once the tables are complete up to there."""
    before = None
    for window in windows:
        if before is not None and (window.start_position != before.end_position or is_handed_over(window)):
            return
        yield window
        before = window


def unbroken(windows: Sequence[WindowManifest]) -> list[WindowManifest]:
    """Return the last windows that adjoin each other, in one incarnation."""
    run: list[WindowManifest] = []
    for window in reversed(windows):
        if run and window.end_position != run[-1].start_position:
            break
        run.append(window)
    return run[::-1]


def first_windows(windows: Iterable[WindowManifest], max_rows: int) -> list[WindowManifest]:
    """Return the windows up to the one with which their change rows reach `max_rows`; those after it are not read."""
    found, rows = list[WindowManifest](), 0
    for window in windows:
        found.append(window)
        rows += window.change_rows
        if rows >= max_rows:
            break
    return found


def is_configured(context: Run, table: TableId) -> bool:
    return table in context.pipeline.by_id


def is_applied(entry: TableEntry, batch: BatchResult) -> bool:
    """Return whether the table is complete to the last SCN of the batch."""
    return entry.position >= batch.end_position.plus(-1)


def landed_window(context: Run, manifest: WindowManifest) -> LandedWindow:
    windows = context.landing.windows
    return LandedWindow(manifest.name, manifest.start, manifest.end, windows.files_of(manifest), windows.reread_of(manifest))


def build_batch(
    context: Run,
    windows: Sequence[WindowManifest],
    before: BatchResult | None,
    entries: Sequence[TableEntry],
    catch_up_of: TableId | None = None,
    of_time: VersionsOfTime | None = None,
) -> BatchSpec:
    """Return the spec of a batch over `windows` that continues the batch `before`. With `of_time`, tables have these versions
    in place of the present ones, and nothing is recorded."""
    start, end, resetlogs_id = windows[0].start, windows[-1].end, windows[0].resetlogs_id
    gaps = gaps_after(context, before)
    check_continuity(context, windows, before, gaps)
    check_one_reader(windows)
    # A transaction that was open at a declared gap cannot be completed; another reader gives it whole.
    carried = None if gaps or is_handed_over(windows[0]) else before
    still_open = carried.open_transactions if carried else ()
    token = uuid.uuid4().hex if catch_up_of is None else f"{catch_up_of}:{uuid.uuid4().hex}"
    name = batch_name(resetlogs_id, start, end, attempt_of(token) if catch_up_of else "")
    location = context.landing.files.location
    return BatchSpec(
        pipeline=context.name,
        resetlogs_id=resetlogs_id,
        start=start,
        end=end,
        token=token,
        redo=Redo(
            windows=tuple(landed_window(context, m) for m in windows),
            carry_in=carried.carry_files if carried else (),
            parked=carried.parked if carried else (),
            open_in=still_open,
            dropped=drops_in_effect(drops(context), context.landing.gaps.all(), before, windows[0].start_position, end),
            container=context.pipeline.source.container,
            doubtful_scn=windows[-1].doubtful_scn,  # only the last window of an incarnation ends at a RESETLOGS
            encoding=context.landing.encoding(windows[0].start_position),
            single_quotes=context.landing.quotes.evidence() is not None,
            rows=sum(m.rows for m in windows) + sum(t.rows for t in still_open),
            change_rows=sum(m.change_rows for m in windows),
            digests=digests(context, windows, carried),
        ),
        tables=build_tasks(context, windows, before, entries, bool(gaps), still_open, of_time),
        carry_out=location(layout.batch_carry(name, attempt_of(token))),
        manifest=location(layout.batch_manifest(name)),
        show_row_data=context.pipeline.show_row_data,
        lake=lake_place(context),
        parallel_tables=context.pipeline.spark.parallel_tables,
        origin=origin(context),
    )


def digests(context: Run, windows: Sequence[WindowManifest], carried: BatchResult | None) -> dict[str, FileDigest]:
    """Return size and hash of all files that a batch may read."""
    landed = {file: one for m in windows for file, one in context.landing.windows.digests_of(m).items()}
    return {**landed, **(carried.digests if carried else {})}


def build_tasks(
    context: Run,
    windows: Sequence[WindowManifest],
    before: BatchResult | None,
    entries: Sequence[TableEntry],
    crosses_gap: bool,
    carried: Sequence[OpenTransaction] = (),
    of_time: VersionsOfTime | None = None,
) -> tuple[TableTask, ...]:
    """Return a task for each table that has a known version, held ones too."""
    start, end, resetlogs_id = windows[0].start, windows[-1].end, windows[0].resetlogs_id
    is_same_incarnation = before is not None and before.resetlogs_id == resetlogs_id
    expected = positions_after(context, before) if is_same_incarnation and before is not None else {}
    histories = {} if before is None else histories_after(context, before, is_same_incarnation=is_same_incarnation)
    tasks: list[TableTask] = []
    unknown, end_position = without_start(context, windows[0].start_position), windows[-1].end_position
    commits = [] if unknown is None else [t for t in unknown.transactions if (at := t.committed_at) and at < end_position]
    quotes = context.landing.quotes.evidence()
    readings, known = (
        Readings(context.landing.dictionary, read_since(context, windows[0])),
        of_time or all_known_versions(context),
    )
    for entry in entries:
        if entry.table not in known:
            continue
        past = history(
            context,
            known[entry.table],
            start,
            windows,
            end,
            readings,
            as_configured=of_time is None,
            is_held=entry.state == "held",
        )
        table = BatchedTable(
            entry=entry,
            windows=windows,
            chain_position=continues_at(context, before),
            crosses_gap=crosses_gap,
            omission=omission(context, entry, None if crosses_gap else before, windows)
            or older_transaction(context, entry, commits, start),
            conflict=past.conflict,
            ddl=past.hold,
            doubtful_quotes=None if quotes is None else quotes.doubtful.get(str(entry.table)),
            pruned=context.landing.pruned,
        )
        if of_time is None and hold_later_incarnation(table) is None and entry.state != "snapshotting":
            record_derived(context, past, end)
        app, target = app_id(context, entry.table, resetlogs_id), context.pipeline.target(entry.table)
        at_least = expected_position(entry, resetlogs_id, expected.get(entry.table))
        names = partial(mined_names, context, windows=windows, carried=carried, readings=readings)
        hold, settles = before_ddl(first_hold(table), past.derived.steps, windows), settles_at(context, entry)
        if settles is not None and entry.state == "live":
            hold = wait_to_settle(table, settles, end) or hold_whole(table, settles, hold, past.derived)
        if entry.state != "held":
            hold = announce(context.pipeline, entry.table, hold)
        task = table_task(context, past, app, target, hold, at_least, names)
        there = replace(task.destination, settles_at=settles, history_at_least=histories.get(entry.table))
        there = replace(there, open_since=oldest_open(context, entry, windows[0]))
        if of_time is not None and there.quarantine is not None:  # a copy or a shadow: it has no quarantine of its own
            there = replace(there, quarantine=replace(there.quarantine, may_write=False))
        known_from = columns_known_from(context, past.known[0], windows, carried)
        tasks.append(replace(task, destination=there, course=replace(task.course, known_from=known_from)))
    return tuple(tasks)


def oldest_open(context: Run, entry: TableEntry, first: WindowManifest) -> int | None:
    """Return where the oldest transaction began that was open at the table's snapshot, if the table goes on from there, in this
    incarnation; or where LogMiner goes on after another reader, if it goes on there: what that one showed is not carried over.
    """
    if entry.complete_to_scn == entry.snapshot_scn:
        since = since_of(context, entry)
        return since.scn if since is not None and since.resetlogs_id == first.resetlogs_id else None
    if lowest_scn(first) == first.start or entry.position != first.start_position.plus(-1):
        return None
    newest = context.landing.windows.newest_first()
    older = (one for one in newest if one.resetlogs_id == first.resetlogs_id and one.end <= first.start)
    known = open_at(older, first.start)
    return lowest_scn(first) if known is None else known.begins


def read_since(context: Run, first: WindowManifest) -> ChainPosition:
    """Return a position from which dictionary readings are wanted at first: some windows before a batch's, so that there is one
    before it. Each window was planned after a reading."""
    newest = islice(context.landing.windows.newest_names(), READINGS_BEFORE)
    return min([first.start_position, *map(start_position, newest)])


def expected_position(entry: TableEntry, resetlogs_id: int, after_batch: int | None) -> int | None:
    """Return the lowest position that the table's Delta log may have: the last batch or a later load recorded it."""
    loaded = entry.snapshot_scn if (entry.resetlogs_id, entry.complete_to_scn) == (resetlogs_id, entry.snapshot_scn) else None
    return max((scn for scn in (after_batch, loaded) if scn is not None), default=None)


def positions_after(context: Run, before: BatchResult) -> dict[TableId, int]:
    """Return each table's position in its Delta log after `before`, and after catch-ups that end where it ends."""
    void, found = find_superseded(context), dict[TableId, int]()
    for name, _, done in results_after(context, before):
        if done.position is not None and not left_alone(done) and name not in void.get(done.table, ()):
            found[done.table] = max(done.position, found.get(done.table, done.position))
    return found


def histories_after(context: Run, before: BatchResult, *, is_same_incarnation: bool) -> dict[TableId, int]:
    """Return each history's position after `before`, as `positions_after`; the least one of all after a RESETLOGS. A history
    that somebody has let begin again since is left out."""
    left = [(result.applied_at, done) for _, result, done in results_after(context, before) if done.history is not None]
    again = [one for one in approvals(context, "resume") if one.policy == NEW_HISTORY] if left else []
    found = dict[TableId, int]()
    for applied_at, done in left:
        if any(one.table == str(done.table) and one.at >= (applied_at or "") for one in again):
            continue
        position = (done.history.position or 0) if is_same_incarnation and done.history is not None else 0
        found[done.table] = max(position, found.get(done.table, position))
    return found


def results_after(context: Run, before: BatchResult) -> Iterator[tuple[str, BatchResult, TableResult]]:
    """Yield what `before`, and catch-ups that end where it ends, have done to each table."""
    for name in names_from(context, before.end_position):
        result = batch_result(context, name) if end_of(name) == before.end_position else None
        for done in result.tables if result is not None else ():
            assert result is not None
            yield name, result, done


def gaps_after(context: Run, before: BatchResult | None) -> list[DeclaredGap]:
    """Return the declared gaps that directly follow `before`, or the start of the chain.

    Raises InvariantBroken if the first gap drops another number of rows than the batch carried out.
    """
    found: list[DeclaredGap] = []
    position = continues_at(context, before)
    while (gap := context.landing.gaps.gap_at(position)) is not None:
        found.append(gap)
        position = gap.end.chain_position
    carried = () if before is None else before.open_transactions
    if found and (differs := differing_transactions(carried, found[0].dropped)):
        raise InvariantBroken(
            f"the change rows that were carried to the declared gap at SCN {found[0].start.scn} are not those that it names: "
            f"{differs}",
            cure=f"{report_with('the folder gaps/ of the landing and the manifest of its last batch')}; nothing is merged "
            "until then",
        )
    return found


def differing_transactions(carried: Sequence[OpenTransaction], named: Sequence[OpenTransaction]) -> str:
    """Describe the transactions whose number of rows differs; empty where all agree."""
    rows = [{(t.con_id, t.xid, t.start_scn): t.rows for t in side} for side in (carried, named)]
    return ", ".join(
        f"{key[1]} of container {key[0]} from SCN {key[2]} with {rows[0].get(key, 0)} rows instead of {rows[1].get(key, 0)}"
        for key in sorted({*rows[0], *rows[1]})
        if rows[0].get(key) != rows[1].get(key)
    )


def continues_at(context: Run, before: BatchResult | None) -> ChainPosition:
    """Return the chain position at the end of `before`; without a batch, the first position of the chain."""
    if before is not None:
        return before.end_position
    start = context.landing.handover.start()
    assert start is not None, "the first snapshot has written it"
    return start.chain_position


def check_continuity(
    context: Run, windows: Sequence[WindowManifest], before: BatchResult | None, gaps: Sequence[DeclaredGap]
) -> None:
    """Raise LandingDamaged if redo is missing between the windows, or between them and the batch or declared gaps before
    them."""
    end = int(gaps[-1].end.scn) if gaps else windows[0].start if before is None else before.end
    for window in windows:
        if window.start != end:
            raise hole(context, ChainPosition(window.resetlogs_id, end), window.start_position)
        end = window.end


def check_one_reader(windows: Sequence[WindowManifest]) -> None:
    """Raise Terminal for a range in which one reader hands over to another: both give what was open there."""
    second = next((window for window in windows[1:] if is_handed_over(window)), None)
    if second is not None:
        raise Terminal(
            f"LogMiner and OpenLogReplicator have each read a part of the range: the other one begins at SCN {second.start}",
            cure=f"choose a range that ends at SCN {second.start}, or begins there",
            window=second.name,
        )


def hole(context: Run, end: ChainPosition, start: ChainPosition) -> LandingDamaged:
    """Return the error for windows that have landed, and are gone. The chain still names the first one."""
    gone = context.landing.windows.window_at(end)
    name = None if gone is None else gone.name
    cure = "restore the folder of the missing window from a copy of the landing" if name is None else mine_again(name)
    return LandingDamaged(f"the landed windows have a hole: SCN {end.scn} to {start.scn}", cure=cure, window=name)
