"""How loops are compiled. Only the kernels that Python calls are kept on disk; they contain the functions they call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

F = TypeVar("F", bound=Callable[..., object])
Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

# Without reference counts: no kernel makes an array, and counting takes longer than the work.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}

# Unsigned indexes: a signed one may be negative, so that each access would test it, and no loop would be vectorised.
u64 = np.uint64


_kernels: list[numba.core.dispatcher.Dispatcher] = []


def kernel(function: F) -> F:
    """Compile a function that Python calls, at its first call unless a process before has kept it."""
    try:
        _kernels.append(numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no folder to keep it in can be written
        _kernels.append(numba.njit(**_OPTIONS)(function))
    return cast(F, _kernels[-1])


def is_kept() -> bool:
    """Return whether a process before has compiled the kernels, and has kept them where this one looks."""
    return all(map(_is_kept, _kernels))


def kept_in() -> str | None:
    """Return the folder in which the kernels are kept, if they are."""
    return str(_kernels[0].stats.cache_path) if is_kept() else None


def _is_kept(compiled: numba.core.dispatcher.Dispatcher) -> bool:
    name, line = compiled.py_func.__qualname__, compiled.py_func.__code__.co_firstlineno
    folder = compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{name}-{line}.*.nbi"))


def inline(function: F) -> F:
    return cast(F, numba.njit(forceinline=True, **_OPTIONS)(function))
