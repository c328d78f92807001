"""Apply one table's committed changes with its DDL in plain Python: the reference for what Spark does range by range.

A row is a mapping of column ids to values. Changes are replayed one by one, and each must find exactly what its redo says was
there: the before image of an UPDATE or DELETE, and no row at the key of an INSERT. A shadow table begins without rows: the
first UPDATE of a row brings it, from redo that has all its columns.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.apply.commit_ranges import CommitRange, plan_commit_ranges
from redolake.decode.changes import decode_changes
from redolake.records.batches.spec import BatchSpec, ColumnChange, TableTask
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import Operation
from redolake.values.table import TableVersion
from tests.references.assemble_reference import DisposedRow, Row
from tests.references.source_comparison import plain

Values = dict[int, Any]
Rows = dict[Any, Values]  # by key


class Ambiguous(Exception):
    """A key moved in an index-organized table, in a transaction that took changes back."""


class Contradiction(AssertionError):
    """The redo of a change says something else than the table contains."""


def apply_ranges(
    spec: BatchSpec,
    task: TableTask,
    version: TableVersion,
    position: int,
    rows: Rows,
    defaults: Values,
    applied: Sequence[DisposedRow],
    undone: Container[str] = (),
) -> TableVersion:
    """Apply the changes of all ranges to `rows`, which have `version`, with the DDL between them. Return the last range's
    version. Transactions `undone` took changes back."""
    entering: Rows = {}  # at keys that another row has not left yet
    for commit_range in plan_commit_ranges(task, spec.scns, position):
        version = commit_range.version
        for step in commit_range.followed:
            follow(step, rows, defaults)
        mine = [c for c in applied if c.commit is not None and commit_range.start <= c.commit[0] < commit_range.end]
        defaulted = {*task.course.defaulted, *(i for i, value in defaults.items() if value is not None)}
        for change, of in zip(mine, decoded(spec, task, [c.row for c in mine]), strict=True):
            replay(
                change.row,
                *of,
                version,
                rows,
                defaults,
                defaulted,
                commit_range,
                task.destination.shadow_from is not None,
                entering,
            )
            if version.organization == "index" and change.row["xid"] in undone and is_moved(*of):
                raise Ambiguous
        if commit_range.whole is not None:
            take_whole(commit_range, rows)
    for step in task.destination.reshape:
        follow(step, rows, defaults)
        version = reshaped(version, step)
    return version


def take_whole(commit_range: CommitRange, rows: Rows) -> None:
    """End with the keys that were read again, and with the values of the filled columns."""
    assert commit_range.whole is not None
    version, read = commit_range.version, pq.read_table(commit_range.whole.path).to_pylist()
    numbers = {column.name for column in version.columns if column.type.name == "NUMBER"}
    names = [version.column(i).name for i in version.key]
    found = {tuple(plain(row[name], is_number=name in numbers) for name in names): row for row in read}
    gone, unknown = rows.keys() - found.keys(), found.keys() - rows.keys()
    if unknown or (gone and not commit_range.removes):
        raise Contradiction(f"read again: rows {unknown} that are not known, and without {gone}")
    for key in gone:
        del rows[key]
    for key, row in found.items():
        for i in commit_range.filled:
            name = version.column(i).name
            rows[key][i] = plain(row[name], is_number=name in numbers)


def reshaped(version: TableVersion, step: ColumnChange) -> TableVersion:
    """Return the version with the columns after a step."""
    if step.kind == "add_column":
        return replace(version, columns=(*version.columns, step.column))
    kept = [step.column if c.id == step.column.id else c for c in version.columns]
    return replace(version, columns=tuple(c for c in kept if step.kind != "drop_column" or c.id != step.column.id))


def follow(step: ColumnChange, rows: Rows, defaults: Values) -> None:
    number = step.column.id
    if step.kind == "truncate":
        rows.clear()
    elif step.kind == "add_column":
        shown: Any = step.default
        if shown is not None and step.column.type.name in ("DATE", "TIMESTAMP"):
            shown = datetime.fromisoformat(shown)
        if shown is not None and step.column.type.name == "RAW":
            shown = bytes.fromhex(shown)
        defaults[number] = shown
        for values in rows.values():
            values[number] = shown
    elif step.kind == "drop_column":
        for values in rows.values():
            del values[number]
    else:
        others = ("rename_column", "change_type", "renumber", "remove_rows", "fill_column", "comment", "comment_table")
        assert step.kind in others, step


def is_moved(row: Row, version: TableVersion) -> bool:
    is_update = row["operation_code"] == Operation.UPDATE
    return is_update and any(row[f"o{number}"] != row[f"n{number}"] for number in version.key)


def decoded(spec: BatchSpec, task: TableTask, rows: Sequence[Row]) -> list[tuple[Row, TableVersion]]:
    """Decode each row under the version of its SCN, in their order."""
    found: list[tuple[Row, TableVersion]] = []
    old = [row["scn"] for row in rows if row["scn"] < task.course.known_from]
    if old:
        raise Contradiction(f"the columns of the changes at {old} are not known: a DDL ran at {task.course.known_from}")
    for (version, names), part in groupby(rows, key=lambda row: (version_of(task, row), names_of(task, row))):
        mine = [{name: row.get(name) for name in LANDED_SCHEMA.names} for row in part]
        batch = pa.RecordBatch.from_pylist(mine, schema=LANDED_SCHEMA)
        read = decode_changes(batch, version, task.course.rules, names=names, encoding=spec.redo.encoding)
        found += [(row, version) for row in read.to_pylist()]
    return found


def version_of(task: TableTask, row: Row) -> TableVersion:
    return next((v for v in reversed(task.course.versions) if v.from_scn <= row["scn"]), task.course.versions[0])


def names_of(task: TableTask, row: Row) -> Mapping[str, int] | None:
    wanted = (row["window_start"], row["slice"], version_of(task, row).from_scn)
    return next((m.names for m in task.course.mined_names if (m.window, m.slice, m.version) == wanted), None)


def replay(
    raw: Row,
    row: Row,
    own: TableVersion,
    now: TableVersion,
    rows: Rows,
    defaults: Values,
    defaulted: Iterable[int],
    commit_range: CommitRange,
    is_shadow: bool,
    entering: Rows,
) -> None:
    """Apply one change, whose redo has the columns of the version `own`, to a table with those of `now`."""
    if row["error"] is not None or row["unknown"]:
        raise Contradiction(f"{row['error'] or row['unknown']}: {raw['sql_redo']} at {raw['scn']}, version {own.from_scn}")
    ids = [column.id for column in now.columns]
    there = [column.id for column in own.columns if column.id in ids]
    before, after = ({i: plain(row[f"{side}{i}"], is_number=False) for i in there} for side in "on")
    missing, assigned = set(row["missing"] or ()), set(row["assigned"] or ())
    if raw["operation_code"] == Operation.INSERT:
        key = key_of(after, now)
        if key in rows and not commit_range.removes:
            raise Contradiction(f"a row with key {key} is there already: {raw['sql_redo']}")
        computed = {column.id for column in now.columns if column.has_default and column.id not in after}
        if computed - commit_range.filled:
            raise Contradiction(f"only Oracle knows columns {computed} of the row: {raw['sql_redo']}")
        rows[key] = {i: after[i] if i in after else defaults.get(i) for i in ids}
        return
    key = key_of(before, now)
    old = rows.pop(key, None)
    if key in entering:
        rows[key] = entering.pop(key)
    if old is None and is_shadow:
        old = {i: before[i] if i in before else defaults.get(i) for i in ids}
    if old is None:
        raise Contradiction(f"no row has key {key}: {raw['sql_redo']}")
    for i in there:
        is_logged = i not in missing and i not in commit_range.filled and not (i in defaulted and before[i] is None)
        if is_logged and before[i] != old[i]:
            raise Contradiction(f"column {i} of {key} is {old[i]!r}, and the redo says {before[i]!r}: {raw['sql_redo']}")
    if raw["operation_code"] == Operation.UPDATE:
        new = {**old, **{i: after[i] for i in there if i in assigned}}
        here = entering if now.organization == "index" and key_of(new, now) in rows else rows
        here[key_of(new, now)] = new


def key_of(values: Mapping[int, Any], version: TableVersion) -> Any:
    return tuple(values[number] for number in version.key)
