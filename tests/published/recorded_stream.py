"""What an OpenLogReplicator sent over its network target, byte by byte, with the settings that Redolake needs.

Source: OpenLogReplicator 1.9.0 (upstream f8476d81), built by hand and run in batch mode on two archived logs of a real Oracle,
Free 23, which rophy/OpenLogReplicator has published with their schema checkpoint. Their SQL: CREATE TABLE OLR_TEST.TEST_CDC (ID
NUMBER, NAME VARCHAR2), and one INSERT of (1, 'hello world') that was committed.
"""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from standin.olr.protocol import NONE, Answer, Request, framed, read_request, take_frame, write_answer

NAME, FIRST_SCN, SEQUENCE, OBJECT_ID = "TEST", 2_266_635, 15, 72_726
SECOND_LOG_SCN, LAST_SCN = 2_267_717, 2_267_723
PIECE = 1000


@cache
def recorded_bytes() -> bytes:
    return gzip.decompress((Path(__file__).parent / "olr_stream_free23.bin.gz").read_bytes())


@contextmanager
def recorded_server(sent: bytes | None = None, first_scn: int = FIRST_SCN) -> Iterator[str]:
    """Answer as OpenLogReplicator does, and send the recorded bytes, or others, to whoever starts it or goes on. Yield the
    address."""
    begins = write_answer(Answer.REPLICATE, first_scn - 1, NONE)
    server = socket.create_server(("127.0.0.1", 0))
    started = threading.Event()

    def serve(client: socket.socket) -> None:
        buffer = bytearray()
        while piece := client.recv(65536):
            buffer += piece
            while (body := take_frame(buffer)) is not None:
                request = read_request(body)
                if request.code == Request.INFO:
                    is_running = started.is_set()
                    answer = (
                        write_answer(Answer.REPLICATE, first_scn - 1, 2**64 - 1) if is_running else write_answer(Answer.READY)
                    )
                    client.sendall(framed(answer))
                elif request.code in (Request.START, Request.CONTINUE):
                    started.set()
                    client.sendall(framed(begins))
                    found = recorded_bytes() if sent is None else sent
                    for at in range(0, len(found), PIECE):
                        client.sendall(found[at : at + PIECE])

    def run() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client, suppress(OSError):
                    serve(client)

    runner = threading.Thread(target=run, name="recorded-olr", daemon=True)
    runner.start()
    host, port = server.getsockname()[:2]
    try:
        yield f"{host}:{port}"
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        runner.join()
