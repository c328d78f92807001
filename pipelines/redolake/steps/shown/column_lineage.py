"""Say which columns of Oracle the columns of the lake are made of, for those who show lineage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from redolake.context import Run, reader
from redolake.reconcile.table_versions import all_known_versions
from redolake.values.lake_columns import with_lake_names
from redolake.values.mapping import Computed
from redolake.values.table import TableVersion
from redolake.values.target_options import TargetOptions


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A column of the lake: the columns of Oracle that it is made of, and how, None for a column as it is."""

    name: str
    columns: tuple[str, ...]
    how: str | None = None
    masks: bool = False


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """The columns of a table of the lake. `filter` are the columns by which rows are left out."""

    table: str
    columns: tuple[ColumnOrigin, ...]
    filter: tuple[str, ...] = ()


@reader
def read_column_lineage(context: Run, tables: Collection[str]) -> tuple[TableOrigin, ...]:
    """Return the origin of the columns of these tables, as they are now."""
    known = all_known_versions(context)
    found = ((table.id, known[table.id][-1]) for table in context.pipeline.tables if table.id in known)
    return tuple(origin_of(version, context.pipeline.target_options(table)) for table, version in found if str(table) in tables)


def origin_of(version: TableVersion, options: TargetOptions) -> TableOrigin:
    mapping, names = version.mapping, {column.id: column.name for column in version.columns}
    computed = {} if mapping is None else {one.id: one for one in mapping.computed}
    columns = tuple(
        of_computed(computed[c.id], names) if c.id in computed else ColumnOrigin(c.name, (names[c.id],))
        for c in with_lake_names(version, options).columns
    )
    left_out = mapping.where.needs if mapping is not None and mapping.where is not None else ()
    return TableOrigin(str(version.table), columns, tuple(names[i] for i in left_out if i in names))


def of_computed(one: Computed, names: dict[int, str]) -> ColumnOrigin:
    how = f"mask: {one.mask}" if one.means == "mask" else one.text
    return ColumnOrigin(one.name, tuple(names[i] for i in one.needs if i in names), how, one.means == "mask")
