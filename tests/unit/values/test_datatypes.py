"""A type of Oracle is one row, and docs/development/adding-a-datatype.md has what else names one."""

from __future__ import annotations

import re
from pathlib import Path

from redolake.decode.datatypes import FAMILIES, REFUSED
from redolake.decode.messages import READERS
from redolake.values.datatypes import AS_TEXT, DATATYPES, EXACT, READ_AS_REDO
from tests.unit.apply.test_target_port import texts_in
from tests.unit.host.test_crash import PIPELINES

PAGE = Path(__file__).parents[3] / "docs/development/adding-a-datatype.md"
IN_SQL = {"ROWID", "VARRAY", "NESTED TABLE", "OBJECT", "REF", "JSON", "LONG"}  # they are other words of SQL too


def test_each_type_has_a_row_and_a_family_or_a_reason() -> None:
    names = [name for family in FAMILIES for name in family.names]

    assert len(names) == len({*names})
    assert {*names} == DATATYPES.keys() - REFUSED.keys()


def test_a_type_that_a_stream_gives_exactly_has_a_reader_of_its_messages() -> None:
    assert READERS.keys() == {one.name for one in DATATYPES.values() if one.stream == EXACT}


def test_what_is_fetched_as_redo_shows_it_is_cast_so_and_nothing_else() -> None:
    decoded = {name for family in FAMILIES if family.is_decoded for name in family.names}

    assert {name for name, one in DATATYPES.items() if one.as_redo and one.as_value} == set()
    assert AS_TEXT.keys() & decoded == READ_AS_REDO


def test_the_page_names_each_file_that_names_a_type() -> None:
    files = {str(file.relative_to(PIPELINES)): file for file in PIPELINES.rglob("*.py")}
    own = {name for name in files if name.startswith("decode/datatypes/")} | {"values/datatypes.py"}
    naming = {name for name, file in files.items() if name not in own and texts_in(file) & (DATATYPES.keys() - IN_SQL)}
    listed = re.findall(r"`([a-z_/]+\.py)`", PAGE.read_text().partition("## What else names a type")[2])

    assert naming == {name for name in listed if not name.startswith("tests/")}
