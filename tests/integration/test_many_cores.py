"""A large batch has as many tasks as Spark has cores, wherever all of its rows pass."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.spark.many_cores import CHANGES, CORES

SCRIPT = Path(__file__).parent / "spark" / "many_cores.py"


def test_each_shuffle_of_a_large_batch_uses_all_cores(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.integration.spark.many_cores", str(tmp_path)],
                          cwd=SCRIPT.parents[3], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

    large = [stage for stage in json.loads(done.stdout.splitlines()[-1]) if stage["shuffled"] >= CHANGES / 2]

    assert len(large) >= 3, "the net change, MERGE's join, and what it writes"
    assert [stage for stage in large if stage["tasks"] < CORES] == []
