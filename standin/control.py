"""Fault injection from another process: a loopback port, whose number and token are in a file that only its owner can read.

Each connection carries one request and one answer, each a line of JSON. A request is
`{"token": .., "fault": .., "options": {..}, "seconds": ..}`, an answer `{"result": ..}` or `{"error": .., "usage": ..}`.
`usage` is true if the request itself was wrong, false if the stand-in could not carry it out.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import threading
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, Protocol

from standin.interface import OraError

log = logging.getLogger(__name__)

FILE = "control.json"  # its name in the data directory
_TIMEOUT_SECONDS = 30.0


class Faults(Protocol):
    def inject(self, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any: ...


class InjectionFailed(Exception):
    """The stand-in could not inject the fault; the message is the stand-in's."""


class ControlServer:
    """Serves fault requests from construction to `close`, which removes the file."""

    def __init__(self, faults: Faults, file: Path) -> None:
        self._faults, self._file = faults, file
        self._token = secrets.token_hex(16)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run, name="standin-control", daemon=True)
        self._thread.start()
        part = file.with_name(file.name + ".part")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            json.dump({"port": self._socket.getsockname()[1], "token": self._token}, out)
        part.rename(file)

    def close(self) -> None:
        self._file.unlink(missing_ok=True)
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            with connection, connection.makefile("rw", encoding="utf-8") as stream:
                connection.settimeout(_TIMEOUT_SECONDS)
                try:
                    stream.write(json.dumps(self._answer(stream.readline()), default=_plain) + "\n")
                except OSError as failure:
                    log.debug("the client of the control port disconnected: %s", failure)

    def _answer(self, line: str) -> dict[str, Any]:
        try:
            request = json.loads(line)
            if not hmac.compare_digest(str(request["token"]), self._token):
                return {"error": "the token is not valid for this stand-in", "usage": False}
            return {"result": self._faults.inject(request["fault"], request.get("options"), request.get("seconds"))}
        except OraError as refused:
            return {"error": str(refused), "usage": False}
        except (KeyError, TypeError, ValueError) as mistake:
            return {"error": str(mistake), "usage": True}
        except Exception as failure:
            log.exception("injecting a fault failed")
            return {"error": f"{type(failure).__name__}: {failure}", "usage": False}


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def inject_fault(file: Path, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
    """Inject a fault into the stand-in that wrote this control file; return its result, decoded from JSON.

    Raises ValueError for a wrong request, InjectionFailed when the stand-in could not do it, OSError when it does not answer.
    """
    try:
        control = json.loads(file.read_text())
    except FileNotFoundError:
        raise ConnectionError(f"no stand-in runs here: {file} does not exist") from None
    request = {"token": control["token"], "fault": name, "options": dict(options or {}), "seconds": seconds}
    address = ("127.0.0.1", control["port"])
    with (
        socket.create_connection(address, timeout=_TIMEOUT_SECONDS) as connection,
        connection.makefile("rw", encoding="utf-8") as stream,
    ):
        stream.write(json.dumps(request) + "\n")
        stream.flush()
        answer = json.loads(stream.readline() or '{"error": "the stand-in closed the connection", "usage": false}')
    if "error" not in answer:
        return answer["result"]
    if answer["usage"]:
        raise ValueError(answer["error"])
    raise InjectionFailed(answer["error"])
