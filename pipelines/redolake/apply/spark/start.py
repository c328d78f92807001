"""Start a session, and say why there is none: Java was killed, or the settings are wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from subprocess import TimeoutExpired
from typing import Literal

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from redolake.apply.spark import session
from redolake.apply.spark.thrown import chain_of
from redolake.apply.spark.troubles import check_trouble
from redolake.errors import ConfigurationError, Finding, RedolakeError, SparkLost
from redolake.host.connect_token import TOKEN

ENDED_AT_ONCE = "JAVA_GATEWAY_EXITED"
ENDS_WITHIN_SECONDS = 5
DETAILS = re.compile(r'details = "([^"\n]*)"')  # of gRPC, whose first line says only that there is an error
# What a server, or the way to it, says that is no matter of time.
REFUSED = {
    "UNAUTHENTICATED": f"export {TOKEN} here as for the server: it has another token, or got none. A token in "
    "`spark.connection` comes before it",
    "PERMISSION_DENIED": "give the user of `spark.connection` the right to open a session",
    "UNIMPLEMENTED": "correct the address in `spark.connection`: another service listens there",
    "CERTIFICATE_VERIFY_FAILED": "let this machine trust the server's certificate: GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names a "
    "file with its authority",
    "WRONG_VERSION_NUMBER": "the server has no TLS, which a token or `use_ssl` in `spark.connection` asks for: give the token "
    f"as {TOKEN}, or put TLS in front of the server",
}
AGAIN = "wait: it is tried again; see the log and the memory of Spark's driver if it comes again"


def start_session(
    mode: Literal["local", "submit", "connect"],
    master_or_remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    places: Sequence[str] = (),
) -> SparkSession:
    """Open a session as `open_session` does. Raise SparkLost where Java or the Connect server ends meanwhile, and
    ConfigurationError where it refuses its settings. A Java that ends at once may have been killed: it is
    started once more."""
    try:
        return session.open_session(mode, master_or_remote, conf, places)
    except RedolakeError:
        raise
    except Exception as failed:
        if mode == "connect":
            raise of_server(master_or_remote or "", failed) from failed
        if not has_ended_at_once(failed):
            check_trouble(failed, chain_of(failed), needs_session=False)
            raise of_java(failed) from failed
    try:
        return session.open_session(mode, master_or_remote, conf, places)
    except Exception as failed:
        if has_ended_at_once(failed):
            what = "Java ends before Spark has started, and says why above"
            cure = "correct Java's memory and options in `spark.conf`, or JAVA_HOME; this machine needs the memory too"
            raise ConfigurationError([Finding("spark", what, cure)]) from failed
        raise of_java(failed) from failed


def has_ended_at_once(failed: Exception) -> bool:
    return isinstance(failed, PySparkException) and failed.getCondition() == ENDED_AT_ONCE


def of_java(failed: Exception) -> RedolakeError:
    """Return the error of a start that failed: of a Java that has ended, or of one that refuses its settings."""
    if not isinstance(failed, Py4JJavaError) and forget_java():
        return SparkLost(f"Spark's Java has ended while it started: {first_line(failed)}", cure=AGAIN)
    cure = "correct `spark` in pipelines.yml: its master, its memory and `conf`"
    return ConfigurationError([Finding("spark", f"Spark does not start: {first_line(failed)}", cure)])


def forget_java() -> bool:
    """Let this process start another Java if the last one has ended; return whether it has. pyspark keeps it for ever."""
    gateway = SparkContext._gateway
    process = None if gateway is None else gateway.proc
    if process is None:
        return gateway is None
    try:
        process.wait(ENDS_WITHIN_SECONDS)
    except TimeoutExpired:
        return False
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    return True


def of_server(remote: str, failed: Exception) -> RedolakeError:
    server, said = remote.partition("/;")[0], first_line(failed).replace(remote, remote.partition("/;")[0])
    cure = next((cure for words, cure in REFUSED.items() if words in str(failed)), None)
    if cure is None and isinstance(failed, PySparkException):
        return SparkLost(f"the Spark Connect server {server} does not answer: {said}", cure=AGAIN)
    cure = cure or "correct the address, or the server's rights, in `spark.connection`"
    return ConfigurationError([Finding("spark.connection", f"the server {server} refuses a session: {said}", cure)])


def first_line(failed: Exception) -> str:
    if (details := DETAILS.search(str(failed))) is not None:
        return details[1][:500]
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith(": ")), None)  # after "An error occurred while calling .."
    return (reason or (lines[0] if lines else type(failed).__name__)).removeprefix(": ")[:500]
