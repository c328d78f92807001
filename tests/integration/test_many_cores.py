"""A large load, batch and comparison have as many tasks as Spark has cores, wherever all of their rows pass."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.spark.many_cores import CHANGES, CORES
from tests.support.cluster import standalone_cluster

SCRIPT = Path(__file__).parent / "spark" / "many_cores.py"
TABLE = SCRIPT.parents[3] / "docs" / "performance.md"


@pytest.fixture
def master(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "local":
        yield f"local[{CORES}]"
        return
    with standalone_cluster(tmp_path / "cluster", workers=2, cores=CORES // 2) as cluster:
        yield cluster.master


@pytest.mark.parametrize("master", ["local", "two workers"], indirect=True)
def test_each_stage_with_all_rows_uses_all_cores(tmp_path: Path, master: str) -> None:
    """Spark's own master starts a session before its executors are there."""
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run([sys.executable, "-m", "tests.integration.spark.many_cores", str(work), master],
                          cwd=SCRIPT.parents[3], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

    large = defaultdict(list)
    for stage in json.loads(done.stdout.splitlines()[-1]):
        if max(stage["read"], stage["shuffled"]) >= CHANGES / 2:
            large[stage["phase"]].append(stage)

    assert [*large] == ["load", "batch with history", "verify", "verify history"]
    assert [stage for stages in large.values() for stage in stages if stage["tasks"] < CORES] == []
    rows = [f"| {phase} | {len(stages)} | {min(stage['tasks'] for stage in stages)} |" for phase, stages in large.items()]
    assert [row for row in rows if row not in TABLE.read_text()] == []
