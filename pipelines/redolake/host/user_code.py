"""Users' functions from an Arrow RecordBatch to another one: loaded by name, called for whole rows, and checked each time.

Exceptions of such a function may contain values, so only the exception's class goes on, after MARK, by which it is found in
Spark's error.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import pkgutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec
from textwrap import shorten
from types import ModuleType

import pyarrow as pa

MARK = "redolake: users' code"
DIGITS = 16
MOST_SHOWN = 120  # characters of a list of columns, or of a type: Spark's error is searched for a text of some hundred
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
    """Return a hash of the function's module, and of the modules of the same top-level package that it imports, directly or by
    others. Raises UserCodeFailed where it cannot be found."""
    found = sources_of(function.partition(":")[0])
    if not found:
        raise UserCodeFailed(function, "cannot be found: its module is not installed here")
    if len(found) == 1:
        (body,) = found.values()
        return hashlib.sha256(body).hexdigest()[:DIGITS]
    parts = (f"{name} {len(body)}\n".encode() + body for name, body in sorted(found.items()))
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGITS]


def sources_of(module: str) -> dict[str, bytes]:
    """Return the texts that a module is made of, by the names of their modules: its own, and those in the same top-level
    package that it imports. Nothing is imported. Empty ones are left out; there is none where the module is not there."""
    found, ahead = dict[str, bytes](), [module]
    seen = set[str]()
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        spec = spec_of(name)
        body = None if spec is None else body_of(spec)
        if spec is None or body is None:
            if name == module:
                return {}
            continue  # a name of a module, or a folder without an __init__
        if body.strip() or name == module:
            found[name] = body
        package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        ahead += [name.rpartition(".")[0]] if "." in name else []  # Python runs it first
        ahead += [other for other in imports_in(body, package) if other.split(".")[0] == module.split(".")[0]]
    return found


def spec_of(module: str) -> ModuleSpec | None:
    """Return where a module is, without importing the packages that it is in, which would run their code."""
    top, *names = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    for depth in range(len(names)):
        places = None if spec is None else spec.submodule_search_locations
        found = [spec_in(place, ".".join([top, *names[: depth + 1]])) for place in places or ()]
        spec = next((one for one in found if one is not None), None)
    return spec


def spec_in(place: str, module: str) -> ModuleSpec | None:
    importer = pkgutil.get_importer(place)
    return None if importer is None else importer.find_spec(module)


def body_of(spec: ModuleSpec) -> bytes | None:
    get_data = getattr(spec.loader, "get_data", None)  # of a file, or of one in an archive
    try:
        return None if spec.origin is None or get_data is None else bytes(get_data(spec.origin))
    except OSError:
        return None


def imports_in(body: bytes, package: str) -> set[str]:
    """Return the names of modules that a module in a package may import. Some are names of functions, which are no modules."""
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError):
        return set()  # compiled code, or a module that cannot be imported
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found - {""}


@cache
def load(function: str, digest: str) -> Function:
    """Return the function, whose modules must have that hash. Modules that this process has imported from other texts are
    imported again: a worker lives longer than a version of the code."""
    module, _, name = function.partition(":")
    if digest_of(function) != digest:
        raise UserCodeFailed(function, "is another one here than the table was read with")
    try:
        with time_limit(SECONDS):
            found = getattr(import_again(module), name, None)
    except TimeIsUp:
        raise UserCodeHangs(function, f"cannot be imported: it has not ended after {SECONDS:g} seconds") from None
    except ModuleNotFoundError as error:
        # Our package's first name; a module of the users' own may have it.
        named = " (Redolake's package is called redolake)" if (error.name or "").split(".")[0] == "pipelines" else ""
        raise UserCodeFailed(function, f"cannot be imported: ModuleNotFoundError{named}") from None
    except BaseException as error:
        raise UserCodeFailed(function, f"cannot be imported: {type(error).__name__}") from None
    if digest_of(function) != digest:
        raise UserCodeFailed(function, "has changed while it was imported")
    if not callable(found):
        raise UserCodeFailed(function, "is no function of its module")
    loaded: Function = found
    return loaded


def import_again(module: str) -> ModuleType:
    """Import a module from its present text. Python compares the cached code of a module by seconds and size alone, so none is
    written."""
    for name in sources_of(module):
        there, (package, _, last) = sys.modules.pop(name, None), name.rpartition(".")
        if there is not None and getattr(sys.modules.get(package), last, None) is there:
            delattr(sys.modules[package], last)  # `from . import name` would take it from there
    importlib.invalidate_caches()
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(module)
    finally:
        sys.dont_write_bytecode = before


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
    except BaseException as error:  # also SystemExit, and what else `except Exception` lets pass
        raise UserCodeFailed(function, f"raised {type(error).__name__}") from None
    if not isinstance(made, pa.RecordBatch):
        raise UserCodeFailed(function, f"returned a {type(made).__name__}, and no RecordBatch")
    if made.num_rows != batch.num_rows:
        raise UserCodeFailed(function, f"returned {made.num_rows} rows for {batch.num_rows}")
    if sorted(made.schema.names) != sorted(columns):
        shown = (shorten(", ".join(names), MOST_SHOWN, placeholder=" ..") for names in (made.schema.names, columns))
        raise UserCodeFailed(function, "returned the columns {}, declared are {}".format(*shown))
    return [in_type(function, name, made.column(name), type_) for name, type_ in columns.items()]


def in_type(function: str, name: str, values: pa.Array, type_: pa.DataType) -> pa.Array:
    try:
        return values.cast(type_)
    except pa.ArrowException:
        shown = shorten(str(values.type), MOST_SHOWN, placeholder=" ..")
        raise UserCodeFailed(function, f"returned {name} as {shown}, which is no {type_}") from None


def call_for_rows(
    function: str,
    digest: str,
    is_whole: pa.Array,
    inputs: Sequence[pa.Array],
    names: Sequence[str],
    columns: Mapping[str, pa.DataType],
) -> list[pa.Array]:
    """Call the function for the rows that have all their values; the others get NULL. Without any, it is not called."""
    at = [i for i, whole in enumerate(is_whole.to_pylist()) if whole]
    if not at:
        return [pa.nulls(len(is_whole), type_) for type_ in columns.values()]
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
    while parts and (part := parts.pop()):
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
