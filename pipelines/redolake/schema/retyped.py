"""Whether what is computed from a column may be another value once MODIFY has given the column another type.

Rows that were computed before keep their values, and nothing computes them again. `concat(qty, ' pieces')` is `5 pieces` of a
NUMBER(9), and `5.0 pieces` of the same number in a NUMBER(9,1); `1 / qty` has other digits.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from redolake.config.expressions import parse_expression
from redolake.schema.type_change import PADDED, SIZED
from redolake.values.datatypes import DATES
from redolake.values.mapping import TableMapping, source_value
from redolake.values.table import OracleType

# They ask for the value only, and their answer has no type of their operands.
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between)
# Of equal values they make equal values. Products and quotients have digits that depend on the types.
SAME_VALUE = (exp.Add, exp.Sub, exp.Neg, exp.Paren, exp.Coalesce, exp.Case, exp.If)
NUMERIC = ("tinyint", "smallint", "int", "bigint", "decimal", "double")
INT_DIGITS, LONG_DIGITS, MICROSECONDS = 9, 18, 6


def users_of_type(mapping: TableMapping, column_id: int) -> Iterator[str]:
    """Yield what may be computed otherwise from equal values of the column in another type. Masks are not among it: they write
    equal numbers and moments alike."""
    for one in mapping.computed:
        if one.means == "expression" and column_id in one.needs and sees_type(one.sql, column_id, one.type):
            yield str(one)
    if mapping.where is not None and column_id in mapping.where.needs and sees_type(mapping.where.sql, column_id, "boolean"):
        yield f"where: {mapping.where.text}"
    if mapping.transform is not None and column_id in dict(mapping.transform.inputs):
        yield mapping.transform.function


def has_other_form(old: OracleType, new: OracleType) -> bool:
    """Return whether a value may be of another type in the lake, or be written in another way there."""
    return form(old) != form(new)


def form(type_: OracleType) -> object:
    if type_.name in PADDED | SIZED:
        return "binary" if type_.name == "RAW" else "string"
    if type_.name in DATES and (type_.scale or 0) <= MICROSECONDS:
        return "timestamp"
    if type_.name == "NUMBER" and type_.precision is not None and not type_.scale and type_.precision <= LONG_DIGITS:
        return "int" if type_.precision <= INT_DIGITS else "bigint"
    return type_.name, type_.precision, type_.scale


def sees_type(sql: str, column_id: int, type_: str) -> bool:
    """Return whether an expression whose values have `type_` in the lake may depend on the type of one of its columns. One that
    an older Redolake took, and that is none today, may."""
    try:
        root = parse_expression(sql)
    except ValueError:
        return True
    is_number = type_.lower().startswith(NUMERIC)
    found = [column for column in root.find_all(exp.Column) if column.name == source_value(column_id)]
    return not found or any(reaches_type(column, root, is_number=is_number) for column in found)


def reaches_type(node: exp.Expression, root: exp.Expression, *, is_number: bool) -> bool:
    """Return whether anything from this node up to the root may see more of it than its value."""
    while node is not root and (parent := node.parent) is not None:
        others = compared_with(node, parent)
        if others is not None:  # a text is cast to the type of the number
            return any(literal.is_string for other in others for literal in other.find_all(exp.Literal))
        if not isinstance(parent, SAME_VALUE):
            return True
        node = parent
    return not is_number


def compared_with(node: exp.Expression, parent: exp.Expression) -> list[exp.Expression] | None:
    """Return what a node is compared with there, None where it is not."""
    if isinstance(parent, COMPARISONS):
        return [other for other in parent.iter_expressions() if other is not node]
    if isinstance(parent, exp.Case) and node.arg_key == "this":
        return [when.this for when in parent.args["ifs"]]
    if isinstance(parent, exp.If) and node.arg_key == "this":
        whole = parent.parent
        return [whole.this] if isinstance(whole, exp.Case) and whole.this is not None else []
    return None
