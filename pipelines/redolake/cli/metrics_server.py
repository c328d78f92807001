"""Answer Prometheus over HTTP: `GET /metrics` reads the ledger and returns the text of `redolake metrics`."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Timer
from typing import Any

from redolake.errors import RedolakeError

MOST_REQUESTS = 8  # at a time; Prometheus makes one
IDLE_SECONDS = 30  # after which a client that sends or takes nothing is left
LONGEST_SECONDS = 60  # of one request, however slowly its bytes follow each other
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)


class BoundedServer(ThreadingHTTPServer):
    """A server with a thread for each request, and not more than MOST_REQUESTS: a client beyond them is closed at once."""

    def __init__(self, *arguments: Any) -> None:
        self._free = BoundedSemaphore(MOST_REQUESTS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            log.warning("a request is refused: %d are under way", MOST_REQUESTS)
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        late = Timer(LONGEST_SECONDS, self.end_late, (request,))
        late.daemon = True
        late.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            late.cancel()
            self._free.release()

    def end_late(self, request: Any) -> None:
        with suppress(OSError):  # it has ended meanwhile
            request.shutdown(socket.SHUT_RDWR)


def metrics_server(host: str, port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """Return a server that calls `text` for each request; an error of the ledger is answer 503, so that Prometheus shows the
    target as down."""

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.answer(404, "the metrics are at /metrics\n")
                return
            try:
                self.answer(200, text())
            except RedolakeError as error:
                log.warning("no metrics: %s", error)
                self.answer(503, f"{error}\n")

        def answer(self, status: int, body: str) -> None:
            sent = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            log.debug(format, *args)

    return BoundedServer((host, port), Handler)
