"""Fill columns that a table lacks and pipelines.yml wants now, without a snapshot of the others: those that were left out,
those that it computes, and those that it computes in another way.

What they are made of is read AS OF the table's own position, with the keys, mapped as a snapshot's rows are, and added to the
table's rows in one commit that leaves the position as it is. From there on the redo has it, as it always had: it lands whole,
whatever pipelines.yml chooses. So every change since is applied with the new columns, those of transactions that were open at
the position included.
"""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from dataclasses import replace

from redolake.context import Run, step
from redolake.errors import RedolakeError, Terminal
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.batches import load_name
from redolake.reconcile.chosen_columns import chosen
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.lost_masks import check_masks
from redolake.reconcile.mappings import with_mapping
from redolake.reconcile.table_versions import app_id, known_versions, origin, rules
from redolake.reconcile.version_conflicts import key_policy_conflict
from redolake.records.file_digest import FileDigest
from redolake.records.loads import SnapshotLoaded, SnapshotSpec, SnapshotTask
from redolake.schema import baseline, conflict_with_dictionary, version_as_of
from redolake.source import WHOLE, Source, read_tables
from redolake.steps.proof.listed_keys import quarantine_of
from redolake.steps.proof.repair import ReadAgain, open_at_position, within_reach
from redolake.steps.proof.table_to_compare import TableToCompare, read_columns
from redolake.steps.proof.verify import entry_with_contents
from redolake.steps.shared.leases import LeaseRenewer, apply_lease_renewed
from redolake.steps.shared.shown_facts import expected_rows
from redolake.values.delivery import delivery_of, is_named_in_redo
from redolake.values.joined_columns import Joins, find_joins, names_of, version_to_read
from redolake.values.scn import Scn
from redolake.values.table import TableId, TableVersion


@step
@crash.writer
def fill_columns(run: Run, table_name: str) -> ReadAgain:
    """Show which columns pipelines.yml wants that a table lacks, or add them with their values.

    The apply lease is held meanwhile. A killed run is repeated. Raises Terminal where only a new snapshot can add them, and
    for a held table that lacks none.
    """
    if run.execute:
        run.decision("filling columns")
    with (
        apply_lease_renewed(run) if run.execute else nullcontext() as lease,
        open_at_position(run, table_name, entry_to_fill, plan_filling) as (one, joins),
    ):
        if not joins.all:
            why = "it has every column that pipelines.yml wants: there is nothing to fill"
            return ReadAgain(str(one.entry.table), int(one.scn), why_not=why)
        check_list(one)
        asked = ReadAgain(
            str(one.entry.table), int(one.scn), expected_rows(run, one.entry.table), by=run.decided_by,
            columns=names_of(one.version, joins.all), again=names_of(one.version, joins.again), reason=run.reason,
        )  # fmt: skip
        if lease is None:
            return asked
        path, digest = read_values(one, joins, asked)
        run.report(f"adding {', '.join(asked.columns)} to {asked.table}")
        loaded = load_columns(one.context, load_task(one, joins, path), {path: digest}, asked, lease)
        reconcile_ledger(one.context)  # records the load, as it would one of a killed run
        return replace(asked, rows=loaded.rows, delta_version=loaded.delta_version)


# --- What is to be done -----------------------------------------------------------------------------------------------


def plan_filling(context: Run, oracle: Source, entry: TableEntry, token: str) -> tuple[TableToCompare, Joins]:
    """Return the table with the columns that are wanted, and those of them that it lacks. Raise Terminal, or the conflict,
    where only a new snapshot can bring them."""
    table = entry.table
    assert entry.complete_to_scn is not None
    found = read_tables(oracle, (table,), context.pipeline.source.container, context.pipeline.renamed).get(table)
    has = version_as_of(known_versions(context, table), entry.complete_to_scn)
    if found is None or (differs := conflict_with_dictionary(has, found)) is not None:
        what = "it is not in the dictionary any more" if found is None else differs.what if differs else ""
        raise refused(table, f"{what}: a DDL has run since the table's position, SCN {entry.complete_to_scn}", earlier(table))
    dictionary = chosen(context.pipeline, found)
    settings = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
    since = Scn(max(entry.complete_to_scn, has.from_scn + 1))  # another version may begin at the position
    version = with_mapping(context.pipeline, baseline(dictionary, since, has, *settings), has)
    check_masks(context.pipeline, known_versions(context, table), version)
    joins = find_joins(has, version, context.pipeline.target_options(table))
    why = why_not(has, version, joins) or conflict_text(key_policy_conflict(context, has))
    if why:
        raise refused(table, why)
    if not joins.all and entry.state == "held":
        what = f"it has every column that pipelines.yml wants, and is held by {(entry.error or {}).get('code')}"
        raise Terminal(f"no columns can be filled: {what}", cure=f"run `redolake resume {table.in_command}`", table=table)
    one = TableToCompare(context, oracle, entry, dictionary, version, token)
    return one, joins


def entry_to_fill(context: Run, table: TableId) -> TableEntry:
    """Return the table's entry. Raise Terminal where its rows are not those of its position, or changes wait for an answer."""
    entry = entry_with_contents(context, table)
    code = (entry.error or {}).get("code")
    if entry.state not in ("live", "held") or (entry.state == "held" and code not in ("SchemaConflict", "MappingFailed")):
        why = "a snapshot of it is being read" if entry.state != "held" else f"it is held by another error, {code}"
        raise refused(table, why, "let it go on first: `redolake status` says how")
    return entry


def check_list(one: TableToCompare) -> None:
    """Raise Terminal where keys are in quarantine, also dropped ones: as after each load, nobody would know of them."""
    found, table = quarantine_of(one.context, one.entry), one.entry.table
    if found is not None and found.wrong:
        first = min(found.wrong)
        again = f"`redolake quarantine retry {table.in_command} --execute --reason TEXT` first"
        how = f"{again}, with `--key` for a key that was dropped, such as {first}"
        raise refused(table, f"{len(found.wrong)} of its keys are in quarantine", how)


def why_not(has: TableVersion, wanted: TableVersion, joins: Joins) -> str:
    """Return why columns cannot be added to the contents of `has`; empty where they can."""
    if joins.why_not or not joins.all:
        return joins.why_not
    if not is_named_in_redo(map(delivery_of, (has, wanted))) or not key_of(wanted):
        return "its changes are not each in one row of the redo with the row's key (large objects, types that are read again)"
    places = {column.name: column.segment_id for column in has.ignored if column.name in has.left_out}
    known = {column.id for column in has.columns}
    moved = [c.name for c in wanted.columns if c.id not in known and places.get(c.name) != c.segment_id]
    return f"{', '.join(moved)} is not the column that was left out" if moved else ""


def key_of(version: TableVersion) -> tuple[int, ...]:
    return version.key if version.key_kind in ("primary", "columns") else ()


def conflict_text(conflict: RedolakeError | None) -> str:
    return "" if conflict is None else conflict.what


def earlier(table: TableId) -> str:
    resume = f"`redolake resume {table.in_command}`"
    return f"restore the old choice of columns, {resume} and let apply pass it; then choose and fill them"


def refused(table: TableId, why: str, cure: str = "") -> Terminal:
    snapshot = f"run `redolake snapshot {table.in_command} --replace`"
    return Terminal(
        f"no columns can be filled: {why}", cure=f"{cure}; or {snapshot}" if cure else snapshot, table=table
    )  # fmt: skip


# --- Reading and writing ----------------------------------------------------------------------------------------------


def read_values(one: TableToCompare, joins: Joins, asked: ReadAgain) -> tuple[str, FileDigest]:
    """Read the key and the columns of all rows AS OF the table's position into a file."""
    table, names = one.entry.table, ", ".join(asked.columns)
    one.context.report(f"reading {names} of {table} AS OF SCN {one.scn}")
    ids = {column.id for column in version_to_read(one.version, joins.all).columns}
    with within_reach(table, one.scn, f"{earlier(table)}, or run `redolake snapshot {table.in_command} --replace`"):
        return read_columns(one, ids, (WHOLE,), 0, asked.rows)


def load_task(one: TableToCompare, joins: Joins, path: str) -> SnapshotTask:
    context, table, version = one.context, one.entry.table, one.version
    named = {column.name: column.comment for column in one.dictionary.columns if column.comment}
    return SnapshotTask(
        table=table,
        target=context.pipeline.target(table),
        app_id=app_id(context, table, one.entry.position.resetlogs_id),
        version=version,
        files=(path,),
        rules=rules(context, table, (version,)),
        rows=one.cost.source_rows,
        options=context.pipeline.target_options(table),
        comments=tuple((c.id, named[c.name]) for c in version.columns if c.name in named),
        scn=int(one.scn),
        joins=joins.all,
    )


@crash.writer
def load_columns(
    context: Run,
    task: SnapshotTask,
    digests: dict[str, FileDigest],
    asked: ReadAgain,
    lease: LeaseRenewer,
) -> SnapshotLoaded:
    """Write the spec of the load, and load. From its result on, every process knows the columns."""
    from redolake.job.snapshot import run_filling

    record_approval(
        context, "repair", task.table, task.scn, by=asked.by, policy=f"columns filled: {', '.join(asked.columns)}",
        reason=asked.reason, choice="all rows",
    )  # fmt: skip
    token = uuid.uuid4().hex
    name = load_name(token, task.scn, [task])
    spec = SnapshotSpec(
        pipeline=context.name,
        scn=task.scn,
        token=token,
        tables=(task,),
        manifest=context.landing.files.location(layout.load_manifest(name)),
        replace=True,
        lease=lease.token,
        lake=lake_place(context),
        origin=origin(context),
        digests=digests,
    )
    context.landing.files.write_new_record(layout.load_spec(name), spec)
    return run_filling(context.spark.session(), spec, lease.check)
