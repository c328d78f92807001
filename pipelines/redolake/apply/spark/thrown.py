"""The exceptions of a failure, Python's and Java's, and what may be said of them: no message that can contain a row's value.

Messages are shown of classes that the file system raises and of the analysis of a statement alone.
"""

from __future__ import annotations

import json
import os
import re
import traceback
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

from redolake.apply.spark.conditions import NO_LOG_PATH, OF_JAVA

# Classes whose message is the file system's or the operating system's, and no value of a row.
OF_FILES = frozenset(
    {
        "IOException", "FSError", "FileNotFoundException", "FileSystemException", "UncheckedIOException", "PathIOException",
        "FileAlreadyExistsException", "ParquetCloseResourceException", "OSError", "PermissionError", "FileNotFoundError",
        "AWSClientIOException", "AWSS3IOException", "AWSBadRequestException", "S3Exception", "ClientError",
    }
)  # fmt: skip
# They are raised before any row is read.
OF_ANALYSIS = frozenset({"AnalysisException", "ExtendedAnalysisException", "DeltaAnalysisException"})
OF_SESSIONS = ("INVALID_HANDLE", "SESSION_", "CONNECT_")
PARTITION = re.compile(r"([^/=\s\"']+)=[^/]+(?=/)")
WORKER_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
# Their messages name files and stages. The exceptions below them say why.
WRAPPERS = (
    "TASK_WRITE_FAILED", "FAILED_READ_FILE", "INTERNAL_ERROR", "FAILED_EXECUTE_UDF", "STAGE_MATERIALIZATION",
    "PYTHON_EXCEPTION", "UNABLE_TO_ACQUIRE_MEMORY", NO_LOG_PATH,
)  # fmt: skip

# `Caused by: java.io.IOException: No space left on device`, the first line of a trace, and a task's error in a stage's message.
_CLASS = r"(?:[A-Za-z_$][\w$]*\.)*([A-Za-z_$][\w$]*(?:Exception|Error|Failure|Throwable))"
_LINE = re.compile(rf"\s*(?:: |Caused by: |Suppressed: |\()?{_CLASS}(?:(?::|\))\s?(.*))?$")
_CLASS_FIRST = re.compile(rf"An error occurred while calling|\s*(?:: |\()?{_CLASS}")
_TASK = re.compile(rf"Lost task [^(]*\(TID \d+\) \([^)]*\): {_CLASS}(?:[: ]\s?(.*))?$")
_WORKER = re.compile(r"^Error from python worker:\n(.*?)^PYTHONPATH was:$", re.MULTILINE | re.DOTALL)
NO_WORKER = ("EOFException occurred while reading the port number", "Bad data in")
_NUMBER = re.compile(r"\[Errno (\d+)\]")


@dataclass(frozen=True, slots=True)
class Thrown:
    """One exception of a chain: the simple name of its class, and its message."""

    name: str
    message: str
    number: int | None = None  # errno

    @property
    def condition(self) -> str | None:
        """The condition that Spark or Delta names at the beginning of the message."""
        found = re.match(r"\[([A-Z][A-Z0-9_.]*)\]", self.message)
        return None if found is None else found[1]

    @property
    def state(self) -> str:
        """The SQLSTATE of its condition; empty for one that this Spark does not have, and for a wrapper."""
        condition = self.condition or ""
        return "" if condition.startswith(WRAPPERS) else states().get(condition.partition(".")[0], "")


@cache
def states() -> Mapping[str, str]:
    """Return the SQLSTATE of each condition, as Spark's own file has it: a message may contain a value that looks like one."""
    folders = (Path(pyspark.__file__).parent, Path(os.environ.get("SPARK_HOME", "")))
    jars = [jar for folder in folders for jar in (folder / "jars").glob("spark-common-utils_*.jar")]
    if not jars:
        return {}  # of a client alone
    with zipfile.ZipFile(jars[0]) as opened:
        conditions = json.loads(opened.read("error/error-conditions.json"))
    return {name: one.get("sqlState", "") for name, one in conditions.items()}


def failure_text(surprise: BaseException) -> str:
    """Return what a failure says, without texts that may contain values of rows: classes and conditions, the messages of the
    file system and of the analysis of a statement, and the place in our code."""
    parts = [thrown_text(one) for one in chain_of(surprise)] or [type(surprise).__name__]
    return "; ".join(dict.fromkeys((*parts, *_place_of(surprise))))[:1000]


def thrown_text(one: Thrown) -> str:
    if (one.condition or "").startswith(OF_SESSIONS):
        return message_text(one.message)[:500]
    if one.name in OF_FILES | OF_ANALYSIS:
        return f"{one.name}: {message_text(one.message)[:500]}"
    return f"{one.name} {one.condition}" if one.condition else one.name


def message_text(message: str) -> str:
    """Return a message's first line. The folder of a partition contains a value."""
    return PARTITION.sub(r"\1=..", message.partition("\n")[0])


def _place_of(surprise: BaseException) -> list[str]:
    """Return the last place in our own code, here or in a Python worker."""
    frames = (frame for one in _causes(surprise) for frame in traceback.extract_tb(one.__traceback__))
    here = [(frame.filename, frame.lineno) for frame in frames]
    places = [(f, n) for f, n in (*here, *WORKER_PLACE.findall(str(surprise))) if "/redolake/" in f]
    return [f"at redolake/{places[-1][0].rpartition('/redolake/')[2]}, line {places[-1][1]}"] if places else []


def chain_of(surprise: BaseException) -> list[Thrown]:
    """Return the exceptions of a failure, Python's and Java's, the outermost first, down to the first one whose message may
    contain values of rows."""
    found = list[Thrown]()
    for one in _causes(surprise):
        number = one.errno if isinstance(one, OSError) else None
        text = _trace_of(one)
        found += _find_thrown(text) if text else [Thrown(type(one).__name__, str(one), number)]
    return list(_before_values(found))


def worker_words(surprise: BaseException, thrown: Sequence[Thrown]) -> str | None:
    """Return what Python has written where it could not begin as Spark's worker; None for another failure.

    It has seen no row then, so its words contain no value.
    """
    if not any(one.name == "SparkException" and one.message.startswith(NO_WORKER) for one in thrown):
        return None
    found = next((match for one in _causes(surprise) if (match := _WORKER.search(_trace_of(one)))), None)
    return None if found is None else found[1].strip().rpartition("\n")[2].strip()


def _causes(surprise: BaseException) -> Iterator[BaseException]:
    seen = set[int]()
    one: BaseException | None = surprise
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _trace_of(error: BaseException) -> str:
    """Return Java's trace of an error of Spark's; empty for an error of this process."""
    if not type(error).__module__.startswith(OF_JAVA):
        return ""
    if trace := getattr(error, "_stackTrace", None):
        return str(trace)
    if trace := getattr(error, "_stacktrace", None):  # of Connect, whose first line lacks the message
        name, _, causes = str(trace).partition("\n")
        message = re.sub(r"^\([\w.$]+\) ", "", str(getattr(error, "_message", "")))
        return f"{name}: {message}\n{causes}"
    text = str(error)
    return text if _CLASS_FIRST.match(text) else f"{type(error).__name__}: {text}"


def _find_thrown(trace: str) -> Iterator[Thrown]:
    for line in trace.splitlines():
        for match in (_LINE.match(line), _TASK.search(line)):
            if match is not None:
                number = _NUMBER.search(match[2] or "")
                yield Thrown(match[1], match[2] or "", None if number is None else int(number[1]))


def _before_values(found: Sequence[Thrown]) -> Iterator[Thrown]:
    for one in found:
        yield one
        if one.condition is not None and not one.condition.startswith(WRAPPERS):
            return
