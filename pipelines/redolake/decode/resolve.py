"""Map the names in redo statements to the columns of one table version, and find the rows that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.forms import Clause, Form, Verb
from redolake.decode.messages import parse_messages
from redolake.decode.redo_sql import SWALLOWED, Assignments, Bools, Ints, ParsedRedo, parse_redo_sql
from redolake.values.table import TableId, TableVersion
from redolake.values.valid_text import may_have_marks

_UNRESOLVED = 2  # V$LOGMNR_CONTENTS.STATUS of a row for which LogMiner has no table definition: COL n and internal bytes
UNKNOWN, IGNORED = -1, -2  # instead of the index of a column
_COL_N = re.compile(r"COL ([0-9]+)")


class GuardState(IntEnum):
    """What an UPDATE says of the guard column."""

    ABSENT = 0
    SAME = 1  # as before: no column behind it was set for the first time
    CHANGED = 2


@dataclass(frozen=True, slots=True)
class ResolvedRedo:
    """`kind` is UNKNOWN for rows with an error and for undo rows. The assignments are those of the version's columns, in
    the order of columns; their `name` is twice the column's index in the version, plus 1 for internal bytes. `doubled` and
    `single_rows` are those of ParsedRedo. `guards` is what an UPDATE says of the guard column."""

    kind: Ints
    errors: dict[int, str]
    unknown: list[list[str] | None]
    values: pa.StringArray
    assignments: Assignments
    doubled: Ints
    single_rows: Ints
    guards: Ints
    may_have_marks: bool  # for bytes that are no characters; see valid_text.py

    def slices(self, columns: int) -> Iterator[tuple[int, int, int]]:
        """Yield for each column the bounds of its assignments: start, first with internal bytes, end."""
        bounds = np.searchsorted(self.assignments.name, np.arange(2 * columns + 1)).tolist()
        return zip(bounds[0:-1:2], bounds[1::2], bounds[2::2], strict=True)


def resolve(
    batch: pa.RecordBatch,
    version: TableVersion,
    names: Mapping[str, int] | None = None,
    as_text: Collection[int] = (),
    *,
    is_messages: bool = False,
) -> ResolvedRedo:
    """Parse and resolve a batch of statements, or of messages. `as_text` are the columns whose target type is text.

    `names` maps names to column ids where the dictionary at mining time has other names than the version.
    """
    is_undo = ints(batch, "rollback") == 1
    if is_messages:
        parsed, is_internal = parse_messages(batch.column("sql_redo"), version, names, as_text)
        index = columns_of(parsed.names, version, names)[0][parsed.assignments.name] if parsed.names else np.empty(0, np.int32)
    else:
        parsed = parse_redo_sql(batch.column("sql_redo"))
        index, is_internal = _column_indexes(parsed, version, names, ints(batch, "status") == _UNRESOLVED)
    errors = {row: text for row, text in enumerate(parsed.error.to_pylist()) if text is not None} if _any_error(parsed) else {}
    _check_rows(batch, parsed, is_undo, is_internal, errors)
    _check_tables(batch, parsed, is_undo, errors)
    if len(parsed.swallowing):
        _refuse_swallowed_columns(parsed, {column.name for column in version.columns} if names is None else set(names), errors)

    kind = np.where(is_undo, np.int32(Verb.UNKNOWN), parsed.kind)
    kind[list(errors)] = Verb.UNKNOWN
    is_read = kind[parsed.assignments.row] != Verb.UNKNOWN
    unknown = _unknown_names(parsed, np.flatnonzero(is_read & (index == UNKNOWN)))
    kept = np.flatnonzero(is_read & (index >= 0))
    key = (2 * index[kept] + is_internal[kept]).astype(np.int16)  # numbers of 16 bits are sorted in linear time
    order = np.argsort(key, kind="stable")
    by_column, given = kept[order], parsed.assignments
    assignments = Assignments(
        given.row[by_column],
        key[order].astype(np.int32),
        given.clause[by_column],
        given.form[by_column],
        without_empty(parsed.values, given.value[by_column]),
    )
    return ResolvedRedo(
        kind,
        errors,
        unknown,
        parsed.values,
        assignments,
        parsed.doubled,
        parsed.single_rows,
        guards_of(parsed, version),
        may_have_marks(parsed.values),
    )


def guards_of(parsed: ParsedRedo, version: TableVersion) -> Ints:
    """Return per row what an UPDATE says of the guard. NULL is never new: the first UPDATE of a column behind it sets a bit."""
    rows, given = len(parsed.kind), parsed.assignments
    guard = next((column for column in version.ignored if column.kind == "guard"), None)
    if guard is None or not parsed.names:
        return np.zeros(rows, np.int32)
    names = (name == f"COL {guard.segment_id}" or guard.is_called(name) for name in parsed.names)
    is_guard = np.fromiter(names, np.bool_, len(parsed.names))[given.name]

    def values_in(clause: Clause) -> tuple[Ints, pa.StringArray]:
        at = np.flatnonzero(is_guard & (given.clause == clause))
        index = np.full(rows, UNKNOWN, np.int32)
        index[given.row[at]] = np.where(given.form[at] == Form.NULL, IGNORED, given.value[at])
        return index, parsed.values.take(pa.array(index, mask=index < 0))

    (after, new), (before, old) = values_in(Clause.SET), values_in(Clause.WHERE)
    is_equal: Bools = pc.equal(new, old).fill_null(False).to_numpy(zero_copy_only=False)
    is_shown = before != UNKNOWN
    is_same = (after == IGNORED) | is_equal | (is_shown & (after == UNKNOWN))
    changed = np.where(is_shown & (after != UNKNOWN), GuardState.CHANGED, GuardState.ABSENT)
    found: Ints = np.where(is_same, GuardState.SAME, changed).astype(np.int32)
    return found


def without_empty(values: pa.StringArray, index: Ints) -> Ints:
    """Replace the indexes of empty texts by -1: Oracle's '' is NULL."""
    lengths = pc.binary_length(values).fill_null(1).to_numpy()
    return index if lengths.all() else np.where(lengths[index] == 0, np.int32(-1), index)


def _any_error(parsed: ParsedRedo) -> bool:
    return bool(parsed.error.null_count < len(parsed.error))


def ints(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    column: npt.NDArray[np.int64] = batch.column(name).cast(pa.int64()).fill_null(0).to_numpy()
    return column


def _column_indexes(
    parsed: ParsedRedo, version: TableVersion, names: Mapping[str, int] | None, unresolved: Bools
) -> tuple[Ints, Bools]:
    """Return for each assignment the index of its column in the version, UNKNOWN or IGNORED, and whether its name is COL n.

    n is the SEGMENT_COLUMN_ID. A table may have a column called "COL 1", so STATUS decides. Where LogMiner names the others,
    it may still show a stored column of Oracle's own as COL n.
    """
    given = parsed.assignments
    if not parsed.names:
        return np.empty(0, np.int32), np.empty(0, np.bool_)
    named, numbered, is_number = columns_of(parsed.names, version, names)
    is_internal = unresolved[given.row] & is_number[given.name]
    return np.where(is_internal, numbered[given.name], named[given.name]), is_internal


def ids_by_name(version: TableVersion, names: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return the id of each column by the name that redo has for it: the version's, unless `names` has others."""
    return {column.name: column.id for column in version.columns} if names is None else names


def columns_of(shown: Sequence[str], version: TableVersion, names: Mapping[str, int] | None) -> tuple[Ints, Ints, Bools]:
    """Return per name in redo the index of its column, that of the column whose number a COL n has, and whether it is COL n."""
    by_id = {column.id: index for index, column in enumerate(version.columns)}
    ids = ids_by_name(version, names)
    by_segment = {column.segment_id: index for index, column in enumerate(version.columns)}
    by_segment |= {column.segment_id: IGNORED for column in version.ignored if column.segment_id}
    numbers = [int(m[1]) if (m := _COL_N.fullmatch(name)) else None for name in shown]
    numbered = np.array([UNKNOWN if n is None else by_segment.get(n, UNKNOWN) for n in numbers], np.int32)

    def by_name(name: str, numbered: int) -> int:
        own = by_id.get(ids.get(name, -1), UNKNOWN)
        return IGNORED if own == UNKNOWN and (numbered == IGNORED or version.ignores(name)) else own

    named = np.array([by_name(*pair) for pair in zip(shown, numbered.tolist(), strict=True)], np.int32)
    return named, numbered, np.array([n is not None for n in numbers], np.bool_)


def _check_rows(batch: pa.RecordBatch, parsed: ParsedRedo, is_undo: Bools, is_internal: Bools, errors: dict[int, str]) -> None:
    status, code = ints(batch, "status"), ints(batch, "operation_code")
    is_read = (parsed.kind != Verb.UNKNOWN) & ~is_undo
    for row in np.flatnonzero(is_read & (parsed.kind != code)).tolist():
        errors.setdefault(row, f"operation code {code[row]}, but the text says {Verb(parsed.kind[row]).name}")

    rows = parsed.assignments.row
    named = np.bincount(rows[~is_internal], minlength=batch.num_rows) > 0
    numbered = np.bincount(rows[is_internal], minlength=batch.num_rows) > 0
    executable = (status == 0) | ((status == _UNRESOLVED) & numbered & ~named)
    for row in np.flatnonzero(is_read & ~executable).tolist():
        info = batch.column("info")[row].as_py()
        errors.setdefault(row, f"LogMiner gave it STATUS {status[row]}" + (f", {info}" if info else ""))


def _check_tables(batch: pa.RecordBatch, parsed: ParsedRedo, is_undo: Bools, errors: dict[int, str]) -> None:
    """Add an error for each statement of another table than the row's SEG_OWNER and TABLE_NAME.

    The object id decides whose row it is. After a RENAME, LogMiner shows both names as the dictionary has them now.
    """
    if not {"seg_owner", "table_name"} <= set(batch.schema.names):
        return
    is_read = (parsed.kind != Verb.UNKNOWN) & ~is_undo
    at = pa.array(parsed.table, mask=~is_read)
    differs = pa.nulls(batch.num_rows, pa.bool_())
    for column, part in (("seg_owner", "owner"), ("table_name", "name")):
        named = pa.array([getattr(table, part) for table in parsed.tables], pa.string()).take(at)
        differs = pc.or_kleene(differs, pc.not_equal(named, batch.column(column).cast(pa.string())))
    for row in np.flatnonzero(differs.fill_null(False).to_numpy(zero_copy_only=False)).tolist():
        shown = TableId(batch.column("seg_owner")[row].as_py() or "", batch.column("table_name")[row].as_py() or "")
        errors.setdefault(row, f"the statement is of {parsed.tables[parsed.table[row]]}, and the redo row of {shown}")


def _refuse_swallowed_columns(parsed: ParsedRedo, columns: set[str], errors: dict[int, str]) -> None:
    """Add an error for each value that has a second reading: it ends earlier, and is followed by another column.

    Some releases leave the quotes inside a value single. A column that the clause contains elsewhere cannot follow.
    """
    given = parsed.assignments
    for at in np.flatnonzero(np.isin(given.value, parsed.swallowing) & (given.clause != Clause.VALUES)).tolist():
        row = given.row[at]
        own = np.flatnonzero(given.row == row)
        others = {(int(given.clause[i]), parsed.names[given.name[i]]) for i in own.tolist()}
        found = re.findall(SWALLOWED, parsed.values[int(given.value[at])].as_py())
        may_follow = (", ", " where ") if given.clause[at] == Clause.SET else (" and ",)
        possible = [
            name
            for between, name in found
            if name in columns and (int(Clause.SET if between == ", " else Clause.WHERE), name) not in others
        ]
        if found[0][0] in may_follow and len(possible) == len(found):
            what = f"the text may be several values, up to column {possible[-1]}, if LogMiner left their quotes single"
            errors.setdefault(int(row), f"column {parsed.names[given.name[at]]}: {what}")


def _unknown_names(parsed: ParsedRedo, assignments: npt.NDArray[np.intp]) -> list[list[str] | None]:
    unknown: list[list[str] | None] = [None] * len(parsed.kind)
    for row, name in zip(parsed.assignments.row[assignments], parsed.assignments.name[assignments], strict=True):
        names = unknown[row] = unknown[row] or []
        if parsed.names[name] not in names:
            names.append(parsed.names[name])
    return unknown
