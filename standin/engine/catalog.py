"""The views a session can select from: which exist, under which names, and how their rows are computed.

A view is any relation whose rows are made for one session at the moment of the query. What V$ and dictionary views
hold is registered from outside (`standin.views`, `standin.logminer`); tables are in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from standin.engine.session import EngineSession
from standin.interface import ColumnInfo

# Rows as tuples in column order (None, int, Decimal, str, datetime, bytes, float), or a stream of record batches. A batch
# has its columns by name and may leave out those that the statement does not refer to; its order is the answer's order.
ViewRows = Sequence[tuple[Any, ...]] | Iterator[pa.RecordBatch]
RowSource = Callable[[EngineSession, frozenset[str]], ViewRows]


@dataclass(frozen=True, slots=True)
class ViewSource:
    """`privilege` is the object a GRANT names (V_$LOG for V$LOG), None for what PUBLIC may read.

    `rows` gets the session and the upper-case names of the columns that the statement refers to (all for `*`).
    """

    name: str
    columns: tuple[ColumnInfo, ...]
    rows: RowSource
    privilege: str | None


VIEWS: dict[str, ViewSource] = {}


def granted_name(name: str) -> str:
    """The object behind the public synonym: V$LOG is SYS.V_$LOG, and only that can be granted."""
    for synonym, view in (("GV$", "GV_$"), ("V$", "V_$")):
        if name.startswith(synonym):
            return view + name[len(synonym) :]
    return name


def register_view(name: str, columns: Sequence[ColumnInfo], rows: RowSource, *, public: bool = False) -> None:
    """Make `name` (V$LOG, GV$TRANSACTION, ALL_TABLES ...) selectable; a second registration replaces the first.

    GV$X that is not registered itself reads V$X. ALL_ and USER_ views and what PUBLIC may read pass `public=True`.
    """
    key = name.upper()
    VIEWS[key] = ViewSource(key, tuple(columns), rows, None if public else granted_name(key))


def find_view(owner: str | None, name: str) -> ViewSource | None:
    """V$X and GV$X by their public synonyms, V_$X and GV_$X of SYS, and dictionary views by name."""
    if owner not in (None, "SYS", "PUBLIC"):
        return None
    plain = name.replace("V_$", "V$", 1) if name.startswith(("V_$", "GV_$")) else name
    found = VIEWS.get(plain)
    if found is None and plain.startswith("GV$"):
        found = VIEWS.get(plain[1:])
    return found
