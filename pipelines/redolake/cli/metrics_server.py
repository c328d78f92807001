"""Answer Prometheus over HTTP: `GET /metrics` reads the ledger and returns the text of `redolake metrics`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from redolake.errors import RedolakeError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)


def metrics_server(host: str, port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """Return a server that calls `text` for each request; an error of the ledger is answer 503, so that Prometheus shows the
    target as down."""

    class Handler(BaseHTTPRequestHandler):
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

    return ThreadingHTTPServer((host, port), Handler)
