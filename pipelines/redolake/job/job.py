"""Run a spec with a Spark session; `spark-submit job.py SPEC.json [FAILURE.json]` runs it in a cluster, with the settings that
spark-submit is given."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence

from pyspark.sql import SparkSession

from redolake.apply.context import MayCommit, allow
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.session import follow_cores, read_as_written
from redolake.apply.spark.start import start_session
from redolake.apply.spark.thrown import failure_text
from redolake.errors import OF_SPARK, LandingConflict, LeaseHeld, RedolakeError, Terminal, report_with
from redolake.host import crash
from redolake.host.progress import Report, silent
from redolake.job.batch import run_batch
from redolake.job.damaged_files import check_landed_file
from redolake.job.lake import check_lake
from redolake.job.maintenance import run_maintenance
from redolake.job.snapshot import run_snapshot
from redolake.job.without_spark import SparkNeeded, no_spark
from redolake.land.files import Files
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import to_file
from redolake.records.jobs import TERMINAL_EXIT, JobFailure, Result, Spec, decode_spec
from redolake.records.maintenance import MaintenanceSpec

log = logging.getLogger(__name__)


def run(spark: SparkSession, spec: Spec, report: Report = silent, may_commit: MayCommit = allow) -> Result:
    """Run the spec. `may_commit` is called before each commit and raises when another writer holds the lease."""
    try:
        read_as_written(spark)
        follow_cores(spark)  # a cluster may have others than for the batch before
        check_lake(spec.lake)
        if isinstance(spec, BatchSpec):
            return run_batch(spark, spec, report, may_commit)
        if isinstance(spec, MaintenanceSpec):
            return run_maintenance(spark, spec, report, may_commit)
        return run_snapshot(spark, spec, report, may_commit)
    except RedolakeError:
        raise
    except Exception as surprise:
        check_session(spark, surprise)
        check_landed_file(spec, surprise)
        cure = f"run again: nothing of the batch is recorded. If it comes again, {report_with(OF_SPARK)}"
        raise Terminal(f"the job failed: {failure_text(surprise)}", cure=cure) from None  # its text may contain row data


def run_without_spark(spec: BatchSpec, report: Report = silent, may_commit: MayCommit = allow) -> BatchResult | None:
    """Run a batch without changes in this process, and return its result; None, with nothing committed, where it is left to
    Spark (without_spark.py). What was done is reported at the end. Raise LeaseHeld where another writer has the lease."""
    done = list[str]()
    try:
        check_lake(spec.lake)
        result = run_batch(no_spark(), spec, done.append, may_commit)
    except LeaseHeld:
        raise
    except (SparkNeeded, Exception) as why:
        log.info("the batch is left to Spark: %s", type(why).__name__)
        return None
    for line in done:
        report(line)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the spec of the first argument; on a typed error, write a JobFailure to the second one where it is given."""
    path, *failure_path = sys.argv[1:] if argv is None else argv
    watch_parent()
    try:
        run_file(path)
    except RedolakeError as error:
        failure = JobFailure(isinstance(error, Terminal), str(error))
        write_line(failure.text)
        for file in failure_path:
            write_failure(file, failure)
        return TERMINAL_EXIT if failure.terminal else 1
    return 0


def run_file(path: str) -> None:
    spec = read_spec(path)
    spark = start_session("submit")
    try:
        run(spark, spec, write_line)
    finally:
        spark.stop()


def read_spec(path: str) -> Spec:
    folder, _, name = path.rpartition("/")
    body = Files(folder or ".").read(name)
    if body is None:
        raise LandingConflict("the job's spec is missing", cure="prepare the batch again", path=path)
    return decode_spec(body, path)


def watch_parent(seconds: float = 2.0) -> None:
    """End this driver when its parent is gone: Airflow kills spark-submit's JVM, and the Python driver would live on."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os._exit(70)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def write_line(line: str) -> None:
    sys.stdout.write(f"redolake: {line}\n")
    sys.stdout.flush()


@crash.writer
def write_failure(path: str, failure: JobFailure) -> None:
    folder, _, name = path.rpartition("/")
    Files(folder or ".").create(name, to_file(failure))


if __name__ == "__main__":
    sys.exit(main())
