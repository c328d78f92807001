"""The columns that pipelines.yml leaves out of a table: as the dictionary describes them, and as a later DDL adds them."""

from __future__ import annotations

from collections.abc import Mapping

from redolake.config import Pipeline
from redolake.config.mapping import of_column
from redolake.decode.datatypes import why_refused
from redolake.errors import SchemaConflict
from redolake.schema.ddl_statement import Refused
from redolake.values.datatypes import IN_DATABASE_SET, LARGE_OBJECTS, LARGE_TEXTS, TEXTS, UNSHOWN
from redolake.values.delivery import delivery_of
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.lake_rules import key_rule_cure, loses_values
from redolake.values.redo import Encoding
from redolake.values.table import REPLACE, TEXT_RULES, OracleType, TableId, TableVersion, TypeRule
from redolake.values.valid_text import UNICODE


def chosen_columns(pipeline: Pipeline, dictionary: Mapping[TableId, DictionaryTable]) -> dict[TableId, DictionaryTable]:
    """Return the tables without the columns that pipelines.yml leaves out."""
    return {name: chosen(pipeline, table) for name, table in dictionary.items()}


def chosen(pipeline: Pipeline, table: DictionaryTable) -> DictionaryTable:
    refused = refusal_rule(pipeline, table.table)
    configured = pipeline.table(table.table)
    return table.chosen(pipeline.choice(table.table), configured.key_policy, lambda c: refused(c.name, c.type))


def refusal_rule(pipeline: Pipeline, table: TableId) -> Refused:
    """Return a function that says whether a column's type is not supported under the table's rules. Those of a table that is no
    longer listed are gone; what was applied of it was not refused."""
    if not pipeline.lists(table):
        return lambda column, type_: False
    choice = pipeline.choice(table)
    rules = pipeline.table(table).rules

    def refused(column: str, type_: OracleType) -> bool:
        return why_refused(type_, of_column(rules, column), choice) is not None

    return refused


def rules_of(pipeline: Pipeline, table: DictionaryTable) -> dict[str, TypeRule]:
    """Return the rules of the table's columns by name: those of `columns`, and `invalid_text` for the others that it is for."""
    own = pipeline.table(table.table)
    key = {*table.key} if own.key_policy.kind == "primary" else {*own.key_policy.columns}
    of_text = {c.name: text_rule(pipeline, table.table, c.type) for c in table.columns if c.name not in key}
    declared: dict[str, TypeRule] = {c.name: of_column(own.rules, c.name) for c in table.columns}
    found = {name: of_text.get(name) if rule is None else rule for name, rule in declared.items()}
    return {name: rule for name, rule in found.items() if rule is not None}


def text_rule(pipeline: Pipeline, table: TableId, type_: OracleType) -> TypeRule:
    """Return what `invalid_text` says of a column outside the key that has no rule of its own."""
    rule = pipeline.settings(table).invalid_text
    suits = type_.name in TEXTS or (rule == REPLACE and type_.name in LARGE_TEXTS)
    return rule if rule in TEXT_RULES and suits else None


def converted_columns(table: DictionaryTable, encoding: Encoding) -> tuple[str, ...]:
    """Return the columns that the server converts for each client from a character set that is not Unicode."""
    if encoding.text in UNICODE:
        return ()
    return tuple(column.name for column in table.captured if column.type.name in IN_DATABASE_SET)


def key_rule_conflict(pipeline: Pipeline, version: TableVersion) -> SchemaConflict | None:
    """Return a conflict if a rule of pipelines.yml may make one key of two."""
    own = pipeline.table(version.table).rules if pipeline.lists(version.table) else {}
    for column in (version.column(i) for i in version.key if i) if version.key_kind != "rowid" else ():
        if loses_values(column.type, rule := of_column(own, column.name)):
            return SchemaConflict(
                f"{column.name} is part of the key, and has the rule `{rule}`, after which two keys may be one",
                cure=f"{key_rule_cure(column.type)}; then `redolake snapshot {version.table} --replace`, or without the rule "
                f"`redolake resume {version.table}`",
                table=version.table,
            )
    return None


def choice_conflict(pipeline: Pipeline, version: TableVersion) -> SchemaConflict | None:
    """Return a conflict if pipelines.yml leaves out a column that the contents have, or captures one that they lack."""
    choice = pipeline.choice(version.table)
    kept = {version.column(i).name for i in version.key if i} if version.key_kind != "rowid" else set()
    out = [c.name for c in version.columns if c.name not in kept and choice.excludes(c.name)]
    missing = [name for name, kind in version.left_out.items() if kind == "excluded" and not choice.excludes(name)]
    if choice.large_objects not in ("reread", "redo"):
        out += [c.name for c in version.columns if c.type.name in LARGE_OBJECTS and c.name not in out]
    delivery = delivery_of(version)
    if choice.unsupported != "reread" and delivery.rereads == "rows":
        out += [c.name for c in version.columns if c.type.name in UNSHOWN and c.name not in out]
    how = "" if not delivery.apart else "redo" if delivery.pieces else "reread"
    large = [column.name for column in version.columns if column.id in delivery.apart]
    differs = choice.large_objects != how and any(name not in out for name in large)
    if not out and not missing and not differs:
        return None
    what = " and ".join(
        text
        for text in (
            f"has `large_objects: {choice.large_objects}`, and the table was read with `{how}`" if differs else "",
            f"leaves out {', '.join(out)}, which the table was read with" if out else "",
            f"captures {', '.join(missing)}, which the table was read without" if missing else "",
        )
        if text
    )
    fill = (
        f"`redolake fill-columns {version.table} --execute --reason TEXT` reads these alone, where it can; "
        if missing and not out
        else ""
    )
    return SchemaConflict(
        f"pipelines.yml {what}",
        cure=f"{fill}`redolake snapshot {version.table} --replace` reads it again with the present columns; or restore the old "
        "`exclude_columns`, `include_columns`, `large_objects` and `unsupported_columns`, and "
        f"`redolake resume {version.table}`",
        table=version.table,
    )
