"""Report before a load which expressions of mappings Spark refuses: functions that it has not, and types that do not fit.

`doctor --spark` knows the columns from the dictionary of the source, `validate --spark` from the landing. Of a table that was
never read, only functions and the syntax can be checked: a column of unknown type fits everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipelines.config import Pipeline
from pipelines.config.expressions import uses, with_ids
from pipelines.config.lines import lines_of_texts
from pipelines.config.tables import Match, TableSettings
from pipelines.context import PipelineContext, open_to_read
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import Finding, RedolakeError
from pipelines.land.dictionary import Readings
from pipelines.reconcile.chosen_columns import rules_of
from pipelines.steps.checks.mapping_findings import mapped_version
from pipelines.steps.shared.spark_jobs import opened_spark
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.table import TableVersion


def expression_findings(
    pipeline: Pipeline, tables: Iterable[DictionaryTable], spark: Any = None, file: Path | None = None
) -> list[Finding]:
    """Return an error for each expression that Spark refuses, with its line in the file; it is not started where no table has
    one."""
    mapped = mapped_tables(pipeline, tables)
    if not mapped:
        return []
    try:
        with opened_spark(pipeline, spark) as session:
            return typed_findings(pipeline, mapped, session, file)
    except RedolakeError as error:
        return [Finding(f"{pipeline.name}.spark", f"Spark cannot be asked: {error.what}", error.cure)]


def known_expression_findings(pipeline: Pipeline, spark: Any, file: Path | None = None) -> list[Finding]:
    """Return those findings without the source: by the tables that the landing describes, and of the others what Spark refuses
    whatever their columns are."""
    try:
        with open_to_read(pipeline) as context:
            pipeline, tables = context.pipeline, landed_tables(context)
    except RedolakeError:
        tables = []  # `validate` reports it
    found = [*untyped_findings(pipeline, spark, file), *typed_findings(pipeline, mapped_tables(pipeline, tables), spark, file)]
    return list({finding.what: finding for finding in reversed(found)}.values())[::-1]


def landed_tables(context: PipelineContext) -> list[DictionaryTable]:
    """Return the tables that the landing describes, as they were read last."""
    newest = next(Readings(context.landing.dictionary).newest_first(0, 0), None)
    found = () if newest is None else (newest.table(table.id) for table in context.pipeline.tables)
    return [table for table in found if table is not None]


def mapped_tables(pipeline: Pipeline, tables: Iterable[DictionaryTable]) -> list[tuple[DictionaryTable, TableVersion]]:
    found = ((table, mapped_version(pipeline, table)) for table in tables)
    return [(table, version) for table, version in found if version is not None and has_expressions(version)]


def has_expressions(version: TableVersion) -> bool:
    mapping = version.mapping
    return mapping is not None and (mapping.where is not None or any(one.means == "expression" for one in mapping.computed))


def typed_findings(
    pipeline: Pipeline, tables: Iterable[tuple[DictionaryTable, TableVersion]], spark: Any, file: Path | None
) -> list[Finding]:
    from pipelines.job.expressions import find_unresolved

    lines, found = known_lines(pipeline, file), list[Finding]()
    for table, version in tables:
        rules = rules_of(pipeline, table)
        types = {column.id: spark_ddl_type(column.type, rules.get(column.name)) for column in version.columns}
        for one in find_unresolved(spark, version, types):
            found.append(Finding(str(table.table), f"Spark refuses {one.what}: {one.why}", cure_at(file, lines.get(one.text))))
    return found


def untyped_findings(pipeline: Pipeline, spark: Any, file: Path | None) -> Iterator[Finding]:
    from pipelines.job.expressions import find_unknown

    lines, asked = known_lines(pipeline, file), set[str]()
    for subject, what, text in expressions_of(pipeline):
        names = dict.fromkeys(use.name for use in uses(text))
        if (
            text in asked
            or (why := find_unknown(spark, with_ids(text, {n: i for i, n in enumerate(names)}), len(names))) is None
        ):
            continue
        asked.add(text)
        yield Finding(subject, f"Spark refuses {what}: {why}", cure_at(file, lines.get(text)))


def expressions_of(pipeline: Pipeline) -> Iterator[tuple[str, str, str]]:
    """Yield each expression of pipelines.yml: whose it is, how an error names it, and its text."""
    for subject, settings in ((pipeline.name, None), *((entry_name(entry), entry) for entry in pipeline.entries)):
        added = pipeline.add if settings is None else settings.add
        yield from ((subject, f"{name} (`{one.expression}`)", one.expression) for name, one in added.items())
        for name, shaped in {} if settings is None else settings.shaped.items():
            if shaped.expression is not None:
                yield subject, f"{name} (`{shaped.expression}`)", shaped.expression
        if settings is not None and settings.where is not None:
            yield subject, f"where: {settings.where}", settings.where


def entry_name(entry: TableSettings) -> str:
    return entry.match if isinstance(entry, Match) else str(getattr(entry, "id", ""))


def known_lines(pipeline: Pipeline, file: Path | None) -> Mapping[str, int]:
    return {} if file is None else lines_of_texts(file, pipeline.name)


def cure_at(file: Path | None, line: int | None) -> str:
    place = "pipelines.yml" if file is None else str(file)
    return f"correct the expression, or its `type`, in {place}" + ("" if line is None else f", line {line}")
