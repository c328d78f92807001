"""Check whether a table can be captured with its settings: its kind, key, columns and what the source shows of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches

from redolake.errors import Finding
from redolake.values.datatypes import WHOLE_ROWS_UNSUPPORTED, is_unshown
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.lake_rules import MICROSECONDS, key_rule_cure, loses_values
from redolake.values.table import (
    ALL_COLUMNS,
    LONGEST_MINED_NAME_BYTES,
    PRIMARY,
    ColumnChoice,
    KeyPolicy,
    OracleType,
    TableId,
    names_not_mined,
)

Supported = Callable[[OracleType, str | int | None, ColumnChoice], str | None]  # (type, rule, ..) -> why not captured, or None

MAYBE_IGNORED = frozenset({"BFILE", "NESTED TABLE", "VARRAY", "REF"})  # manuals of different releases name them as unsupported


@dataclass(frozen=True, slots=True)
class ConfiguredTable:
    """A table of the configuration, with its column rules, its key, and the columns that it leaves out.

    With `is_stream`, another reader than LogMiner shows its changes, whose own findings are elsewhere (source/olr).
    """

    table: TableId
    rules: Mapping[str, str | int] = field(default_factory=dict)
    key: KeyPolicy = PRIMARY
    choice: ColumnChoice = ALL_COLUMNS
    is_stream: bool = False


def capture_findings(table: DictionaryTable, wanted: ConfiguredTable, supported: Supported) -> Iterator[Finding]:
    """Check whether a table can be captured with these settings, whatever the database logs of it."""

    def refused(type_: OracleType, rule: str | int | None) -> str | None:
        return supported(type_, rule, wanted.choice)

    table = table.chosen(
        wanted.choice, wanted.key, lambda column: refused(column.type, wanted.rules.get(column.name)) is not None
    )
    yield from kind_findings(table)
    yield from choice_findings(table, wanted)
    yield from () if wanted.is_stream else logminer_findings(table)
    yield from storage_findings(table)
    yield from key_findings(table, wanted.key)
    key = {*table.key} if wanted.key.kind == "primary" else {*wanted.key.columns}
    yield from column_findings(table, wanted.rules, key, refused, is_mined=not wanted.is_stream)


def kind_findings(table: DictionaryTable) -> Iterator[Finding]:
    name = str(table.table)
    if table.temporary:
        yield Finding(name, "is a temporary table: the redo does not contain its rows", "remove it from `tables`")
    if (table.partitioned or table.iot) and not table.parts:
        what = "its partitions" if table.partitioned else "the index that contains its rows"
        yield Finding(
            name,
            f"this user does not see {what}, whose OBJECT_IDs the redo contains",
            f"GRANT SELECT ON {table.in_oracle.in_sql}, and SELECT ANY DICTIONARY, to the user of the connection",
        )
    if table.columnar:
        what = "has hybrid columnar compression, which gives updated rows new ROWIDs"
        yield Finding(name, what, "ALTER TABLE .. MOVE [PARTITION ..] ROW STORE COMPRESS ADVANCED, or remove it from `tables`")
    if table.hybrid:
        what = "is a hybrid partitioned table: the redo does not contain the rows of its external partitions"
        yield Finding(name, what, "remove it from `tables`")
    if table.external:
        yield Finding(name, "is an external table: the redo does not contain its rows", "remove it from `tables`")


def logminer_findings(table: DictionaryTable) -> Iterator[Finding]:
    """Report what makes LogMiner show all rows of the table as UNSUPPORTED."""
    name = str(table.table)
    remove = f"remove {name} from `tables`"
    names = (table.in_oracle.owner, table.in_oracle.name, *(c.name for c in table.columns if not c.system))
    too_long = names_not_mined(names)
    if too_long:
        what = f"has names over {LONGEST_MINED_NAME_BYTES} bytes, for which LogMiner shows changes as UNSUPPORTED: "
        yield Finding(name, what + ", ".join(too_long), f"use shorter names, or {remove}")
    for column in table.columns:
        rowless = column.left_out is None and not table.rereads_rows
        if rowless and column.stored and column.type.name in WHOLE_ROWS_UNSUPPORTED:
            what = (
                f"{column.type}: LogMiner shows each change of a row of such a table as UNSUPPORTED, also of its other columns"
            )
            cure = f"`unsupported_columns: reread` reads its changed rows again, or {remove}"
            yield Finding(f"{name}.{column.name}", what, cure)
        if column.virtual and column.system and not column.name.startswith("SYS_"):
            what = "is a valid-time period (PERIOD FOR), whose tables LogMiner does not support"
            yield Finding(f"{name}.{column.name}", what, remove)


def storage_findings(table: DictionaryTable) -> Iterator[Finding]:
    """Report hidden columns of an unknown kind."""
    name = str(table.table)
    refused = {column.column_id for column in table.unshown if column.stored and column.column_id is not None}
    for column in table.unknown_storage:
        if column.column_id in refused:
            continue  # it stores a part of a column that has a finding of its own
        what = f"{column.type}: a hidden column of Oracle's own, which may store an object or XMLTYPE column"
        cure = f"leave the column out (`exclude_columns` of the table), or remove {name} from `tables`"
        yield Finding(f"{name}.{column.name}", what, cure)


def choice_findings(table: DictionaryTable, wanted: ConfiguredTable) -> Iterator[Finding]:
    """Name the columns that the configuration leaves out, those of the key, and patterns without a column."""
    name, choice = str(table.table), wanted.choice
    key = [column for column in table.key if wanted.key.kind == "primary" and choice.names(column)]
    if key:
        what = f"`exclude_columns` names {', '.join(key)}, which is part of the primary key: rows need their key"
        yield Finding(name, what, "remove it from `exclude_columns`, or declare another `key` for the table")
    for pattern in (*choice.exclude, *choice.include):
        if not any(ColumnChoice((pattern,)).names(column.name) for column in table.columns if not column.system):
            what = f"no column has a name like {pattern}, which `exclude_columns` or `include_columns` contains"
            yield Finding(name, what, "correct the name, unless a later column is meant", "warning")
    documents = [column.name for column in table.documents] if choice.assembles else []
    objects = [*(column.name for column in table.large_objects), *documents]
    if objects and choice.large_objects in ("reread", "redo"):
        yield from object_findings(table, ", ".join(objects), choice)
    if table.rereads_rows:
        yield from reread_findings(table, wanted.key)
    for column in table.columns:
        if not column.system and column.type.name in MAYBE_IGNORED and not wanted.is_stream:
            yield ignored_finding(column, name)
        if column.left_out is None or column.system:
            continue
        kind = f"{column.type}: "
        why = (
            "left out, as pipelines.yml says"
            if column.left_out == "excluded"
            else "left out, because its type is not supported"
        )
        yield Finding(f"{name}.{column.name}", kind + why, severity="note")
        if column.type.name in WHOLE_ROWS_UNSUPPORTED and not table.rereads_rows and not wanted.is_stream:
            what = f"{kind}LogMiner may show each change of a row of such a table as UNSUPPORTED, also of its other columns"
            cure = f"if the table is held for that reason, `unsupported_columns: reread`, or remove {name} from `tables`"
            yield Finding(f"{name}.{column.name}", what, cure, "warning")


def object_findings(table: DictionaryTable, objects: str, choice: ColumnChoice) -> Iterator[Finding]:
    """Check that large objects can be captured as configured, and warn of what the redo may not show."""
    if table.iot:
        how = "not assembled from the redo" if choice.assembles else "read again by ROWID, which its rows do not have"
        what = f"large objects ({objects}) of an index-organized table are {how}"
        yield Finding(str(table.table), what, "leave them out: `large_objects: exclude` of the table")
    elif choice.assembles:
        what = (
            f"large objects ({objects}) are assembled from the redo; on releases before 26ai LogMiner may not show that a "
            "savepoint or a failed statement took back a write of one"
        )
        yield Finding(str(table.table), what, "compare with `redolake verify`, or use `large_objects: reread`", "warning")
        if table.documents:
            yield document_finding(table, ", ".join(column.name for column in table.documents))


def document_finding(table: DictionaryTable, documents: str) -> Finding:
    """Warn of what is not known of the rows in which LogMiner shows documents."""
    what = (
        f"documents ({documents}) are assembled from the redo; by its manual LogMiner shows XMLTYPE with COMMITTED_DATA_ONLY, "
        "which Redolake does not use. An UPDATE of a document that LogMiner does not show at all would be missed"
    )
    return Finding(str(table.table), what, "compare with `redolake verify`, or use `unsupported_columns: reread`", "warning")


def ignored_finding(column: DictionaryColumn, name: str) -> Finding:
    """Warn of a column because of which LogMiner may show no change of the table at all."""
    of = " of some releases" if column.type.name == "VARRAY" else ""
    what = f"{column.type}: by its manual{of}, LogMiner ignores tables with such a column, so that changes could be missed"
    return Finding(
        f"{name}.{column.name}", what, f"compare with `redolake verify {name}`, or remove {name} from `tables`", "warning"
    )


def reread_findings(table: DictionaryTable, key: KeyPolicy) -> Iterator[Finding]:
    """Check that changed rows can be read again whole, and name the columns for which they are."""
    name, unshown = str(table.table), ", ".join(f"{column.name} ({column.type})" for column in table.unshown)
    if table.iot:
        what = f"{unshown}: changed rows are read again by ROWID, which rows of an index-organized table do not have"
        yield Finding(name, what, f"remove {name} from `tables`")
    elif key.kind == "append":
        what = f"{unshown}: changed rows are read again, which needs a key that finds a row, and `append` is none"
        yield Finding(name, what, "declare `key: primary`, `key: rowid` or the columns of a unique index")
    else:
        yield Finding(name, f"changed rows are read again whole, because of {unshown}", severity="note")


def key_findings(table: DictionaryTable, key: KeyPolicy) -> Iterator[Finding]:
    """Check that the declared key identifies rows, and suggest keys that do."""
    name, candidates = str(table.table), [index.columns for index in table.key_candidates]
    certain = [columns for columns in candidates if not table.nullable(columns)] or candidates
    listed = " or ".join(f"`key: {KeyPolicy('columns', columns)}`" for columns in certain)
    without = (f"{listed}, " if listed else "") + "`key: rowid`, or `key: append` where rows are only inserted"
    if key.kind == "primary" and not table.key:
        cure = f"declare a key in `tables`: {without}; or ALTER TABLE {table.in_oracle.in_sql} ADD PRIMARY KEY (...)"
        yield Finding(name, "has no enabled primary key", cure)
    if key.kind == "rowid" and table.iot:
        yield Finding(name, "`key: rowid`: rows of an index-organized table have no ROWIDs", "declare `key: primary`")
    computed = sorted(set(table.key) - {column.name for column in table.captured})
    if key.kind == "primary" and computed:
        yield Finding(
            name, f"the primary key has columns that are not stored: {', '.join(computed)}", f"declare a key: {without}"
        )
    if key.kind == "columns" and not any(set(columns) == set(key.columns) for columns in candidates):
        what = f"`key: {key}`: no valid unique index covers exactly these columns"
        yield Finding(name, what, f"create one, or declare {'`key: primary`, ' if table.key else ''}{without}")
    elif key.kind == "columns" and (nullable := table.nullable(key.columns)):
        stops = table.rereads_rows or table.large_objects or table.iot
        then = "a change of such a row holds the table" if stops else "such a row is known by all its columns"
        what = f"`key: {key}`: {', '.join(nullable)} may be NULL, and {then}"
        yield Finding(
            name, what, f"ALTER TABLE {table.in_oracle.in_sql} MODIFY (.. NOT NULL), or declare `key: rowid`", "warning"
        )


def column_findings(
    table: DictionaryTable,
    rules: Mapping[str, str | int],
    key: Set[str],
    refused: Callable[[OracleType, str | int | None], str | None],
    *,
    is_mined: bool,
) -> Iterator[Finding]:
    names = {c.name for c in table.columns}
    for rule in sorted(set(rules) - names):
        near = get_close_matches(rule.upper(), names, n=1)
        cure = f"did you mean {near[0]}?" if near else "remove the rule from `columns`"
        yield Finding(f"{table.table}.{rule}", "has a rule in `columns` and is not a column of the table", cure)
    for column in table.captured:
        reason = refused(column.type, rules.get(column.name))
        if reason is not None:
            by_rule = column.name in rules and refused(column.type, None) is None
            as_text = refused(column.type, "string") is None
            cure = (
                f"remove its rule from `columns` of {table.table}" if by_rule else refusal_cure(column, table, as_text=as_text)
            )
            yield Finding(f"{table.table}.{column.name}", f"{column.type}: {reason}", cure)
        else:
            yield from unshown_values(column, table, rules.get(column.name), is_mined=is_mined)
    for column in table.captured:
        own = rules.get(column.name)
        if column.name in key and loses_values(column.type, own):
            what = f"is part of the key, and has the rule `{own}`, after which two keys may be one"
            yield Finding(f"{table.table}.{column.name}", what, key_rule_cure(column.type))


def refusal_cure(column: DictionaryColumn, table: DictionaryTable, *, as_text: bool) -> str:
    again = "read its rows again (`unsupported_columns: reread`), " if is_reread(column, table) else ""
    text = f"declare `columns: {{{column.name}: string}}`, " if as_text else ""
    return f"{text}{again}{leave_out(column, table)}drop or move the column, or remove {table.table} from `tables`"


def is_reread(column: DictionaryColumn, table: DictionaryTable) -> bool:
    return is_unshown(column.type.name) and not table.iot and not table.rereads_rows


def leave_out(column: DictionaryColumn, table: DictionaryTable) -> str:
    return (
        "" if column.name in table.key else "leave it out (`exclude_columns` of the table, or `unsupported_columns: exclude`), "
    )


def unshown_values(
    column: DictionaryColumn, table: DictionaryTable, rule: str | int | None, *, is_mined: bool
) -> Iterator[Finding]:
    """Warn of values that the redo or the lake's type cannot show, whether or not there are any yet."""
    name, type_ = f"{table.table}.{column.name}", column.type
    if type_.name == "UROWID" and is_mined and not table.rereads_rows:
        what = "UROWID: LogMiner was seen to show `Unsupported Type` in place of a value, which would hold the table"
        again = "read its rows again (`unsupported_columns: reread`), " if is_reread(column, table) else ""
        yield Finding(name, what, f"{again}{leave_out(column, table)}or wait for such a row", "warning")
    is_moment = type_.name.startswith("TIMESTAMP") and rule is None
    if (is_moment or rule == "microseconds") and (type_.scale or 0) > MICROSECONDS:
        what = f"{type_}: the lake's type has microseconds, and a value with a fraction below one holds the table"
        other = ", or `truncate`" if is_moment else ""
        cure = f"declare the column under `columns` as `string`, which keeps it{other}, unless no value has one"
        yield Finding(name, what, cure, "warning")
