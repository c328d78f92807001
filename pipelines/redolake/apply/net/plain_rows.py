"""The net change of a few changes that this process has, where nothing is to be judged: each row keeps its key and its ROWID.

Its last change is then its net change, by whichever rule of net_change.py. All other changes are left to that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from redolake.apply.target import REMOVE, UPSERT
from redolake.values import frames
from redolake.values.redo import CHANGE_ORDER, CHANGES, Operation

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class NetRows:
    """`rows` are one for each key: `op`, k<id>, a<id>, and u<id> of the columns `missing`."""

    rows: pa.Table
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Decoded changes as lists: their order, operations, ROWIDs and keys, and of each the columns whose value the redo of an
    UPDATE does not contain."""

    order: list[tuple[Any, ...]]
    codes: list[int]
    row_ids: list[str]
    before: list[Key]
    after: list[Key]
    absent: list[frozenset[int]]

    def key(self, number: int) -> Key:
        return self.before[number] if self.codes[number] == Operation.DELETE else self.after[number]

    def moves(self, number: int) -> bool:
        return self.codes[number] == Operation.UPDATE and self.before[number] != self.after[number]

    @property
    def have_order(self) -> bool:
        return not any(None in place for place in self.order) and set(self.codes) <= set(CHANGES)


def net_rows(
    decoded: pa.RecordBatch, columns: Sequence[int], key: Sequence[int], defaulted: Collection[int], also: Sequence[str] = ()
) -> NetRows | None:
    """Return the net changes of decoded changes (decode.changes) without findings; None where net_change.py has to decide, as
    where a key changes, or is NULL, or a ROWID or a key comes twice. `columns` are those of the target, `defaulted` those of
    them whose default the redo may not contain, `also` more columns of the last change to keep."""
    changes = changes_of(decoded, columns, key, defaulted)
    by_key = rows_by_key(changes) if changes.have_order else None
    missing = tuple(i for i in columns if any(i in one for one in changes.absent))
    sources = None if by_key is None else [sources_of(changes, mine, missing) for mine in by_key.values()]
    if by_key is None or sources is None or None in sources:
        return None
    last = [mine[-1] for mine in by_key.values()]
    rows = rows_of(decoded, changes, last, [one for one in sources if one is not None], columns, key)
    kept = {name: decoded[name].take(pa.array(last, pa.int64())) for name in also}
    return NetRows(pa.table({**rows, **kept}), missing)


def changes_of(decoded: pa.RecordBatch, columns: Sequence[int], key: Sequence[int], defaulted: Collection[int]) -> Changes:
    def lists(names: Sequence[str]) -> list[tuple[Any, ...]]:
        return list(zip(*(decoded[name].to_pylist() for name in names), strict=True))

    outside = [i for i in columns if i not in key]
    may_default = [i for i in outside if i in defaulted]
    shown = lists([frames.redo_before(i) for i in may_default]) if may_default else [()] * len(decoded)
    codes = decoded["operation_code"].to_pylist()
    absent = [
        frozenset[int]() if code != Operation.UPDATE else absent_of(outside, missing, assigned, may_default, values)
        for code, missing, assigned, values in zip(
            codes, decoded["missing"].to_pylist(), decoded["assigned"].to_pylist(), shown, strict=True
        )
    ]
    return Changes(
        order=lists(CHANGE_ORDER),
        codes=codes,
        row_ids=decoded["row_id"].to_pylist(),
        before=lists([frames.redo_before(i) for i in key]),
        after=lists([frames.redo_after(i) for i in key]),
        absent=absent,
    )


def absent_of(
    outside: Sequence[int],
    missing: Sequence[int] | None,
    assigned: Sequence[int] | None,
    may_default: Sequence[int],
    shown: Sequence[Any],
) -> frozenset[int]:
    """Return which columns outside the key the redo of an UPDATE does not contain: `absent` of landed/decoded.py."""
    unshown = (i for i, value in zip(may_default, shown, strict=True) if value is None)
    return frozenset({*(missing or ()), *unshown} - {*(assigned or ())}).intersection(outside)


def rows_by_key(changes: Changes) -> Mapping[Key, list[int]] | None:
    """Return the numbers of each key's changes in their order; None unless each key has one ROWID, and each ROWID one key."""
    found, row_ids, keys = dict[Key, list[int]](), dict[Key, str](), dict[str, Key]()
    for number in sorted(range(len(changes.codes)), key=changes.order.__getitem__):
        key, row_id = changes.key(number), changes.row_ids[number]
        if None in key or changes.moves(number):
            return None
        if row_ids.setdefault(key, row_id) != row_id or keys.setdefault(row_id, key) != key:
            return None
        found.setdefault(key, []).append(number)
    return found


def sources_of(changes: Changes, mine: Sequence[int], missing: Sequence[int]) -> dict[int, int | None] | None:
    """Return for each column of `missing` the change that has its last value, of one row's changes; None for the target's. None
    in place of all where a change keeps a value of a row that is gone."""
    sources: dict[int, int | None] = dict.fromkeys(missing)
    is_gone = False
    for number in mine:
        absent = changes.absent[number]
        if is_gone and absent:
            return None
        is_gone = changes.codes[number] == Operation.DELETE
        sources.update((i, number) for i in missing if i not in absent)
    return sources


def rows_of(
    decoded: pa.RecordBatch,
    changes: Changes,
    last: Sequence[int],
    sources: Sequence[Mapping[int, int | None]],
    columns: Sequence[int],
    key: Sequence[int],
) -> dict[str, pa.Array]:
    removed = [changes.codes[number] == Operation.DELETE for number in last]

    def value(column_id: int) -> pa.Array:
        found = (one.get(column_id) for one in sources)
        taken = [number if source is None else source for source, number in zip(found, last, strict=True)]
        return decoded[frames.redo_after(column_id)].take(pa.array(taken, pa.int64()))

    def key_value(column_id: int) -> pa.Array:
        both = [decoded[kind(column_id)] for kind in (frames.redo_after, frames.redo_before)]
        at = [number + len(decoded) * is_removed for number, is_removed in zip(last, removed, strict=True)]
        return pa.concat_arrays(both).take(pa.array(at, pa.int64()))

    def is_unknown(column_id: int) -> pa.Array:
        flags = [one[column_id] is None and not is_removed for one, is_removed in zip(sources, removed, strict=True)]
        return pa.array(flags, pa.bool_())

    return {
        "op": pa.array([REMOVE if is_removed else UPSERT for is_removed in removed], pa.string()),
        **{frames.key(i): key_value(i) for i in key},
        **{frames.after(i): value(i) for i in columns},
        **{frames.unknown(i): is_unknown(i) for i in dict.fromkeys(i for one in sources for i in one)},
    }
