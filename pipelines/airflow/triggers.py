"""Wait for an archived log in Airflow's triggerer, which uses no worker.

A trigger only checks whether to plan again. Its state is numbers and the name of a connection, so another triggerer can
continue it. The task handles the result of the check, errors included.
"""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from pipelines.airflow.connections import connection_json
from pipelines.errors import RedolakeError


class ArchivedLogTrigger(BaseTrigger):
    """Fires when the log appears, when a check fails, or at `until` (ISO 8601, UTC), whichever is first."""

    def __init__(self, pipeline: str, connection: str, awaited: dict[str, int], every_seconds: float, until: str) -> None:
        super().__init__()
        self.pipeline, self.connection, self.awaited = pipeline, connection, awaited
        self.every_seconds, self.until = every_seconds, until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("pipeline", "connection", "awaited", "every_seconds", "until")
        return f"{__name__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        thread, sequence, scn = (self.awaited[name] for name in ("thread", "sequence", "scn"))
        log = f"the archived log with sequence {sequence} of redo thread {thread} (SCN {scn})"
        self.log.info("%s: waiting for %s until %s", self.pipeline, log, self.until)
        while True:
            try:
                # The driver's calls block, and all triggers share the event loop.
                waits = await asyncio.to_thread(self.is_still_awaited)
            except RedolakeError as error:
                yield self.event(f"the check for {log} failed: {error}")
                return
            if not waits:
                yield self.event(f"{log} is no longer awaited")
                return
            left = (datetime.fromisoformat(self.until) - datetime.now(UTC)).total_seconds()
            if left <= 0:
                yield self.event(f"{log} is overdue")
                return
            await asyncio.sleep(min(self.every_seconds, left))

    def is_still_awaited(self) -> bool:
        from pipelines import steps
        from pipelines.source.connection import connection_from_json

        source = connection_from_json(connection_json(self.connection), f"connection {self.connection}")
        return steps.is_still_awaited(steps.AwaitedLog(**self.awaited), source)

    def event(self, because: str) -> TriggerEvent:
        self.log.info("%s: %s", self.pipeline, because)
        return TriggerEvent({"awaited": self.awaited, "until": self.until, "because": because})
