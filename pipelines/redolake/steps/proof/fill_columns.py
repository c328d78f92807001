"""Fill columns that a table lacks and pipelines.yml wants now, without a snapshot of the others: those that were left out,
those that it computes, and those that it computes in another way.

What they are made of is read AS OF the table's own position, with the keys, mapped as a snapshot's rows are, and added to the
table's rows in one commit that leaves the position as it is. From there on the redo has it, as it always had: it lands whole,
whatever pipelines.yml chooses. So every change since is applied with the new columns, those of transactions that were open at
the position included.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, open_context, open_pipeline_source, owner, silent
from redolake.errors import RedolakeError, Terminal, in_shell, plain_lines
from redolake.host import crash
from redolake.host.progress import count_rows
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
from redolake.source import ConnectParams, Source, read_redo_facts, read_tables
from redolake.steps.proof.quarantine import quarantine_of
from redolake.steps.proof.repair import Writer, apply_lease_renewed
from redolake.steps.proof.table_to_compare import Cost, count_read
from redolake.steps.proof.verify import check_readable, entry_with_contents
from redolake.steps.shared.comparison_rows import comparison_place, folder_name, remove_left_rows
from redolake.steps.shared.decisions import check_reason
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.shown_facts import expected_rows
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.steps.shared.table_rows import read_rows
from redolake.values.delivery import delivery_of, is_named_in_redo
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.joined_columns import Joins, find_joins, names_of, version_to_read
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import Scn
from redolake.values.table import TableId, TableVersion


@dataclass(frozen=True, slots=True)
class FilledColumns:
    """`columns` that pipelines.yml wants and the table lacks are read AS OF `applied_scn`, its position; `again` are those of
    them that it has, computed in another way. `rows` about how many it has, or, once it is done, how many were written in
    `delta_version`."""

    table: str
    columns: tuple[str, ...]
    applied_scn: int
    rows: int | None = None
    delta_version: int | None = None
    by: str = ""
    reason: str = ""
    again: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        shown = (f"{name} (computed again)" if name in self.again else name for name in self.columns)
        names = f"{self.table}: {', '.join(shown)}"
        if self.delta_version is None:
            rows = "all rows" if self.rows is None else f"about {self.rows} rows"
            return plain_lines((f"{names}: read with the key of {rows} AS OF SCN {self.applied_scn}, and added in one commit",))
        lines = (
            f"{names}: added to {self.rows} rows AS OF SCN {self.applied_scn}, in Delta version {self.delta_version}",
            f"it goes on with the next run; prove it after that: `redolake verify {in_shell(self.table)}`",
        )
        return plain_lines(lines)


@dataclass(frozen=True, slots=True)
class Filling:
    """The table as its dictionary describes it, with the columns of `version`, of which it lacks `joins`."""

    entry: TableEntry
    dictionary: DictionaryTable
    version: TableVersion
    joins: Joins

    @property
    def scn(self) -> Scn:
        assert self.entry.complete_to_scn is not None, "entry_to_fill has looked"
        return self.entry.complete_to_scn

    @property
    def columns(self) -> tuple[str, ...]:
        return names_of(self.version, self.joins.all)

    @property
    def to_read(self) -> DictionaryTable:
        """The table with the columns that are read alone."""
        names = {column.name for column in version_to_read(self.version, self.joins.all).columns}
        captured = {column.name for column in self.dictionary.captured}
        kept = tuple(c for c in self.dictionary.columns if c.name in names or c.name not in captured)
        return replace(self.dictionary, columns=kept)


@crash.writer
def fill_columns(
    pipeline: Pipeline,
    table_name: str,
    *,
    execute: bool = False,
    reason: str = "",
    by: str = "",
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> FilledColumns:
    """Show which columns pipelines.yml wants that a table lacks, or add them with their values.

    The apply lease is held meanwhile. A killed run is repeated. Raises Terminal where only a new snapshot can add them.
    """
    if execute:
        check_reason("filling columns", reason)
    with open_context(pipeline) as context:
        reconcile_ledger(context)
        table = named_table(context, table_name)
        entry_to_fill(context, table)  # before Oracle is asked
    with (
        open_context(pipeline) as context,
        comparison_place(pipeline) as place,
        spark_when_needed(pipeline, spark, opens) as opened,
        apply_lease_renewed(pipeline) if execute else nullcontext() as writer,
        open_pipeline_source(pipeline, source, pipeline.source.container) as oracle,
    ):
        reconcile_ledger(context)
        filling = plan_filling(context, oracle, table)
        check_list(context, opened, filling.entry.table)
        table, rows = filling.entry.table, expected_rows(context, filling.entry.table)
        found = FilledColumns(
            str(table), filling.columns, int(filling.scn), rows, by=by or owner(), reason=reason.strip(),
            again=names_of(filling.version, filling.joins.again),
        )  # fmt: skip
        if writer is None:
            return found
        remove_left_rows(context)
        token = folder_name(place)
        try:
            path, digest, count = read_values(context, source, oracle, filling, token, report)
            task = load_task(context, filling, path, count)
            report(f"adding {', '.join(found.columns)} to {table}")
            loaded = load_columns(context, task, {path: digest}, found, opened, writer)
        finally:
            context.landing.files.remove(layout.verify_folder(token))
        reconcile_ledger(context)  # records the load, as it would one of a killed run
        return replace(found, rows=loaded.rows, delta_version=loaded.delta_version)


# --- What is to be done -----------------------------------------------------------------------------------------------


def plan_filling(context: PipelineContext, oracle: Source, table: TableId) -> Filling:
    """Return what is to be filled. Raise Terminal, or the conflict, where only a new snapshot can bring it."""
    entry = entry_to_fill(context, table)
    assert entry.complete_to_scn is not None
    read_same_container(context, oracle)
    oracle.use_container(None)
    check_readable(entry, read_redo_facts(oracle, entry.complete_to_scn), context.name)
    oracle.use_container(context.pipeline.source.container)
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
    return Filling(entry, dictionary, version, joins)


def entry_to_fill(context: PipelineContext, table: TableId) -> TableEntry:
    """Return the table's entry. Raise Terminal where its rows are not those of its position, or changes wait for an answer."""
    entry = entry_with_contents(context, table)
    code = (entry.error or {}).get("code")
    if entry.state not in ("live", "held") or (entry.state == "held" and code not in ("SchemaConflict", "MappingFailed")):
        why = "a snapshot of it is being read" if entry.state != "held" else f"it is held by another error, {code}"
        raise refused(table, why, "let it go on first: `redolake status` says how")
    return entry


def check_list(context: PipelineContext, spark: Spark, table: TableId) -> None:
    """Raise Terminal where keys are in quarantine, also dropped ones: as after each load, nobody would know of them."""
    found = quarantine_of(context, spark, table)
    if found is not None and found.wrong:
        first = min(found.wrong)
        again = f"`redolake quarantine retry {table.in_command} --execute --reason TEXT` first"
        how = f"{again}, with `--key` for a key that was dropped, such as {first}"
        raise refused(table, f"{len(found.wrong)} of its keys are in quarantine", how)


def why_not(has: TableVersion, wanted: TableVersion, joins: Joins) -> str:
    """Return why columns cannot be added to the contents of `has`; empty where they can."""
    if joins.why_not:
        return joins.why_not
    if not joins.all:
        return "it has every column that pipelines.yml wants"
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


@crash.writer
def read_values(
    context: PipelineContext, source: ConnectParams | None, oracle: Source, filling: Filling, token: str, report: Report
) -> tuple[str, FileDigest, int]:
    """Read the key and the columns of all rows AS OF the table's position into a file; return how many there are."""
    table, cost = filling.entry.table, Cost()
    report(f"reading {', '.join(filling.columns)} of {table} AS OF SCN {filling.scn}")

    def write(batches: Iterator[Any]) -> tuple[str, FileDigest]:
        cost.source_rows = 0  # dates that the driver cannot convert are read once more
        counted = count_rows(count_read(cost, batches), f"rows of {table}", report, expected_rows(context, table))
        return context.landing.snapshots.write_for_comparison(token, filling.dictionary.object_id, counted)

    read = partial(read_rows, context, source, oracle, filling.to_read, filling.scn, False, write)
    try:
        path, digest = read()
    except RedolakeError as error:
        if error.ora_code not in OUT_OF_REACH:
            raise
        raise Terminal(
            f"the database can no longer show the rows AS OF SCN {filling.scn}, the table's position: {error.what}",
            cure=f"{earlier(table)}, or run `redolake snapshot {table.in_command} --replace`",
            table=table,
            ora_code=error.ora_code,
        ) from error
    return path, digest, cost.source_rows


def load_task(context: PipelineContext, filling: Filling, path: str, rows: int) -> SnapshotTask:
    table, version = filling.entry.table, filling.version
    named = {column.name: column.comment for column in filling.dictionary.columns if column.comment}
    return SnapshotTask(
        table=table,
        target=context.pipeline.target(table),
        app_id=app_id(context, table, filling.entry.position.resetlogs_id),
        version=version,
        files=(path,),
        rules=rules(context, table, (version,)),
        rows=rows,
        options=context.pipeline.target_options(table),
        comments=tuple((c.id, named[c.name]) for c in version.columns if c.name in named),
        scn=int(filling.scn),
        joins=filling.joins.all,
    )


@crash.writer
def load_columns(
    context: PipelineContext,
    task: SnapshotTask,
    digests: dict[str, FileDigest],
    found: FilledColumns,
    spark: Spark,
    writer: Writer,
) -> SnapshotLoaded:
    """Write the spec of the load, and load. From its result on, every process knows the columns."""
    from redolake.job.snapshot import run_filling

    record_approval(
        context, "repair", task.table, task.scn, by=found.by, policy=f"columns filled: {', '.join(found.columns)}",
        reason=found.reason, choice="all rows",
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
        lease=writer.token,
        lake=lake_place(context),
        origin=origin(context),
        digests=digests,
    )
    context.landing.files.write_new_record(layout.load_spec(name), spec)
    return run_filling(spark.session(), spec, writer.check)
