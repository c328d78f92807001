"""What is not about one table ends the job and holds no table: a full lake, missing rights, a lost session, a killed worker."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions import connect

from redolake.apply.schema import parse_type
from redolake.apply.spark.failures import check_session, try_twice
from redolake.apply.spark.holds import unforeseen_error, without_row
from redolake.apply.spark.thrown import WRAPPERS, failure_text, states
from redolake.errors import (
    OF_ALL_TABLES,
    ConfigurationError,
    LakeFull,
    LakeRefused,
    LakeUnavailable,
    RedolakeError,
    SparkExhausted,
    SparkLost,
    Transient,
)
from redolake.job.job import run
from redolake.records.batches.spec import BatchSpec, Redo
from redolake.values.table import TableId

SPARK = "org.apache.spark.SparkException"
TASK = (
    f"{SPARK}: Job aborted due to stage failure: Task 1 in stage 27.0 failed 1 times, most recent failure: Lost task 1.0 in "
    "stage 27.0 (TID 34) (192.0.2.2 executor driver): "
)
STACK = "\n\tat org.apache.spark.sql.execution.datasources.FileFormatDataWriter.commit(FileFormatDataWriter.scala:123)\n"
WRITING = f"{SPARK}: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/t. SQLSTATE: 58030{STACK}Caused by: "
EOF = f"{SPARK}: EOFException occurred while reading the port number from redolake.job.python_daemon's stdout."
PYTHON = (
    "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback "
    '(most recent call last):\n  File "/x.py", line 59, in work\n    raise\n'
)


class Failed(PySparkException):
    """An error as pyspark raises it, with Java's trace."""

    def __init__(self, trace: str) -> None:
        super().__init__(trace)
        self._stackTrace = trace


Failed.__module__ = PySparkException.__module__


class Living:
    """A session that answers."""

    def sql(self, _: str) -> Living:
        return self

    def collect(self) -> list[Any]:
        return [1]


def raised_for(surprise: Exception) -> RedolakeError | None:
    """Return what the failure ends a job with; None if it is one table's."""
    session: Any = Living()
    try:
        check_session(session, surprise)
    except RedolakeError as error:
        return error
    return None


# As Spark 4.2, Delta 4.4, Hadoop 3.5 and fsspec's packages have written them.
TROUBLES: dict[str, tuple[Exception, type[RedolakeError]]] = {
    "no space for a file": (
        Failed(f"{WRITING}org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device"),
        LakeFull,
    ),
    "a quota": (Failed(f"{WRITING}java.io.IOException: Disk quota exceeded"), LakeFull),
    "a limit of a file's size": (Failed(f"{TASK}java.io.IOException: File too large{STACK}"), LakeFull),
    "no space for a commit": (Failed("org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device"), LakeFull),
    "no space for a worker": (Failed(f"{PYTHON}OSError: [Errno 28] No space left on device\n SQLSTATE: 38000"), LakeFull),
    "no space, in this process": (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), LakeFull),
    "HDFS's quota": (
        Failed(f"{WRITING}org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota .."),
        LakeFull,
    ),
    "a read-only lake": (
        Failed(f"{TASK}java.io.FileNotFoundException: /lake/t/x.parquet (Read-only file system){STACK}"),
        LakeRefused,
    ),
    "no right": (Failed("java.io.FileNotFoundException: /lake/t/_delta_log/.0.json.tmp (Permission denied)"), LakeRefused),
    "no right, in this process": (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), LakeRefused),
    "a store's refusal": (Failed(f"{WRITING}java.nio.file.AccessDeniedException: s3a://lake/t: PutObject: 403"), LakeRefused),
    "no credentials": (
        Failed("org.apache.hadoop.fs.s3a.auth.NoAuthWithAWSException: No AWS Credentials provided"),
        LakeRefused,
    ),
    "no bucket": (Failed("org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://lake/': Bucket does not exist"), LakeRefused),
    "no network": (Failed(f"{WRITING}java.net.UnknownHostException: lake.s3.amazonaws.com"), LakeUnavailable),
    "a silent store": (Failed(f"{TASK}java.net.SocketTimeoutException: connect timed out{STACK}"), LakeUnavailable),
    "a busy store": (Failed(f"{WRITING}org.apache.hadoop.fs.s3a.AWSServiceThrottledException: SlowDown"), LakeUnavailable),
    "a stale mount": (Failed(f"{TASK}java.io.IOException: Stale file handle{STACK}"), LakeUnavailable),
    "a mount without a server": (OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN)), LakeUnavailable),
    "a faulty disk": (Failed(f"{TASK}java.io.IOException: Input/output error{STACK}"), LakeUnavailable),
    "Java's memory": (Failed(f"{TASK}java.lang.OutOfMemoryError: Java heap space{STACK}"), SparkExhausted),
    "no more threads": (
        Failed("java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory"),
        SparkExhausted,
    ),
    "Spark's memory": (
        Failed(f"{TASK}org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] x"),
        SparkExhausted,
    ),
    "a worker's memory": (Failed(f"{PYTHON}MemoryError\n SQLSTATE: 38000"), SparkExhausted),
    "open files": (
        Failed(f"{WRITING}java.io.FileNotFoundException: /scratch/shuffle.index (Too many open files)"),
        SparkExhausted,
    ),
    "open files, in this process": (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), SparkExhausted),
    "a killed worker": (
        Failed(f"{TASK}{SPARK}: Python worker exited unexpectedly (crashed). Consider setting 'x'{STACK}"),
        SparkLost,
    ),
    "a lost executor": (Failed(f"{TASK}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)"), SparkLost),
    "a worker without our package": (Failed(f"{PYTHON}ModuleNotFoundError: No module named 'redolake'"), ConfigurationError),
    "workers without our package": (
        Failed(
            f"{TASK}{SPARK}: \nError from python worker:\n  /usr/bin/python3: Error while finding module specification for "
            "'redolake.job.python_daemon' (ModuleNotFoundError: No module named 'redolake')\nPYTHONPATH was:\n  /x.zip\n"
            f"{EOF}{STACK}"
        ),
        ConfigurationError,
    ),
    "workers with a Python that does not start": (
        Failed(
            f"{TASK}{SPARK}: \nError from python worker:\n  Fatal Python error: init_fs_encoding: failed to get the Python "
            f"codec\n  ModuleNotFoundError: No module named 'encodings'\nPYTHONPATH was:\n  /opt/spark/x.zip\n{EOF}{STACK}"
        ),
        ConfigurationError,
    ),
    "workers without Python": (
        Failed(
            f'{TASK}java.io.IOException: Cannot run program "/opt/venv/bin/python": error=2, No such file or directory{STACK}'
        ),
        ConfigurationError,
    ),
    "workers whose Python may not be run": (
        Failed(
            f'{TASK}java.io.IOException: Cannot run program "/opt/venv/bin/python": Exec failed, error: 13 (Permission denied)'
            f"{STACK}"
        ),
        ConfigurationError,
    ),
    "workers with another pyarrow": (
        Failed(
            f"{PYTHON}pyspark.errors.exceptions.base.PySparkImportError: [UNSUPPORTED_PACKAGE_VERSION] PyArrow >= 18.0.0 .."
        ),
        ConfigurationError,
    ),
    "workers with another version of our package": (
        Failed(f"{PYTHON}AttributeError: Can't get attribute 'work' on <module 'redolake.job.translation' from '/x.py'>"),
        ConfigurationError,
    ),
    "workers whose package lacks a module": (
        Failed(f"{PYTHON}AttributeError: module 'redolake.decode' has no attribute 'changes'"),
        ConfigurationError,
    ),
    "workers whose package lacks a name": (
        Failed(f"{PYTHON}ImportError: cannot import name 'changes' from 'redolake.decode' (/opt/redolake/__init__.py)"),
        ConfigurationError,
    ),
    "workers with an older C library": (
        Failed(
            f"{TASK}{SPARK}: \nError from python worker:\n  ./bin/python: /lib64/libc.so.6: version `GLIBC_2.34' not found\n"
            f"PYTHONPATH was:\n  /opt/spark/python\n{EOF}{STACK}"
        ),
        ConfigurationError,
    ),
    "no memory to start Python": (
        Failed(f'{TASK}java.io.IOException: Cannot run program "python3": error=12, Cannot allocate memory{STACK}'),
        SparkExhausted,
    ),
    "no processes for Python": (
        Failed(f'{TASK}java.io.IOException: Cannot run program "python3": error=11, Resource temporarily unavailable{STACK}'),
        SparkExhausted,
    ),
    "a daemon that was killed": (Failed(f"{TASK}{EOF}{STACK}"), SparkLost),
    "kept rows of a lost executor": (
        Failed(f"{TASK}{SPARK}: [CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_3_1 not found! Either the executor"),
        SparkLost,
    ),
    "a lost broadcast": (
        Failed(f"{TASK}{SPARK}: [INTERNAL_ERROR_BROADCAST] Failed to get broadcast_12_piece0 of broadcast_12 SQLSTATE: XX000"),
        SparkLost,
    ),
    "an indeterminate stage": (
        Failed(
            f"{SPARK}: Job aborted due to stage failure: A shuffle map stage with indeterminate output was failed and retried"
        ),
        SparkLost,
    ),
    "too many lost executors": (
        Failed(f"{SPARK}: Job aborted due to stage failure: Max number of executor failures (4) reached"),
        SparkLost,
    ),
    "rows of a shuffle whose executor is gone": (
        Failed(f"{TASK}org.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location for shuffle 3{STACK}"),
        SparkLost,
    ),
    "a decommissioned executor": (
        Failed(f"{TASK}ExecutorLostFailure (executor 0 exited unrelated to the running tasks) Reason: Executor decommission"),
        SparkLost,
    ),
    "a context that was shut down": (
        Failed(f"{SPARK}: [SPARK_JOB_CANCELLED] Job 3 cancelled because SparkContext was shut down SQLSTATE: XXKDA{STACK}"),
        SparkLost,
    ),
    "a context that was shut down, as older Sparks say it": (
        Failed(f"{SPARK}: Job 3 cancelled because SparkContext was shut down{STACK}"),
        SparkLost,
    ),
    "an application that the master has removed": (
        Failed(f"{SPARK}: Job aborted due to stage failure: Master removed our application: FAILED{STACK}"),
        SparkLost,
    ),
    "workers with another Python": (
        Failed(
            f"{PYTHON}pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has "
            "different version: 3.12 than that in driver: 3.11"
        ),
        ConfigurationError,
    ),
    "a cancelled operation": (Failed(f"{SPARK}: [OPERATION_CANCELED] Operation has been canceled. SQLSTATE: HY008"), SparkLost),
    "a file that cannot be renamed": (
        Failed(f"{TASK}{SPARK}: [FAILED_RENAME_TEMP_FILE] Failed to rename temp file x to y as rename returned false"),
        SparkLost,
    ),
    "no memory for a sort": (
        Failed(f"{TASK}{SPARK}: [SPILL_OUT_OF_MEMORY] Error while calling spill() on x : y SQLSTATE: 82003"),
        SparkExhausted,
    ),
    "no memory to aggregate": (
        Failed(f"{TASK}{SPARK}: [AGGREGATE_OUT_OF_MEMORY] No enough memory for aggregation SQLSTATE: 82001"),
        SparkExhausted,
    ),
    "a buffer of Kryo's": (
        Failed(f"{TASK}{SPARK}: [KRYO_BUFFER_OVERFLOW] Kryo serialization failed: Available: 0, required: 9 SQLSTATE: 54006"),
        SparkExhausted,
    ),
    "an unknown loss of Spark's own": (
        Failed(
            f"{TASK}{SPARK}: Exception thrown in awaitResult: {STACK}Caused by: {SPARK}: Could not find BlockManagerMaster."
        ),
        SparkLost,
    ),
    "a slow broadcast": (
        Failed(f"{SPARK}: Could not execute broadcast in 300 secs. You can increase the timeout"),
        SparkExhausted,
    ),
    "a result beyond its limit": (
        Failed(
            f"{SPARK}: Job aborted due to stage failure: Total size of serialized results of 9 tasks (2.0 GiB) is bigger than"
        ),
        SparkExhausted,
    ),
    "another writer": (
        Failed("io.delta.exceptions.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND] Files were added"),
        Transient,
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_what_is_not_about_one_table_ends_the_job(name: str) -> None:
    surprise, expected = TROUBLES[name]
    error = raised_for(surprise)

    assert type(error) is expected
    assert isinstance(error, OF_ALL_TABLES)
    assert error.cure


AT = "\tat org.apache.hadoop.fs.RawLocalFileSystem.create(RawLocalFileSystem.java:549)"
TROUBLES_OVER_CONNECT: dict[str, tuple[Exception, type[RedolakeError]]] = {
    "without a cause": (
        connect.UnknownException(
            "java.io.IOException: No space left on device",
            reason="org.apache.hadoop.fs.FSError",
            server_stacktrace=f"org.apache.hadoop.fs.FSError\n{AT}",
        ),
        LakeFull,
    ),
    "with a cause": (
        connect.SparkException(
            "[TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/t. SQLSTATE: 58030",
            errorClass="TASK_WRITE_FAILED",
            server_stacktrace=f"{SPARK}\n{AT}\nCaused by: java.io.FileNotFoundException: /lake/t (Read-only file system)\n{AT}",
        ),
        LakeRefused,
    ),
    "without a trace": (
        connect.UnknownException("unable to create native thread", reason="java.lang.OutOfMemoryError"),
        SparkExhausted,
    ),
    "workers without our package": (
        connect.SparkException(
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage "
            f"1.0 (TID 4) (192.0.2.2 executor 0): {SPARK}: \nError from python worker:\n  /usr/bin/python3: No module named "
            f"redolake\nPYTHONPATH was:\n  /x.zip\n{EOF}\n{AT}",
            server_stacktrace=f"{SPARK}\n{AT}",
        ),
        ConfigurationError,
    ),
    "kept rows of a lost executor": (
        connect.SparkException(
            "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_3_1 not found!",
            errorClass="CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND",
        ),
        SparkLost,
    ),
    "in a worker": (
        connect.PythonException(
            message="\n  An exception was thrown from the Python worker. Please see the stack trace below.\nTraceback (most "
            'recent call last):\n  File "/x.py", line 5, in work\nOSError: [Errno 28] No space left on device\n'
        ),
        LakeFull,
    ),
}


@pytest.mark.parametrize("name", TROUBLES_OVER_CONNECT)
def test_it_ends_the_job_on_a_connect_server_too(name: str) -> None:
    surprise, expected = TROUBLES_OVER_CONNECT[name]

    assert type(raised_for(surprise)) is expected


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded", "File too large"])
def test_a_full_lake_says_what_to_do(words: str) -> None:
    error = raised_for(Failed(f"{TASK}java.io.IOException: {words}{STACK}"))

    assert isinstance(error, LakeFull)
    assert words in error.what
    assert "free space" in error.cure


def test_workers_without_the_package_are_named_by_their_interpreters_words() -> None:
    error = raised_for(TROUBLES["workers without our package"][0])

    assert isinstance(error, ConfigurationError)
    assert "(ModuleNotFoundError: No module named 'redolake')" in error.what
    assert "give Spark's hosts the same Redolake" in error.cure


TRACE_IN_A_VALUE = "x\nCaused by: java.io.IOException: No space left on device\njava.lang.OutOfMemoryError: Java heap space"
OF_ONE_TABLE: dict[str, Exception] = {
    "a value that looks like trouble": Failed(
        f"{TASK}org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value '{TRACE_IN_A_VALUE}' cannot be cast"
    ),
    "a row that looks like trouble": Failed(
        "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: [DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK "
        f"constraint x violated by row with values:\n - v : {TRACE_IN_A_VALUE}"
    ),
    "a text that we raise": Failed(
        f"org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] {TRACE_IN_A_VALUE} SQLSTATE: P0001"
    ),
    "a file that is gone": Failed(f"{TASK}java.io.FileNotFoundException: File file:/lake/t/x.parquet does not exist{STACK}"),
    "a damaged file": Failed(f"{WRITING}java.lang.RuntimeException: x.parquet is not a Parquet file{STACK}"),
    "a deep expression": Failed(f"java.lang.StackOverflowError{STACK}"),
    "a value beyond any memory": Failed(f"{TASK}java.lang.OutOfMemoryError: Requested array size exceeds VM limit{STACK}"),
    "a mistake of Spark's in a plan": Failed(f"{SPARK}: [INTERNAL_ERROR] The Spark SQL phase optimization failed{STACK}"),
    "a value that looks like a worker's words": Failed(
        f"{TASK}org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'x\n{EOF}\nError from python "
        "worker:\n  No module named x\nPYTHONPATH was:\n' cannot be cast"
    ),
    "a worker that cannot read a row": Failed(
        f"{PYTHON}AttributeError: 'NoneType' object has no attribute 'x'\n SQLSTATE: 38000"
    ),
    "an error of ours": ValueError("No space left on device"),
    "a value, over Connect": connect.NumberFormatException(
        f"[CAST_INVALID_INPUT] The value '{TRACE_IN_A_VALUE}' of the type \"STRING\" cannot be cast",
        errorClass="CAST_INVALID_INPUT",
        server_stacktrace=f"org.apache.spark.SparkNumberFormatException\n{AT}",
    ),
}


@pytest.mark.parametrize("name", OF_ONE_TABLE)
def test_what_one_tables_rows_say_holds_that_table(name: str) -> None:
    assert raised_for(OF_ONE_TABLE[name]) is None


UNEXPLAINED = {
    "a mistake of Spark's in a plan": OF_ONE_TABLE["a mistake of Spark's in a plan"],
    "stages that failed side by side": Failed(f"{SPARK}: [STAGE_MATERIALIZATION_MULTIPLE_FAILURES] Multiple failures{STACK}"),
    "a condition that this Spark does not have": Failed(f"{SPARK}: [EXECUTORS_ARE_TIRED] Come again. SQLSTATE: 22018{STACK}"),
    "a file that could not be written": Failed(f"{SPARK}: [TASK_WRITE_FAILED] Task failed while writing rows{STACK}"),
}


def verdict(surprise: Exception) -> str:
    """Return who is to blame: `job`, `table`, or `again` where the failure is tried once more before it holds a table."""
    session: Any = Living()
    try:
        check_session(session, surprise, is_last=False)
    except RedolakeError:
        return "job"
    except Exception:
        return "again"
    return "table"


@pytest.mark.parametrize("name", UNEXPLAINED)
def test_what_nothing_explains_is_tried_again_before_it_holds_a_table(name: str) -> None:
    assert verdict(UNEXPLAINED[name]) == "again"
    assert raised_for(UNEXPLAINED[name]) is None


@pytest.mark.parametrize("name", sorted(OF_ONE_TABLE.keys() - UNEXPLAINED.keys()))
def test_what_a_value_a_statement_or_a_file_explains_is_not_tried_again(name: str) -> None:
    assert verdict(OF_ONE_TABLE[name]) == "table"


OF_THE_JOB = ("40", "53", "58", "82", "F0", "HY008", "XXKDA", "XXSC0")
OF_THE_JOB_BY_NAME = (
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "INTERNAL_ERROR_BROADCAST", "INTERNAL_ERROR_EXECUTOR", "INTERNAL_ERROR_MEMORY",
    "INTERNAL_ERROR_NETWORK", "INTERNAL_ERROR_SHUFFLE", "INTERNAL_ERROR_STORAGE", "KRYO_BUFFER_OVERFLOW",
)  # fmt: skip
AGAIN = ("56000", "56K00", "HY", "XX")


def expected_verdict(condition: str, state: str) -> str:
    if condition in OF_THE_JOB_BY_NAME:
        return "job"
    if condition.startswith(WRAPPERS):
        return "job" if condition == "UNABLE_TO_ACQUIRE_MEMORY" else "again"
    if state.startswith(OF_THE_JOB):
        return "job"
    return "again" if not state or state.startswith(AGAIN) else "table"


def test_each_condition_of_spark_has_a_verdict_by_its_sqlstate() -> None:
    wrong = {}
    named = {name: state for name, state in states().items() if state and not name.startswith("_")}  # Spark shows no others
    for condition, state in named.items():
        text = "" if condition.startswith(WRAPPERS) else TRACE_IN_A_VALUE
        for beginning in (SPARK, f"{TASK}{SPARK}", "org.apache.spark.sql.AnalysisException"):
            found = verdict(Failed(f"{beginning}: [{condition}] {text} SQLSTATE: 40001"))
            if found != (expected := expected_verdict(condition, state)):
                wrong[condition] = (state, found, expected)

    assert len(named) > 700
    assert wrong == {}


def test_a_step_is_tried_once_more() -> None:
    tries = []

    def step(is_last: bool) -> str:
        tries.append(is_last)
        if not is_last:
            raise UNEXPLAINED["a mistake of Spark's in a plan"]
        return "done"

    assert try_twice(step) == "done"
    assert tries == [False, True]


def test_an_error_of_ours_is_not_tried_again() -> None:
    def step(is_last: bool) -> None:
        assert not is_last
        raise SparkLost("lost", cure="wait")

    with pytest.raises(SparkLost):
        try_twice(step)


def test_the_second_failure_is_judged_without_the_first() -> None:
    """Python would note the first one as its context: a loss within Spark would then look like what nothing explains."""

    def step(is_last: bool) -> None:
        lost = f"{SPARK}: the blocks of an executor are gone"
        try:
            raise Failed(lost if is_last else f"{SPARK}: [INTERNAL_ERROR] The Spark SQL phase planning failed.")
        except Failed as surprise:
            check_session(Living(), surprise, is_last=is_last)  # type: ignore[arg-type]

    with pytest.raises(SparkLost):
        try_twice(step)


class LostSession:
    """A Connect session that its server has closed."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("[INVALID_HANDLE.SESSION_CLOSED] Session was closed.\nmore")


def test_a_lost_session_is_to_be_tried_again() -> None:
    with pytest.raises(SparkLost) as lost:
        check_session(LostSession(), RuntimeError("[INVALID_HANDLE.SESSION_CLOSED] Session was closed.\nmore"))  # type: ignore[arg-type]

    assert lost.value.what == "Spark does not answer any more: [INVALID_HANDLE.SESSION_CLOSED] Session was closed."


def test_a_session_that_has_ended_is_no_trouble_of_the_network() -> None:
    with pytest.raises(SparkLost):
        check_session(LostSession(), ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"))  # type: ignore[arg-type]


def test_a_session_that_is_lost_outside_of_a_table_ends_the_job_in_the_same_way(tmp_path: Path) -> None:
    spec = BatchSpec("shop", 1, 100, 200, "t", Redo(), (), f"{tmp_path}/carry", f"{tmp_path}/manifest.json")

    with pytest.raises(SparkLost):
        run(LostSession(), spec)  # type: ignore[arg-type]


SAID = {
    "a cast": (
        f"{TASK}org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'HUNTER2' of the type",
        "SparkNumberFormatException CAST_INVALID_INPUT",
    ),
    "a constraint": (
        "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: [DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK "
        "constraint whole (a > 0) violated by row with values:\n - a : HUNTER2",
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
    ),
    "a worker": (
        f"{PYTHON}pyarrow.lib.ArrowInvalid: Decimal value HUNTER2 does not fit in precision 5",
        "PythonException PYTHON_EXCEPTION",
    ),
    "a number of Java": ('java.lang.NumberFormatException: For input string: "HUNTER2"', "NumberFormatException"),
    "a path of a partition": (
        "java.io.IOException: Mkdirs failed to create file:/lake/t/NAME=HUNTER2/part-0.parquet",
        "Mkdirs failed to create file:/lake/t/NAME=../part-0.parquet",
    ),
    "a name": ("org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN] no column V", "[UNRESOLVED_COLUMN] no column V"),
}


@pytest.mark.parametrize(("trace", "shown"), SAID.values(), ids=SAID)
def test_an_unforeseen_failure_is_named_without_the_values_of_rows(trace: str, shown: str) -> None:
    text = str(unforeseen_error(TableId("SHOP", "T"), "/lake/t", Failed(trace)))

    assert shown in text
    assert "HUNTER2" not in text


def test_an_error_of_our_own_is_named_with_its_place_in_the_code() -> None:
    try:
        parse_type("HUNTER2")
    except KeyError as error:
        text = failure_text(error)

    assert text.startswith("KeyError; at redolake/apply/spark/types.py, line ")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ('[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value "HUNTER2" exceeds char/varchar. Failed check: (len <= 3).', "(len <= 3)"),
        ('[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value "HUNTER2', "a value is too long"),
        (
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint c (a > 0) violated by row with values: - a : HUNTER2",
            "c (a > 0)",
        ),
    ],
)
def test_a_table_that_refuses_a_row_is_named_without_its_values(message: str, text: str) -> None:
    assert text in without_row(message)
    assert "HUNTER2" not in without_row(message)
