"""The mapping of a table: what pipelines.yml says of its columns, for the columns that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, SchemaConflict
from redolake.reconcile.lost_masks import check_masks, lost_masks
from redolake.reconcile.mappings import mapping_conflict, resolve_mapping, with_mapping
from redolake.values.joined_columns import find_joins, names_of, version_to_read
from redolake.values.mapping import Computed, TableMapping, needs_all_columns
from redolake.values.scn import Scn
from redolake.values.table import Column, ColumnChoice, IgnoredColumn, OracleType, TableId, TableVersion
from redolake.values.target_options import TargetOptions

T = TableId("SHOP", "PEOPLE")
NUMBER, TEXT = OracleType("NUMBER", precision=9, scale=0), OracleType("VARCHAR2", length=40)
NAMES = {"ID": NUMBER, "id": TEXT, "SSN": TEXT, "AMOUNT": OracleType("NUMBER", precision=12, scale=2), "QTY": NUMBER, "N": TEXT}
VERSION = TableVersion(
    T,
    Scn(5),
    7,
    8,
    tuple(Column(number, name, type_, number, number > 1) for number, (name, type_) in enumerate(NAMES.items(), 1)),
    (1,),
    7,
)
KEYED = {"mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
LONG, OTHER = "a key that is long enough", "another key, long enough"


def pipeline(entry: dict[str, Any] | None = None, **settings: Any) -> Pipeline:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": "/landing", "lake": "/lake", **settings}
    return Pipeline.model_validate({**body, "tables": [{"table": str(T), **(entry or {})}]})


def mapped(entry: dict[str, Any], version: TableVersion = VERSION, **settings: Any) -> TableMapping:
    mapping, problems = resolve_mapping(pipeline(entry, **settings), version)
    assert problems == ()
    assert mapping is not None
    return mapping


def problems_of(entry: dict[str, Any], version: TableVersion = VERSION, **settings: Any) -> list[str]:
    return [problem.what for problem in resolve_mapping(pipeline(entry, **settings), version)[1]]


def test_a_table_without_such_settings_has_no_mapping() -> None:
    assert resolve_mapping(pipeline(), VERSION) == (None, ())
    assert resolve_mapping(pipeline({"columns": {"AMOUNT": "string"}}), VERSION) == (None, ())


def test_columns_are_known_by_their_ids() -> None:
    entry = {
        "rename": {'"id"': "id_lower", "LATER": "later"},
        "columns": {"QTY": {"expression": "qty + amount", "type": "bigint"}},
    }
    found = mapped({**entry, "rename": {'"id"': "id_lower"}})

    assert (found.names, found.name(2), found.name(1)) == (((2, "id_lower"),), "id_lower", None)
    assert found.computed == (
        Computed(5, "QTY", "bigint", "expression", (4, 5), "`redolake: 5` + `redolake: 4`", "qty + amount"),
    )


def test_a_patterns_names_wait_for_columns_that_a_ddl_adds() -> None:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": "/landing", "lake": "/lake"}
    shop = Pipeline.model_validate(
        {**body, "tables": [{"match": "SHOP.*", "rename": {"LATER": "later_on"}, "mask": {"X*": "redact"}}]}
    )
    found, problems = resolve_mapping(shop.with_matched([T]), VERSION)

    assert problems == ()
    assert found is not None
    assert (found.names, found.later, found.shaped) == ((), (("LATER", "later_on"),), ("X*",))
    assert found.with_added(9, "LATER").name(9) == "later_on"
    assert (found.is_shaped("XY"), found.is_shaped("Y")) == (True, False)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"rename": {"NO": "x"}}, "`rename` names NO, and the table has no such column"),
        ({"mask": {"NO*": "redact"}}, "`mask` names NO*, and the table has no such column"),
        ({"add": {"x": "no + qty"}}, "the added column x needs NO, which does not exist"),
        ({"where": "region = 'EU'"}, "`where` needs REGION, which does not exist"),
        ({"mask": {"SSN": "hash"}}, "a `hash` mask has no key"),
        ({"mask": {"ID": "last4"}}, "ID is part of the key, and two keys become one by `mask: last4`"),
        ({"mask": {"SSN": "redact"}, "columns": {"SSN": {"expression": "upper(ssn)"}}}, "SSN has an expression and a mask"),
        ({"columns": {"ID": {"expression": "id + 1"}}}, "ID is part of the key, and two keys may become one by `id + 1`"),
        ({"add": {"loaded_at": "_commit_time"}}, "the added column loaded_at needs _COMMIT_TIME, which does not exist"),
        ({"column_order": ["NO"]}, "`column_order` names NO, which the table does not have in the lake"),
    ],
)
def test_what_the_table_cannot_have_is_named(entry: dict[str, Any], what: str) -> None:
    assert problems_of(entry) == [what]


def test_an_expression_of_a_column_that_is_left_out_is_no_silent_nothing() -> None:
    kept = tuple(column for column in VERSION.columns if column.name != "SSN")
    without = replace(VERSION, columns=kept, ignored=(IgnoredColumn(3, "excluded", "SSN", "VARCHAR2"),))

    assert (
        problems_of({"columns": {"SSN": {"expression": "upper(ssn)"}}}, without)[0] == "SSN has an expression, and is left out"
    )


def test_a_column_that_is_called_like_values_of_redolakes_own_is_refused_where_it_would_replace_them() -> None:
    odd = replace(VERSION, columns=(*VERSION.columns, Column(7, "Redolake: 5", NUMBER, 7)))

    assert "a column is called Redolake: 5" in problems_of({"add": {"x": "qty + 1"}}, odd)[0]
    assert problems_of({"add": {"x": "ssn"}}, odd) == []


def test_an_expression_of_the_key_is_made_of_the_key_alone_and_declared_to_keep_keys_apart() -> None:
    injective = {"columns": {"ID": {"expression": "id + 1", "type": "bigint", "injective": True}}}
    other = {"columns": {"ID": {"expression": "id + qty", "injective": True}}}

    assert mapped(injective).computed[0].needs == (1,)
    assert problems_of(other) == ["the expression of ID, which is part of the key, needs other columns than the key's"]


def test_a_table_whose_key_may_be_null_or_whose_rows_are_read_again_has_no_filter() -> None:
    nullable = replace(VERSION, key=(2,), key_kind="columns")
    large = replace(
        VERSION,
        columns=(*VERSION.columns, Column(7, "DOC", OracleType("CLOB"), 7)),
        choice=ColumnChoice(large_objects="reread"),
    )

    assert "a key that may be NULL" in problems_of({"where": "qty > 1"}, nullable)[0]
    assert "`where` needs whole rows in the redo" in problems_of({"where": "qty > 1"}, large)[0]
    assert "by which the redo names the row" in problems_of({"mask": {"ID": "hash"}, **KEYED}, large)[0]
    assert "DOC, whose values are not in the rows of the redo" in problems_of({"add": {"x": "upper(doc)"}}, large)[0]


def test_what_is_made_of_several_columns_needs_all_of_them_logged() -> None:
    entry = {"add": {"one": "upper(ssn)", "two": "amount * qty", "of_key": "`ID` + 1"}, "where": "qty > 1"}
    found = mapped(entry)

    assert needs_all_columns(found, VERSION.key) == ("two (`amount * qty`)", "where: qty > 1")
    assert needs_all_columns(mapped({**entry, "where": "`ID` > 1", "add": {"one": "upper(ssn)"}}), VERSION.key) == ()


def test_a_changed_mapping_is_a_conflict_that_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", LONG)
    entry = {"mask": {"SSN": "hash"}, "add": {"x": {"expression": "qty + 1", "comment": "one more"}}, **KEYED}
    read = with_mapping(pipeline(entry), VERSION)
    others = {
        "x (`qty + 2`)": {**entry, "add": {"x": "qty + 2"}},
        "`where`": {**entry, "where": "qty > 1"},
        "`rename`": {**entry, "rename": {"N": "name"}},
        "SSN (mask: redact)": {**entry, "mask": {"SSN": "redact"}},
    }

    assert mapping_conflict(pipeline(entry), read) is None
    assert mapping_conflict(pipeline({**entry, "add": {"x": "qty + 1"}, "column_order": ["x"]}), read) is None
    for what, other in others.items():
        conflict = mapping_conflict(pipeline(other), read)
        assert conflict is not None
        assert what in conflict.what
        assert "keep the clear text" not in conflict.cure
    later = mapping_conflict(pipeline({**entry, "mask": {"SSN": "hash", "N": "redact"}}), read)
    assert later is not None
    assert "Older versions of the Delta table, its history and the landing keep the clear text" in later.cure
    without = mapping_conflict(pipeline(), read)
    assert without is not None
    assert "SSN (mask: hash)" in without.what


def test_another_key_of_the_masks_is_a_conflict_and_a_missing_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", LONG)
    entry = pipeline({"mask": {"SSN": "hash"}, **KEYED})
    read = with_mapping(entry, VERSION)
    monkeypatch.setenv("REDOLAKE_MASK_KEY", OTHER)
    conflict = mapping_conflict(entry, read)
    monkeypatch.delenv("REDOLAKE_MASK_KEY")

    assert conflict is not None
    assert "the key of its `hash` masks is another one" in conflict.what
    assert mapping_conflict(entry, read) is None
    with pytest.raises(ConfigurationError, match="not set here"):
        with_mapping(entry, VERSION)
    assert LONG not in repr(read)


def test_a_column_that_oracle_renames_does_not_lose_the_mask_of_a_pattern_without_a_word() -> None:
    settings = {"mask": {"*SSN": "redact"}}
    read = replace(VERSION, mapping=mapped({}, **settings))
    renamed = with_names(read, SSN="SOCIAL")
    again = replace(renamed, mapping=None)

    def lost(known: list[TableVersion], wanted: TableVersion, entry: dict[str, Any] | None = None, **other: Any) -> list[str]:
        return [one.what for one in lost_masks(pipeline(entry, **(other or settings)), known, wanted)]

    assert lost([read, renamed], again) == [
        "SOCIAL was masked as SSN before it was renamed, and no mask of pipelines.yml names it now"
    ]
    assert lost([read], again) == lost([read, renamed], again), "no window contains the DDL yet"
    assert lost([read], VERSION) == lost([], again) == lost([VERSION], again) == []
    assert lost([read, renamed], again, {"mask": {"SOCIAL": "hash"}, **KEYED}) == []
    assert lost([read, renamed], again, {"mask": {"SOCIAL": "clear"}}) == [], "that was decided"
    assert lost([read, renamed], again, mask={"OTHER": "redact"}) == [], "the mask was taken away"
    assert lost([read], replace(again, object_id=99)) == [], "another table, of which nothing says that a column is the same"
    with pytest.raises(SchemaConflict, match="SOCIAL was masked as SSN"):
        check_masks(pipeline(**settings), [read, renamed], again)


def with_names(version: TableVersion, **names: str) -> TableVersion:
    return replace(version, columns=tuple(replace(c, name=names.get(c.name, c.name)) for c in version.columns))


def test_a_tables_own_mask_comes_before_a_pattern_of_the_pipeline_and_clear_is_none() -> None:
    settings = {"mask": {"I*": "clear", "*": "redact", "AMOUNT": "null"}}
    found = mapped({"mask": {"*N": "last4", "QTY": "clear"}}, **settings)

    assert {one.name: one.mask for one in found.computed} == {"SSN": "last4", "AMOUNT": "null", "N": "last4", "id": "redact"}


ADDED = {"add": {"half": {"expression": "qty / 2", "type": "int"}, "origin": "'ERP'"}}
CODE = {"transform": {"function": "tests.references.user_code:sized", "columns": {"size": "int"}}}


def read_with(entry: dict[str, Any], version: TableVersion = VERSION, has: TableVersion | None = None) -> TableVersion:
    return with_mapping(pipeline(entry, **KEYED), version, has)


@pytest.mark.parametrize(
    ("had", "wanted", "new", "again", "read"),
    [
        ({}, ADDED, ("half", "origin"), (), ("ID", "QTY")),
        (ADDED, {"add": {"first": "upper(n)", **ADDED["add"]}}, ("first",), (), ("ID", "N")),
        (ADDED, {**ADDED, **CODE}, ("size",), (), tuple(NAMES)),
        ({}, {"mask": {"SSN": "redact"}}, (), ("SSN",), ("ID", "SSN")),
        ({"mask": {"SSN": "hash"}}, {}, (), ("SSN",), ("ID", "SSN")),
        ({"mask": {"SSN": "hash"}, **ADDED}, {"mask": {"SSN": "hash"}, "add": {**ADDED["add"], "half": "qty"}}, (), ("half",),
         ("ID", "QTY")),
        ({"where": "n = 'x'"}, {"where": "n = 'x'", **ADDED}, ("half", "origin"), (), ("ID", "QTY", "N")),
        ({"mask": {"ID": "hash"}}, {"mask": {"ID": "hash"}, "columns": {"QTY": {"expression": "qty * amount"}}}, (), ("QTY",),
         ("ID", "AMOUNT", "QTY")),
    ],
)  # fmt: skip
def test_only_what_new_columns_are_made_of_is_read_for_them(
    monkeypatch: pytest.MonkeyPatch, had: Any, wanted: Any, new: Any, again: Any, read: Any
) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", LONG)
    has = read_with(had)
    version = read_with(wanted, has=has)
    joins = find_joins(has, version, TargetOptions())
    narrow = version_to_read(version, joins.all)

    assert (names_of(version, joins.new), names_of(version, joins.again), joins.why_not) == (new, again, "")
    assert {column.name for column in narrow.columns} == set(read)
    assert mapping_conflict(pipeline(wanted, **KEYED), version) is None, "the next run compares it with its own ids"
    conflict = mapping_conflict(pipeline(wanted, **KEYED), has)
    assert conflict is not None
    assert conflict.cure.startswith(
        f"`redolake fill-columns {T} --execute --reason TEXT` reads these columns alone, where it can; "
    )


@pytest.mark.parametrize(
    ("had", "wanted", "why"),
    [
        (ADDED, {"add": {"origin": "'ERP'"}}, "leaves out half"),
        ({}, {"rename": {"N": "note"}, **ADDED}, "gives N the name note"),
        (ADDED, {**ADDED, "where": "qty > 5"}, "another filter"),
        ({}, {"columns": {"ID": {"expression": "`ID` * 2", "injective": True}}}, "computes ID, which is part of the key"),
    ],
)
def test_a_mapping_that_makes_other_rows_names_or_keys_needs_a_snapshot(had: Any, wanted: Any, why: str) -> None:
    has = read_with(had)
    found = find_joins(has, read_with(wanted, has=has), TargetOptions())
    conflict = mapping_conflict(pipeline(wanted, **KEYED), has)

    assert (why in found.why_not, found.all) == (True, ())
    assert conflict is not None
    assert "fill-columns" not in conflict.cure


def test_another_key_of_masks_makes_all_hashes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", LONG)
    entry = {"mask": {"SSN": "hash", "N": "redact"}}
    has, key = read_with(entry), read_with({"mask": {"ID": "hash"}})
    monkeypatch.setenv("REDOLAKE_MASK_KEY", OTHER)

    assert find_joins(has, read_with(entry, has=has), TargetOptions()).again == (3,)
    assert "part of the key" in find_joins(key, read_with({"mask": {"ID": "hash"}}, has=key), TargetOptions()).why_not
