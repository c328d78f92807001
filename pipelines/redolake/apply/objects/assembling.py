"""Large objects assembled from the redo: of each row, the value that it had, and all changes of it in their order.

A row lives from its INSERT to its DELETE, under whatever keys. Its changes are found by ROWID, or by its key where LogMiner
shows no ROWID. One that was there before the batch continues from the target's value, which is read for the rows that need
it. An object that no change concerns stays as the target has it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.apply.landed.decoded import PIECE, is_absent
from redolake.apply.landed.keys import has_null, key_text
from redolake.apply.net.missing_columns import MOST_KEYS_TO_BROADCAST
from redolake.apply.objects.fold import BEGIN, EXPECT, KEEP, SET, STEP, Columns, Kind, fold_steps, values_ddl
from redolake.apply.objects.large_objects import OF_COMMIT, with_row_ids
from redolake.apply.objects.xml_document import ReadText
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import any_of, unite
from redolake.apply.target import OBJECTS, REMOVE, TargetColumn
from redolake.values import frames
from redolake.values.logminer import IN_OTHER_ROWS, NO_ROWID
from redolake.values.redo import CHANGE_ORDER, COMMIT_ORDER, Operation

CURE = "`large_objects: reread` reads such values from the table"
CURE_WITH_DOCUMENTS = "`unsupported_columns: reread` reads changed rows of such a table from it"
NAMING = ("locator", "document", "text document")  # kinds of rows that name the row and column of those that follow
BEFORE, DURING = 0, 1  # the rank of a step: the value from before the batch, and the changes in it


def of_rows(pieces: DataFrame, key: Sequence[int]) -> DataFrame:
    """Give a piece whose text names no row, as releases before 23ai write it, the row and column of the locator before it in
    its transaction. A piece of an unknown row gets a finding, and so does a write that does not continue the one before it
    through the same locator: it may be of another object. Writes of a BasicFile that is never stored in its row have no
    locator."""
    is_locator, keys = F.col("piece_kind").isin(*NAMING), [frames.key_before(i) for i in key]
    before = Window.partitionBy("con_id", "xid").orderBy(*CHANGE_ORDER).rowsBetween(Window.unboundedPreceding, -1)
    shown = F.struct("piece_column", "row_id", *keys)
    upto = Window.partitionBy("con_id", "xid").orderBy(*CHANGE_ORDER)
    through = Window.partitionBy("con_id", "xid", "locator_number").orderBy(*CHANGE_ORDER)
    is_write, end = F.col("piece_kind") == "write", F.col("piece_at") + F.col("piece_amount")
    written = F.last(F.when(is_write, end), ignorenulls=True).over(through.rowsBetween(Window.unboundedPreceding, -1))
    placed = (
        pieces.withColumn("row_id", F.coalesce("row_id", F.lit(NO_ROWID)))
        .withColumn("locator", F.last(F.when(is_locator, shown), ignorenulls=True).over(before))
        .withColumn("locator_number", F.count(F.when(is_locator, 1)).over(upto))
        .withColumn("jumps", F.coalesce(is_write & (F.col("piece_at") != written), F.lit(False)))
        .withColumn("is_bare", ~is_locator & F.col("piece_column").isNull() & F.col("finding").isNull())
        .withColumn("of_row", F.when(F.col("row_id") == NO_ROWID, F.col("locator.row_id")).otherwise(F.col("row_id")))
        .withColumn("is_other", (F.col("locator.row_id") != NO_ROWID) & (F.col("of_row") != F.col("locator.row_id")))
    )
    own = {name: F.when(F.col("is_bare"), F.col(f"locator.{name}")).otherwise(F.col(name)) for name in ("piece_column", *keys)}
    row_id = F.when(F.col("is_bare"), F.coalesce("of_row", "row_id")).otherwise(F.col("row_id"))
    named = placed.withColumns({**own, "row_id": row_id})
    is_lost = (
        F.col("piece_column").isNull()
        | has_null(key, frames.key_before)
        | (F.col("is_bare") & (F.col("jumps") | F.coalesce("is_other", F.lit(False))))
    )
    lost = F.when(
        (F.col("piece_kind") != "locator") & is_lost,
        _finding(F.lit("a change of a large object names no row, or no column, of the table")),
    )
    return named.withColumn("finding", F.coalesce("finding", lost)).drop(
        "locator", "locator_number", "jumps", "is_bare", "of_row", "is_other"
    )


def with_pieces(decoded: DataFrame, pieces: DataFrame, key: Sequence[int]) -> DataFrame:
    """Return the changes, and the pieces as changes that keep the key. PIECE is NULL in other changes."""
    kept = {frames.after(i): F.col(frames.key_before(i)) for i in key}
    changes = pieces.filter(F.col("piece_kind") != "locator").withColumns(
        {**kept, "operation_code": F.lit(int(Operation.UPDATE))}
    )
    return with_row_ids(decoded.unionByName(changes, allowMissingColumns=True), key)


def without_pieces(both: DataFrame, columns: Iterable[TargetColumn]) -> DataFrame:
    """Return the changes alone, without the large objects."""
    return both.filter(F.col("piece_kind").isNull()).drop(*PIECE, *(frames.after(column.id) for column in columns))


def assemble(
    both: DataFrame,
    target: DataFrame,
    key: Sequence[TargetColumn],
    columns: Sequence[TargetColumn],
    count: int,
    documents: Container[int],
    read_text: ReadText,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Return for each row with a changed object, or another key: k<id>, v<id> and h<id> of each large object (its value, and
    whether it has one), `of_object` (the last transaction that changed a part), and `why` its changes cannot be followed."""
    ids, types = [column.id for column in key], {column.id: kind_of(column, documents) for column in columns}
    rows = keep(_in_lives(both, ids))
    lives = keep(_lives(rows, ids, types))
    needed = lives.filter(any_of(F.col(f"needs{i}") for i in types))
    wanted = needed.select(
        "life", *(F.col(f"first.{frames.key_before(i)}").alias(f"first{i}") for i in ids), *(f"needs{i}" for i in types)
    )
    steps = unite([*_steps(rows, types), _steps_before(wanted, types), _before(wanted, target, key, types, columns, count)])
    fold = fold_steps(types, {column.id: column.name for column in columns}, read_text)
    ordered = steps.repartition("life").sortWithinPartitions("life", "column", "rank", *CHANGE_ORDER)
    values = ordered.select(*STEP).mapInArrow(fold, values_ddl(types))
    found = values.join(lives.select("life", "is_gone", "first", "last", "of_object"), "life")
    keys = {frames.key(i): F.coalesce(F.col(f"last.{frames.after(i)}"), F.col(f"first.{frames.key_before(i)}")) for i in ids}
    shown = found.filter(~F.col("is_gone") | F.col("why").isNotNull()).withColumns(keys)
    return shown.drop("life", "is_gone", "first", "last")


def _in_lives(both: DataFrame, key: Sequence[int]) -> DataFrame:
    """Return the changes of each row's last life in the batch, with `life`, which names it, and `bound`, the INSERT or DELETE
    with which it begins."""
    code, is_delete = F.col("operation_code"), F.col("operation_code") == Operation.DELETE
    keys = F.struct(
        *(F.when(is_delete, F.col(frames.key_before(i))).otherwise(F.col(frames.after(i))).alias(frames.key(i)) for i in key)
    )
    life = F.when(F.col("row_id") != NO_ROWID, F.col("row_id")).otherwise(F.concat(F.lit("key "), key_text(keys)))
    bound = F.when(code.isin(Operation.INSERT, Operation.DELETE), F.struct("place", "operation_code"))
    within = both.withColumn("place", F.struct(*CHANGE_ORDER)).withColumn("life", life)
    # Oracle moves a row by a DELETE and an INSERT in one transaction, and the object may stay where it is.
    in_transaction = Window.partitionBy(keys, *COMMIT_ORDER).orderBy(*CHANGE_ORDER)
    replaces = (code == Operation.INSERT) & (F.lag("operation_code").over(in_transaction) == Operation.DELETE)
    return (
        within.withColumn("replaces", F.coalesce(replaces, F.lit(False)))
        .withColumn("bound", F.max(bound).over(Window.partitionBy("life")))
        .filter(F.col("bound").isNull() | (F.col("place") >= F.col("bound.place")))
    )


def _lives(rows: DataFrame, key: Sequence[int], columns: Columns) -> DataFrame:
    """Return per life: its first and last key, whether the row is gone, and n<id>, whether the value from before the batch is
    needed."""
    is_piece = F.col("piece_kind").isNotNull()
    began = F.first("bound")["operation_code"]
    found = rows.groupBy("life").agg(
        F.coalesce(began == Operation.DELETE, F.lit(False)).alias("is_gone"),
        began.isNull().alias("was_there"),
        F.min_by(F.struct(*(frames.key_before(i) for i in key)), "place").alias("first"),
        F.max_by(F.struct(*(frames.after(i) for i in key)), "place").alias("last"),
        F.max(F.when(is_piece, F.struct(*OF_COMMIT))).alias("of_object"),
        *(F.max(F.coalesce(F.col("piece_column") == i, F.lit(False))).alias(f"has_piece{i}") for i in columns),
    )
    moved = any_of(~F.col(f"first.{frames.key_before(i)}").eqNullSafe(F.col(f"last.{frames.after(i)}")) for i in key)
    return found.withColumns({f"needs{i}": F.col("was_there") & (moved | F.col(f"has_piece{i}")) for i in columns})


def _steps(rows: DataFrame, columns: Columns) -> list[DataFrame]:
    """Return the steps of the changes that set a whole value, and those of the pieces."""
    code = F.col("operation_code")
    is_insert, is_update = code == Operation.INSERT, code == Operation.UPDATE
    sets = {i: is_insert | (is_update & ~is_absent(i)) for i in columns}
    kind = {i: _kind(frames.after(i), kind) for i, kind in columns.items()}
    values = {i: _value(frames.after(i), kind) for i, kind in columns.items()}
    wholes = _explode(rows.filter(F.col("piece_kind").isNull()), values, sets, kind)
    own = {"column": "piece_column", **{name: f"piece_{name}" for name in ("kind", "at", "amount", "counts", "text", "octets")}}
    pieces = rows.filter(F.col("piece_column").isin(list(columns))).select(
        "life", F.lit(DURING).alias("rank"), *CHANGE_ORDER, *(F.col(name).alias(step) for step, name in own.items())
    )
    return [wholes, pieces]


def _steps_before(wanted: DataFrame, columns: Columns) -> DataFrame:
    """Return a step for each value from before the batch that is needed: without it, the row is not in the target."""
    nothing = F.struct(F.lit(None).cast("string").alias("text"), F.lit(None).cast("binary").alias("octets"))
    needs = {i: F.col(f"needs{i}") for i in columns}
    return _explode(wanted, dict.fromkeys(columns, nothing), needs, dict.fromkeys(columns, F.lit(KEEP)))


def _before(
    wanted: DataFrame,
    target: DataFrame,
    key: Sequence[TargetColumn],
    types: Columns,
    columns: Sequence[TargetColumn],
    count: int,
) -> DataFrame:
    """Return a step for each value that the target has."""
    named = target.select(
        *(F.col(quote(column.name)).alias(f"first{column.id}") for column in key),
        *(F.col(quote(column.name)).alias(frames.in_target(column.id)) for column in columns),
    )
    there = named.join(F.broadcast(wanted) if count <= MOST_KEYS_TO_BROADCAST else wanted, [f"first{c.id}" for c in key])
    values = {column.id: _value(frames.in_target(column.id), types[column.id]) for column in columns}
    needs = {column.id: F.col(f"needs{column.id}") for column in columns}
    return _explode(there, values, needs, dict.fromkeys(values, F.lit(SET)), rank=BEFORE)


def kind_of(column: TargetColumn, documents: Container[int]) -> Kind:
    return Kind.DOCUMENT if column.id in documents else Kind.TEXT if column.type == "string" else Kind.BYTES


def _kind(name: str, kind: Kind) -> Expression:
    """Return the kind of the step of an INSERT or UPDATE."""
    if kind is Kind.DOCUMENT:
        return F.when(F.col(name) == IN_OTHER_ROWS, F.lit(EXPECT)).otherwise(F.lit(SET))
    return F.when(F.col("replaces") & (F.length(name) == 0), F.lit(BEGIN)).otherwise(F.lit(SET))


def _value(name: str, kind: Kind) -> Expression:
    has_bytes = kind is Kind.BYTES
    text = F.lit(None).cast("string") if has_bytes else F.col(name)
    octets = F.col(name) if has_bytes else F.lit(None).cast("binary")
    return F.struct(text.alias("text"), octets.alias("octets"))


def _explode(
    rows: DataFrame,
    values: Mapping[int, Expression],
    wanted: Mapping[int, Expression],
    kinds: Mapping[int, Expression],
    *,
    rank: int = DURING,
) -> DataFrame:
    """Return a step per row and wanted column."""
    of_change = set(CHANGE_ORDER) <= set(rows.columns)
    order = CHANGE_ORDER if of_change else [F.lit(None).alias(name) for name in CHANGE_ORDER]
    each = F.array(
        *(
            F.struct(F.lit(i).alias("column"), wanted[i].alias("is_wanted"), kinds[i].alias("kind"), value.alias("value"))
            for i, value in values.items()
        )
    )
    absent = {"at": "bigint", "amount": "bigint", "counts": "string"}
    return (
        rows.withColumn("step", F.explode(each))
        .filter("step.is_wanted")
        .select(
            "life",
            F.lit(rank).alias("rank"),
            *order,
            "step.column",
            "step.kind",
            *(F.lit(None).cast(kind).alias(name) for name, kind in absent.items()),
            "step.value.text",
            "step.value.octets",
        )
    )


def with_assembled(
    net: DataFrame, objects: DataFrame, key: Sequence[int], columns: Sequence[TargetColumn], documents: Container[int]
) -> DataFrame:
    """Return the net changes with a<id> of each large object and u<id>, whether the target's value stays. Adds a row with `op`
    O for each key whose objects alone changed."""
    both = net.join(objects, [frames.key(i) for i in key], "full_outer")
    is_later = F.col("commit_scn").isNull() | (F.col("of_object.commit_scn") > F.col("commit_scn"))
    commit = {
        name: F.when(is_later, F.col(f"of_object.{name}")).otherwise(F.col(name)) for name in OF_COMMIT if name in net.columns
    }
    given = {
        **{frames.after(c.id): F.col(frames.object_value(c.id)) for c in columns},
        **{frames.unknown(c.id): ~F.coalesce(frames.has_object(c.id), F.lit(False)) for c in columns},
        "op": F.coalesce("op", F.lit(OBJECTS)),
    }
    named = both.withColumns({**given, **commit})
    gone = F.when(
        (F.col("op") == REMOVE) & any_of(F.col(frames.has_object(c.id)) for c in columns), F.lit("its row is deleted")
    )
    cure = CURE_WITH_DOCUMENTS if any(c.id in documents for c in columns) else CURE
    what = F.concat(F.lit("a large object cannot be assembled: "), F.coalesce("why", gone), F.lit(f"; {cure}"))
    finding = F.coalesce("finding", F.when(what.isNotNull(), _finding(what)))
    return named.withColumn("finding", finding).select(*net.columns, *(name for name in given if name != "op"))


def _finding(what: Expression) -> Expression:
    return F.struct("commit_scn", F.col("scn"), F.lit("RedoNotUnderstood").alias("code"), what.alias("what"))
