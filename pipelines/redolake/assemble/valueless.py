"""Which changes of a table are not applied with the values of their own row, by the table's delivery.

Capture reads these values again, or apply assembles them from several rows. Such changes may lack a ROWID, which the matching
of undo rows must know.
"""

from __future__ import annotations

from typing import Literal, assert_never

from redolake.values.delivery import (
    Appended,
    Assembled,
    Delivery,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
)

Valueless = Literal["none", "objects", "all"]  # "objects" are the changes of large objects


def valueless(delivery: Delivery) -> Valueless:
    """Return which changes are not applied with their own values."""
    match delivery:
        case Plain() | NullableKey() | Appended():
            return "none"
        case RereadValues() | Assembled():
            return "objects"
        case RereadRows():
            return "all"
        case _:
            assert_never(delivery)
