"""A scenario that replaces Delta tables by new snapshots, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_scenarios import IN_DELTA, check_scenario

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", IN_DELTA)
def test_a_scenario_raises_its_errors_and_ends_with_equal_tables(name: str, tmp_path: Path, spark: Any) -> None:
    check_scenario(name, tmp_path, spark)
