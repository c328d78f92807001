"""Committed changes decoded under the version of their own SCN, and brought by column id to the target's columns.

What is not understood becomes a row's `finding`; the caller stops the table if there is any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
NO_ROWID = "A" * 18  # what LogMiner writes where a row has no place of its own
REDO = ("row_id", "scn", "xid", "operation_code", "rollback", "status", "info", "sql_redo")
SHOWN_CHARACTERS = 500  # of a redo text that cannot be read
KINDS = (KeyNeeded, NotLogged, RedoNotUnderstood, SchemaConflict)
FINDINGS: Mapping[str, type[RedolakeError]] = {kind.__name__: kind for kind in KINDS}


def decode(
    changes: DataFrame,
    versions: Sequence[TableVersion],
    rules: Rules,
    columns: Sequence[TargetColumn],
    key: Sequence[int],
    defaulted: Collection[int],
    translation: Translation,
) -> DataFrame:
    """Order columns, scn, row_id, operation_code, finding, b<id> (key before), a<id> (every target column after), and u<id>
    for columns outside the key: whether the redo leaves the value open (see left_open)."""
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
                *(_left_open(c.id, version, defaulted).alias(f"u{c.id}") for c in columns if c.id not in key),
            )
        )
    return united(parts)


def with_rowid(decoded: DataFrame) -> DataFrame:
    """ROWID as a column like the others: a row keeps it as long as it lives, and a later row may get it."""
    code, rowid = F.col("operation_code"), F.col("row_id")
    return decoded.withColumns(
        {
            f"o{ROWID_COLUMN}": F.when(code != Operation.INSERT, rowid),
            f"n{ROWID_COLUMN}": F.when(code != Operation.DELETE, rowid),
        }
    )


def by_version(versions: Sequence[TableVersion]) -> list[tuple[TableVersion, Expression]]:
    """Each different set of columns, and the condition that a row's SCN falls into its time."""
    eras = [next(same) for _, same in groupby(versions, key=lambda version: (version.columns, version.key))]
    found = []
    for number, version in enumerate(eras):
        mine = F.lit(True)
        if number:  # the first is good for older rows too: their transaction was open when the table was first seen
            mine = F.col("scn") >= version.from_scn
        if number + 1 < len(eras):
            mine = mine & (F.col("scn") < eras[number + 1].from_scn)
        found.append((version, mine))
    return found


def _after(column: TargetColumn, version: TableVersion, translation: Translation) -> Expression:
    """A column younger than the change shows its default, as it does in the rows that were there before it."""
    if column.id == ROWID_COLUMN or any(known.id == column.id for known in version.columns):
        return F.col(f"n{column.id}")
    return F.expr(translation.literal(column.default, column.type))


def _left_open(column_id: int, version: TableVersion, defaulted: Collection[int]) -> Expression:
    """An UPDATE changes what it sets; the rest stays as it was. Absent from the redo is what is not logged (ALL COLUMN LOGGING
    is not on) or what a short row does not store (a column added after it), and NULL may stand for a default that the row
    does not store either."""
    if all(known.id != column_id for known in version.columns):
        return F.lit(False)
    untold = F.coalesce(F.array_contains("missing", F.lit(column_id)), F.lit(False))
    if column_id in defaulted:
        untold = untold | F.col(f"o{column_id}").isNull()
    is_set = F.coalesce(F.array_contains("assigned", F.lit(column_id)), F.lit(False))
    return (F.col("operation_code") == Operation.UPDATE) & ~is_set & untold


def finding(version: TableVersion, key: Sequence[int]) -> Expression:
    """struct(commit_scn, scn, code, what), or NULL for a change that is understood whole."""
    code = F.col("operation_code")
    before, after = code.isin(Operation.DELETE, Operation.UPDATE), code.isin(Operation.INSERT, Operation.UPDATE)
    ids = sorted(set(key) - {ROWID_COLUMN})
    no_key = any_of(when & F.col(f"{side}{i}").isNull() for i in ids for when, side in ((before, "o"), (after, "n")))
    absent = _absent(version, key)
    # Without it nothing tells that two changes are of one row: which of them is to be kept would be a guess.
    rowid, needed = F.col("row_id"), (before | after) if ROWID_COLUMN in key else before
    nowhere = needed & (rowid.isNull() | (rowid == NO_ROWID))
    elsewhere = F.lit(ROWID_COLUMN in key) & (F.substring(rowid, 1, 6) != segment_text(version.data_object_id))
    lasting = F.lit(version.key_kind == "append") & before
    sql = F.coalesce("error_sql", F.lit(""))
    cut = F.when(F.length(sql) > SHOWN_CHARACTERS, F.lit(" ...")).otherwise(F.lit(""))
    text = F.concat(F.lit(": "), F.substring(sql, 1, SHOWN_CHARACTERS), cut)
    cases: tuple[tuple[type[RedolakeError], Expression, Expression], ...] = (
        (
            KeyNeeded,
            lasting & (code == Operation.UPDATE),
            F.lit("an UPDATE committed, and the table is declared to get INSERTs only"),
        ),
        (KeyNeeded, lasting, F.lit("a DELETE committed, and the table is declared to get INSERTs only")),
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
            F.concat(F.lit("the redo does not tell the key, so supplemental logging was not on: "), absent),
        ),
        (RedoNotUnderstood, no_key, F.lit("a column of the key is NULL")),
        (RedoNotUnderstood, nowhere, F.lit("the redo does not tell the ROWID of the row")),
        (
            SchemaConflict,
            elsewhere,
            F.concat(F.lit("the ROWID is of another segment than the rows that were read: "), rowid),
        ),
    )
    found = F.lit(None)
    for kind, is_so, what in reversed(cases):
        why = F.struct("commit_scn", "scn", F.lit(kind.__name__).alias("code"), what.alias("what"))
        found = F.when(is_so, why).otherwise(found)
    return found


def segment_text(data_object_id: int) -> str:
    """How every ROWID of the segment begins: six digits of base 64, the highest first."""
    return "".join(ROWID_DIGITS[(data_object_id >> shift) & 63] for shift in range(30, -1, -6))


def _absent(version: TableVersion, key: Sequence[int]) -> Expression:
    """Names of key columns an UPDATE or DELETE should have told and did not; an INSERT may leave out trailing NULLs."""
    located = F.col("operation_code").isin(Operation.UPDATE, Operation.DELETE)
    names = [F.lit(None).cast("string")]
    for column in version.columns:
        if column.id in key:
            names.append(F.when(located & F.array_contains("missing", F.lit(column.id)), F.lit(column.name)))
    return F.concat_ws(", ", *names)
