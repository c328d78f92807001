"""The cache of compiled statements. DDL empties it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from standin.engine.session_state import SessionState

MAX_PLANS = 500

Plan = TypeVar("Plan")


class Plans:
    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def of(self, session: SessionState, text: str, compile_: Callable[[], Plan]) -> Plan:
        """Return the compiled form of a text for this user, schema and container."""
        key = (text, session.container, session.schema, session.user)
        found: Plan | None = self._plans.get(key)
        if found is None:
            found = self._plans[key] = compile_()
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return found

    def forget(self) -> None:
        self._plans.clear()
