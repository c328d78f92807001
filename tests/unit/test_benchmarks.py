"""The programs in benchmarks/ run for an hour at most once a month: what they would stop at is found here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).parents[2].glob("benchmarks/*.py"))
OF_ARGPARSE = {"add_argument", "parse_args"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_each_option_that_a_benchmark_reads_is_one_of_its_options(program: Path) -> None:
    text = program.read_text()
    options = {name.replace("-", "_") for name in re.findall(r'add_argument\(\s*"(?:--)?([\w-]+)"', text)}

    read = set(re.findall(r"\b(?:given|arguments)\.(\w+)", text)) - OF_ARGPARSE

    assert read <= options
