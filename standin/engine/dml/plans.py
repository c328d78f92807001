"""Compiles any DML statement to its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from standin.engine.dml.dml import DmlPlan, compile_delete, compile_insert, compile_update
from standin.engine.dml.merge import compile_merge
from standin.engine.dml.multitable_insert import compile_multitable_insert
from standin.engine.expressions.frame import NotCompilable, SubQuery
from standin.engine.expressions.known_types import with_constructors
from standin.engine.sessions.session import EngineSession
from standin.interface import OraError

_COMPILERS: dict[type[exp.Expression], Callable[[EngineSession, Any, SubQuery], DmlPlan]] = {
    exp.Insert: compile_insert,
    exp.Update: compile_update,
    exp.Delete: compile_delete,
    exp.Merge: compile_merge,
    exp.MultitableInserts: compile_multitable_insert,
}


def compile_dml(session: EngineSession, tree: exp.Expression, subquery: SubQuery) -> DmlPlan:
    tree = with_constructors(session, tree)
    compiler = _COMPILERS.get(type(tree))
    if compiler is None:
        raise OraError(3001, f"unimplemented feature: {tree.key.upper()}")
    try:
        return compiler(session, tree, subquery)
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in DML") from None
