"""Columns that are added to the contents of a table: which ones a new choice or another mapping brings, and what is read for
them at the source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from redolake.values.lake_columns import with_lake_names
from redolake.values.mapping import TableMapping
from redolake.values.table import TableVersion, of_columns
from redolake.values.target_options import TargetOptions


@dataclass(frozen=True, slots=True)
class Joins:
    """The columns of the lake with these ids have other values by the wanted version: `new` ones are not there yet, `again`
    are computed in another way. `why_not` says why they alone cannot be read; empty where they can."""

    new: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    why_not: str = ""

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.new, *self.again)


def find_joins(has: TableVersion, wanted: TableVersion, options: TargetOptions) -> Joins:
    """Return the columns by which contents under `wanted` differ from those under `has`."""
    before, after = ({c.id: c.name for c in with_lake_names(one, options).columns} for one in (has, wanted))
    if gone := [name for number, name in before.items() if number not in after]:
        return Joins(why_not=f"pipelines.yml leaves out {', '.join(gone)}, which the table has")
    if renamed := [f"{name} the name {after[number]}" for number, name in before.items() if after[number] != name]:
        return Joins(why_not=f"pipelines.yml gives {', '.join(renamed)}")
    old, new = (TableMapping() if one.mapping is None else one.mapping.rows for one in (has, wanted))
    if old.where != new.where:
        return Joins(why_not="pipelines.yml has another filter (`where`), by which the table would have other rows")
    again = tuple(number for number in before if is_computed_otherwise(number, old, new))
    if key := [before[number] for number in again if number in wanted.key]:
        return Joins(why_not=f"pipelines.yml computes {', '.join(key)}, which is part of the key, in another way")
    return Joins(tuple(number for number in after if number not in before), again)


def is_computed_otherwise(column_id: int, old: TableMapping, new: TableMapping) -> bool:
    was, now = old.at(column_id), new.at(column_id)
    if was != now:
        return True
    if now is None:
        return False
    if now.means == "transform":
        return old.transform != new.transform
    return now.mask == "hash" and has_other_key(old, new)


def has_other_key(old: TableMapping, new: TableMapping) -> bool:
    """Return whether the masks of both are made with two keys."""
    checks = {one.secret.check for one in (old, new) if one.secret is not None and one.secret.check}
    return len(checks) > 1


def version_to_read(version: TableVersion, joins: Collection[int]) -> TableVersion:
    """Return the version with the columns that are read for the columns `joins` of the lake: theirs, those of the key, and
    those of Oracle that any of these, or the filter, is made of."""
    mapping, wanted = version.mapping, {*joins, *version.key}
    if mapping is None:
        return of_columns(version, wanted)
    computed = tuple(one for one in mapping.computed if one.id in wanted)
    by_code = any(one.means == "transform" for one in computed)
    own = replace(mapping, computed=computed, transform=mapping.transform if by_code else None)
    return replace(of_columns(version, {*wanted, *inputs_of(own)}), mapping=own)


def inputs_of(mapping: TableMapping) -> frozenset[int]:
    inputs = () if mapping.transform is None else (number for number, _ in mapping.transform.inputs)
    return mapping.needs | frozenset(inputs)


def names_of(version: TableVersion, ids: Collection[int]) -> tuple[str, ...]:
    """Return the names of columns: those in Oracle, and in the lake those that Oracle does not have."""
    added = () if version.mapping is None else version.mapping.added
    names = {c.id: c.name for c in version.columns} | {one.id: one.name for one in added}
    return tuple(names[number] for number in ids)
