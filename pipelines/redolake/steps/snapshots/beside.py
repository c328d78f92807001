"""Read and load snapshots in a thread, so that redo is captured and other tables are applied meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from redolake.context import BESIDE


class Beside:
    """Work in a thread of its own; at the end of the block it is asked to stop, and waited for."""

    def __init__(self) -> None:
        self.stop = Event()
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        def run() -> None:
            BESIDE.set(self.stop)  # in this thread's own context
            try:
                work()
            except BaseException as error:
                self._error = error

        self._thread = Thread(target=run, name="snapshot")
        self._thread.start()

    def is_free(self) -> bool:
        """Return whether nothing runs. Raises the error with which the last work has ended."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread, ended = None, self._error
        self._error = None
        if ended is not None:
            raise ended
        return True

    def wait(self, seconds: float) -> None:
        """Wait until the work has ended, and at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self._thread is not None:
            self._thread.join()
