"""Report before a load which expressions of mappings Spark refuses: functions that it has not, and types that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pipelines.config import Pipeline
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import Finding, RedolakeError
from pipelines.reconcile.chosen_columns import rules_of
from pipelines.steps.mapping_findings import mapped_version
from pipelines.steps.spark_jobs import opened_spark
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.table import TableVersion

CURE = "correct the expression, or its `type`, in pipelines.yml"


def expression_findings(pipeline: Pipeline, tables: Iterable[DictionaryTable], spark: Any = None) -> list[Finding]:
    """Return an error for each expression that Spark refuses; it is not started where no table has one."""
    found = ((table, mapped_version(pipeline, table)) for table in tables)
    mapped = [(table, version) for table, version in found if version is not None and has_expressions(version)]
    if not mapped:
        return []
    try:
        with opened_spark(pipeline, spark) as session:
            return [finding for table, version in mapped for finding in findings_of(pipeline, table, version, session)]
    except RedolakeError as error:
        return [Finding(f"{pipeline.name}.spark", f"Spark cannot be asked: {error.what}", error.cure)]


def has_expressions(version: TableVersion) -> bool:
    mapping = version.mapping
    return mapping is not None and (mapping.where is not None or any(one.means == "expression" for one in mapping.computed))


def findings_of(pipeline: Pipeline, table: DictionaryTable, version: TableVersion, spark: Any) -> Iterator[Finding]:
    from pipelines.job.expressions import find_unresolved

    rules = rules_of(pipeline, table)
    types = {column.id: spark_ddl_type(column.type, rules.get(column.name)) for column in version.columns}
    for one in find_unresolved(spark, version, types):
        yield Finding(str(table.table), f"Spark refuses {one.what}: {one.why}", CURE)
