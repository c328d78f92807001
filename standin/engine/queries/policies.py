"""Policies on tables: VPD and Label Security filter the rows that a user reads, Data Redaction masks columns. Redo has all."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Frame
from standin.engine.queries.access import table_scope
from standin.engine.sessions.privileges import holds
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import parse_as_written
from standin.model import Policy

_EXEMPTS = {"VPD": "EXEMPT ACCESS POLICY", "LABEL": "EXEMPT ACCESS POLICY", "REDACTION": "EXEMPT REDACTION POLICY"}
_MASKED_DATE = datetime(2001, 1, 1)  # as full redaction shows a DATE


def as_seen(
    session: EngineSession, store: TableStore, rows: Iterable[tuple[int, Row]], frame: Frame
) -> Iterable[tuple[int, Row]]:
    """Return the rows as the session's user sees them."""
    table = store.definition
    for policy in session.database.state.policies:
        if (policy.owner, policy.table) == (table.owner, table.name) and not holds(session.account, _EXEMPTS[policy.kind]):
            rows = _masked(store, policy, rows) if policy.kind == "REDACTION" else _admitted(store, policy, rows, frame)
    return rows


def _admitted(store: TableStore, policy: Policy, rows: Iterable[tuple[int, Row]], frame: Frame) -> list[tuple[int, Row]]:
    condition = parse_as_written(f"select 1 from dual where {policy.where}").args["where"].this
    admits = Compiler(table_scope(store, None)).compile(condition).run
    return [(row, values) for row, values in rows if admits(values, frame)]


def _masked(store: TableStore, policy: Policy, rows: Iterable[tuple[int, Row]]) -> list[tuple[int, Row]]:
    at = store.layout.position[policy.column]
    return [(row, (*values[:at], _mask(values[at]), *values[at + 1 :])) for row, values in rows]


def _mask(value: Any) -> Any:
    """Return a value as full redaction shows it; NULL stays NULL."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return _MASKED_DATE
    return " " if isinstance(value, str) else b"" if isinstance(value, bytes) else 0
