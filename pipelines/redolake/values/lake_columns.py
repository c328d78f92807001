"""A table version with the columns of the lake: their names there, the types of computed ones, and those that Oracle lacks."""

from __future__ import annotations

from dataclasses import replace

from redolake.values.table import Column, TableVersion, lake_type
from redolake.values.target_options import TargetOptions


def with_lake_names(version: TableVersion, options: TargetOptions) -> TableVersion:
    """Return the version with the columns of the lake, by their names there; redo and dictionary have Oracle's."""
    mapping = version.mapping
    columns = tuple(lake_column(c, version, options) for c in version.columns)
    if mapping is None:
        return replace(version, columns=columns)
    columns += tuple(Column(one.id, one.name, lake_type(one.type), 0) for one in mapping.added)
    places = {name: place for place, name in enumerate(mapping.order)}
    return replace(version, columns=tuple(sorted(columns, key=lambda c: places.get(c.name, len(places)))))


def lake_column(column: Column, version: TableVersion, options: TargetOptions) -> Column:
    """Return a column of Oracle as the lake has it."""
    if version.mapping is None:
        return replace(column, name=options.name(column.name))
    computed, name = version.mapping.at(column.id), version.mapping.name(column.id) or options.name(column.name)
    return replace(column, name=name, type=column.type if computed is None else lake_type(computed.type))


def comments_of(version: TableVersion) -> dict[int, str]:
    """Return the comments that the configuration gives columns."""
    if version.mapping is None:
        return {}
    return {**dict(version.mapping.comments), **{one.id: one.comment for one in version.mapping.computed if one.comment}}
