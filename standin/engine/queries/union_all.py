"""UNION ALL of queries that need no DuckDB, whose numbers have 38 digits: their rows follow each other as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from standin.engine.expressions.frame import Frame
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import as_text
from standin.engine.types.datatypes import arrow_type
from standin.interface import ColumnInfo

_CLAUSES = ("order", "limit", "offset", "with_", "by_name")


class UnionAll:
    """The plan of two queries, one after the other. Their columns have the same Arrow types."""

    def __init__(self, first: Any, second: Any) -> None:
        self._plans = (first, second)
        self.columns: tuple[ColumnInfo, ...] = first.columns

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]:
        return self.columns

    def stands(self, session: EngineSession) -> bool:
        return all(plan.stands(session) for plan in self._plans)

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        return self._batches([plan.open(session, frame) for plan in self._plans])

    def _batches(self, opened: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        for batches in opened:
            for batch in batches:
                yield batch.rename_columns([column.name for column in self.columns])


def union_all(session: EngineSession, tree: exp.Union, compiled: Callable[[EngineSession, str], Any]) -> UnionAll | None:
    """Return the plan of a UNION ALL, or None where it needs more than both queries' rows."""
    if tree.args.get("distinct") is not False or any(tree.args.get(name) for name in _CLAUSES):
        return None
    plans = [compiled(session, as_text(side)) for side in (tree.this, tree.expression)]
    shapes = [tuple((column.type, arrow_type(column)) for column in plan.columns) for plan in plans]
    if shapes[0] != shapes[1] or any(value.bind is not None for plan in plans for value in getattr(plan, "values", ())):
        return None
    return UnionAll(*plans)
