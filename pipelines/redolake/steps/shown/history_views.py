"""Write the statements that make views of the versions of rows, from histories: OWNER.TABLE_versions of each table, and those
over several tables that pipelines.yml names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from redolake.apply.lake_tables import read_log
from redolake.apply.spark.lake_damage import log_damage
from redolake.apply.table_log import COLUMN_ID, KEY_PLACE, TableLog
from redolake.config import Pipeline
from redolake.context import Run, reader
from redolake.errors import ConfigurationError, Finding
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shown.union_views import Member, Union, make_union
from redolake.steps.shown.views import (
    AS_TEXT,
    CATALOGS,
    IN_PYTHON,
    NAMES,
    WITH_DELTA,
    Engine,
    Views,
    check_names,
    check_union_name,
    header,
    in_backticks,
    in_comment,
    in_quotes,
    in_text,
    in_text_of_spark,
    name_of_view,
    registration,
    renamed_views,
    schema_in,
    schemas_of,
    table_in,
    types_of,
    union_of,
)
from redolake.values.history_sql import OF_CHANGE, versions_sql
from redolake.values.lake_rules import LakeColumn
from redolake.values.table import TableId

VERSIONS = "_versions"
OF_VERSIONS = ("valid_from_scn", "valid_to_scn", "valid_from", "valid_to", "is_current", *OF_CHANGE)
SPARK_TYPES: Mapping[str, str] = {"integer": "int", "long": "bigint"}  # the others have one name in Delta and Spark SQL


@dataclass(frozen=True, slots=True)
class HistoryOf:
    """The history of a table for a view: its folder, the columns of the table in it, those of the key, and all types."""

    table: TableId
    path: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    types: tuple[str, ...] = ()

    @property
    def lake_columns(self) -> tuple[LakeColumn, ...]:
        return tuple(map(LakeColumn, self.columns, self.types))


@reader
def write_history_views(context: Run, engine: Engine, tables: Sequence[str] | None = None) -> Views:
    """Return the statements that make a view of the versions of rows from each history: OWNER.TABLE_versions. Raise
    ConfigurationError for a named table that has no history, or one that has not begun, for views of one name, and for an
    engine without SQL."""
    if engine in IN_PYTHON:
        raise ConfigurationError(
            [Finding(f"views for {NAMES[engine]}", "versions of rows are SQL", "name Spark, DuckDB or Trino")]
        )
    captured = [table.id for table in context.pipeline.tables]
    chosen = named_tables(context, tables)
    paths = {table: context.pipeline.history_target(table) for table in chosen}
    found = [history_of(table, path, context.pipeline.target(table)) for table, path in paths.items() if path is not None]
    histories = [one for one in found if one is not None]
    lacking = sorted({*map(str, chosen)} - {str(one.table) for one in histories})
    if lacking and (tables or not histories):
        cure = "set `history: changes` or `scd2`; a history begins with the next batch"
        raise ConfigurationError([Finding(", ".join(lacking), "has no history yet", cure)])
    own = [one.table for one in histories]
    check_names(engine, own, VERSIONS, captured)
    unions, left_out = history_unions(context.configured, engine, histories)
    left_out += renamed_views(engine, own, VERSIONS)
    head = f"-- Versions of rows, by the histories of pipeline {context.name}, for {NAMES[engine]}."
    text = "\n".join([head, *left_out, *history_statements(histories, engine, unions)]) + "\n"
    return Views(engine, text, (*(str(one.table) for one in histories), *(union.name for union in unions)))


def history_unions(pipeline: Pipeline, engine: Engine, histories: Sequence[HistoryOf]) -> tuple[list[Union], list[str]]:
    """Return the views over the versions of several tables, and comments about those of which a table has no history or was
    not named. Raises ConfigurationError for one that could not be made."""
    found, left_out, known = list[Union](), list[str](), {one.table: one for one in histories}
    for name, view in pipeline.union_views.items():
        values, versions = view.values(table.id for table in pipeline.tables), f"{name}{VERSIONS}"
        if lacking := [str(table) for table in values if table not in known]:
            listed = in_comment(", ".join(lacking))
            left_out.append(f"-- {in_comment(versions)} is not made: no history of {listed}, or left out.")
            continue
        check_union_name(engine, versions, list(known), VERSIONS)
        if versions in pipeline.union_views:
            what = f"is also the name of a view in `union_views`, which the versions of {name} would replace"
            raise ConfigurationError([Finding(versions, what, "give one of them another name")])
        if view.discriminator.lower() in OF_VERSIONS:
            what = f"each view of versions has a column {view.discriminator} itself"
            raise ConfigurationError([Finding(versions, what, "give the `discriminator` another name")])
        members = [Member(table, value, known[table].lake_columns) for table, value in values.items()]
        found.append(make_union(versions, view, members))
    return found, left_out


def history_of(table: TableId, path: str, target: str) -> HistoryOf | None:
    """Return the columns and the key of a history, by its log and that of the table; None where it has not begun.

    An older epoch may have another key, or the key under another name. The columns of all of them name a row: each
    change has the row before and after it, so more columns than those of the key do no harm."""
    from redolake.apply.epochs import damage_in

    log, live = read_log(path, damage_in(table, path)), read_log(target, partial(log_damage, table))
    if log is None:
        return None
    fields = fields_with_ids(log)
    keys = {f["metadata"][COLUMN_ID] for one in (log, live) for f in fields_with_ids(one) if KEY_PLACE in f["metadata"]}
    key = tuple(field["name"] for field in fields if field["metadata"][COLUMN_ID] in keys)
    types = tuple(SPARK_TYPES.get(str(field["type"]), str(field["type"])) for field in fields)
    return HistoryOf(table, path, tuple(field["name"] for field in fields), key, types)


def fields_with_ids(log: TableLog | None) -> list[Mapping[str, Any]]:
    return [] if log is None else [field for field in log.fields() if COLUMN_ID in field["metadata"]]


def history_statements(histories: Sequence[HistoryOf], engine: Engine, unions: Sequence[Union] = ()) -> list[str]:
    quote, catalog = (in_backticks if engine == "spark" else in_quotes), CATALOGS.get(engine, "")
    schemas = schemas_of(engine, [one.table for one in histories], unions)
    lines = [*WITH_DELTA] if engine == "duckdb" else [*AS_TEXT] if engine == "spark" else []
    lines += [f"CREATE SCHEMA IF NOT EXISTS {catalog}{quote(schema)};" for schema in schemas]
    for one in histories:
        owner, name = schema_in(engine, one.table), name_of_view(engine, one.table.name)
        named = one.path, owner, f"{name}$history"
        lines += [registration(*named)] if engine == "trino" else []
        body = versions_sql(table_in(engine, *named), one.columns, one.key, quote)
        lines.append(f"CREATE OR REPLACE VIEW {catalog}{quote(owner)}.{quote(f'{name}{VERSIONS}')} AS\n{body};")

    def versions_of(table: TableId) -> str:
        return f"{catalog}{quote(schema_in(engine, table))}.{quote(name_of_view(engine, table.name) + VERSIONS)}"

    text = in_text_of_spark if engine == "spark" else in_text
    for union in unions:
        query = union_of(union, versions_of, quote, text, types_of(engine), OF_VERSIONS)
        lines.append(f"{header(union.schema, union.view, quote, catalog)} AS {query};")
    return lines
