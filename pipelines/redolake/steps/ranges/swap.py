"""Whole copies of tables, and the swap of one with its live table.

A copy is a version of the live table with the landed changes since then, so it has all rows. Where rows of the live table are
wrong, one from before that may take the live table's place once it is at the table's own position, in one commit that leaves
the position as it is. No reader sees a mixture, and no row gets older.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from redolake.apply.table_log import VersionToRead
from redolake.context import Run, step
from redolake.errors import ConfigurationError, Finding, QuarantineInTheWay, Terminal, in_shell, plain_lines
from redolake.host import crash
from redolake.land import layout
from redolake.land.files import Files
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.contents import Contents
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.quarantine import record_open_keys
from redolake.reconcile.table_versions import app_id, origin
from redolake.records.batches.spec import BatchSpec
from redolake.records.windows import WindowManifest
from redolake.steps.proof.verify import entry_with_contents
from redolake.steps.ranges.as_of import bases_at, new_read, position_of, replay, with_contents, with_wrong_keys, wrong_text
from redolake.steps.ranges.replay import Aim, shadow_folder
from redolake.steps.shared.leases import LeaseRenewer, apply_lease_renewed
from redolake.steps.shared.named_tables import named_table, named_tables
from redolake.values.moment import COPY
from redolake.values.quarantine import Wrong
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copy of a table at `target`: version `version`, complete to `version_scn`, with the landed changes up to `to_scn`. The
    rows of `wrong_keys` are known to be wrong: they are in the copy's own quarantine."""

    table: str
    target: str
    version: int
    version_scn: int
    to_scn: int
    wrong_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """`name` is that of the shadow, for `redolake swap`."""

    name: str
    windows: int
    tables: tuple[CopiedTable, ...]
    executed: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        rows = (
            f"{one.table}: Delta version {one.version}, complete to SCN {one.version_scn}, and the landed changes to SCN "
            f"{one.to_scn}, into {one.target}"
            for one in self.tables
        )
        swap = f"to put one in its live table's place: `redolake swap OWNER.TABLE --copy {self.name}`"
        wrong = (wrong_text(one.table, one.wrong_keys) for one in self.tables if one.wrong_keys)
        after = (*wrong, swap) if self.executed else ()
        head = f"{self.name}: {self.windows} window(s) {'folded' if self.executed else 'to fold'}"
        return plain_lines((head, *rows, *after))


@step
def copy_tables(context: Run, start: str | int, end: str | int, tables: Sequence[str] | None = None) -> Copies:
    """Make whole copies of tables as of the last SCN before `end`, from their versions at `start` and the landed changes since.

    A repeat goes on where a killed run ended. Raises NotReadableAsOf for a table that is not known at one of the SCNs.
    """
    chosen = named_tables(context, tables)
    reconcile_ledger(context)
    manifests, entries = context.landing.windows.after(), with_contents(context, chosen)
    moments = (str(start), str(int(end) - 1) if str(end).isdecimal() else str(end))
    first, last = (position_of(context, moment, manifests, entries) for moment in moments)
    if first > last:
        raise ConfigurationError([Finding("range", f"SCN {first.scn} is after SCN {last.scn}", "choose an earlier start")])
    bases = bases_at(context, entries, first, last)
    name = f"{first.scn}-{last.scn + 1}-copy"
    there = copies_named(context, name)
    versions = [there.version(context, table, base) for table, base in bases.items()]
    spec = fold_spec(context, bases, last, manifests, there)
    made = tuple(CopiedTable(str(v.table), str(v.copy), v.version, v.complete_to, last.scn) for v in versions)
    found = Copies(name, 0 if spec is None else len(spec.redo.windows), made)
    if not context.execute:
        return found
    make_copies(context, versions)
    fold(context, spec, there)
    wrong = wrong_in_copies(context, versions, last.scn)
    return replace(found, tables=with_wrong_keys(found.tables, wrong), executed=True)


def copies_named(context: Run, name: str) -> Aim:
    """Return where the whole copies of that name are, or shall be; the batch that they are folded by is a new one."""
    return replace(new_read(context, "copy")[1], folder=f"{shadow_folder(context.pipeline)}/{name}")


def make_copies(context: Run, versions: Sequence[VersionToRead]) -> None:
    from redolake.job.as_of import make_copy

    for one in versions:
        context.report(f"copying version {one.version} of {one.table}")
        says = {"pipeline": context.name, "table": str(one.table), "copy": True}
        make_copy(context.spark.session(), one, says, is_whole=True)


def wrong_in_copies(context: Run, versions: Sequence[VersionToRead], scn: int) -> Mapping[TableId, tuple[str, ...]]:
    """Return the keys whose rows are known to be wrong in the copies, by the list that each of them has."""
    from redolake.job.as_of import wrong_keys_in
    from redolake.job.lake import has_log

    listed = [one for one in versions if one.copied_quarantine and has_log(one.copied_quarantine)]
    return wrong_keys_in(context.spark.session(), listed, scn) if listed else {}


def fold_spec(
    context: Run,
    bases: Mapping[TableId, Contents],
    last: ChainPosition,
    manifests: Sequence[WindowManifest],
    there: Aim,
) -> BatchSpec | None:
    """Return the batch that brings copies from their bases to an SCN; None where all are there."""
    lagging = {table: base for table, base in bases.items() if base.complete_to < last.scn}
    return replay(context, lagging, last, manifests, there) if lagging else None


@crash.writer
def fold(context: Run, spec: BatchSpec | None, there: Aim) -> None:
    from redolake.job.swap import fold_into_copies

    if spec is None:
        return
    try:
        fold_into_copies(context.spark.session(), spec, context.report)
    finally:
        context.landing.files.remove(there.batch)


# --- A swap -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SwappedTable:
    """The rows of the copy `copy`, complete to `copy_scn`, in place of the table's, which is complete to `applied_scn`;
    `windows` are folded into it before. What it replaces is the whole copy `kept`. `quarantined_keys` are wrong afterwards, as
    they are in the copy."""

    table: str
    copy: str
    copy_scn: int
    applied_scn: int
    windows: int
    kept: str = ""
    delta_version: int | None = None
    by: str = ""
    reason: str = ""
    held: bool = False
    quarantined_keys: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        stands = f"{self.table}: its copy {self.copy} is complete to SCN {self.copy_scn}, the table to SCN {self.applied_scn}"
        if self.delta_version is None:
            return plain_lines((stands, f"{self.windows} window(s) are folded into the copy first, while no batch is applied"))
        name = in_shell(self.table)
        lines = (
            f"{self.table}: has the rows of {self.copy}, AS OF SCN {self.applied_scn}, in Delta version {self.delta_version}",
            f"what they replace is kept as {self.kept}: `redolake swap {name} --undo`",
            *((f"it is held, and goes on after: `redolake resume {name}`",) if self.held else ()),
            *((f"{self.quarantined_keys} keys of it are in quarantine, as in the copy",) if self.quarantined_keys else ()),
            f"prove it: `redolake verify {name}`",
        )
        return plain_lines(lines)


@step
def swap_table(context: Run, table_name: str, copy: str | None = None) -> SwappedTable:
    """Show what a swap takes, or put a whole copy in the place of its table; without `copy` the one that the last swap has
    kept.

    The apply lease is held meanwhile. A killed run is repeated. Raises Terminal where there is no such copy, NotReadableAsOf
    where the changes since it are not landed any more.
    """
    if context.execute:
        context.decision("a swap")
    if copy is not None and not COPY.fullmatch(copy):
        what = f"{copy} is not the name of a whole copy, such as 2000000-2000400-copy"
        raise ConfigurationError([Finding("--copy", what, "name one that a backfill to `copy` has printed")])
    with apply_lease_renewed(context) if context.execute else nullcontext() as writer:
        reconcile_ledger(context)
        table = named_table(context, table_name)
        entry = entry_with_contents(context, table)
        if entry.state == "snapshotting":
            raise Terminal("a snapshot of the table is being read", cure="let it end, or swap before it", table=table)
        name = copy if copy is not None else last_kept(context, table)
        there = copies_named(context, name)
        base = contents_of_copy(context, entry, f"{there.folder}/{context.pipeline.table(table).path}")
        at = ChainPosition(base.resetlogs_id, int(entry.complete_to_scn or 0))
        spec = fold_spec(context, {table: base}, at, context.landing.windows.after(), there)
        windows, is_held = 0 if spec is None else len(spec.redo.windows), entry.state == "held"
        found = SwappedTable(str(table), name, base.complete_to, at.scn, windows, held=is_held)
        if writer is None:
            return found
        context.report(f"{table}: bringing its copy to SCN {at.scn}")
        fold(context, spec, there)
        copied = replace(base, complete_to=at.scn)
        named = replace(found, by=context.decided_by, reason=context.reason)
        return swap(context, there.version(context, table, copied), copied, named, writer)


def last_kept(context: Run, table: TableId) -> str:
    """Return the name of what the last swap of a table has replaced."""
    lake = Files(context.pipeline.lake, public=True)
    kept = [name for name in lake.names(layout.SHADOWS) if (found := COPY.fullmatch(name)) and found["kind"] == REPLACED]
    mine = [name for name in kept if lake.names(f"{layout.SHADOWS}/{name}/{context.pipeline.table(table).path}")]
    if not mine:
        cure = "`keep.shadows` says how long it is kept; name a copy by --copy"
        raise Terminal("nothing is kept that a swap of the table has replaced", cure=cure, table=table)
    return max(mine, key=lambda name: tuple(map(int, name.split("-")[:2])))


def contents_of_copy(context: Run, entry: TableEntry, path: str) -> Contents:
    """Return what a copy has. Raise Terminal where there is none that may take the table's place."""
    from redolake.job.swap import position_of_copy

    resetlogs_id = entry.position.resetlogs_id
    position = position_of_copy(path, app_id(context, entry.table, resetlogs_id))
    if position is None:
        raise Terminal(
            "the folder has no whole copy of the table that is complete to an SCN of its incarnation",
            cure=f"make one: `redolake backfill --target copy --from MOMENT --to now {entry.table} --execute`",
            table=entry.table,
            path=path,
        )
    if position > entry.position.scn:
        raise Terminal(
            f"the copy is complete to SCN {position}, and the table to SCN {entry.complete_to_scn}",
            cure="let apply bring the table there first",
            table=entry.table,
            path=path,
        )
    return Contents(resetlogs_id, position, position, 0, None)


@crash.writer
def swap(
    context: Run,
    copy: VersionToRead,
    base: Contents,
    found: SwappedTable,
    writer: LeaseRenewer,
) -> SwappedTable:
    """Keep what the table has, and put the copy's rows in its place."""
    from redolake.job.swap import find_swap, keep_newest, swap_rows

    table, name = copy.table, f"{found.applied_scn}-{writer.token}-{REPLACED}"
    lists = read_lists(context, copy)
    done = find_swap(copy.path, copy.app_id, found.copy, found.applied_scn)
    if done is not None:  # an earlier run was killed after it
        kept_as, version = done
        return with_list(replace(found, kept=kept_as, delta_version=version), lists)
    if lists is not None:
        lists.add_wrong(is_undo=is_replaced(found.copy))
    context.report(f"{table}: keeping its rows as {name}")
    metadata = {"pipeline": context.name, "table": str(table), "by": found.by, "reason": found.reason}
    kept = copies_named(context, name).version(context, table, base)
    keep_newest(context.spark.session(), kept, {**metadata, "copy": True})
    made = record_approval(
        context, "repair", table, found.applied_scn, by=found.by, policy=f"a swap with {found.copy}", reason=found.reason,
        choice="all rows",
    )  # fmt: skip
    context.report(f"{table}: swapping")
    says = {**metadata, "repair": made.name, "swap": found.copy, "kept": name, "scn": found.applied_scn}
    lake = lake_place(context)
    version = swap_rows(context.spark.session(), copy, writer.token, says, writer.check, lake, origin(context))
    return with_list(replace(found, kept=name, delta_version=version), lists)


def is_replaced(copy: str) -> bool:
    found = COPY.fullmatch(copy)
    return found is not None and found["kind"] == REPLACED


# --- The lists of wrong keys --------------------------------------------------------------------------------------------

# A copy has a list of its own, so after a swap the table's list is that one. What the copy has wrong is listed before its rows
# are in place, and what it has right is taken off afterwards: a kill in between leaves a key listed that is right, never the
# reverse.


@dataclass(frozen=True, slots=True)
class SwappedLists:
    """The wrong keys of the live table, and those of the copy, both AS OF the SCN to which both are complete."""

    context: Run
    copy: VersionToRead
    live: Mapping[str, Wrong]
    copied: Mapping[str, Wrong]

    def add_wrong(self, *, is_undo: bool) -> None:
        """List what is wrong in the copy alone. Raise QuarantineInTheWay unless the copy is what an earlier swap has
        replaced."""
        from redolake.job.quarantine import list_again

        worse = {key: one for key, one in self.copied.items() if key not in self.live}
        if worse and not is_undo:
            raise QuarantineInTheWay(
                f"rows of {len(worse)} keys are right in the table and wrong in the copy, such as {min(worse)}: they were read "
                "again since the copy begins, and they are not in the redo",
                cure="make a copy that begins later",
                table=self.copy.table,
                scn=self.copy.complete_to,
            )
        if worse:
            list_again(self.context.spark.session(), self.copy, worse)

    def take_off(self, delta_version: int, by: str, why: str) -> int:
        """Take off the list what is right in the copy. Return how many keys are wrong now."""
        from redolake.job.quarantine import record_decision

        one, better, spark = self.copy, sorted(self.live.keys() - self.copied.keys()), self.context.spark
        if better:
            record_decision(
                spark.session(), str(one.quarantine), one.path, one.app_id, "retried", better, one.complete_to, by=by,
                why=why, table=one.table, delta_version=delta_version,
            )  # fmt: skip
        record_open_keys(self.context, one.table, sum(found.state == "open" for found in self.copied.values()))
        return len(self.copied)


def read_lists(context: Run, copy: VersionToRead) -> SwappedLists | None:
    """Return the lists of a table and of its copy; None where neither has ever had a key."""
    from redolake.job.lake import has_log
    from redolake.job.quarantine import read_wrong

    own, copied = str(copy.quarantine), str(copy.copied_quarantine)
    if not has_log(own) and not has_log(copied):
        return None
    wrong = read_wrong(context.spark.session(), own, copy.path, copy.app_id, copy.complete_to)
    wrong_there = read_wrong(context.spark.session(), copied, str(copy.copy), copy.app_id, copy.complete_to)
    return SwappedLists(context, copy, wrong, wrong_there)


def with_list(found: SwappedTable, lists: SwappedLists | None) -> SwappedTable:
    """Take the keys off the table's list that are right in the copy, now that its rows are in place."""
    if lists is None:
        return found
    assert found.delta_version is not None
    return replace(found, quarantined_keys=lists.take_off(found.delta_version, found.by, f"a swap with {found.copy}"))
