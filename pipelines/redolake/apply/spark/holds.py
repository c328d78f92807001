"""The error with which a failure holds its table: of its mapping, of a Delta table that refuses, of damage, or unforeseen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from redolake.apply.spark.conditions import REFUSALS
from redolake.apply.spark.failures import check_session, check_version
from redolake.apply.spark.lake_damage import table_damage
from redolake.apply.spark.thrown import chain_of, failure_text
from redolake.errors import (
    OF_SPARK,
    InvariantBroken,
    MappingFailed,
    RedolakeError,
    TargetRefused,
    report_with,
)
from redolake.host.user_code import MARK
from redolake.values.mapping import TableMapping
from redolake.values.table import TableId

# Conditions of Spark's that say what a value does to an expression, in front of the value.
OF_EXPRESSIONS = (
    "DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_ARRAY_INDEX", "CANNOT_PARSE_TIMESTAMP", "DATETIME_OVERFLOW", "INTERVAL_",
    "INVALID_INDEX_OF_ZERO", "USER_RAISED_EXCEPTION", "CONVERSION_INVALID_INPUT",
    "INVALID_PARAMETER_VALUE",
    "INVALID_UTF8_STRING", "UNRESOLVED_ROUTINE", "UNRESOLVED_COLUMN", "DATATYPE_MISMATCH", "WRONG_NUM_ARGS",
    "PARSE_SYNTAX_ERROR",
    "INVALID_EXTRACT", "INVALID_URL", "MALFORMED_RECORD_IN_PARSING", "FAILED_FUNCTION_CALL",
)  # fmt: skip


def held_error(table: TableId, path: str, surprise: Exception, mapping: TableMapping | None = None) -> dict[str, Any]:
    """Return the error with which a failure that is not of our own classes holds the table."""
    failed = mapping_failure(table, surprise, mapping)
    if failed is not None:
        return failed.as_dict()
    refused = refusal(table, path, surprise)
    return unforeseen_error(table, path, surprise) if refused is None else refused.as_dict()


def mapping_failure(table: TableId, surprise: Exception, mapping: TableMapping | None) -> MappingFailed | None:
    """Return the error of users' code, or of an expression that Spark cannot compute for a row; None for any other failure."""
    cure = f"correct the mapping of {table} in pipelines.yml, or its code; then run `redolake snapshot {table} --replace`"
    if (seen := re.search(rf"{re.escape(MARK)} (.{{1,400}}?)\.(?:\s|$)", str(surprise))) is not None:
        rows = "; or set `on_error: {transform: quarantine}` and resume it, which lists the rows for which it raises"
        return MappingFailed(seen[1], cure=cure + (rows if " raised " in seen[1] else ""), table=table)
    conditions = [one.condition for one in chain_of(surprise) if (one.condition or "").startswith(OF_EXPRESSIONS)]
    if mapping is None or not conditions:
        return None
    shown = ", ".join(str(one) for one in mapping.computed if one.means == "expression")
    where = [] if mapping.where is None else [f"where: {mapping.where.text}"]
    what = f"{conditions[-1]}: Spark cannot compute {', '.join(filter(None, (shown, *where)))} for a row"
    return MappingFailed(what, cure=cure, table=table)


def refusal(table: TableId, path: str, surprise: Exception) -> TargetRefused | None:
    """Return the error of a Delta table that refuses a commit; None for any other failure. Its text ends before the values of
    the row."""
    rebuild = f"`redolake snapshot {table} --replace` builds the table again without it"
    for one in chain_of(surprise):
        for conditions, what, cure in REFUSALS:
            if (one.condition or "").startswith(conditions):
                text = without_row(one.message)
                todo = cure.format(table=table, path=path)
                return TargetRefused(
                    f"{what}: {text}", cure=f"{todo}, then run `redolake resume {table}`; or {rebuild}", table=table
                )
    return None


def without_row(message: str) -> str:
    """Return the first line of Delta's message about a row, without the row's values."""
    text = message.partition("] ")[2].partition("\n")[0].partition(" violated by row")[0]
    if text.startswith('Value "'):
        _, found, check = text.rpartition("Failed check")
        text = f"a value is too long{check if found else ''}"
    return text[:300].rstrip(". ")


def unforeseen_error(table: TableId, path: str, surprise: Exception) -> dict[str, Any]:
    """Return the error with which an unforeseen failure holds the table."""
    damage = table_damage(table, path, surprise)
    if damage is not None:
        return damage.as_dict()
    return {
        "code": type(surprise).__name__,
        "what": failure_text(surprise),
        "where": {"table": str(table)},
        "cure": f"run `redolake resume {table}`, which tries again, or `redolake snapshot {table} --replace`, which rebuilds "
        f"the table; if it comes again, {report_with(OF_SPARK)}",
    }


@contextmanager
def errors_of_table(
    spark: SparkSession,
    table: TableId,
    what: str,
    cure: str,
    mapping: TableMapping | None = None,
    delta_version: int | None = None,
) -> Iterator[None]:
    """Raise a typed error for what concerns the table alone, and any other one for a failed session."""
    try:
        yield
    except RedolakeError:
        raise
    except Exception as surprise:
        check_session(spark, surprise)
        if delta_version is not None:
            check_version(surprise, table, delta_version)
        # The text of the failure may contain row data.
        if (failed := mapping_failure(table, surprise, mapping)) is not None:
            raise failed from None
        cure = f"{cure}. If it comes again, {report_with(OF_SPARK)}"
        raise InvariantBroken(f"{what}: {failure_text(surprise)}", cure=cure, table=table) from None
