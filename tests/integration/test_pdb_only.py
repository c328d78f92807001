"""A PDB whose root cannot be reached: redo is mined from inside, where Oracle chooses the logs and the gate proves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import ConfigurationError, MiningIncomplete, RedoLost
from redolake.source import ConnectParams
from redolake.source.setup_sql import Flavour
from redolake.steps.run import capture
from tests.integration.test_pipeline import TWO_TABLES, caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.states.tenant import Tenant, open_tenant
from tests.support.doctor import run_doctor


@pytest.fixture
def tenant(tmp_path: Path) -> Iterator[Tenant]:
    with open_tenant(tmp_path) as opened:
        yield opened


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def errors(tenant: Tenant, params: ConnectParams | None = None) -> list[str]:
    found = run_doctor(tenant.pipeline(tables=TWO_TABLES), params or tenant.params)
    return [str(f) for f in found if f.severity != "note" and "AIRFLOW_CONN" not in f.what]


@pytest.mark.parametrize("flavour", [Flavour.pdb_only, Flavour.rds])
def test_doctor_finds_nothing_after_the_script_and_minimal_logging_of_the_pdb_suffices(
    tmp_path: Path, no_spark: str, flavour: Flavour
) -> None:
    with open_tenant(tmp_path, flavour, rds=flavour == Flavour.rds, supplemental=frozenset()) as tenant:
        tenant.switch_logs()
        found = errors(tenant)
        pipeline = tenant.pipeline(tables=TWO_TABLES)
        steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
        tenant.work(20)
        caught_up(tenant, pipeline, no_spark)

        assert (found, differences(tenant, pipeline)) == ([], {})


@pytest.mark.parametrize(
    "options",
    [{"threads": 2, "private_strands": True}, {"names_container_in_pdb": False}],
    ids=["two threads with late redo", "one thread, without the container's name"],
)
def test_windows_are_captured_whole(tmp_path: Path, no_spark: str, options: dict[str, Any]) -> None:
    with open_tenant(tmp_path, **options) as tenant:
        pipeline = tenant.pipeline(tables=TWO_TABLES)
        tenant.work(40)
        steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
        for seed in (2, 3):
            tenant.work(60, seed=seed)
            caught_up(tenant, pipeline, no_spark)

        assert differences(tenant, pipeline) == {}


def test_a_row_is_landed_once_whatever_thread_it_is_from(tmp_path: Path, no_spark: str) -> None:
    with open_tenant(tmp_path, threads=2) as tenant:
        pipeline = tenant.pipeline(tables=TWO_TABLES)
        steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
        tenant.work(60)
        tenant.switch_logs()
        inside = capture(Run(pipeline, tenant.params))
        root = replace(
            tenant.params,
            user=tenant.oracle.capture_user,
            password=tenant.oracle.passwords[tenant.oracle.capture_user],
            dsn=tenant.oracle.root_dsn,
            pdb_only=False,
        )
        again = steps.remine_window(Run(pipeline, root), inside.plan.window)

        assert again.equal, again.differs


def test_a_missing_archived_log_stops_the_window(tenant: Tenant, no_spark: str) -> None:
    pipeline = tenant.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
    tenant.work(200)
    tenant.switch_logs()
    tenant.oracle.faults.remove_files()

    with pytest.raises(RedoLost, match="is not available"):
        capture(Run(pipeline, tenant.params))


def test_redo_from_before_a_resetlogs_that_oracle_does_not_choose_stops_the_window(tenant: Tenant, no_spark: str) -> None:
    pipeline = tenant.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
    tenant.work(40)
    tenant.switch_logs()
    tenant.oracle.faults.reset_logs()

    with pytest.raises(MiningIncomplete, match="Oracle does not find the logs"):
        capture(Run(pipeline, tenant.params))

    assert steps.inspect_redo_loss(pipeline, source=tenant.params).choices


def test_a_purged_log_is_found_by_the_gate(tenant: Tenant, no_spark: str) -> None:
    pipeline = tenant.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=tenant.params, spark=no_spark)
    tenant.work(200)
    tenant.switch_logs()
    tenant.oracle.faults.purge_logs()

    with pytest.raises(RedoLost, match="archive log"):
        capture(Run(pipeline, tenant.params))


def test_a_pdb_that_hides_the_logs_is_refused(tmp_path: Path) -> None:
    with open_tenant(tmp_path, pdb_hides_logs=True) as tenant:
        with pytest.raises(ConfigurationError, match="nothing proves that no archived log is missing"):
            steps.begin_snapshot(Run(tenant.pipeline(tables=TWO_TABLES), tenant.params))

        assert any("V$THREAD" in error for error in errors(tenant))


def test_a_pdb_with_shared_undo_is_refused(tmp_path: Path) -> None:
    with open_tenant(tmp_path, local_undo=False) as tenant:
        with pytest.raises(ConfigurationError, match="no local undo"):
            steps.begin_snapshot(Run(tenant.pipeline(tables=TWO_TABLES), tenant.params))

        assert any("no local undo" in error for error in errors(tenant))


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"pdb_only": False}, "set `pdb_only`"), ({"dsn": "root"}, "says pdb_only"), ({}, "correct `container`: one of FREEPDB1")],
    ids=["a PDB without pdb_only", "the root with pdb_only", "another PDB"],
)
def test_a_connection_that_leads_elsewhere_is_refused(tenant: Tenant, changes: dict[str, Any], what: str) -> None:
    params = replace(tenant.params, **{**changes, **({"dsn": tenant.oracle.root_dsn} if "dsn" in changes else {})})
    if "dsn" in changes:
        params = replace(params, user="SYS", password=tenant.oracle.passwords["SYS"])
    source = {"connection": "oracle_shop", "container": "FREEPDB1" if changes else "OTHERPDB"}

    found = run_doctor(tenant.pipeline(tables=TWO_TABLES, source=source), params)

    assert any(what in str(finding) for finding in found if finding.severity == "error")
