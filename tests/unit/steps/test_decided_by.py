"""Who decided is never empty: a program that names nobody is named itself. A decision does not say that it was done."""

from __future__ import annotations

import re
from pathlib import Path

from redolake import context

ROOT = Path(context.__file__).parents[1]


def test_a_decision_is_never_recorded_under_the_name_that_a_run_was_given() -> None:
    """It may be empty; `Run.decided_by` is not (tests/unit/steps/test_prune.py)."""
    rooms = (file for room in ("steps", "operations", "reconcile", "airflow") for file in (ROOT / room).rglob("*.py"))

    assert [str(file) for file in rooms if re.search(r"\b(run|context)\.by\b", file.read_text())] == []


def test_no_decision_says_that_it_was_done() -> None:
    """It is recorded before a cut, a merge or a removal that may fail. A rejection is done once it is recorded."""
    texts = (file.read_text() for file in ROOT.rglob("*.py"))
    kinds = {kind for text in texts for kind in re.findall(r'\.record_decision\(\s*"([^"]+)"', text)}

    assert [kind for kind in sorted(kinds) if kind.split()[0].endswith("ed")] == ["rejected"]
    assert {"prune", "prune history"} <= kinds
