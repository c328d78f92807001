"""Compiles any DML statement to its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from standin.engine.dml.dml import (
    DeletePlan,
    DmlPlan,
    InsertPlan,
    UpdatePlan,
    compile_delete,
    compile_insert,
    compile_update,
)
from standin.engine.dml.failing_rows import error_log, split_log_errors
from standin.engine.dml.merge import MergePlan, compile_merge
from standin.engine.dml.multitable_insert import compile_multitable_insert
from standin.engine.expressions.frame import NotCompilable, SubQuery
from standin.engine.expressions.known_types import with_constructors
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import parse_as_written
from standin.interface import OraError

_COMPILERS: dict[type[exp.Expression], Callable[[EngineSession, Any, SubQuery], DmlPlan]] = {
    exp.Insert: compile_insert,
    exp.Update: compile_update,
    exp.Delete: compile_delete,
    exp.Merge: compile_merge,
    exp.MultitableInserts: compile_multitable_insert,
}


def compile_dml(session: EngineSession, text: str, subquery: SubQuery) -> DmlPlan:
    statement, log_errors = split_log_errors(text)
    plan = _compiled(session, with_constructors(session, parse_as_written(statement)), subquery)
    if log_errors is not None:
        if not isinstance(plan, InsertPlan | UpdatePlan | DeletePlan | MergePlan):
            raise OraError(3001, "unimplemented feature: LOG ERRORS of such a statement")
        plan.failing = error_log(session, log_errors, plan.store if isinstance(plan, InsertPlan) else plan.target.store)
    return plan


def _compiled(session: EngineSession, tree: exp.Expression, subquery: SubQuery) -> DmlPlan:
    compiler = _COMPILERS.get(type(tree))
    if compiler is None:
        raise OraError(3001, f"unimplemented feature: {tree.key.upper()}")
    try:
        return compiler(session, tree, subquery)
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in DML") from None
