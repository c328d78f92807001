"""Hash a Delta table's rows in Spark as source/buckets.py hashes them in Oracle; values/canonical.py says what a value's text
is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.spark.quoting import quote
from redolake.values.canonical import PARTS, PIECE, PIECES, Form, groups_of

MOST_CHARACTERS = 1000  # of a number as text


def _hash(value: Expression) -> Expression:
    return F.upper(F.md5(value))


def _number(value: Expression) -> Expression:
    """Return a number as Oracle's TM9 shows it: -.05 and 100."""
    text = value.cast("string")
    # The bar keeps the zeros in front.
    short = F.btrim(F.btrim(F.concat(F.lit("|"), text), F.lit("0")), F.lit("."))
    plain = F.when(text.contains("."), F.substring(short, 2, MOST_CHARACTERS)).otherwise(text)
    return _short(F.when(plain == "-0", F.lit("0")).otherwise(plain))


def _short(text: Expression) -> Expression:
    """Leave out the zero before the point. A regular expression would cost more than the hash."""
    negative = F.concat(F.lit("-"), F.substring(text, 3, MOST_CHARACTERS))
    below_zero = F.when(text.startswith("-0."), negative).otherwise(text)
    return F.when(text.startswith("0."), F.substring(text, 2, MOST_CHARACTERS)).otherwise(below_zero)


def _time(value: Expression) -> Expression:
    return F.concat(F.lit(" "), F.date_format(value, "yyyy-MM-dd HH:mm:ss.SSSSSS"), F.lit("000"))


def _bits(class_name: str, method: str, digits: int) -> Callable[[Expression], Expression]:
    """Return the function that gives the bits of a number in hexadecimal digits; there is one zero, and one NaN."""

    def bits(value: Expression) -> Expression:
        number = F.java_method(F.lit(f"java.lang.{class_name}"), F.lit(method), value + F.lit(0).cast(class_name.lower()))
        text = F.concat(F.lit("0" * digits), F.hex(number.cast("bigint")))  # of a negative one it has 16 digits
        return F.when(value.isNotNull(), F.right(text, F.lit(digits)))

    return bits


FORMS: Mapping[Form, Callable[[Expression], Expression]] = {
    "number": _number,
    "number as text": lambda value: _hash(_short(value)),
    "float": _bits("Float", "floatToIntBits", 8),
    "double": _bits("Double", "doubleToLongBits", 16),
    "date": _time,
    "timestamp": _time,
    "truncated timestamp": _time,
    "date as text": _hash,
    "timestamp as text": _hash,
    "instant": _time,
    "truncated instant": _time,
    "zoned as text": _hash,
    "local as text": _hash,
    "text": _hash,
    "converted text": _hash,
    "long converted text": lambda value: _hash(F.concat(*(_hash(F.substring(value, at, PIECE)) for at in PIECES))),
    "national text": lambda value: _hash(F.encode(value, "UTF-16BE")),
    "octets": _hash,
    "rowid": _hash,
    "urowid": _hash,
}


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """A column of the lake by its name, and the form of its values."""

    name: str
    form: Form

    @property
    def text(self) -> Expression:
        return F.coalesce(FORMS[self.form](F.col(quote(self.name))), F.lit(""))


def hash_of(columns: Sequence[HashedColumn]) -> Expression:
    bar = F.lit("|")
    hashes = [_hash(F.concat(bar, *(part for column in group for part in (column.text, bar)))) for group in groups_of(columns)]
    return hashes[0] if len(hashes) == 1 else _hash(F.concat(*hashes))


@dataclass(frozen=True, slots=True)
class LakeHashing:
    """What is hashed of a table's rows: the key, by which they are put into buckets of so many `digits`, and the columns.
    Without a key the row's own hash says its bucket."""

    key: tuple[HashedColumn, ...]
    columns: tuple[HashedColumn, ...]
    digits: int

    @property
    def key_hash(self) -> Expression:
        return hash_of(self.key or self.columns)

    @property
    def bucket(self) -> Expression:
        return F.substring(self.key_hash, 1, self.digits)


def digest(rows: DataFrame, hashing: LakeHashing, scn: str) -> DataFrame:
    """Return of each bucket the number of rows `n`, the sums `a` and `b`, and the highest value of the column `scn`."""
    hashed = rows.select(hashing.bucket.alias("bucket"), hash_of(hashing.columns).alias("hash"), F.col(quote(scn)).alias("scn"))
    return add_up(hashed, F.max("scn").alias("scn"))


def add_up(hashed: DataFrame, *more: Expression) -> DataFrame:
    """Return of each `bucket` the number of rows `n`, and the sums `a` and `b` over parts of each `hash`."""
    a, b = (F.sum(F.conv(F.substring("hash", at, length), 16, 10).cast("decimal(20,0)")) for at, length in PARTS)
    return hashed.groupBy("bucket").agg(F.count("*").alias("n"), a.alias("a"), b.alias("b"), *more)
