"""Executors, workers and the master of a standalone cluster are killed at each step: nothing is held, and batches go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster_kills import ROOT

# One of each group for each commit; `make soak` takes all.
KILLS = (
    ("before-merge:executors", "merge:executors", "assembly:executors", "net:executors", "load:executors", "carry:executors"),
    (
        "merge:executor",
        "net:python",
        "load:executor",
        "merge:host",
        "assembly:host",
        "merge:worker",
        "merge:master",
        "load:master",
    ),
    ("before-merge:executor-twice-kept", "merge:decommissioned", "net:slow", "load:slow", "merge:slow"),
)
# Nothing is lost with them, so the first attempt goes on.
HARMLESS = ("executor-twice-kept", "decommissioned", "slow", "python", "master")


def chosen() -> list[str]:
    if "REDOLAKE_ALL_KILLS" in os.environ:
        return [kill for group in KILLS for kill in group]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).stdout
    return [group[zlib.crc32(commit) % len(group)] for group in KILLS]


def run_kills(folder: Path, kills: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, "-m", "tests.e2e.cluster_kills", str(folder), *kills],
                          cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_losses_of_a_cluster_hold_no_table_and_the_next_attempt_goes_on(tmp_path: Path) -> None:
    kills = chosen()

    *found, end = run_kills(tmp_path, kills)

    assert [one["kill"] for one in found] == kills
    assert [one["kill"] for one in found if one["killed"] in (None, "begun")] == [], "the kill did not happen"
    assert [one for one in found if one["held"]] == []
    assert [one for one in found if len(one["errors"]) > (0 if one["kill"].endswith(HARMLESS) else 2)] == []
    assert (end["equal"], end["twice"], end["orphans"]) == (True, [], [])


@pytest.mark.skipif("REDOLAKE_ALL_KILLS" in os.environ, reason="all are run")
def test_each_commit_has_a_kill_of_each_group() -> None:
    assert [sum(kill in group for kill in chosen()) for group in KILLS] == [1, 1, 1]
