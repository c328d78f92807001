"""The text by which Oracle and Spark hash a value alike, by the column's type in both.

Each form has one expression in Oracle's SQL (source/buckets.py) and one in Spark's (apply/verify/buckets.py). Both give the
same text for the same value, and Spark's gives different texts for different values of the lake. So a bucket with equal hashes
is equal. Where the texts of equal values differ, the bucket is read and compared by its values: that costs time and hides
nothing.

A column without a form is read from Oracle and compared by its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

from redolake.values.delivery import delivery_of
from redolake.values.null_rule import own_rule
from redolake.values.redo import Encoding
from redolake.values.table import ROWID_COLUMN, OracleType, Rules, TableVersion, TypeRule

Form = Literal[
    "number", "number as text", "float", "double", "date", "timestamp", "truncated timestamp", "date as text",
    "timestamp as text", "instant", "truncated instant", "zoned as text", "local as text", "text", "national text",
    "converted text", "long converted text", "octets",
    "rowid", "urowid",
]  # fmt: skip
FORMS: tuple[Form, ...] = get_args(Form)
T = TypeVar("T")
# Both sides must hash alike. MD5 has 32 digits; a sum of 15 of them over 10^19 rows is still exact.
PARTS = ((1, 15), (16, 15))
# A text that is converted to UTF-8 is hashed in pieces of so many characters: Oracle's texts end at 4,000 bytes.
PIECE = 1000
PIECES = range(1, 4001, PIECE)
COLUMNS_OF_A_HASH = 50  # their texts have up to 64 bytes each, and a text of SQL up to 4,000
BUCKET, ROW_HASH = "redolake: bucket", "redolake: hash"  # columns beside those of a table, as no sane table has them
WHOLE_HASH = 32  # digits: each key is a bucket of its own
_TEXTS = frozenset({"VARCHAR2", "CHAR", "EXTENDED VARCHAR2"})
_NATIONAL = frozenset({"NVARCHAR2", "NCHAR", "EXTENDED NVARCHAR2"})
_OCTETS = frozenset({"RAW", "EXTENDED RAW"})
# Forms of types that have one, by the type in Spark.
_BY_TYPE: dict[tuple[str, str], Form] = {
    ("BINARY_FLOAT", "float"): "float",
    ("BINARY_DOUBLE", "double"): "double",
    ("DATE", "timestamp_ntz"): "date",
    ("DATE", "string"): "date as text",
    ("TIMESTAMP", "timestamp_ntz"): "timestamp",
    ("TIMESTAMP", "string"): "timestamp as text",
    ("TIMESTAMP WITH TIME ZONE", "timestamp"): "instant",
    ("TIMESTAMP WITH LOCAL TIME ZONE", "timestamp"): "instant",
    ("TIMESTAMP WITH TIME ZONE", "string"): "zoned as text",
    ("TIMESTAMP WITH LOCAL TIME ZONE", "string"): "local as text",
    ("ROWID", "string"): "rowid",
    ("UROWID", "string"): "urowid",
}
_COMPUTED: dict[str, Form] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "number"), "string": "text", "binary": "octets", "float": "float",
    "double": "double", "timestamp_ntz": "timestamp", "timestamp": "instant",
}  # fmt: skip
_TRUNCATED: dict[Form, Form] = {"timestamp": "truncated timestamp", "instant": "truncated instant"}


def groups_of(columns: Sequence[T]) -> list[Sequence[T]]:
    """Return the columns in groups that one hash can have; the hash of a row with several is that of their hashes."""
    return [columns[i : i + COLUMNS_OF_A_HASH] for i in range(0, len(columns), COLUMNS_OF_A_HASH)]


def form_of(type_: OracleType, rule: TypeRule, lake_type: str, encoding: Encoding) -> Form | None:
    """Return the form of a column's values; None where one side has no text of them. `lake_type` is the type in Spark SQL."""
    if type_.name in ("NUMBER", "FLOAT"):
        return _form_of_number(lake_type)
    if type_.name in _TEXTS:
        return _form_of_text(type_, encoding) if lake_type == "string" else None
    if type_.name in _NATIONAL:
        return "national text" if lake_type == "string" and encoding.national == "AL16UTF16" else None
    if type_.name in _OCTETS:
        return "octets" if lake_type == "binary" else None
    found = _BY_TYPE.get((type_.name, lake_type))
    return _TRUNCATED[found] if found in _TRUNCATED and own_rule(rule) == "truncate" else found


def _form_of_text(type_: OracleType, encoding: Encoding) -> Form | None:
    """Return the form of a text. Oracle hashes the bytes in the database's character set, so it converts them to UTF-8 before:
    the driver lets the server do the same."""
    if encoding.text == "AL32UTF8":
        return "text"
    if type_.name == "EXTENDED VARCHAR2" or type_.length is None:
        return None  # too long for so few pieces
    return "converted text" if type_.length <= PIECE else "long converted text"


def _form_of_number(lake_type: str) -> Form | None:
    if lake_type in ("int", "bigint") or lake_type.startswith("decimal"):
        return "number"
    return "number as text" if lake_type == "string" else None


def columns_behind(version: TableVersion, columns: Collection[int]) -> frozenset[int]:
    """Return the columns of Oracle that must be read to compare these columns of the lake: with the key, and with all that the
    mapping is made of. All columns if none is named."""
    own = frozenset(c.id for c in version.columns)
    if not columns:
        return own
    needs = frozenset[int]() if version.mapping is None else version.mapping.needs
    return own & {*version.key, *columns, *needs}


def of_filter(version: TableVersion) -> TableVersion | None:
    """Return the version with the columns by which its rows pass the table's filter; None for a table that has none."""
    if version.mapping is None or version.mapping.where is None:
        return None
    kept = {*version.key, *version.mapping.where.needs}
    columns = tuple(column for column in version.columns if column.id in kept)
    return replace(version, columns=columns, mapping=version.mapping.filter_alone)


@dataclass(frozen=True, slots=True)
class HashPlan:
    """What is hashed of a table's rows, by column id: the key, by which they are put into buckets of so many hexadecimal
    `digits`, and all columns that have a form. `fetched` are those without one. Without a key the row's own hash says its
    bucket. `clear_key` is the key in Oracle, where a mapping computes that of the lake: then the sides have no common
    buckets, and `key` only names rows."""

    key: tuple[tuple[int, Form], ...]
    columns: tuple[tuple[int, Form], ...]
    fetched: tuple[int, ...]
    digits: int
    clear_key: tuple[tuple[int, Form], ...] = ()

    @property
    def bucketed(self) -> tuple[tuple[int, Form], ...]:
        """The columns whose hash says a row's bucket, and names the row."""
        return self.key or self.columns

    @property
    def buckets(self) -> int:
        return int(16**self.digits)


def hash_plan(
    version: TableVersion, rules: Rules, lake_type: Callable[[OracleType, TypeRule], str], encoding: Encoding, digits: int
) -> HashPlan | None:
    """Return how the table's rows are hashed; None for a table of which equal hashes would not prove that it is equal. Columns
    of the lake that a mapping computes have no form: Oracle cannot compute them as Spark does."""
    forms: dict[int, Form | None] = {
        c.id: form_of(c.type, rules.get(c.id), lake_type(c.type, rules.get(c.id)), encoding) for c in version.columns
    }
    if version.key_kind == "rowid":
        forms = {ROWID_COLUMN: "rowid", **forms}
    computed = {} if version.mapping is None else {one.id: _form_of_computed(one.type) for one in version.mapping.computed}
    in_oracle = tuple((number, form) for number in version.key if (form := forms[number]) is not None)
    in_lake = tuple((number, form) for number in version.key if (form := {**forms, **computed}[number]) is not None)
    known = {number: form for number, form in forms.items() if form is not None and number not in computed}
    fetched = tuple(number for number in {**forms, **computed} if number not in known)
    # Rows that are known by all their columns cannot be compared by some of them.
    is_whole = not delivery_of(version).names_rows
    if len(version.key) > min(len(in_oracle), len(in_lake)) or (fetched and is_whole):
        return None
    clear = in_oracle if any(number in computed for number in version.key) else ()
    return HashPlan(in_lake, tuple(known.items()), fetched, digits, clear)


def naming_plan(
    version: TableVersion, rules: Rules, lake_type: Callable[[OracleType, TypeRule], str], encoding: Encoding
) -> HashPlan | None:
    """Return how rows are named that a whole row names, where some of its columns are computed or have no form: by the key, or
    by the other columns, as both sides have them. Rows that are equal in these have one name. None where there is no such
    column."""
    computed = set() if version.mapping is None else {one.id for one in version.mapping.computed}
    forms = {
        c.id: form
        for c in version.columns
        if c.id not in computed and (form := form_of(c.type, rules.get(c.id), lake_type(c.type, rules.get(c.id)), encoding))
    }
    names = [number for number in version.key or forms if number in forms]
    if delivery_of(version).names_rows or not names or len(names) < len(version.key):
        return None
    by = tuple((number, forms[number]) for number in names)
    return HashPlan(by if version.key else (), by, (), WHOLE_HASH)


def _form_of_computed(lake_type: str) -> Form | None:
    """Return the form by which Spark names a key that it has computed."""
    return "number" if lake_type.startswith("decimal") else _COMPUTED.get(lake_type)


def of_key(version: TableVersion) -> TableVersion:
    """Return the version with the columns from which the key of the lake is computed."""
    assert version.mapping is not None
    computed = tuple(one for one in version.mapping.computed if one.id in version.key)
    kept = {*version.key, *(i for one in computed for i in one.needs)}
    mapping = replace(version.mapping, computed=computed, where=None, transform=None)
    return replace(version, columns=tuple(column for column in version.columns if column.id in kept), mapping=mapping)
