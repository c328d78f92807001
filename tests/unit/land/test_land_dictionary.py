"""Readings of the dictionary are in folders of some hundred, and each is found from any position on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from redolake.land import dictionary, layout
from redolake.land.dictionary import Dictionary, Readings
from redolake.land.files import Files
from redolake.records.codec import encode
from redolake.records.dictionary import DictionaryReading
from redolake.values.scn import ChainPosition
from tests.unit.records.samples import TABLE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setattr(dictionary, "READINGS_IN_A_FOLDER", 3)
    return Files(str(tmp_path))


def folders(files: Files) -> list[str]:
    return files.names(layout.DICTIONARY, layout.READINGS_FROM)


def test_a_folder_takes_some_readings_and_the_next_one_begins_another(files: Files) -> None:
    for scn in range(100, 170, 10):
        Dictionary(files).write_dictionary(11, scn, [TABLE])
    Dictionary(files).write_dictionary(11, 160, [TABLE])  # again, at the same SCN

    assert folders(files) == [layout.readings_folder(ChainPosition(11, scn)) for scn in (100, 130, 160)]
    assert [position.scn for position in Dictionary(files).positions()] == list(range(100, 170, 10))


def test_readings_of_an_older_release_come_before_those_of_this_one(files: Files) -> None:
    written = Dictionary(files)
    written.write_dictionary(11, 300, [TABLE])
    content = written.content_at(ChainPosition(11, 300))
    for scn in (100, 200):
        files.create(layout.dictionary_file(ChainPosition(11, scn)), encode(DictionaryReading(11, scn, content, {})).encode())

    assert [reading.scn for reading in Readings(Dictionary(files)).newest_first(11, 0)] == [300, 200, 100]
    assert [reading.scn for reading in Readings(Dictionary(files), ChainPosition(11, 200)).newest_first(11, 150)] == [300, 200]
    assert Dictionary(files).file_of(ChainPosition(11, 200)) == layout.dictionary_file(ChainPosition(11, 200))


@pytest.mark.parametrize("seed", range(20))
def test_plans_that_overtake_each_other_hide_no_reading(files: Files, seed: int) -> None:
    """A plan takes its SCN, chooses the folder and writes; one that has taken its lease does the same in between."""
    chance, scn, written = random.Random(seed), 100, list[ChainPosition]()
    plans: list[tuple[ChainPosition, str | None]] = []
    for _ in range(120):
        if len(plans) < 2 and chance.random() < 0.6:
            scn += chance.randint(1, 9)
            plans.append((ChainPosition(11 + scn // 300, scn), None))
        elif plans:
            position, folder = plans.pop(chance.randrange(len(plans)))
            if folder is None:
                plans.append((position, Dictionary(files).folder_for(position)))
            else:
                files.create(layout.dictionary_file(position, folder), b"{}")
                written.append(position)
    for since in written:
        assert Dictionary(files).positions(since) == sorted(position for position in written if position >= since)


def test_a_batch_lists_the_newest_folders_alone(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    for scn in range(100, 400, 10):
        Dictionary(files).write_dictionary(11, scn, [TABLE])
    listed, names = list[str](), Files.names

    def listing(self: Files, relative: str, after: str = "") -> list[str]:
        listed.append(relative)
        return names(self, relative, after)

    monkeypatch.setattr(Files, "names", listing)
    Dictionary(files).positions(ChainPosition(11, 385))

    assert listed == [layout.DICTIONARY, *(f"{layout.DICTIONARY}/from-0000000011-{scn:020d}" for scn in (340, 370))]
