"""Decode committed changes under the table version of their own SCN, and map them by column id to the target's columns.

A change that is not understood gets a `finding`; the caller holds the table when there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.commit_ranges import Known
from redolake.apply.landed.findings import TROUBLE, finding, trouble
from redolake.apply.landed.keys import has_null, key_text
from redolake.apply.spark.shallow import any_of, unite
from redolake.apply.target import TargetColumn
from redolake.apply.translation import Translation
from redolake.records.batches.spec import MinedNames
from redolake.values import frames
from redolake.values.delivery import Delivery
from redolake.values.frames import Kind
from redolake.values.logminer import IN_OTHER_ROWS
from redolake.values.null_rule import has_nulls, is_else_null
from redolake.values.redo import CHANGE_ORDER, Operation
from redolake.values.table import ROWID_COLUMN, Rules, TableVersion

REDO = ("row_id", "scn", "xid", "operation_code", "rollback", "status", "info", "seg_owner", "table_name", "sql_redo")
NULLED = "nulled"
PIECE = ("piece_kind", "piece_column", "piece_at", "piece_amount", "piece_counts", "piece_text", "piece_octets")


@dataclass(frozen=True, slots=True)
class Target:
    """`defaulted` are the columns whose default Oracle may show in rows that do not store it. With `has_objects`, large objects
    are read again, and it matters which changes touch them (`touched`). `computed` are the columns whose values in rows older
    than the column only Oracle knows; those in `filled` were read again."""

    columns: tuple[TargetColumn, ...]
    key: tuple[int, ...]
    defaulted: frozenset[int]
    has_objects: bool = False
    also: tuple[str, ...] = ()  # more columns of the changes to keep
    computed: frozenset[int] = frozenset()
    filled: frozenset[int] = frozenset()
    has_null_keys: bool = False  # the values before are kept too, by which rows with a NULL in their key are known
    has_pieces: bool = False  # the rows are about large objects, and PIECE is wanted too
    has_trouble: bool = False  # what cannot be applied may go to quarantine: TROUBLE says for which class of errors


def decode(
    changes: DataFrame,
    versions: Sequence[Known],
    rules: Rules,
    target: Target,
    translation: Translation,
    mined_names: Sequence[MinedNames] = (),
    known_from: int = 0,
) -> DataFrame:
    """Return CHANGE_ORDER, scn, row_id, operation_code, finding, b<id> (key before), a<id> (every target column after), and
    `absent`: the ids of the columns outside the key whose value the redo of an UPDATE does not contain (see missing_columns),
    NULL or empty without any. `nulled` counts values that are NULL by rule, where a column has it. With `has_null_keys` also
    w<id>, the values before of these columns, and `null_key`."""
    columns, key = target.columns, target.key
    types = {column.id: column.type for column in columns}

    def cast_to_target(value: Expression, column_id: int, version: TableVersion) -> Expression:
        """Return the value in the target's type, which is another one where a later MODIFY changed it."""
        known = next((column for column in version.columns if column.id == column_id), None)
        type_ = types.get(column_id)
        is_same = known is None or type_ in (None, translation.spark_type(known.type, rules.get(column_id)))
        return value if is_same or type_ is None else value.cast(type_)

    def before(column_id: int, version: TableVersion) -> Expression:
        return cast_to_target(F.col(frames.redo_before(column_id)), column_id, version)

    def after(
        column: TargetColumn, version: TableVersion, documents: Collection[int], side: Kind = frames.redo_after
    ) -> Expression:
        value = cast_to_target(_value(column, version, translation, side), column.id, version)
        return F.when(_lacks_document(column.id), F.lit(IN_OTHER_ROWS)).otherwise(value) if column.id in documents else value

    parts = []
    counts_nulls = not target.has_pieces and any(map(is_else_null, rules.values()))
    for version, delivery, names, mine in by_names(versions, mined_names):
        documents = delivery.documents
        before_of = partial(after, version=version, documents=documents, side=frames.redo_before)
        in_index = ("partly_undone",) if version.organization == "index" else ()
        rows = changes.filter(mine).select(*CHANGE_ORDER, *dict.fromkeys((*REDO, *in_index, *target.also)))
        wanted = {*key, *version.key, *target.defaulted, *(types if target.has_null_keys else ())}
        decode_rows = translation.decode_pieces if target.has_pieces else translation.decode
        decoded = with_rowid(decode_rows(rows, version, delivery, rules, names, wanted))
        lacking = lacks_values(version, target) if target.has_null_keys else None
        found = F.coalesce(finding(version, key, known_from, lacking), _of_unfilled(version, target))
        parts.append(
            decoded.select(
                *CHANGE_ORDER,
                "scn",
                _row_id(version, key).alias("row_id"),
                "operation_code",
                *([_touches_objects(delivery).alias("touched")] if target.has_objects else []),
                *target.also,
                *(PIECE if target.has_pieces else ()),
                *([nulls_of(version, rules)] if counts_nulls else []),
                found.alias("finding"),
                *([trouble(version, key, found).alias(TROUBLE)] if target.has_trouble else []),
                *(before(column_id, version).alias(frames.key_before(column_id)) for column_id in key),
                *(after(column, version, documents).alias(frames.after(column.id)) for column in columns),
                _absent([c.id for c in columns if c.id not in key], version, target).alias("absent"),
                *(whole_row(columns, key, before_of) if target.has_null_keys else ()),
            )
        )
    return unite(parts)


def fetch_changes(changes: DataFrame, names: Sequence[str], most_bytes: int) -> pa.Table:
    """Return these columns of assembled changes, by one job. A longer redo SQL is NULL."""
    sql = F.when(F.octet_length("sql_redo") <= most_bytes, F.col("sql_redo")).alias("sql_redo")
    return changes.select("table_number", "range_number", *(sql if name == "sql_redo" else name for name in names)).toArrow()


def nulls_of(version: TableVersion, rules: Rules) -> Expression:
    """Return how many values of the change are NULL by rule."""
    return (F.col(NULLED) if has_nulls(version, rules) else F.lit(0)).alias(NULLED)


def whole_row(
    columns: Sequence[TargetColumn], key: Sequence[int], before: Callable[[TargetColumn], Expression]
) -> list[Expression]:
    """Return w<id> and `null_key`."""
    code = F.col("operation_code")
    had, has = code.isin(Operation.DELETE, Operation.UPDATE), code.isin(Operation.INSERT, Operation.UPDATE)
    is_null = had & has_null(key, frames.redo_before) | has & has_null(key, frames.redo_after)
    return [*(before(c).alias(frames.value_before(c.id)) for c in columns if c.id not in key), is_null.alias("null_key")]


def lacks_values(version: TableVersion, target: Target) -> Expression:
    """Return whether the redo of a change does not contain all values before it."""
    had = F.col("operation_code").isin(Operation.DELETE, Operation.UPDATE)
    ids = [column.id for column in version.columns if any(column.id == c.id for c in target.columns)]
    absent = F.coalesce(F.arrays_overlap("missing", F.array(*map(F.lit, ids))), F.lit(False))
    unsure = any_of(F.col(frames.redo_before(i)).isNull() for i in ids if i in target.defaulted)
    only_oracle_knows = any(c.id in target.computed and c.id not in ids for c in target.columns)
    return had & (absent | unsure | F.lit(only_oracle_knows))


def with_rowid(decoded: DataFrame) -> DataFrame:
    """Add ROWID as a column like the others: a row keeps it until it is deleted, and a later row may get it."""
    code, rowid = F.col("operation_code"), F.col("row_id")
    return decoded.withColumns(
        {
            frames.redo_before(ROWID_COLUMN): F.when(code != Operation.INSERT, rowid),
            frames.redo_after(ROWID_COLUMN): F.when(code != Operation.DELETE, rowid),
        }
    )


def _row_id(version: TableVersion, key: Sequence[int]) -> Expression:
    """Return what the changes of one row have in common: its ROWID, or its key in an index-organized table."""
    if version.organization != "index" or not key:
        return F.col("row_id")
    side = F.when(
        F.col("operation_code") == Operation.INSERT, F.struct(*(F.col(frames.redo_after(i)).alias(frames.key(i)) for i in key))
    )
    return key_text(side.otherwise(F.struct(*(F.col(frames.redo_before(i)).alias(frames.key(i)) for i in key))))


def by_version(versions: Sequence[Known]) -> list[tuple[Known, Expression]]:
    """Return each different layout of columns with the condition that a row's SCN is in its range."""
    distinct = [next(same) for _, same in groupby(versions, key=layout)]
    found = []
    for number, known in enumerate(distinct):
        mine = F.lit(True)
        if number:  # the first holds for older rows too: their transaction was open when the table was captured
            mine = F.col("scn") >= known[0].from_scn
        if number + 1 < len(distinct):
            mine = mine & (F.col("scn") < distinct[number + 1][0].from_scn)
        found.append((known, mine))
    return found


def layout(known: Known) -> tuple[object, ...]:
    """Return what the decoding of a change depends on."""
    version, delivery = known
    return version.columns, version.ignored, version.key, delivery


def by_names(
    versions: Sequence[Known], mined_names: Sequence[MinedNames]
) -> Iterator[tuple[TableVersion, Delivery, Mapping[str, int] | None, Expression]]:
    """Yield each layout of columns with the names that its redo has, and the condition for these rows."""
    for known, mine in by_version(versions):
        version, delivery = known
        alike = {one[0].from_scn for one in versions if layout(one) == layout(known)}
        named, others = list[Expression](), [entry for entry in mined_names if entry.version in alike]
        slice_of = F.concat_ws(" ", F.col("window_start").cast("string"), F.col("slice").cast("string"))
        for names in [dict(distinct) for distinct in dict.fromkeys(tuple(sorted(entry.names.items())) for entry in others)]:
            is_among = slice_of.isin(sorted({f"{entry.window} {entry.slice}" for entry in others if entry.names == names}))
            yield version, delivery, names, mine & is_among
            named.append(is_among)
        yield version, delivery, None, mine & ~any_of(named) if named else mine


def _lacks_document(column_id: int) -> Expression:
    """Return whether an INSERT does not contain the column, not even as NULL."""
    absent = F.coalesce(F.array_contains("missing", F.lit(column_id)), F.lit(False))
    return (F.col("operation_code") == Operation.INSERT) & absent


def _touches_objects(delivery: Delivery) -> Expression:
    """Return whether a large object that is read again may have another value after the change."""
    if delivery.rereads != "large objects":
        return F.lit(False)
    ids = F.array(*map(F.lit, sorted(delivery.apart)))
    is_set = F.coalesce(F.arrays_overlap("assigned", ids), F.lit(False))
    return (F.col("operation_code") == Operation.INSERT) | is_set


def _value(column: TargetColumn, version: TableVersion, translation: Translation, side: Kind) -> Expression:
    """Return the value after (`n`) or before (`o`) the change; a column that was added later has its default, as in all older
    rows."""
    if column.id == ROWID_COLUMN or any(known.id == column.id for known in version.columns):
        return F.col(side(column.id))
    return F.lit(column.default).cast(column.type)


def _of_unfilled(version: TableVersion, target: Target) -> Expression:
    """Return the finding of a row that is older than a column with a computed default, and was not there when it was read."""
    known = {column.id for column in version.columns}
    names = [column.name for column in target.columns if column.id in target.computed - target.filled - known]
    if not names:
        return F.lit(None)
    what = f"a row is older than the DDL that added {', '.join(names)}, and committed after the reading of its values"
    why = F.struct("commit_scn", "scn", F.lit("RedoNotUnderstood").alias("code"), F.lit(what).alias("what"))
    return F.when(F.col("operation_code") == Operation.INSERT, why)


def is_absent(column_id: int) -> Expression:
    """Return whether the redo of the change does not contain the column's value."""
    return F.coalesce(F.array_contains("absent", F.lit(column_id)), F.lit(False))


def _absent(ids: Sequence[int], version: TableVersion, target: Target) -> Expression:
    """Return the columns, `ids` and perhaps others, whose value the redo of an UPDATE does not contain.

    A column that SET does not name is absent where it is not logged (no ALL COLUMN LOGGING) or not stored (the row is older
    than the column). NULL may stand for a default that the row does not store either. In most tables no value is absent: one
    array per change, which is NULL there, costs less than a flag per column.
    """
    known, absent = {column.id for column in version.columns}, F.col("missing")
    maybe = [
        *(F.when(F.col(frames.redo_before(i)).isNull(), F.lit(i)) for i in ids if i in known and i in target.defaulted),
        *(F.lit(i) for i in ids if i not in known and i in target.computed),
    ]
    if maybe:
        none = F.array().cast("array<int>")
        absent = F.concat(F.coalesce(absent, none), F.array_compact(F.array(*maybe)))
    unset = F.when(F.col("assigned").isNull(), absent).otherwise(F.array_except(absent, F.col("assigned")))
    return F.when(F.col("operation_code") == Operation.UPDATE, unset)
