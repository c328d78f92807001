"""Expressions of `pipelines.yml`: Spark SQL over the columns of one row, which gives the same value whenever it is computed.

sqlglot finds the columns and what is not allowed. The text itself stays the user's: only the names of columns are replaced
in it, so Spark computes what was written, and not what sqlglot made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from redolake.values.mapping import source_value
from redolake.values.table import upper_name

# Functions of Spark whose value is another one when they are called again, elsewhere, or in another session. A test compares
# these lists with Spark's own.
CHANGING = frozenset(
    {
        "rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id",
        "input_file_name", "input_file_block_start", "input_file_block_length", "now", "curdate", "current_date",
        "current_time",
        "current_timestamp", "localtimestamp", "current_timezone", "current_user", "session_user", "user", "current_catalog",
        "current_database", "current_schema", "current_path", "version", "java_method", "reflect", "try_reflect", "aes_encrypt",
        "sleep",
    }
)  # fmt: skip
COMMENT_GOES_ON = re.compile(r"--[^\n]*\\\r?\n")
# What Spark computes of several rows, or makes rows with, and sqlglot does not know as such.
NOT_OF_ONE_ROW = frozenset(
    {
        "bitmap_and_agg", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg",
        "inline_outer", "json_tuple", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float",
        "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "mean", "measure", "row_number",
        "schema_of_variant_agg", "session_window", "std", "theta_intersection_agg", "theta_sketch_agg",
        "theta_union_agg", "try_avg", "try_sum", "tuple_intersection_agg_double", "tuple_intersection_agg_integer",
        "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double", "tuple_union_agg_integer",
        "variant_explode", "variant_explode_outer", "vector_avg", "vector_sum", "window", "window_time", "collations",
        "python_worker_logs", "range", "sql_keywords",
    }
)  # fmt: skip
BY_TEXT = "identifier"  # makes a column or a function of a text
OF_ORACLE = frozenset({"SYSDATE", "SYSTIMESTAMP"})  # reserved there: no column has such a name without quotes
STATEMENTS = (exp.Block, exp.Command, exp.Describe, exp.Use, exp.QueryTransform)
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


Use = tuple[str, int, int]  # a column in an expression: its name as the dictionary spells it, and its place in the text


@lru_cache(maxsize=1000)
def uses(text: str) -> tuple[Use, ...]:
    """Return the columns that an expression is made of. Raises ValueError for a text that is no expression of one row."""
    root = parse_expression(text)
    check_nodes(root, text)
    found = tuple(columns_of(root, text))
    check_words(text, found)
    return found


def check_nodes(root: exp.Expression, text: str) -> None:
    """Raise ValueError for what sqlglot knows to be of several rows, or of the present time."""
    for node in root.walk():
        for kind, what in OF_MANY_ROWS:
            if isinstance(node, kind):
                raise ValueError(f"{text!r} contains {what}: {NO_ROW}")
        is_some = isinstance(node, exp.Anonymous) and node.name.lower() == "some"
        if is_some or (isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary)):  # `LIKE ANY (..)` is none
            raise ValueError(f"{text!r} contains an aggregate: {NO_ROW}")
        if isinstance(node, OF_NOW) and not isinstance(node.parent, exp.StrToUnix):
            raise ValueError(f"{text!r} contains the present time or user, which is another one whenever it runs: {OWN_TIME}")
        if is_literal_of_now(node) or (isinstance(node, exp.StrToUnix) and isinstance(node.this, exp.CurrentTimestamp)):
            raise ValueError(f"{text!r} contains the present time: {OWN_TIME}")


def check_words(text: str, columns: Sequence[Use]) -> None:
    """Raise ValueError for functions by their names alone, which sqlglot may not know, and for words of Oracle's."""
    for name in called_names(text, columns):
        if name in CHANGING:
            raise ValueError(f"{text!r} calls {name}, whose value is another one whenever it runs")
        if name in NOT_OF_ONE_ROW:
            raise ValueError(f"{text!r} calls {name}, which is no function of one row: {NO_ROW}")
        if name == BY_TEXT:
            raise ValueError(f"{text!r} calls {name}, which makes a name of a text: write the name itself")
    for name, start, _ in columns:
        if name in OF_ORACLE and text[start] != "`":
            raise ValueError(f"{text!r} contains {name}, the present time: {OWN_TIME}")


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
    except LookupError:  # sqlglot's, for `map(a)` and a few others
        raise ValueError(f"{what}: a function has too few arguments") from None
    if found is None or isinstance(found, STATEMENTS):
        raise ValueError(f"{what}: write one, without a semicolon")
    kinds = [token.token_type for token in tokens]
    if kinds.count(TokenType.L_PAREN) != kinds.count(TokenType.R_PAREN):
        raise ValueError(f"{what}: a parenthesis is missing, or a word too many")
    return found


def columns_of(root: exp.Expression, text: str) -> Iterator[Use]:
    for column in root.find_all(exp.Column):
        if column.table or column.db or column.catalog:
            raise ValueError(f"{text!r}: write a column without a table, and a name that contains a dot in backticks")
        identifier = column.this
        start, end = identifier.meta.get("start"), identifier.meta.get("end")
        if not isinstance(identifier, exp.Identifier) or start is None or end is None:
            raise ValueError(f"{text!r}: write each column as a name")
        name = identifier.name if identifier.quoted else upper_name(identifier.name)
        yield name, int(start), int(end) + 1


def called_names(text: str, columns: Sequence[Use]) -> Iterator[str]:
    """Yield the names of all functions that a text calls, in lower case: those before a parenthesis, and words that are no
    columns, as some need none."""
    tokens: list[Token] = Spark().tokenize(text)
    own = {start for _, start, _ in columns}
    for token, following in pairwise((*tokens, None)):
        assert token is not None
        is_word = token.token_type not in TEXTS and token.start not in own and token.text.lower() in CHANGING
        if is_word or (following is not None and following.token_type is TokenType.L_PAREN):
            yield token.text.lower().strip("`")


TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})


def with_ids(text: str, ids: Mapping[str, int]) -> str:
    """Return the expression over source_value of the columns with these ids."""
    found = text
    for name, start, end in sorted(uses(text), key=lambda one: -one[1]):
        found = f"{found[:start]}`{source_value(ids[name])}`{found[end:]}"
    return found


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". Line")[0].replace("\033[4m", "").replace("\033[0m", "")[:200]
