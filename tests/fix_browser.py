"""Headless Chromium for tests of the page: the system's own. Tests that use it are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Containers run tests as root, where Chromium refuses its own sandbox; it opens our own pages only. Nobody sees its windows, so
# no graphics card is emulated for them.
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-gpu-compositing", "--disable-software-rasterizer")
# Airflow's spinners are drawn 60 times a second as long as they are in sight, even for those who prefer reduced motion.
STANDSTILL = """if (window === top) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important }");
  document.adoptedStyleSheets = [sheet];
}"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def follow(page: Any, path: str) -> None:
    """Go to another address of Airflow as its links do: a new load of its page needs 2 s of CPU time."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)


@contextmanager
def open_browser() -> Iterator[Any]:
    """Open Chromium; as long as it is open, nothing else in this process can run an event loop."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened
