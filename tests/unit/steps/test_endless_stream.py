"""A peer that sends and never proves how far it has read is left after a time or a number of bytes; one that is slow or has
much to send is not."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.errors import ReplicatorRefused
from redolake.source.olr import Cut, Selection, Sequencer
from redolake.source.olr.client import Address, Connection
from redolake.steps.capture.receive_streams import take_messages
from redolake.steps.capture.received_rows import open_spool
from redolake.steps.checks.running_stream import sent_findings
from redolake.steps.shared.redo_streams import Stream, StreamState
from standin.olr.protocol import framed

ADDRESS = Address("db", 5000, "DB")
CHANGE = {"op": "c", "schema": {"owner": "SHOP", "table": "T", "obj": 5}, "rid": "AAA", "after": {"ID": 1}}


def message(payload: Any, c_scn: int, c_idx: int) -> bytes:
    of_commit = {"scn": 1, "b_scn": 1, "e_scn": 20, "e_tm": 1_700_000_000 * 10**9, "xid": "1.2.3", "db": "PDB"}
    return framed(json.dumps({**of_commit, "c_scn": c_scn, "c_idx": c_idx, "payload": [payload]}).encode())


def checkpoint(scn: int, offset: int, c_idx: int = 0) -> bytes:
    return message({"op": "chkpt", "seq": 7, "offset": offset}, scn, c_idx)


def a_transaction_without_end() -> Iterator[bytes]:
    yield message({"op": "begin"}, 10, 0)
    for number in itertools.count():
        yield message({**CHANGE, "num": number}, 10, number + 1)


def one_after_a_checkpoint() -> Iterator[bytes]:
    yield checkpoint(5, 512)
    yield from a_transaction_without_end()


def a_message_without_end() -> Iterator[bytes]:
    yield b"\0\0\0\1"
    while True:
        yield b" "


def a_checkpoint_that_stands_still() -> Iterator[bytes]:
    for number in itertools.count():
        yield checkpoint(5, 512, number)  # where the window begins


def transactions_without_checkpoints() -> Iterator[bytes]:
    numbers = itertools.count()
    while True:
        for kind in ("begin", "commit"):
            yield message({"op": kind}, 10, next(numbers))


ENDLESS = (
    a_transaction_without_end,
    one_after_a_checkpoint,
    a_message_without_end,
    a_checkpoint_that_stands_still,
    transactions_without_checkpoints,
)


@contextmanager
def sending(parts: Iterator[bytes], pause: float, most: int = 4000) -> Iterator[Connection]:
    """Yield a connection to a peer that sends the parts. It closes it after so many, so that a test fails and does not hang."""
    mine, its = socket.socketpair()

    def send() -> None:
        with suppress(OSError), its:
            for part in itertools.islice(parts, most):
                its.sendall(part)
                stopped.wait(pause)

    stopped = threading.Event()
    sender = threading.Thread(target=send)
    sender.start()
    with mine:
        yield Connection(mine, ADDRESS, None, 5)
        stopped.set()
    sender.join()


def take(connection: Connection, folder: Path, target: int | None = None, **settings: Any) -> tuple[Sequencer, Cut | None]:
    source = {"connection": "o", "kind": "openlogreplicator", "address": "db:5000", "database": "DB", "silent_seconds": 0.5}
    body = {"name": "shop", "source": source, "tables": ["SHOP.T"], "landing": f"{folder}/landing", "lake": f"{folder}/lake"}
    sequencer, stream = Sequencer(5, None), Stream(1, ADDRESS, None, StreamState(), {})
    with open_spool(None, 1, 0) as spool:
        selection = Selection({5}, frozenset())
        pipeline = Pipeline.model_validate(body | settings)
        return sequencer, take_messages(pipeline, connection, sequencer, selection, spool, stream, target)


@pytest.mark.parametrize("sent", ENDLESS)
@pytest.mark.parametrize("limit", ["time", "bytes"])
def test_a_stream_that_proves_nothing_ends_with_what_came_and_what_to_do(
    sent: Callable[[], Iterator[bytes]], limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redolake.source.olr.client.PIECE_BYTES", 1000)
    settings = {"wait_max_minutes": 0.2 / 60} if limit == "time" else {"window": {"max_bytes": 20}}
    with (
        sending(sent(), 0.005 if limit == "time" else 0) as connection,
        pytest.raises(ReplicatorRefused, match=r"no checkpoint") as refused,
    ):
        take(connection, tmp_path, **settings)

    said = str(refused.value)
    assert "db:5000" in said
    assert "message(s)" in said
    assert "bytes" in said
    assert ("SCN 5" in said) is (sent in (one_after_a_checkpoint, a_checkpoint_that_stands_still))
    for cure in ("0x1000", "wait_max_minutes", "window.max_bytes", "Nothing of what came has landed"):
        assert cure in refused.value.cure


def test_doctor_does_not_wait_for_a_message_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.steps.checks.running_stream.ASKED_SECONDS", 0.1)
    with sending(a_message_without_end(), 0.005) as connection, pytest.raises(ReplicatorRefused, match="no checkpoint"):
        list(sent_findings(connection, None, None, {}))


def test_a_large_transaction_may_take_longer_than_a_run_may_wait_as_long_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redolake.source.olr.client.FEWEST_BYTES_A_SECOND", 1000)

    def parts() -> Iterator[bytes]:
        yield from itertools.islice(a_transaction_without_end(), 200)
        yield message({"op": "commit"}, 10, 200)
        yield checkpoint(30, 512)
        yield checkpoint(31, 1024)
        yield checkpoint(32, 1536)

    with sending(parts(), 0.004) as connection:
        began = time.monotonic()
        sequencer, _ = take(connection, tmp_path, 29, wait_max_minutes=0.01 / 60)
    assert time.monotonic() - began > 0.6, "longer than without bytes"
    assert sequencer.cut is not None
    assert sequencer.cut.rows == 201


def test_proved_checkpoints_that_never_reach_the_present_end_a_window_in_time(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        for number in itertools.count(10):
            yield checkpoint(number, 512 * number)

    with sending(parts(), 0.005) as connection:
        sequencer, _ = take(connection, tmp_path, 10**9, wait_max_minutes=0.1 / 60)
    assert sequencer.cut is not None
    assert sequencer.cut.end > 10
