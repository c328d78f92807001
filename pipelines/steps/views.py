"""Write the statements that make views of the captured tables in another engine, without deleted rows, as of now or an SCN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipelines.config import Pipeline
from pipelines.context import open_to_read
from pipelines.errors import NotReadableAsOf
from pipelines.steps.as_of import ReadPlan, plan_read
from pipelines.steps.backfill import choose
from pipelines.values.table import TableId
from pipelines.values.target_options import DELETED
from pipelines.values.utc import beside

Engine = Literal["spark", "duckdb", "trino"]


@dataclass(frozen=True, slots=True)
class ViewOf:
    """One table for a view: the folder of its Delta table, the version to read (None for the newest), whether deleted rows are
    only marked there."""

    table: TableId
    path: str
    version: int | None = None
    marks_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Views:
    """`text` are the statements. With `scn`, each view has the version of its table at that SCN."""

    engine: Engine
    text: str
    tables: tuple[str, ...]
    scn: int | None = None
    at: str | None = None


def write_views(pipeline: Pipeline, engine: Engine, moment: str | None = None, tables: Sequence[str] | None = None) -> Views:
    """Return the statements for an engine. With a moment, raise NotReadableAsOf for a table that has no version of its SCN."""
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
    of = "as they are" if plan is None else f"AS OF SCN {plan.scn}{beside(plan.at, 'by ')}"
    head = f"-- Views of the tables of pipeline {pipeline.name}, {of}, for {NAMES[engine]}."
    lines = [head, *STATEMENTS[engine](views)]
    names = tuple(map(str, chosen))
    return Views(engine, "\n".join(lines) + "\n", names, *(() if plan is None else (plan.scn, plan.at)))


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


def of_spark(views: Sequence[ViewOf]) -> list[str]:
    def body(view: ViewOf) -> str:
        version = "" if view.version is None else f" VERSION AS OF {view.version}"
        return f"SELECT * FROM delta.{in_backticks(view.path)}{version}"

    return statements(views, in_backticks, body)


def of_duckdb(views: Sequence[ViewOf]) -> list[str]:
    def body(view: ViewOf) -> str:
        version = "" if view.version is None else f", version = {view.version}"
        return f"SELECT * FROM delta_scan({in_text(view.path)}{version})"

    return ["LOAD delta;", *statements(views, in_quotes, body)]


def of_trino(views: Sequence[ViewOf]) -> list[str]:
    """Return the statements for the catalog `delta`, in which each table is registered under the name `<table>$delta`."""

    def body(view: ViewOf) -> str:
        version = "" if view.version is None else f" FOR VERSION AS OF {view.version}"
        owner, name = in_quotes(view.table.owner.lower()), in_quotes(f"{view.table.name.lower()}$delta")
        return f"SELECT * FROM delta.{owner}.{name}{version}"

    registered = [
        f"CALL delta.system.register_table(schema_name => {in_text(view.table.owner.lower())}, "
        f"table_name => {in_text(view.table.name.lower() + '$delta')}, table_location => {in_text(view.path)});"
        for view in views
    ]
    made = statements(views, in_quotes, body, "delta.")
    return [*made[: len(owners(views))], *registered, *made[len(owners(views)) :]]


STATEMENTS: Mapping[Engine, Callable[[Sequence[ViewOf]], list[str]]] = {
    "spark": of_spark,
    "duckdb": of_duckdb,
    "trino": of_trino,
}


def statements(
    views: Sequence[ViewOf], quote: Callable[[str], str], body: Callable[[ViewOf], str], catalog: str = ""
) -> list[str]:
    schemas = [f"CREATE SCHEMA IF NOT EXISTS {catalog}{quote(owner)};" for owner in owners(views)]
    return [*schemas, *(f"{header(view, quote, catalog)} AS {body(view)}{rows(view, quote)};" for view in views)]


def header(view: ViewOf, quote: Callable[[str], str], catalog: str) -> str:
    return f"CREATE OR REPLACE VIEW {catalog}{quote(view.table.owner.lower())}.{quote(view.table.name.lower())}"


def rows(view: ViewOf, quote: Callable[[str], str]) -> str:
    return f" WHERE NOT {quote(DELETED)}" if view.marks_deleted else ""


def owners(views: Sequence[ViewOf]) -> list[str]:
    return list(dict.fromkeys(view.table.owner.lower() for view in views))


def in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
