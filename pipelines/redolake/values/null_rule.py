"""The rule that a value which its column's type in the lake cannot hold becomes NULL (`on_error: {value: null}`).

It is a part of the column's rule, so that all that read values by rules keep to it alike: changes, snapshots, comparisons,
repairs. A value that is not understood is no such value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolake.values.datatypes import MOMENTS
from redolake.values.table import OracleType, Rules, TableVersion, TypeRule

ELSE_NULL = " else null"


def else_null(rule: TypeRule) -> TypeRule:
    return f"{'' if rule is None else rule}{ELSE_NULL}"


def is_else_null(rule: object) -> bool:
    return isinstance(rule, str) and rule.endswith(ELSE_NULL)


def has_nulls(version: TableVersion, rules: Mapping[int, object]) -> bool:
    """Return whether values of one of the columns are NULL by rule if they do not fit."""
    return any(is_else_null(rules.get(column.id)) for column in version.columns)


def nulled_text(nulled: Mapping[str, int]) -> str:
    """Return how many values are NULL by rule, by column, as people read it; nothing for none."""
    if not nulled:
        return ""
    count = sum(nulled.values())
    named = ", ".join(f"{name} {number}" for name, number in sorted(nulled.items()))
    return f"{count} value{'' if count == 1 else 's'} NULL by rule ({named})"


def own_rule(rule: TypeRule) -> TypeRule:
    """Return the column's rule without this one."""
    if not isinstance(rule, str) or not rule.endswith(ELSE_NULL):
        return rule
    own = rule.removesuffix(ELSE_NULL)
    return int(own) if own.isdecimal() else own or None


def own_rules(rules: Rules) -> dict[int, TypeRule]:
    """Return the rules without this one."""
    found = {i: own_rule(rule) for i, rule in rules.items()}
    return {i: rule for i, rule in found.items() if rule is not None}


def with_nulls(rules: Rules, versions: Sequence[TableVersion]) -> dict[int, TypeRule]:
    """Return the rules, with this one for all columns whose values may not fit, but those of a key, and those that something is
    computed or filtered from: NULL in place of their values would make other rows, or other values of them."""
    fixed = {i for v in versions for i in (*v.key, *(() if v.mapping is None else v.mapping.needs))}
    open_ = {c.id for v in versions for c in v.columns if c.id not in fixed and may_not_fit(c.type, rules.get(c.id))}
    return {**rules, **{i: else_null(rules.get(i)) for i in open_}}


def may_not_fit(type_: OracleType, rule: TypeRule) -> bool:
    """Return whether the type in Oracle has values that the column's type in the lake cannot hold."""
    if type_.name == "NUMBER" and rule is None:
        return type_.precision is None and type_.scale is None
    if type_.name in ("NUMBER", "FLOAT"):
        return rule not in (None, "string")
    if type_.name in MOMENTS:
        return rule != "string"
    return type_.name == "INTERVAL DAY TO SECOND" and rule == "microseconds"
