"""Hash a table's rows inside Oracle, so that they need not be fetched to be compared.

Rows are put into buckets by the first hexadecimal digits of the MD5 of their key's text. The database returns for each bucket
the number of rows and two sums over parts of the MD5 of each row's text: the sums do not depend on the order, and equal rows do
not cancel. values/canonical.py says which text a value has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redolake.source.oracle import Source
from redolake.source.quoting import quote
from redolake.source.snapshot import DATE_TEXT, WHOLE, Part, show_all_rows
from redolake.values.canonical import PARTS, PIECE, PIECES, Form, groups_of
from redolake.values.datatypes import NUMBER_TEXT, UTC_TEXT, ZONED_TEXT
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn

HASH = "RAWTOHEX(STANDARD_HASH({0}, 'MD5'))"
NANOSECONDS = DATE_TEXT.format(fraction=".FF9")
SECONDS = DATE_TEXT.format(fraction="")
CONVERTED = HASH.replace("{0}", "CONVERT({0}, 'AL32UTF8')")
UP_TO_FRACTION = 20  # characters of a sign, a date and a time
UP_TO_MICROSECONDS, UP_TO_ZONE = UP_TO_FRACTION + 7, UP_TO_FRACTION + 10
# A fraction always has its point, so that no zero of the seconds goes with its zeros.
WITHOUT_ZEROS = "LTRIM(RTRIM(RTRIM({0}, '0'), '.'))"
MASK = "X" * max(length for _, length in PARTS)
MOST_BUCKETS = 1000  # in a list of SQL


def _of(text: str, expression: str) -> str:
    return text.replace("{0}", expression)


TEXTS: Mapping[Form, str] = {
    "number": NUMBER_TEXT,
    "number as text": _of(HASH, NUMBER_TEXT),
    "float": "RAWTOHEX(UTL_RAW.CAST_FROM_BINARY_FLOAT({0}))",
    "double": "RAWTOHEX(UTL_RAW.CAST_FROM_BINARY_DOUBLE({0}))",
    "date": f"{SECONDS} || '.000000000'",
    "timestamp": NANOSECONDS,
    "truncated timestamp": f"SUBSTR({NANOSECONDS}, 1, {UP_TO_MICROSECONDS}) || '000'",
    "date as text": _of(HASH, f"LTRIM({SECONDS})"),
    "timestamp as text": _of(HASH, _of(WITHOUT_ZEROS, NANOSECONDS)),
    "instant": UTC_TEXT,
    "truncated instant": f"SUBSTR({UTC_TEXT}, 1, {UP_TO_MICROSECONDS}) || '000'",
    "zoned as text": _of(
        HASH,
        _of(WITHOUT_ZEROS, f"SUBSTR({ZONED_TEXT}, 1, {UP_TO_ZONE})") + f" || SUBSTR({ZONED_TEXT}, {UP_TO_ZONE + 1})",
    ),
    "local as text": _of(HASH, _of(WITHOUT_ZEROS, UTC_TEXT) + " || ' +00:00'"),
    "text": HASH,
    "national text": HASH,
    "converted text": CONVERTED,
    "long converted text": _of(HASH, " || ".join(_of(CONVERTED, f"SUBSTR({{0}}, {at}, {PIECE})") for at in PIECES)),
    "octets": HASH,
    "rowid": _of(HASH, "ROWIDTOCHAR({0})"),
    "urowid": _of(HASH, "CAST({0} AS VARCHAR2(4000))"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """A column by its name, or ROWID where `name` is None."""

    name: str | None
    form: Form

    @property
    def text(self) -> str:
        """The expression of its text, empty for NULL."""
        value = "ROWID" if self.name is None else quote(self.name)
        text = TEXTS[self.form].replace("{0}", value)
        return f"CASE WHEN {value} IS NOT NULL THEN {text} END" if self.form in NOT_NULL_OF_NULL else text


# The hash of NULL is that of no bytes.
NOT_NULL_OF_NULL = frozenset(form for form, text in TEXTS.items() if "STANDARD_HASH" in text or "||" in text)


@dataclass(frozen=True, slots=True)
class Hashing:
    """What is hashed of a table's rows: the key, by which they are put into buckets of so many `digits`, and the columns.
    Without a key the row's own hash says its bucket."""

    key: tuple[HashedColumn, ...]
    columns: tuple[HashedColumn, ...]
    digits: int

    @property
    def key_hash(self) -> str:
        """The expression of the hash that says a row's bucket."""
        return hash_of(self.key or self.columns)

    @property
    def bucket(self) -> str:
        return f"SUBSTR({self.key_hash}, 1, {self.digits})"


def hash_of(columns: Sequence[HashedColumn]) -> str:
    """Return the expression of the hash of the columns' texts. No text contains a bar, so it is that of all of them."""
    texts = ["'|' || " + " || '|' || ".join(f"({column.text})" for column in group) + " || '|'" for group in groups_of(columns)]
    hashes = [HASH.replace("{0}", text) for text in texts]
    return hashes[0] if len(hashes) == 1 else HASH.replace("{0}", " || ".join(hashes))


@dataclass(frozen=True, slots=True)
class BucketSum:
    """A bucket's number of rows, and the sums over both parts of their hashes."""

    rows: int
    first: int
    second: int


def digest_sql(table: DictionaryTable, hashing: Hashing, buckets: Collection[str] = (), part: Part = WHOLE) -> str:
    """Return the SELECT of the buckets AS OF SCN :scn, of the whole table or a part; of all buckets if `buckets` is empty."""
    sums = [f"SUM(TO_NUMBER(SUBSTR(HASH_OF_ROW, {at}, {length}), '{MASK}'))" for at, length in PARTS]
    conditions = [*([in_buckets(hashing, buckets)] if buckets else []), *([part.condition] if part.condition else [])]
    where = f"\n WHERE {' AND '.join(conditions)}" if conditions else ""
    # Merged into the outer query, each hash would be computed as often as it is named there.
    inner = (
        f"SELECT /*+ NO_MERGE */ {hashing.bucket} AS BUCKET,\n       {hash_of(hashing.columns)} AS HASH_OF_ROW\n"
        f"  FROM {source_of(table)}{part.partition} AS OF SCN :scn{where}"
    )
    return f"SELECT BUCKET, COUNT(*) AS N, {sums[0]} AS A, {sums[1]} AS B\n  FROM ({inner})\n GROUP BY BUCKET"


def in_buckets(hashing: Hashing, buckets: Iterable[str]) -> str:
    """Return the condition that a row is in one of the buckets, at most MOST_BUCKETS."""
    listed = ", ".join(f"'{bucket}'" for bucket in sorted(buckets))
    return f"{hashing.bucket} IN ({listed})"


def source_of(table: DictionaryTable) -> str:
    return f"{quote(table.in_oracle.owner)}.{quote(table.in_oracle.name)}"


def read_digests(
    source: Source,
    table: DictionaryTable,
    hashing: Hashing,
    scn: Scn,
    container: str | None,
    buckets: Collection[str] = (),
    part: Part = WHOLE,
) -> dict[str, BucketSum]:
    """Return the sums of the table's buckets AS OF an SCN, over the whole table or a part."""
    show_all_rows(source, table, container)
    sql = digest_sql(table, hashing, buckets, part)
    found = source.query_text(sql, {**part.binds, "scn": int(scn)}, f"hashes of {table.table}")
    return {str(row.bucket): BucketSum(int(row.n), int(row.a), int(row.b)) for row in found}
