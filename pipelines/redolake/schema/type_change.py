"""Whether every value of a column's old type is a value of its new one."""

from __future__ import annotations

from typing import Literal

from redolake.values.datatypes import LARGE_TYPES
from redolake.values.table import OracleType

PADDED = frozenset({"CHAR", "NCHAR"})
SIZED = frozenset({"VARCHAR2", "NVARCHAR2", "RAW"})
STORED_ELSEWHERE = LARGE_TYPES | {"BFILE", "VECTOR"}

TypeChange = Literal["same", "widen", "narrow", "rewritten"]


def type_change(old: OracleType, new: OracleType) -> TypeChange:
    """Return how MODIFY changes the type.

    same       the values and their form stay; the length of a text may change, as Oracle allows only what the values fit
    widen      every value stays
    narrow     Oracle allows it if the present values fit, or if all are NULL
    rewritten  Oracle writes other values, which the redo of no row shows: CHAR is padded, large objects move
    """
    if old == new:
        return "same"
    if STORED_ELSEWHERE & {old.name, new.name} or new.name in PADDED:
        return "rewritten"
    if old.name != new.name:
        widens = (old.name, new.name) in {("CHAR", "VARCHAR2"), ("NCHAR", "NVARCHAR2"), ("DATE", "TIMESTAMP")}
        return "widen" if widens else "narrow"
    if old.name in SIZED:
        return "same"
    return "widen" if _holds(new, old) else "narrow"


def _holds(new: OracleType, old: OracleType) -> bool:
    """Return whether a type contains all values of an older one of the same name."""
    if new.name == "NUMBER":
        return _number_holds(new, old)
    unlimited = {"FLOAT": 126}.get(new.name, 0)
    pairs = ((new.precision, old.precision, unlimited), (new.scale, old.scale, 6 if new.name.startswith("TIMESTAMP") else 0))
    return all((unlimited if n is None else n) >= (unlimited if o is None else o) for n, o, unlimited in pairs)


def _number_holds(new: OracleType, old: OracleType) -> bool:
    """NUMBER alone holds everything; digits before and after the point may not become fewer."""
    if new.precision is None:
        return True
    if old.precision is None:
        return False
    old_scale, new_scale = old.scale or 0, new.scale or 0
    return new_scale >= old_scale and new.precision - new_scale >= old.precision - old_scale
