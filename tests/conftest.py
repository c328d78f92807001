"""Fixtures by subject; nothing else, but that one test leaves nothing of its Airflow to the next."""

import os
from collections.abc import Iterator

import pytest

pytest_plugins = ["tests.workers", "tests.fix_postgres", "tests.fix_spark", "tests.fix_shop"]


@pytest.fixture(autouse=True)
def _no_airflow_task_goes_on() -> Iterator[None]:
    """A DAG run in this process leaves the context of its last task, and a process with such a context is that task: it would
    share the DAG's leases."""
    yield
    for name in [name for name in os.environ if name.startswith("AIRFLOW_CTX_")]:
        del os.environ[name]
