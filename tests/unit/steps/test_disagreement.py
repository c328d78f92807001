"""Which reading of the dictionary a range of SCNs is compared with, and what is declared of the table."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipelines.config import Pipeline
from pipelines.land import Landing
from pipelines.reconcile.dictionary_files import write_reading
from pipelines.reconcile.table_versions import declared_otherwise, disagreement, key_lost
from pipelines.schema import Derived, baseline
from pipelines.scn import Scn
from pipelines.table import DictionaryColumn, DictionaryTable, KeyPolicy, OracleType, TableId, UniqueIndex

ORDERS = TableId("SHOP", "ORDERS")
ID = DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, False)
TABLE = DictionaryTable(ORDERS, 7, 7, (ID,), ("ID",), frozenset(), Scn(100), Scn(100))
ALTERED = replace(TABLE, columns=(ID, DictionaryColumn("X", OracleType("NUMBER"), 2, 2, True)))


@pytest.fixture
def complaint(tmp_path):
    """`complaint(scn, read_at)`: about the range [100, 200) of incarnation 11, when the file of `scn` has the table, altered,
    as of `read_at`."""
    work = cast(Any, SimpleNamespace(landing=Landing(str(tmp_path), "shop")))

    def compared(scn: int, read_at: int, incarnation: int = 11):
        read = replace(ALTERED, scn_before=Scn(read_at), scn_after=Scn(read_at))
        write_reading(work, incarnation, scn, {ORDERS: read})
        return disagreement(work, ORDERS, Derived((baseline(TABLE, Scn(100)),), ()), 11, 100, 200)

    return compared


def test_a_column_that_no_redo_has_told_of_is_a_disagreement(complaint):
    assert "column X" in str(complaint(150, 160))


def test_a_table_read_behind_the_range_tells_nothing_of_it_though_others_were_read_inside(complaint):
    assert complaint(199, 200) is None


def test_a_table_that_is_gone_without_a_ddl_of_its_own_is_a_disagreement(tmp_path, complaint):
    """DROP USER .. CASCADE; once it is there again, that reading counts."""
    work = cast(Any, SimpleNamespace(landing=Landing(str(tmp_path), "shop")))
    derived = Derived((baseline(TABLE, Scn(120)),), ())
    for scn in (110, 150):
        write_reading(work, 11, scn, {TableId("SHOP", "OTHER"): replace(TABLE, table=TableId("SHOP", "OTHER"))})

    assert disagreement(work, ORDERS, derived, 11, 100, 150) is None, "it was not captured yet, or is not landed"
    error = disagreement(work, ORDERS, derived, 11, 100, 200)
    assert error is not None
    assert "the dictionary shows the table no more" in error.what
    assert "column X" in str(complaint(160, 160))


def test_what_another_incarnation_had_at_the_same_scn_is_no_disagreement(complaint):
    assert complaint(150, 150, incarnation=12) is None
    assert "column X" in str(complaint(140, 140)), "an older reading, of this one"


BY_ID = KeyPolicy("columns", ("ID",))
INDEX = UniqueIndex("BY_ID", 40, ("ID",))
KEYLESS = replace(TABLE, key=(), unique=(INDEX,))


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ({150: (INDEX,)}, None),
        ({150: ()}, "no longer has a valid unique index on (ID)"),
        # dropped in the window [100, 200), read behind it
        ({150: (INDEX,), 210: ()}, "no longer has a valid unique index on (ID)"),
        # dropped and made again: the reading behind it tells
        ({150: (INDEX,), 210: (replace(INDEX, object_id=41),)}, "created again"),
        # before the range, and before the snapshot whose SCN lies in it
        ({90: ()}, None),
        ({110: ()}, None),
    ],
    ids=["it stands", "gone", "gone after the range", "created again", "before the range", "before the snapshot"],
)
def test_a_key_of_columns_lasts_as_long_as_every_dictionary_shows_its_index(tmp_path, readings, told):
    work = cast(Any, SimpleNamespace(landing=Landing(str(tmp_path), "shop")))
    for scn, unique in readings.items():
        read = replace(KEYLESS, unique=unique, scn_before=Scn(scn), scn_after=Scn(scn))
        write_reading(work, 11, scn, {ORDERS: read})

    known = [baseline(KEYLESS, Scn(120), None, BY_ID)]

    error = key_lost(work, known, 11, 100)

    assert told is None if error is None else told in error.what
    assert error is None or "redolake snapshot SHOP.ORDERS --replace" in error.cure


@pytest.mark.parametrize("declared", ["primary", "rowid", "append", ["ID"]])
def test_contents_are_those_of_the_key_they_were_read_with(declared):
    body = {"source": {"connection": "x"}, "landing": "/l", "lake": "/d", "tables": [{"table": "SHOP.ORDERS", "key": declared}]}
    work = cast(Any, SimpleNamespace(pipeline=Pipeline.model_validate({"name": "shop", **body})))
    policies = {"primary": KeyPolicy(), "rowid": KeyPolicy("rowid"), "append": KeyPolicy("append"), "[ID]": BY_ID}

    same = {
        name: declared_otherwise(work, baseline(replace(KEYLESS, key=("ID",)), Scn(100), None, p)) is None
        for name, p in policies.items()
    }

    assert [name for name, agrees in same.items() if agrees] == [declared if isinstance(declared, str) else "[ID]"]
