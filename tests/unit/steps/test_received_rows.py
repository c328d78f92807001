"""Rows that are received wait in a temporary file until their window's end is known."""

from __future__ import annotations

from datetime import datetime
from typing import IO

import pytest

from redolake.errors import LandingUnwritable
from redolake.source.olr.messages import Message
from redolake.steps.capture.received_rows import BATCH_MESSAGES, Spool

COMMITTED = datetime(2026, 1, 2)


def message(number: int) -> Message:
    return Message(
        10, number, "c", "1.2.3", 9, 10, COMMITTED, 1, number, "SHOP", "ORDERS", 7, "AAAAAAAAAAAAAAAAAA", None, None, "{}"
    )  # fmt: skip


def spool_all(file: IO[bytes]) -> None:
    spool = Spool(file, "PDB", 1, 0)
    for number in range(BATCH_MESSAGES):
        spool.add(message(number))


def test_a_full_disk_is_said_with_the_folder_and_that_nothing_was_confirmed() -> None:
    with open("/dev/full", "r+b", buffering=0) as full, pytest.raises(LandingUnwritable, match="No space left") as stopped:
        spool_all(full)
    assert "TMPDIR" in stopped.value.cure
    assert "nothing of it was confirmed" in stopped.value.cure
