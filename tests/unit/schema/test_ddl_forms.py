"""Each statement of tests/golden/ddl has the outcome written under it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from redolake.config.on_ddl import DdlPolicies
from redolake.errors import SchemaConflict
from redolake.reconcile.resnapshot_policy import answering_policy
from redolake.schema.ddl import effect_of
from redolake.schema.derive import derive
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import ColumnChoice, Part, TableId
from tests.unit.schema.ddl_golden import FOLDER, ORDERS, outcome_of, read_cases, row

CASES = [(file.stem, case) for file in sorted(FOLDER.glob("*.sql")) for case in read_cases(file)]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{stem}: {case.title}" for stem, case in CASES])
def test_the_statement_has_its_golden_outcome(case):
    assert outcome_of(case.sql) == case.outcome


def test_every_file_has_cases_with_outcomes():
    assert {stem for stem, _ in CASES} >= {"add_column", "drop_column", "ignorable", "refused"}
    assert all(case.outcome and case.sql for _, case in CASES)


def test_a_refusal_names_the_statement_its_scn_and_the_cure():
    with pytest.raises(SchemaConflict) as caught:
        effect_of(row("alter table orders\n modify (amount   number(5))", scn=4711), ORDERS)

    text = str(caught.value)
    for part in (
        "alter table orders modify (amount number(5))",
        "table SHOP.ORDERS",
        "scn 4711",
        "`redolake snapshot SHOP.ORDERS --replace`",
        "to resume it would stop at the same statement",
    ):
        assert part in text


@pytest.mark.parametrize("change", ["drop supplemental log data (all) columns", "disable logical replication"])
def test_less_supplemental_logging_without_a_primary_key_is_refused(change):
    with pytest.raises(SchemaConflict, match="supplemental logging"):
        effect_of(row(f"alter table orders {change}"), replace(ORDERS, key=(), key_kind="append"))


@pytest.mark.parametrize(
    ("sql", "answers"),
    [
        (
            "alter table orders add c raw(16) default sys_guid()",
            [
                "`on_ddl: {computed_default: resnapshot}`, which takes the snapshot by itself",
                "`on_ddl: {computed_default: follow}` for later ones",
            ],
        ),
        (
            "truncate table orders",
            ["`redolake resume SHOP.ORDERS --ddl follow --reason .. --yes`", "`on_ddl: {truncate: keep}`"],
        ),
        ("alter table orders fold twice", ["--ddl ignore --reason .. --yes`, if it changed neither columns, key nor rows"]),
        ("drop table orders", ["`on_ddl: {drop_table: keep}`"]),
    ],
)
def test_the_cure_names_the_policy_and_the_choice_that_answer_the_statement(sql, answers):
    with pytest.raises(SchemaConflict) as caught:
        effect_of(row(sql), ORDERS)

    assert [answer for answer in answers if answer not in caught.value.cure] == []


def test_a_statement_may_end_with_a_nul_byte():
    assert effect_of(row("alter table orders pctfree 5;\0"), ORDERS).version == ORDERS


def test_a_very_long_statement_is_shortened_in_the_message():
    with pytest.raises(SchemaConflict) as caught:
        effect_of(row("alter table orders modify (amount " + "x" * 100_000 + ")"), ORDERS)

    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "literal", ["u'null'", "x'ff'", "1e500", "1e-400", "9e125000", "1_000", "0x1F", "5d", '"NULL"', "(null", "- -1"]
)
def test_a_text_that_only_resembles_a_constant_is_refused(literal):
    for type_ in ("varchar2(10)", "number", "number(10,2)", "date"):
        with pytest.raises(SchemaConflict):
            effect_of(row(f"alter table orders add (note {type_} default {literal})"), ORDERS)


POLICIES = [
    ("truncate table shop.orders reuse storage", DdlPolicies(truncate="follow"), ["truncate"]),
    ("truncate table orders", DdlPolicies(truncate="keep"), ["renumber"]),
    ("truncate table orders", DdlPolicies(), None),
    ("alter table orders drop partitions p1, p2 update global indexes", DdlPolicies(drop_partition="keep"), ["renumber"]),
    ("alter table orders truncate subpartition for (5) drop storage", DdlPolicies(drop_partition="keep"), ["renumber"]),
    ("alter table orders drop partition p1", DdlPolicies(), None),
    ("alter table orders drop partition p1", DdlPolicies(drop_partition="follow"), ["remove_rows"]),
    ("alter table orders truncate subpartition for (5) drop storage", DdlPolicies(drop_partition="follow"), ["remove_rows"]),
    ("alter table orders exchange partition p1 with table other", DdlPolicies(drop_partition="follow"), None),
    ("alter table orders drop partition p1 nologging", DdlPolicies(drop_partition="follow"), None),
    ("alter table orders exchange partition p1 with table other", DdlPolicies(drop_partition="keep"), None),
    ("drop table orders", DdlPolicies(drop_table="keep"), []),
    ("alter table orders rename column amount to total", DdlPolicies(rename_column="hold"), None),
    ("alter table orders modify (amount number(5))", DdlPolicies(narrow="follow"), ["change_type"]),
    ("alter table orders modify (amount date)", DdlPolicies(narrow="follow"), ["change_type"]),
    ("alter table orders modify (customer char(40))", DdlPolicies(narrow="follow"), None),  # Oracle pads the older rows
]


@pytest.mark.parametrize(("sql", "policies", "kinds"), POLICIES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_policy_decides_what_a_statement_does(sql, policies, kinds):
    if kinds is None:
        with pytest.raises(SchemaConflict):
            effect_of(row(sql), ORDERS, policies=policies)
    else:
        assert [step.kind for step in effect_of(row(sql), ORDERS, policies=policies).steps] == kinds


COMPUTED = {
    "add a date default sysdate": ["add A DATE", "fill A"],
    "add (a date default sysdate not null)": ["add A DATE not null", "fill A"],
    "add a number default shop.seq.nextval": ["add A NUMBER", "fill A"],
    "add a number default on null for insert and update seq.nextval": ["add A NUMBER not null", "fill A"],
    "add (a number default 1 + 1, b number default 1)": ["add A NUMBER", "fill A", "add B NUMBER default '1'"],
    "add a varchar2(9) default nvl(upper('a, b'), 'c') || ')' not null enable": ["add A VARCHAR2(9) not null", "fill A"],
    "add a date default '01-JAN-20' add b number": ["add A DATE", "fill A", "add B NUMBER"],
    "add a number default (select 1 from dual) constraint x check (a > 0)": ["add A NUMBER", "fill A"],
    "add a number generated always as identity": ["add A NUMBER not null", "fill A"],
    "add (a number(9) generated by default on null as identity (start with 5 nocache) not null)": [
        "add A NUMBER(9,0) not null",
        "fill A",
    ],
    "add a clob default to_clob('x')": None,
    "add a date default sysdate encrypt": ["add A DATE", "fill A"],
    "add a number default case when 1 = 1 then null end": None,
    "add a number default user 5 check": None,
}


@pytest.mark.parametrize(("clauses", "steps"), COMPUTED.items(), ids=COMPUTED)
def test_a_column_that_oracle_fills_is_added_and_filled_by_policy(clauses, steps):
    statement = row(f"alter table orders {clauses}")
    follow = DdlPolicies(computed_default="follow")
    if steps is None:
        with pytest.raises(SchemaConflict):
            effect_of(statement, ORDERS, policies=follow)
        return
    found = []
    for step in effect_of(statement, ORDERS, policies=follow).steps:
        null = "" if step.column.nullable else " not null"
        default = "" if step.default is None else f" default {step.default!r}"
        found.append(
            f"add {step.column.name} {step.column.type}{null}{default}"
            if step.kind == "add_column"
            else f"fill {step.column.name}"
        )
    assert found == steps


@pytest.mark.parametrize("statement", ["drop partition p1", "add a date default sysdate"])
def test_without_a_key_rows_cannot_be_read_again(statement):
    without_key = replace(ORDERS, key=(), key_kind="append")
    policies = DdlPolicies(drop_partition="follow", computed_default="follow")

    with pytest.raises(SchemaConflict, match="no key to find them by"):
        effect_of(row(f"alter table orders {statement}"), without_key, policies=policies)


ANSWERED_BY = {
    "computed_default": "alter table orders add a date default sysdate",
    "truncate": "truncate table orders",
    "rename_column": "alter table orders rename column amount to total",
    "narrow": "alter table orders modify (amount number(5))",
    "drop_table": "drop table orders purge",
    "recreate": "create table orders (id number primary key)",
    "drop_partition": "alter table orders truncate subpartition p1",
    "primary_key": "alter table orders drop primary key",
    "unknown_ddl": "alter table orders frobnicate",
}


@pytest.mark.parametrize("policy", ANSWERED_BY)
def test_a_hold_names_the_setting_that_may_answer_it(policy):
    hold_all = DdlPolicies(rename_column="hold")
    with pytest.raises(SchemaConflict) as held:
        effect_of(row(ANSWERED_BY[policy]), ORDERS, policies=hold_all)

    assert held.value.where["policy"] == policy


RENUMBERING = ("alter table orders move", "alter table orders shrink space", "truncate table orders")


@pytest.mark.parametrize("sql", RENUMBERING)
def test_a_table_keyed_by_rowid_does_not_follow_what_numbers_its_rows_again(sql):
    by_rowid = replace(ORDERS, key=(0,), key_kind="rowid")

    with pytest.raises(SchemaConflict, match="ROWID"):
        effect_of(row(sql), by_rowid, policies=DdlPolicies(truncate="follow"))


@pytest.mark.parametrize(
    "clauses",
    [
        "add constraint orders_pk primary key (id) using index tablespace users",
        "add (primary key (id, customer))",
        "modify (customer primary key)",
        "drop primary key cascade",
        "disable primary key",
    ],
)
def test_a_primary_key_is_of_no_account_where_rowid_is_the_key(clauses):
    by_rowid = replace(ORDERS, key=(0,), key_kind="rowid", key_constraint=None)

    effect = effect_of(row(f"alter table orders {clauses}"), by_rowid)

    assert (effect.steps, effect.version.key, effect.version.key_kind) == ((), (0,), "rowid")


TRANSFORMED = (
    "modify lob (note) (deduplicate)",
    "modify lob (note) (cache compress low)",
    "modify lob (note) (encrypt)",
    "move lob (note) store as securefile (compress)",
    "move lob (other, note) store as (deduplicate)",
)


@pytest.mark.parametrize("clauses", TRANSFORMED)
def test_large_objects_that_are_assembled_from_the_redo_must_stay_as_they_are(clauses):
    assembled = replace(ORDERS, choice=ColumnChoice(large_objects="redo"))
    left_out = replace(ORDERS, choice=ColumnChoice(exclude=("NOTE", "OTHER"), large_objects="redo"))
    statement = row(f"alter table orders {clauses}")

    with pytest.raises(SchemaConflict, match=r"may not show the large objects of .*NOTE"):
        effect_of(statement, assembled)
    assert effect_of(statement, left_out).version.columns == ORDERS.columns


def test_a_constraint_is_refused_if_the_name_of_the_key_is_not_known():
    with pytest.raises(SchemaConflict, match="may be the primary key"):
        effect_of(row("alter table orders drop constraint orders_ck"), replace(ORDERS, key_constraint=None))


def test_the_key_of_a_table_from_the_recycle_bin_has_a_name_of_the_bin_until_a_constraint_of_it_is_renamed() -> None:
    back = effect_of(row("flashback table orders to before drop"), replace(ORDERS, dropped_at=Scn(5))).version
    other = effect_of(row("alter table orders drop constraint orders_ck"), back).version
    with pytest.raises(SchemaConflict, match="may be the primary key"):
        effect_of(row('alter table orders drop constraint "BIN$x==$0"'), other)
    renamed = effect_of(row('alter table orders rename constraint "BIN$x==$0" to orders_pk'), other).version
    with pytest.raises(SchemaConflict, match="may be the primary key"):
        effect_of(row("alter table orders drop constraint orders_pk"), renamed)


@pytest.mark.parametrize("object_id", [0, 7999])
def test_rows_are_not_deleted_for_a_truncate_of_another_object(object_id):
    with pytest.raises(SchemaConflict, match="not certainly of this table"):
        effect_of(replace(row("truncate table orders"), object_id=object_id), ORDERS, policies=DdlPolicies(truncate="follow"))


def test_a_truncate_of_another_table_is_not_taken_for_this_one():
    with pytest.raises(SchemaConflict, match="the statement names ORDERS_2"):
        effect_of(row("truncate table orders_2"), ORDERS, policies=DdlPolicies(truncate="follow"))


def test_a_rename_is_followed_to_the_declared_name_only():
    declared = DdlPolicies(renamed_to=TableId("SHOP", "NEW"))
    between = effect_of(row('rename orders to "Between"'), ORDERS, policies=declared).version
    there = effect_of(row('alter table shop."Between" rename to new'), between, policies=declared).version

    assert [version.in_oracle.name for version in (ORDERS, between, there)] == ["ORDERS", "Between", "NEW"]
    assert there.table == ORDERS.table
    with pytest.raises(SchemaConflict, match=r"renamed_to: SHOP\.NEWER"):
        effect_of(row("rename new to newer"), there, policies=declared)


def test_a_renamed_table_with_partitions_needs_a_snapshot_where_its_name_was_not_declared():
    """Oracle may have created a partition whose rows were not landed, so `resume` would not do."""
    with pytest.raises(SchemaConflict) as raised:
        effect_of(row("rename orders to new"), replace(ORDERS, parts=(Part(8, 8),)))
    assert "`redolake snapshot --replace SHOP.ORDERS`" in raised.value.cure


def test_a_drop_under_a_name_that_the_table_never_got_holds_it_whatever_the_policy():
    """DBMS_REDEFINITION has given the table's name to another object, and the old one is dropped."""
    with pytest.raises(SchemaConflict, match="was called ORDERS_INT, and no RENAME"):
        effect_of(row("drop table orders_int purge"), ORDERS, policies=DdlPolicies(drop_table="keep"))


REFUSED = [case for _, case in CASES if case.outcome.startswith("refused")]
KINDS = {"primary": ORDERS, "rowid": replace(ORDERS, key=(0,), key_kind="rowid")}
TRUNCATED = DictionaryTable(ORDERS.table, 7000, 7002, (), (), frozenset(), Scn(300), Scn(300))


@pytest.mark.parametrize("case", REFUSED, ids=[case.title for case in REFUSED])
@pytest.mark.parametrize("kind", KINDS)
def test_each_answer_that_the_cure_of_a_refusal_names_lets_the_table_go_on(case, kind):
    refused = row(case.sql)
    reading = (lambda _: TRUNCATED) if kind == "rowid" else None  # TRUNCATE asks for the new segment
    hold = derive([KINDS[kind]], [refused], reading).hold
    if hold is None:
        assert kind == "rowid", "a primary key is of no account then"
        return
    cure, stopped_by = hold.error.cure, hold.error.where["policy"]
    once, always = re.findall(r"--ddl (\w+)", cure), re.findall(r"`on_ddl: \{(\w+): (\w+)\}`", cure)

    for choice in once:
        approved = partial(lambda _, choice: (stopped_by, choice), choice=choice)
        assert derive([KINDS[kind]], [refused], reading, approved=approved).hold is None, choice
    for policy, value in always:
        policies = DdlPolicies(**{policy: value})
        followed = derive([KINDS[kind]], [refused], reading, policies).hold is None
        assert answering_policy(policies, stopped_by) == policy if value == "resnapshot" else followed
    assert once or always or "renamed_to" in cure, "every hold has an answer besides the snapshot by hand"
