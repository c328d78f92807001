"""A swap of a whole copy with its live table.

Where rows of the live table are wrong, the copy is a version from before that, with the landed changes since then. It may take
the live table's place once it is at the table's own position, in one commit that leaves the position as it is. No reader sees a
mixture, and no row gets older.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, open_context, owner, silent
from redolake.errors import ConfigurationError, Finding, Terminal, in_shell, plain_lines
from redolake.host import crash
from redolake.land.files import Files
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.contents import Contents
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.prunable import COPY
from redolake.reconcile.table_versions import app_id, origin
from redolake.steps.proof.copied_lists import CopiedList, SwappedLists, read_lists
from redolake.steps.proof.repair import Writer, apply_lease_renewed
from redolake.steps.proof.verify import entry_with_contents
from redolake.steps.ranges.copies import copy_path, fold, fold_spec, folder_of
from redolake.steps.shared.decisions import check_reason
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class SwappedTable:
    """The rows of the copy `shadow`, complete to `shadow_scn`, in place of the table's, which is complete to `applied_scn`;
    `windows` are folded into it before. What it replaces is the whole copy `kept`. `quarantined_keys` are wrong afterwards, as
    they are in the copy."""

    table: str
    shadow: str
    shadow_scn: int
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
        stands = (
            f"{self.table}: its copy {self.shadow} is complete to SCN {self.shadow_scn}, the table to SCN {self.applied_scn}"
        )
        if self.delta_version is None:
            return plain_lines((stands, f"{self.windows} window(s) are folded into the copy first, while no batch is applied"))
        name = in_shell(self.table)
        lines = (
            f"{self.table}: has the rows of {self.shadow}, AS OF SCN {self.applied_scn}, in Delta version {self.delta_version}",
            f"what they replace is kept as {self.kept}: `redolake swap {name} --undo`",
            *((f"it is held, and goes on after: `redolake resume {name}`",) if self.held else ()),
            *((f"{self.quarantined_keys} keys of it are in quarantine, as in the copy",) if self.quarantined_keys else ()),
            f"prove it: `redolake verify {name}`",
        )
        return plain_lines(lines)


def swap_table(
    pipeline: Pipeline,
    table_name: str,
    shadow: str | None = None,
    *,
    execute: bool = False,
    reason: str = "",
    by: str = "",
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> SwappedTable:
    """Show what a swap takes, or put a whole copy in the place of its table; without `shadow` the one that the last swap has
    kept.

    The apply lease is held meanwhile. A killed run is repeated. Raises Terminal where there is no such copy, NotReadableAsOf
    where the changes since it are not landed any more.
    """
    if execute:
        check_reason("a swap", reason)
    if shadow is not None and not COPY.fullmatch(shadow):
        what = f"{shadow} is not the name of a whole copy, such as 2000000-2000400-copy"
        raise ConfigurationError([Finding("--shadow", what, "name one that a backfill to `copy` has printed")])
    with (
        open_context(pipeline) as context,
        spark_when_needed(pipeline, spark, opens) as opened,
        apply_lease_renewed(pipeline) if execute else nullcontext() as writer,
    ):
        reconcile_ledger(context)
        table = named_table(context, table_name)
        entry = entry_with_contents(context, table)
        if entry.state == "snapshotting":
            raise Terminal("a snapshot of the table is being read", cure="let it end, or swap before it", table=table)
        name = shadow if shadow is not None else last_kept(context, table)
        path = copy_path(context, table, name)
        there = contents_of_copy(context, entry, path)
        at = ChainPosition(there.resetlogs_id, int(entry.complete_to_scn or 0))
        manifests = context.landing.windows.after()
        spec = fold_spec(context, {table: there}, at, manifests, {table: path}, name)
        windows, is_held = 0 if spec is None else len(spec.windows), entry.state == "held"
        found = SwappedTable(str(table), name, there.complete_to, at.scn, windows, held=is_held)
        if writer is None:
            return found
        report(f"{table}: bringing its copy to SCN {at.scn}")
        fold(context, spec, opened, report)
        return swap(context, entry, replace(found, by=by or owner(), reason=reason.strip()), path, writer, opened, report)


def last_kept(context: PipelineContext, table: TableId) -> str:
    """Return the name of what the last swap of a table has replaced."""
    lake = Files(context.pipeline.lake, public=True)
    kept = [name for name in lake.names("_shadow") if (found := COPY.fullmatch(name)) and found["kind"] == REPLACED]
    mine = [name for name in kept if lake.names(f"_shadow/{name}/{context.pipeline.table(table).path}")]
    if not mine:
        cure = "`keep.shadows` says how long it is kept; name a copy by --shadow"
        raise Terminal("nothing is kept that a swap of the table has replaced", cure=cure, table=table)
    return max(mine, key=lambda name: tuple(map(int, name.split("-")[:2])))


def contents_of_copy(context: PipelineContext, entry: TableEntry, path: str) -> Contents:
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
    return Contents(resetlogs_id, position, position, 0, position)


@crash.writer
def swap(
    context: PipelineContext,
    entry: TableEntry,
    found: SwappedTable,
    path: str,
    writer: Writer,
    spark: Spark,
    report: Report,
) -> SwappedTable:
    """Keep what the table has, and put the copy's rows in its place."""
    from redolake.job.swap import Copied, find_swap, keep_newest, swap_rows

    table, app = entry.table, app_id(context, entry.table, entry.position.resetlogs_id)
    target, kept = context.pipeline.target(table), f"{found.applied_scn}-{writer.token}-{REPLACED}"
    lists = swapped_lists(context, spark, entry, path, found.shadow)
    if (done := find_swap(target, found.shadow, found.applied_scn)) is not None:  # an earlier run was killed after it
        return with_list(replace(found, kept=done.kept, delta_version=done.version), lists)
    if lists is not None:
        lists.add_wrong(is_undo=is_replaced(found.shadow))
    report(f"{table}: keeping its rows as {kept}")
    metadata = {"pipeline": context.name, "table": str(table), "by": found.by, "reason": found.reason}
    quarantines = context.pipeline.quarantine_path(table), context.pipeline.quarantine_path(table, folder_of(context, kept))
    old = Copied(copy_path(context, table, kept), app, found.applied_scn, *quarantines)
    keep_newest(spark.session(), table, target, old, {**metadata, "copy": True})
    made = record_approval(
        context, "repair", table, found.applied_scn, by=found.by, policy=f"a swap with {found.shadow}", reason=found.reason,
        choice="all rows",
    )  # fmt: skip
    report(f"{table}: swapping")
    says = {**metadata, "repair": made.name, "swap": found.shadow, "kept": kept, "scn": found.applied_scn}
    copy, lake = Copied(path, app, found.applied_scn, origin=origin(context)), lake_place(context)
    version = swap_rows(spark.session(), table, target, copy, writer.token, says, writer.check, lake)
    return with_list(replace(found, kept=kept, delta_version=version), lists)


def is_replaced(shadow: str) -> bool:
    found = COPY.fullmatch(shadow)
    return found is not None and found["kind"] == REPLACED


def swapped_lists(context: PipelineContext, spark: Spark, entry: TableEntry, path: str, shadow: str) -> SwappedLists | None:
    app = app_id(context, entry.table, entry.position.resetlogs_id)
    quarantine = context.pipeline.quarantine_path(entry.table, folder_of(context, shadow))
    return read_lists(context, spark, entry, CopiedList(path, quarantine, app))


def with_list(found: SwappedTable, lists: SwappedLists | None) -> SwappedTable:
    """Take the keys off the table's list that are right in the copy, now that its rows are in place."""
    if lists is None:
        return found
    assert found.delta_version is not None
    return replace(found, quarantined_keys=lists.take_off(found.delta_version, found.by, f"a swap with {found.shadow}"))
