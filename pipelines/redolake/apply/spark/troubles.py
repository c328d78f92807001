"""What a failure shows that concerns no table: space, memory, rights, a worker, or the store of the lake.

It is recognised by the classes of exceptions, by their conditions and by the numbers of the operating system. Words are
compared only in messages of classes that the file system raises: the text of any other message may be a row's value.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

from redolake.apply.spark.thrown import OF_FILES, Thrown, chain_of, message_text
from redolake.errors import (
    LakeFull,
    LakeRefused,
    LakeUnavailable,
    RedolakeError,
    SparkExhausted,
    SparkLost,
)

OF_ONE_VALUE = "Requested array size exceeds VM limit"  # no memory helps: Java has no array of two billion bytes
ABORTED = "Job aborted due to stage failure: "
AGAIN = "run again: no commit is incomplete, no table is held"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is not about one table: `error` is raised for it. `numbers` are those of the operating system, `names` those of
    exceptions, `words` what a file system's messages say. `conditions` of Spark and Delta, their SQLSTATEs, and messages of
    Spark without one, begin as given."""

    error: type[RedolakeError]
    what: str
    cure: str
    numbers: Sequence[int] = ()
    names: Sequence[str] = ()
    conditions: Sequence[str] = ()
    states: Sequence[str] = ()
    words: Sequence[str] = ()
    beginnings: Sequence[str] = ()
    needs_session: bool = False  # a session that has ended looks the same, so that is tried first

    def is_seen_in(self, one: Thrown) -> bool:
        if one.message.startswith(OF_ONE_VALUE):
            return False
        if one.condition is not None:
            return one.condition.startswith(tuple(self.conditions)) or one.state.startswith(tuple(self.states))
        said = (*self.words, *map(os.strerror, self.numbers))
        of_files = one.name in OF_FILES and any(words in one.message for words in said)
        begins = one.name == "SparkException" and one.message.removeprefix(ABORTED).startswith(tuple(self.beginnings))
        return one.number in self.numbers or one.name in self.names or of_files or begins


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
        "Spark has no memory, threads or open files left, or has reached a limit of its own",
        "wait: the batch is tried again. If it comes again, give Spark's driver and executors more memory "
        "(`spark.driver.memory`), raise the limit that the message names, `ulimit -n` and `ulimit -u`, or lower "
        "`spark.parallel_tables`",
        numbers=(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
        names=("OutOfMemoryError", "SparkOutOfMemoryError", "MemoryError", "ArrowMemoryError", "OutOfMemoryException"),
        conditions=("UNABLE_TO_ACQUIRE_MEMORY", "INTERNAL_ERROR_MEMORY", "KRYO_BUFFER_OVERFLOW"),
        states=("53", "82", "F0"),
        beginnings=(
            "Total size of serialized results", "Could not execute broadcast", "Cannot broadcast the table",
            "Not enough memory", "Kryo serialization failed: Buffer overflow", "Serialized task",
        ),
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
        "a worker of Spark has ended, or what it had kept is lost",
        "wait: the batch is tried again; see the log of Spark's executors, and their memory, if it comes again",
        names=("ExecutorLostFailure", "FetchFailedException", "MetadataFetchFailedException", "ExecutorDeadException"),
        conditions=(
            "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "INTERNAL_ERROR_BROADCAST", "INTERNAL_ERROR_EXECUTOR",
            "INTERNAL_ERROR_NETWORK", "INTERNAL_ERROR_SHUFFLE", "INTERNAL_ERROR_STORAGE",
        ),
        states=("08", "40", "57", "58", "HY008", "XXKDA", "XXSC0"),
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


def check_trouble(surprise: Exception, thrown: Sequence[Thrown], *, needs_session: bool) -> None:
    """Raise the error of the first trouble in TROUBLES that the failure shows."""
    for trouble in TROUBLES:
        if trouble.needs_session == needs_session:
            seen = next((one for one in thrown if trouble.is_seen_in(one)), None)
            if seen is not None:
                raise error_of(trouble, seen) from surprise


def error_of(trouble: Trouble, seen: Thrown) -> RedolakeError:
    return trouble.error(f"{trouble.what}: {message_text(seen.message)[:300] or seen.name}", cure=trouble.cure)


def storage_error(surprise: Exception, path: str) -> RedolakeError | None:
    """Return the error for what the lake's file system has raised in this process; None where TROUBLES does not know it."""
    thrown = chain_of(surprise)
    for trouble in TROUBLES:
        seen = next((one for one in thrown if trouble.is_seen_in(one)), None)
        if seen is not None:
            error = error_of(trouble, seen)
            return type(error)(error.what, cure=error.cure, path=path)
    return None
