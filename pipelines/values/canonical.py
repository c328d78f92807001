"""The text by which Oracle and Spark hash a value alike, by the column's type in both.

Each form has one expression in Oracle's SQL (source/buckets.py) and one in Spark's (apply/verify/buckets.py). Both give the
same text for the same value, and Spark's gives different texts for different values of the lake. So a bucket with equal hashes
is equal. Where the texts of equal values differ, the bucket is read and compared by its values: that costs time and hides
nothing.

A column without a form is read from Oracle and compared by its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from pipelines.values.delivery import Appended, NullableKey, delivery_of
from pipelines.values.redo import Encoding
from pipelines.values.table import ROWID_COLUMN, OracleType, Rules, TableVersion, TypeRule

Form = Literal[
    "number", "number as text", "float", "double", "date", "timestamp", "truncated timestamp", "date as text",
    "timestamp as text", "instant", "truncated instant", "zoned as text", "local as text", "text", "national text", "octets",
    "rowid", "urowid",
]  # fmt: skip
FORMS: tuple[Form, ...] = get_args(Form)
T = TypeVar("T")
# Both sides must hash alike. MD5 has 32 digits; a sum of 15 of them over 10^19 rows is still exact.
PARTS = ((1, 15), (16, 15))
COLUMNS_OF_A_HASH = 50  # their texts have up to 64 bytes each, and a text of SQL up to 4,000
WHOLE_HASH = 32  # digits: each key is a bucket of its own
_TEXTS = frozenset({"VARCHAR2", "CHAR", "EXTENDED VARCHAR2"})
_NATIONAL = frozenset({"NVARCHAR2", "NCHAR", "EXTENDED NVARCHAR2"})
_OCTETS = frozenset({"RAW", "EXTENDED RAW"})
_INSTANTS = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"})
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
_TRUNCATED: dict[Form, Form] = {"timestamp": "truncated timestamp", "instant": "truncated instant"}


def groups_of(columns: Sequence[T]) -> list[Sequence[T]]:
    """Return the columns in groups that one hash can have; the hash of a row with several is that of their hashes."""
    return [columns[i : i + COLUMNS_OF_A_HASH] for i in range(0, len(columns), COLUMNS_OF_A_HASH)]


def form_of(type_: OracleType, rule: TypeRule, lake_type: str, encoding: Encoding) -> Form | None:
    """Return the form of a column's values; None where one side has no text of them. `lake_type` is the type in Spark SQL."""
    if type_.name in ("NUMBER", "FLOAT"):
        return _form_of_number(lake_type)
    if type_.name in _TEXTS:  # the hash is that of the bytes in the database's character set
        return "text" if lake_type == "string" and encoding.text == "AL32UTF8" else None
    if type_.name in _NATIONAL:
        return "national text" if lake_type == "string" and encoding.national == "AL16UTF16" else None
    if type_.name in _OCTETS:
        return "octets" if lake_type == "binary" else None
    found = _BY_TYPE.get((type_.name, lake_type))
    return _TRUNCATED[found] if found in _TRUNCATED and rule == "truncate" else found


def _form_of_number(lake_type: str) -> Form | None:
    if lake_type in ("int", "bigint") or lake_type.startswith("decimal"):
        return "number"
    return "number as text" if lake_type == "string" else None


@dataclass(frozen=True, slots=True)
class HashPlan:
    """What is hashed of a table's rows, by column id: the key, by which they are put into buckets of so many hexadecimal
    `digits`, and all columns that have a form. `fetched` are those without one. Without a key the row's own hash says its
    bucket."""

    key: tuple[tuple[int, Form], ...]
    columns: tuple[tuple[int, Form], ...]
    fetched: tuple[int, ...]
    digits: int

    @property
    def buckets(self) -> int:
        return int(16**self.digits)


def hash_plan(
    version: TableVersion, rules: Rules, lake_type: Callable[[OracleType, TypeRule], str], encoding: Encoding, digits: int
) -> HashPlan | None:
    """Return how the table's rows are hashed; None for a table of which equal hashes would not prove that it is equal, and for
    one whose columns in the lake are computed from those in Oracle."""
    if version.mapping is not None:
        return None
    forms: dict[int, Form | None] = {
        c.id: form_of(c.type, rules.get(c.id), lake_type(c.type, rules.get(c.id)), encoding) for c in version.columns
    }
    if version.key_kind == "rowid":
        forms = {ROWID_COLUMN: "rowid", **forms}
    known = {number: form for number, form in forms.items() if form is not None}
    fetched = tuple(number for number in forms if number not in known)
    # Rows that are known by all their columns cannot be compared by some of them.
    is_whole = isinstance(delivery_of(version), (Appended, NullableKey))
    if any(number in fetched for number in version.key) or (fetched and is_whole):
        return None
    return HashPlan(tuple((number, known[number]) for number in version.key), tuple(known.items()), fetched, digits)
