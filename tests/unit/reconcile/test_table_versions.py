"""The dictionary that a range of SCNs is compared with, and conflicts of a table's declared key."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redolake.config import Pipeline
from redolake.land.dictionary import Readings
from redolake.land.landing import Landing
from redolake.reconcile.chosen_columns import choice_conflict, key_rule_conflict
from redolake.reconcile.table_versions import rules
from redolake.reconcile.version_conflicts import dictionary_conflict, key_lost, key_policy_conflict
from redolake.schema import Derived, baseline
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import Column, ColumnChoice, KeyPolicy, OracleType, TableId, UniqueIndex

ORDERS = TableId("SHOP", "ORDERS")
ID = DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, False)
TABLE = DictionaryTable(ORDERS, 7, 7, (ID,), ("ID",), frozenset(), Scn(100), Scn(100))
ALTERED = replace(TABLE, columns=(ID, DictionaryColumn("X", OracleType("NUMBER"), 2, 2, True)))


@pytest.fixture
def conflict(tmp_path):
    """Return `conflict(scn, read_at)`: of the range [100, 200) in incarnation 11, if the file of `scn` has the altered table as
    of `read_at`."""
    dictionary = Landing(str(tmp_path), "shop").dictionary

    def compared(scn: int, read_at: int, incarnation: int = 11):
        read = replace(ALTERED, scn_before=Scn(read_at), scn_after=Scn(read_at))
        dictionary.write_dictionary(incarnation, scn, [read])
        return dictionary_conflict(Readings(dictionary), ORDERS, Derived((baseline(TABLE, Scn(100)),), ()), 11, 100, 200)

    return compared


def test_a_column_that_the_redo_does_not_contain_is_a_conflict(conflict):
    assert "column X" in str(conflict(150, 160))


def test_a_table_read_after_the_range_is_not_compared_even_if_others_were_read_inside_it(conflict):
    assert conflict(199, 200) is None


def test_a_conflict_says_until_when_the_dictionary_agreed(tmp_path):
    dictionary = Landing(str(tmp_path), "shop").dictionary
    for scn, found in ((130, TABLE), (140, TABLE), (150, ALTERED)):
        dictionary.write_dictionary(11, scn, [replace(found, scn_before=Scn(scn), scn_after=Scn(scn))])
    derived = Derived((baseline(TABLE, Scn(120)),), ())

    found = dictionary_conflict(Readings(dictionary), ORDERS, derived, 11, 100, 200)

    assert found is not None
    assert found.where["agreed_until"] == 140


def test_a_table_that_is_gone_without_its_own_ddl_is_a_conflict(tmp_path, conflict):
    """As after DROP USER .. CASCADE; once the table exists again, the newer reading counts."""
    dictionary = Landing(str(tmp_path), "shop").dictionary
    derived = Derived((baseline(TABLE, Scn(120)),), ())
    for scn in (110, 150):
        dictionary.write_dictionary(11, scn, [replace(TABLE, table=TableId("SHOP", "OTHER"))])
    readings = Readings(dictionary)

    assert dictionary_conflict(readings, ORDERS, derived, 11, 100, 150) is None, "it was not captured yet, or is not landed"
    error = dictionary_conflict(readings, ORDERS, derived, 11, 100, 200)
    assert error is not None
    assert "the dictionary no longer shows the table" in error.what
    assert "column X" in str(conflict(160, 160))


def test_the_dictionary_of_another_incarnation_at_the_same_scn_is_not_compared(conflict):
    assert conflict(150, 150, incarnation=12) is None
    assert "column X" in str(conflict(140, 140)), "an older reading, of this one"


BY_ID = KeyPolicy("columns", ("ID",))
INDEX = UniqueIndex("BY_ID", 40, ("ID",))
KEYLESS = replace(TABLE, key=(), unique=(INDEX,))


@pytest.mark.parametrize(
    ("readings", "message"),
    [
        ({150: (INDEX,)}, None),
        ({150: ()}, "no longer has a valid unique index on (ID)"),
        # dropped in the window [100, 200), read after it
        ({150: (INDEX,), 210: ()}, "no longer has a valid unique index on (ID)"),
        # dropped and created again: the reading after it shows that
        ({150: (INDEX,), 210: (replace(INDEX, object_id=41),)}, "created again"),
        # before the range, and before the snapshot whose SCN lies in it
        ({90: ()}, None),
        ({110: ()}, None),
    ],
    ids=["it stands", "gone", "gone after the range", "created again", "before the range", "before the snapshot"],
)
def test_declared_key_columns_need_their_unique_index_in_every_dictionary(tmp_path, readings, message):
    dictionary = Landing(str(tmp_path), "shop").dictionary
    for scn, unique in readings.items():
        read = replace(KEYLESS, unique=unique, scn_before=Scn(scn), scn_after=Scn(scn))
        dictionary.write_dictionary(11, scn, [read])

    known = [baseline(KEYLESS, Scn(120), None, BY_ID)]

    error = key_lost(Readings(dictionary), known, 11, 100)

    assert message is None if error is None else message in error.what
    assert error is None or "redolake snapshot SHOP.ORDERS --replace" in error.cure


@pytest.mark.parametrize("declared", ["primary", "rowid", "append", ["ID"]])
def test_contents_keep_the_key_they_were_read_with(declared):
    body = {"source": {"connection": "x"}, "landing": "/l", "lake": "/d", "tables": [{"table": "SHOP.ORDERS", "key": declared}]}
    work = cast(Any, SimpleNamespace(pipeline=Pipeline.model_validate({"name": "shop", **body})))
    policies = {"primary": KeyPolicy(), "rowid": KeyPolicy("rowid"), "append": KeyPolicy("append"), "[ID]": BY_ID}

    same = {
        name: key_policy_conflict(work, baseline(replace(KEYLESS, key=("ID",)), Scn(100), None, p)) is None
        for name, p in policies.items()
    }

    assert [name for name, agrees in same.items() if agrees] == [declared if isinstance(declared, str) else "[ID]"]


def named(*names: str) -> tuple[Column, ...]:
    return tuple(Column(number, name, OracleType("NUMBER"), number) for number, name in enumerate(names, 1))


def test_a_rule_stays_with_its_column_when_names_change() -> None:
    """A and B exchange their names; C is dropped and added again; D gets the name that the file has now."""
    pipeline = Pipeline.model_validate(
        {
            "source": {"connection": "x"},
            "landing": "/x",
            "lake": "/y",
            "tables": [{"table": "SHOP.ORDERS", "columns": {"A": 2, "C": "string", "E": 4}}],
        }
    )
    first = replace(baseline(TABLE, Scn(100)), columns=named("A", "B", "C", "D"))
    again = Column(5, "C", OracleType("NUMBER"), 5)
    later = replace(first, from_scn=Scn(200), columns=(*named("B", "A"), *named("A", "B", "C", "E")[3:], again))
    context = cast(Any, SimpleNamespace(pipeline=pipeline))

    assert rules(context, ORDERS, (first, later)) == {1: 2, 3: "string", 5: "string", 4: 4}


@pytest.mark.parametrize(
    ("configured", "said"), [("reread", "`large_objects: reread`, and the table was read with `redo`"), ("redo", None)]
)
def test_another_way_to_capture_large_objects_needs_a_snapshot(configured, said):
    read_with = ColumnChoice(large_objects="redo")
    version = baseline(replace(TABLE, columns=(ID, DictionaryColumn("BODY", OracleType("CLOB"), 2, 2, True))), Scn(100))
    pipeline = SimpleNamespace(choice=lambda _: ColumnChoice(large_objects=configured))
    conflict = choice_conflict(cast("Pipeline", pipeline), replace(version, choice=read_with))

    assert (conflict is None) if said is None else (conflict is not None and said in conflict.what)


@pytest.mark.parametrize(("rule", "refused"), [("truncate", True), (None, False), ("string", False)])
def test_a_rule_that_makes_two_keys_one_holds_a_table_that_was_read_without_it(rule, refused):
    """The rule came into the file later, or a DDL has given the key column more digits."""
    version = baseline(replace(TABLE, columns=(replace(ID, type=OracleType("TIMESTAMP", scale=9)),)), Scn(100))
    own = {} if rule is None else {"ID": rule}
    pipeline = SimpleNamespace(lists=lambda _: True, table=lambda _: SimpleNamespace(rules=own))

    conflict = key_rule_conflict(cast("Pipeline", pipeline), version)
    coarse = replace(version, columns=(replace(version.columns[0], type=OracleType("TIMESTAMP", scale=6)),))

    assert (conflict is not None) is refused
    assert conflict is None or "is part of the key, and has the rule `truncate`" in conflict.what
    assert key_rule_conflict(cast("Pipeline", pipeline), coarse) is None
