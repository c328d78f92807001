"""GROUP BY over an inline view of one table, row by row: functions that DuckDB does not know have their own results here.

Any other GROUP BY goes to DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa
from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame, NotCompilable, Scope
from standin.engine.queries.aggregates import AGGREGATES, Aggregate, Running, aggregate_of
from standin.engine.queries.select_plan import BATCH_ROWS, SelectPlan
from standin.engine.sessions.session import EngineSession
from standin.engine.types.datatypes import arrow_column
from standin.interface import ColumnInfo

_ALLOWED = frozenset({"expressions", "from_", "group", "kind", "hint"})


@dataclass(slots=True)
class GroupedPlan:
    """`values` are the selected aggregates, or the numbers of the keys of the groups."""

    inner: SelectPlan
    columns: tuple[ColumnInfo, ...]
    keys: tuple[Fn, ...]
    values: tuple[Aggregate | int, ...]

    def stands(self, session: EngineSession) -> bool:
        return self.inner.stands(session)

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]:
        return self.columns

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        groups: dict[tuple[Any, ...], list[Running]] = {}
        for row in self.inner.tuples(session, frame):
            key = tuple([key(row, frame) for key in self.keys])
            group = groups.get(key)
            if group is None:
                group = groups[key] = [Running(v) for v in self.values if isinstance(v, Aggregate)]
            for running in group:
                running.add(row, frame)
        return self._batches(session, (self._row(key, iter(group)) for key, group in groups.items()))

    def _row(self, key: tuple[Any, ...], group: Iterator[Running]) -> tuple[Any, ...]:
        return tuple([key[v] if isinstance(v, int) else next(group).result() for v in self.values])

    def _batches(self, session: EngineSession, rows: Iterator[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
        while chunk := list(islice(rows, BATCH_ROWS)):
            session.check_cancelled()
            arrays = [arrow_column(info, column) for info, column in zip(self.columns, zip(*chunk, strict=True), strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self.columns])


def compile_grouped(tree: exp.Select, select: Callable[[exp.Select], SelectPlan], name_of: Callable[[Any], str]) -> GroupedPlan:
    """Compile the query; `select` compiles the inline view. Raise NotCompilable for any other form."""
    source, group = tree.args.get("from_"), tree.args.get("group")
    view = source.this.this if source is not None and isinstance(source.this, exp.Subquery) else None
    parts = {name for name, value in tree.args.items() if value}
    if (
        not isinstance(view, exp.Select)
        or group is None
        or parts - _ALLOWED
        or {k for k, v in group.args.items() if v} - {"expressions"}
    ):
        raise NotCompilable("GROUP BY")
    assert group is not None
    inner = select(view)
    scope = Scope({column.name: (at, column) for at, column in enumerate(inner.columns)})
    compiler, keys = Compiler(scope), group.expressions
    columns, values = list[ColumnInfo](), list[Aggregate | int]()
    for node in tree.expressions:
        bare = node.this if isinstance(node, exp.Alias) else node
        if isinstance(bare, exp.Anonymous) and str(bare.this).upper() in AGGREGATES:
            aggregate = aggregate_of(bare, compiler)
            values.append(aggregate)
            info = aggregate.info
        elif bare in keys:
            values.append(keys.index(bare))
            info = compiler.compile(bare).info
        else:
            raise NotCompilable("GROUP BY")
        columns.append(replace(info, name=name_of(node)))
    return GroupedPlan(inner, tuple(columns), tuple(compiler.compile(key).run for key in keys), tuple(values))
