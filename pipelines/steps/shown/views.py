"""Write the statements that make views of the captured tables in another engine, without deleted rows, as of now or an SCN: one
of each table, and those over several tables that pipelines.yml names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.apply.delta.log import DeltaLog, read_log
from pipelines.config import Pipeline
from pipelines.context import PipelineContext, open_to_read
from pipelines.errors import ConfigurationError, Finding, NotReadableAsOf
from pipelines.reconcile.quarantine import open_keys_of
from pipelines.steps.ranges.as_of import ReadPlan, plan_read, with_contents, with_wrong_keys
from pipelines.steps.ranges.shadows import choose
from pipelines.steps.shared.spark_session import spark_when_needed
from pipelines.steps.shown.union_views import Member, Union, columns_at, make_union
from pipelines.values.history_sql import versions_sql
from pipelines.values.table import TableId
from pipelines.values.target_options import DELETED
from pipelines.values.utc import beside

Engine = Literal["spark", "duckdb", "trino"]
COLUMN_ID, KEY_PLACE = "redolake.column_id", "redolake.key"  # in the metadata of Delta's fields (apply/delta/schema.py)


@dataclass(frozen=True, slots=True)
class ViewOf:
    """One table for a view: the folder of its Delta table, the version to read (None for the newest), whether deleted rows are
    only marked there."""

    table: TableId
    path: str
    version: int | None = None
    marks_deleted: bool = False


@dataclass(frozen=True, slots=True)
class HistoryOf:
    """The history of a table for a view: its folder, the columns of the table in it, and those of the key."""

    table: TableId
    path: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Views:
    """`text` are the statements. With `scn`, each view has the version of its table at that SCN."""

    engine: Engine
    text: str
    tables: tuple[str, ...]
    scn: int | None = None
    at: str | None = None


def write_views(
    pipeline: Pipeline, engine: Engine, moment: str | None = None, tables: Sequence[str] | None = None, *, spark: Any = None
) -> Views:
    """Return the statements for an engine, with comments that name gaps and keys whose rows are known to be wrong. With a
    moment, raise NotReadableAsOf for a table that has no version of its SCN."""
    plan = None if moment is None else plan_read(pipeline, moment, tables)
    with open_to_read(pipeline) as context:
        chosen = choose(context.pipeline, tables) if plan is None else list(plan.bases)
        views = [
            ViewOf(
                table,
                context.pipeline.target(table),
                None if plan is None else version_of(plan, table),
                context.pipeline.target_options(table).deletes == "mark",
            )
            for table in chosen
        ]
        unions = unions_of(context, chosen, plan)
        left_out = list(left_out_unions(context.pipeline, chosen))
        listed_now = list(open_keys(context, chosen))
    of = "as they are" if plan is None else f"AS OF SCN {plan.scn}{beside(plan.at, 'by ')}"
    head = f"-- Views of the tables of pipeline {pipeline.name}, {of}, for {NAMES[engine]}."
    caveats = listed_now if plan is None else caveats_of(pipeline, plan, spark)
    lines = [head, *left_out, *(f"-- {in_comment(caveat)}" for caveat in caveats), *STATEMENTS[engine](views, unions)]
    names = (*map(str, chosen), *(union.name for union in unions))
    return Views(engine, "\n".join(lines) + "\n", names, *(() if plan is None else (plan.scn, plan.at)))


def caveats_of(pipeline: Pipeline, plan: ReadPlan, spark: Any) -> list[str]:
    """Return what readers of the plan's tables have to know. Spark is opened only where a table has a quarantine."""
    from pipelines.job.as_of import quarantines_of, wrong_keys_in

    versions, tables = plan.versions, plan.tables
    if quarantines_of(versions):
        with spark_when_needed(pipeline, spark) as opened:
            tables = with_wrong_keys(tables, wrong_keys_in(opened.session(), versions, plan.scn))
    return [caveat for table in tables for caveat in table.caveats]


def open_keys(context: PipelineContext, tables: Sequence[TableId]) -> Iterator[str]:
    """Yield how many keys of each table are in quarantine, as far as the last batch or command knew."""
    for table in tables:
        if keys := open_keys_of(context, table):
            yield f"{table}: the rows of {keys} keys in quarantine are known to be wrong: redolake quarantine list {table}"


def unions_of(context: PipelineContext, chosen: Sequence[TableId], plan: ReadPlan | None) -> list[Union]:
    """Return the views over several tables of which all are chosen. Raises ConfigurationError for one that could not be made,
    NotReadableAsOf for a table without contents: a view would lack its rows."""
    pipeline, found = context.pipeline, list[Union]()
    for name, view in pipeline.union_views.items():
        values = view.values(table.id for table in pipeline.tables)
        if not set(values) <= set(chosen):
            continue
        own = next((table for table in chosen if view_name(table) == name), None)
        if own is not None:
            what = f"{own} has a view of that name itself"
            raise ConfigurationError([Finding(name, what, "give the view over several tables another name")])
        scns = {entry.table: int(entry.complete_to_scn or 0) for entry in with_contents(context, list(values))}
        if plan is not None:
            scns = {table: plan.bases[table].complete_to for table in values}
        members = [Member(table, value, columns_at(context, table, scns[table])) for table, value in values.items()]
        found.append(make_union(name, view, members))
    return found


def left_out_unions(pipeline: Pipeline, chosen: Sequence[TableId]) -> Iterator[str]:
    """Yield a comment for each view over several tables that is not made, as not all of them are chosen: the engine may have an
    older one."""
    for name, view in pipeline.union_views.items():
        lacking = [str(table) for table in view.values(one.id for one in pipeline.tables) if table not in chosen]
        if lacking:
            listed = in_comment(", ".join(lacking))
            yield f"-- {in_comment(name)} is not made, and one made before stays as it is: {listed} left out."


def in_comment(text: str) -> str:
    return " ".join(text.split())


def view_name(table: TableId) -> str:
    return f"{table.owner.lower()}.{table.name.lower()}"


def write_history_views(pipeline: Pipeline, engine: Engine, tables: Sequence[str] | None = None) -> Views:
    """Return the statements that make a view of the versions of rows from each history: OWNER.TABLE_versions. Raise
    ConfigurationError for a named table that has no history, or one that has not begun."""
    with open_to_read(pipeline) as context:
        chosen = choose(context.pipeline, tables)
        paths = {table: context.pipeline.history_target(table) for table in chosen}
        found = [history_of(table, path, context.pipeline.target(table)) for table, path in paths.items() if path is not None]
    histories = [one for one in found if one is not None]
    lacking = sorted({*map(str, chosen)} - {str(one.table) for one in histories})
    if lacking and (tables or not histories):
        cure = "set `history: changes` or `scd2`; a history begins with the next batch"
        raise ConfigurationError([Finding(", ".join(lacking), "has no history yet", cure)])
    head = f"-- Versions of rows, by the histories of pipeline {pipeline.name}, for {NAMES[engine]}."
    text = "\n".join([head, *history_statements(histories, engine)]) + "\n"
    return Views(engine, text, tuple(str(one.table) for one in histories))


def history_of(table: TableId, path: str, target: str) -> HistoryOf | None:
    """Return the columns and the key of a history, by its log and that of the table; None where it has not begun.

    An older epoch may have another key, or the key under another name. The columns of all of them name a row: each
    change has the row before and after it, so more columns than those of the key do no harm."""
    log, live = read_log(path), read_log(target)
    if log is None:
        return None
    fields = fields_with_ids(log)
    keys = {f["metadata"][COLUMN_ID] for one in (log, live) for f in fields_with_ids(one) if KEY_PLACE in f["metadata"]}
    key = tuple(field["name"] for field in fields if field["metadata"][COLUMN_ID] in keys)
    return HistoryOf(table, path, tuple(field["name"] for field in fields), key)


def fields_with_ids(log: DeltaLog | None) -> list[dict[str, Any]]:
    return [] if log is None else [field for field in log.schema()["fields"] if COLUMN_ID in field["metadata"]]


def history_statements(histories: Sequence[HistoryOf], engine: Engine) -> list[str]:
    quote, catalog = (in_backticks if engine == "spark" else in_quotes), "delta." if engine == "trino" else ""
    schemas = list(dict.fromkeys(one.table.owner.lower() for one in histories))
    lines = ["LOAD delta;"] if engine == "duckdb" else []
    lines += [f"CREATE SCHEMA IF NOT EXISTS {catalog}{quote(schema)};" for schema in schemas]
    for one in histories:
        owner, name = one.table.owner.lower(), one.table.name.lower()
        source = {
            "spark": f"delta.{in_backticks(one.path)}",
            "duckdb": f"delta_scan({in_text(one.path)})",
            "trino": f"delta.{in_quotes(owner)}.{in_quotes(f'{name}$history')}",
        }[engine]
        if engine == "trino":
            lines.append(
                f"CALL delta.system.register_table(schema_name => {in_text(owner)}, "
                f"table_name => {in_text(f'{name}$history')}, table_location => {in_text(one.path)});"
            )
        body = versions_sql(source, one.columns, one.key, quote)
        lines.append(f"CREATE OR REPLACE VIEW {catalog}{quote(owner)}.{quote(f'{name}_versions')} AS\n{body};")
    return lines


def version_of(plan: ReadPlan, table: TableId) -> int:
    base = plan.bases[table]
    if table in plan.copies:
        raise NotReadableAsOf(
            f"no version of its Delta table is of SCN {plan.scn}, and a view cannot apply changes",
            cure=f"choose SCN {base.complete_to}, the end of a batch, or use `redolake read --as-of {plan.scn}`",
            table=table,
        )
    return base.version


NAMES: Mapping[Engine, str] = {"spark": "Spark", "duckdb": "DuckDB", "trino": "Trino"}


def of_spark(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    def place(view: ViewOf) -> str:
        version = "" if view.version is None else f" VERSION AS OF {view.version}"
        return f"delta.{in_backticks(view.path)}{version}"

    return statements(views, unions, in_backticks, place, in_text_of_spark)


def of_duckdb(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    def place(view: ViewOf) -> str:
        version = "" if view.version is None else f", version = {view.version}"
        return f"delta_scan({in_text(view.path)}{version})"

    return ["LOAD delta;", *statements(views, unions, in_quotes, place, in_text)]


def of_trino(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    """Return the statements for the catalog `delta`, in which each table is registered under the name `<table>$delta`."""

    def place(view: ViewOf) -> str:
        version = "" if view.version is None else f" FOR VERSION AS OF {view.version}"
        owner, name = in_quotes(view.table.owner.lower()), in_quotes(f"{view.table.name.lower()}$delta")
        return f"delta.{owner}.{name}{version}"

    registered = [
        f"CALL delta.system.register_table(schema_name => {in_text(view.table.owner.lower())}, "
        f"table_name => {in_text(view.table.name.lower() + '$delta')}, table_location => {in_text(view.path)});"
        for view in views
    ]
    made = statements(views, unions, in_quotes, place, in_text, "delta.")
    schemas = len(owners(views, unions))
    return [*made[:schemas], *registered, *made[schemas:]]


STATEMENTS: Mapping[Engine, Callable[[Sequence[ViewOf], Sequence[Union]], list[str]]] = {
    "spark": of_spark,
    "duckdb": of_duckdb,
    "trino": of_trino,
}
Text = Callable[[str], str]


def statements(
    views: Sequence[ViewOf],
    unions: Sequence[Union],
    quote: Text,
    place: Callable[[ViewOf], str],
    text: Text,
    catalog: str = "",
) -> list[str]:
    schemas = [f"CREATE SCHEMA IF NOT EXISTS {catalog}{quote(owner)};" for owner in owners(views, unions)]
    by_table = {view.table: view for view in views}

    def view_of(view: ViewOf) -> str:
        owner, name = view.table.owner.lower(), view.table.name.lower()
        return f"{header(owner, name, quote, catalog)} AS SELECT * FROM {place(view)}{rows(view, quote)};"

    def over_several(union: Union) -> str:
        return f"{header(union.schema, union.view, quote, catalog)} AS {union_of(union, by_table, quote, place, text)};"

    return [*schemas, *map(view_of, views), *map(over_several, unions)]


def union_of(union: Union, views: Mapping[TableId, ViewOf], quote: Text, place: Callable[[ViewOf], str], text: Text) -> str:
    """Return the query of a view over several tables. A column that a table lacks is NULL in its rows."""
    selects = []
    for one in union.members:
        own = {column.name.lower(): column.name for column in one.columns}
        columns = [
            quote(name) if own.get(name.lower()) == name else f"{own_or_null(own.get(name.lower()), quote)} AS {quote(name)}"
            for name in union.columns
        ]
        listed = ", ".join([f"{text(one.value)} AS {quote(union.discriminator)}", *columns])
        selects.append(f"SELECT {listed} FROM {place(views[one.table])}{rows(views[one.table], quote)}")
    return "\nUNION ALL ".join(selects)


def own_or_null(name: str | None, quote: Text) -> str:
    return "NULL" if name is None else quote(name)


def header(owner: str, name: str, quote: Text, catalog: str) -> str:
    return f"CREATE OR REPLACE VIEW {catalog}{quote(owner)}.{quote(name)}"


def rows(view: ViewOf, quote: Text) -> str:
    return f" WHERE NOT {quote(DELETED)}" if view.marks_deleted else ""


def owners(views: Sequence[ViewOf], unions: Sequence[Union]) -> list[str]:
    names = (*(view.table.owner.lower() for view in views), *(union.schema for union in unions))
    return list(dict.fromkeys(names))


def in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def in_text_of_spark(text: str) -> str:
    """Return a text of Spark SQL, in which a backslash escapes and two quotes are the end of one text and another."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
