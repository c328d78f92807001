"""Distribute the tests over pytest-xdist's workers: a module at a time, the slow modules first.

A module stays on one worker, for its fixtures are expensive. Modules that share a server or an Airflow form one group.
`make test` passes `-n 2 --dist loadfile --no-loadscope-reorder`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

# A fixture that starts one of these marks its tests, so that `make test-fast` leaves none of them in by mistake.
STARTED_BY = {
    "spark": ("spark", "connect_server"),
    "airflow": ("airflow_db",),
    "postgres": ("postgres",),
}
# Path prefixes of one group. Each worker that runs Airflow imports it and creates its database, which takes half a minute.
GROUPS = {
    "airflow": ("tests/unit/airflow/", "tests/e2e/test_dags_end_to_end.py"),
}
# By duration; all other modules follow, those with Spark first.
SLOW_FIRST = ("tests/e2e/test_kills_everywhere.py",)


def group_of(path: str) -> str:
    """Return the group that a test module belongs to: a shared one, or its own path."""
    return next((name for name, prefixes in GROUPS.items() if path.startswith(prefixes)), path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the servers its fixtures start, then sort the modules by duration."""
    for item in items:
        for mark, fixtures in STARTED_BY.items():
            if set(fixtures) & set(getattr(item, "fixturenames", ())):
                item.add_marker(mark)
    items[:] = slow_first(items)


def slow_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with slow groups first; within a group they keep their order."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group_of(item.nodeid.partition("::")[0]), []).append(item)

    def rank(name: str) -> tuple[int, bool]:
        at = SLOW_FIRST.index(name) if name in SLOW_FIRST else len(SLOW_FIRST)
        return at, not any(item.get_closest_marker("spark") for item in groups[name])

    return [item for name in sorted(groups, key=rank) for item in groups[name]]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Schedule whole groups; without this hook, `--dist loadfile` would schedule single modules."""
    from xdist.scheduler import LoadFileScheduling

    class GroupScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0])

    return GroupScheduling(config, log) if config.getoption("dist") == "loadfile" else None
