"""The registry of views that a session can select from.

A view computes its rows for one session when it is queried. `standin.views` and `standin.logminer` register them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from standin.engine.sessions.session import EngineSession
from standin.interface import ColumnInfo

# Rows as tuples in column order (None, int, Decimal, str, datetime, bytes, float), or a stream of record batches. A batch
# names its columns and may leave out those that the statement does not refer to; the result keeps its order.
ViewRows = Sequence[tuple[Any, ...]] | Iterator[pa.RecordBatch]
RowSource = Callable[[EngineSession, frozenset[str]], ViewRows]


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A registered view. `privilege` is the object that a GRANT names (V_$LOG for V$LOG), None when PUBLIC may read it.

    `rows` receives the session and the upper-case names of the columns that the statement refers to (all for `*`).
    """

    name: str
    columns: tuple[ColumnInfo, ...]
    rows: RowSource
    privilege: str | None


VIEWS: dict[str, ViewSource] = {}


def granted_name(name: str) -> str:
    """Return the object that a GRANT must name: V$LOG is a public synonym of SYS.V_$LOG."""
    for synonym, view in (("GV$", "GV_$"), ("V$", "V_$")):
        if name.startswith(synonym):
            return view + name[len(synonym) :]
    return name


def register_view(name: str, columns: Sequence[ColumnInfo], rows: RowSource, *, public: bool = False) -> None:
    """Register the view `name` (V$LOG, GV$TRANSACTION, ALL_TABLES ...); a second registration replaces the first.

    A GV$ view that is not registered reads its V$ view. Views that PUBLIC may read, such as ALL_ and USER_, pass `public=True`.
    """
    key = name.upper()
    VIEWS[key] = ViewSource(key, tuple(columns), rows, None if public else granted_name(key))


def find_view(owner: str | None, name: str) -> ViewSource | None:
    """Find a view by name: V$X, GV$X, their underlying V_$X and GV_$X of SYS, or a dictionary view."""
    if owner not in (None, "SYS", "PUBLIC"):
        return VIEWS.get(f"{owner}.{name}")
    plain = name.replace("V_$", "V$", 1) if name.startswith(("V_$", "GV_$")) else name
    found = VIEWS.get(plain)
    if found is None and plain.startswith("GV$"):
        found = VIEWS.get(plain[1:])
    return found
