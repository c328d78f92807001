"""Leave out the stand-in's own tests where it is as in another commit: `make test BASE=main`.

Without a base, or where git cannot compare with it, they run.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = "standin/tests"
# What these tests depend on, themselves included.
READ = (
    "standin",
    "sql/setup",
    "tests/support",
    "tests/published",
    "tests/workers.py",
    "conftest.py",
    "pyproject.toml",
    "constraints*.txt",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--standin-base", metavar="COMMIT", help="leave out the stand-in's own tests if it is as in this commit")


def is_unchanged(base: str, root: Path = ROOT) -> bool:
    """Return whether nothing that the stand-in's tests depend on differs from a commit; False where git cannot tell."""
    places = ["--", *READ]
    compared = _git(root, "diff", "--quiet", "--end-of-options", base, *places)
    new = _git(root, "ls-files", "--others", "--exclude-standard", *places)
    return compared.returncode == 0 and new.returncode == 0 and not new.stdout


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, check=False)
    except OSError:  # there is no git
        return subprocess.CompletedProcess(words, 1, b"", b"")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    base = config.getoption("standin_base")
    if not base or not is_unchanged(base):
        return
    is_own = [ROOT / OWN in item.path.parents for item in items]
    config.hook.pytest_deselected(items=[item for item, own in zip(items, is_own, strict=True) if own])
    items[:] = [item for item, own in zip(items, is_own, strict=True) if not own]


def pytest_report_header(config: pytest.Config) -> str | None:
    base = config.getoption("standin_base")
    if not base:
        return None
    if is_unchanged(base):
        return f"stand-in: as in {base}, so its own tests are left out (make test-standin runs them)"
    return f"stand-in: not as in {base}, or git cannot compare with it, so its own tests run"
