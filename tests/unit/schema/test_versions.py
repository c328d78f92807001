"""Baselines from the dictionary, and their comparison with versions derived from the redo."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import FormatTooNew, SchemaConflict
from redolake.records.codec import decode, encode, from_body, to_body
from redolake.schema.dictionary_conflict import conflict_with_dictionary, guard_conflict
from redolake.schema.versions import baseline, same_type, valid_at, version_as_of, versions_before
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import (
    ROWID_COLUMN,
    ColumnChoice,
    IgnoredColumn,
    KeyPolicy,
    OracleType,
    Part,
    TableId,
    TableVersion,
    UniqueIndex,
)
from tests.unit.schema.ddl_golden import ORDERS

NUMBER, TEXT = OracleType("NUMBER"), OracleType("VARCHAR2", length=40)


def column(name: str, segment_id: int | None, type_: OracleType = NUMBER, **more: object) -> DictionaryColumn:
    facts = {"column_id": segment_id, "nullable": True, **more}
    return DictionaryColumn(name, type_, segment_id, **facts)


def table(*columns: DictionaryColumn, key: tuple[str, ...] = ("ID",), **more: object) -> DictionaryTable:
    facts = {"object_id": 7000, "data_object_id": 7001, **more}
    return DictionaryTable(
        TableId("SHOP", "ORDERS"),
        columns=columns,
        key=key,
        log_groups=frozenset(),
        scn_before=Scn(500),
        scn_after=Scn(500),
        **facts,
    )


PLAIN = table(column("ID", 1, nullable=False), column("NAME", 2, TEXT))


def test_the_first_version_numbers_the_columns_in_segment_order():
    version = baseline(table(column("B", 2), column("ID", 1), column("A", 3), key=("A", "ID")), Scn(500))

    assert [(c.id, c.name, c.segment_id) for c in version.columns] == [(1, "ID", 1), (2, "B", 2), (3, "A", 3)]
    assert (version.key, version.next_column_id, version.from_scn) == ((3, 1), 4, 500)


def test_the_first_version_has_what_the_dictionary_says_of_the_table_and_its_columns():
    parts, renamed = (Part(1, 2), Part(3, 4)), TableId("SHOP", "ORDERS_OLD")
    dictionary = table(
        column("ID", 1, nullable=False, has_default=True),
        column("NAME", 2, TEXT),
        parts=parts,
        iot=True,
        key_constraint="ORDERS_PK",
        renamed_to=renamed,
        definitions=(("NAME", "a hash"), ("LEFT_OUT", "another")),
    )
    choice = ColumnChoice(("X*",))

    version = baseline(dictionary, Scn(500), choice=choice)

    assert [(c.nullable, c.has_default) for c in version.columns] == [(False, True), (True, False)]
    assert (version.parts, version.organization, version.choice) == (parts, "index", choice)
    assert version.definitions == ((2, "a hash"),)
    assert (version.key_constraint, version.renamed_to) == ("ORDERS_PK", renamed)


def test_virtual_columns_are_left_out_and_invisible_ones_are_kept():
    version = baseline(
        table(
            column("ID", 1),
            column("TWICE", None, column_id=2, virtual=True),
            column("HUSH", 2, column_id=None, hidden=True),
            column("SYS_STSXZ0Y", None, column_id=None, hidden=True, virtual=True),
        ),
        Scn(500),
    )

    assert [c.name for c in version.columns] == ["ID", "HUSH"]


HIDDEN = {
    "SYS_NC00002$": "guard",
    "SYS_C00005_19021211:12:13$": "unused",
    "ORA_ARCHIVE_STATE": "archive",
    "M_ROW$$": "system",
    "ORABCTAB_HASH$": "system",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_column_of_oracles_own_keeps_its_place_and_is_not_captured(name):
    own = column(name, 2, OracleType("RAW", length=126), column_id=None, hidden=True, user_generated=False)
    version = baseline(table(column("ID", 1), own, column("B", 3)), Scn(500))

    assert [(c.name, c.segment_id) for c in version.columns] == [("ID", 1), ("B", 3)]
    assert version.ignored == (IgnoredColumn(2, HIDDEN[name], name),)
    assert version.ignores(name)
    assert not version.ignores("B")


def test_virtual_columns_of_users_are_remembered_and_those_of_indexes_are_not():
    found = baseline(
        table(column("ID", 1), column("V", None, virtual=True), column("SYS_NC00003$", None, virtual=True, hidden=True)),
        Scn(500),
    )

    assert found.ignored == (IgnoredColumn(0, "virtual", "V"),)


@pytest.mark.parametrize(("hidden", "type_"), [("SYS_NC00009$", OracleType("BLOB")), ("SYS_NC_ROWINFO$", TEXT)])
def test_a_hidden_column_that_may_store_another_one_stops_the_table(hidden, type_):
    dictionary = table(column("ID", 1), column(hidden, 2, type_, column_id=None, hidden=True, user_generated=False))

    with pytest.raises(SchemaConflict, match="hidden column"):
        baseline(dictionary, Scn(500))
    error = conflict_with_dictionary(baseline(table(column("ID", 1)), Scn(400)), dictionary)
    assert error is not None
    assert "hidden column" in error.what
    assert error.where["table"] == TableId("SHOP", "ORDERS")
    assert "`exclude_columns`" in error.cure


def test_a_key_of_a_virtual_column_is_refused():
    with pytest.raises(SchemaConflict, match="not stored: V, W") as refused:
        baseline(table(column("ID", 1), column("V", None, virtual=True), key=("V", "ID", "W")), Scn(500))
    assert refused.value.where["table"] == TableId("SHOP", "ORDERS")
    assert "a key of stored columns" in refused.value.cure


def test_a_new_snapshot_keeps_the_ids_of_unchanged_columns():
    before = baseline(table(column("ID", 1), column("NAME", 2, TEXT), column("QTY", 3)), Scn(100))
    after = baseline(table(column("ID", 1), column("QTY", 2, TEXT), column("NAME", 3, TEXT)), Scn(500), before)

    assert [(c.name, c.id) for c in after.columns] == [("ID", 1), ("QTY", 4), ("NAME", 2)]
    assert after.next_column_id == 5


def test_a_version_survives_json():
    assert decode(TableVersion, encode(ORDERS), "file") == ORDERS


def test_a_version_of_a_newer_redolake_is_refused():
    with pytest.raises(FormatTooNew):
        from_body(TableVersion, {**to_body(ORDERS), "format": 99}, "file")


def test_a_version_is_valid_from_its_scn_to_the_next():
    versions = [ORDERS, ORDERS.since(Scn(200)), ORDERS.since(Scn(300))]

    assert [valid_at(versions, scn).from_scn for scn in (100, 199, 200, 299, 5000)] == [100, 100, 200, 200, 300]
    with pytest.raises(SchemaConflict, match="no version") as refused:
        valid_at(versions[:1], 99)
    assert (refused.value.where["table"], refused.value.where["scn"]) == (ORDERS.table, 99)
    assert refused.value.cure == "run `redolake snapshot SHOP.ORDERS --replace`"
    with pytest.raises(SchemaConflict, match="no version") as refused:
        valid_at([], 99)
    assert "capture the table first" in refused.value.cure


def test_rows_from_before_the_first_version_have_its_columns():
    versions = [ORDERS, ORDERS.since(Scn(200)), ORDERS.since(Scn(300))]

    assert [version_as_of(versions, scn).from_scn for scn in (1, 99, 100, 199, 200, 5000)] == [100, 100, 100, 100, 200, 300]


def test_a_batch_starts_from_the_versions_before_it():
    versions = [ORDERS, ORDERS.since(Scn(200)), ORDERS.since(Scn(300))]

    assert [v.from_scn for v in versions_before(versions, 200)] == [100]
    assert [v.from_scn for v in versions_before(versions, 201)] == [100, 200]
    assert [v.from_scn for v in versions_before(versions, 50)] == [100]


def test_the_redo_and_the_dictionary_agree_when_nothing_differs():
    assert conflict_with_dictionary(baseline(PLAIN, Scn(400)), PLAIN) is None


ANSWERED_BY = {
    "the primary key is (ID), in the dictionary ()": "primary_key",
    "OBJECT_ID is 7000, in the dictionary 8000": "recreate",
}


@pytest.mark.parametrize(
    ("expected", "dictionary"),
    [
        ("the dictionary has column QTY", table(column("ID", 1), column("NAME", 2, TEXT), column("QTY", 3))),
        ("column NAME is not in the dictionary", table(column("ID", 1))),
        ("column NAME is VARCHAR2(40), in the dictionary NUMBER", table(column("ID", 1), column("NAME", 2))),
        (
            "hidden columns none, in the dictionary 3 (unused)",
            table(
                column("ID", 1),
                column("NAME", 2, TEXT),
                column("SYS_C00003_26010112:00:00$", 3, column_id=None, hidden=True, user_generated=False),
            ),
        ),
        ("column NAME has SEGMENT_COLUMN_ID 2, in the dictionary 3", table(column("ID", 1), column("NAME", 3, TEXT))),
        ("the primary key is (ID), in the dictionary ()", replace(PLAIN, key=())),
        ("OBJECT_ID is 7000, in the dictionary 8000", replace(PLAIN, object_id=8000)),
        ("DATA_OBJECT_ID is 7001, in the dictionary 7002", replace(PLAIN, data_object_id=7002)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_difference_is_reported_with_its_cure(expected, dictionary):
    error = conflict_with_dictionary(baseline(PLAIN, Scn(400)), dictionary)

    assert error is not None
    assert error.what.endswith(expected) or expected in error.what
    assert "redolake snapshot SHOP.ORDERS" in error.cure
    assert (error.where["table"], error.where["scn"]) == (TableId("SHOP", "ORDERS"), 500)
    assert error.where["policy"] == ANSWERED_BY.get(expected, "unknown_ddl")


def test_an_object_id_that_is_not_known_is_no_difference():
    version = replace(baseline(PLAIN, Scn(400)), object_id=0, data_object_id=0)

    assert conflict_with_dictionary(version, PLAIN) is None
    error = conflict_with_dictionary(version, replace(PLAIN, key=()))
    assert error is not None
    assert error.where["policy"] == "primary_key"
    for name in ("object_id", "data_object_id"):
        assert conflict_with_dictionary(replace(version, **{name: 1}), PLAIN) is not None


def test_all_hidden_columns_are_listed_by_their_place():
    hidden = [
        column(name, number, column_id=None, hidden=True, user_generated=False)
        for number, name in ((4, "SYS_C00004_26010112:00:00$"), (3, "SYS_C00003_26010112:00:00$"))
    ]

    error = conflict_with_dictionary(baseline(PLAIN, Scn(400)), replace(PLAIN, columns=(*PLAIN.columns, *hidden)))

    assert error is not None
    assert "hidden columns none, in the dictionary 3 (unused), 4 (unused)" in error.what


@pytest.mark.parametrize(
    ("definitions", "differs"),
    [((("NAME", "a hash"),), False), ((("NAME", "another"),), True), ((), False), ((("ID", "another"),), False)],
    ids=["the same", "altered", "no longer shown", "of another column"],
)
def test_a_type_of_users_that_was_altered_is_a_difference(definitions, differs):
    version = baseline(replace(PLAIN, definitions=(("NAME", "a hash"),)), Scn(400))

    error = conflict_with_dictionary(version, replace(PLAIN, definitions=definitions))

    assert (error is not None) is differs
    if error is not None:
        assert "the type of column NAME was altered" in error.what


def test_a_column_of_a_users_type_is_compared_as_stored_if_its_rows_are_read_again():
    place = column("PLACE", None, OracleType("MDSYS.SDO_GEOMETRY"), column_id=2, virtual=True)
    attribute = column("SYS_NC00002$", 2, OracleType("RAW", length=126), column_id=2, hidden=True, user_generated=False)
    dictionary = table(column("ID", 1), place, attribute)
    read_again = baseline(dictionary.with_stored_types(), Scn(400), choice=ColumnChoice(unsupported="reread"))

    assert conflict_with_dictionary(read_again, dictionary) is None
    assert conflict_with_dictionary(replace(read_again, choice=ColumnChoice()), dictionary) is not None


GUARD = column("SYS_NC00003$", 3, OracleType("RAW", length=126), column_id=None, hidden=True, user_generated=False)
UNUSED = column("SYS_C00004_26010112:00:00$", 4, column_id=None, hidden=True, user_generated=False)
GUARDED = replace(PLAIN, columns=(*PLAIN.columns, UNUSED, GUARD))


def test_a_guard_column_that_the_dictionary_no_longer_has_stops_the_table():
    version = baseline(GUARDED, Scn(400))
    asked: list[int] = []

    def later(scn: int) -> DictionaryTable:
        asked.append(scn)
        return replace(PLAIN, columns=(*PLAIN.columns, UNUSED))

    error = guard_conflict(version, later)

    assert asked == [400]
    assert error is not None
    assert "hidden guard column with SEGMENT_COLUMN_ID 3" in error.what
    assert "run `redolake snapshot SHOP.ORDERS --replace`" in error.cure
    assert (error.where["table"], error.where["scn"], error.where["policy"]) == (TableId("SHOP", "ORDERS"), 500, "unknown_ddl")


NO_GUARD_CONFLICT = {
    "it is still there": (GUARDED, GUARDED),
    "no later dictionary was read": (GUARDED, None),
    "the table is another one": (GUARDED, replace(PLAIN, object_id=8000)),
    "there never was one": (replace(PLAIN, columns=(*PLAIN.columns, UNUSED)), PLAIN),
}


@pytest.mark.parametrize(("table_then", "table_later"), NO_GUARD_CONFLICT.values(), ids=NO_GUARD_CONFLICT)
def test_a_guard_column_is_no_conflict_if(table_then, table_later):
    assert guard_conflict(baseline(table_then, Scn(400)), lambda scn: table_later) is None


BY_COLUMNS = KeyPolicy("columns", ("DAY", "CODE"))
CODE, DAY = column("CODE", 2, TEXT, nullable=False), column("DAY", 3, nullable=False)
UNIQUE = UniqueIndex("BY_CODE", 55, ("CODE", "DAY"))
KEYLESS = table(column("N", 1), CODE, DAY, key=(), unique=(UniqueIndex("OTHER", 54, ("CODE", "N")), UNIQUE))


def test_the_key_of_a_version_is_what_was_declared():
    versions = [baseline(KEYLESS, Scn(400), None, KeyPolicy(kind)) for kind in ("primary", "rowid", "append")]
    by_columns = baseline(KEYLESS, Scn(400), None, BY_COLUMNS)

    assert [v.key for v in versions] == [(), (ROWID_COLUMN,), ()]
    assert (by_columns.key, by_columns.key_index, by_columns.policy) == ((3, 2), 55, BY_COLUMNS)
    for version in (*versions, by_columns):
        assert decode(TableVersion, encode(version), "file") == version


LOST = {
    "the index is gone": (replace(KEYLESS, unique=()), "no longer has a valid unique index on (DAY, CODE)"),
    "a column may be NULL": (replace(KEYLESS, columns=(column("N", 1), replace(CODE, nullable=True), DAY)), None),
    "only a wider index is left": (
        replace(
            KEYLESS,
            columns=(column("N", 1, nullable=False), CODE, DAY),
            unique=(replace(UNIQUE, columns=("N", "DAY", "CODE")),),
        ),
        "no longer has a valid unique index on (DAY, CODE)",
    ),
    "the index was created again": (replace(KEYLESS, unique=(replace(UNIQUE, object_id=56),)), "created again"),
    "there is another one too": (replace(KEYLESS, unique=(UniqueIndex("AGAIN", 56, ("DAY", "CODE")), UNIQUE)), None),
    "the index has no OBJECT_ID": (replace(KEYLESS, unique=(replace(UNIQUE, object_id=None),)), None),
    "a primary key was added": (replace(KEYLESS, key=("N",)), None),
}


@pytest.mark.parametrize(("dictionary", "expected"), LOST.values(), ids=LOST)
def test_declared_columns_are_a_key_as_long_as_their_index_exists(dictionary, expected):
    error = conflict_with_dictionary(baseline(KEYLESS, Scn(400), None, BY_COLUMNS), dictionary)

    assert expected is None if error is None else expected in error.what


@pytest.mark.parametrize("kind", ["rowid", "append"])
def test_rows_with_new_rowids_are_a_difference(kind):
    version = baseline(KEYLESS, Scn(400), None, KeyPolicy(kind))

    assert conflict_with_dictionary(version, KEYLESS) is None
    assert "DATA_OBJECT_ID" in str(conflict_with_dictionary(version, replace(KEYLESS, data_object_id=9000)))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (OracleType("VARCHAR2", 10), OracleType("VARCHAR2", 40), True),
        (OracleType("NUMBER", precision=38, scale=0), OracleType("NUMBER", 22, scale=0), True),
        (OracleType("NUMBER", precision=5), OracleType("NUMBER", 22, 5, 0), True),
        (OracleType("NUMBER"), OracleType("NUMBER", precision=38, scale=0), False),
        (OracleType("NUMBER", precision=5, scale=1), OracleType("NUMBER", precision=5, scale=2), False),
        (OracleType("NUMBER", precision=5), OracleType("NUMBER", precision=6), False),
        (OracleType("NUMBER", precision=5), OracleType("NUMBER", precision=5, scale=1), False),
        (OracleType("FLOAT"), OracleType("FLOAT", precision=126), True),
        (OracleType("FLOAT", precision=63), OracleType("FLOAT", precision=126), False),
        (OracleType("TIMESTAMP"), OracleType("TIMESTAMP", 11, scale=6), True),
        (OracleType("TIMESTAMP", scale=3), OracleType("TIMESTAMP", scale=6), False),
        (OracleType("CHAR", 3), OracleType("VARCHAR2", 3), False),
    ],
)
def test_types_are_the_same_if_their_values_are(a, b, same):
    assert same_type(a, b) is same
