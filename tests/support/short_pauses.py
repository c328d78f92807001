"""Let a receiver of OpenLogReplicator's messages take a short silence for the end of what there is: the stand-in sends at once.

How long nothing may come before it counts as gone stays as configured (`silent_seconds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from redolake.steps.capture import receive_streams


@contextmanager
def short_pauses() -> Iterator[None]:
    with mock.patch.object(receive_streams, "PAUSE_SECONDS", 0.1):
        yield
