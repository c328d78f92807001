"""The files that nothing needs: below the position from which the chain goes on, and what killed attempts have left."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from redolake.context import Run
from redolake.land import layout
from redolake.land.files import Files, ListedFile
from redolake.ledger import TableEntry
from redolake.reconcile.batches import (
    Void,
    attempt_of,
    batch_result,
    find_superseded,
    loaded_tasks,
    position_loaded,
    tables_of_load,
)
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.newest_batches import end_of
from redolake.records.loads import SnapshotTask
from redolake.records.proofs import TableProof
from redolake.records.snapshots import SnapshotManifest
from redolake.values.scn import ChainPosition

SHADOW = re.compile(r"\d+-\d+(-current|-changes|-copy|-replaced)?")
PROBE = "created-once-"  # see land/files.py: tried whether the store creates an object once
UNFINISHED = ".part"


# --- Below the position from which the chain goes on --------------------------------------------------------------------


def pruned_windows(context: Run, cut: ChainPosition) -> Iterator[str]:
    """Yield the folders of windows before the cut."""
    names = context.landing.files.names(layout.WINDOWS)
    yield from (layout.window_folder(name) for name in names if not layout.ends_after(name, cut))


def pruned_links(context: Run, cut: ChainPosition) -> Iterator[str]:
    """Yield the links of the chain before the cut, and the marks beside batches there. The links of declared gaps stay."""
    files = context.landing.files
    gaps = set(files.names(layout.GAPS))
    links = (name for name in files.names(layout.CHAIN) if name.endswith(".json") and name not in gaps)
    yield from (f"{layout.CHAIN}/{name}" for name in links if name.removesuffix(".json") < cut.name)
    marks = (name for name in files.names(layout.CONTINUED) if not name.endswith(".json"))
    yield from (f"{layout.CONTINUED}/{name}" for name in marks if name < cut.name)


def pruned_batches(context: Run, cut: ChainPosition) -> Iterator[str]:
    """Yield the folders of batches that end before the cut; of those with rows that a later batch carries, the other files."""
    files, kept = context.landing.files, carried_files(context, cut)
    for name in files.names(layout.BATCHES):
        folder = layout.batch_folder(name)
        if end_of(name) >= cut:
            continue
        if not any(file.startswith(f"{files.location(folder)}/") for file in kept):
            yield folder
        else:
            yield from (file.path for file in files.list_files(folder) if files.location(file.path) not in kept)


def carried_files(context: Run, cut: ChainPosition) -> set[str]:
    """Return the files with rows of open transactions that batches from the cut on may read. Parked rows stay where they were
    written first, and each later batch names them."""
    at_cut = (batch_result(context, n) for n in context.landing.files.names(layout.BATCHES) if end_of(n) == cut)
    return {file for batch in (*at_cut, last_batch(context)) if batch is not None for file in batch.carried}


def pruned_readings(context: Run, cut: ChainPosition) -> list[ChainPosition]:
    """Return the dictionary readings before the cut, without the newest one and the newest of each table."""
    dictionary = context.landing.dictionary
    older = [position for position in dictionary.positions() if position < cut]
    kept, seen = set(older[-1:]), set[str]()
    for position in reversed(older):
        tables = dictionary.tables_at(position)
        if not tables <= seen:
            kept.add(position)
            seen |= tables
    return [position for position in older if position not in kept]


def pruned_contents(context: Run, gone: Collection[ChainPosition]) -> set[str]:
    """Return the contents that only readings of `gone` refer to."""
    dictionary = context.landing.dictionary
    used = {dictionary.content_at(position) for position in dictionary.positions() if position not in gone}
    return {dictionary.content_at(position) for position in gone} - used


def pruned_loads(context: Run, cut: ChainPosition) -> list[str]:
    """Return the folders of loads that nothing needs: every table was loaded again before the cut, or the load is void for it.

    The newest load of a table before the cut is what its contents, its versions and reads AS OF an SCN begin with, also in a
    rebuilt ledger. A load that makes others void stays longer than these: else they would count again."""
    files, void = context.landing.files, find_superseded(context)
    loads = {name: [task for task, _ in loaded_tasks(context, name) or ()] for name in files.names(layout.LOADS)}
    counting = [
        (task.table, position_loaded(task)) for name, tasks in loads.items() for task in tasks if counts(void, name, task)
    ]
    newest = {table: position for table, position in sorted(counting, key=lambda one: one[1]) if position <= cut}
    there = {*loads, *(name for name in files.names(layout.BATCHES) if end_of(name) >= cut)}

    def is_needed(name: str, task: SnapshotTask) -> bool:
        since = newest.get(task.table)
        is_begin = counts(void, name, task) and (since is None or position_loaded(task) >= since)
        return is_begin or not there.isdisjoint(task.supersedes)

    gone = (name for name, tasks in loads.items() if tasks and not any(is_needed(name, task) for task in tasks))
    return [layout.load_folder(name) for name in gone]


def counts(void: Void, load: str, task: SnapshotTask) -> bool:
    return load not in void.get(task.table, ())


def passed_splits(context: Run) -> Iterator[str]:
    """Yield what was known of split transactions at the end of older windows: the newest state is continued."""
    files = context.landing.files
    for gap in files.names(layout.SPLIT):
        yield from (f"{layout.split_folder(gap)}/{name}" for name in files.names(layout.split_folder(gap))[:-1])


# --- Snapshots, backfills, shadows --------------------------------------------------------------------------------------


def loaded_snapshots(context: Run, limit: datetime) -> Iterator[str]:
    """Yield the rows of snapshots that are loaded, and all of those that newer ones have replaced. The beginning of the table's
    contents stays: its description, and the SCN from which redo is needed."""
    files, current = context.landing.files, current_folders(context)
    for folder, found in by_folder(files.list_files(layout.SNAPSHOTS), 3).items():
        if not is_old(found, limit):
            continue
        entry = current.get(folder)
        if entry is None:
            if not is_continued(folder, found, current):
                yield folder
        elif entry.state in ("live", "held") and entry.complete_to_scn is not None:
            yield from (file.path for file in found if not file.path.endswith(".json"))


def is_continued(folder: str, found: Collection[ListedFile], current: Mapping[str, TableEntry]) -> bool:
    """Return whether the next snapshot of the table continues this one, which is read in chunks: it is not given up, and the
    table has no newer one. A person may have paused it for long."""
    names = {file.path.rpartition("/")[2] for file in found}
    table, _, scn = folder.rpartition("/")
    newest = max((int(one.rpartition("/")[2]) for one in current if one.rpartition("/")[0] == table), default=-1)
    return "chunks.json" in names and "given-up.json" not in names and scn.isdigit() and int(scn) > newest


def current_folders(context: Run) -> dict[str, TableEntry]:
    """Return the tables by the folder of the snapshot that their contents began with."""
    found = (entry for entry in context.ledger.tables() if entry.snapshot_scn is not None)
    return {layout.snapshot_folder(entry.table, entry.snapshot_scn or 0): entry for entry in found}


def old_proofs(context: Run, limit: datetime) -> Iterator[str]:
    """Yield results of comparisons from before `limit`, up to the newest one of all rows of each table."""
    files = context.landing.files
    for folder in files.names(layout.PROOFS):
        place = f"{layout.PROOFS}/{folder}"
        there = files.names(place)
        proofs = sorted(layout.proof_of(name) for name in there if layout.is_proof(name))
        needed = newest_whole(context, place, proofs)
        gone = {name for name in proofs if needed is not None and name < needed and layout.time_of_proof(name) < limit}
        yield from (f"{place}/{name}" for name in there if layout.proof_of(name) in gone)


def newest_whole(context: Run, place: str, proofs: Sequence[str]) -> str | None:
    """Return the newest comparison of all rows."""
    for name in reversed(proofs):
        found = context.landing.files.read_record(TableProof, f"{place}/{name}.json")
        if found is not None and found.error is None and found.share == 1:
            return name
    return None


def old_backfills(context: Run, limit: datetime) -> Iterator[str]:
    found = by_folder(context.landing.files.list_files(layout.BACKFILLS), 2)
    yield from (folder for folder, files in found.items() if is_old(files, limit))


def old_shadows(lake: Files, limit: datetime) -> Iterator[str]:
    """Yield the folders of shadow tables, below the lake, in which nothing was written since `limit`."""
    for name in lake.names(layout.SHADOWS):
        if SHADOW.fullmatch(name) and is_old(lake.list_files(f"{layout.SHADOWS}/{name}"), limit):
            yield f"{layout.SHADOWS}/{name}"


# --- What killed attempts have left -------------------------------------------------------------------------------------


def left_files(context: Run, limit: datetime) -> Iterator[str]:
    """Yield files that no manifest names, and that nobody has written since `limit`. Nothing runs that writes tables meanwhile.

    Files of a window that has not landed yet stay: its other slices may still be mined."""
    yield from left_by_windows(context, limit)
    yield from left_by_batches(context, limit)
    yield from left_by_snapshots(context, limit)
    loading = {entry.table for entry in context.ledger.tables("snapshotting")}
    for folder, found in by_folder(context.landing.files.list_files(layout.LOADS), 2).items():
        name = folder.rpartition("/")[2]
        if is_old(found, limit) and not loading & set(tables_of_load(context, name)) and not loaded_tasks(context, name):
            yield folder
    for folder, found in by_folder(context.landing.files.list_files(layout.MAINTENANCE), 2).items():
        if is_old(found, limit):
            yield folder
    root = (name for name in context.landing.files.names("") if name.startswith(PROBE))
    yield from (name for name in root if is_before(context.landing.files.time_of(name), limit))


def left_by_windows(context: Run, limit: datetime) -> Iterator[str]:
    windows, end = context.landing.windows, context.landing.chain_end()
    found = by_folder(context.landing.files.list_files(layout.WINDOWS), 2)
    landed = {manifest.name: manifest.all_files for manifest in windows.each_once(windows.names())}
    for folder, files in found.items():
        name = folder.rpartition("/")[2]
        if name in landed:
            yield from others_than(files, {*landed[name], "manifest.json"}, limit)
        elif (
            is_after(context, layout.end_position(name))
            and end is not None
            and layout.start_position(name) < end.chain_position
        ):
            yield from others_than(files, (), limit)


def is_after(context: Run, end: ChainPosition) -> bool:
    """Return whether what ends there was not pruned: its files go with it."""
    return context.landing.pruned is None or end > context.landing.pruned.position


def left_by_batches(context: Run, limit: datetime) -> Iterator[str]:
    last, files = last_batch(context), context.landing.files
    if last is None:
        return
    pruned = context.landing.pruned
    kept = set(last.carried) if pruned is None else carried_files(context, pruned.position)
    for folder, found in by_folder(files.list_files(layout.BATCHES), 2).items():
        name = folder.rpartition("/")[2]
        result = batch_result(context, name)
        if not is_after(context, end_of(name).plus(1)) or (result is None and end_of(name) > last.end_position):
            continue
        of = None if result is None else attempt_of(result.token)
        own = () if of is None else ("manifest.json", f"spec-{of}.json")
        other = (file for file in found if of is None or not file.path.startswith(f"{folder}/carry-{of}/"))
        named = {f"{folder}/{name}" for name in own}
        for file in other:
            if file.path not in named and files.location(file.path) not in kept and file.modified < limit:
                yield file.path


def left_by_snapshots(context: Run, limit: datetime) -> Iterator[str]:
    """Yield what reads that were killed have left: unfinished files, rows that no manifest names, and all of a snapshot that
    was never read to its end, once another one is the table's."""
    files = context.landing.files
    current = current_folders(context)
    for folder, found in by_folder(files.list_files(layout.SNAPSHOTS), 3).items():
        manifest = files.read_record(SnapshotManifest, f"{folder}/snapshot.json")
        if manifest is None and is_continued(folder, found, current):
            continue
        if manifest is None and folder not in current and is_old(found, limit):
            yield folder
            continue
        named = () if manifest is None else manifest.files
        old = (file.path for file in found if file.modified < limit)
        yield from (path for path in old if is_left(path.rpartition("/")[2], named, manifest))


def is_left(name: str, named: Collection[str], manifest: SnapshotManifest | None) -> bool:
    """Return whether a killed attempt left a file of a snapshot. Without a manifest, one may still name its rows."""
    is_rows = name.startswith("part-") and name.endswith(".parquet")
    return name.endswith(UNFINISHED) or (manifest is not None and is_rows and name not in named)


def others_than(found: Iterable[ListedFile], named: Collection[str], limit: datetime) -> Iterator[str]:
    yield from (file.path for file in found if file.path.rpartition("/")[2] not in named and file.modified < limit)


# --- Listings -----------------------------------------------------------------------------------------------------------


def by_folder(found: Iterable[ListedFile], depth: int) -> dict[str, list[ListedFile]]:
    """Return the files by the folder that is `depth` names deep."""
    folders: dict[str, list[ListedFile]] = defaultdict(list)
    for file in found:
        parts = file.path.split("/")
        if len(parts) > depth:
            folders["/".join(parts[:depth])].append(file)
    return folders


def is_old(found: Sequence[ListedFile], limit: datetime) -> bool:
    return bool(found) and all(file.modified < limit for file in found)


def is_before(at: datetime | None, limit: datetime) -> bool:
    return at is not None and at < limit
