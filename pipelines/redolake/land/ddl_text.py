"""Tables that a DDL changes although its redo row names another table, or none. Pure.

TRUNCATE .. CASCADE removes the rows of referencing tables. DROP PARTITION removes those of tables that are partitioned by
reference; SPLIT, MERGE, COALESCE and ADD, of a hash, give theirs new ROWIDs. The only redo row is that of the first table.
RENAME gives a table the name of another one that was dropped; its only redo row has the old name.
EXCHANGE PARTITION moves the rows of a table to a partition of another one; its only redo row names the partitioned table.
DROP USER drops a schema's tables, TRUNCATE CLUSTER empties those of a cluster, and FLASHBACK TABLE may list several.
LogMiner shows a DDL without name and number when its object no longer exists.

A name without an owner is one of the session's schema, which no row contains. Where the first table has no owner in the text
either, that schema is the one of the row, or, if the first name is a synonym, that of the user. Oracle's manual has no ALTER
TABLE for synonyms, so the user's table counts besides. In all other cases every captured owner counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redolake.values.table import TableId, upper_name

ANY_OWNER = "*"  # of a table that a statement names without an owner, where nothing says whose it is

# A quoted name is a number in quotes here (see _Statement).
_NAME = r'("\d+"|[^\W\d][\w$#]*)'
_TABLE = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
# Literals and comments may contain anything, so they are removed. A q-quoted text may contain quotes, single and double ones.
_IGNORED = re.compile(
    r"""("[^"]*")|(?<![\w$#])[nN]?[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|([^\s\[{(<']).*?\2)'|'[^']*'|/\*.*?\*/|--[^\n]*""",
    re.DOTALL,
)
_EXISTS = r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
_EXCHANGED = re.compile(
    rf"\s*ALTER\s+TABLE\s+{_EXISTS}{_TABLE}.*?\bEXCHANGE\s+(?:SUB)?PARTITION\b.*?\bWITH\s+TABLE\s+{_TABLE}",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(rf"\s*(?:(?:ALTER|CREATE|DROP|FLASHBACK|TRUNCATE)\s+TABLE|RENAME)\s+{_EXISTS}{_TABLE}", re.IGNORECASE)
_LISTED = re.compile(rf"\s*FLASHBACK\s+TABLE\s+({_TABLE}(?:\s*,\s*{_TABLE})+)", re.IGNORECASE)
_CASCADES = re.compile(
    rf"\s*(?:TRUNCATE\s+TABLE\s+{_EXISTS}{_TABLE}"
    rf"|ALTER\s+TABLE\s+{_EXISTS}{_TABLE}.*?\b(?:TRUNCATE|EXCHANGE)\s+(?:SUB)?PARTITIONS?\b).*\bCASCADE\b",
    re.IGNORECASE | re.DOTALL,
)
_RENAMED = re.compile(rf"\bTO\s+{_TABLE}[\s;\0]*$", re.IGNORECASE)
_GETS_NAME = re.compile(
    rf"\s*(?:RENAME\s+{_NAME}|ALTER\s+TABLE\s+{_EXISTS}{_TABLE}\s+RENAME"
    rf"|FLASHBACK\s+TABLE\s+{_TABLE}\s+TO\s+BEFORE\s+DROP\s+RENAME)\s+TO\s+{_NAME}[\s;\0]*$",
    re.IGNORECASE,
)
# ADD of a partition with VALUES moves no row; Oracle itself adds such partitions all the time.
_WITH_VALUES = rf"\s+(?:SUB)?PARTITION\s+(?:{_NAME}\s+)?VALUES\b"
_OF_PARTITION = rf"(?:MODIFY\s+PARTITION\s+(?:FOR\s*\([^)]*\)|{_NAME})\s+)?"
_CHANGES_PARTITION = re.compile(
    rf"\s*ALTER\s+TABLE\s+{_EXISTS}{_TABLE}"
    rf"(\s+{_OF_PARTITION}(?:DROP|SPLIT|MERGE|COALESCE|ADD(?!{_WITH_VALUES}))\s+(?:SUB)?PARTITIONS?\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_MAY_END_PARTITION = re.compile(
    r"\b(?:DROP|SPLIT|MERGE|COALESCE|EXCHANGE|RENAME|CREATE|FLASHBACK|PARTITION\s+BY)\b", re.IGNORECASE
)
_USER = re.compile(rf"\s*DROP\s+USER\s+{_EXISTS}{_NAME}", re.IGNORECASE)
_CLUSTER = re.compile(
    rf"\s*(?:TRUNCATE\s+CLUSTER\s+{_TABLE}|DROP\s+CLUSTER\s+{_EXISTS}{_TABLE}\s+INCLUDING\s+TABLES)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement without literals and comments. Each quoted name is its number in quotes: it may contain any words."""

    text: str
    quoted: tuple[str, ...]

    @classmethod
    def of(cls, sql: str | None) -> _Statement:
        quoted: list[str] = []

        def plain(found: re.Match[str]) -> str:
            if found[1] is None:
                return " "
            quoted.append(found[1])
            return f'"{len(quoted) - 1}"'

        return cls(_IGNORED.sub(plain, sql or ""), tuple(quoted))

    def table(self, first: str, second: str | None) -> tuple[str | None, str]:
        """Return the owner, if there is one, and the name as the dictionary spells them."""
        return (None, self.name(first)) if second is None else (self.name(first), self.name(second))

    def name(self, found: str) -> str:
        return self.quoted[int(found[1:-1])][1:-1] if found.startswith('"') else upper_name(found)

    def restore(self, part: str) -> str:
        return re.sub(r'"(\d+)"', lambda found: self.quoted[int(found[1])], part)


def new_name(sql: str) -> str | None:
    """Return the name after TO at the end of a RENAME; None for other statements."""
    statement = _Statement.of(sql)
    match = _RENAMED.search(statement.text)
    return None if match is None else statement.table(*match.groups())[1]


def changed_partition(sql: str) -> str | None:
    """Return what follows the table's name in an ALTER TABLE that changes partitions by reference too; None for others."""
    statement = _Statement.of(sql)
    match = _CHANGES_PARTITION.match(statement.text)
    return None if match is None else statement.restore(match[3])


def may_end_partition(sql: str) -> bool:
    """Return whether a DDL of a table may end one of its partitions. Other words than those of the statement count too."""
    return _MAY_END_PARTITION.search(sql) is not None or not sql.strip()


def cascading_sources(row: Mapping[str, Any], owners: Collection[str]) -> list[str]:
    """Return from what the DDL reaches tables that it does not name: a table to which others refer, with ANY_OWNER where its
    owner is open; `user U`, if it is one of the `owners`; or `cluster O.C`."""
    statement = _Statement.of(row["sql_redo"])
    user, cluster = _USER.match(statement.text), _CLUSTER.match(statement.text)
    if user is not None:
        name = statement.name(user[1])
        return [f"user {name}"] if name in owners else []
    if cluster is not None:
        owner, name = statement.table(*_two(cluster.groups()))
        return [f"cluster {TableId(owner or _owner_of(row) or ANY_OWNER, name)}"]
    match = _CASCADES.match(statement.text) or _CHANGES_PARTITION.match(statement.text)
    if match is None:
        return []
    owner, name = statement.table(*_two(match.groups()))
    found = [TableId(owner or _owner_of(row) or ANY_OWNER, name)]
    exchanged = _EXCHANGED.match(statement.text)
    if exchanged is not None:
        theirs, partner = statement.table(exchanged[3], exchanged[4])
        found.append(TableId(theirs or (None if owner else _owner_of(row)) or ANY_OWNER, partner))
    return [str(table) for table in found]


def _two(groups: Iterable[str | None]) -> tuple[str, str | None]:
    """Return the first table of a match, of which only one alternative has matched."""
    parts = list(groups)
    at = next(number for number, part in enumerate(parts) if part is not None)
    return str(parts[at]), parts[at + 1]


def is_group(source: str) -> bool:
    """Return whether a cascading source is a user or a cluster. A table whose name has small letters is in quotes."""
    return source.startswith(("user ", "cluster "))


def is_source(source: str, table: str) -> bool:
    """Return whether a cascading source is, or may be, the table."""
    if not source.startswith(f"{ANY_OWNER}."):
        return source == table
    return TableId.parse(source).name == TableId.parse(table).name


def tables_in_text(row: Mapping[str, Any], captured: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the owners and names of captured tables that the DDL changes and that only its text names: all that it may mean. A
    DDL of another object with the same name has none."""
    statement = _Statement.of(row["sql_redo"])
    named = list(_named_tables(statement, row))
    found = [pair for owner, name in named for pair in _meant(owner, name, captured)]
    return list(dict.fromkeys(found))


def table_of_user(row: Mapping[str, Any], captured: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the captured table of the session's user that an EXCHANGE PARTITION means if its first name is a synonym."""
    statement = _Statement.of(row["sql_redo"])
    match, user, owner = _EXCHANGED.match(statement.text), row["username"], _owner_of(row)
    if match is None or match[2] is not None or match[4] is not None or user == owner:
        return None
    found = (user, statement.name(match[3]))
    return found if found in captured else None


def is_nameless(row: Mapping[str, Any]) -> bool:
    return not row["object_id"] and (row["table_name"] is None or row["seg_owner"] in (None, "UNKNOWN"))


def _named_tables(statement: _Statement, row: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Yield the owner and name of each table that the text has and the row has not; no owner where that is open."""
    exchanged = _EXCHANGED.match(statement.text)
    if exchanged is not None:
        first, (owner, name) = statement.table(*exchanged.groups()[:2]), statement.table(exchanged[3], exchanged[4])
        yield owner or (None if first[0] else _owner_of(row)), name
    renamed = _GETS_NAME.match(statement.text)
    if renamed is not None:  # the table keeps its owner
        owner = renamed[2] if renamed[3] else renamed[4] if renamed[5] else None
        yield _owner_of(row) or (None if owner is None else statement.name(owner)), statement.name(renamed[6])
    own = _OBJECT.match(statement.text) if is_nameless(row) else None
    if own is not None:
        owner, name = statement.table(*own.groups())
        yield owner or _owner_of(row), name
    listed = _LISTED.match(statement.text)
    for name in () if listed is None else listed[1].split(",")[1:]:
        match = re.fullmatch(_TABLE, name.strip())
        if match is not None:
            yield statement.table(*match.groups())


def _owner_of(row: Mapping[str, Any]) -> str | None:
    return row["seg_owner"] if row["seg_owner"] not in (None, "", "UNKNOWN") else None


def _meant(owner: str | None, name: str, captured: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    if owner is not None:
        return [(owner, name)] if (owner, name) in captured else []
    return sorted(pair for pair in captured if pair[1] == name)
