"""Compare each Delta table with the source AS OF its applied SCN, cell by cell."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines import crash
from pipelines.apply.comparison import CompareTask, Comparison, Difference
from pipelines.config import Pipeline
from pipelines.context import PipelineContext, Report, open_context, open_pipeline_source, silent
from pipelines.errors import RedoLost, SchemaConflict, Terminal
from pipelines.land import layout
from pipelines.reconcile.dropped_transactions import DropReport, read_open_drops
from pipelines.reconcile.ledger import reconcile_ledger
from pipelines.reconcile.table_versions import known_versions, rules
from pipelines.redo import RedoFacts
from pipelines.schema import valid_at
from pipelines.scn import Scn
from pipelines.source import ConnectParams, Source, read_redo_facts, read_snapshot, read_tables, require_unfiltered
from pipelines.steps.same_container import read_same_container
from pipelines.steps.spark_jobs import open_spark
from pipelines.steps.status import DeclaredGapReport, open_gaps
from pipelines.table import DictionaryTable, TableId, TableVersion
from pipelines.window import incarnation_at
from pipelines.window.recovery_options import newest


@dataclass(frozen=True, slots=True)
class TableComparison:
    """`missing_rows` are in the source alone, `extra_rows` in Delta alone; `samples` are the first differences."""

    table: str
    applied_scn: int
    source_rows: int
    delta_rows: int
    missing_rows: int
    extra_rows: int
    differing_cells: int
    samples: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """`declared_gaps` and `dropped` are those that the compared tables still lack."""

    equal: bool
    tables: tuple[TableComparison, ...]
    declared_gaps: tuple[DeclaredGapReport, ...]
    dropped: tuple[DropReport, ...]


@crash.writer
def verify_tables(
    pipeline: Pipeline,
    tables: Sequence[str] | None = None,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
) -> Verification:
    """Compare the tables; by default all. The rows that were read from the source are removed again."""
    with open_context(pipeline) as context:
        reconcile_ledger(context)  # the comparison is AS OF the SCN it knows
        token = uuid.uuid4().hex
        try:
            with open_pipeline_source(pipeline, source) as oracle:
                read_same_container(context, oracle)
                check_readable(context, chosen(context, tables), read_redo_facts(oracle))
                tasks = tuple(read_side(context, oracle, table, token, report) for table in chosen(context, tables))
                read_same_container(context, oracle)
            comparisons = compared(pipeline, tasks, spark, report)
        finally:
            context.landing.files.remove(layout.verify_folder(token))
        names = {str(c.table) for c in comparisons}
        return Verification(
            equal=all(c.equal for c in comparisons),
            tables=tuple(table_comparison(c) for c in comparisons),
            declared_gaps=tuple(gap for gap in open_gaps(context) if names & set(gap.tables)),
            dropped=tuple(drop for drop in read_open_drops(context) if names & set(drop.lacking)),
        )


def chosen(context: PipelineContext, tables: Sequence[str] | None) -> list[TableId]:
    ids = [TableId.parse(text) for text in tables] if tables else [table.id for table in context.pipeline.tables]
    for table in ids:
        entry = context.ledger.table(table)
        if entry is None or entry.complete_to_scn is None:
            raise Terminal("the table has no contents yet", cure=f"redolake snapshot {table}", table=table)
    return ids


def check_readable(context: PipelineContext, tables: Sequence[TableId], facts: RedoFacts) -> None:
    """Raise RedoLost if a table is complete to an SCN that a RESETLOGS undid. Oracle would refuse that SCN as a future one, or
    read another state at the same number."""
    for table in tables:
        entry = context.ledger.table(table)
        if entry is None or entry.complete_to_scn is None or entry.resetlogs_id is None:
            continue
        there = incarnation_at(entry.complete_to_scn, facts)
        is_of_another = there is not None and there.resetlogs_id > entry.resetlogs_id
        if is_of_another or entry.complete_to_scn > newest(facts):
            raise RedoLost(
                f"the table is complete to SCN {entry.complete_to_scn} of incarnation {entry.resetlogs_id}, and the database "
                "was set back to before that: there is nothing to compare it with",
                cure=f"let {context.name}_capture and {context.name}_apply pass the RESETLOGS, then verify again; if they "
                f"stop, see `redolake recover {context.name}` for the choices",
                table=table,
            )


@crash.writer
def read_side(context: PipelineContext, oracle: Source, table: TableId, token: str, report: Report) -> CompareTask:
    entry = context.ledger.table(table)
    assert entry is not None
    assert entry.complete_to_scn is not None
    scn = entry.complete_to_scn
    versions = known_versions(context, table)
    version = valid_at([versions[0].since(Scn(0)), *versions[1:]], scn)
    container = context.pipeline.source.container
    found = read_tables(oracle, (table,), container).get(table)
    if found is None:
        raise SchemaConflict("the table is not in the dictionary any more", cure="redolake status", table=table)
    report(f"reading {table} AS OF SCN {scn}")
    columns, rows, rowid = columns_of(found, version), context.pipeline.source.fetch_rows, version.key_kind == "rowid"
    answers = read_snapshot(oracle, columns, scn, rows, container=container, rowid=rowid)
    require_unfiltered(oracle, table, container)
    path = context.landing.snapshots.write_for_comparison(token, found.object_id, answers)
    return CompareTask(table, context.pipeline.target(table), version, (path,), int(scn), rules(context, table, (version,)))


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


def compared(pipeline: Pipeline, tasks: Sequence[CompareTask], spark: Any, report: Report) -> Sequence[Comparison]:
    from pipelines.job.comparison import compare_tables

    report("comparing with Delta")
    session = spark or open_spark(pipeline, "redolake verify")
    try:
        return compare_tables(session, tasks)
    finally:
        if spark is None:
            session.stop()


def table_comparison(found: Comparison) -> TableComparison:
    return TableComparison(
        table=str(found.table),
        applied_scn=found.complete_to,
        source_rows=found.source_rows,
        delta_rows=found.delta_rows,
        missing_rows=found.missing_rows,
        extra_rows=found.extra_rows,
        differing_cells=found.differing_cells,
        samples=found.samples,
    )
