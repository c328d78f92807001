"""Checks before a row is written: NOT NULL, CHECK constraints, usable indexes. Unique and foreign keys are in `keys`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from standin.engine.database.keys import unusable
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Fn, Frame, NotCompilable
from standin.engine.queries.access import table_scope
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import parse_as_written
from standin.interface import OraError

_SYNTAX = re.compile(r"\bIS(\s+NOT)?\s+JSON\s*\(?\s*(?:STRICT|LAX)\b\s*\)?", re.IGNORECASE)


def checks_of(store: TableStore) -> tuple[tuple[str, Fn], ...]:
    """Return name and condition of each CHECK, compiled once per state of the definition."""
    if store.compiled_checks is None:
        store.compiled_checks = _compiled(store)
    return store.compiled_checks


def _compiled(store: TableStore) -> tuple[tuple[str, Fn], ...]:
    """Compile the CHECK conditions that the evaluator knows; the others are accepted and not enforced."""
    compiler, found = Compiler(table_scope(store, None)), []
    for constraint in store.definition.constraints:
        if constraint.kind == "C" and constraint.check and constraint.enabled and not constraint.check.endswith("IS NOT NULL"):
            try:
                text = _SYNTAX.sub(r"IS\1 JSON", constraint.check)
                condition = parse_as_written(f"select 1 from dual where {text}").args["where"].this
                found.append((constraint.name, compiler.compile(condition).run))
            except NotCompilable:
                continue
    return tuple(found)


def require_not_null(store: TableStore, values: Row, *, updating: bool) -> None:
    """Raise ORA-01400, or ORA-01407 in an UPDATE, for a NULL in a mandatory column."""
    for i in store.layout.not_null:
        if values[i] is None:
            column = f'("{store.definition.owner}"."{store.definition.name}"."{store.layout.names[i]}")'
            if updating:
                raise OraError(1407, f"cannot update {column} to NULL")
            raise OraError(1400, f"cannot insert NULL into {column}")


def require_checks(store: TableStore, checks: Iterable[tuple[str, Fn]], values: Row, frame: Frame) -> None:
    """Raise ORA-02290 for a condition that is false; unknown (NULL) passes."""
    for name, condition in checks:
        if condition(values, frame) is False:
            raise OraError(2290, f"check constraint ({store.definition.owner}.{name}) violated")


def require_usable(session: EngineSession, store: TableStore, changed: frozenset[int] | None = None) -> None:
    """Raise ORA-01502 if a change of a row needs an UNUSABLE index: a unique one, any with SKIP_UNUSABLE_INDEXES = FALSE.

    `changed` are the positions that an UPDATE sets; an INSERT and a DELETE need all indexes.
    """
    for index in store.indexes:
        if index.usable or (changed is not None and changed.isdisjoint(index.positions)):
            continue
        if index.unique or session.settings.get("SKIP_UNUSABLE_INDEXES", "").upper() == "FALSE":
            raise unusable(store, index)
