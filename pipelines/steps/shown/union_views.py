"""The columns of views over several tables: those of all of them by name, with one type each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.config.union_views import UnionView
from pipelines.context import PipelineContext
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.errors import ConfigurationError, Finding
from pipelines.reconcile.table_versions import rules, versions_of_time
from pipelines.schema import version_as_of
from pipelines.values.lake_columns import with_lake_names
from pipelines.values.table import ROWID_NAME, TableId
from pipelines.values.target_options import DELETED

OWN_TYPES: Mapping[str, str] = {"_commit_scn": "bigint", "_commit_time": "timestamp_ntz", "_redo_thread": "int"}


@dataclass(frozen=True, slots=True)
class LakeColumn:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Member:
    """A table of a view: what the discriminator is of its rows, and its columns in the lake."""

    table: TableId
    value: str
    columns: tuple[LakeColumn, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A view over several tables. `columns` are those of all, in the order of the first table that has each."""

    name: str
    discriminator: str
    members: tuple[Member, ...]
    columns: tuple[str, ...]

    @property
    def schema(self) -> str:
        return self.name.partition(".")[0]

    @property
    def view(self) -> str:
        return self.name.partition(".")[2]


def columns_at(context: PipelineContext, table: TableId, scn: int) -> tuple[LakeColumn, ...]:
    """Return the columns of the table in the lake as of an SCN, but the one that marks deleted rows."""
    versions = versions_of_time(context.ledger.versions(table), scn + 1)
    version = version_as_of(versions, scn)
    types, options = rules(context, table, (version,)), context.pipeline.target_options(table)
    own = [LakeColumn(name, OWN_TYPES.get(name, "string")) for name in options.own_columns if name != DELETED]
    rowid = [LakeColumn(ROWID_NAME, "string")] if version.key_kind == "rowid" else []
    columns = with_lake_names(version, options).columns
    return (*(LakeColumn(c.name, spark_ddl_type(c.type, types.get(c.id))) for c in columns), *rowid, *own)


def make_union(name: str, view: UnionView, members: Sequence[Member]) -> Union:
    """Return the view. Raises ConfigurationError where its tables do not make one table."""
    if problems := list(find_problems(name, view, members)):
        raise ConfigurationError(problems)
    names = {c.name.lower(): c.name for one in reversed(members) for c in one.columns}
    order = dict.fromkeys(c.name.lower() for one in members for c in one.columns)
    return Union(name, view.discriminator, tuple(members), tuple(names[lower] for lower in order))


def find_problems(name: str, view: UnionView, members: Sequence[Member]) -> Iterator[Finding]:
    if not members:
        yield Finding(name, f"no captured table matches {', '.join(view.tables)}", "correct `tables` of the view")
    first = dict[str, tuple[TableId, str]]()
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
            table, type_ = first.setdefault(column.name.lower(), (one.table, column.type))
            if type_ != column.type:
                what = f"{column.name} is {type_} in {table} and {column.type} in {one.table}"
                yield Finding(name, what, f"give both one type under `columns` of {table} or {one.table}, or one of them "
                              "another name (`rename`)")  # fmt: skip
