"""Name the columns of decoded and applied data frames that hold a table's values: a letter for which value, and the id.

A name in Oracle may change from one table version to the next, may be spelled like a column of ours, and may contain any
character. Its id stays. docs/development/frames.md shows where each letter comes from and where it ends.
"""

from __future__ import annotations

from collections.abc import Callable

Kind = Callable[[int], str]  # one of the functions below


def id_of(name: str, kind: Kind) -> int | None:
    """Return the column's id, if a name is of that kind of value."""
    letter = kind(0)[0]
    return int(name[1:]) if name.startswith(letter) and name[1:].isdecimal() else None


# --- Decoded rows: what the redo shows, in the types of the row's own table version ----------------------------------------


def redo_before(column_id: int) -> str:
    """Return the name of the value before the change: the WHERE of an UPDATE or DELETE."""
    return f"o{column_id}"


def redo_after(column_id: int) -> str:
    """Return the name of the value after the change: the VALUES of an INSERT; the SET of an UPDATE, else its WHERE."""
    return f"n{column_id}"


# --- Changes: the same values in the target's types ------------------------------------------------------------------------


def key_before(column_id: int) -> str:
    """Return the name of a key column's value before the change."""
    return f"b{column_id}"


def value_before(column_id: int) -> str:
    """Return the name of another column's value before the change; only where rows with a NULL in their key need it."""
    return f"w{column_id}"


def after(column_id: int) -> str:
    """Return the name of any column's value after the change."""
    return f"a{column_id}"


def unknown(column_id: int) -> str:
    """Return the name of the flag that `after` is not known: the redo does not contain it, and the target's value stays."""
    return f"u{column_id}"


# --- Net changes: one row for each key ---------------------------------------------------------------------------------------


def key(column_id: int) -> str:
    """Return the name of a key column's value, by which the row is found in the target."""
    return f"k{column_id}"


# --- What is joined to them --------------------------------------------------------------------------------------------------


def in_target(column_id: int) -> str:
    """Return the name of the value in the target, as it was before the batch."""
    return f"t{column_id}"


def read_again(column_id: int) -> str:
    """Return the name of the value that was read again at the source for all rows, after a DDL that filled the column."""
    return f"f{column_id}"


def object_value(column_id: int) -> str:
    """Return the name of a large object that was assembled from its changes."""
    return f"v{column_id}"


def has_object(column_id: int) -> str:
    """Return the name of the flag that `object_value` is there: NULL may be the object's value."""
    return f"h{column_id}"
