"""The configuration that OpenLogReplicator needs, and what another one would lose or blur."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redolake.errors import ConfigurationError, Finding
from redolake.values.datatypes import DATATYPES, NOT_GIVEN, is_unshown
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import OracleType, TableId
from redolake.values.table_pattern import TablePattern

VERSION = "1.9.0"
SHOW_DDL, SHOW_HIDDEN, SHOW_GUARDS, SHOW_CHECKPOINTS = 0x20, 0x40, 0x80, 0x1000
FLAGS = SHOW_DDL | SHOW_HIDDEN | SHOW_GUARDS | SHOW_CHECKPOINTS
IGNORE_ERRORS, SCHEMALESS, RAW_DATA = 0x10, 0x2, 0x8000
FORMAT: Mapping[str, int | str] = {
    "type": "json",
    "char": 2,
    "column": 2,
    "db": 3,
    "interval-dts": 8,
    "interval-ytm": 4,
    "message": 2,
    "redo-thread": 1,
    "rid": 1,
    "schema": 4,
    "scn": 0,
    "scn-type": 14,
    "timestamp": 12,
    "timestamp-metadata": 0,
    "timestamp-type": 8,
    "timestamp-tz": 8,
    "unknown": 1,
    "unknown-type": 1,
    "user-type": 15,
    "xid": 1,
}
# What another value of a setting would do.
WHY: Mapping[str, str] = {
    "type": "Redolake reads JSON",
    "char": "text does not come in the hexadecimal digits of its bytes, where ? for an undecodable value is no text",
    "column": "columns that did not change are left out, so that an absent one is NULL or not known",
    "db": "a message does not say of which database it is",
    "interval-dts": "an INTERVAL DAY TO SECOND may lose digits, or is a number of another unit",
    "interval-ytm": "an INTERVAL YEAR TO MONTH comes in another form",
    "message": "changes have no numbers, so that a lost one does not show, or a transaction is one message",
    "redo-thread": "the redo thread is not known",
    "rid": "rows have no ROWIDs",
    "schema": "rows do not say of which object they are; after a RENAME the name alone is another table's",
    "scn": "SCNs come in another form",
    "scn-type": "a message does not say when its transaction began and committed",
    "timestamp": "times lose digits, or are numbers that end in 1677 and 2262",
    "timestamp-metadata": "the times of commits come in another form",
    "timestamp-type": "the times of commits are left out",
    "timestamp-tz": "times with a zone lose digits, or come in another form",
    "unknown": "what it cannot decode is not in its log",
    "unknown-type": "columns of types that it does not know are left out, as if they were NULL",
    "user-type": "DDL does not say who ran it",
    "xid": "transaction ids come in another form than LogMiner's",
}
NEEDED = tuple(name for name in FORMAT if name not in ("unknown", "user-type", "redo-thread"))  # others: a warning


def needed_configuration(
    alias: str, address: str, tables: Sequence[TableId], patterns: Sequence[TablePattern] = ()
) -> dict[str, Any]:
    """Return an OpenLogReplicator.json for these tables. A client asks for the source's `name`, so that is `alias` too."""
    reader = {"type": "online", "user": "USER", "password": "PASSWORD", "server": "//HOST:1521/SERVICE"}
    listed = [{"owner": re.escape(table.owner), "table": re.escape(table.name)} for table in tables]
    listed += [{"owner": one.owner.expression, "table": one.name.expression} for one in patterns]
    return {
        "version": VERSION,
        "source": [
            {
                "alias": alias,
                "name": alias,
                "reader": reader,
                "flags": FLAGS,
                "format": dict(FORMAT),
                "filter": {"table": listed},
            }
        ],
        "target": [{"alias": "REDOLAKE", "source": alias, "writer": {"type": "network", "uri": address}}],
    }


@dataclass(frozen=True, slots=True)
class Described:
    """What an OpenLogReplicator.json says of its first source. `tables` are entries of `tables` in pipelines.yml; `connection`
    is `user@host:port/service`, empty where it has none."""

    alias: str
    name: str
    address: str
    connection: str
    tables: tuple[str, ...]
    findings: tuple[Finding, ...]


def read_described(body: Mapping[str, Any]) -> Described:
    """Return what a pipeline needs of an OpenLogReplicator.json. Raises ConfigurationError for what is none."""
    try:
        source = body["source"][0]
        alias, name, reader = str(source["alias"]), str(source["name"]), source.get("reader", {})
        filters = [(str(one["owner"]), str(one["table"])) for one in source.get("filter", {}).get("table", [])]
        targets = [one for one in body.get("target", []) if one.get("source") == alias]
        address = str(targets[0]["writer"]["uri"]) if targets else ""
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        what = f"lacks what an OpenLogReplicator.json has: {error}"
        raise ConfigurationError(
            [Finding("OpenLogReplicator.json", what, "name the file of a source with a target")]
        ) from error
    entries = [(f"filter {owner} {table}", entry_of(owner, table)) for owner, table in filters]
    unread = [
        Finding(where, "is a pattern that no entry of `tables` means", "list its tables in pipelines.yml")
        for where, entry in entries
        if entry is None
    ]
    server = str(reader.get("server", "")).removeprefix("//")
    host, _, port = address.rpartition(":")
    connection = f"{reader.get('user')}@{server}" if server and reader.get("user") else ""
    return Described(
        name,  # what a client asks for
        name,
        f"127.0.0.1:{port}" if host in ("0.0.0.0", "[::]") else address,
        connection,
        tuple(entry for _, entry in entries if entry is not None),
        (*unread, *settings_findings(body, alias)),
    )


def entry_of(owner: str, table: str) -> str | None:
    """Return a filter's two expressions as an entry of `tables`; None where its patterns cannot mean that."""
    names = [re.sub(r"\\(.)", r"\1", one.replace(".*", "*")) for one in (owner, table)]
    if any(re.search(r"[^\w$#*]", name) for name in names) or "*" in names[0]:
        return None
    return ".".join(name if name == name.upper() else f'"{name}"' for name in names)


def settings_findings(body: Mapping[str, Any], alias: str) -> Iterator[Finding]:
    """Yield each setting of an OpenLogReplicator.json that would lose or blur something."""
    source = next((one for one in body.get("source", []) if one.get("alias") == alias), None)
    if source is None:
        yield Finding("source", f"no source has the alias {alias}", "correct `database` under `source` in pipelines.yml")
        return
    if source.get("name") != alias:
        what = f"is {source.get('name')}, and a client that asks for {alias} is refused"
        yield Finding("source.name", what, f'set `"name": "{alias}"`: it is what OpenLogReplicator compares, not `alias`')
    given, flags = source.get("format", {}), int(source.get("flags", 0))
    for name, wanted in FORMAT.items():
        found = given.get(name, 0)
        if found != wanted:
            severity = "error" if name in NEEDED else "warning"
            yield Finding(
                f"format.{name}",
                f"is {found}: {WHY.get(name, 'it differs')}",
                f'set `"{name}": {wanted!r}`'.replace("'", '"'),
                severity,
            )
    yield from _flags(flags)
    writer: Mapping[str, Any] = next(
        (one.get("writer", {}) for one in body.get("target", []) if one.get("source") == alias), {}
    )
    if writer.get("type") != "network":
        yield Finding("target.writer", "is no network writer", '{"type": "network", "uri": "HOST:PORT"}')
    elif str(writer.get("uri", "")).startswith(("0.0.0.0:", "[::]:")):
        what = "listens on every address, and the network target has neither login nor TLS"
        yield Finding("target.writer.uri", what, "a loopback or private address; a tunnel from elsewhere", "warning")


def table_findings(table: DictionaryTable) -> Iterator[Finding]:
    """Yield what OpenLogReplicator does not give of a table."""
    name = str(table.table)
    if table.organization != "heap":
        what = f"is {'an index-organized' if table.iot else 'a clustered'} table, whose changes OpenLogReplicator does not give"
        yield Finding(name, what, "capture it with LogMiner, in a pipeline of its own, or remove it from `tables`")
    for column in table.columns:
        why = None if column.system or column.left_out is not None else why_blurred(column.type)
        if why is not None and (column.stored or is_unshown(column.type.name)):
            cure = "leave the column out (`exclude_columns`), or capture the table with LogMiner, in a pipeline of its own"
            yield Finding(f"{name}.{column.name}", f"{column.type}: {why}", cure)


def why_blurred(type_: OracleType) -> str | None:
    """Return why OpenLogReplicator does not give values of the type exactly; None where it does."""
    known = DATATYPES.get(type_.name)
    if known is None:
        return NOT_GIVEN if is_unshown(type_.name) else None  # a type that is not supported is refused elsewhere
    return known.stream or None


def _flags(flags: int) -> Iterator[Finding]:
    for bit, what in (
        (SHOW_DDL, "DDL is left out: a TRUNCATE would not be seen"),
        (SHOW_HIDDEN, "INVISIBLE columns are left out"),
        (SHOW_GUARDS, "guard columns are left out, which tell a default from NULL"),
        (SHOW_CHECKPOINTS, "checkpoints are left out: no window could end"),
    ):
        if not flags & bit:
            yield Finding("flags", f"lack {bit:#x}: {what}", f'set `"flags": {flags | FLAGS}`')
    for bit, what in (
        (IGNORE_ERRORS, "data that it cannot read is left out"),
        (SCHEMALESS, "tables and columns have no names"),
        (RAW_DATA, "all values come as bytes"),
    ):
        if flags & bit:
            yield Finding("flags", f"have {bit:#x}: {what}", f'set `"flags": {flags & ~bit | FLAGS}`')
