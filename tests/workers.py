"""Distribute the tests over pytest-xdist's workers: a module at a time, the groups with Spark first.

A module stays on one worker, for its fixtures are expensive, and a group as long as other modules wait: its last ones go to the
worker that has nothing else to do, so that none runs alone for minutes.
`make test` passes `-n 2 --dist loadfile --no-loadscope-reorder`.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

# A fixture that starts one of these marks its tests, so that `make test-fast` leaves none of them in by mistake.
STARTED_BY = {
    "spark": ("spark", "connect_server"),
    "airflow": ("airflow_db",),
    "postgres": ("postgres",),
}
# Airflow leaves files of its processes and sockets open; which test is running when they are collected is chance.
LEFT_OPEN = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
# Path prefixes of the modules that share a worker. A new Java machine needs a minute of CPU time until Spark runs at speed, and
# Airflow half a minute for its imports and its database, so each worker gets one of them. The worker that ends its group first
# goes on with the other modules, then takes from the end of the other group: dear modules stand before cheap ones.
GROUPS = {
    "connect server, Airflow": (
        "tests/e2e/test_kills_everywhere.py",
        "tests/e2e/test_two_hosts.py",
        "tests/e2e/test_backfill.py",
        "tests/e2e/test_dags_end_to_end.py",
        "tests/e2e/test_recover_dag.py",
        "tests/e2e/test_waiting_for_logs.py",
        "tests/e2e/test_submit_and_connect.py",
        "tests/e2e/test_submit_failure.py",
        "tests/e2e/airflow_pages/",
        "tests/integration/test_object_store.py",  # the S3 server runs already
        "tests/unit/airflow/",
    ),
    "local Spark": (
        "tests/e2e/test_compose_services.py",
        "tests/integration/test_history.py",
        "tests/integration/test_quarantine.py",
        "tests/integration/test_pipeline.py",
        "tests/integration/test_backfill_ranges.py",
        "tests/integration/test_mapping.py",
        "tests/integration/test_objects_from_redo.py",
        "tests/integration/test_recover_in_delta.py",
        "tests/integration/spark/",
        "tests/integration/test_null_by_rule.py",
        "tests/integration/test_filled_columns.py",
        "tests/unit/apply/net/",
        "tests/unit/apply/spark/test_kept.py",
        "tests/unit/apply/delivery/",
        "tests/unit/assemble/",
        "tests/witness/",
        "tests/oracle/test_selftest.py",
        "tests/integration/test_damaged_files.py",
        "tests/integration/test_damaged_logs.py",
        "tests/integration/test_histories.py",
        "tests/integration/test_quarantine_lives.py",
        "tests/integration/test_lake_trouble.py",
        "tests/integration/test_redo_forms.py",
        "tests/integration/test_transactions.py",
        "tests/integration/test_migrated_rows.py",
        "tests/integration/test_key_logging.py",
        "tests/integration/test_mapped_lives.py",
        "tests/integration/test_mapping_matrix.py",
        "tests/integration/test_keyless.py",
        "tests/integration/test_as_of.py",
        "tests/integration/test_tutorial.py",
        "tests/integration/test_table_writers.py",
        "tests/integration/test_table_kinds.py",
    ),
}

# Modules that need neither, and 10 seconds of CPU time or more: whole pipelines, at 3 to 5 seconds a test, generated lives,
# commands in processes of their own. `make test-fast` leaves them out; the long ones run first, lest one worker ends with one.
SLOW = (
    "tests/integration/test_single_quotes.py",
    "tests/integration/test_standby_lives.py",
    "tests/integration/test_chunks.py",
    "tests/integration/test_unknown_transactions.py",
    "tests/contract/test_migrations.py",
    "tests/integration/test_tables_come_and_go.py",
    "tests/integration/test_backfill_from_logs.py",
    "tests/integration/test_olr_alone.py",
    "tests/integration/test_read_again.py",
    "tests/e2e/test_scenarios.py",
    "tests/e2e/test_cluster.py",
    "tests/e2e/test_cluster_kills.py",
    "tests/integration/test_olr.py",
    "tests/integration/test_olr_rac.py",
    "tests/integration/test_histories.py",
    "tests/integration/test_redefinition.py",
    "tests/integration/test_kills_without_spark.py",
    "tests/integration/test_whole_tables.py",
    "tests/integration/test_renamed_tables.py",
    "tests/integration/test_damaged_landing.py",
    "tests/integration/test_strange_tables.py",
    "tests/integration/test_large_objects.py",
    "tests/integration/test_pipeline_without_delta.py",
    "tests/integration/test_whole_rows.py",
    "tests/integration/test_dropped_tables.py",
    "tests/integration/test_names_in_ddl.py",
    "tests/integration/test_pdb_only.py",
    "tests/integration/test_follow.py",
    "tests/integration/test_container_identity.py",
    "tests/integration/test_recover.py",
    "tests/integration/test_cures_as_printed.py",
    "tests/integration/test_resnapshot.py",
    "tests/integration/test_schemas.py",
    "tests/integration/test_step_costs.py",
    "tests/integration/test_run_staleness.py",
    "tests/integration/test_truncate_cascade.py",
    "tests/integration/test_table_lives.py",
    "tests/integration/test_table_writers.py",
    "tests/integration/test_fresh_setup.py",
    "tests/integration/test_wheel.py",
    "tests/integration/test_policies.py",
    "tests/integration/test_snapshot_begin.py",
    "tests/integration/test_mining_slices.py",
    "tests/integration/test_setup_sql.py",
    "tests/integration/test_type_values.py",
    "tests/integration/test_lost_logging.py",
    "tests/integration/test_approvals.py",
    "tests/integration/test_object_store.py",
    "tests/integration/test_init.py",
    "tests/integration/test_many_cores.py",
    "tests/integration/test_doctor.py",
    "tests/integration/test_redo_dictionary.py",
    "tests/integration/test_rare_statements.py",
    "tests/integration/test_partition_ddl.py",
    "tests/integration/test_vanished_partitions.py",
    "tests/oracle/test_chain.py",
    "tests/oracle/test_outages.py",
    "tests/oracle/test_pull_request.py",
    "tests/unit/cli/test_cli_everywhere.py",
    "tests/unit/apply/spark/test_start.py",
    "tests/unit/cockpit/test_browser.py",
    "tests/unit/steps/test_any_order.py",
    "tests/unit/window/test_window_property.py",
)


def group_of(path: str) -> str:
    """Return the group that a test module belongs to: a shared one, or its own path."""
    return next((name for name, prefixes in GROUPS.items() if path.startswith(prefixes)), path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the servers its fixtures start and by its module's time, then put the groups first."""
    for item in items:
        if path_of(item) in SLOW:
            item.add_marker("slow")
        for mark, fixtures in STARTED_BY.items():
            if set(fixtures) & set(getattr(item, "fixturenames", ())):
                item.add_marker(mark)
        if item.get_closest_marker("airflow"):
            item.add_marker(pytest.mark.filterwarnings(*LEFT_OPEN))
    alone = {path_of(item) for item in items if item.get_closest_marker("spark")} - {
        path_of(item) for item in items if group_of(path_of(item)) in GROUPS
    }
    if alone:
        raise pytest.UsageError(f"{sorted(alone)} would start a Spark of their own: name them in GROUPS of tests/workers.py")
    items[:] = slow_first(items)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Collect what Airflow has left open while LEFT_OPEN holds: else a test of another module fails by it."""
    if item.get_closest_marker("airflow") and (nextitem is None or not nextitem.get_closest_marker("airflow")):
        gc.collect()


def path_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def slow_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with the groups of GROUPS first, then those of SLOW, both in their order; all others keep theirs."""

    def rank(item: pytest.Item) -> tuple[int, int]:
        path = path_of(item)
        group = group_of(path)
        if group not in GROUPS:
            return len(GROUPS), SLOW.index(path) if path in SLOW else len(SLOW)
        return list(GROUPS).index(group), next(n for n, prefix in enumerate(GROUPS[group]) if path.startswith(prefix))

    return sorted(items, key=rank)


def next_module(waiting: Sequence[str], begun: Mapping[str, object], worker: object) -> str:
    """Return the waiting module to run next on this worker; `begun` names the worker of each group that was begun."""
    own = [path for path in waiting if begun.get(group_of(path)) == worker]
    new = [path for path in waiting if group_of(path) in GROUPS and group_of(path) not in begun]
    ungrouped = [path for path in waiting if group_of(path) not in GROUPS]
    in_turn = (own, ungrouped, new) if worker in begun.values() else (new, ungrouped)
    return next((paths[0] for paths in in_turn if paths), waiting[-1])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Schedule modules by their groups; without this hook, `--dist loadfile` would mix the groups."""
    from xdist.scheduler import LoadFileScheduling

    class GroupScheduling(LoadFileScheduling):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.begun: dict[str, object] = {}

        def _assign_work_unit(self, node: Any) -> None:
            module = next_module(list(self.workqueue), self.begun, node)
            if group_of(module) in GROUPS:
                self.begun.setdefault(group_of(module), node)
            self.workqueue.move_to_end(module, last=False)
            super()._assign_work_unit(node)

    return GroupScheduling(config, log) if config.getoption("dist") == "loadfile" else None


# How many seconds each module took, fixtures included, and each worker; in the process that prints.
_seconds: dict[str, float] = defaultdict(float)
_of_worker: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.partition("::")[0]] += report.duration
    _of_worker[getattr(report, "worker_id", "this process")] += report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the twenty dearest modules: where the next minute of the suite is to be found."""
    if sum(_seconds.values()) < 300:
        return
    terminalreporter.section("the dearest modules, in seconds")
    for path, seconds in sorted(_seconds.items(), key=lambda item: -item[1])[:20]:
        terminalreporter.write_line(f"{seconds:7.0f}  {path}")
    busy = ", ".join(f"{worker} {seconds:.0f}" for worker, seconds in sorted(_of_worker.items()))
    terminalreporter.write_line(f"busy, in seconds: {busy}")
