"""Rows that are received wait in a temporary file until their window's end is known."""

from __future__ import annotations

import tempfile
from dataclasses import replace
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


def test_rows_that_wait_are_not_on_the_disk_in_clear_text_and_come_back_in_their_order() -> None:
    with tempfile.TemporaryFile() as file:
        spool = Spool(file, "PDB", 1, 0)
        count = 2 * BATCH_MESSAGES + 7
        for number in range(count):
            spool.add(replace(message(number), text='{"v": "123-45-6789"}'))
        rows = [row for batch in spool.first(count - 1, 77, 1000) for row in batch.to_pylist()]
        file.seek(0)
        body = file.read()

    assert [part for part in (b"123-45-6789", b"SHOP", b"ORDERS") if part in body] == []
    assert len(rows) == count - 1
    assert [row["sequence"] for row in rows] == [77] * len(rows)
    assert len(body) > len(rows), "they were written"
    assert '{"v": "123-45-6789"}' in rows[-1].values()
