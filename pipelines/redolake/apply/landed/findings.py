"""Reasons for which a decoded change cannot be applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from redolake.apply.landed.keys import has_null, is_moved
from redolake.apply.spark.shallow import any_of
from redolake.apply.spark.text import to_text
from redolake.errors import (
    KeyNeeded,
    MappingFailed,
    NotLogged,
    RedolakeError,
    RedoNotUnderstood,
    SchemaConflict,
    TextNotValid,
    ValueDoesNotFit,
)
from redolake.values import frames
from redolake.values.logminer import NO_ROWID
from redolake.values.redo import Operation
from redolake.values.table import ROWID_COLUMN, TableVersion
from redolake.values.valid_text import NOT_VALID

ROWID_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
NOT_GUARANTEED = 3  # STATUS
TROUBLE = "trouble"  # the class (values/quarantine.py) of a change that one value of a column outside the key makes wrong
SHOWN_CHARACTERS = 500  # of redo text that cannot be decoded
KINDS = (KeyNeeded, MappingFailed, NotLogged, RedoNotUnderstood, SchemaConflict, TextNotValid, ValueDoesNotFit)
FINDINGS: Mapping[str, type[RedolakeError]] = {kind.__name__: kind for kind in KINDS}

Case = tuple[type[RedolakeError], Expression, Expression]  # error, its condition, its text


def finding(
    version: TableVersion, key: Sequence[int], known_from: int = 0, lacks_values: Expression | None = None
) -> Expression:
    """Return struct(commit_scn, scn, code, what) of the first case that holds; NULL for a change that is fully understood.

    Below SCN `known_from` the columns of a change are not known. With `lacks_values`, a row with a NULL in its key is
    understood unless that holds.
    """
    cases = [
        *_of_unknown_version(known_from),
        *_append_only(version),
        *_not_guaranteed(),
        *_decode_cases(version, key),
        *_without_key(version, key, lacks_values),
        *_without_rowid(version, key),
        *_index_move_cases(version, key),
        *_moved_without_rowid(version, key),
        *_without_cluster_key(version),
    ]
    found = F.lit(None)
    for kind, condition, what in reversed(cases):
        why = F.struct("commit_scn", "scn", F.lit(kind.__name__).alias("code"), what.alias("what"))
        found = F.when(condition, why).otherwise(found)
    return found


def has_none(decoded: pa.RecordBatch, version: TableVersion, known_from: int = 0) -> bool:
    """Return whether no change of a table with ROWIDs can have a finding, but for the columns of its key: decoded rows of this
    process. False where `finding` has to look."""
    located, known = pc.not_equal(decoded["row_id"], NO_ROWID), pc.greater_equal(decoded["scn"], known_from)
    is_read = decoded["error"].null_count == len(decoded) == decoded["unknown"].null_count
    needed = [located, known]
    if ROWID_COLUMN in version.key:
        segments = pa.array(sorted(map(segment_text, version.segments)), pa.string())
        needed.append(pc.is_in(pc.utf8_slice_codeunits(decoded["row_id"], 0, 6), segments))
    return is_read and all(pc.all(one, skip_nulls=False).as_py() is True for one in needed)


def trouble(version: TableVersion, key: Sequence[int], found: Expression) -> Expression:
    """Return `value` or `undecodable` for a change whose only fault is one value outside the key, so that its row is known;
    NULL for any other one. An error of the key comes before those of other columns (decode.changes)."""
    error, rowid, in_key = F.col("error"), F.col("row_id"), {*key, *version.key}
    others = [f"column {column.name}: " for column in version.columns if column.id not in in_key]
    of_key = any_of(F.startswith(error, F.lit(f"column {column.name}: ")) for column in version.columns if column.id in in_key)
    is_read = found["code"].isin(RedoNotUnderstood.__name__, TextNotValid.__name__) & F.col("unknown").isNull() & ~of_key
    if ROWID_COLUMN in key:
        is_read = is_read & rowid.isNotNull() & F.substring(rowid, 1, 6).isin(sorted(map(segment_text, version.segments)))
        is_read = is_read & (rowid != NO_ROWID)
    value = any_of(F.startswith(error, F.lit(f"{prefix}the value ")) for prefix in others)
    other = any_of(F.startswith(error, F.lit(prefix)) for prefix in others)
    return F.when(is_read & error.isNotNull(), F.when(value, F.lit("value")).when(other, F.lit("undecodable")))


def _of_unknown_version(known_from: int) -> Iterator[Case]:
    what = f"a DDL ran at SCN {known_from}, before the table's snapshot, while the change's transaction was open"
    yield SchemaConflict, F.col("scn") < known_from, F.lit(what)


def segment_text(data_object_id: int) -> str:
    """Return the first six characters of every ROWID in the segment: base 64, highest digit first."""
    return "".join(ROWID_DIGITS[(data_object_id >> shift) & 63] for shift in range(30, -1, -6))


def _append_only(version: TableVersion) -> Iterator[Case]:
    code, declared = F.col("operation_code"), F.lit(version.key_kind == "append")
    # An INSERT may be followed by an UPDATE that sets its large objects.
    sets_nothing = F.lit(version.hides_rowids) & F.col("assigned").isNull()
    yield (
        KeyNeeded,
        declared & (code == Operation.UPDATE) & ~sets_nothing,
        F.lit("an UPDATE committed, and the table is declared append-only"),
    )
    yield KeyNeeded, declared & (code == Operation.DELETE), F.lit("a DELETE committed, and the table is declared append-only")


def _not_guaranteed() -> Iterator[Case]:
    """Return the error of a change from while minimal supplemental logging was off (STATUS 3). Undo rows need no values."""
    not_guaranteed = (F.col("status") == NOT_GUARANTEED) & ~F.col("rollback")
    what = "the change was written without minimal supplemental logging, and LogMiner does not guarantee it"
    yield NotLogged, not_guaranteed, F.concat_ws(": ", F.lit(what), F.col("info"))


def _decode_cases(version: TableVersion, key: Sequence[int]) -> Iterator[Case]:
    sql = F.col("error_sql")
    cut = F.when(F.length(sql) > SHOWN_CHARACTERS, F.lit(" ...")).otherwise(F.lit(""))
    text = F.coalesce(F.concat(F.lit(": "), F.substring(sql, 1, SHOWN_CHARACTERS), cut), F.lit(""))
    masked = frozenset[int]() if version.mapping is None else version.mapping.masked
    if masked:  # the text has the clear values
        text = F.lit("")
    keys = [
        F.concat(F.lit(f"{c.name} "), to_text(F.coalesce(frames.redo_before(c.id), frames.redo_after(c.id)), c))
        for c in version.columns
        if c.id in key and c.id not in masked
    ]
    named = F.concat_ws(", ", *keys, F.concat(F.lit("ROWID "), F.col("row_id")))
    row = F.when(named != "", F.concat(F.lit(" ("), named, F.lit(")"))).otherwise(F.lit(""))
    undecoded = F.concat(F.lit("the redo cannot be decoded: "), F.col("error"), row, text)
    yield TextNotValid, F.contains(F.col("error"), F.lit(NOT_VALID)), undecoded
    yield RedoNotUnderstood, F.col("error").isNotNull(), undecoded
    unknown = F.concat(F.lit("the redo names unknown columns: "), F.concat_ws(", ", "unknown"))
    yield SchemaConflict, F.col("unknown").isNotNull(), unknown


def _without_key(version: TableVersion, key: Sequence[int], lacks_values: Expression | None) -> Iterator[Case]:
    code = F.col("operation_code")
    before, after = code.isin(Operation.DELETE, Operation.UPDATE), code.isin(Operation.INSERT, Operation.UPDATE)
    is_absent, names = _absent_key_columns(version, key)
    not_logged = F.concat(F.lit("the redo does not contain the key, so supplemental logging was off: "), names)
    yield NotLogged, is_absent, not_logged
    ids = sorted(set(key) - {ROWID_COLUMN})
    is_null = before & has_null(ids, frames.redo_before) | after & has_null(ids, frames.redo_after)
    if lacks_values is None:
        yield RedoNotUnderstood, is_null, F.lit("a key column is NULL")
    else:
        what = "a key column is NULL, and the redo does not contain all other columns, by which the row would be known"
        yield RedoNotUnderstood, is_null & lacks_values, F.lit(what)


def _absent_key_columns(version: TableVersion, key: Sequence[int]) -> tuple[Expression, Expression]:
    """Return whether the redo of an UPDATE or DELETE lacks key columns, and their names; an INSERT may omit trailing NULLs."""
    located = F.col("operation_code").isin(Operation.UPDATE, Operation.DELETE)
    known = [(F.array_contains("missing", F.lit(column.id)), column.name) for column in version.columns if column.id in key]
    return located & any_of(absent for absent, _ in known), F.concat_ws(
        ", ", F.lit(None).cast("string"), *(F.when(absent, F.lit(name)) for absent, name in known)
    )


def _without_rowid(version: TableVersion, key: Sequence[int]) -> Iterator[Case]:
    """Return the error of changes without a ROWID: nothing says which of them belong to one row, or which is the last."""
    if version.organization == "index":
        return
    code, rowid, by_rowid = F.col("operation_code"), F.col("row_id"), ROWID_COLUMN in key
    needs_rowid = code.isin(Operation.DELETE, Operation.UPDATE, *((Operation.INSERT,) if by_rowid else ()))
    hidden = F.lit(version.hides_rowids and not by_rowid) & (code == Operation.UPDATE) & (rowid == NO_ROWID)  # found by its key
    no_rowid = needs_rowid & (rowid.isNull() | (rowid == NO_ROWID)) & ~hidden
    yield RedoNotUnderstood, no_rowid, F.lit("the redo does not contain the ROWID of the row")
    other_segment = F.lit(by_rowid) & ~F.substring(rowid, 1, 6).isin(sorted(map(segment_text, version.segments)))
    other = F.concat(F.lit("the ROWID belongs to another segment than the rows of the snapshot: "), rowid)
    yield SchemaConflict, other_segment, other


def _index_move_cases(version: TableVersion, key: Sequence[int]) -> Iterator[Case]:
    """Return the error of an UPDATE of a key in a transaction that took changes of the table back: how LogMiner shows the undo
    of such an UPDATE is not known, and no ROWID says which change an undo row is of."""
    if version.organization != "index":
        return
    moved = is_moved(sorted(key), frames.redo_before, frames.redo_after)
    what = (
        "an UPDATE changed the key of a row in an index-organized table, whose rows have no ROWIDs, and a part of the "
        "transaction was rolled back"
    )
    yield RedoNotUnderstood, (F.col("operation_code") == Operation.UPDATE) & moved & F.col("partly_undone"), F.lit(what)


def _moved_without_rowid(version: TableVersion, key: Sequence[int]) -> Iterator[Case]:
    """Return the error of an UPDATE of a key in a statement that writes large objects: no ROWID tells which changes before it
    are of that row."""
    moved = is_moved(sorted(key), frames.redo_before, frames.redo_after)
    no_rowid = (F.col("operation_code") == Operation.UPDATE) & (F.col("row_id") == NO_ROWID)
    what = "an UPDATE changed the key of a row together with a large object, and the redo does not contain its ROWID"
    yield RedoNotUnderstood, F.lit(version.hides_rowids) & no_rowid & moved, F.lit(what)


def _without_cluster_key(version: TableVersion) -> Iterator[Case]:
    """Return the error of an INSERT that lacks a column and has a later one.

    Only trailing NULLs may be missing. The columns of a cluster's key are stored apart from the row, and come first.
    """
    if version.organization != "cluster":
        return
    ids = [column.id for column in sorted(version.columns, key=lambda column: column.segment_id)]
    lacks = [F.array_contains("missing", F.lit(i)) for i in ids]
    gap = any_of(first & ~second for first, second in pairwise(lacks))
    what = "the redo of an INSERT into a clustered table lacks a column: perhaps one of the cluster key"
    yield NotLogged, (F.col("operation_code") == Operation.INSERT) & gap, F.lit(what)
