"""Report before a load which expressions of mappings Spark refuses: functions that it has not, and types that do not fit.

`doctor --spark` knows the columns from the dictionary of the source, `validate --spark` from the landing. Of a table that was
never read, only functions and the syntax can be checked: a column of unknown type fits everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redolake.config import Pipeline
from redolake.config.expressions import uses, with_ids
from redolake.config.lines import EXPRESSION, line_below, line_of_setting, settings_of
from redolake.config.tables import Match, Table
from redolake.context import Run, open_to_read
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import Finding, RedolakeError
from redolake.land.dictionary import Readings
from redolake.reconcile.chosen_columns import rules_of
from redolake.steps.checks.mapping_findings import mapped_version
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.mapping import Computed
from redolake.values.table import TableId, TableVersion

NO_TABLE = TableId("", "")


def expression_findings(run: Run, pipeline: Pipeline, tables: Iterable[DictionaryTable], file: Path | None) -> list[Finding]:
    """Return an error for each expression that Spark refuses, with its line in the file; it is not started where no table has
    one."""
    mapped = mapped_tables(pipeline, tables)
    if not mapped:
        return []
    try:
        with run.spark as spark:
            return typed_findings(pipeline, mapped, spark.session(), file)
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


def landed_tables(context: Run) -> list[DictionaryTable]:
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
    from redolake.job.expressions import find_unresolved

    found = list[Finding]()
    for table, version in tables:
        match = pipeline.match_of(table.table)
        rules = rules_of(pipeline, table)
        types = {column.id: spark_ddl_type(column.type, rules.get(column.name)) for column in version.columns}
        for one in find_unresolved(spark, version, types):
            place = place_of(version, one.column)
            line = None
            if file is not None:
                line = line_of_setting(file, pipeline.name, table.table, None if match is None else match.match, place)
            found.append(Finding(str(table.table), f"Spark refuses {one.what}: {one.why}", cure_at(file, line)))
    return found


def untyped_findings(pipeline: Pipeline, spark: Any, file: Path | None) -> Iterator[Finding]:
    from redolake.job.expressions import find_unknown

    asked = set[str]()
    for one in expressions_of(pipeline):
        names = dict.fromkeys(name for name, _, _ in uses(one.text))
        if one.text in asked:
            continue
        asked.add(one.text)
        why = find_unknown(spark, with_ids(one.text, {n: i for i, n in enumerate(names)}), len(names))
        if why is not None:
            yield Finding(one.subject, f"Spark refuses {one.what}: {why}", cure_at(file, line_of(pipeline, file, one)))


@dataclass(frozen=True, slots=True)
class Written:
    """An expression of pipelines.yml: whose it is (None for the pipeline's), how an error names it, its text and its
    setting."""

    entry: Table | Match | None
    subject: str
    what: str
    text: str
    place: tuple[str, ...]


def expressions_of(pipeline: Pipeline) -> Iterator[Written]:
    for name, one in pipeline.add.items():
        yield Written(None, pipeline.name, f"{name} (`{one.expression}`)", one.expression, ("add", name, EXPRESSION))
    for entry in pipeline.entries:
        subject = entry.match if isinstance(entry, Match) else str(entry.id)
        for name, one in entry.add.items():
            yield Written(entry, subject, f"{name} (`{one.expression}`)", one.expression, ("add", name, EXPRESSION))
        for name, shaped in entry.shaped.items():
            if shaped.expression is not None:
                yield Written(
                    entry, subject, f"{name} (`{shaped.expression}`)", shaped.expression, ("columns", name, EXPRESSION)
                )
        if entry.where is not None:
            yield Written(entry, subject, f"where: {entry.where}", entry.where, ("where",))


def line_of(pipeline: Pipeline, file: Path | None, one: Written) -> int | None:
    if file is None:
        return None
    if one.entry is None:
        node = settings_of(file, pipeline.name)
        return None if node is None else line_below(node, one.place)
    of_match = one.entry.match if isinstance(one.entry, Match) else None
    table = NO_TABLE if isinstance(one.entry, Match) else one.entry.id
    return line_of_setting(file, pipeline.name, table, of_match, one.place)


def place_of(version: TableVersion, column: Computed | None) -> tuple[str, ...]:
    """Return the setting of an expression; that of the filter for None."""
    if column is None:
        return ("where",)
    setting = ("add", column.name) if column.is_added else ("columns", version.column(column.id).name)
    return (*setting, EXPRESSION)


def cure_at(file: Path | None, line: int | None) -> str:
    place = "pipelines.yml" if file is None else str(file)
    return f"correct the expression, or its `type`, in {place}" + ("" if line is None else f", line {line}")
