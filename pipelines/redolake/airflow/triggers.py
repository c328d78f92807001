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

from redolake.airflow.connections import connection_json
from redolake.errors import RedolakeError
from redolake.host.pauses import growing_pauses


class SourceTrigger(BaseTrigger):
    """Fires when Oracle answers again, when a check fails in another way, or at `until` (ISO 8601, UTC), whichever is first.

    The pauses between checks grow from `initial_seconds` to `max_seconds`."""

    def __init__(self, pipeline: str, connection: str, initial_seconds: float, max_seconds: float, until: str) -> None:
        super().__init__()
        self.pipeline, self.connection = pipeline, connection
        self.initial_seconds, self.max_seconds, self.until = initial_seconds, max_seconds, until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("pipeline", "connection", "initial_seconds", "max_seconds", "until")
        return f"{__name__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.log.info("%s: Oracle does not answer; waiting for it until %s", self.pipeline, self.until)
        for pause in growing_pauses(self.max_seconds, self.initial_seconds):
            left = (datetime.fromisoformat(self.until) - datetime.now(UTC)).total_seconds()
            await asyncio.sleep(max(0.0, min(pause, left)))
            try:
                is_back = await asyncio.to_thread(self.is_back)
            except RedolakeError as error:
                yield self.event(f"the check of the source failed: {error}")
                return
            if is_back:
                yield self.event("Oracle answers again")
                return
            if left <= pause:
                yield self.event("Oracle still does not answer")
                return

    def is_back(self) -> bool:
        from redolake import steps
        from redolake.source.connection import connection_from_json

        return steps.is_source_back(connection_from_json(connection_json(self.connection), f"connection {self.connection}"))

    def event(self, because: str) -> TriggerEvent:
        self.log.info("%s: %s", self.pipeline, because)
        return TriggerEvent({"outage_until": self.until, "because": because})


class ArchivedLogTrigger(BaseTrigger):
    """Fires when the log appears, when a check fails, or at `until` (ISO 8601, UTC), whichever is first.

    The pauses between checks grow to `max_seconds`: a log that is being archived comes within seconds."""

    def __init__(self, pipeline: str, connection: str, awaited: dict[str, int], max_seconds: float, until: str) -> None:
        super().__init__()
        self.pipeline, self.connection, self.awaited = pipeline, connection, awaited
        self.max_seconds, self.until = max_seconds, until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("pipeline", "connection", "awaited", "max_seconds", "until")
        return f"{__name__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        thread, sequence, scn = (self.awaited[name] for name in ("thread", "sequence", "scn"))
        log = f"the archived log with sequence {sequence} of redo thread {thread} (SCN {scn})"
        self.log.info("%s: waiting for %s until %s", self.pipeline, log, self.until)
        for pause in growing_pauses(self.max_seconds):
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
            await asyncio.sleep(min(pause, left))

    def is_still_awaited(self) -> bool:
        from redolake import steps
        from redolake.source.connection import connection_from_json

        source = connection_from_json(connection_json(self.connection), f"connection {self.connection}")
        return steps.is_still_awaited(steps.AwaitedLog(**self.awaited), source)

    def event(self, because: str) -> TriggerEvent:
        self.log.info("%s: %s", self.pipeline, because)
        return TriggerEvent({"awaited": self.awaited, "until": self.until, "because": because})
