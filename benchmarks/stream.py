"""Rows per second that one core receives from OpenLogReplicator and lands, beside a bare socket with a JSON parser.

The messages are the stand-in's, of one INSERT and one UPDATE of each row; another process sends them. Both readings are of the
same bytes, in turns.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redolake.land.files import Files
from redolake.land.parquet import write_parquet
from redolake.source.olr import Selection, Sequencer, needed_configuration
from redolake.source.olr.messages import Checkpoint, read_message
from redolake.source.olr.wire import Frames
from redolake.steps.capture.received_rows import open_spool
from redolake.values.landed_schema import LANDED_SCHEMA
from standin.olr.feed import Feed
from standin.olr.options import Behaviour, Configuration
from standin.olr.parser import Parser
from standin.olr.protocol import framed
from standin.serve import standin

TABLE = (
    "CREATE TABLE events (id NUMBER(12) PRIMARY KEY, kind VARCHAR2(20), place VARCHAR2(40), amount NUMBER(12,2), "
    "at TIMESTAMP(6))",
    "ALTER TABLE events ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


def recorded(rows: int) -> tuple[bytes, int]:
    """Return the stream of `rows` inserted and updated rows, and the SCN at which it begins."""
    configuration = Configuration.of(needed_configuration("DB", "127.0.0.1:0", []))
    with standin(background=False, log_bytes=1 << 30) as oracle, oracle.connect("SHOP") as connection:
        cursor = connection.cursor()
        for statement in TABLE:
            cursor.execute(statement)
        feed, start = Feed(oracle.database, 1, Behaviour(idle_seconds=0)), oracle.database.clock.scn
        cursor.execute(
            f"INSERT INTO events SELECT LEVEL, 'kind ' || MOD(LEVEL, 7), RPAD('x', 30, 'y'), LEVEL / 4, "
            f"TIMESTAMP '2026-01-01 12:00:00.5' FROM dual CONNECT BY LEVEL <= {rows}"
        )
        connection.commit()
        cursor.execute("UPDATE events SET amount = amount + 1")
        connection.commit()
        for _ in range(3):
            feed.poll()
        messages = list(Parser(feed, configuration, feed.behaviour, start).messages())
        feed.close()
    return b"".join(framed(message.body) for message in messages), start + 1


def send(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)


@contextmanager
def sender(data: bytes) -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = multiprocessing.get_context("fork").Process(target=send, args=(server.getsockname()[1], data))
        process.start()
        connection, _ = server.accept()
        with connection:
            yield connection
        process.join()


def read_bare(connection: socket.socket) -> int:
    """Read each message and parse it, as little as any receiver does."""
    buffer, at, count = bytearray(), 0, 0
    while piece := connection.recv(1 << 20):
        buffer += piece
        while len(buffer) - at >= 4:
            (length,) = struct.unpack_from("<I", buffer, at)
            if len(buffer) - at - 4 < length:
                break
            count += json.loads(bytes(buffer[at + 4 : at + 4 + length]))["payload"][0]["op"] in "cud"
            at += 4 + length
        del buffer[:at]
        at = 0
    return count


def land(connection: socket.socket, start: int) -> int:
    """Read, check and land each message, as the receiver does."""
    frames, sequencer = Frames(), Sequencer(start, None)
    selection = Selection(frozenset(), frozenset({("SHOP", "EVENTS")}))
    with tempfile.TemporaryDirectory() as folder, open_spool("FREEPDB1", 1, 0) as spool:
        while piece := connection.recv(1 << 20):
            frames.add(piece)
            for body in frames:
                message = read_message(body, "FREEPDB1")
                if isinstance(message, Checkpoint):
                    for kept in selection.end():
                        spool.add(kept)
                    sequencer.take_checkpoint(message, spool.rows)
                elif sequencer.take(message):
                    for kept in selection.take(message):
                        spool.add(kept)
        assert sequencer.cut is not None
        cut = sequencer.cut
        assert cut.anchor is not None
        batches = spool.first(cut.rows, cut.anchor.sequence, cut.end)
        write_parquet(Files(Path(folder).as_uri()), "rows.parquet", LANDED_SCHEMA, batches)
        return cut.rows - 4  # two transactions


def best(turns: int, data: bytes, read: Callable[[socket.socket], int]) -> tuple[float, int]:
    seconds, rows = float("inf"), 0
    for _ in range(turns):
        with sender(data) as connection:
            began = time.process_time()
            rows = read(connection)
            seconds = min(seconds, time.process_time() - began)
    return seconds, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    chosen = parser.parse_args()
    data, start = recorded(chosen.rows)
    for name, read in (("socket and JSON alone", read_bare), ("received and landed", lambda one: land(one, start))):
        seconds, rows = best(chosen.turns, data, read)
        print(f"{name:24} {rows:8} rows {seconds:7.2f} s of CPU {rows / seconds:10,.0f} rows/s")  # noqa: T201


if __name__ == "__main__":
    main()
