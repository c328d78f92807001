"""Faults that can be injected into a running stand-in, and the actions that end them.

Tests and the demo call `oracle.faults`; `python -m standin inject-fault NAME` reaches a stand-in in another process.
A fault changes the model (files, control file, threads, incarnations, sockets); clients see the consequences. A fault that
another action ends can be injected for some seconds. Options select logs by thread, sequence and destination; an omitted
option selects all. Only `resetlogs_id` selects logs of an incarnation before the current one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from standin.faults.database import DatabaseFaults
from standin.faults.fault import Fault, faults_of
from standin.faults.logs import LogFaults
from standin.faults.network import NetworkFaults
from standin.faults.standby import StandbyFaults
from standin.faults.transactions import TransactionFaults

if TYPE_CHECKING:
    from standin.engine.instance import Instance
    from standin.wire.server import Listener


class FaultInjector(LogFaults, DatabaseFaults, StandbyFaults, TransactionFaults, NetworkFaults):
    """The faults of one stand-in, and any of them by its name."""

    def __init__(self, database: Instance, listener: Listener) -> None:
        super().__init__(database, listener)
        self._timers: list[threading.Timer] = []

    def inject(self, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
        """Inject a fault by name (`lag-archiver`) with named options; after `seconds`, run the action that ends it.

        Raises ValueError for an unknown name or option, OraError when the database refuses.
        """
        known = faults().get(name)
        if known is None:
            raise ValueError(f"there is no fault {name}; there are {', '.join(faults())}")
        given = known.checked(options or {})
        if seconds is not None and known.ended_by is None:
            raise ValueError(f"{name} has no action that ends it, so it cannot be injected for some seconds")
        result = getattr(self, known.method)(**given)
        if seconds is not None and known.ended_by is not None:
            end = faults()[known.ended_by]
            self._later(seconds, end, {k: v for k, v in given.items() if k in end.options})
        return result

    def _later(self, seconds: float, fault: Fault, options: dict[str, Any]) -> None:
        timer = threading.Timer(seconds, getattr(self, fault.method), kwargs=options)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def close(self) -> None:
        """Cancel scheduled ends, and make the destination folders accessible, so that they can be removed."""
        for timer in self._timers:
            timer.cancel()
        self._database.archived_logs.show_all()


def faults() -> dict[str, Fault]:
    """Return all faults by name, in declaration order."""
    return faults_of(FaultInjector)
