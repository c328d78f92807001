"""Executors, workers and the master of a standalone cluster are killed at each step: nothing is held, and batches go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from tests.e2e.cluster_kills import ROOT

# Rows that one executor alone has kept may be gone: the next attempt goes on.
LOSSES = ("before-merge:executors", "load:executors")
MORE_LOSSES = (
    "merge:executors", "assembly:executors", "net:executors", "carry:executors", "merge:executor", "assembly:executor",
    "load:executor", "merge:host", "assembly:host", "merge:worker", "load:worker",
)  # fmt: skip
# Nothing is lost: the first attempt goes on.
HARMLESS = ("before-merge:executor-twice-kept", "merge:master")
MORE_HARMLESS = ("merge:decommissioned", "load:master", "net:python", "net:slow", "merge:slow", "load:slow")


def chosen() -> list[str]:
    """Return one kill of each kind for this commit; in a hunt all, and those that take longer."""
    if "REDOLAKE_ALL_KILLS" in os.environ:
        return [*LOSSES, *MORE_LOSSES, *HARMLESS, *MORE_HARMLESS]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).stdout
    return [group[zlib.crc32(commit) % len(group)] for group in (LOSSES, HARMLESS)]


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
    assert [one for one in found if len(one["errors"]) > (0 if one["kill"] in HARMLESS + MORE_HARMLESS else 2)] == []
    assert (end["equal"], end["twice"], end["orphans"]) == (True, [], [])
