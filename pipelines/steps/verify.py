"""Compare each Delta table with the source AS OF its applied SCN, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.apply.verify.comparison import CompareTask, Comparison, Difference
from pipelines.config import Pipeline
from pipelines.context import PipelineContext, Report, open_context, open_pipeline_source, silent
from pipelines.errors import (
    OF_THE_LAKE,
    RedolakeError,
    RedoLost,
    SchemaConflict,
    SparkExhausted,
    SparkLost,
    Terminal,
    Transient,
)
from pipelines.host import crash
from pipelines.host.progress import Progress, count_rows
from pipelines.land import layout
from pipelines.ledger import TableEntry
from pipelines.reconcile.dropped_transactions import DropReport, read_open_drops
from pipelines.reconcile.lake_place import lake_place
from pipelines.reconcile.ledger import reconcile_ledger
from pipelines.reconcile.table_versions import app_id, dropped_tables, known_versions, origin, rules
from pipelines.records.codec import to_body
from pipelines.records.file_digest import FileDigest
from pipelines.records.shown_facts import ProofFact
from pipelines.schema import valid_at
from pipelines.source import ConnectParams, Source, read_redo_facts, read_tables
from pipelines.steps.comparison_rows import comparison_place, folder_name, remove_left_rows
from pipelines.steps.run import Spark, spark_when_needed
from pipelines.steps.same_container import read_same_container
from pipelines.steps.scn_times import contents_time
from pipelines.steps.shown_facts import expected_rows
from pipelines.steps.status import DeclaredGapReport, open_gaps
from pipelines.steps.table_rows import read_rows
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.redo import RedoFacts
from pipelines.values.scn import Scn
from pipelines.values.table import TableId, TableVersion
from pipelines.values.utc import beside
from pipelines.window import incarnation_at
from pipelines.window.recovery_options import newest


@dataclass(frozen=True, slots=True)
class TableComparison:
    """The source AS OF `applied_scn` against version `delta_version` of the Delta table.

    `missing_rows` are in the source alone, `extra_rows` in Delta alone; `samples` are the first differences.
    """

    table: str
    applied_scn: int
    delta_version: int
    source_rows: int
    delta_rows: int
    missing_rows: int
    extra_rows: int
    differing_cells: int
    samples: tuple[Difference, ...] = ()
    applied_at: str | None = None  # when the source wrote that SCN, in UTC

    @property
    def equal(self) -> bool:
        return not (self.missing_rows or self.extra_rows or self.differing_cells)

    def __str__(self) -> str:
        where = f"AS OF SCN {self.applied_scn}{beside(self.applied_at)}, Delta version {self.delta_version}"
        if self.equal:
            return f"{self.table}: equal, {self.source_rows} rows, {where}"
        counts = f"{self.missing_rows} rows missing, {self.extra_rows} extra, {self.differing_cells} cells differ"
        return f"{self.table}: DIFFERS, {counts}, {where}"


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A table that could not be compared; `error` is that of a RedolakeError.as_dict()."""

    table: str
    error: Mapping[str, Any]
    may_pass: bool  # a repeat may succeed without anybody's doing

    def __str__(self) -> str:
        what = f"{self.table}: NOT COMPARED, {self.error['code']}: {self.error['what']}"
        return f"{what}\n  do this: {self.error['cure']}" if self.error["cure"] else what


@dataclass(frozen=True, slots=True)
class Verification:
    """`equal` says that all tables were compared and are equal. `declared_gaps` and `dropped` are those that some of the tables
    still lack."""

    equal: bool
    tables: tuple[TableComparison, ...]
    declared_gaps: tuple[DeclaredGapReport, ...]
    dropped: tuple[DropReport, ...]
    not_compared: tuple[NotCompared, ...] = ()


def verify_tables(
    pipeline: Pipeline,
    tables: Sequence[str] | None = None,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> Verification:
    """Compare the tables one after the other, by default all, and report each result at once. A table that cannot be compared
    does not stop the others, also where Spark ends with it: `opens` then opens another session."""
    found: list[TableComparison | NotCompared] = []
    with open_context(pipeline) as context:
        reconcile_ledger(context)  # the comparison is AS OF the SCN it knows
        gone = dropped_tables(context)
        there = [table.id for table in context.pipeline.tables if table.id not in gone]
        ids = [TableId.parse(text) for text in tables] if tables else there
        with open_pipeline_source(pipeline, source, pipeline.source.container) as oracle:
            read_same_container(context, oracle)
        remove_left_rows(context)
        with comparison_place(pipeline) as place, spark_when_needed(pipeline, spark, opens) as opened:
            for table in ids:
                found.append(compare_or_explain(context, source, opened, table, report, place))
                context.ledger.record_proof(table, to_body(proof_of(found[-1])))
                report(Progress(str(found[-1]), "comparing tables", len(found), len(ids)))
        names = {str(table) for table in ids}
        return Verification(
            equal=all(isinstance(one, TableComparison) and one.equal for one in found),
            tables=tuple(one for one in found if isinstance(one, TableComparison)),
            declared_gaps=tuple(gap for gap in open_gaps(context, context.ledger.reading()) if names & set(gap.tables)),
            dropped=tuple(drop for drop in read_open_drops(context) if names & set(drop.lacking)),
            not_compared=tuple(one for one in found if isinstance(one, NotCompared)),
        )


def proof_of(found: TableComparison | NotCompared) -> ProofFact:
    if isinstance(found, NotCompared):
        return ProofFact(None, None, None, error=f"{found.error['code']}: {found.error['what']}")
    return ProofFact(
        scn=found.applied_scn,
        delta_version=found.delta_version,
        rows=found.source_rows,
        missing_rows=found.missing_rows,
        extra_rows=found.extra_rows,
        differing_cells=found.differing_cells,
    )


def compare_or_explain(
    context: PipelineContext,
    source: ConnectParams | None,
    spark: Spark,
    table: TableId,
    report: Report,
    place: int,
) -> TableComparison | NotCompared:
    try:
        return compare_table(context, source, spark, table, report, place)
    except OF_THE_LAKE:  # every further table would meet the same
        raise
    except (SparkLost, SparkExhausted) as error:
        spark.replace()
        return NotCompared(str(table), with_cure(error, table).as_dict(), may_pass=True)
    except RedolakeError as error:
        return NotCompared(str(table), error.as_dict(), isinstance(error, Transient))


def with_cure(error: SparkLost | SparkExhausted, table: TableId) -> RedolakeError:
    """Return the error of a table with which Spark has ended. It may be too large for Spark, and then ends it again."""
    cure = (
        f"run `redolake verify {table}` once more; where Spark ends again, give its driver more memory (`spark.driver.memory` "
        "under `spark.conf`, or of the Connect server)"
    )
    return type(error)(error.what, cure=cure, table=table)


@crash.writer
def compare_table(
    context: PipelineContext,
    source: ConnectParams | None,
    spark: Spark,
    table: TableId,
    report: Report,
    place: int,
) -> TableComparison:
    """Read the table AS OF the SCN that the ledger knows now, and compare it with the Delta version of that SCN.

    The rows that were read from the source are removed again."""
    from pipelines.job.comparison import compare_tables

    entry = entry_with_contents(context, table)
    token = folder_name(place)
    try:
        # A connection for each table: a comparison takes long, and firewalls cut idle connections.
        with open_pipeline_source(context.pipeline, source) as oracle:
            check_readable(entry, read_redo_facts(oracle, entry.complete_to_scn), context.name)
            task = read_side(context, source, oracle, entry, token, report)
        report(f"comparing {table} with Delta")
        (found,) = compare_tables(spark.session(), [task], lake_place(context))
    finally:
        context.landing.files.remove(layout.verify_folder(token))
    now = entry_with_contents(context, table)
    if (now.snapshot_scn, now.resetlogs_id) != (entry.snapshot_scn, entry.resetlogs_id):
        raise Transient("the table was loaded again while it was compared", cure="verify it again", table=table)
    return table_comparison(found, contents_time(context, entry))


def entry_with_contents(context: PipelineContext, table: TableId) -> TableEntry:
    """Return the table's entry. Raise Terminal for a table without contents."""
    entry = context.ledger.table(table)
    if entry is None or entry.complete_to_scn is None or entry.delta_version is None:
        raise Terminal("the table has no contents yet", cure=f"redolake snapshot {table}", table=table)
    return entry


def check_readable(entry: TableEntry, facts: RedoFacts, pipeline: str) -> None:
    """Raise RedoLost if the table is complete to an SCN that a RESETLOGS undid.

    Oracle would refuse that SCN as a future one, or read another state at the same number.
    """
    assert entry.complete_to_scn is not None
    if entry.resetlogs_id is None:
        return
    there = incarnation_at(entry.complete_to_scn, facts)
    is_of_another = there is not None and there.resetlogs_id > entry.resetlogs_id
    if is_of_another or entry.complete_to_scn > newest(facts):
        raise RedoLost(
            f"the table is complete to SCN {entry.complete_to_scn} of incarnation {entry.resetlogs_id}, and the database "
            "was set back to before that: there is nothing to compare it with",
            cure=f"let {pipeline}_capture and {pipeline}_apply pass the RESETLOGS, then verify again; if they "
            f"stop, see `redolake recover -p {pipeline}` for the choices",
            table=entry.table,
        )


@crash.writer
def read_side(
    context: PipelineContext, source: ConnectParams | None, oracle: Source, entry: TableEntry, token: str, report: Report
) -> CompareTask:
    assert entry.complete_to_scn is not None
    assert entry.delta_version is not None
    table, scn = entry.table, entry.complete_to_scn
    versions = known_versions(context, table)
    version = valid_at([versions[0].since(Scn(0)), *versions[1:]], scn)
    container = context.pipeline.source.container
    found = read_tables(oracle, (table,), container, context.pipeline.renamed).get(table)
    if found is None:
        raise SchemaConflict("the table is not in the dictionary any more", cure="redolake status", table=table)
    report(f"reading {table} AS OF SCN {scn}{beside(contents_time(context, entry))}")
    columns, by_rowid = columns_of(found, version), version.key_kind == "rowid"
    expected = expected_rows(context, table)

    def write(batches: Iterator[Any]) -> tuple[str, FileDigest]:
        counted = count_rows(batches, f"rows of {table}", report, expected)
        return context.landing.snapshots.write_for_comparison(token, found.object_id, counted)

    path, digest = read_rows(context, source, oracle, columns, scn, by_rowid, write)
    target, rules_by_id = context.pipeline.target(table), rules(context, table, (version,))
    options = context.pipeline.target_options(table)
    app, began = app_id(context, table, entry.resetlogs_id or 0), origin(context)
    digests = {path: digest}
    return CompareTask(
        table, target, version, (path,), int(scn), entry.delta_version, rules_by_id, options, app, began, digests
    )


def columns_of(dictionary: DictionaryTable, version: TableVersion) -> DictionaryTable:
    """Return the table with the captured columns that the version has. Raise SchemaConflict if the source has dropped one
    since."""
    captured = {column.name for column in dictionary.captured}
    kept = tuple(c for c in dictionary.columns if c.name not in captured or version.named(c.name) is not None)
    gone = sorted({c.name for c in version.columns} - captured)
    if gone:
        raise SchemaConflict(
            f"dropped in the source since: {', '.join(gone)}",
            cure="let capture and apply pass that DDL, then verify again",
            table=version.table,
        )
    return replace(dictionary, columns=kept)


def table_comparison(found: Comparison, at: str | None) -> TableComparison:
    return TableComparison(
        table=str(found.table),
        applied_scn=found.complete_to,
        delta_version=found.delta_version,
        source_rows=found.source_rows,
        delta_rows=found.delta_rows,
        missing_rows=found.missing_rows,
        extra_rows=found.extra_rows,
        differing_cells=found.differing_cells,
        samples=found.samples,
        applied_at=at,
    )
