"""What the lake cannot hold of a table, by the names and types of its columns alone.

Doctor and init ask before a load, the load asks again, and a DDL that adds or renames a column asks for its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redolake.values.null_rule import own_rule
from redolake.values.table import REPLACE, ROWID_NAME, OracleType, TypeRule
from redolake.values.target_options import TargetOptions

# Delta writes no column whose name contains one of these, unless column mapping gives it another name in the files.
MAPPED_CHARACTERS = frozenset(" ,;{}()\n\t=")
# Delta names columns of its own so while it merges: a MERGE into a table with such a column fails.
OF_MERGE = ("_metadata", "_row_dropped_", "_source_row_present_", "_target_row_present_")
OF_CHANGE_FEED = ("_change_type", "_commit_version", "_commit_timestamp")
CHANGE_FEED = ("delta.enableChangeDataFeed", "true")
MOST_CLUSTERED = 4
MICROSECONDS = 6
MEASURED = "delta.dataSkippingNumIndexedCols"  # of so many columns, 32 by default, Delta keeps minima, which clustering needs
NAMED_MEASURED = "delta.dataSkippingStatsColumns"
RENAME = "give one of them another name in the lake (`rename` of the table), or leave one out (`exclude_columns`)"


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column by its name in the lake and its type in Spark SQL. A large one holds values of any length."""

    name: str
    type: str
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    what: str
    cure: str
    names: tuple[str, ...] = ()  # of columns in the lake, where a name is the reason


def conflicts(columns: Sequence[LakeColumn], options: TargetOptions, *, has_rowid: bool) -> Iterator[Conflict]:
    """Yield why the lake cannot hold the table. With `has_rowid` its rows have a ROWID, as key or to be read again by."""
    yield from name_conflicts([column.name for column in columns], options, has_rowid=has_rowid)
    yield from mapping_conflicts([column.name for column in columns], options)
    yield from partition_conflicts(columns, options)
    yield from cluster_conflicts(columns, options)


MERGING_RULES = (REPLACE, "truncate")  # after which two values may be one


def loses_values(type_: OracleType, rule: TypeRule) -> bool:
    """Return whether two values of the type may be one in the lake by the rule. All other rules keep each value, or stop."""
    own = own_rule(rule)
    return own == REPLACE or (own == "truncate" and (type_.scale or 0) > MICROSECONDS)


def key_rule_cure(type_: OracleType) -> str:
    """Return the rule that keeps each value where `loses_values`."""
    other = "string" if type_.name.startswith("TIMESTAMP") else "binary"
    return f"declare `{other}` for it, which keeps each value; or remove the rule, where no value needs it"


def fold(name: str) -> str:
    """Return what Delta compares of a name. It ignores case, and tells the two small sigmas apart."""
    return name.lower()


def name_conflicts(names: Sequence[str], options: TargetOptions, *, has_rowid: bool) -> Iterator[Conflict]:
    feed = CHANGE_FEED in options.properties
    own = {
        "`metadata_columns`": options.metadata_columns,
        "`deletes: mark`": tuple(set(options.own_columns) - set(options.metadata_columns)),
        "`key: rowid` and rows that are read again": (ROWID_NAME,) if has_rowid else (),
    }
    for whose, reserved in (("Redolake", own), ("Delta", {"`change_data_feed`": OF_CHANGE_FEED if feed else (), "": OF_MERGE})):
        yield from reserved_conflicts(names, whose, reserved)
    if feed and (quoted := sorted(name for name in names if "`" in name)):
        what = f"column names with a backtick, which Delta cannot write into its change data feed: {', '.join(quoted)}"
        cure = "do without `change_data_feed`, or leave the columns out (`exclude_columns` of the table)"
        yield Conflict(what, cure, tuple(quoted))
    counts = Counter(map(fold, names))
    twice = sorted(name for name in names if counts[fold(name)] > 1)
    if twice:
        what = f"column names differ only in case, which Delta does not distinguish: {', '.join(twice)}"
        yield Conflict(what, RENAME, tuple(twice))


def reserved_conflicts(names: Iterable[str], whose: str, reserved: Mapping[str, Collection[str]]) -> Iterator[Conflict]:
    """Yield a conflict for names that are reserved. `reserved` has them by the settings without which they are free."""
    given = {fold(name): name for name in names}
    taken = [name for group in reserved.values() for name in sorted(group) if name in given]
    if taken:
        shown = ", ".join(name if given[name] == name else f"{name} (here {given[name]})" for name in taken)
        settings = " and ".join(setting for setting, group in reserved.items() if setting and set(group) & set(taken))
        without = f"; or do without {settings}" if settings else ""
        cure = f"give them other names in the lake (`rename` of the table), or leave them out (`exclude_columns`){without}"
        yield Conflict(f"column names are reserved for {whose}: {shown}", cure, tuple(given[name] for name in taken))


def needs_mapping(name: str) -> bool:
    return bool(MAPPED_CHARACTERS & set(name))


def mapping_conflicts(names: Iterable[str], options: TargetOptions) -> Iterator[Conflict]:
    found = sorted(name for name in names if options.readers == "any" and needs_mapping(name))
    if found:
        yield Conflict(
            f"column names need column mapping, which `readers: any` does not allow: {', '.join(found)}",
            "declare `readers: spark`, or leave the columns out (`exclude_columns` of the table)",
            tuple(found),
        )


def layout_conflicts(setting: str, wanted: Sequence[str], columns: Sequence[LakeColumn]) -> Iterator[Conflict]:
    cure = f"correct `{setting}` of the table"
    names = [column.name for column in columns]
    absent = [name for name in wanted if name not in names]
    if absent:
        yield Conflict(f"`{setting}` names columns that the table does not have: {', '.join(absent)}", cure)
    if twice := sorted(name for name, count in Counter(wanted).items() if count > 1):
        yield Conflict(f"`{setting}` names a column twice: {', '.join(twice)}", cure)


def partition_conflicts(columns: Sequence[LakeColumn], options: TargetOptions) -> Iterator[Conflict]:
    wanted = [options.name(name) for name in options.partition_by]
    if not wanted:
        return
    yield from layout_conflicts("partition_by", wanted, columns)
    for column in columns:
        why = not_in_a_path(column)
        if column.name in wanted and why is not None:
            yield Conflict(
                f"`partition_by` names {column.name}, of type {column.type}: {why}",
                "partition by whole numbers, short texts or dates, or use `cluster_by`, which takes any value",
            )
    if {*wanted} >= {column.name for column in columns} and not options.own_columns:
        yield Conflict("`partition_by` names all columns of the table, and Delta needs one outside", "leave one out of it")


def not_in_a_path(column: LakeColumn) -> str | None:
    """Return why no partition's path can hold the column's values, or None."""
    if column.type == "binary":
        return "a path holds text, and bytes that are no text would change"
    if column.is_large:
        return "its values may be longer than a path"
    if column.type in ("double", "float"):
        return "-0 and 0 are one value and two paths, of which DuckDB finds one"
    if re.fullmatch(r"decimal\(\d+,[1-9]\d*\)", column.type):
        return "delta-rs reads no table with a negative fraction such as -0.5 in a path"
    return None


def cluster_conflicts(columns: Sequence[LakeColumn], options: TargetOptions) -> Iterator[Conflict]:
    wanted = [options.name(name) for name in options.cluster_by]
    yield from layout_conflicts("cluster_by", wanted, columns)
    cure = "correct `cluster_by` of the table"
    if len(wanted) > MOST_CLUSTERED:
        yield Conflict(f"`cluster_by` names {len(wanted)} columns, and Delta takes {MOST_CLUSTERED}", cure)
    unordered = [f"{c.name} {c.type}" for c in columns if c.name in wanted and c.type in ("binary", "boolean")]
    if unordered:
        yield Conflict(f"`cluster_by` names columns of types by which Delta does not cluster: {', '.join(unordered)}", cure)
    properties = dict(options.properties)
    most = int(properties.get(MEASURED, 32)) if properties.get(MEASURED, "32").lstrip("-").isdigit() else -1
    beyond = [column.name for column in columns[most:] if column.name in wanted] if most >= 0 else []
    if beyond and NAMED_MEASURED not in properties:
        what = f"`cluster_by` names columns after the first {most}, of which Delta keeps no minima: {', '.join(beyond)}"
        yield Conflict(what, f"set `properties: {{{MEASURED}: {len(columns)}}}` of the table, or correct `cluster_by`")
