"""What all groups of faults have: the stand-in whose model, files and sockets they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from standin.engine.instance import Instance
    from standin.wire.server import Listener


class Faults:
    """A group of faults. Each method takes effect before it returns and may be called from any thread."""

    def __init__(self, database: Instance, listener: Listener) -> None:
        self._database, self._listener = database, listener
