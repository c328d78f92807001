"""Rules that hold a table in a batch. Each is a pure function of a BatchedTable; the hold at the lowest SCN counts.

A held table stays in the batch, so that its rows are accounted for and carried over. Commits from the SCN of its hold on are
not applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redolake.errors import InvariantBroken, RedoLost, RedoNotUnderstood, SchemaConflict
from redolake.ledger import TableEntry
from redolake.records.batches.spec import HoldAt
from redolake.records.pruned import Pruned
from redolake.records.single_quotes import DoubtfulWindows
from redolake.records.windows import WindowManifest
from redolake.values.scn import ChainPosition

NOT_LOADED = {"code": "NotLoaded", "what": "the table has no contents yet", "where": {}, "cure": "take its snapshot"}


@dataclass(frozen=True, slots=True)
class BatchedTable:
    """A captured table in a batch over `windows`.

    `chain_position` is the end of the previous batch; `crosses_gap` says that a declared gap lies between it and the first
    window. `omission` is the hold for changes that are missing because a window or batch left the table out. `conflict` says
    why the dictionary contradicts the table's versions. `ddl` is the hold at the first unsupported DDL. `doubtful_quotes` are
    the older windows whose quotes side by side were read as doubled ones, before LogMiner was known to leave quotes single.
    """

    entry: TableEntry
    windows: Sequence[WindowManifest]
    chain_position: ChainPosition
    crosses_gap: bool
    omission: HoldAt | None = None
    conflict: SchemaConflict | None = None
    ddl: HoldAt | None = None
    doubtful_quotes: DoubtfulWindows | None = None
    pruned: Pruned | None = None

    @property
    def start(self) -> int:
        return self.windows[0].start


def hold_held(table: BatchedTable) -> HoldAt | None:
    """Hold a table that is held already."""
    return HoldAt(table.start, dict(table.entry.error or {})) if table.entry.state == "held" else None


def hold_without_contents(table: BatchedTable) -> HoldAt | None:
    """Hold a table whose first snapshot is not loaded yet."""
    return None if table.entry.state in ("held", "live") else HoldAt(table.start, NOT_LOADED)


def hold_later_incarnation(table: BatchedTable) -> HoldAt | None:
    """Hold a table snapshotted after a RESETLOGS: it already contains everything that these older windows contain, and applying
    them would overwrite newer rows."""
    if (table.entry.resetlogs_id or 0) <= table.windows[0].resetlogs_id:
        return None
    what = "the table's contents are of a later incarnation"
    return HoldAt(table.start, {**NOT_LOADED, "what": what, "cure": "let apply go on: it comes to that incarnation by itself"})


def hold_missing(table: BatchedTable) -> HoldAt | None:
    """Hold at a window that was mined while pipelines.yml did not list the table: it has none of the table's rows."""
    name = table.entry.table
    for window in table.windows:
        if window.end_position.plus(-1) > table.entry.position and str(name) not in window.tables:
            cure = f"`redolake snapshot {name.in_command} --replace` reads the table again"
            error = SchemaConflict("a window was landed without the table", cure=cure, window=window.name)
            return HoldAt(window.start, error.as_dict())
    return None


def behind_the_chain(table: BatchedTable) -> HoldAt | None:
    """Hold a table that lacks changes from before the batch: its catch-up is missing."""
    entry = table.entry
    if entry.complete_to_scn is None or entry.position >= table.chain_position.plus(-1):
        return None
    error = InvariantBroken(
        f"the table is complete to SCN {entry.complete_to_scn}, the batch begins at {table.start}",
        cure=f"`redolake resume {entry.table}` catches it up",
        table=entry.table,
    )
    return HoldAt(table.start, error.as_dict())


def ahead_of_resetlogs(table: BatchedTable) -> HoldAt | None:
    """Hold a table that may contain rows that a RESETLOGS undid: its snapshot is from a later SCN of the older incarnation.

    If the RESETLOGS lies in a declared gap, its SCN is unknown, so anything after the gap's start may be undone.
    """
    entry, first = table.entry, table.windows[0]
    if (entry.resetlogs_id or 0) >= first.resetlogs_id or entry.complete_to_scn is None:
        return None
    if entry.position < table.chain_position if table.crosses_gap else entry.complete_to_scn < first.start:
        return None
    since = f"came after SCN {table.chain_position.scn}" if table.crosses_gap else f"has set the database back to {first.start}"
    error = RedoLost(
        f"the table was read AS OF SCN {entry.complete_to_scn}, and a RESETLOGS {since}",
        cure=f"`redolake snapshot {entry.table} --replace` reads the table again",
        table=entry.table,
    )
    return HoldAt(table.start, error.as_dict())


def applied_doubtful_quotes(table: BatchedTable) -> HoldAt | None:
    """Hold a table that may have `5'` where the source has `5''`: such texts were applied before anything showed that LogMiner
    leaves quotes single. Those that are applied from now on are refused one by one."""
    entry, doubtful = table.entry, table.doubtful_quotes
    if doubtful is None or entry.complete_to_scn is None or entry.complete_to_scn < doubtful.start:
        return None
    if entry.snapshot_scn is not None and entry.snapshot_scn >= doubtful.end - 1:
        return None
    error = RedoNotUnderstood(
        f"LogMiner of this database leaves quotes inside values single, and {doubtful.rows} row(s) with quotes side by side "
        f"were read as doubled ones before, in windows {doubtful.first} to {doubtful.last}",
        cure=f"`redolake snapshot {entry.table} --replace` reads the table again",
        table=entry.table,
    )
    return HoldAt(table.start, error.as_dict())


def hold_pruned(table: BatchedTable) -> HoldAt | None:
    """Hold a table that needs windows which were pruned."""
    error = lack_of_windows(table.pruned, table.entry)
    return None if error is None else HoldAt(table.start, error.as_dict())


def lack_of_windows(pruned: Pruned | None, entry: TableEntry) -> RedoLost | None:
    """Return the error of a table that is complete to an SCN after which windows were pruned; None for others."""
    end = entry.contents_end
    step = None if pruned is None or end is None else pruned.step_of(end)
    if pruned is None or step is None:
        return None
    return RedoLost(
        f"the table is complete to SCN {entry.complete_to_scn}, and the windows up to SCN {pruned.position.scn} were pruned; "
        f"the first that it needs on {step.at}, by {step.by}",
        cure=f"`redolake snapshot {entry.table} --replace` reads the table again",
        table=entry.table,
    )


def hold_omitted(table: BatchedTable) -> HoldAt | None:
    return table.omission


def contradicts_dictionary(table: BatchedTable) -> HoldAt | None:
    """Hold a table whose versions something contradicts. Where the dictionary says so too late, the error says what was already
    committed to Delta without the change."""
    if table.conflict is None:
        return None
    error, complete = table.conflict.as_dict(), table.entry.complete_to_scn
    if table.conflict.where.get("waits"):
        return HoldAt(table.start, {**error, "code": NOT_LOADED["code"]})  # as a table that waits for its contents
    agreed = table.conflict.where.get("agreed_until")
    if isinstance(agreed, int) and complete is not None and complete > agreed:
        error["what"] = (
            f"{table.conflict.what}. Delta has the table up to SCN {complete}: if that happened between SCN {agreed}, the last "
            f"at which both agreed, and {complete}, the rows that readers see since then are wrong"
        )
    return HoldAt(table.start, error)


def waits_at(hold: HoldAt | None) -> int | None:
    """Return the SCN of the change about which redo decides that is not landed yet; None where the table does not wait."""
    where = {} if hold is None else hold.error.get("where", {})
    return int(where["scn"]) if where.get("waits") else None


def unsupported_ddl(table: BatchedTable) -> HoldAt | None:
    return table.ddl


RULES: tuple[Callable[[BatchedTable], HoldAt | None], ...] = (
    hold_held,
    hold_without_contents,
    hold_later_incarnation,
    hold_missing,
    hold_pruned,
    behind_the_chain,
    ahead_of_resetlogs,
    hold_omitted,
    applied_doubtful_quotes,
    contradicts_dictionary,
    unsupported_ddl,
)


def first_hold(table: BatchedTable) -> HoldAt | None:
    """Return the hold at the lowest SCN; of several at one SCN, that of the first rule in RULES."""
    holds = [hold for rule in RULES if (hold := rule(table)) is not None]
    return min(holds, key=lambda hold: hold.at_scn, default=None)
