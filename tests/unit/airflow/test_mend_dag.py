"""`<name>_mend` as a user meets it: what the form gives to each operation, what it refuses, and how the run ends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from redolake.operations import MENDS
from redolake.reconcile.cures import WAYS, Way
from redolake.reconcile.table_state import TableLine
from redolake.steps.apply.transactions import DropCost, TransactionList
from redolake.steps.proof.quarantine import QuarantinedChange, QuarantinedKey, QuarantineList, WorkedOff
from redolake.steps.proof.repair import ReadAgain
from redolake.steps.ranges.swap import SwappedTable
from tests.unit.airflow.test_dag_runs import names, noted, run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

TWO = ["SHOP.ORDERS", "SHOP.ORDER_LINES"]
COPY = "100-200-copy"
ON_FORM = {"tables": TWO, "reason": "a bug", "dry_run": False}


def repaired(table, equal=True):
    return ReadAgain(table, 99, 1, "by hand", equal=equal, updated=1, delta_version=7, seconds=1.0)


def quarantined(table):
    change = QuarantinedChange(
        table, '{"ID":"1"}', "open", "RedoNotUnderstood", "too long", "UPDATE", 5, 6, "2026-01-31 00:00:00", "1.2.3", None, None
    )
    return QuarantineList(1, 0, (change,), (QuarantinedKey(table, '{"ID":"1"}', "open"),))


@pytest.fixture
def mends(steps):
    """Steps that do what they are asked."""
    steps.answers("look_up_rows", lambda table, keys: f"{table}: would read 3 rows again")
    steps.answers("repair_table", lambda table, keys: repaired(table))
    steps.answers(
        "look_up_held",
        lambda tables, ddl: [SimpleNamespace(table=one, text="TRUNCATE TABLE t", address=f"{one} at 5") for one in tables],
    )
    steps.answers("resume_tables", tuple)
    steps.answers("approve_ddl", lambda table, ddl: SimpleNamespace(table=table))
    steps.answers("fill_columns", lambda table: ReadAgain(table, 199, 3, columns=("PLACE",), delta_version=7))
    steps.answers("swap_table", lambda table, name: SwappedTable(table, str(name), 199, 199, 0, "199-7-replaced", 5))
    steps.answers("look_up_quarantined", lambda table, keys: quarantined(table))
    steps.answers("retry_quarantine", lambda table, keys: WorkedOff(table, 9, tuple(map(str, keys)), {}))
    steps.answers("drop_quarantined", lambda table, keys: WorkedOff(table, 9, tuple(map(str, keys)), {}))
    steps.answers("list_transactions", TransactionList(None, (), ()))
    steps.answers("look_up_transaction", DropCost(3, "3.12.45", 2, 150, None, 7, 90, None, {"SHOP.ORDERS": 7}))
    steps.answers("drop_transaction", SimpleNamespace())
    return steps


def mended(run, form):
    from redolake.airflow.mend import mend_dag

    states, ran = run(mend_dag, form)
    return states["mend", -1], ran


EACH = {  # a form, the steps that it leads to, and what the first of them is given beside its table
    "repair": ({}, ["repair_table"] * 2, ([],)),
    "repair, dry": ({"dry_run": True}, ["look_up_rows"] * 2, ([],)),
    "fill-columns": ({}, ["fill_columns"] * 2, ()),
    "swap": ({"copy": f" {COPY} "}, ["swap_table"] * 2, (COPY,)),
    "swap, undo": ({"undo": True}, ["swap_table"] * 2, (None,)),
    "quarantine retry": ({}, ["retry_quarantine"] * 2, ([],)),
    "quarantine retry, dry": ({"dry_run": True}, ["look_up_quarantined"] * 2, ([],)),
    "quarantine drop": ({"confirm": "shop"}, ["drop_quarantined"] * 2, ([],)),
}


@pytest.mark.parametrize("case", EACH)
def test_an_operation_is_done_for_each_table_of_the_form_with_its_reason(run, mends, case):
    form, called, given = EACH[case]

    state, ran = mended(run, {**ON_FORM, "mend": case.partition(",")[0], **form})

    assert (state, names(mends)) == ("success", called)
    assert [args for _, args, _ in mends.calls] == [(table, *given) for table in TWO]
    if not form.get("dry_run"):
        assert {one.reason for one in mends.runs} == {"a bug"}
    said = ran.get_task_instance("mend").xcom_pull("mend")
    assert all(any(table in line for line in said) for table in TWO)
    assert noted(ran).splitlines() == list(said), "the run's note answers, that of a dry run too"


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(("mend", "step"), [("fill-columns", "fill_columns"), ("swap", "swap_table")])
def test_a_dry_run_executes_nothing(run, mends, mend, step, dry_run):
    shadow = COPY if mend == "swap" else None
    mended(run, {**ON_FORM, "mend": mend, "copy": shadow, "dry_run": dry_run})

    assert set(names(mends)) == {step}
    assert {one.execute for one in mends.runs} == {not dry_run}


def test_tables_are_released_together_and_a_dry_run_shows_what_holds_them(run, mends):
    dry, ran = mended(run, {"tables": TWO})
    done, _ = mended(run, {**ON_FORM, "mend": "resume"})

    assert (dry, done) == ("success", "success")
    assert ran.get_task_instance("mend").xcom_pull("mend") == [f"{table}: TRUNCATE TABLE t" for table in TWO]
    assert names(mends) == ["look_up_held", "resume_tables"]
    assert mends.calls[-1][1] == (TWO,)


@pytest.mark.parametrize(
    ("step", "mend", "wrong"),
    [
        ("repair_table", "repair", lambda table, _: repaired(table, table != "SHOP.ORDERS")),
        ("retry_quarantine", "quarantine retry", lambda table, _: WorkedOff(table, 9, (), {'{"ID":"1"}': "still too long"})),
    ],
)
def test_rows_that_are_still_wrong_fail_the_run_after_all_tables_were_tried(run, mends, step, mend, wrong):
    mends.answers(step, wrong)

    state, _ = mended(run, {**ON_FORM, "mend": mend})

    assert (state, names(mends)) == ("failed", [step, step])


@pytest.mark.parametrize(
    ("keys", "given"),
    [
        ("id=2; ID=3", [{"ID": "2"}, {"ID": "3"}]),
        ('{"CODE": "a;b"}; {"CODE": "c"}', [{"CODE": "a;b"}, {"CODE": "c"}]),
        ("ID=1\nID=2", [{"ID": "1"}, {"ID": "2"}]),
    ],
)
def test_keys_are_those_of_one_table(run, mends, keys, given):
    form = {**ON_FORM, "mend": "quarantine retry", "keys": keys}

    assert mended(run, {**form, "tables": TWO[:1]})[0] == "success"
    assert mends.calls == [("retry_quarantine", (TWO[0], given), mends.calls[0][2])]
    assert mended(run, form)[0] == "upstream_failed"
    assert len(mends.calls) == 1


REFUSED = {  # what is chosen, and what is said of it
    "no table": ({"mend": "repair", "tables": []}, "no table is chosen to repair"),
    "a copy of a repair": ({"mend": "repair", "copy": COPY}, "repair has no Copy\n  do this: leave the field Copy empty"),
    "a DDL choice of a swap": ({"mend": "swap", "undo": True, "ddl": "ignore"}, "swap has no DDL"),
    "keys of a transaction": ({"mend": "tx drop", "keys": "ID=1"}, "tx drop has no Keys"),
    "no key": ({"mend": "repair", "tables": TWO[:1], "keys": "2"}, "the field Keys"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_operation_does_not_take_is_refused_by_name(settings, case):
    from airflow.sdk.exceptions import AirflowFailException

    from redolake.airflow.forms import chosen_in, form_of

    form, said = REFUSED[case]
    defaults = {name: one.value for name, one in form_of(settings(), MENDS).items()}

    with pytest.raises(AirflowFailException, match=said.replace("(", r"\(")):
        chosen_in({**defaults, **ON_FORM, **form}, MENDS)


@pytest.mark.parametrize("form", [{}, {"undo": True, "copy": COPY}])
def test_a_swap_needs_either_a_copy_or_undo(run, mends, form):
    assert mended(run, {**ON_FORM, "mend": "swap", **form})[0] == "failed"
    assert mends.calls == []


TRANSACTION = {"mend": "tx drop", "xid": " 3.12.45 ", "reason": "old", "dry_run": False}


@pytest.mark.parametrize(
    ("form", "state", "called"),
    [
        ({"mend": "tx drop"}, "success", ["list_transactions"]),
        ({**TRANSACTION, "dry_run": True}, "success", ["look_up_transaction"]),
        ({**TRANSACTION, "confirm": "yes"}, "upstream_failed", []),
        ({**TRANSACTION, "xid": None, "confirm": "shop"}, "failed", []),
        ({**TRANSACTION, "confirm": "shop"}, "success", ["look_up_transaction", "drop_transaction"]),
    ],
    ids=["list", "show", "not confirmed", "none named", "drop"],
)
def test_a_transaction_is_dropped_only_by_its_xid_and_the_pipelines_name(run, mends, form, state, called):
    assert (mended(run, form)[0], names(mends)) == (state, called)
    if len(called) == 2:
        ((_, looked_up, _), (_, dropped, _)) = mends.calls
        assert (looked_up[0], dropped, mends.runs[-1].reason) == ("3.12.45", ("3.12.45", 3), "old")


HELD = TableLine("SHOP.ORDERS", "lake", "held", 99, 7, False, None, (), "", code="x", error="made up")


@pytest.mark.parametrize(
    ("dry_run", "way", "state", "called"),
    [
        (True, WAYS["resume"], "success", ["look_up_ways"]),
        (False, WAYS["resume"], "success", ["look_up_ways", "resume_tables"]),
        (False, WAYS["snapshot"], "success", ["look_up_ways", "mend_by_snapshot"]),
        (False, WAYS["history rebuild"], "failed", ["look_up_ways"]),
        (False, Way(why="redo is lost"), "failed", ["look_up_ways"]),
        (True, Way(why="redo is lost"), "failed", ["look_up_ways"]),
    ],
)
def test_mend_takes_the_first_way_and_fails_where_a_person_must_choose(run, mends, dry_run, way, state, called):
    mends.answers("look_up_ways", (HELD, (way,)))
    mends.answers("mend_by_snapshot", SimpleNamespace(tables=[SimpleNamespace(table="SHOP.ORDERS", rows=2, scn=99)]))

    ended, ran = mended(run, {**ON_FORM, "mend": "mend", "tables": TWO[:1], "dry_run": dry_run})

    assert (ended, names(mends)) == (state, called)
    if len(called) == 2:
        assert ran.get_task_instance("mend").xcom_pull("mend")[-1].endswith(": `redolake verify SHOP.ORDERS`")


def test_what_cannot_be_undone_asks_with_the_lines_of_its_dry_run_and_does_only_what_was_shown(run, mends):
    from tests.unit.airflow.test_approval import person

    with person("Approve", reason="agreed") as asked:
        state, _ = mended(run, {**ON_FORM, "mend": "quarantine drop", "tables": TWO[:1]})

    assert (state, names(mends)) == ("success", ["look_up_quarantined", "drop_quarantined"])
    assert 'SHOP.ORDERS {"ID":"1"}: UPDATE of SCN 6, RedoNotUnderstood: too long' in asked.body
    assert mends.calls[-1][1:] == (("SHOP.ORDERS", [{"ID": "1"}]), {})
    assert (mends.runs[-1].reason, mends.runs[-1].by) == ("agreed", "ann, asked by dag_test")


def test_each_operation_that_is_declared_is_a_choice_with_its_sentence_and_its_fields(settings):
    from redolake.airflow.forms import form_of

    params = form_of(settings(), MENDS)
    shown = params["mend"].schema["values_display"]

    for name, operation in MENDS.items():
        assert shown[name] == f"{name}: {operation.does}"
        assert {one.name for one in operation.parameters} - {"table", "tables"} <= set(params)
    assert params["dry_run"].value is True
