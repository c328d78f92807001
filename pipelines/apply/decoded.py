"""Decode committed changes under the table version of their own SCN, and map them by column id to the target's columns.

A change that is not understood gets a `finding`; the caller holds the table when there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.apply.delta.schema import TargetColumn
from pipelines.apply.shallow import any_of, united
from pipelines.apply.translation import Translation
from pipelines.errors import KeyNeeded, NotLogged, RedolakeError, RedoNotUnderstood, SchemaConflict
from pipelines.redo import CHANGE_ORDER, Operation
from pipelines.table import ROWID_COLUMN, Rules, TableVersion

ROWID_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
NO_ROWID = "A" * 18  # LogMiner's placeholder for a row without a ROWID of its own
REDO = ("row_id", "scn", "xid", "operation_code", "rollback", "status", "info", "sql_redo")
SHOWN_CHARACTERS = 500  # of redo text that cannot be decoded
KINDS = (KeyNeeded, NotLogged, RedoNotUnderstood, SchemaConflict)
FINDINGS: Mapping[str, type[RedolakeError]] = {kind.__name__: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Target:
    """`defaulted` are the columns whose default Oracle may show in rows that do not store it."""

    columns: tuple[TargetColumn, ...]
    key: tuple[int, ...]
    defaulted: frozenset[int]


def decode(
    changes: DataFrame, versions: Sequence[TableVersion], rules: Rules, target: Target, translation: Translation
) -> DataFrame:
    """Return CHANGE_ORDER, scn, row_id, operation_code, finding, b<id> (key before), a<id> (every target column after), and
    u<id> for each column outside the key: whether the redo does not contain its value (see missing_columns)."""
    columns, key = target.columns, target.key
    parts = []
    for version, mine in by_version(versions):
        rows = changes.filter(mine).select(*CHANGE_ORDER, *REDO)
        decoded = with_rowid(translation.decode(rows, version, rules))
        parts.append(
            decoded.select(
                *CHANGE_ORDER,
                "scn",
                "row_id",
                "operation_code",
                finding(version, key).alias("finding"),
                *(F.col(f"o{column_id}").alias(f"b{column_id}") for column_id in key),
                *(_after(column, version, translation).alias(f"a{column.id}") for column in columns),
                *(_is_missing(c.id, version, target.defaulted).alias(f"u{c.id}") for c in columns if c.id not in key),
            )
        )
    return united(parts)


def with_rowid(decoded: DataFrame) -> DataFrame:
    """Add ROWID as a column like the others: a row keeps it until it is deleted, and a later row may get it."""
    code, rowid = F.col("operation_code"), F.col("row_id")
    return decoded.withColumns(
        {
            f"o{ROWID_COLUMN}": F.when(code != Operation.INSERT, rowid),
            f"n{ROWID_COLUMN}": F.when(code != Operation.DELETE, rowid),
        }
    )


def by_version(versions: Sequence[TableVersion]) -> list[tuple[TableVersion, Expression]]:
    """Return each different set of columns with the condition that a row's SCN is in its range."""
    distinct = [next(same) for _, same in groupby(versions, key=lambda version: (version.columns, version.key))]
    found = []
    for number, version in enumerate(distinct):
        mine = F.lit(True)
        if number:  # the first holds for older rows too: their transaction was open when the table was captured
            mine = F.col("scn") >= version.from_scn
        if number + 1 < len(distinct):
            mine = mine & (F.col("scn") < distinct[number + 1].from_scn)
        found.append((version, mine))
    return found


def _after(column: TargetColumn, version: TableVersion, translation: Translation) -> Expression:
    """Return the value after the change; a column that was added later has its default, as in all older rows."""
    if column.id == ROWID_COLUMN or any(known.id == column.id for known in version.columns):
        return F.col(f"n{column.id}")
    return F.expr(translation.literal(column.default, column.type))


def _is_missing(column_id: int, version: TableVersion, defaulted: frozenset[int]) -> Expression:
    """Return whether the redo of an UPDATE does not contain the column's value.

    A column that SET does not name is absent where it is not logged (no ALL COLUMN LOGGING) or not stored (the row is older
    than the column). NULL may stand for a default that the row does not store either.
    """
    if all(known.id != column_id for known in version.columns):
        return F.lit(False)
    absent = F.coalesce(F.array_contains("missing", F.lit(column_id)), F.lit(False))
    if column_id in defaulted:
        absent = absent | F.col(f"o{column_id}").isNull()
    is_set = F.coalesce(F.array_contains("assigned", F.lit(column_id)), F.lit(False))
    return (F.col("operation_code") == Operation.UPDATE) & ~is_set & absent


def finding(version: TableVersion, key: Sequence[int]) -> Expression:
    """Return struct(commit_scn, scn, code, what), or NULL for a change that is fully understood."""
    code = F.col("operation_code")
    before, after = code.isin(Operation.DELETE, Operation.UPDATE), code.isin(Operation.INSERT, Operation.UPDATE)
    ids = sorted(set(key) - {ROWID_COLUMN})
    no_key = any_of(when & F.col(f"{side}{i}").isNull() for i in ids for when, side in ((before, "o"), (after, "n")))
    absent = _absent(version, key)
    # Without a ROWID two changes cannot be assigned to one row, and which of them is the last would be a guess.
    rowid, needed = F.col("row_id"), (before | after) if ROWID_COLUMN in key else before
    no_rowid = needed & (rowid.isNull() | (rowid == NO_ROWID))
    other_segment = F.lit(ROWID_COLUMN in key) & (F.substring(rowid, 1, 6) != segment_text(version.data_object_id))
    not_insert = F.lit(version.key_kind == "append") & before
    sql = F.coalesce("error_sql", F.lit(""))
    cut = F.when(F.length(sql) > SHOWN_CHARACTERS, F.lit(" ...")).otherwise(F.lit(""))
    text = F.concat(F.lit(": "), F.substring(sql, 1, SHOWN_CHARACTERS), cut)
    cases: tuple[tuple[type[RedolakeError], Expression, Expression], ...] = (
        (
            KeyNeeded,
            not_insert & (code == Operation.UPDATE),
            F.lit("an UPDATE committed, and the table is declared append-only"),
        ),
        (KeyNeeded, not_insert, F.lit("a DELETE committed, and the table is declared append-only")),
        (
            RedoNotUnderstood,
            F.col("error").isNotNull(),
            F.concat(F.lit("the redo cannot be decoded: "), F.col("error"), text),
        ),
        (
            SchemaConflict,
            F.col("unknown").isNotNull(),
            F.concat(F.lit("the redo names unknown columns: "), F.concat_ws(", ", "unknown")),
        ),
        (
            NotLogged,
            absent != "",
            F.concat(F.lit("the redo does not contain the key, so supplemental logging was off: "), absent),
        ),
        (RedoNotUnderstood, no_key, F.lit("a key column is NULL")),
        (RedoNotUnderstood, no_rowid, F.lit("the redo does not contain the ROWID of the row")),
        (
            SchemaConflict,
            other_segment,
            F.concat(F.lit("the ROWID belongs to another segment than the rows of the snapshot: "), rowid),
        ),
    )
    found = F.lit(None)
    for kind, is_so, what in reversed(cases):
        why = F.struct("commit_scn", "scn", F.lit(kind.__name__).alias("code"), what.alias("what"))
        found = F.when(is_so, why).otherwise(found)
    return found


def segment_text(data_object_id: int) -> str:
    """Return the first six characters of every ROWID in the segment: base 64, highest digit first."""
    return "".join(ROWID_DIGITS[(data_object_id >> shift) & 63] for shift in range(30, -1, -6))


def _absent(version: TableVersion, key: Sequence[int]) -> Expression:
    """Return the key columns that the redo of an UPDATE or DELETE lacks; an INSERT may omit trailing NULLs."""
    located = F.col("operation_code").isin(Operation.UPDATE, Operation.DELETE)
    names = [F.lit(None).cast("string")]
    for column in version.columns:
        if column.id in key:
            names.append(F.when(located & F.array_contains("missing", F.lit(column.id)), F.lit(column.name)))
    return F.concat_ws(", ", *names)
