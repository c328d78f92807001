"""Expressions of `pipelines.yml`: Spark SQL over the columns of one row, which gives the same value whenever it is computed.

sqlglot finds the columns and what is not allowed. The text itself stays the user's: only the names of columns are replaced
in it, so Spark computes what was written, and not what sqlglot made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from pipelines.values.mapping import source_value
from pipelines.values.table import upper_name

# Functions of Spark whose value is another one when they are called again, elsewhere, or in another session.
CHANGING = frozenset(
    {
        "rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id",
        "input_file_name", "input_file_block_start", "input_file_block_length", "now", "curdate", "current_date",
        "current_time",
        "current_timestamp", "localtimestamp", "current_timezone", "current_user", "session_user", "user", "current_catalog",
        "current_database", "current_schema", "version", "java_method", "reflect", "try_reflect", "aes_encrypt", "sleep",
    }
)  # fmt: skip
COMMENT_GOES_ON = re.compile(r"--[^\n]*\\\r?\n")
NO_ROW = "an expression is computed from the columns of one row"
OF_MANY_ROWS: tuple[tuple[type[exp.Expression], str], ...] = (
    (exp.Query, "a query"),
    (exp.Window, "a window function"),
    (exp.AggFunc, "an aggregate"),
    (exp.UDTF, "a function that makes rows"),
    (exp.Explode, "a function that makes rows"),
    (exp.Star, "`*`"),
    (exp.Placeholder, "a parameter"),
    (exp.Parameter, "a parameter"),
)
OF_NOW = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentUser)
# Spark reads these words in a literal of a day or a moment, as in DATE'today'.
WORDS_OF_NOW = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
MOMENTS = (exp.DataType.Type.DATE, *exp.DataType.TEMPORAL_TYPES)
OWN_TIME = "use `metadata_columns: [_commit_time]` for the time of a row's last change"


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """One place at which an expression has a column: its name as the dictionary spells it, and the place in the text."""

    name: str
    start: int
    end: int


def uses(text: str) -> list[ColumnUse]:
    """Return the columns that an expression is made of. Raises ValueError for a text that is no expression of one row."""
    root = parse_expression(text)
    for node in root.walk():
        for kind, what in OF_MANY_ROWS:
            if isinstance(node, kind):
                raise ValueError(f"{text!r} contains {what}: {NO_ROW}")
        if isinstance(node, OF_NOW) and not isinstance(node.parent, exp.StrToUnix):
            raise ValueError(f"{text!r} contains the present time or user, which is another one whenever it runs: {OWN_TIME}")
        if is_literal_of_now(node) or (isinstance(node, exp.StrToUnix) and isinstance(node.this, exp.CurrentTimestamp)):
            raise ValueError(f"{text!r} contains the present time: {OWN_TIME}")
    for name in function_names(text):
        if name in CHANGING:
            raise ValueError(f"{text!r} calls {name}, whose value is another one whenever it runs")
    return list(columns_of(root, text))


def is_literal_of_now(node: exp.Expression) -> bool:
    is_text = isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string
    return is_text and node.to.this in MOMENTS and WORDS_OF_NOW.match(node.this.this) is not None


def parse_expression(text: str) -> exp.Expression:
    """Return the tree of one expression. Raises ValueError for any other text, and for one that sqlglot might not read as Spark
    does."""
    what = f"{text!r} is no expression of Spark SQL"
    if COMMENT_GOES_ON.search(text):
        raise ValueError(f"{text!r}: a backslash at the end of a comment makes the next line part of it: leave it out")
    try:
        tokens = Spark().tokenize(text)
        if not tokens or any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise ValueError(f"{what}: write one, without a semicolon")
        (found,) = Spark().parser().parse_into(exp.Condition, tokens, text)
    except ParseError as error:
        described = [str(one["description"]) for one in error.errors if one.get("description")]
        raise ValueError(f"{what}: {described[0] if described else first_line(error)}") from None
    except SqlglotError as error:
        raise ValueError(f"{what}: {first_line(error)}") from None
    except RecursionError:
        raise ValueError(f"{text[:80]!r} .. is nested too deeply: write it with fewer parentheses") from None
    if found is None:
        raise ValueError(f"{what}: write one, without a semicolon")
    kinds = [token.token_type for token in tokens]
    if kinds.count(TokenType.L_PAREN) != kinds.count(TokenType.R_PAREN):
        raise ValueError(f"{what}: a parenthesis is missing, or a word too many")
    return found


def columns_of(root: exp.Expression, text: str) -> Iterator[ColumnUse]:
    for column in root.find_all(exp.Column):
        if column.table or column.db or column.catalog:
            raise ValueError(f"{text!r}: write a column without a table, and a name that contains a dot in backticks")
        identifier = column.this
        start, end = identifier.meta.get("start"), identifier.meta.get("end")
        if not isinstance(identifier, exp.Identifier) or start is None or end is None:
            raise ValueError(f"{text!r}: write each column as a name")
        name = identifier.name if identifier.quoted else upper_name(identifier.name)
        yield ColumnUse(name, int(start), int(end) + 1)


def function_names(text: str) -> Iterator[str]:
    """Yield the names of all functions that a text calls, in lower case."""
    tokens: list[Token] = Spark().tokenize(text)
    for token, following in pairwise(tokens):
        if following.token_type is TokenType.L_PAREN:
            yield token.text.lower().strip("`")
    yield from (token.text.lower() for token in tokens if token.token_type in BARE)


BARE = frozenset({TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_TIME, TokenType.CURRENT_USER})


def with_ids(text: str, ids: Mapping[str, int]) -> str:
    """Return the expression over source_value of the columns with these ids."""
    found = text
    for use in sorted(uses(text), key=lambda one: -one.start):
        found = f"{found[: use.start]}`{source_value(ids[use.name])}`{found[use.end :]}"
    return found


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". Line")[0].replace("\033[4m", "").replace("\033[0m", "")[:200]
