"""Users' functions from an Arrow RecordBatch to another one: loaded by name, called for whole rows, and checked each time.

Exceptions of such a function may contain values, so only the exception's class goes on, after MARK, by which it is found in
Spark's error.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa

MARK = "redolake: users' code"
DIGITS = 16
SECONDS = 300.0  # of one call, which gets some thousand rows at most

Function = Callable[[pa.RecordBatch], pa.RecordBatch]


class UserCodeFailed(ValueError):
    """A function cannot be used: its text has MARK, and no value of a row."""

    def __init__(self, function: str, what: str) -> None:
        super().__init__(f"{MARK} {function} {what}.")


class UserCodeHangs(UserCodeFailed):
    """A function has not ended in time."""


class TimeIsUp(BaseException):
    """Raised inside a function that has not ended; `except Exception` in it does not catch it."""


def digest_of(function: str) -> str:
    """Return a hash of the function's module. Raises UserCodeFailed where it cannot be found."""
    module = function.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise UserCodeFailed(function, "cannot be found: its module is not installed here")
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()[:DIGITS]


@cache
def load(function: str, digest: str) -> Function:
    """Return the function, whose module must have that hash."""
    module, _, name = function.partition(":")
    if digest_of(function) != digest:
        raise UserCodeFailed(function, "is another one here than the table was read with")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise UserCodeFailed(function, f"cannot be imported: {type(error).__name__}") from None
    if not callable(found):
        raise UserCodeFailed(function, "is no function of its module")
    loaded: Function = found
    return loaded


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp in the block once the time is up: a loop or a wait ends. Another thread than the main one has no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(
    function: str, digest: str, batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], seconds: float | None = None
) -> list[pa.Array]:
    """Return the declared columns of what the function makes of a batch. Raises UserCodeFailed."""
    called, limit = load(function, digest), SECONDS if seconds is None else seconds
    try:
        with time_limit(limit):
            made = called(batch)
    except TimeIsUp:
        raise UserCodeHangs(function, f"has not ended after {limit:g} seconds, for {batch.num_rows} rows") from None
    except (Exception, SystemExit) as error:
        raise UserCodeFailed(function, f"raised {type(error).__name__}") from None
    if not isinstance(made, pa.RecordBatch):
        raise UserCodeFailed(function, f"returned a {type(made).__name__}, and no RecordBatch")
    if made.num_rows != batch.num_rows:
        raise UserCodeFailed(function, f"returned {made.num_rows} rows for {batch.num_rows}")
    if set(made.schema.names) != set(columns):
        raise UserCodeFailed(
            function, f"returned the columns {', '.join(made.schema.names)}, declared are {', '.join(columns)}"
        )
    return [in_type(function, name, made.column(name), type_) for name, type_ in columns.items()]


def in_type(function: str, name: str, values: pa.Array, type_: pa.DataType) -> pa.Array:
    try:
        return values.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UserCodeFailed(function, f"returned {name} as {values.type}, which is no {type_}") from None


def call_for_rows(
    function: str,
    digest: str,
    is_whole: pa.Array,
    inputs: Sequence[pa.Array],
    names: Sequence[str],
    columns: Mapping[str, pa.DataType],
) -> list[pa.Array]:
    """Call the function for the rows that have all their values; the others get NULL."""
    at = [i for i, whole in enumerate(is_whole.to_pylist()) if whole]
    rows = pa.RecordBatch.from_arrays(list(inputs), names=list(names))
    made = call(function, digest, rows.take(pa.array(at, pa.int64())), columns)
    if len(at) == len(is_whole):
        return made
    place = {row: number for number, row in enumerate(at)}
    back = pa.array([place.get(row) for row in range(len(is_whole))], pa.int64())
    return [values.take(back) for values in made]


def call_row_by_row(
    function: str,
    digest: str,
    is_whole: pa.Array,
    inputs: Sequence[pa.Array],
    names: Sequence[str],
    columns: Mapping[str, pa.DataType],
) -> tuple[list[pa.Array], pa.Array]:
    """Return what `call_for_rows` does, with NULL for the rows of which the function makes nothing, and why, or NULL, for each
    row. Halves of a batch are tried until a part has one row."""
    load(function, digest)  # a function that is not here has no row to blame
    whole, reasons = is_whole.to_pylist(), list[str | None]([None] * len(is_whole))
    rows = pa.RecordBatch.from_arrays(list(inputs), names=list(names))
    parts = [[i for i, is_one in enumerate(whole) if is_one]]
    while parts:
        part = parts.pop()
        try:
            call(function, digest, rows.take(pa.array(part, pa.int64())), columns)
        except UserCodeHangs:
            raise  # to look for its row would take as long for each half
        except UserCodeFailed as failed:
            if len(part) > 1:
                parts += [part[: len(part) // 2], part[len(part) // 2 :]]
                continue
            for row in part:
                whole[row], reasons[row] = False, str(failed).removeprefix(f"{MARK} ").rstrip(".")
    return call_for_rows(function, digest, pa.array(whole, pa.bool_()), inputs, names, columns), pa.array(reasons, pa.string())
