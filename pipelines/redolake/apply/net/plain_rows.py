"""The net change of a few changes that this process has, where nothing is to be judged: rows keep their keys, and each key has
changes of one ROWID alone.

Its last change is then its net change, by whichever rule of net_change.py. All other changes are left to that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from redolake.apply.target import REMOVE, UPSERT
from redolake.values import frames
from redolake.values.redo import CHANGE_ORDER, CHANGES, Operation

Key = tuple[Any, ...]
Sources = Mapping[int, int | None]  # by column id: the number of the change that has the value, None for the target's
NO_COLUMNS = frozenset[int]()


@dataclass(frozen=True, slots=True)
class NetRows:
    """`rows` are one for each key: `op`, k<id>, a<id>, and u<id> of the columns `missing`."""

    rows: pa.Table
    missing: tuple[int, ...]


def net_rows(
    decoded: pa.RecordBatch, columns: Sequence[int], key: Sequence[int], defaulted: Collection[int], also: Sequence[str] = ()
) -> NetRows | None:
    """Return the net changes of decoded changes (decode.changes) without findings; None where net_change.py has to decide, as
    where a key changes, or is NULL, or has two ROWIDs. `columns` are those of the target, `defaulted` those of
    them whose default the redo may not contain, `also` more columns of the last change to keep."""
    if any(decoded[name].null_count for name in CHANGE_ORDER) or not set(decoded["operation_code"].to_pylist()) <= set(CHANGES):
        return None
    changes = in_order(decoded)
    keys = keys_of(changes, key)
    by_key = None if keys is None else rows_by_key(keys, changes["row_id"].to_pylist())
    absent = absent_columns(changes, [i for i in columns if i not in key], defaulted)
    missing = tuple(i for i in columns if any(i in one for one in absent))
    sources = None if by_key is None else last_sources(changes, by_key.values(), absent, missing)
    if keys is None or by_key is None or sources is None:
        return None
    last = pa.array([mine[-1] for mine in by_key.values()], pa.int64())
    removed = pc.equal(changes["operation_code"].take(last), int(Operation.DELETE))

    def value(column_id: int) -> pa.Array:
        values, taken = changes[frames.redo_after(column_id)], last
        if column_id in missing:
            found = [one[column_id] for one in sources]
            taken = pc.coalesce(pa.array(found, pa.int64()), last)
        return values.take(taken)

    def is_unknown(column_id: int) -> pa.Array:
        return pc.and_not(pa.array([one[column_id] is None for one in sources], pa.bool_()), removed)

    rows = {
        "op": pc.if_else(removed, REMOVE, UPSERT),
        **{frames.key(i): values.take(last) for i, values in zip(key, keys, strict=True)},
        **{frames.after(i): value(i) for i in columns},
        **{frames.unknown(i): is_unknown(i) for i in missing},
        **{name: changes[name].take(last) for name in also},
    }
    return NetRows(pa.table(rows), missing)


def in_order(decoded: pa.RecordBatch) -> pa.RecordBatch:
    return decoded.take(pc.sort_indices(decoded.select(CHANGE_ORDER), [(name, "ascending") for name in CHANGE_ORDER]))


def keys_of(changes: pa.RecordBatch, key: Sequence[int]) -> list[pa.Array] | None:
    """Return the key that each change is about; None where one is NULL, or where an UPDATE changes it."""
    codes, found = changes["operation_code"], list[pa.Array]()
    is_update, is_delete = pc.equal(codes, int(Operation.UPDATE)), pc.equal(codes, int(Operation.DELETE))
    for column_id in key:
        before, after = changes[frames.redo_before(column_id)], changes[frames.redo_after(column_id)]
        stays = pc.or_(pc.invert(is_update), pc.fill_null(pc.equal(before, after), fill_value=False))
        found.append(pc.if_else(is_delete, before, after))
        if found[-1].null_count or not pc.all(stays, min_count=0).as_py():
            return None
    return found


def rows_by_key(keys: Sequence[pa.Array], row_ids: Sequence[str]) -> Mapping[Key, list[int]] | None:
    """Return the numbers of each key's changes, in their order; None unless each key has one ROWID."""
    found, owners = dict[Key, list[int]](), dict[Key, str]()
    for number, (row_id, *values) in enumerate(zip(row_ids, *(one.to_pylist() for one in keys), strict=True)):
        key = tuple(values)
        if owners.setdefault(key, row_id) != row_id:
            return None
        found.setdefault(key, []).append(number)
    return found


def absent_columns(changes: pa.RecordBatch, outside: Sequence[int], defaulted: Collection[int]) -> list[frozenset[int]]:
    """Return for each change the columns of `outside` whose value the redo of an UPDATE does not contain: `absent` of
    landed/decoded.py. NULL may stand for a default."""
    may_default = [i for i in outside if i in defaulted]
    if changes["missing"].null_count == len(changes) and not may_default:
        return [NO_COLUMNS] * len(changes)
    shown = zip(*(changes[frames.redo_before(i)].to_pylist() for i in may_default), strict=True)
    lists = (changes[name].to_pylist() for name in ("operation_code", "missing", "assigned"))
    rows = zip(*lists, shown if may_default else [()] * len(changes), strict=True)

    def absent(
        code: int, missing: Sequence[int] | None, assigned: Sequence[int] | None, values: Sequence[Any]
    ) -> frozenset[int]:
        unshown = (i for i, value in zip(may_default, values, strict=True) if value is None)
        found = frozenset({*(missing or ()), *unshown} - {*(assigned or ())})
        return found.intersection(outside) if code == Operation.UPDATE else NO_COLUMNS

    return [absent(*row) for row in rows]


def last_sources(
    changes: pa.RecordBatch, keys: Collection[Sequence[int]], absent: Sequence[frozenset[int]], missing: Sequence[int]
) -> list[Sources] | None:
    """Return for each key which change has the last value of each column in `missing`. None in place of all where a change
    keeps a value of a row that is gone."""
    if not missing:
        return [{}] * len(keys)
    codes, found = changes["operation_code"].to_pylist(), list[Sources]()
    for mine in keys:
        sources: dict[int, int | None] = dict.fromkeys(missing)
        for before, number in zip((None, *mine), mine, strict=False):
            if absent[number] and before is not None and codes[before] == Operation.DELETE:
                return None
            sources.update((i, number) for i in missing if i not in absent[number])
        found.append(sources)
    return found
