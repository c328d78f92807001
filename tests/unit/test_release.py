"""What a release needs is in step: version, changelog, and the refusals of `make release`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

from redolake import __version__

ROOT = Path(__file__).parents[2]
SECTIONS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_changelog_has_a_section_for_this_version_and_the_newest_is_first() -> None:
    released = [section.partition(" - ")[0] for section in SECTIONS if section != "Unreleased"]

    assert SECTIONS[1:].count("Unreleased") == 0
    assert released[0] == __version__
    assert released == sorted(released, key=Version, reverse=True)


def test_only_the_newest_section_may_be_without_a_date() -> None:
    dated = [re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", section) is not None for section in SECTIONS]

    assert all(dated[1:])
    assert dated[0] or SECTIONS[0] in ("Unreleased", f"{__version__} - unreleased")


def test_a_tag_that_is_not_the_version_is_not_built() -> None:
    env = {**os.environ, "BIN": str(Path(sys.executable).parent), "TAG": "v99.0.0"}
    done = subprocess.run([ROOT / ".ci" / "release"], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"the tag is v99.0.0, and pipelines/redolake/__init__.py says {__version__}" in done.stderr
    assert "do this: " in done.stderr
