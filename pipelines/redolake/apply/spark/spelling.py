"""One spelling for each number that is kept as text, and for zero."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F


def one_spelling(number: Expression) -> Expression:
    """Return a NUMBER kept as text in the one spelling that decode uses: 0.05 and 100 for Oracle's .05, 5E-2 or 100.00."""
    whole = F.regexp_extract(number, r"^-?(\d*)", 1)
    fraction = F.regexp_extract(number, r"^-?\d*\.?(\d*?)0*(?:[eE]|$)", 1)
    exponent = F.regexp_extract(number, r"[eE]([+-]?\d+)$", 1).try_cast("int")
    digits = F.concat(whole, fraction)
    point = F.length(whole) + F.coalesce(exponent, F.lit(0))
    small = F.concat(F.lit("0."), F.repeat(F.lit("0"), -point), digits)
    cut = F.concat(F.substring(digits, F.lit(1), point), F.lit("."), F.substring(digits, point + 1, F.length(digits)))
    text = F.when(point <= 0, small).when(point >= F.length(digits), F.rpad(digits, point, "0")).otherwise(cut)
    sign = F.regexp_extract(number, r"^(-?)", 1)
    return F.when(digits.rlike("^0*$"), F.lit("0")).otherwise(F.concat(sign, text))


def one_zero(value: Expression, type_: str) -> Expression:
    """Return a value of a type, and zero for -0.0: Oracle has no -0, and not every reader finds it by `= 0`."""
    return value + F.lit(0).cast(type_) if type_ in ("double", "float") else value
