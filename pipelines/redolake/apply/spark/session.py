"""Open classic and Connect sessions with the settings that Delta and this project need."""

from __future__ import annotations

import atexit
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

from pyspark import SparkConf
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row, SparkSession

from redolake.errors import ConfigurationError, Finding
from redolake.host.connect_token import TOKEN
from redolake.host.runtime import prepare_this_process, spark_jars
from redolake.host.spark_settings import AS_WRITTEN, CHECKPOINTS, FEW_CHANGES, FIXED, KEPT, WORKERS_PYTHON, default_property
from redolake.values.target_options import why_refused

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
# A Connect client may set these too; DELTA and SERVER only take effect where the server is started.
SESSION = {
    # `verify` reads the version of its SCN, however old. It reports files that VACUUM has removed.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.databricks.delta.merge.materializeSource": "none",  # the net change is kept already
    # Delta reads the whole state once more after each commit, to prove its checksum, where Java has another zone than UTC.
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
    # Spark formats every query's plan for the UI, also without a UI; the simple format costs least.
    "spark.sql.ui.explainMode": "simple",
    # Spark infers further filters for each pair of columns: 340 of 400 s of planning for 1,000 columns, for nothing.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# As many tasks as there are cores, where nobody has chosen a number: AQE makes fewer for few bytes, and never more.
SHUFFLE, SNAPSHOT = "spark.sql.shuffle.partitions", "spark.databricks.delta.snapshotPartitions"
FEWEST_TASKS = 2
FOLLOW_CORES = "spark.redolake.followCores"  # a session's own: which of the two nobody has chosen
EXECUTORS_WITHIN_SECONDS, NO_MORE_AFTER_SECONDS = 30.0, 1.0
# A tenth of the CPU time of a small table is the client's, whose Python has one core (benchmarks/apply_batch.py).
MOST_SIDE_BY_SIDE = 8
# By these executors come and go while a batch runs, and what one of them alone has kept goes with it.
COME_AND_GO = ("spark.dynamicAllocation.enabled", "spark.decommission.enabled")
CONNECTED = "SPARK_CONNECT_MODE_ENABLED"
SPLITS = re.compile(r"\bsplits=(?:Some\()?(\d+)")
# One changed bit in a page of a Parquet file may decode to another value without an error. Settings of a session are Hadoop's
# too.
VERIFY_PAGES = "parquet.page.verify-checksum.enabled"
# One spelling of the URL for Python and Spark. Delta's own choice for S3 is kept: a log that one driver at a time may write.
S3 = {"spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
# By default Java interprets methods of more than 8,000 bytes forever. Spark's code for a table of 20 columns is longer.
COMPILES_ALL = "-XX:-DontCompileHugeMethods"
LOGS_OF_MESSAGES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
LOGGING = Path(__file__).with_name("log4j2.properties")  # in a terminal
# Executors find it where this package is on their hosts, which is the same place for the same Python.
LOGGING_ON_HOSTS = Path(__file__).with_name("log4j2-host.properties")
OWN_LOGGING = re.compile(r"-Dlog4j2?\.configurationFile=")
SERVER = {
    f"spark.hadoop.{VERIFY_PAGES}": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Otherwise pyspark notes the caller of every column function, with several more calls to Java for each.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
    "spark.python.daemon.module": "redolake.job.python_daemon",
    # The tables of a pipeline have more compiled plans than the 100 that Spark keeps.
    "spark.sql.codegen.cache.maxEntries": "2000",
}
# Classes of Java behind `F.col`, `F.lit` and lists of columns.
ASKED_OFTEN = ("functions", "PythonUtils", "org.apache.spark.sql.functions")

# Spark's default, and what costs least where there are few rows: no code is compiled for a plan, and no plan is made again
# after a shuffle.
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": ("true", "false"),
    "spark.sql.codegen.factoryMode": ("FALLBACK", "NO_CODEGEN"),
    "spark.sql.adaptive.enabled": ("true", "false"),
}
# Each task reads its plan again, which takes longer than to read few rows.
ONE_TASK = {SHUFFLE: "1", "spark.sql.files.minPartitionNum": "1", SNAPSHOT: "1"}


def spark_conf(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the settings to start Spark with (spark-submit, Connect server, local session); `extra` wins, but over
    FIXED."""
    settings = {**DELTA, **S3, **s3_endpoint(os.environ), **SERVER, **SESSION, **(extra or {}), **FIXED}
    for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS):
        settings[name] = java_options(settings.get(name, ""))
    return settings


def java_options(given: str) -> str:
    """Return the options with those that they do not set themselves."""
    compiles = () if "DontCompileHugeMethods" in given else (COMPILES_ALL,)
    logs = () if OWN_LOGGING.search(given) else (logging_option(LOGGING_ON_HOSTS),)
    return " ".join([*([given] if given else ()), *compiles, *logs])


def logging_option(file: Path) -> str:
    """Return Java's option that lets Spark log as the file says."""
    return f"-Dlog4j2.configurationFile={file.as_uri()}"


def s3_endpoint(environ: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop's settings for the S3-compatible store that the AWS variables name for all other clients."""
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return {}
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


def open_session(
    mode: Literal["local", "submit", "connect"],
    master_or_remote: str | None = None,
    conf: Mapping[str, str] | None = None,
    places: Sequence[str] = (),
) -> SparkSession:
    """Open a session: `local` starts Spark here on that master, `submit` uses spark-submit's with its settings, `connect`
    takes a remote URL. A local Spark gets the jars for the folders and URLs in `places`."""
    keep_values_out_of_logs()
    if mode == "connect":
        session = connected_session(master_or_remote or "sc://localhost", os.environ.get(TOKEN))
        for key, value in {**SESSION, VERIFY_PAGES: "true", **_runtime(conf or {})}.items():
            session.conf.set(key, value)
        return prepare(session)
    builder = SparkSession.builder.appName("redolake")
    if mode == "local":
        conf = {JAVA_OPTIONS: logging_option(LOGGING), **(conf or {})}
    if mode == "submit":
        conf = {**submitted_settings(), **(conf or {})}
    settings = spark_conf(conf)
    if mode == "local":
        prepare_this_process()
        if WORKERS_PYTHON in settings:
            os.environ["PYSPARK_PYTHON"] = settings[WORKERS_PYTHON]
        builder = builder.master(master_or_remote or "local[2]")
        settings.setdefault("spark.jars", ",".join(spark_jars(*places)))
    for key, value in settings.items():
        builder = builder.config(key, value)
    return prepare(with_known_classes(builder.getOrCreate()))


def with_known_classes(session: SparkSession) -> SparkSession:
    """Let pyspark find its classes at once that it asks Java for at each `F.col`: py4j 0.10.9.9 keeps none, and looks for a
    name without a package in each package that pyspark has imported."""
    java: Any = session.sparkContext._jvm
    for name in ASKED_OFTEN:
        setattr(java, name, getattr(java, name))
    return session


def prepare(session: SparkSession) -> SparkSession:
    """Return the session with the settings that are no one's choice, tasks for its cores, and a place for what it keeps."""
    chosen = session.conf.getAll  # what was set, without Spark's defaults; a server is asked once
    fix(session, chosen)
    await_executors(session, chosen)
    free = [name for name in (SHUFFLE, SNAPSHOT) if name not in chosen]
    divide_by_cores(session, free)
    if free and not is_local(chosen):
        session.conf.set(FOLLOW_CORES, " ".join(free))
    choose_kept(session, chosen)
    return session


def divide_by_cores(session: SparkSession, free: Sequence[str]) -> None:
    """Let shuffles and Delta's states have as many tasks as Spark has cores by now, but where pipelines.yml, spark-submit or
    the server has set a number: `free` are the others."""
    if free:
        tasks = str(max(FEWEST_TASKS, cores(session)))
        for name in free:
            session.conf.set(name, tasks)


def follow_cores(session: SparkSession) -> None:
    """Divide by the cores that a cluster has by now."""
    divide_by_cores(session, (session.conf.get(FOLLOW_CORES, None) or "").split())


def await_executors(session: SparkSession, chosen: Mapping[str, str]) -> None:
    """Wait until a cluster's first executor is there, without which no job begins, and no other one has come for a while. A
    master of Spark's own starts a session before any, in which all would have two tasks. Those of a Connect server are there;
    where they come and go, nothing comes before there is a job."""
    if is_connect(session) or is_local(chosen) or come_and_go(chosen):
        return
    context, deadline = session.sparkContext._jsc.sc(), time.monotonic() + EXECUTORS_WITHIN_SECONDS
    seen, since = 0, time.monotonic()
    while (now := time.monotonic()) < deadline and (seen == 0 or now < since + NO_MORE_AFTER_SECONDS):
        found = int(context.getExecutorMemoryStatus().size()) - 1  # the driver is among them
        if found != seen:
            seen, since = found, now
        time.sleep(0.05)


def is_local(chosen: Mapping[str, str]) -> bool:
    """Return whether Spark has the cores of one machine: a Connect session says its server's master."""
    return chosen.get("spark.master", "local").startswith("local")


def come_and_go(chosen: Mapping[str, str]) -> bool:
    return any(chosen.get(name, "").lower() == "true" for name in COME_AND_GO)


def choose_kept(session: SparkSession, chosen: Mapping[str, str]) -> None:
    """Let the session keep rows where pipelines.yml says, else on two executors where they come and go. `chosen` is what was
    set for it. Raise ConfigurationError for a checkpoint without a folder."""
    where = chosen.get(KEPT)
    if where is None and not is_local(chosen) and come_and_go(chosen):
        session.conf.set(KEPT, "replicated")
    if where == "checkpoint" and not chosen.get(CHECKPOINTS):
        what = f"`kept: checkpoint` needs a folder, and Spark has no {CHECKPOINTS}"
        cure = f"set {CHECKPOINTS} where Spark is started, to a folder that all its hosts share; or `kept: replicated`"
        raise ConfigurationError([Finding("spark.kept", what, cure)])


def cores(session: SparkSession) -> int:
    """Return how many tasks Spark gives to what has no partitions of its own: its cores, or `spark.default.parallelism`. A
    Connect client learns it from a plan only."""
    (plan,) = run_sql(session, "EXPLAIN SELECT * FROM range(1000000)")
    found = SPLITS.search(plan[0])
    return int(found[1]) if found else FEWEST_TASKS


def side_by_side(session: SparkSession) -> int:
    """Return how many tables to merge side by side: as many as the driver has cores, and the client keeps busy. A local Spark
    has no other cores; of a cluster's driver `spark.driver.cores` says it."""
    chosen = session.conf.getAll
    found = cores(session) if is_local(chosen) else int(chosen.get("spark.driver.cores", "0"))
    return min(max(found, FEWEST_TASKS), MOST_SIDE_BY_SIDE)


def connected_session(url: str, token: str | None) -> SparkSession:
    """Return a session of a Connect server, which gets the token. pyspark demands TLS for one in the URL, unless the host is
    `localhost`; this one is also sent where there is no TLS. One in the URL comes before it."""
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    class Channel(DefaultChannelBuilder):  # type: ignore[misc]
        def metadata(self) -> Iterable[tuple[str, str]]:
            return [*super().metadata(), ("authorization", f"Bearer {token}")]

    os.environ.pop("MASTER", None)  # an old variable of Spark's, with which pyspark opens no session of a server
    given = DefaultChannelBuilder(url)
    if not token or given.token is not None or "authorization" in dict(given.metadata()):
        return SparkSession.builder.remote(url).create()
    os.environ[CONNECTED] = "1"  # as `remote` does: else functions of columns ask a Java of this process
    return cast(SparkSession, ConnectSession.builder.channelBuilder(Channel(url)).create())


def keep_values_out_of_logs() -> None:
    """Stop pyspark from logging the message of each exception, in which a failed cast has its value: Redolake's own errors say
    what failed, without it."""
    for name in LOGS_OF_MESSAGES:
        PySparkLogger.getLogger(name).disabled = True


def submitted_settings() -> dict[str, str]:
    """Return the settings that spark-submit was given: they win over our defaults."""
    return dict(SparkConf().getAll()) if "PYSPARK_GATEWAY_PORT" in os.environ else {}


def read_as_written(session: SparkSession) -> None:
    """Make the session read names and texts as they are written. Raise ConfigurationError if it would still replace ${..}, by
    which a name or a DEFAULT of the source could read this machine's environment."""
    keep(session, AS_WRITTEN)


def fix(session: SparkSession, chosen: Collection[str]) -> None:
    """Give the session the settings that are no one's choice, and take away what a server's defaults would set on each new
    table against `properties`. Raise ConfigurationError where it does not take them."""
    keep(session, FIXED)
    for name in chosen:
        if (given := default_property(name)) is not None and why_refused(given) is not None:
            session.conf.unset(name)


def keep(session: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        try:
            found = session.conf.get(name, None)
            if found != value:  # to set the value again may show a warning: Spark calls some of these settings old
                session.conf.set(name, value)
                found = session.conf.get(name)
        except AnalysisException as refused:
            found = str(refused).partition("\n")[0]
        if found != value:
            cure = f"let the session set {name} to {value}: see the settings and plugins that Spark is started with"
            raise ConfigurationError([Finding("Spark's session", f"{name} is not {value}: {found}", cure)])


def run_sql(session: SparkSession, statement: str) -> list[Row]:
    """Run a statement whose names and texts were quoted by `delta.quoting`. Raise ConfigurationError if the session would read
    them otherwise, whoever has changed it meanwhile."""
    rows: list[Row] = run_query(session, statement).collect()
    return rows


def run_query(session: SparkSession, statement: str) -> DataFrame:
    """Return the rows of a query whose names and texts were quoted, as run_sql does."""
    if "$" in statement or "\\" in statement:
        read_as_written(session)
    return session.sql(statement)


@contextmanager
def session_like(spark: SparkSession) -> Iterator[SparkSession]:
    """Yield a copy of the session, with its settings and views as they are now. Settings of the copy are its own."""
    if is_connect(spark):
        copy = spark.cloneSession()
        try:
            yield copy
        finally:
            end_connect(copy)
    else:
        yield SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


@contextmanager
def plan_for_few_rows(spark: SparkSession) -> Iterator[None]:
    """Plan the session's queries for few rows while the block runs, then restore its settings. Code generation and AQE stay as
    they are where the user has set them to another value than Spark's default."""
    before = {name: spark.conf.get(name, None) for name in (*FOR_FEW_ROWS, *ONE_TASK)}  # None where it is not set
    ours = ONE_TASK | {name: value for name, (default, value) in FOR_FEW_ROWS.items() if before[name] in (None, default)}

    def restore() -> None:
        for name in ours:
            if (value := before[name]) is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)

    try:
        for name, value in ours.items():
            spark.conf.set(name, value)
        yield
    except BaseException as first:
        try:
            restore()
        except Exception as failed:  # the session has ended, and the first error says why
            raise first from failed
        raise
    restore()


def end_connect(session: SparkSession) -> None:
    """End a Connect session, and leave nothing of it in this process: a client is kept until the process ends unless that is
    undone, and the server logs an error for each answer that is released after its session."""
    client = session.client
    wait(client._release_futures, timeout=10)
    client.release_session()
    client.close()
    atexit.unregister(client._on_exit)


def give_up(session: Any) -> None:
    """Stop a session that has ended. Where its Java has ended with it, let this process start another."""
    try:
        session.stop()
    except Exception:
        if not is_connect(session):
            forget_java()


def forget_java() -> None:
    """Forget the Java that this process has started. pyspark starts one per process, and keeps it when it has ended."""
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def is_connect(spark: SparkSession) -> bool:
    return not hasattr(spark, "_jsparkSession")


def _runtime(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a running server accepts from a client; memory, jars and catalogs are its own."""
    settable = ("spark.sql.", "spark.databricks.", KEPT, FEW_CHANGES)
    return {k: v for k, v in conf.items() if k.startswith(settable) and not k.startswith(tuple(DELTA))}
