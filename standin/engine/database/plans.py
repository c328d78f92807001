"""The cache of compiled statements. DDL ends them, but for queries of views that still have their names; all databases of a
process share those."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from standin.engine.transactions.session_state import SessionState

MAX_PLANS = 500
MAX_SHARED = 2000

Plan = TypeVar("Plan")

_shared: dict[tuple[Any, ...], Any] = {}  # those that mean the same in every database of this process


class Plans:
    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[Any, ...], tuple[int, Any]] = OrderedDict()
        self._ddls = 0
        self.by_session = False  # a temporary table's rows are each session's own

    def of(
        self, session: SessionState, text: str, compile_: Callable[[], Plan], stands: Callable[[Plan], bool] = lambda _: False
    ) -> Plan:
        """Return the compiled form of a text for this user, schema and container; after a DDL, an old one if it `stands`."""
        key = (text, session.container, session.schema, session.user, session.number if self.by_session else 0)
        at, plan = self._plans.get(key, (None, _shared.get(key)))
        if plan is None or (at != self._ddls and not stands(plan)):
            plan = compile_()
            if len(_shared) < MAX_SHARED and stands(plan):
                _shared[key] = plan
        if at != self._ddls:
            self._plans[key] = (self._ddls, plan)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return plan

    def forget(self) -> None:
        self._ddls += 1
