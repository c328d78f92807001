"""A file of the landing has its record in the module of its folder's name."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from redolake.land import layout
from redolake.records.codec import noun_of
from tests.unit.records.samples import RECORDS

OF_OTHERS = {"backfills", "as-of", "restored"}  # their files are those of a batch, or of windows
WITHOUT_JSON = "verify"
PLACES = sorted(set(re.findall(r"^([a-z-]+)(?:/|\.json)", layout.__doc__ or "", re.MULTILINE)) - {*OF_OTHERS, WITHOUT_JSON})


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_of_the_landing_has_a_module_of_records(place: str) -> None:
    module = import_module(f"redolake.records.{place.replace('-', '_')}")

    assert module.__doc__


def test_each_record_is_of_a_folder_of_the_landing_or_of_any_job() -> None:
    rooms = {place.replace("-", "_") for place in PLACES} | {"jobs"}
    elsewhere = {
        noun_of(kind): kind.__module__
        for kind in map(type, RECORDS)
        if kind.__module__.startswith("redolake.records.") and kind.__module__.split(".")[2] not in rooms
    }

    assert elsewhere == {}
