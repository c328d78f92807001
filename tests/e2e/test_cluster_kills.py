"""Executors, workers and the master of a standalone cluster are killed at each step: nothing is held, and batches go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.thirds import EVERYTHING, ROOT, commit_of

# Rows that one executor alone has kept may be gone: the next attempt goes on.
LOSSES = (
    "before-merge:executors", "load:executors", "merge:executors", "assembly:executors", "net:executors", "carry:executors",
    "merge:executor", "assembly:executor", "load:executor", "merge:host", "assembly:host", "merge:worker", "load:worker",
)  # fmt: skip
# Nothing is lost: the first attempt goes on.
HARMLESS = (
    "before-merge:executor-twice-kept", "merge:master", "merge:decommissioned", "load:master", "net:python", "net:slow",
    "merge:slow", "load:slow",
)  # fmt: skip
DEADLINE_SECONDS = 900  # of a run with one kill, on a machine that has other work too


def chosen() -> list[str]:
    """Return one kill for this commit, of those that take least; in a hunt all."""
    if EVERYTHING in os.environ:
        return [*LOSSES, *HARMLESS]
    kills = (LOSSES[0], HARMLESS[0])
    return [kills[crc32(commit_of(ROOT).encode()) % len(kills)]]


def run_kills(folder: Path, kills: list[str]) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.e2e.cluster_kills", str(folder), *kills]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS * len(kills))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_losses_of_a_cluster_hold_no_table_and_the_next_attempt_goes_on(tmp_path: Path) -> None:
    kills = chosen()

    *found, end = run_kills(tmp_path, kills)

    assert [one["kill"] for one in found] == kills
    assert [one["kill"] for one in found if one["killed"] in (None, "begun")] == [], "the kill did not happen"
    assert [one for one in found if one["held"]] == []
    assert [one for one in found if len(one["errors"]) > (0 if one["kill"] in HARMLESS else 2)] == []
    assert (end["equal"], end["twice"], end["orphans"]) == (True, [], [])
