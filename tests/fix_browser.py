"""Headless Chromium for tests of the page: the system's own. Tests that use it are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def follow(page: Any, path: str) -> None:
    """Go to another address of Airflow as its links do: a new load of its page needs 2 s of CPU time."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Open Chromium for one module: as long as it is open, nothing else in this process can run an event loop."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Containers run tests as root, where Chromium refuses its own sandbox. It opens our own pages only.
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
