"""Load the fixture modules, and remove what one test's Airflow run would leave to the next."""

import logging
import os
from collections.abc import Iterator

import pytest

FIXTURES = tuple(f"tests.fixtures.{name}" for name in ("commands", "disk", "lake", "ledger", "postgres", "s3", "spark", "shop"))
pytest.register_assert_rewrite(*FIXTURES)  # another conftest.py may import one before it is a plugin


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures, but not in the process of pytest-xdist that only hands the tests out: they import the product."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        for name in FIXTURES:
            config.pluginmanager.import_plugin(name)


@pytest.fixture(autouse=True)
def _no_airflow_context_stays() -> Iterator[None]:
    """Remove the context that a DAG run leaves in this process: its leases would count as held by this process."""
    yield
    for name in [name for name in os.environ if name.startswith("AIRFLOW_CTX_")]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def _no_log_handler_stays() -> Iterator[None]:
    """Remove the handler that a command gives the root logger: it writes to the output of the runner that has ended."""
    before = logging.root.handlers[:]
    yield
    for handler in [handler for handler in logging.root.handlers if type(handler) is logging.StreamHandler]:
        if handler not in before:
            logging.root.removeHandler(handler)
