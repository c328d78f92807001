"""Converts every failure inside a call to an Oracle error for the client."""

from __future__ import annotations

import logging

from standin.interface import OraError
from standin.wire.reader import RequestNotUnderstood

log = logging.getLogger(__name__)

NO_DATA_FOUND = OraError(1403, "no data found")
CANCELLED = 1013


def as_ora_error(error: Exception) -> OraError:
    """Return an OraError as it is, and a bug as ORA-00604: at ORA-00600 the driver would close the connection."""
    if isinstance(error, OraError):
        return error
    if isinstance(error, RequestNotUnderstood):
        return OraError(3120, f"two-task conversion routine: integer overflow ({error})")
    log.error("the stand-in failed inside a call", exc_info=error)
    return OraError(604, f"error occurred at recursive SQL level 1 -- {type(error).__name__}: {error}")


def cancelled() -> OraError:
    return OraError(CANCELLED, "user requested cancel of current operation")
