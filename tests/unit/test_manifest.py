"""Manifests are read as they were written, and what a newer Redolake wrote is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipelines.errors import FormatTooNew
from pipelines.manifest import DdlRow, LogIdentity, Manifest, as_json, from_json

MANIFEST = Manifest(
    dbid=1,
    resetlogs_id=2,
    start=100,
    end=200,
    logs=(LogIdentity(1, 5, 2, 90, 200), LogIdentity(2, 9, 2, 80, 210)),
    tables=("SHOP.ORDERS",),
    counts={"SHOP.ORDERS insert": 3, "* commit": 1},
    row_hash="abc",
    ddl=(DdlRow(150, 1, "0x01.02.0010", 0, "SHOP", "ORDERS", 77, "ALTER TABLE orders ADD (x NUMBER)"),),
    files=("redo-a-00000.parquet",),
    circumstance={"destination": 1},
)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert from_json(json.loads(json.dumps(as_json(MANIFEST))), "m") == MANIFEST


def test_files_and_circumstances_are_no_part_of_the_identity() -> None:
    other = replace(MANIFEST, files=("redo-b-00000.parquet",), circumstance={"destination": 2})

    assert other.identity() == MANIFEST.identity()
    assert replace(MANIFEST, format=0).identity() == MANIFEST.identity(), "the same redo, mined by another Redolake"
    assert replace(MANIFEST, row_hash="abd").identity() != MANIFEST.identity()


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(FormatTooNew, match="format 99"):
        from_json({**as_json(MANIFEST), "format": 99}, "m")


def test_names_sort_by_scn() -> None:
    assert replace(MANIFEST, start=9, end=10).name < replace(MANIFEST, start=100, end=101).name
