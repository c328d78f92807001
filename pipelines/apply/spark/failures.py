"""Decide whether a failure concerns one table, or the session, the lake, the machine or another writer.

A failure is recognised by the classes of its exceptions, by their conditions and by the numbers of the operating system. Words
are compared only in messages of classes that the file system raises: the text of any other message may be a row's value.
"""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pipelines.apply.spark.lake_damage import table_damage
from pipelines.errors import (
    OF_SPARK,
    ConfigurationError,
    Finding,
    LakeFull,
    LakeRefused,
    LakeUnavailable,
    MappingFailed,
    RedolakeError,
    SparkExhausted,
    SparkLost,
    TargetRefused,
    Transient,
    VersionRemoved,
    report_with,
)
from pipelines.host.arrow_check import CURE, FAULT
from pipelines.host.user_code import MARK
from pipelines.values.mapping import TableMapping
from pipelines.values.table import TableId

NO_FILE = (
    "FILE_NOT_EXIST",
    "FileNotFoundException",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)


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


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is not about one table: `error` is raised for it. `numbers` are those of the operating system, `names` those of
    exceptions, `words` what a file system's messages say. `conditions` of Spark and Delta, and messages of Spark without one,
    begin as given."""

    error: type[RedolakeError]
    what: str
    cure: str
    numbers: Sequence[int] = ()
    names: Sequence[str] = ()
    conditions: Sequence[str] = ()
    words: Sequence[str] = ()
    beginnings: Sequence[str] = ()
    needs_session: bool = False  # a session that has ended looks the same, so that is tried first

    def is_seen_in(self, one: Thrown) -> bool:
        if one.message.startswith(OF_ONE_VALUE):
            return False
        if one.condition is not None:
            return one.condition.startswith(tuple(self.conditions))
        said = (*self.words, *map(os.strerror, self.numbers))
        of_files = one.name in OF_FILES and any(words in one.message for words in said)
        begins = one.name == "SparkException" and one.message.startswith(tuple(self.beginnings))
        return one.number in self.numbers or one.name in self.names or of_files or begins


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
OF_ONE_VALUE = "Requested array size exceeds VM limit"  # no memory helps: Java has no array of two billion bytes
# Their messages name files and stages. The exceptions below them say why.
WRAPPERS = (
    "TASK_WRITE_FAILED", "FAILED_READ_FILE", "INTERNAL_ERROR", "FAILED_EXECUTE_UDF", "STAGE_MATERIALIZATION",
    "PYTHON_EXCEPTION", "DELTA_CANNOT_CREATE_LOG_PATH", "UNABLE_TO_ACQUIRE_MEMORY",
)  # fmt: skip

NO_PACKAGE = ("ModuleNotFoundError", "ImportError")
AGAIN = "run again: no commit is incomplete, no table is held"
TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        LakeFull,
        "Spark cannot write",
        f"free space for the lake and for Spark's own files, and {AGAIN}",
        numbers=(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        names=("DSQuotaExceededException", "NSQuotaExceededException", "QuotaExceededException", "ClosedQuotaException"),
        words=("InsufficientStorage", "QuotaExceeded"),
    ),
    Trouble(
        SparkExhausted,
        "Spark has no memory, threads or open files left",
        "wait: the batch is tried again. If it comes again, give Spark's driver and executors more memory "
        "(`spark.driver.memory`), raise `ulimit -n` and `ulimit -u`, or lower `spark.parallel_tables`",
        numbers=(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
        names=("OutOfMemoryError", "SparkOutOfMemoryError", "MemoryError", "ArrowMemoryError", "OutOfMemoryException"),
        conditions=("UNABLE_TO_ACQUIRE_MEMORY",),
    ),
    Trouble(
        LakeRefused,
        "the lake may not be used",
        f"mount it writable, or give Spark and this process the rights or the credentials for it, and {AGAIN}",
        numbers=(errno.EROFS, errno.EACCES, errno.EPERM),
        names=(
            "PermissionError", "AccessDeniedException", "AccessControlException", "ReadOnlyFileSystemException",
            "NoAuthWithAWSException", "NoSuchBucket", "NoSuchBucketException", "ContainerNotFound",
            "CredentialInitializationException", "UnknownStoreException", "NoCredentialsError", "PartialCredentialsError",
            "AuthorizationException", "AbfsRestOperationAccessException", "GoogleAuthError", "RefreshError",
            "ClientAuthenticationError", "TokenAccessProviderException", "AuditFailureException",
        ),
        words=("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "AccessDenied", "NoSuchBucket", "403 Forbidden"),
    ),
    Trouble(
        SparkLost,
        "a worker of Spark has ended",
        "wait: the batch is tried again; see the log of Spark's executors, and their memory, if it comes again",
        names=("ExecutorLostFailure", "FetchFailedException", "MetadataFetchFailedException", "ExecutorDeadException"),
        beginnings=("Python worker exited", "Python worker failed to connect back", "EOF reached before Python server"),
    ),
    Trouble(
        LakeUnavailable,
        "the store or file system of the lake does not answer",
        "wait: the batch is tried again. If it stays so, try the lake from Spark's host with the store's own client",
        numbers=(
            errno.ESTALE, errno.ENOTCONN, errno.EIO, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN,
            errno.ETIMEDOUT, errno.ECONNREFUSED, errno.ECONNRESET, errno.EREMOTEIO, errno.ENODEV, errno.ENXIO,
        ),
        names=(
            "UnknownHostException", "ConnectException", "SocketTimeoutException", "NoRouteToHostException", "SocketException",
            "SSLException", "SSLHandshakeException", "SdkClientException", "ApiCallTimeoutException", "AWSServiceIOException",
            "ApiCallAttemptTimeoutException", "AWSServiceThrottledException", "AWSStatus500Exception", "AWSClientIOException",
            "AWSApiCallTimeoutException", "ConnectTimeoutException", "HttpHostConnectException", "EndpointConnectionError",
            "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError", "ClientConnectorError", "ServerTimeoutError",
            "StandbyException", "SafeModeException", "RetriableException", "ServiceUnavailableError",
        ),
        words=("SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout"),
        needs_session=True,
    ),
)  # fmt: skip

# `Caused by: java.io.IOException: No space left on device`, the first line of a trace, and a task's error in a stage's message.
_CLASS = r"(?:[A-Za-z_$][\w$]*\.)*([A-Za-z_$][\w$]*(?:Exception|Error|Failure|Throwable))"
_LINE = re.compile(rf"\s*(?:: |Caused by: |Suppressed: |\()?{_CLASS}(?:(?::|\))\s?(.*))?$")
_TASK = re.compile(rf"Lost task [^(]*\(TID \d+\) \([^)]*\): {_CLASS}(?:[: ]\s?(.*))?$")
_NUMBER = re.compile(r"\[Errno (\d+)\]")


# What somebody has set on a Delta table, or `properties` of pipelines.yml on it, by the conditions of Delta.
REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("DELTA_CANNOT_MODIFY_APPEND_ONLY",),
        "somebody has set delta.appendOnly on the Delta table",
        "run ALTER TABLE delta.`{path}` UNSET TBLPROPERTIES ('delta.appendOnly') in Spark",
    ),
    (
        ("DELTA_VIOLATE_CONSTRAINT", "DELTA_CONSTRAINT_", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
        "somebody has set a constraint on the Delta table, which Oracle's rows do not fulfil",
        "run ALTER TABLE delta.`{path}` DROP CONSTRAINT with its name in Spark",
    ),
    (
        ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"),
        "somebody has set NOT NULL on a column of the Delta table",
        "run ALTER TABLE delta.`{path}` ALTER COLUMN .. DROP NOT NULL in Spark",
    ),
    (
        ("DELTA_GENERATED_COLUMNS", "DELTA_IDENTITY_COLUMNS", "DELTA_VIOLATE_TABLE_PROPERTY", "DELTA_ICEBERG_COMPAT"),
        "a setting of the Delta table forbids the change",
        "take it away from the table in Spark",
    ),
    (
        ("DELTA_UNSUPPORTED_FEATURES", "DELTA_INVALID_PROTOCOL_VERSION", "DELTA_UNSUPPORTED_FEATURE"),
        "the Delta table has a feature that this Delta does not write",
        "run ALTER TABLE delta.`{path}` DROP FEATURE in the Spark that has set it",
    ),
    (
        (
            "DELTA_UNKNOWN_CONFIGURATION",
            "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
            "DELTA_CONFIGURATION_NOT_FOUND",
            "DELTA_INVALID_INTERVAL",
            "DELTA_INVALID_CALENDAR_INTERVAL",
            "DELTA_INVALID_ISOLATION_LEVEL",
            "DELTA_INVALID_AUTO_COMPACT_TYPE",
        ),
        "Delta does not take a property of pipelines.yml",
        "correct `properties` of {table} in pipelines.yml",
    ),
)


# Conditions of Spark's that say what a value does to an expression, in front of the value.
OF_EXPRESSIONS = (
    "DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_ARRAY_INDEX", "CANNOT_PARSE_TIMESTAMP", "DATETIME_OVERFLOW", "INTERVAL_",
    "INVALID_INDEX_OF_ZERO", "ELEMENT_AT_BY_INDEX_ZERO", "USER_RAISED_EXCEPTION", "CONVERSION_INVALID_INPUT",
    "INVALID_PARAMETER_VALUE",
    "INVALID_UTF8_STRING", "UNRESOLVED_ROUTINE", "UNRESOLVED_COLUMN", "DATATYPE_MISMATCH", "WRONG_NUM_ARGS",
    "PARSE_SYNTAX_ERROR",
    "INVALID_EXTRACT", "INVALID_URL", "MALFORMED_RECORD_IN_PARSING", "FAILED_FUNCTION_CALL", "CAST_WITHOUT_SUGGESTION",
)  # fmt: skip


def check_session(spark: SparkSession, surprise: Exception) -> None:
    """Raise when the failure does not concern one table: space, rights, memory, a worker, the store, another writer, or the
    session."""
    thrown = chain_of(surprise)
    check_trouble(surprise, thrown, needs_session=False)
    check_workers(surprise, thrown)
    if is_conflict(surprise, thrown):
        raise Transient("another writer changed the table meanwhile", cure="wait: the batch is tried again") from surprise
    check_answers(spark, surprise)
    check_trouble(surprise, thrown, needs_session=True)


def check_trouble(surprise: Exception, thrown: Sequence[Thrown], *, needs_session: bool) -> None:
    """Raise the error of the first trouble in TROUBLES that the failure shows."""
    for trouble in TROUBLES:
        if trouble.needs_session == needs_session:
            seen = next((one for one in thrown if trouble.is_seen_in(one)), None)
            if seen is not None:
                raise error_of(trouble, seen) from surprise


def check_workers(surprise: Exception, thrown: Sequence[Thrown]) -> None:
    """Raise ConfigurationError for Python workers that cannot do their work for any table."""
    if FAULT in str(surprise):
        raise ConfigurationError([Finding("pyarrow of Spark's Python workers", FAULT, CURE)]) from surprise
    for one in thrown:
        if one.name in NO_PACKAGE or (one.condition or "").startswith("PYTHON_VERSION_MISMATCH"):
            cure = "install the same Redolake, under the same version of Python, wherever Spark starts Python workers"
            raise ConfigurationError([Finding("Python of Spark's workers", one.message[:300], cure)]) from surprise


def error_of(trouble: Trouble, seen: Thrown) -> RedolakeError:
    return trouble.error(f"{trouble.what}: {message_text(seen.message)[:300] or seen.name}", cure=trouble.cure)


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
    places = [(f, n) for f, n in (*here, *WORKER_PLACE.findall(str(surprise))) if "/pipelines/" in f]
    return [f"at pipelines/{places[-1][0].rpartition('/pipelines/')[2]}, line {places[-1][1]}"] if places else []


def storage_error(surprise: Exception, path: str) -> RedolakeError | None:
    """Return the error for what the lake's file system has raised in this process; None where TROUBLES does not know it."""
    thrown = chain_of(surprise)
    for trouble in TROUBLES:
        seen = next((one for one in thrown if trouble.is_seen_in(one)), None)
        if seen is not None:
            error = error_of(trouble, seen)
            return type(error)(error.what, cure=error.cure, path=path)
    return None


def is_conflict(surprise: Exception, thrown: Sequence[Thrown]) -> bool:
    conditions = (one.condition or "" for one in thrown)
    return "Concurrent" in type(surprise).__name__ or any(one.startswith("DELTA_CONCURRENT") for one in conditions)


def check_answers(spark: SparkSession, surprise: Exception) -> None:
    """Raise SparkLost when the failure has ended the session."""
    try:
        spark.sql("SELECT 1").collect()
    except Exception as failed:
        cure = "wait: the batch is tried again in a new session; see the log and the memory of Spark's driver if it comes again"
        raise SparkLost(f"Spark does not answer any more: {failure_text(surprise)[:300]}", cure=cure) from failed


def chain_of(surprise: BaseException) -> list[Thrown]:
    """Return the exceptions of a failure, Python's and Java's, the outermost first, down to the first one whose message may
    contain values of rows."""
    found = list[Thrown]()
    for one in _causes(surprise):
        number = one.errno if isinstance(one, OSError) else None
        text = _trace_of(one)
        found += _find_thrown(text) if text else [Thrown(type(one).__name__, str(one), number)]
    return list(_before_values(found))


def _causes(surprise: BaseException) -> Iterator[BaseException]:
    seen = set[int]()
    one: BaseException | None = surprise
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _trace_of(error: BaseException) -> str:
    """Return Java's trace of an error of Spark's; empty for an error of this process."""
    if not type(error).__module__.startswith(("pyspark.", "py4j.", "delta.")):
        return ""
    if trace := getattr(error, "_stackTrace", None):
        return str(trace)
    if trace := getattr(error, "_stacktrace", None):  # of Connect, whose first line lacks the message
        name, _, causes = str(trace).partition("\n")
        message = re.sub(r"^\([\w.$]+\) ", "", str(getattr(error, "_message", "")))
        return f"{name}: {message}\n{causes}"
    return str(error)


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


def check_version(surprise: Exception, table: TableId, delta_version: int) -> None:
    """Raise VersionRemoved when the failure says that files of the version are gone."""
    if any(words in str(surprise) for words in NO_FILE):
        raise VersionRemoved(
            f"files of version {delta_version} of the Delta table are gone",
            cure="VACUUM or log retention has removed them. If newer versions exist, verify again when the next batch is "
            "recorded; if that is the newest version, run `redolake snapshot "
            f"{table} --replace`",
            table=table,
            delta_version=delta_version,
        ) from surprise


def held_error(table: TableId, path: str, surprise: Exception, mapping: TableMapping | None = None) -> dict[str, Any]:
    """Return the error with which a failure that is not of our own classes holds the table."""
    failed = mapping_failure(table, surprise, mapping)
    if failed is not None:
        return failed.as_dict()
    refused = refusal(table, path, surprise)
    return unforeseen_error(table, surprise) if refused is None else refused.as_dict()


def mapping_failure(table: TableId, surprise: Exception, mapping: TableMapping | None) -> MappingFailed | None:
    """Return the error of users' code, or of an expression that Spark cannot compute for a row; None for any other failure."""
    cure = f"correct the mapping of {table} in pipelines.yml, or its code; then run `redolake snapshot {table} --replace`"
    if (seen := re.search(rf"{re.escape(MARK)} (.{{1,400}}?)\.(?:\s|$)", str(surprise))) is not None:
        return MappingFailed(seen[1], cure=cure, table=table)
    conditions = [one.condition for one in chain_of(surprise) if (one.condition or "").startswith(OF_EXPRESSIONS)]
    if mapping is None or not conditions:
        return None
    shown = ", ".join(str(one) for one in mapping.computed if one.means == "expression")
    where = [] if mapping.where is None else [f"where: {mapping.where.text}"]
    what = f"{conditions[-1]}: Spark cannot compute {', '.join(filter(None, (shown, *where)))} for a row"
    return MappingFailed(what, cure=cure, table=table)


def refusal(table: TableId, path: str, surprise: Exception) -> TargetRefused | None:
    """Return the error of a Delta table that refuses a commit; None for any other failure. Its text ends before the values of
    the row."""
    rebuild = f"`redolake snapshot {table} --replace` builds the table again without it"
    for one in chain_of(surprise):
        for conditions, what, cure in REFUSALS:
            if (one.condition or "").startswith(conditions):
                text = without_row(one.message)
                todo = cure.format(table=table, path=path)
                return TargetRefused(
                    f"{what}: {text}", cure=f"{todo}, then run `redolake resume {table}`; or {rebuild}", table=table
                )
    return None


def without_row(message: str) -> str:
    """Return the first line of Delta's message about a row, without the row's values."""
    text = message.partition("] ")[2].partition("\n")[0].partition(" violated by row")[0]
    if text.startswith('Value "'):
        _, found, check = text.rpartition("Failed check")
        text = f"a value is too long{check if found else ''}"
    return text[:300].rstrip(". ")


def unforeseen_error(table: TableId, surprise: Exception) -> dict[str, Any]:
    """Return the error with which an unforeseen failure holds the table."""
    damage = table_damage(table, surprise)
    if damage is not None:
        return damage.as_dict()
    return {
        "code": type(surprise).__name__,
        "what": failure_text(surprise),
        "where": {"table": str(table)},
        "cure": f"run `redolake resume {table}`, which tries again, or `redolake snapshot {table} --replace`, which rebuilds "
        f"the table; if it comes again, {report_with(OF_SPARK)}",
    }
