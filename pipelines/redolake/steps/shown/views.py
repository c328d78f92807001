"""Write the statements that make views of the captured tables in another engine, without deleted rows, as of now or an SCN: one
of each table, and those over several tables that pipelines.yml names. For a library of Python they are lines of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from redolake.apply.spark.quoting import text_literal
from redolake.config import Pipeline
from redolake.context import Run, step
from redolake.errors import ConfigurationError, Finding, NotReadableAsOf, one_line
from redolake.host.spark_settings import AS_WRITTEN
from redolake.reconcile.quarantine import open_keys_of
from redolake.steps.ranges.as_of import ReadPlan, plan_read, with_contents, with_wrong_keys
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shown.union_views import Member, Union, columns_at, make_union
from redolake.values.common_type import name_in
from redolake.values.lake_rules import LakeColumn
from redolake.values.own_columns import DELETED
from redolake.values.table import TableId
from redolake.values.utc import beside

Engine = Literal["spark", "duckdb", "trino", "delta-rs", "polars", "pandas"]
IN_PYTHON = ("delta-rs", "polars", "pandas")


@dataclass(frozen=True, slots=True)
class ViewOf:
    """One table for a view: the folder of its Delta table, the version to read (None for the newest), whether deleted rows are
    only marked there."""

    table: TableId
    path: str
    version: int | None = None
    marks_deleted: bool = False

    @property
    def named(self) -> tuple[str, str, str]:
        """Its folder, and the names under which Trino knows it."""
        return self.path, self.table.owner.lower(), f"{self.table.name.lower()}$delta"


@dataclass(frozen=True, slots=True)
class Views:
    """`text` are the statements. With `scn`, each view has the version of its table at that SCN."""

    engine: Engine
    text: str
    tables: tuple[str, ...]
    scn: int | None = None
    at: str | None = None


@step
def write_views(context: Run, engine: Engine, moment: str | None = None, tables: Sequence[str] | None = None) -> Views:
    """Return the statements for an engine, with comments that name gaps, keys whose rows are known to be wrong, and tables
    that are left out, as they have no contents yet.

    Raises NotReadableAsOf for a named table without contents, and where no table has any: a pattern may not have matched yet.
    With a moment, also for a table that has no version of its SCN."""
    plan = None if moment is None else plan_read(context, moment, tables)
    asked = named_tables(context, tables) if plan is None else [one.table for one in plan.versions]
    chosen = [table for table in asked if tables or has_contents(context, table)]
    with_contents(context, chosen)
    if not chosen:
        raise NotReadableAsOf(
            "no table has contents yet, and patterns are matched by the first plan",
            cure=f"`redolake run -p {context.name}`, which plans and loads the tables, then this again",
        )
    check_names(engine, chosen)
    views = [
        ViewOf(
            table,
            context.pipeline.target(table),
            None if plan is None else version_of(plan, table),
            context.pipeline.target_options(table).deletes == "mark",
        )
        for table in chosen
    ]
    unions = [] if engine in IN_PYTHON else unions_of(context, engine, chosen, plan)
    left_out = [f"-- {in_comment(str(one))} is left out: it has no contents yet." for one in asked if one not in chosen]
    left_out += [*renamed_views(engine, chosen), *left_out_unions(context.pipeline, chosen, engine)]
    listed_now = list(open_keys(context, chosen))
    of = "as they are" if plan is None else f"AS OF SCN {plan.scn}{beside(plan.at, 'by ')}"
    head = f"-- Views of the tables of pipeline {context.name}, {of}, for {NAMES[engine]}."
    caveats = listed_now if plan is None else caveats_of(context, plan)
    comments = [head, *left_out, *(f"-- {in_comment(caveat)}" for caveat in caveats)]
    if engine in IN_PYTHON:
        comments = [f"#{comment.removeprefix('--')}" for comment in comments]
    lines = [*comments, *STATEMENTS[engine](views, unions)]
    names = (*map(str, chosen), *(union.name for union in unions))
    return Views(engine, "\n".join(lines) + "\n", names, *(() if plan is None else (plan.scn, plan.at)))


def caveats_of(context: Run, plan: ReadPlan) -> list[str]:
    """Return what readers of the plan's tables have to know. Spark is opened only where a table has a quarantine."""
    from redolake.job.as_of import quarantines_of, wrong_keys_in

    versions, tables = plan.versions, plan.tables
    if quarantines_of(versions):
        tables = with_wrong_keys(tables, wrong_keys_in(context.spark.session(), versions, plan.scn))
    return [caveat for table in tables for caveat in table.caveats]


def open_keys(context: Run, tables: Sequence[TableId]) -> Iterator[str]:
    """Yield how many keys of each table are in quarantine, as far as the last batch or command knew."""
    for table in tables:
        if keys := open_keys_of(context, table):
            what = f"the rows of {keys} keys in quarantine are known to be wrong"
            yield f"{table}: {what}: `redolake quarantine list {table.in_command}`"


def has_contents(context: Run, table: TableId) -> bool:
    entry = context.ledger.table(table)
    return entry is not None and entry.complete_to_scn is not None


def unions_of(context: Run, engine: Engine, chosen: Sequence[TableId], plan: ReadPlan | None) -> list[Union]:
    """Return the views over several tables of which all are chosen. Raises ConfigurationError for one that could not be made,
    NotReadableAsOf for a table without contents: a view would lack its rows."""
    pipeline, found = context.pipeline, list[Union]()
    for name, view in pipeline.union_views.items():
        values = view.values(table.id for table in pipeline.tables)
        if not set(values) <= set(chosen):
            continue
        check_union_name(engine, name, chosen)
        scns = {entry.table: int(entry.complete_to_scn or 0) for entry in with_contents(context, list(values))}
        if plan is not None:
            scns = {table: plan.version_of(table).complete_to for table in values}
        members = [Member(table, value, columns_at(context, table, scns[table])) for table, value in values.items()]
        found.append(make_union(name, view, members))
    return found


def check_union_name(engine: Engine, name: str, tables: Sequence[TableId], suffix: str = "") -> None:
    """Raise ConfigurationError where the view of a table has the name already, or where the engine takes none in its schema."""
    own = next((table for table in tables if view_name(engine, table, suffix) == name), None)
    what = None if own is None else f"{own} has a view of that name itself"
    if name.partition(".")[0] in NO_SCHEMA.get(engine, ()):
        what = f"{NAMES[engine]} takes no view in that schema"
    if what is not None:
        raise ConfigurationError([Finding(name, what, "give the view over several tables another name")])


def left_out_unions(pipeline: Pipeline, chosen: Sequence[TableId], engine: Engine) -> Iterator[str]:
    """Yield a comment for each view over several tables that is not made, as not all of them are chosen (the engine may have an
    older one), or as it is SQL."""
    for name, view in pipeline.union_views.items():
        if engine in IN_PYTHON:
            yield f"-- {in_comment(name)} is not made: a view over several tables is SQL, for Spark, DuckDB or Trino."
            continue
        lacking = [str(table) for table in view.values(one.id for one in pipeline.tables) if table not in chosen]
        if lacking:
            listed = in_comment(", ".join(lacking))
            yield f"-- {in_comment(name)} is not made, and one made before stays as it is: {listed} left out."


def in_comment(text: str) -> str:
    return one_line(text)


# Spark takes no other name of a schema or view, however it is quoted, and `spark-sql -f` ends at the first that is refused.
# Of Python's letters these are the ones that it does not take for another.
NO_PART_OF_A_NAME = re.compile(r"[^a-z0-9_]")
# Schemas that an engine keeps for itself, or takes for one of its catalogs.
NO_SCHEMA: Mapping[Engine, tuple[str, ...]] = {
    "spark": ("global_temp", "spark_catalog"),
    "duckdb": ("temp", "system", "memory", "pg_catalog", "information_schema"),
    "trino": ("information_schema",),
}


def schema_in(engine: Engine, table: TableId) -> str:
    schema = name_of_view(engine, table.owner)
    return f"{schema}_" if schema in NO_SCHEMA.get(engine, ()) else schema


def name_of_view(engine: Engine, name: str) -> str:
    """Return the name in lower case. For Spark and Python, other characters than letters, digits and _ are their numbers:
    `a$b` is `a_x24_b`."""
    lower = name.lower()
    if engine in ("duckdb", "trino"):
        return lower
    return NO_PART_OF_A_NAME.sub(lambda found: f"_x{ord(found[0]):x}_", lower)


def view_name(engine: Engine, table: TableId, suffix: str = "") -> str:
    if engine in IN_PYTHON:
        name = f"{name_of_view(engine, table.owner)}_{name_of_view(engine, table.name)}"
        return f"_{name}" if name[0].isdigit() else name
    return f"{schema_in(engine, table)}.{name_of_view(engine, table.name)}{suffix}"


def renamed_views(engine: Engine, tables: Sequence[TableId], suffix: str = "") -> Iterator[str]:
    """Yield a comment for each view whose name is not that of its table in lower case."""
    point, who = ("_", "Python") if engine in IN_PYTHON else (".", NAMES[engine])
    for table in tables:
        if (name := view_name(engine, table, suffix)) != f"{table.owner}{point}{table.name}{suffix}".lower():
            yield f"-- The view of {in_comment(str(table))} is {name}: {who} takes no such name."


def check_names(engine: Engine, tables: Sequence[TableId], suffix: str = "", beside: Sequence[TableId] = ()) -> None:
    """Raise ConfigurationError for tables whose views would have one name, or that of a table `beside` has: the last one would
    replace the others."""
    taken, found = {view_name(engine, table): table for table in beside}, list[Finding]()
    if engine == "trino":  # what each table is registered as, below the view
        taken |= {f"{view_name(engine, table)}$delta": table for table in tables}
    for table in tables:
        name = view_name(engine, table, suffix)
        if (other := taken.setdefault(name, table)) != table:
            what = f"its view and that of {other} would both be {name}"
            found.append(Finding(str(table), what, "name the tables of which views are wanted, with one of the two"))
    if found:
        raise ConfigurationError(found)


def version_of(plan: ReadPlan, table: TableId) -> int:
    one = plan.version_of(table)
    if one.copy is not None:
        raise NotReadableAsOf(
            f"no version of its Delta table is of SCN {plan.scn}, and a view cannot apply changes",
            cure=f"choose SCN {one.complete_to}, the end of a batch, or use `redolake read --as-of {plan.scn}`",
            table=table,
        )
    return one.version


NAMES: Mapping[Engine, str] = {
    "spark": "Spark",
    "duckdb": "DuckDB",
    "trino": "Trino",
    "delta-rs": "delta-rs",
    "polars": "Polars",
    "pandas": "pandas",
}


# A name that contains ${..} cannot be escaped, and spark-sql would read variables and the environment in its place.
AS_TEXT = [f"SET {key}={value};" for key, value in AS_WRITTEN.items()]


# INSTALL downloads the extension once; where it is there, it does nothing.
WITH_DELTA = ["INSTALL delta;", "LOAD delta;"]
CATALOGS: Mapping[Engine, str] = {"trino": "delta."}  # in front of each name


def table_in(engine: Engine, path: str, owner: str, name: str, version: int | None = None) -> str:
    """Return a table of the lake as the engine's SQL names it: by its path, or for Trino as `registration` has named it."""
    if engine == "spark":
        return f"delta.{in_backticks(path)}" + ("" if version is None else f" VERSION AS OF {version}")
    if engine == "duckdb":
        return f"delta_scan({in_text(path)}" + (")" if version is None else f", version = {version})")
    return f"delta.{in_quotes(owner)}.{in_quotes(name)}" + ("" if version is None else f" FOR VERSION AS OF {version}")


def registration(path: str, owner: str, name: str) -> str:
    """Return the statement by which Trino knows a table in the catalog `delta`."""
    return (
        f"CALL delta.system.register_table(schema_name => {in_text(owner)}, table_name => {in_text(name)}, "
        f"table_location => {in_text(path)});"
    )


def of_spark(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    return [*AS_TEXT, *statements("spark", views, unions, in_backticks, in_text_of_spark)]


def of_duckdb(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    return [*WITH_DELTA, *statements("duckdb", views, unions, in_quotes, in_text)]


def of_trino(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    """Return the statements for the catalog `delta`, in which each table is registered under the name `<table>$delta`."""

    registered = [registration(*view.named) for view in views]
    made = statements("trino", views, unions, in_quotes, in_text)
    schemas = len(schemas_of("trino", [view.table for view in views], unions))
    return [*made[:schemas], *registered, *made[schemas:]]


def of_delta_rs(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    """Return lines that make `lake`, whose `execute` answers SQL over the views."""
    lines = ["from deltalake import DeltaTable, QueryBuilder", "", "lake = QueryBuilder()"]
    for view in views:
        name = view_name("delta-rs", view.table)
        table = f"{name}$delta" if view.marks_deleted else name  # no view has a name with $
        lines.append(f'lake.register("{table}", {delta_table(view)})')
        if view.marks_deleted:
            query = f"SELECT * FROM {in_quotes(table)}{rows(view, in_quotes)}"
            lines.append(f"_ = lake.execute('CREATE VIEW {name} AS {query}')")
    return lines


def of_polars(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    def frame(view: ViewOf) -> str:
        live = f'.filter(~pl.col("{DELETED}"))' if view.marks_deleted else ""
        return f"{view_name('polars', view.table)} = pl.scan_delta({arguments(view)}){live}"

    return ["import polars as pl", "", *map(frame, views)]


def of_pandas(views: Sequence[ViewOf], unions: Sequence[Union] = ()) -> list[str]:
    """Return lines whose frames have Arrow's types: pandas' own make doubles of whole numbers beside NULL."""

    def frame(view: ViewOf) -> str:
        live = f'[lambda rows: ~rows["{DELETED}"]]' if view.marks_deleted else ""
        return f"{view_name('pandas', view.table)} = {delta_table(view)}.to_pandas(types_mapper=pandas.ArrowDtype){live}"

    return ["import pandas", "from deltalake import DeltaTable", "", *map(frame, views)]


def delta_table(view: ViewOf) -> str:
    return f"DeltaTable({arguments(view)})"


def arguments(view: ViewOf) -> str:
    """Return the path as a literal of Python, as JSON writes it, and the version."""
    return json.dumps(view.path, ensure_ascii=False) + ("" if view.version is None else f", version={view.version}")


STATEMENTS: Mapping[Engine, Callable[[Sequence[ViewOf], Sequence[Union]], list[str]]] = {
    "spark": of_spark,
    "duckdb": of_duckdb,
    "trino": of_trino,
    "delta-rs": of_delta_rs,
    "polars": of_polars,
    "pandas": of_pandas,
}
Text = Callable[[str], str]


def types_of(engine: Engine) -> Text:
    return lambda type_: name_in(engine, type_)


def statements(
    engine: Engine,
    views: Sequence[ViewOf],
    unions: Sequence[Union],
    quote: Text,
    text: Text,
) -> list[str]:
    catalog = CATALOGS.get(engine, "")
    needed = schemas_of(engine, [view.table for view in views], unions)
    schemas = [f"CREATE SCHEMA IF NOT EXISTS {catalog}{quote(schema)};" for schema in needed]
    by_table = {view.table: view for view in views}

    def place(view: ViewOf) -> str:
        return table_in(engine, *view.named, view.version)

    def view_of(view: ViewOf) -> str:
        owner, name = schema_in(engine, view.table), name_of_view(engine, view.table.name)
        return f"{header(owner, name, quote, catalog)} AS SELECT * FROM {place(view)}{rows(view, quote)};"

    def query(union: Union) -> str:
        def source(table: TableId) -> str:
            return f"{place(by_table[table])}{rows(by_table[table], quote)}"

        return union_of(union, source, quote, text, types_of(engine))

    def over_several(union: Union) -> str:
        return f"{header(union.schema, union.view, quote, catalog)} AS {query(union)};"

    return [*schemas, *map(view_of, views), *map(over_several, unions)]


def union_of(
    union: Union, source: Callable[[TableId], str], quote: Text, text: Text, type_: Text, beside: Sequence[str] = ()
) -> str:
    """Return the query of a view over several tables. A column that a table lacks is NULL in its rows; one that is narrower
    there has the type of the view. `beside` are columns that each source has."""
    selects = []
    for one in union.members:
        own = {column.name.lower(): column for column in one.columns}
        columns = [column_of(own.get(column.name.lower()), column, quote, type_) for column in union.columns]
        listed = ", ".join([f"{text(one.value)} AS {quote(union.discriminator)}", *columns, *beside])
        selects.append(f"SELECT {listed} FROM {source(one.table)}")
    return "\nUNION ALL ".join(selects)


def column_of(own: LakeColumn | None, wanted: LakeColumn, quote: Text, type_: Text) -> str:
    """Return a table's column as one of the view."""
    if own == wanted:
        return quote(wanted.name)
    value = "NULL" if own is None else quote(own.name)
    is_cast = own is None or own.type != wanted.type
    return f"{f'CAST({value} AS {type_(wanted.type)})' if is_cast else value} AS {quote(wanted.name)}"


def header(owner: str, name: str, quote: Text, catalog: str) -> str:
    return f"CREATE OR REPLACE VIEW {catalog}{quote(owner)}.{quote(name)}"


def rows(view: ViewOf, quote: Text) -> str:
    return f" WHERE NOT {quote(DELETED)}" if view.marks_deleted else ""


def schemas_of(engine: Engine, tables: Sequence[TableId], unions: Sequence[Union]) -> list[str]:
    """Return the schemas of the views, each once."""
    return list(dict.fromkeys((*(schema_in(engine, table) for table in tables), *(union.schema for union in unions))))


def in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def in_text_of_spark(text: str) -> str:
    """Return a text of Spark SQL, in which a backslash escapes, and `$` begins no variable."""
    return text_literal(text)
