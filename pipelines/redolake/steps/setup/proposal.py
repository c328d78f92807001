"""Propose the settings of tables from their dictionary and their numbers. Pure: a person reads and changes the result."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from redolake.decode.datatypes import why_refused
from redolake.errors import SchemaConflict
from redolake.schema import baseline
from redolake.source import ConfiguredTable, capture_findings
from redolake.steps.checks.lake_findings import lake_findings
from redolake.steps.checks.personal_columns import personal
from redolake.values.datatypes import DOCUMENTS
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.lake_rules import OF_MERGE, fold
from redolake.values.mapping import Mask, TableMapping
from redolake.values.table import PRIMARY, ROWID_NAME, ColumnChoice, KeyPolicy, LargeObjects, TableId, TableVersion, TypeRule
from redolake.values.target_options import DEFAULT

ROWID = KeyPolicy("rowid")


@dataclass(frozen=True, slots=True)
class ProposedTable:
    """The settings of one table. `why` explains those that are not the default; `refused` says why the table is left out."""

    table: TableId
    key: KeyPolicy = PRIMARY
    columns: Mapping[str, TypeRule] = field(default_factory=dict)
    exclude_columns: tuple[str, ...] = ()
    large_objects: LargeObjects | None = None
    rereads_rows: bool = False
    target: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    mask: Mapping[str, Mask] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the defaults suit the table."""
        own = self.columns or self.exclude_columns or self.large_objects or self.rereads_rows or self.target
        own = own or self.rename or self.mask
        return self.key == PRIMARY and not own and not self.refused


def propose_table(
    table: DictionaryTable,
    numbers: Mapping[str, TypeRule],
    large_objects: LargeObjects,
    *,
    maps: bool = False,
    is_stream: bool = False,
) -> ProposedTable:
    """Return the settings with which the table can be captured, or why it cannot. `numbers` are rules of measured columns. With
    `maps`, columns get other names where the lake cannot have theirs, and masks where they look personal. With `is_stream`,
    another reader than LogMiner shows its changes."""
    key, of_key = propose_key(table)
    rules = {name: rule for name, rule in numbers.items() if rule is not None}
    why = [*of_key]
    if rules:
        why.append("the numbers' rules suit the rows that are there, of the first 100,000")
    if empty := sorted(name for name, rule in numbers.items() if rule is None):
        why.append(f"no values yet in {', '.join(empty)}: a NUMBER is stored as DECIMAL(38,10), a FLOAT as text")
    own, of_objects = propose_objects(table, key, large_objects)
    why += of_objects
    plain = ProposedTable(table.table, key, rules, (), own, why=tuple(why))
    if maps:
        plain = with_shapes(plain, table)
    proposed = with_columns(plain, table, own or large_objects)
    if not is_stream and any(not is_assembled(column, own or large_objects) for column in table.unshown):
        whole = with_columns(replace(plain, rereads_rows=True), table, own or large_objects)
        reads = any(column.name not in whole.exclude_columns for column in table.unshown)
        if reads and not any(errors_of(whole, table, own or large_objects)):
            return replace(whole, why=(*whole.why, "its changed rows are read again whole: LogMiner does not show all columns"))
    return replace(proposed, refused=tuple(errors_of(proposed, table, own or large_objects, is_stream=is_stream)))


def with_shapes(proposed: ProposedTable, table: DictionaryTable) -> ProposedTable:
    """Name columns that the lake cannot hold otherwise, and mask those that look personal, but for the key."""
    names, why = [column.name for column in table.captured], list(proposed.why)
    reserved = {fold(name) for name in (*DEFAULT.own_columns, *OF_MERGE, ROWID_NAME)}
    rename, taken = dict[str, str](), {*reserved, *map(fold, names)}
    for number, name in enumerate(names):
        if fold(name) in reserved or fold(name) in map(fold, names[:number]):
            rename[name] = free_name(name, taken)
            taken.add(fold(rename[name]))
    if rename:
        why.append("the lake ignores case, and has columns of its own: `rename` gives such columns other names")
    key = {*table.key, *proposed.key.columns}
    seen = {name: what for name in names if (what := personal(name)) and name not in key}
    why += [f"{name} looks like {what}, so it is masked" for name, what in seen.items()]
    return replace(proposed, rename=rename, mask=dict.fromkeys(seen, "redact"), why=tuple(why))


def free_name(name: str, taken: Collection[str]) -> str:
    base = re.sub(r"\W", "_", name).strip("_").lower() or "column"
    return next(one for n in count(2) if fold(one := f"{base}_{n}") not in taken)


def with_names(table: DictionaryTable, wanted: ConfiguredTable, rename: Mapping[str, str]) -> TableVersion | None:
    """Return the version with which the table would be read, with other names; None if it cannot be read."""
    chosen = table.chosen(wanted.choice, wanted.key, lambda c: why_refused(c.type, None, wanted.choice) is not None)
    try:
        version = baseline(chosen, table.scn_before, None, wanted.key, wanted.choice)
    except SchemaConflict:
        return None
    return replace(version, mapping=TableMapping(tuple((c.id, rename[c.name]) for c in version.columns if c.name in rename)))


def propose_objects(table: DictionaryTable, key: KeyPolicy, chosen: LargeObjects) -> tuple[LargeObjects | None, list[str]]:
    """Return another choice for the table's large objects than the pipeline's, and the reason; None where that suits it."""
    if chosen not in ("reread", "redo") or not table.large_objects:
        return None, []
    if table.iot and chosen == "reread":
        return "exclude", ["large objects are read again by ROWID, which rows of an index-organized table do not have"]
    if table.iot:
        return "exclude", ["large objects of an index-organized table are not assembled from the redo"]
    if key == ROWID and chosen == "redo":
        return "reread", ["the redo names the row of a large object by its key, and this table has none: they are read again"]
    return None, []


def is_assembled(column: DictionaryColumn, large_objects: LargeObjects) -> bool:
    return large_objects == "redo" and column.type.name in DOCUMENTS


def propose_key(table: DictionaryTable) -> tuple[KeyPolicy, list[str]]:
    """Return the primary key, else a unique index without NULLs, else ROWID, and the reason unless it is the first."""
    stored = {column.name for column in table.captured}
    if table.key and stored.issuperset(table.key):
        return PRIMARY, []
    lacks = "no primary key" if not table.key else "the primary key has a column that is not stored"
    for index in table.key_candidates:
        if not table.nullable(index.columns):
            return KeyPolicy("columns", index.columns), [f"{lacks}; the unique index {index.name} identifies rows"]
    return ROWID, [f"{lacks} and no unique index without NULLs; or `append`, where rows are only inserted"]


def with_columns(proposed: ProposedTable, table: DictionaryTable, large_objects: LargeObjects) -> ProposedTable:
    """Store numbers that no decimal holds as text, and leave out columns whose type is not supported."""
    rules, out, why = dict(proposed.columns), list[str](), list(proposed.why)
    key, choice = {*table.key, *proposed.key.columns}, choice_of(proposed, large_objects)
    for column in table.captured:
        reason = why_refused(column.type, rules.get(column.name), choice)
        if reason is None or column in table.large_objects:
            continue  # large objects are a choice of the whole pipeline
        if why_refused(column.type, "string", choice) is None:
            rules[column.name] = "string"
            why.append(f"{column.name}: {reason}")
        elif column.name not in key:
            out.append(column.name)
            why.append(f"{column.name} is left out: {reason}")
    return replace(proposed, columns=rules, exclude_columns=tuple(out), why=tuple(why))


def choice_of(proposed: ProposedTable, large_objects: LargeObjects) -> ColumnChoice:
    return ColumnChoice(
        proposed.exclude_columns, unsupported="reread" if proposed.rereads_rows else "refuse", large_objects=large_objects
    )


def errors_of(
    proposed: ProposedTable, table: DictionaryTable, large_objects: LargeObjects, *, is_stream: bool = False
) -> Iterable[str]:
    """Yield why the table cannot be captured with the proposed settings."""
    choice = choice_of(proposed, large_objects)
    rules = {name: rule for name, rule in proposed.columns.items() if rule is not None}
    wanted = ConfiguredTable(table.table, rules, proposed.key, choice, is_stream)
    version = with_names(table, wanted, proposed.rename) if proposed.rename else None
    found = (*capture_findings(table, wanted, why_refused), *lake_findings(table, wanted, rules, DEFAULT, version))
    for finding in found:
        if finding.severity == "error":
            where = finding.subject.removeprefix(str(table.table)).removeprefix(".")
            yield f"{where}: {finding.what}" if where else finding.what
