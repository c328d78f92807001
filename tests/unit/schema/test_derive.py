"""From DDL in the redo to table versions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.errors import SchemaConflict
from redolake.records.batches.spec import ColumnChange
from redolake.records.codec import decode, encode
from redolake.schema.derive import derive
from redolake.schema.dictionary_conflict import conflict_with_dictionary
from redolake.schema.versions import baseline, valid_at, versions_before
from redolake.values.ddl_policies import IGNORE
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.mapping import TableMapping
from redolake.values.scn import Scn
from redolake.values.table import ColumnChoice, OracleType, TableId, TableVersion
from redolake.values.valid_text import NOT_VALID, mark
from tests.unit.schema.ddl_golden import ORDERS, row

NUMBER = OracleType("NUMBER")


def names(version: TableVersion) -> list[str]:
    return [column.name for column in version.columns]


def test_each_statement_makes_a_version_at_its_scn():
    derived = derive(
        [ORDERS], [row("alter table orders add a number", 200), row("alter table orders drop column customer", 300)]
    )

    assert [(v.from_scn, names(v)) for v in derived.versions] == [
        (100, ["ID", "CUSTOMER", "AMOUNT", "Mixed Case"]),
        (200, ["ID", "CUSTOMER", "AMOUNT", "Mixed Case", "A"]),
        (300, ["ID", "AMOUNT", "Mixed Case", "A"]),
    ]
    assert [(step.scn, step.kind, step.column.name) for step in derived.steps] == [
        (200, "add_column", "A"),
        (300, "drop_column", "CUSTOMER"),
    ]
    assert derived.hold is None


def test_the_order_of_the_rows_does_not_matter():
    rows = [row("alter table orders add a number", 200), row("alter table orders drop column a", 300)]

    assert derive([ORDERS], rows[::-1]) == derive([ORDERS], rows)


def test_a_statement_that_is_already_in_the_version_is_not_followed_twice():
    rows = [row("alter table orders add a number", 100), row("alter table orders add b number", 101)]

    assert [step.column.name for step in derive([ORDERS], rows).steps] == ["B"]


def test_a_repeat_gives_the_same_versions_and_steps():
    rows = [row("alter table orders add a number default 5", 200)]
    first = derive([ORDERS], rows)

    assert derive(first.versions, rows).steps == ()
    assert derive(versions_before(first.versions, 150), rows) == first


def test_two_statements_at_one_scn_make_one_version():
    rows = [
        row("alter table orders add b number", 200, rs_id=" 0x000001.00000002.0020 "),
        row("alter table orders add a number", 200, rs_id=" 0x000001.00000002.0010 "),
    ]
    derived = derive([ORDERS], rows)

    assert [v.from_scn for v in derived.versions] == [100, 200]
    assert names(derived.versions[-1])[-2:] == ["A", "B"]
    assert len(derived.steps) == 2


def test_a_column_that_is_added_again_is_a_new_column():
    rows = [row("alter table orders drop column customer", 200), row("alter table orders add customer varchar2(40)", 300)]
    last = derive([ORDERS], rows).versions[-1]

    customer = last.named("CUSTOMER")
    assert customer is not None
    assert (customer.id, customer.segment_id) == (5, 4)


def test_an_unsupported_statement_holds_the_table_and_keeps_the_versions_before():
    rows = [
        row("alter table orders add a number", 200),
        row("truncate table orders", 300),
        row("alter table orders add b number", 400),
    ]
    derived = derive([ORDERS], rows)

    assert names(derived.versions[-1])[-1] == "A"
    assert derived.hold is not None
    assert derived.hold.scn == 300
    assert isinstance(derived.hold.error, SchemaConflict)


def test_a_text_with_bytes_that_are_no_characters_holds_the_table_before_its_ddl() -> None:
    for octets in (b"ALTER TABLE orders ADD c VARCHAR2(9) DEFAULT 'caf\xe9'", b"COMMENT ON TABLE orders IS '\xed\xa0\xbd'"):
        derived = derive([ORDERS], [row(mark(octets), 200)])

        assert derived.hold is not None
        assert (derived.hold.scn, NOT_VALID in derived.hold.error.what) == (200, True)


def test_a_comment_of_pipelines_yml_is_not_replaced_by_one_that_oracle_gets_later() -> None:
    rows = [row("comment on column orders.amount is 'theirs'", 200), row("comment on column orders.customer is 'x'", 300)]
    amount = next(column.id for column in ORDERS.columns if column.name == "AMOUNT")
    mapped = replace(ORDERS, mapping=TableMapping(comments=((amount, "ours"),)))

    assert [step.column.name for step in derive([ORDERS], rows).steps] == ["AMOUNT", "CUSTOMER"]
    assert [step.column.name for step in derive([mapped], rows).steps] == ["CUSTOMER"]


def test_statements_that_change_nothing_make_no_version():
    rows = [row("comment on table orders is 'x'", 200), row("grant select on orders to someone", 300)]

    assert derive([ORDERS], rows).versions == (ORDERS,)
    later = derive([ORDERS], [*rows, row("alter table orders add a number", 400)])
    assert [v.from_scn for v in later.versions] == [100, 400]


def test_ddl_is_the_tables_by_its_object_id_or_by_the_name_it_had_then():
    foreign = replace(row("alter table other add a number", 200), table="OTHER", object_id=9000)
    renamed = replace(row("alter table orders add b number", 300), table="OTHER", object_id=9001)
    named = replace(row("alter table orders add c number", 400), object_id=9002)

    assert [step.scn for step in derive([ORDERS], [foreign, renamed, named]).steps] == [400]
    assert [step.scn for step in derive([ORDERS], [foreign, renamed, named], object_ids=[9001]).steps] == [300, 400]


def test_what_people_chose_for_one_statement_does_not_count_for_another():
    first, second = row("truncate table orders", 200), row("truncate table orders", 300)

    derived = derive([ORDERS], [first, second], approved={first: ("unknown_ddl", IGNORE)}.get)

    assert [(step.scn, step.kind) for step in derived.steps] == [(200, "renumber")]
    assert derived.hold is not None
    assert derived.hold.scn == 300


def test_a_statement_that_a_person_ignores_may_have_moved_rows_which_a_rowid_key_does_not_survive():
    moved = row("alter table orders do something", 200)

    derived = derive([ORDERS], [moved], approved=lambda _: ("unknown_ddl", IGNORE))
    held = derive([replace(ORDERS, key_kind="rowid")], [moved], approved=lambda _: ("unknown_ddl", IGNORE)).hold

    assert derived.steps == (ColumnChange(200, "renumber", ORDERS.columns[0]),)
    assert derived.versions == (ORDERS,)
    assert held is not None
    assert (held.error.where["table"], held.error.where["scn"]) == (ORDERS.table, 200)
    assert held.error.what == "it may have given rows new ROWIDs, and ROWID is the key: alter table orders do something"
    assert "--ddl ignore" not in held.error.cure


def test_each_new_version_has_the_statements_that_made_it():
    rows = [
        row("alter table orders add a number", 200),
        row("alter table orders add b number", 200, ssn=1),
        row("grant select on orders to someone", 250),
        row("alter table orders add c number", 300),
        row("alter table orders add d number", 300, ssn=1),
        row("truncate table orders", 400),
    ]
    whole = {
        200: "alter table orders add a number\nalter table orders add b number",
        300: "alter table orders add c number\nalter table orders add d number",
    }

    held = derive([ORDERS], rows)

    assert [(v.from_scn, names(v)[4:]) for v in held.versions] == [(100, []), (200, ["A", "B"]), (300, ["A", "B", "C", "D"])]
    assert held.statements == derive([ORDERS], rows[:-1]).statements == whole
    assert [step.column.name for step in held.steps] == ["A", "B", "C", "D"]


GUARD = ("SYS_NC00003$", OracleType("RAW", length=126))


@pytest.mark.parametrize("guarded", [True, False], ids=["12c", "without the optimization"])
def test_the_dictionary_says_whether_a_guard_column_was_added(guarded):
    """A text alone cannot say it: releases and settings differ. Rows shown as COL n depend on it."""
    model = ModelTable([("ID", NUMBER), *([GUARD] if guarded else []), ("A", NUMBER), ("B", NUMBER)])
    start = baseline(ModelTable([("ID", NUMBER)]).dictionary(100), Scn(100))
    rows = [row("alter table orders add a number default 5", 200), row("alter table orders add b number default 5", 300)]
    derived = derive([start], rows, lambda scn: model.dictionary(400) if scn < 400 else None)

    assert conflict_with_dictionary(derived.versions[-1], model.dictionary(400)) is None
    assert [c.kind for c in derived.versions[1].ignored] == (["guard"] if guarded else [])


def test_a_later_column_of_the_same_name_does_not_hide_the_guard():
    """A is renamed, and ID gets its name, before the dictionary is read."""
    model = ModelTable([("A", NUMBER), GUARD, ("B", NUMBER)])
    start = baseline(ModelTable([("ID", NUMBER)]).dictionary(100), Scn(100))
    statements = ("add a number default 5", "rename column a to b", "rename column id to a")
    rows = [row(f"alter table orders {text}", 200 + n) for n, text in enumerate(statements)]
    derived = derive([start], rows, lambda scn: model.dictionary(400) if scn < 400 else None)

    assert [[c.kind for c in version.ignored] for version in derived.versions] == [[], ["guard"], ["guard"], ["guard"]]


@pytest.mark.parametrize(
    "change",
    [
        "drop constraint nn",
        "disable constraint nn",
        "modify (c0) drop domain",
        "modify c0 not null novalidate",
        "modify c0 not null deferrable",
    ],
)
@pytest.mark.parametrize("is_null", [True, False])
def test_the_dictionary_says_whether_a_column_may_be_null_after_a_constraint_was_dropped(change: str, is_null: bool) -> None:
    """An UPDATE that names a column which cannot be NULL as NULL leaves its default (decode/young_columns.py)."""
    before, after = (with_null_in_second(ModelTable().dictionary(scn), null) for scn, null in ((100, False), (400, is_null)))
    start = replace(baseline(before, Scn(100)), key_constraint="PK")
    derived = derive([start], [row(f"alter table orders {change}", 200)], lambda scn: after if scn < 400 else None)

    assert derived.hold is None
    assert [c.nullable for c in derived.versions[-1].columns] == [False, is_null]


def with_null_in_second(table: DictionaryTable, nullable: bool) -> DictionaryTable:
    first, second = table.columns
    return replace(table, columns=(first, replace(second, nullable=nullable)))


def test_without_a_dictionary_reading_a_guard_is_assumed_as_since_12c():
    derived = derive([ORDERS], [row("alter table orders add a number default 5", 200)])

    assert [(c.segment_id, c.kind) for c in derived.versions[-1].ignored] == [(5, "guard")]


def test_a_dropped_column_takes_the_unused_ones_with_it():
    rows = [
        row("alter table orders set unused (customer)", 200),
        row("alter table orders add v number as (amount * 2)", 210),
        row("alter table orders drop column amount", 300),
        row("alter table orders drop column v", 310),
    ]
    derived = derive([ORDERS], rows)

    assert [(c.segment_id, c.kind) for c in derived.versions[1].ignored] == [(2, "unused")]
    assert [(c.segment_id, c.name) for c in derived.versions[-1].columns] == [(1, "ID"), (2, "Mixed Case")]
    assert derived.versions[-1].ignored == ()


@dataclass
class ModelTable:
    """A table as Oracle's dictionary describes it: columns in the order of their segment, numbered from 1."""

    columns: list[tuple[str, OracleType]] = field(default_factory=lambda: [("ID", NUMBER), ("C0", OracleType("DATE"))])

    def dictionary(self, scn: int) -> DictionaryTable:
        columns = tuple(
            DictionaryColumn(
                name, type_, number, number, nullable=number > 1, hidden=is_own(name), user_generated=not is_own(name)
            )
            for number, (name, type_) in enumerate(self.columns, 1)
        )
        return DictionaryTable(TableId("SHOP", "ORDERS"), 7000, 7001, columns, ("ID",), frozenset(), Scn(scn), Scn(scn))


def is_own(name: str) -> bool:
    return name.startswith("SYS_")


def unused(columns: list[tuple[str, OracleType]], gone: list[str]) -> list[tuple[str, OracleType]]:
    return [(f"SYS_C00001_26010112:00:{n:02d}$" if c[0] in gone else c[0], c[1]) for n, c in enumerate(columns)]


def guarded(columns: list[tuple[str, OracleType]], new: tuple[str, OracleType], tail: str) -> list[tuple[str, OracleType]]:
    """Return the columns with a new one; the first nullable one with a default brings the guard column."""
    needs = tail.startswith(" default 5") and all(name != GUARD[0] for name, _ in columns)
    return [*columns, *([GUARD] if needs else []), new]


TYPES = {
    "NUMBER(10,2)": OracleType("NUMBER", precision=10, scale=2),
    "number": NUMBER,
    "Varchar2(30 CHAR)": OracleType("VARCHAR2", length=30),
    "date": OracleType("DATE"),
    "TIMESTAMP(3)": OracleType("TIMESTAMP", scale=3),
    "raw(8)": OracleType("RAW", length=8),
    "float": OracleType("FLOAT", precision=126),
    "INTEGER": OracleType("NUMBER", precision=38, scale=0),
}
NEW_NAMES = ["C0", "C1", "C2", "C3", "c3", "Spaced Out", "NUMBER_", "Ümlaut", "A$B#"]


@st.composite
def alterations(draw: st.DrawFn) -> list[tuple[str, ModelTable]]:
    """Draw a history of the table: each statement with the dictionary after it."""
    model, history = ModelTable(), []
    for _ in range(draw(st.integers(1, 8))):
        taken = [name for name, _ in model.columns if not is_own(name)]
        free = [name for name in NEW_NAMES if name not in taken]
        if len(taken) > 1 and (not free or draw(st.booleans())):
            gone = draw(st.lists(st.sampled_from(taken[1:]), min_size=1, max_size=2, unique=True))
            if draw(st.integers(0, 3)) == 0:
                history.append((f"alter table orders set unused ({', '.join(spelled(draw, name) for name in gone)})",
                                model := ModelTable(unused(model.columns, gone))))  # fmt: skip
                continue
            if len(gone) == 1 and draw(st.booleans()):
                clause = f"DROP COLUMN {spelled(draw, gone[0])}"
            else:
                clause = f"drop ({', '.join(spelled(draw, name) for name in gone)})"
            rest = [c for c in model.columns if c[0] not in gone and not c[0].startswith("SYS_C")]
            model = ModelTable(rest)
        else:
            new = draw(st.lists(st.sampled_from(free), min_size=1, max_size=3, unique=True))
            types = [draw(st.sampled_from(sorted(TYPES))) for _ in new]
            tails = [" default 5" if t.lower().startswith("number") and draw(st.booleans()) else tail(draw) for t in types]
            items = [f"{spelled(draw, name)} {type_}{end}" for name, type_, end in zip(new, types, tails, strict=True)]
            clause = f"add {items[0]}" if len(items) == 1 and draw(st.booleans()) else f"ADD ({', '.join(items)})"
            columns = model.columns
            for name, type_, end in zip(new, types, tails, strict=True):
                columns = guarded(columns, (name, TYPES[type_]), end)
            model = ModelTable(columns)
        table = draw(st.sampled_from(["orders", "SHOP.ORDERS", '"SHOP"."ORDERS"', "shop . Orders"]))
        history.append((f"ALTER /* x */ TABLE {table} {clause}{draw(st.sampled_from(['', ';', ' ;']))}", model))
    return history


def spelled(draw: st.DrawFn, name: str) -> str:
    if name != name.upper() or " " in name or draw(st.booleans()):
        return f'"{name}"'
    return name.lower() if draw(st.booleans()) and name.lower().upper() == name else name


def tail(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", " default null", " null", " NOT NULL", " constraint x check (1 > (0))"]))


@given(alterations())
@settings(max_examples=100)
def test_after_any_adds_and_drops_the_derived_version_matches_the_dictionary(history):
    start = baseline(ModelTable().dictionary(100), Scn(100))
    derived = derive([start], [row(sql, 200 + 10 * n) for n, (sql, _) in enumerate(history)])

    assert derived.hold is None
    births: dict[int, tuple[str, int]] = {}
    for n, (_, model) in enumerate(history):
        scn = 200 + 10 * n
        version = valid_at(derived.versions, scn + 5)
        assert conflict_with_dictionary(version, model.dictionary(scn + 5)) is None
        assert names(version) == [name for name, _ in model.columns if not is_own(name)]
        assert valid_at(derived.versions, scn - 1).from_scn < scn
        assert decode(TableVersion, encode(version), "file") == version
        for column in version.columns:
            assert column.id < version.next_column_id
            assert births.setdefault(column.id, (column.name, scn))[0] == column.name
    ids = [step.column.id for step in derived.steps if step.kind == "add_column"]
    assert len(set(ids)) == len(ids)


@given(alterations())
@settings(max_examples=50)
def test_the_cut_into_windows_does_not_matter(history):
    start = baseline(ModelTable().dictionary(100), Scn(100))
    rows = [row(sql, 200 + 10 * n) for n, (sql, _) in enumerate(history)]
    whole, versions, steps = derive([start], rows), (start,), ()

    for one in rows:
        part = derive(versions, [one])
        versions, steps = part.versions, steps + part.steps

    assert (versions, steps) == (whole.versions, whole.steps)


@pytest.mark.parametrize(("kind", "named"), [("primary", "of the primary key"), ("columns", "of the key")])
def test_a_key_column_cannot_be_dropped(kind, named):
    derived = derive([replace(ORDERS, key=(3,), key_kind=kind)], [row("alter table orders drop column amount")])

    assert derived.hold is not None
    assert derived.hold.error.what.startswith(f"DDL drops column AMOUNT {named}")


@pytest.mark.parametrize(
    ("kind", "key_index", "held"), [("columns", None, True), ("columns", 55, False), ("primary", None, False)]
)
def test_a_dropped_index_holds_the_table_if_indexes_have_no_object_id(kind, key_index, held):
    version = replace(ORDERS, key=(3,), key_kind=kind, key_index=key_index)

    assert (derive([version], [row("drop index shop.by_amount")]).hold is not None) is held


def test_a_version_keeps_its_key_through_additions():
    last = derive([replace(ORDERS, key=(3, 1))], [row("alter table orders add a number")]).versions[-1]

    assert [last.column(i).name for i in last.key] == ["AMOUNT", "ID"]


LOB_STORAGE = "lob (photo) store as securefile (tablespace users)"
ADDED_AND_LEFT_OUT = {
    "a large object": f"alter table orders add (photo blob, kept number) {LOB_STORAGE}",
    "with a default": "alter table orders add (photo clob default empty_clob() not null, kept number)",
    "of a user's type": "alter table orders add photo mdsys.sdo_geometry add kept number",
}


@pytest.mark.parametrize("sql", ADDED_AND_LEFT_OUT.values(), ids=ADDED_AND_LEFT_OUT)
@pytest.mark.parametrize("choice", [ColumnChoice(("PH*",)), ColumnChoice(unsupported="exclude")], ids=["by name", "by type"])
def test_a_column_left_out_takes_its_place_in_the_segment_and_makes_no_step(sql, choice):
    hidden = [DictionaryColumn(f"SYS_NC0000{n}$", NUMBER, n, 6, True, True, False, user_generated=False) for n in (5, 6)]
    geometry = DictionaryColumn("PHOTO", OracleType("SDO_GEOMETRY"), None, 6, True, virtual=True)
    later = DictionaryTable(ORDERS.table, 1, 1, (geometry, *hidden), (), frozenset(), Scn(300), Scn(300))
    derived = derive(
        [replace(ORDERS, choice=choice)],
        [row(sql, 200), row("alter table orders drop column photo", 250)],
        lambda scn: later,
        refused=lambda name, type_: type_.name in ("CLOB", "BLOB"),
    )

    assert derived.hold is None, derived.hold
    assert [step.column.name for step in derived.steps] == ["KEPT"]
    added, dropped = derived.versions[1:]
    assert added.column(added.columns[-1].id).segment_id == (7 if "mdsys" in sql else 6)
    assert set(added.left_out) == {"PHOTO"}
    assert (dropped.left_out, dropped.columns[-1].segment_id) == ({}, 5)


def test_a_column_of_an_unsupported_type_stops_a_table_that_leaves_none_out():
    derived = derive([ORDERS], [row("alter table orders add photo mdsys.sdo_geometry")])

    assert derived.hold is not None
