"""Check what needs no Oracle: places to write, the ledger, the connection's text, and what Spark needs. Report all findings."""

from __future__ import annotations

import os
import platform
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redolake
from redolake.apply.lake_tables import check_not_nested
from redolake.config import Pipeline
from redolake.context import Run, ledger_url, open_to_read
from redolake.context.spark import remote_of
from redolake.errors import ConfigurationError, Finding, FolderTaken, LedgerDamaged, RedolakeError, SparkLost
from redolake.host import crash
from redolake.host.arrow_check import arrow_findings
from redolake.host.connect_token import TOKEN, is_loopback
from redolake.host.filesystem import EXTRAS, protocol_of
from redolake.host.runtime import JARS_VARIABLE, find_java, s3_jars, spark_jars
from redolake.job.lake import has_neighbours
from redolake.land import layout
from redolake.land.files import Files
from redolake.ledger import Ledger, ledger_version, open_ledger
from redolake.reconcile.ledger import check_explained, last_batch
from redolake.records.codec import decode, from_body
from redolake.records.lakes import LakeMark
from redolake.records.readers import NOT_PROVED, is_received
from redolake.records.shown_facts import SettingsFact
from redolake.source import connect_params, driver_findings, is_connection_set
from redolake.steps.checks.expression_findings import known_expression_findings
from redolake.steps.checks.key_findings import key_findings
from redolake.steps.checks.logging_findings import logging_findings
from redolake.steps.checks.mapping_findings import known_mapping_findings
from redolake.steps.checks.running_stream import known_tables, replicator_findings
from redolake.steps.checks.user_code_findings import known_code_findings
from redolake.steps.shared.folders import folder_findings, with_contents
from redolake.steps.shared.reader_change import last_window

# Airflow's executors that run each task on the scheduler's own machine.
LOCAL_EXECUTORS = ("LocalExecutor", "SequentialExecutor")


def validate(
    run: Run, *, executors: Sequence[str] = (), start_spark: bool = False, ask_olr: bool = False, file: Path | None = None
) -> list[Finding]:
    """Check everything that needs no Oracle. `executors` are Airflow's; with `start_spark`, Spark reads and writes the places
    too, and resolves the expressions of mappings, whose lines are those of `file`; with `ask_olr`, each OpenLogReplicator is
    asked, and what a running one sends is checked."""
    pipeline = run.configured
    findings = [*arrow_findings(), *driver_findings(), *place_findings(pipeline), *host_findings(pipeline, executors)]
    findings += [*spark_findings(pipeline), *crowded_findings(pipeline), *known_code_findings(pipeline)]
    findings += known_mapping_findings(pipeline, file)
    if start_spark and not any(finding.severity == "error" for finding in findings):
        findings += try_spark(run, file)
    return [*findings, *(replicator_findings(pipeline, known_tables(pipeline)) if ask_olr else ())]


def package_findings(folder: Path) -> list[Finding]:
    """Check that nothing of the user's has the name of our package: Python finds one of the two, and the other's DAGs fail."""
    own = Path(redolake.__file__).parent
    package, module = folder / "redolake", folder / "redolake.py"
    others = [package] if package.resolve() != own and any(package.glob("*.py")) else []
    what = f"has the name of Redolake's package, in {own}: Python imports only one of them"
    cure = "give it another name, and change the imports of what is in it"
    return [Finding(str(other), what, cure, "warning") for other in (*others, *([module] if module.exists() else ()))]


def place_findings(pipeline: Pipeline) -> list[Finding]:
    """Check without Oracle that landing, lake and ledger are writable and that the connection is configured."""
    findings: list[Finding] = []
    for what, place in places(pipeline).items():
        findings += writable(what, place, pipeline.name)
    findings += [] if findings else [*mount_findings(pipeline), *key_findings(pipeline), *nested_findings(pipeline)]
    findings += open_landing(pipeline)
    findings += ledger_findings(pipeline)
    if pipeline.source.connection is None:
        return [*findings, without_connection(pipeline)]
    for conn_id in filter(None, (pipeline.source.connection, pipeline.source.primary)):
        try:
            connect_params(conn_id, os.environ)
        except ConfigurationError as error:
            # Airflow may keep the connection elsewhere; one that is here and wrong is an error.
            severity = "error" if is_connection_set(conn_id, os.environ) else "warning"
            findings += [replace(finding, severity=severity) for finding in error.findings]
    return findings


def nested_findings(pipeline: Pipeline) -> Iterator[Finding]:
    """Yield an error for each table whose folder lies inside or around that of another Delta table, of whatever pipeline. The
    tables of patterns are many: they are asked where another pipeline is in the lake or around it."""
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        pipeline = context.pipeline  # with the tables that its patterns have matched
    asks_all = has_neighbours(pipeline.lake, layout.lake_mark(pipeline.name))
    for table in pipeline.tables:
        if pipeline.is_of_pattern(table) and not asks_all:
            continue
        try:
            check_not_nested(pipeline.target(table.id), table.id, in_partitions=False)
        except FolderTaken as taken:
            yield Finding(str(table.id), f"{taken.what} ({pipeline.target(table.id)})", taken.cure)


def without_connection(pipeline: Pipeline) -> Finding:
    """Return what a pipeline without a connection does not prove, or that it cannot begin."""
    subject = f"{pipeline.name}.source.connection"
    if not has_received(pipeline):
        what = "is not set, and the snapshots and the first window of OpenLogReplicator need it"
        return Finding(subject, what, "name it; it may be left out once that window has landed")
    what = f"is not set: {NOT_PROVED}. Snapshots, `verify`, `repair` and DDL of captured tables need it"
    return Finding(subject, what, "name it from time to time: the next run then proves what has landed meanwhile", "warning")


def has_received(pipeline: Pipeline) -> bool:
    """Return whether the position is the end of a window that OpenLogReplicator has sent."""
    try:
        with open_to_read(pipeline) as context:
            position = context.ledger.position()
            last = None if position is None else last_window(context, position)
            return last is not None and is_received(last)
    except RedolakeError:
        return False


def ledger_findings(pipeline: Pipeline) -> list[Finding]:
    """Check that the ledger can be used; create it where there is none. One of an older Redolake is left as it is."""
    subject = f"{pipeline.name}.ledger"
    try:
        version = ledger_version(ledger_url(pipeline))
        if version.pending:
            what = f"has version {version.found}, and this Redolake needs {version.known}"
            cure = "run `redolake migrate` once nothing writes; the next run does it too"
            return [Finding(subject, what, cure, "warning")]
        ledger = open_ledger(ledger_url(pipeline), pipeline.name)
        try:
            return [*settings_findings(pipeline, ledger), *positions_findings(pipeline)]
        finally:
            ledger.close()
    except ConfigurationError as error:
        return list(error.findings)
    except RedolakeError as error:
        return [Finding(subject, error.what, error.cure)]


def positions_findings(pipeline: Pipeline) -> list[Finding]:
    """Check that a batch or a load has left each live table where the ledger says. What cannot be read is another's finding."""
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        last = last_batch(context)
        try:
            for entry in context.ledger.tables("live"):
                if last is not None and entry.complete_to_scn is not None:
                    check_explained(context, entry, last)
        except LedgerDamaged as error:
            return [Finding(f"{pipeline.name}.ledger", error.what, error.cure)]
    return []


def crowded_findings(pipeline: Pipeline) -> list[Finding]:
    """Check that each table has a folder of its own, as far as the landing records what patterns have matched."""
    try:
        with open_to_read(pipeline) as context:
            return list(folder_findings(context.pipeline, with_contents(context)).values())
    except RedolakeError:
        return []  # the places are checked too


def open_landing(pipeline: Pipeline) -> list[Finding]:
    """Return a finding for a local landing whose rows every user of the host may read, since every user may write there."""
    folder = Path(pipeline.landing_folder.removeprefix("file://"))
    if (
        protocol_of(pipeline.landing) not in ("file", "local")
        or not folder.exists()
        or not folder.stat().st_mode & stat.S_IWOTH
    ):
        return []
    cure = "give it to a group that all writers belong to: chgrp GROUP, chmod 2770; for one user alone: chmod 700"
    return [Finding(f"{pipeline.name}.landing", f"{folder}: every user of this host may read and write it", cure, "warning")]


def mount_findings(pipeline: Pipeline) -> list[Finding]:
    """Check that landing and lake are those that belong together: a folder below a mount point can be written too."""
    landing, lake = Files(pipeline.landing_folder), Files(pipeline.lake)
    recorded = landing.exists(layout.lake_record(pipeline.lake.rstrip("/")))
    mark = lake.read(layout.lake_mark(pipeline.name))
    cure = "mount it, or correct pipelines.yml; nothing was written"
    if recorded and mark is None:
        what = "the lake has lost the file that Redolake wrote into it: it is not mounted, or another folder is there"
        return [Finding(f"{pipeline.name}.lake", what, cure)]
    if mark and not landing.exists(layout.HANDOVER) and decode(LakeMark, mark, pipeline.lake).landing == landing.url:
        what = "the landing is empty, and the lake was written from it: it is not mounted, or another folder is there"
        return [Finding(f"{pipeline.name}.landing", what, cure)]
    return []


def places(pipeline: Pipeline) -> dict[str, str]:
    return {f"{pipeline.name}.landing": pipeline.landing, f"{pipeline.name}.lake": pipeline.lake}


def settings_findings(pipeline: Pipeline, ledger: Ledger) -> list[Finding]:
    """Compare this file's settings with those of the last plan, which another host may have made from a file of its own."""
    body = ledger.fact("settings")
    if body is None:
        return []
    last = from_body(SettingsFact, body, "the last plan's settings in the ledger")
    if last.hash == pipeline.settings_hash:
        return []
    what = f"the last plan, at {last.at} on host {last.host}, had other settings than this file"
    cure = "the same pipelines.yml and variables on every host; after an edit, the next plan has the new settings"
    return [Finding(f"{pipeline.name}.settings", what, cure, "warning")]


def host_findings(pipeline: Pipeline, executors: Sequence[str]) -> list[Finding]:
    """Check that nothing is only on one machine if Airflow runs tasks on several."""
    several = [name for name in executors if not name.endswith(LOCAL_EXECUTORS)]
    if not several:
        return []
    here = f"Airflow's {', '.join(several)} may run tasks on several hosts"
    cure = "mount it at the same path on each of them, or set a URL of an object store"
    findings = [
        Finding(what, f"{place} is a folder, and {here}", cure, "warning")
        for what, place in places(pipeline).items()
        if protocol_of(place) in ("file", "local")
    ]
    if pipeline.ledger.connection is None and pipeline.ledger_url.startswith("sqlite"):
        cure = "set ledger.connection or ledger.url to a PostgreSQL database"
        findings.append(Finding(f"{pipeline.name}.ledger", f"is a SQLite file, and {here}", cure))
    return findings


def spark_findings(pipeline: Pipeline) -> list[Finding]:
    """Check Java and the jars here. They are needed where tasks run, which may be another machine, so they are warnings."""
    if pipeline.spark.mode == "connect":
        return list(server_findings(pipeline))  # it has its own Java and jars
    findings: list[Finding] = []
    for check in (find_java, partial(spark_jars, pipeline.landing, pipeline.lake)):
        try:
            check()
        except ConfigurationError as error:
            findings += [replace(finding, severity="warning") for finding in error.findings]
    return [*findings, *object_store_findings(pipeline)]


def server_findings(pipeline: Pipeline) -> Iterator[Finding]:
    """Yield a warning for a Connect server on another host that this process sends no token, as far as it knows the server."""
    try:
        remote = remote_of(pipeline)
    except ConfigurationError:
        return  # Airflow knows it
    host = urlsplit(remote).hostname
    if not host or is_loopback(host) or os.environ.get(TOKEN) or ";token=" in remote or ";authorization=" in remote:
        return
    what = f"the Connect server on {host} gets no token: if it needs none, whoever reaches its port runs code as its user"
    cure = f"export {TOKEN} for `redolake spark serve` and wherever tasks run"
    yield Finding(f"{pipeline.name}.spark", what, cure, "warning")


def object_store_findings(pipeline: Pipeline) -> list[Finding]:
    """Check that Spark has a file system for the places; jars that the settings name are not looked into."""
    named = {"spark.jars", "spark.jars.packages"} & set(pipeline.spark.conf)
    if named or os.environ.get(JARS_VARIABLE):
        return []
    findings = []
    for what, place in places(pipeline).items():
        protocol = protocol_of(place)
        add = f"name the connector for {protocol}:// in spark.conf: spark.jars.packages"
        store = EXTRAS.get(protocol)
        if store == "s3" and not s3_jars():
            lacks = f"Spark cannot read {place}: the jars of its S3 file system are not here"
            findings.append(Finding(what, lacks, f"run `redolake spark setup`, which fetches them, or {add}", "warning"))
        if store not in (None, "s3"):
            lacks = f"Redolake fetches no connector of Spark for {protocol}://"
            findings.append(Finding(what, lacks, f"{add}; `redolake validate --spark` tries it", "warning"))
    return findings


def try_spark(run: Run, file: Path | None) -> list[Finding]:
    """Start Spark, or ask the Connect server, and check that it reads what is written here, and the other way round, and that
    it takes the expressions of mappings."""
    pipeline = run.configured
    try:
        with run.spark as opened:
            spark = opened.session()
            checked = [same_place(what, place, pipeline.name, spark) for what, place in places(pipeline).items()]
            checked.append(worker_findings(pipeline, spark))
            checked.append(known_expression_findings(pipeline, spark, file))
            checked.append(logging_findings(pipeline, spark))
    except ConfigurationError as error:
        return list(error.findings)
    except SparkLost as error:
        cure = "start the Connect server, or run again: Java was killed"
        return [Finding(f"{pipeline.name}.spark", f"Spark does not start: {error.what}", cure)]
    return [finding for findings in checked for finding in findings]


def worker_findings(pipeline: Pipeline, spark: Any) -> list[Finding]:
    """Return a finding for each version that some of Spark's Python workers have, and this process has not. Raises
    ConfigurationError where they have no Redolake."""
    from redolake.apply.spark.failures import check_session
    from redolake.job.worker_check import worker_versions

    try:
        answers = worker_versions(spark)
    except Exception as surprise:  # of Java, of gRPC or of pyspark
        check_session(spark, surprise)
        raise
    cure = "give Spark's hosts these, by `redolake spark pack --force` or an installation: docs/how-to/configure-spark.md"
    here = {"redolake": redolake.__version__, "python": platform.python_version().rpartition(".")[0]}
    findings = []
    for row in answers:
        there = {"redolake": row.redolake, "python": row.python.rpartition(".")[0]}
        lacks = [f"{name} {there[name]}, and {here[name]} is here" for name in here if there[name] != here[name]]
        lacks += [f"pyarrow {row.pyarrow}, which {row.fault}"] if row.fault else []
        findings += [Finding(f"{pipeline.name}.spark", f"a Python worker on {row.host} has {one}", cure) for one in lacks]
    return findings


@crash.writer
def same_place(subject: str, place: str, pipeline: str, spark: Any) -> list[Finding]:
    """Return a finding unless Spark reads a file that is written here, and its own file is found here."""
    from redolake.job.place_check import read_text, write_text

    token = uuid.uuid4().hex
    files = folder_at(subject, place, pipeline)
    mine, its = f"write-test-{token}", f"write-test-of-spark-{token}"
    cure = "Spark and this process need the same folder or bucket, and both the rights, the endpoint and the jars for it"
    try:
        files.create(mine, token.encode())
        if read_text(spark, files.location(mine)) != token:
            return [Finding(subject, f"{place}: Spark reads another file there than this process has written", cure)]
        write_text(spark, files.location(its), token)
        if not files.names(its):
            return [Finding(subject, f"{place}: what Spark has written there is not seen by this process", cure)]
    except RedolakeError as error:
        return [Finding(subject, f"{place}: {error.what}", error.cure)]
    except Exception as error:  # of Java, of gRPC or of pyspark
        return [Finding(subject, f"{place}: Spark cannot use it: {first_line(error)}", cure)]
    finally:
        files.remove(mine)
        files.remove(its)
    return []


def first_line(error: BaseException) -> str:
    """Return the first line that says something; Java's stack follows it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith(("java.", "org.", "com.", "software.", ": "))), None)
    return (reason or (lines[0] if lines else type(error).__name__)).lstrip(": ")[:500]


def folder_at(subject: str, place: str, pipeline: str) -> Files:
    """Return the pipeline's folder there; what is made in the lake is for its readers too."""
    return Files(f"{place.rstrip('/')}/{pipeline}", public=subject.endswith(".lake"))


@crash.writer
def writable(subject: str, place: str, pipeline: str) -> list[Finding]:
    """Return a finding unless a small file can be written to `place` and removed again."""
    try:
        files, name = folder_at(subject, place, pipeline), f"write-test-{uuid.uuid4().hex}"
        files.create(name, b"")
        files.remove(name)
    except ConfigurationError as error:
        return [replace(finding, subject=subject, what=f"{place}: {finding.what}") for finding in error.findings]
    except RedolakeError as error:
        return [Finding(subject, f"{place}: {error.what}", error.cure)]
    return []
