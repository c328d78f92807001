"""The workflows of .github: each step is a command of the Makefile, and what they name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
COMMAND = re.compile(r"make ([a-z-]+)((?: [A-Z]+=\S+(?: \}\})?)*)")
WORKFLOW = pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.stem)


def jobs(workflow: Path) -> dict[str, dict[str, Any]]:
    return dict(yaml.safe_load(workflow.read_text())["jobs"])


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(workflow).values():
        yield from job["steps"]


def test_there_is_a_workflow_for_changes_witnesses_real_databases_and_releases() -> None:
    assert [file.stem for file in WORKFLOWS] == ["ci", "oracle", "release", "witness"]


@WORKFLOW
def test_each_command_is_one_target_of_the_makefile(workflow: Path) -> None:
    commands = [step["run"] for step in steps(workflow) if "run" in step]

    assert commands
    named = [COMMAND.fullmatch(re.sub(r"\$\{\{ [^}]* \}\}", "value", command)) for command in commands]
    assert [command for command, match in zip(commands, named, strict=True) if match is None] == []
    assert {match[1] for match in named if match} <= TARGETS


@WORKFLOW
def test_what_is_passed_to_make_is_a_variable_that_the_target_uses(workflow: Path) -> None:
    for step in steps(workflow):
        match = COMMAND.match(step.get("run", ""))
        for name in re.findall(r"([A-Z]+)=", match[2] if match else ""):
            recipe = MAKEFILE.partition(f"\n{match[1]}:")[2].partition("\n\n")[0] if match else ""
            assert f"$({name})" in recipe or f"$(if $({name})" in recipe


@WORKFLOW
def test_a_job_ends_some_day_and_gets_no_more_rights_than_it_needs(workflow: Path) -> None:
    read = yaml.safe_load(workflow.read_text())

    assert read["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs(workflow).items() if "timeout-minutes" not in job] == []
    assert [name for name, job in jobs(workflow).items() if job.get("permissions") not in (None, {"id-token": "write"})] == []


def test_every_python_that_the_project_allows_is_tested() -> None:
    allowed = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text()))
    (workflow,) = (file for file in WORKFLOWS if file.stem == "ci")

    assert set(jobs(workflow)["tests"]["strategy"]["matrix"]["python"]) == allowed


def test_the_variables_of_the_database_are_ones_that_its_tests_read() -> None:
    (workflow,) = (file for file in WORKFLOWS if file.stem == "oracle")
    (job,) = jobs(workflow).values()
    given = {*job["env"], *(name for step in job["steps"] for name in step.get("env", ()))}
    code = "".join(file.read_text() for file in [*ROOT.glob("tests/oracle/*.py"), ROOT / "demo" / "own_database.py"])

    assert {name for name in given if name.removeprefix("REDOLAKE_ORACLE_") not in code} == set()


def test_actionlint_finds_nothing() -> None:
    if shutil.which("actionlint") is None:
        pytest.skip("actionlint is not on PATH; `make workflows` builds it with Go")
    done = subprocess.run(["actionlint"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_each_action_is_pinned_by_a_hash_with_its_version_beside_it_and_watched() -> None:
    """Also the one that publishes, although its authors name a branch: PyPI trusts this workflow, and with it what it runs."""
    used = [line.split("uses: ")[1] for file in WORKFLOWS for line in file.read_text().splitlines() if "uses: " in line]
    named = [step["uses"] for file in WORKFLOWS for step in steps(file) if "uses" in step]
    watched = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]

    pinned = re.compile(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one)] == []
    assert [one.partition(" ")[0] for one in used] == named
    assert len({one.partition("@")[0] for one in used}) == len(set(used)), "one action, two hashes"
    assert {one["package-ecosystem"] for one in watched} == {"github-actions", "pip", "docker"}


def test_every_make_command_that_a_page_names_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("demo/*.md"), *ROOT.glob("standin/**/*.md")]
    named = {
        (page.name, name) for page in pages for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }

    assert len(named) > 20
    assert {(page, name) for page, name in named if name not in TARGETS} == set()
