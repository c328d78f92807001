"""Choose between decode_changes and the compiled loops, which need numba and pay for a process that decodes much text."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from importlib.util import find_spec

import pyarrow as pa

from redolake.decode.changes import decode_changes
from redolake.decode.messages import is_message
from redolake.values.delivery import Delivery

WORTH_LOADING = 32 << 20  # bytes of redo SQL that decode_changes reads while the kernels would be loaded
WORTH_COMPILING = 1 << 30  # and while they would be compiled

log = logging.getLogger(__name__)

_octets = 0
_chosen: Callable[..., pa.RecordBatch] | None = None


def decoder(octets: int, delivery: Delivery) -> Callable[..., pa.RecordBatch]:
    """Return decode_changes or its compiled twin, which reads no large objects, for a batch with so many bytes of redo SQL."""
    global _octets, _chosen
    if delivery.pieces:
        return decode_changes
    _octets += octets
    if _chosen is None and _octets >= WORTH_LOADING:
        _chosen = _load_decoder()
    return _chosen or decode_changes


def decoder_of(texts: pa.Array, delivery: Delivery) -> Callable[..., pa.RecordBatch]:
    """Return the decoder of a batch with these texts. Only decode_changes reads messages."""
    return decode_changes if is_message(texts).any() else decoder(texts.nbytes, delivery)


def why_plain() -> str | None:
    """Return why this Python cannot decode by compiled loops, or None."""
    if find_spec("numba") is None:
        return "numba is not installed (redolake[compiled])"
    return "NUMBA_DISABLE_JIT is set" if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else None


def _load_decoder() -> Callable[..., pa.RecordBatch] | None:
    """Return what this process decodes with from now on, or None while the kernels are not worth being compiled."""
    if (reason := why_plain()) is not None:
        log.warning("redo is decoded at a third of the speed: %s", reason)
        return decode_changes
    from redolake.decode.compiled.changes import decode_compiled
    from redolake.decode.compiled.jit import is_kept

    return decode_compiled if _octets >= WORTH_COMPILING or is_kept() else None
