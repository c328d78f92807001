"""Write the first pipelines.yml: every choice explicit, with the other values and the reason beside it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from redolake.config import Pipeline
from redolake.config.on_ddl import OnDdl
from redolake.steps.setup.proposal import ProposedTable
from redolake.values.table import LargeObjects, TableId, upper_name, yaml_table, yaml_text

WIDTH = 120
COMMENT_AT = 36
PLAIN = re.compile(r"[A-Za-z_/][\w./$-]*")
CHOICES = ("new_tables", "large_objects", "unsupported_columns", "readers", "column_names", "deletes", "change_data_feed")


@dataclass(frozen=True, slots=True)
class FirstFile:
    """What the file contains. `patterns` match the plain tables but for those `named`; without any, each table is listed."""

    name: str
    connection: str
    container: str | None
    landing: str
    lake: str
    ledger: str | None
    large_objects: LargeObjects
    patterns: tuple[str, ...]
    tables: tuple[ProposedTable, ...]
    head: str = ""
    named: tuple[TableId, ...] = ()
    stream: tuple[str, str] | None = None  # address and alias of OpenLogReplicator


def first_file(file: FirstFile) -> str:
    lines = [f"# {file.head}"] if file.head else []
    lines += [
        "# It is yours to change. `redolake validate` checks this file, `redolake doctor` the source as well.",
        "# All settings: docs/reference/configuration.md",
        "pipelines:",
        f"  {file.name}:",
        "    source:",
        line(f"      connection: {scalar(file.connection)}", f"Airflow connection, or AIRFLOW_CONN_{file.connection.upper()}"),
    ]
    if file.stream is not None:
        address, alias = file.stream
        lines.append(line("      kind: openlogreplicator", "it reads the redo; Other values: logminer"))
        lines.append(line(f"      address: {scalar(address)}", "the `uri` of its network writer"))
        lines.append(line(f"      database: {scalar(alias)}", "the `alias` of the source in OpenLogReplicator.json"))
    if file.container:
        lines.append(line(f"      container: {scalar(file.container)}", "the PDB with the tables"))
    lines.append(line(f"    landing: {scalar(file.landing)}", "folder or URL for landed redo"))
    lines.append(line(f"    lake: {scalar(file.lake)}", "folder or URL for the Delta tables"))
    if file.ledger:
        lines.append(line(f"    ledger: {{connection: {scalar(file.ledger)}}}", "Airflow connection of a PostgreSQL database"))
    lines.append(
        line('    schedule: "*/5 * * * *"', "cron, `every 30s`, @continuous, or null; no fresher than the log switches")
    )
    chosen = {"large_objects": file.large_objects}
    lines += [choice for name in CHOICES for choice in setting(Pipeline, name, chosen.get(name), "    ")]
    lines += ["    on_ddl:", *(text for name in OnDdl.model_fields for text in setting(OnDdl, name, None, "      "))]
    return "\n".join([*lines, "    tables:", *table_lines(file)]) + "\n"


def setting(model: type[BaseModel], name: str, value: object, indent: str) -> Iterator[str]:
    """Yield a setting with its value or default, and with the other values and its description as a comment."""
    field = model.model_fields[name]
    about = field.description or ""
    value = field.default if value is None else value
    others = [one for one in values_of(field.annotation) if one != value]
    comment = about[:1].upper() + about[1:] + (f". Other values: {', '.join(others)}" if others else "")
    yield from (f"{indent}# {text}" for text in textwrap.wrap(comment, WIDTH - len(indent) - 2))
    yield f"{indent}{name}: {json.dumps(value) if isinstance(value, bool) else scalar(str(value))}"


def values_of(annotation: Any) -> list[str]:
    """Return the texts of a Literal, also inside another annotation."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [value for part in get_args(annotation) if not isinstance(part, str) for value in values_of(part)]


def table_lines(file: FirstFile) -> Iterator[str]:
    plain = [table for table in file.tables if table.is_plain]
    for pattern in file.patterns:
        yield line(f"      - {yaml_table(pattern)}", "all tables, except those listed below")
    for table in plain:
        if not file.patterns or table.table in file.named:
            yield from comments(table.why)
            yield f"      - {yaml_table(str(table.table))}"
    if file.patterns:
        noted = [f"{table.table}: {why}" for table in plain if table.table not in file.named for why in table.why]
        yield from comments(noted)
    for table in file.tables:
        if not table.is_plain and not table.refused:
            yield from entry(table)
    for table in file.tables:
        if table.refused:
            yield from comments([f"{table.table} is left out: {why}" for why in table.refused])
            if file.patterns:
                yield f"      - {yaml_table(f'!{table.table}')}"


def entry(table: ProposedTable) -> Iterator[str]:
    yield from comments(table.why)
    yield f"      - table: {yaml_table(str(table.table))}"
    if table.target:
        yield f"        target: {scalar(table.target)}"
    if table.key.kind != "primary":
        yield f"        key: {table.key}"
    if table.columns:
        rules = ", ".join(f"{quoted_column(name)}: {rule}" for name, rule in table.columns.items())
        yield f"        columns: {{{rules}}}"
    if table.rename:
        names = ", ".join(f"{quoted_column(name)}: {scalar(new)}" for name, new in table.rename.items())
        yield f"        rename: {{{names}}}"
    if table.mask:
        masks = ", ".join(f"{quoted_column(name)}: {mask}" for name, mask in table.mask.items())
        yield f"        mask: {{{masks}}}"
    if table.exclude_columns:
        yield f"        exclude_columns: [{', '.join(map(name_in_list, table.exclude_columns))}]"
    if table.large_objects:
        yield f"        large_objects: {table.large_objects}"
    if table.rereads_rows:
        yield "        unsupported_columns: reread"


def comments(lines: Sequence[str]) -> Iterator[str]:
    for one in lines:
        shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in one)  # a line break of YAML would end the comment
        yield from (f"      # {part}" for part in textwrap.wrap(shown, WIDTH - 8))


def line(setting: str, comment: str) -> str:
    return f"{setting:<{COMMENT_AT - 1}} # {comment}"


def scalar(value: str) -> str:
    """Return a value as YAML, in quotes where it needs them."""
    plain = PLAIN.fullmatch(value) and value.lower() not in ("on", "off", "yes", "no", "true", "false", "null")
    return value if plain else json.dumps(value, ensure_ascii=False)


def column(name: str) -> str:
    plain = PLAIN.fullmatch(name) and scalar(name) == name and "$" not in name
    return name if plain else yaml_text(name).replace("$${", "${")  # a setting's name, in which nothing is replaced


def quoted_column(name: str) -> str:
    """Return a column's name as a key of `columns`, `rename` or `mask`, where double quotes keep small letters, and characters
    that stand for others."""
    quoted = name if name == upper_name(name) and not set(name) & set("*?") else f'"{name}"'
    return column(quoted)


def name_in_list(name: str) -> str:
    """Return a column's name for `exclude_columns`, where double quotes keep small letters and wildcards do not count."""
    quoted = f'"{name}"' if name != name.upper() else name
    return quoted if PLAIN.fullmatch(quoted) and scalar(quoted) == quoted else yaml_text(quoted)
