"""INSERT ALL and INSERT FIRST: each row of a query goes into several tables, perhaps by conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from standin.engine.dml.dml import InsertPlan, Returning, Touched, inserted_columns, require_length, values_of
from standin.engine.dml.merge import source_of
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame, SubQuery
from standin.engine.plsql.triggers import fire
from standin.engine.sessions.names import dml_target
from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import lock_rows_of
from standin.engine.storage.layout import Row
from standin.engine.text.parse import identifier


def compile_multitable_insert(session: EngineSession, tree: exp.MultitableInserts, subquery: SubQuery) -> MultitableInsert:
    source = tree.args["source"]
    scope, rows = source_of(source if isinstance(source, exp.Subquery) else exp.Subquery(this=source), subquery)
    compiler = Compiler(scope)
    branches: list[_Branch] = []
    for node in tree.expressions:
        condition = node.args.get("expression")
        into = _into(session, node.this, compiler, len(scope.columns))
        if condition is not None or node.args.get("else_") or not branches:  # an INTO after another belongs to its WHEN
            is_else = bool(node.args.get("else_"))
            branches.append(_Branch(None if condition is None else compiler.compile(condition).run, is_else, []))
        branches[-1].into.append(into)
    return MultitableInsert(rows, branches, str(tree.args["kind"]) == "FIRST")


def _into(session: EngineSession, node: exp.Insert, compiler: Compiler, columns: int) -> tuple[InsertPlan, list[Fn] | None]:
    is_list = isinstance(node.this, exp.Schema)
    store = dml_target(session, node.this.this if is_list else node.this)
    positions, defaults = inserted_columns(session, store, [identifier(c) for c in node.this.expressions] if is_list else None)
    plan = InsertPlan(store, positions, defaults, [], None, Returning((), False))
    if node.expression is None:  # the columns of the query, in their order
        require_length(columns, len(positions))
        return plan, None
    (values,) = node.expression.expressions
    return plan, values_of(values.expressions if isinstance(values, exp.Tuple) else [values], positions, defaults, compiler)


@dataclass(frozen=True, slots=True)
class _Branch:
    """The tables of one WHEN, or of ELSE; without a condition those of each row."""

    condition: Fn | None
    is_else: bool
    into: list[tuple[InsertPlan, list[Fn] | None]]


@dataclass(slots=True)
class MultitableInsert:
    source: Callable[[Frame], list[Row]]
    branches: list[_Branch]
    first_only: bool

    def run(self, session: EngineSession, frame: Frame) -> Touched:
        count = 0
        triggers = {}
        for plan in (plan for branch in self.branches for plan, _ in branch.into):
            lock_rows_of(session, plan.store)
            triggers[id(plan)] = fire(session, plan.store, "INSERT")
        for number, row in enumerate(self.source(frame), 1):
            frame.rownum = number
            for branch in self._chosen(row, frame):
                for plan, values in branch.into:
                    given = row if values is None else [value(row, frame) for value in values]
                    plan.write(session, frame, given, triggers[id(plan)])
                    count += 1
        return Touched(count, None, [])

    def _chosen(self, row: Row, frame: Frame) -> list[_Branch]:
        """Return the branches of a row: all whose condition holds, or the first; ELSE where there is none."""
        found = [b for b in self.branches if not b.is_else and (b.condition is None or b.condition(row, frame))]
        if not found:
            return [branch for branch in self.branches if branch.is_else]
        return found[:1] if self.first_only else found
