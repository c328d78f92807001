"""Hash a Delta table's rows in Spark as source/buckets.py hashes them in Oracle; values/canonical.py says what a value's text
is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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


def hash_of(columns: Sequence[tuple[int, Form]], name_of: Callable[[int], str]) -> Expression:
    """Return the hash of columns, given by id with the form of their values. `name_of` is a column's name in the frame."""
    bar = F.lit("|")
    texts = [F.coalesce(FORMS[form](F.col(quote(name_of(i)))), F.lit("")) for i, form in columns]
    hashes = [_hash(F.concat(bar, *(part for text in group for part in (text, bar)))) for group in groups_of(texts)]
    return hashes[0] if len(hashes) == 1 else _hash(F.concat(*hashes))


def digest(rows: DataFrame, bucket: Expression, hashed: Expression, scn: str) -> DataFrame:
    """Return of each bucket the number of rows `n`, the sums `a` and `b`, and the highest value of the column `scn`."""
    parts = rows.select(bucket.alias("bucket"), hashed.alias("hash"), F.col(quote(scn)).alias("scn"))
    return add_up(parts, F.max("scn").alias("scn"))


def add_up(hashed: DataFrame, *more: Expression) -> DataFrame:
    """Return of each `bucket` the number of rows `n`, and the sums `a` and `b` over parts of each `hash`."""
    a, b = (F.sum(F.conv(F.substring("hash", at, length), 16, 10).cast("decimal(20,0)")) for at, length in PARTS)
    return hashed.groupBy("bucket").agg(F.count("*").alias("n"), a.alias("a"), b.alias("b"), *more)
