"""Bring a table's properties and clustering to the configuration; hold a table that only a new snapshot can bring there."""

from __future__ import annotations

from collections.abc import Mapping

from redolake.apply.context import MayCommit, allow
from redolake.apply.delta.features import statistics
from redolake.apply.delta.log import DeltaLog
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import commit
from redolake.apply.spark.quoting import quote, text_literal
from redolake.apply.spark.session import run_sql
from redolake.apply.target import Tag, Terms
from redolake.errors import SchemaConflict, TargetRefused
from redolake.values.own_columns import OWN_COLUMNS
from redolake.values.table import TableId
from redolake.values.target_options import TargetOptions

# Properties that anybody may set on a Delta table, and with which Redolake cannot keep it, or not for long.
UNWRITABLE = {
    "delta.appendOnly": "no row can be changed or deleted",
    "delta.setTransactionRetentionDuration": "Delta would forget how far an idle table is applied",
}
CONSTRAINT = "delta.constraints."


def check_writable(table: DeltaTable, table_id: TableId, key_kind: str) -> None:
    """Raise TargetRefused for a property of UNWRITABLE. A table that only gets rows may be append-only."""
    assert table.log is not None
    for key, value in unwritable(table.log).items():
        if key == "delta.appendOnly" and key_kind == "append":
            continue
        raise TargetRefused(
            f"somebody has set {key} = {value} on the Delta table, with which {UNWRITABLE[key]}",
            cure=f"run ALTER TABLE {table_at(table.path)} UNSET TBLPROPERTIES ('{key}') in Spark, then run `redolake resume "
            f"{table_id}`; or `redolake snapshot {table_id} --replace` builds the table again without it",
            table=table_id,
        )


def unwritable(log: DeltaLog) -> dict[str, str]:
    return {key: value for key, value in log.properties().items() if key in UNWRITABLE and value != "false"}


def is_constrained(log: DeltaLog) -> bool:
    """Return whether rows, or their replacement, may be refused. Delta keeps such properties when it overwrites a table."""
    return bool(unwritable(log)) or any(key.startswith(CONSTRAINT) for key in log.properties())


def drop_constraints(table: DeltaTable, table_id: TableId, metadata: Mapping[str, object]) -> None:
    """Drop what refuses rows, so that the next commit can replace the table's contents and schema."""
    assert table.log is not None
    alter = f"ALTER TABLE {table_at(table.path)}"
    if found := unwritable(table.log):
        names = ", ".join(map(text_literal, found))
        commit_setting(table, table_id, f"{alter} UNSET TBLPROPERTIES ({names})", metadata)
    for key in [key for key in table.log.properties() if key.startswith(CONSTRAINT)]:
        name = key.removeprefix(CONSTRAINT)
        commit_setting(table, table_id, f"{alter} DROP CONSTRAINT IF EXISTS {quote(name)}", metadata)


def check_layout(table: DeltaTable, table_id: TableId, options: TargetOptions) -> None:
    """Raise SchemaConflict unless the table has the columns of ours and the partitions that the configuration names."""
    assert table.log is not None
    known = {column.name for column in table.columns.values()}
    foreign = sorted(set(table.fields) - known - set(OWN_COLUMNS))
    if foreign:
        raise SchemaConflict(
            f"the Delta table has columns that are neither Oracle's nor Redolake's: {', '.join(foreign)}",
            cure=f"run `redolake snapshot {table_id} --replace`, which builds the table again without them; keep such columns "
            "in a view or a table of your own",
            table=table_id,
        )
    compared = {
        "metadata_columns (with `deletes`)": (sorted(set(table.fields) - known), sorted(options.own_columns)),
        "partition_by": (table.log.partition_columns(), [options.name(name) for name in options.partition_by]),
    }
    for setting, (found, wanted) in compared.items():
        if found != wanted:
            raise SchemaConflict(
                f"pipelines.yml says {setting}: {', '.join(wanted) or 'none'}, and the Delta table has: "
                f"{', '.join(found) or 'none'}",
                cure=f"run `redolake snapshot {table_id} --replace` to rebuild the table, or declare the setting as the "
                f"table is and run `redolake resume {table_id}`",
                table=table_id,
            )


def settle(
    table: DeltaTable, table_id: TableId, options: TargetOptions, metadata: Mapping[str, object], may_commit: MayCommit = allow
) -> None:
    """Set the properties and the clustering that differ. Those that the configuration does not name stay as they are."""
    assert table.log is not None
    have, alter = table.log.properties(), f"ALTER TABLE {table_at(table.path)}"
    wanted_properties = {**dict(options.properties), **statistics(table.schema, options, table.log.partition_columns())}
    differing = {key: value for key, value in wanted_properties.items() if have.get(key) != value}
    if differing:
        pairs = ", ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in differing.items())
        commit_setting(table, table_id, f"{alter} SET TBLPROPERTIES ({pairs})", metadata, may_commit)
    if options.cluster_by:
        wanted = [options.name(name) for name in options.cluster_by]
        absent = sorted({*wanted} - {column.name for column in table.columns.values()})
        if absent:
            raise SchemaConflict(
                f"`cluster_by` names columns that the table does not have: {', '.join(absent)}",
                cure=f"correct it in pipelines.yml and run `redolake resume {table_id}`",
                table=table_id,
            )
        detail = run_sql(table.spark, f"DESCRIBE DETAIL {table_at(table.path)}")[0]
        if list(detail["clusteringColumns"]) != wanted:
            commit_setting(table, table_id, f"{alter} CLUSTER BY ({', '.join(map(quote, wanted))})", metadata, may_commit)


def comment_on(table: DeltaTable, table_id: TableId, comment: str, metadata: Mapping[str, object]) -> None:
    """Give the table its comment in Oracle, unless it has it."""
    assert table.log is not None
    if comment != table.log.description():
        statement = f"COMMENT ON TABLE {table_at(table.path)} IS {text_literal(comment)}"
        commit_setting(table, table_id, statement, metadata)


def commit_setting(
    table: DeltaTable, table_id: TableId, statement: str, metadata: Mapping[str, object], may_commit: MayCommit = allow
) -> None:
    tag = Tag("", 0, {**metadata, "table": str(table_id), "settings": statement})
    with commit(table, Terms(table_id, None, may_commit, any_rows=True), tag, "settings") as writer:
        writer.run(statement)
