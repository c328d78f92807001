"""The task that runs a batch by spark-submit; here spark-submit is a few lines of shell."""

import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from redolake.context import Run, read_spec
from redolake.errors import RedoNotUnderstood, SourceBusy
from redolake.records.batches.spec import BatchSpec, Redo
from redolake.records.codec import encode
from redolake.records.jobs import JobFailure
from redolake.steps.shared import leases as leases_steps
from redolake.steps.shared.leases import take_apply_lease

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]
TERMINAL = RedoNotUnderstood("the carry-over names a file that is not there", cure="restore it", file="/l/x.parquet")
TRANSIENT = SourceBusy("the cluster is full", cure="wait")


@pytest.fixture
def spec(settings, tmp_path):
    """Return a pipeline with a ledger, and the path of a spec written under its lease."""
    from redolake.config import LedgerSettings

    pipeline = settings("submit").model_copy(update={"ledger": LedgerSettings(url=f"sqlite:///{tmp_path}/ledger.db")})
    with Run(pipeline) as context:
        folder = context.landing.files.location("batches/b")
        lease = take_apply_lease(context).token
        spec = BatchSpec("shop", 1, 100, 200, "t", Redo(), (), f"{folder}/carry", f"{folder}/manifest.json", lease=lease)
        return pipeline, context.landing.files.write_new_record("batches/b/spec-t.json", spec)


@pytest.fixture
def submit(spec, monkeypatch, tmp_path):
    """Return `submit(script)`, which runs the task with that shell script as spark-submit and returns its arguments."""
    import redolake.host.runtime
    from redolake.airflow import spark

    session = type(sys)("redolake.apply.spark.session")
    session.spark_conf = lambda extra: {"spark.sql.extensions": "delta", **extra}
    monkeypatch.setitem(sys.modules, "redolake.apply.spark.session", session)
    monkeypatch.setattr(redolake.host.runtime, "delta_jars", lambda *_: ["/jars/a.jar", "/jars/b.jar"])
    monkeypatch.setattr(redolake.host.runtime, "find_java", lambda: "/java/home")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))  # whose bin/ comes first on the task's PATH
    for name in ("JAVA_HOME", "PATH", "PYSPARK_PYTHON", "PYTHONSAFEPATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SOMEWHERE", '{"conn_type": "spark", "host": "local[2]"}')

    def go(script):
        pipeline, batch = spec
        program = tmp_path / "bin" / "spark-submit"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$JAVA_HOME" "$@" > {tmp_path}/given\n{script}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        spark.spark_task(pipeline, batch, "").execute({"ti": Mock()})
        return (tmp_path / "given").read_text()

    return go


def failing(error, code):
    """Return a script that writes the job's error where the job would, and ends with that exit code."""
    from redolake.errors import Terminal

    return f"cat > \"$last\" <<'END'\n{encode(JobFailure(isinstance(error, Terminal), str(error)))}\nEND\nexit {code}"


def test_spark_submit_gets_jars_settings_java_and_the_spec(submit, spec):
    given = submit("exit 0")

    assert given.startswith("/java/home ")
    for part in ("--jars /jars/a.jar,/jars/b.jar", "--conf spark.sql.extensions=delta", f"job.py {spec[1]} "):
        assert part in given


def test_a_batch_without_changes_is_applied_in_the_task_itself(spec):
    from redolake.airflow import spark

    pipeline, batch = spec
    with Run(pipeline) as context:
        quiet = replace(read_spec(context, batch), redo=Redo(change_rows=0))
        name = context.landing.files.write_new_record("batches/b/spec-quiet.json", quiet)

    spark.spark_task(pipeline, name, "").execute({"ti": Mock()})  # there is no spark-submit

    assert Path(quiet.manifest).exists()
    spark.run_through_connect(pipeline, name)  # and no server: a repeat finds the manifest


def test_a_terminal_error_of_the_job_fails_the_task_at_once_with_its_text(submit):
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException) as failed:
        submit(failing(TERMINAL, 3))

    assert str(failed.value) == str(TERMINAL)


def test_a_transient_error_of_the_job_is_retried_and_says_why(submit):
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    with pytest.raises(AirflowException) as failed:
        submit(failing(TRANSIENT, 1))

    assert str(failed.value) == str(TRANSIENT)
    assert not isinstance(failed.value, AirflowFailException)


@pytest.mark.parametrize(("code", "at_once"), [(3, True), (1, False), (137, False)])
def test_a_job_that_left_no_error_text_is_judged_by_its_exit_code(submit, code, at_once):
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    with pytest.raises(AirflowException) as failed:
        submit(f"exit {code}")

    assert isinstance(failed.value, AirflowFailException) == at_once


def test_a_job_whose_lease_another_has_taken_is_killed_and_the_task_says_so(submit, spec, monkeypatch, tmp_path):
    from airflow.sdk.exceptions import AirflowException

    monkeypatch.setattr(leases_steps, "RENEW_EVERY_SECONDS", 0.01)
    taker = f"""
from datetime import timedelta
from redolake.ledger import open_ledger
from redolake.context import now
in_an_hour = now() + timedelta(hours=1)
ledger = open_ledger("sqlite:///{tmp_path}/ledger.db", "shop", lambda: in_an_hour)
ledger.lease("apply/shop", "somebody else", 60)
"""
    (tmp_path / "take.py").write_text(taker)
    began = time.monotonic()

    with pytest.raises(AirflowException, match="taken over"):
        submit(f"{sys.executable} {tmp_path}/take.py\nexec sleep 300")

    assert time.monotonic() - began < 120
    with Run(spec[0]) as context:
        assert context.ledger.lease("apply/shop", "somebody else", 60).owner == "somebody else"
