"""Report before a load what the lake cannot hold of a table: lake_rules.py, asked of the dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from redolake.decode.datatypes import spark_ddl_type, why_refused
from redolake.errors import Finding
from redolake.source import ConfiguredTable
from redolake.values.datatypes import LARGE_TYPES
from redolake.values.delivery import reread_kind
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.lake_columns import with_lake_names
from redolake.values.lake_rules import LakeColumn, conflicts, key_rule_cure, loses_values
from redolake.values.table import TableVersion, TypeRule
from redolake.values.target_options import TargetOptions

NO_PLACES: Mapping[str, str] = {}


def lake_findings(
    table: DictionaryTable,
    wanted: ConfiguredTable,
    rules: Mapping[str, TypeRule],
    options: TargetOptions,
    version: TableVersion | None = None,
    places: Mapping[str, str] = NO_PLACES,
) -> Iterator[Finding]:
    """Yield nothing for a table with columns of refused types: these have findings of their own. `version` is the one with
    which it would be read, with its mapping; `places` are where the file gives columns their names in the lake."""
    reasons = {c.name: why_refused(c.type, rules.get(c.name), wanted.choice) for c in table.columns}
    chosen = table.chosen(wanted.choice, wanted.key, lambda column: reasons[column.name] is not None)
    if any(reasons[column.name] for column in chosen.captured):
        return
    name = str(table.table)
    if not chosen.captured:
        yield Finding(
            name,
            "no column is left to capture",
            "correct `include_columns`, `exclude_columns` and `unsupported_columns` of the table",
        )
    if version is None:
        own = [
            LakeColumn(options.name(c.name), spark_ddl_type(c.type, rules.get(c.name)), c.type.name in LARGE_TYPES)
            for c in chosen.captured
        ]
    else:
        names = {column.id: column.name for column in version.columns}
        own = [
            LakeColumn(c.name, spark_ddl_type(c.type, rules.get(names.get(c.id, ""))), c.type.name in LARGE_TYPES)
            for c in with_lake_names(version, options).columns
        ]
    for column in chosen.captured:
        rule = rules.get(column.name)
        named = {"partition_by": options.partition_by, "cluster_by": options.cluster_by}
        setting = next((one for one, names in named.items() if column.name in names), None)
        if setting is not None and loses_values(column.type, rule):
            what = f"`{setting}` names it, and it has the rule `{rule}`, after which two values may be one"
            yield Finding(f"{name}.{column.name}", what, key_rule_cure(column.type))
    is_reread = reread_kind(chosen, wanted.choice) is not None
    for found in conflicts(own, options, has_rowid=wanted.key.kind == "rowid" or is_reread):
        lines = [places[one] for one in dict.fromkeys(found.names) if one in places]
        yield Finding(name, found.what, ": ".join(filter(None, (found.cure, ", ".join(lines)))))
