"""The columns of views over several tables: those of all of them by name, with one type each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redolake.config.union_views import UnionView
from redolake.context import Run
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import ConfigurationError, Finding
from redolake.reconcile.table_versions import rules, versions_of_time
from redolake.schema import version_as_of
from redolake.values.common_type import common_type
from redolake.values.lake_columns import with_lake_names
from redolake.values.lake_rules import LakeColumn
from redolake.values.own_columns import DELETED, OWN_COLUMNS
from redolake.values.table import ROWID_NAME, TableId


@dataclass(frozen=True, slots=True)
class Member:
    """A table of a view: what the discriminator is of its rows, and its columns in the lake."""

    table: TableId
    value: str
    columns: tuple[LakeColumn, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A view over several tables. `columns` are those of all, in the order of the first table that has each, and of a type that
    holds the values of each."""

    name: str
    discriminator: str
    members: tuple[Member, ...]
    columns: tuple[LakeColumn, ...]

    @property
    def schema(self) -> str:
        return self.name.partition(".")[0]

    @property
    def view(self) -> str:
        return self.name.partition(".")[2]


def columns_at(context: Run, table: TableId, scn: int) -> tuple[LakeColumn, ...]:
    """Return the columns of the table in the lake as of an SCN, but the one that marks deleted rows."""
    versions = versions_of_time(context.ledger.versions(table), scn + 1)
    version = version_as_of(versions, scn)
    types, options = rules(context, table, (version,)), context.pipeline.target_options(table)
    own = [LakeColumn(name, OWN_COLUMNS[name].type) for name in options.own_columns if name != DELETED]
    rowid = [LakeColumn(ROWID_NAME, "string")] if version.key_kind == "rowid" else []
    columns = with_lake_names(version, options).columns
    return (*(LakeColumn(c.name, spark_ddl_type(c.type, types.get(c.id))) for c in columns), *rowid, *own)


def make_union(name: str, view: UnionView, members: Sequence[Member]) -> Union:
    """Return the view. Raises ConfigurationError where its tables do not make one table."""
    if problems := list(find_problems(name, view, members)):
        raise ConfigurationError(problems)
    found = dict[str, LakeColumn]()
    for column in (column for one in members for column in one.columns):
        before = found.setdefault(column.name.lower(), column)
        type_ = common_type(before.type, column.type)
        assert type_ is not None, "find_problems names such a pair"
        found[column.name.lower()] = replace(before, type=type_)
    return Union(name, view.discriminator, tuple(members), tuple(found.values()))


def find_problems(name: str, view: UnionView, members: Sequence[Member]) -> Iterator[Finding]:
    if not members:
        yield Finding(name, f"no captured table matches {', '.join(view.tables)}", "correct `tables` of the view")
    types = dict[str, list[tuple[TableId, str]]]()
    by_value = dict[str, TableId]()
    for one in members:
        other = by_value.setdefault(one.value, one.table)
        if other != one.table:
            what = (
                f"{other} and {one.table} both have {one.value!r} in {view.discriminator}, so nobody could say whose a row is"
            )
            yield Finding(name, what, "write a `value` that differs, e.g. `{owner}.{table}`")
        for column in one.columns:
            if column.name.lower() == view.discriminator.lower():
                what = f"{one.table} has a column {column.name} itself"
                yield Finding(name, what, "give the `discriminator` another name")
            types.setdefault(column.name.lower(), []).append((one.table, column.type))
    for column_name, of_tables in types.items():
        if (pair := without_common(of_tables)) is not None:
            (table, type_), (other, of_other) = pair
            what = f"{column_name} is {type_} in {table} and {of_other} in {other}, and no type holds the values of all tables"
            cure = f"give both one type under `columns` of {table} or {other}, or one of them another name (`rename`)"
            yield Finding(name, what, cure)


def without_common(types: Sequence[tuple[TableId, str]]) -> tuple[tuple[TableId, str], tuple[TableId, str]] | None:
    """Return the first two tables whose types have no common one, else the widest and the one that is too much for all."""
    common = types[0][1]
    for number, (table, type_) in enumerate(types):
        for before in types[:number]:
            if common_type(before[1], type_) is None:
                return before, (table, type_)
        wider = common_type(common, type_)
        if wider is None:
            return types[0], (table, type_)
        common = wider
    return None
