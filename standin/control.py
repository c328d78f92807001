"""How levers of a running stand-in are pulled from another process: a loopback port, told with a token in a private file.

One request and one answer per connection, each a line of JSON. A request is
`{"token": .., "lever": .., "options": {..}, "seconds": ..}`, an answer `{"result": ..}` or `{"error": .., "usage": ..}`,
where `usage` says that the question was wrong and not the deed.
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

FILE = "control.json"  # in the data directory, unless told otherwise
_PATIENCE = 30.0  # seconds that a client waits for its answer


class Levers(Protocol):
    def pull(self, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any: ...


class LeverFailed(Exception):
    """The stand-in could not do it; the message is its own."""


class ControlServer:
    """Serves from construction to `close`, which removes the file."""

    def __init__(self, levers: Levers, file: Path) -> None:
        self._levers, self._file = levers, file
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
                connection.settimeout(_PATIENCE)
                try:
                    stream.write(json.dumps(self._answer(stream.readline()), default=_plain) + "\n")
                except OSError as failure:
                    log.debug("the client of the control port went away: %s", failure)

    def _answer(self, line: str) -> dict[str, Any]:
        try:
            request = json.loads(line)
            if not hmac.compare_digest(str(request["token"]), self._token):
                return {"error": "the token is not this stand-in's", "usage": False}
            return {"result": self._levers.pull(request["lever"], request.get("options"), request.get("seconds"))}
        except OraError as refused:
            return {"error": str(refused), "usage": False}
        except (KeyError, TypeError, ValueError) as mistake:
            return {"error": str(mistake), "usage": True}
        except Exception as failure:
            log.exception("a lever broke")
            return {"error": f"{type(failure).__name__}: {failure}", "usage": False}


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def pull_lever(file: Path, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
    """Pull a lever of the stand-in whose control file this is; what it gives back, as JSON has it.

    Raises ValueError for what cannot be asked, LeverFailed for what could not be done, OSError when nobody answers.
    """
    try:
        told = json.loads(file.read_text())
    except FileNotFoundError:
        raise ConnectionError(f"no stand-in runs here: there is no {file}") from None
    request = {"token": told["token"], "lever": name, "options": dict(options or {}), "seconds": seconds}
    where = ("127.0.0.1", told["port"])
    with (
        socket.create_connection(where, timeout=_PATIENCE) as connection,
        connection.makefile("rw", encoding="utf-8") as stream,
    ):
        stream.write(json.dumps(request) + "\n")
        stream.flush()
        answer = json.loads(stream.readline() or '{"error": "the stand-in went away", "usage": false}')
    if "error" not in answer:
        return answer["result"]
    if answer["usage"]:
        raise ValueError(answer["error"])
    raise LeverFailed(answer["error"])
