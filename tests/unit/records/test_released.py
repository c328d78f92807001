"""What released versions have written is read by today's code: each record of a small landing, and one of every kind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from redolake.records.codec import decode, format_of, from_body, noun_of
from tests.released.state import HERE, ROOT, releases
from tests.unit.records.samples import IN_LEDGER, RECORDS

KINDS = {noun_of(kind): kind for kind in map(type, (*RECORDS, *IN_LEDGER))}
# Those of a small run; the others are in records/, one of each kind.
OF_A_RUN = {
    "batch result", "batch spec", "captured tables", "dictionary content", "dictionary reading", "dictionary table",
    "dropped transaction", "first position", "lake mark", "redo needed from", "snapshot manifest",
    "snapshot result", "snapshot spec", "window manifest",
}  # fmt: skip


def records_in(folder: Path) -> dict[Path, str]:
    """Return the noun of each file that is a record."""
    found = {}
    for file in sorted(folder.rglob("*.json")):
        if "_delta_log" not in file.parts:
            body = json.loads(file.read_text())
            if isinstance(body, dict) and "record" in body:
                found[file] = body["record"]
    return found


@pytest.mark.parametrize("release", releases())
def test_each_record_of_a_released_version_is_read(release: str) -> None:
    files = records_in(HERE / release)

    assert {noun for file, noun in files.items() if "records" not in file.relative_to(HERE).parts} >= OF_A_RUN
    for file, noun in files.items():
        read: Any = decode(KINDS[noun], file.read_text(), str(file))
        assert isinstance(read, KINDS[noun])


@pytest.mark.parametrize("release", releases())
def test_each_record_in_the_ledger_of_a_released_version_is_read(release: str) -> None:
    rows = json.loads((HERE / release / "ledger.json").read_text())
    texts = [text for found in rows.values() for row in found for text in row.values() if str(text).startswith("{")]
    bodies = [body for body in map(json.loads, texts) if "record" in body]

    assert {body["record"] for body in bodies} >= {"table version", "window plan", "source fact", "plan fact", "redo fact"}
    for body in bodies:
        is_decision = body["record"] == "dropped transaction"  # its name stands beside the record
        from_body(KINDS[body["record"]], {n: v for n, v in body.items() if n != "name" or not is_decision}, release)


@pytest.mark.parametrize("release", releases())
def test_a_record_of_each_kind_of_a_released_version_is_kept(release: str) -> None:
    kept = {file.stem.rpartition("-")[0].replace("-", " "): int(file.stem.rpartition("-")[2]) for file in records_of(release)}

    assert len(kept) > 30
    assert {noun: number for noun, number in kept.items() if number > format_of(KINDS[noun])} == {}


def records_of(release: str) -> list[Path]:
    return sorted((HERE / release / "records").iterdir())


@pytest.mark.parametrize("release", releases())
def test_no_kept_file_names_a_place_of_a_machine(release: str) -> None:
    files = [path for path in (HERE / release).rglob("*") if path.is_file()]
    # A path that begins with another folder than ROOT's, and not in the middle of another word.
    place = re.compile(rb"(?<![\w.*/:-])/(?:tmp|home|root|work|var|usr|Users|private)/")

    assert {str(file): place.findall(file.read_bytes()) for file in files if place.search(file.read_bytes())} == {}
    assert any(ROOT.encode() in file.read_bytes() for file in files)
    assert sum(file.stat().st_size for file in files) < 500_000
