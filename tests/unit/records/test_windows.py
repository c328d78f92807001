"""A window's identity is equal in every run over the same redo, and window names sort by SCN."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.records.samples import MANIFEST


def test_files_and_circumstances_are_not_part_of_the_identity() -> None:
    other = replace(MANIFEST, files=("redo-b-00000.parquet",), circumstance={"destination": 2})

    assert other.identity() == MANIFEST.identity()
    assert "format" not in MANIFEST.identity(), "another Redolake may mine the same redo"
    assert replace(MANIFEST, row_hash="abd").identity() != MANIFEST.identity()


def test_names_sort_by_scn() -> None:
    assert replace(MANIFEST, start=9, end=10).name < replace(MANIFEST, start=100, end=101).name
