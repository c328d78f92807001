"""What a release needs is in step: version, changelog, and the refusals of `make release`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from redolake import __version__

ROOT = Path(__file__).parents[2]
SECTIONS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

HASHED = (ROOT / "constraints-hashes.txt").read_text()
PIN = re.compile(r"^([\w.-]+)==(\S+)(?: ; .+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
OF_OTHER_SYSTEMS = {"colorama", "httpx2-jsfetch", "pywin32-ctypes", "pyyaml-ft"}
BUILDING = {"setuptools", "wheel"}  # of pyspark, of which there is no wheel


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


def test_each_pinned_version_has_hashes_and_no_file_names_an_index() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#")
    hashed = {name: version for name, version, _ in PIN.findall(HASHED)}

    assert [line for line in PIN.sub("", HASHED).splitlines() if line and line[0] != "#"] == []
    assert {name for name in {*pins, *hashed} if pins.get(name) != hashed.get(name)} == OF_OTHER_SYSTEMS | BUILDING
    assert re.findall(r"://|index|find-links", PIN.sub("", HASHED)) == []


def needed(name: str, extras: frozenset[str], found: dict[str, str]) -> dict[str, str]:
    """Return all that a distribution needs here, with its versions."""
    for requirement in map(Requirement, distribution(name).requires or ()):
        marker, key = requirement.marker, canonicalize_name(requirement.name)
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        if key not in found or requirement.extras:
            found.setdefault(key, distribution(key).version)
            needed(key, frozenset(requirement.extras), found)
    return found


def test_every_package_that_is_installed_here_for_the_project_has_hashes() -> None:
    hashed = {name for name, *_ in PIN.findall(HASHED)}

    assert set(needed("redolake", frozenset({"dev"}), {})) - hashed - {"redolake"} == set()
