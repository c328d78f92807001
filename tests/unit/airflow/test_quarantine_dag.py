"""`<name>_quarantine` as a user meets it: the list, a retry, and a drop that somebody confirms."""

import pytest

from redolake.steps.proof.quarantine import QuarantinedChange, QuarantinedKey, QuarantineList, WorkedOff
from tests.unit.airflow.test_dag_runs import run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]
__all__ = ["run"]


def change(table, key, state="open"):
    return QuarantinedChange(
        table, key, state, "RedoNotUnderstood", "too long", "UPDATE", 5, 6, "2026-01-31 00:00:00", "1.2.3", None, None
    )


FOUND = QuarantineList(
    3, 1,
    (
        change("SHOP.ORDERS", '{"ID":"1"}'), change("SHOP.ORDERS", '{"ID":"1"}'), change("SHOP.ORDERS", '{"ID":"2"}'),
        change("SHOP.ORDERS", '{"ID":"3"}', "dropped"), change("SHOP.ORDER_LINES", '{"ID":"9"}'),
    ),
    (
        QuarantinedKey("SHOP.ORDERS", '{"ID":"1"}', "open"), QuarantinedKey("SHOP.ORDERS", '{"ID":"2"}', "open"),
        QuarantinedKey("SHOP.ORDERS", '{"ID":"3"}', "dropped"), QuarantinedKey("SHOP.ORDER_LINES", '{"ID":"9"}', "open"),
    ),
)  # fmt: skip


@pytest.fixture
def answering(steps):
    steps.answers("list_quarantine", lambda tables: FOUND)
    steps.answers("retry_quarantine", lambda table, keys: WorkedOff(table, 9, tuple(map(str, keys)), {}))
    steps.answers("drop_quarantined", lambda table, keys: WorkedOff(table, 9, tuple(map(str, keys)), {}))
    return steps


def asked(steps):
    """Return what the steps that change something were asked."""
    return [(name, *given) for name, given, _ in steps.calls if name != "list_quarantine"]


OF_ORDERS, OF_LINES = [{"ID": "1"}, {"ID": "2"}], [{"ID": "9"}]


@pytest.mark.parametrize(
    ("form", "state", "called"),
    [
        ({}, "success", []),
        (
            {"choice": "retry", "reason": "fixed"}, "success",
            [("retry_quarantine", "SHOP.ORDERS", OF_ORDERS), ("retry_quarantine", "SHOP.ORDER_LINES", OF_LINES)],
        ),
        (
            {"choice": "retry", "reason": "fixed", "tables": ["SHOP.ORDERS"], "keys": "id=2; ID=3"}, "success",
            [("retry_quarantine", "SHOP.ORDERS", [{"ID": "2"}, {"ID": "3"}])],
        ),
        (
            {"choice": "retry", "reason": "f", "tables": ["SHOP.ORDERS"], "keys": '{"CODE": "a;b"}; {"CODE": "c"}'}, "success",
            [("retry_quarantine", "SHOP.ORDERS", [{"CODE": "a;b"}, {"CODE": "c"}])],
        ),
        ({"choice": "retry", "reason": "fixed", "keys": "ID=2"}, "failed", []),
        ({"choice": "retry", "reason": "fixed", "tables": ["SHOP.ORDERS"], "keys": "2"}, "failed", []),
        ({"choice": "drop", "reason": "old", "confirm": "yes"}, "upstream_failed", []),
        (
            {"choice": "drop", "reason": "old", "tables": ["SHOP.ORDER_LINES"], "keys": "ID=9", "confirm": "shop"}, "success",
            [("drop_quarantined", "SHOP.ORDER_LINES", OF_LINES)],
        ),
    ],
    ids=["list", "retry all", "retry two keys", "a separator in a key", "keys of no table", "no key", "not confirmed", "drop"],
)  # fmt: skip
def test_a_run_does_what_its_form_says_to_the_keys_that_are_open(run, answering, form, state, called):
    from redolake.airflow.quarantine import quarantine_dag

    states, _ = run(quarantine_dag, form)

    assert (states["quarantine", -1], asked(answering)) == (state, called)


def test_a_key_that_is_still_wrong_fails_the_run_after_the_others_are_done(run, answering, caplog):
    from redolake.airflow.quarantine import quarantine_dag

    answering.answers("retry_quarantine", lambda table, keys: WorkedOff(table, 9, (), {'{"ID":"1"}': "still too long"}))

    states, _ = run(quarantine_dag, {"choice": "retry", "reason": "fixed"})

    assert states["quarantine", -1] == "failed"
    assert len(asked(answering)) == 2


def test_a_drop_without_a_confirmation_asks_with_each_key_and_drops_those_that_were_shown(settings, answering):
    from redolake.airflow.quarantine import question

    pipeline = settings()
    chosen = {"choice": "drop", "tables": ["SHOP.ORDERS"], "keys": None, "reason": "old", "confirm": None}

    found = question(pipeline, chosen)

    assert found.shown == {"SHOP.ORDERS": ['{"ID": "1"}', '{"ID": "2"}'], "SHOP.ORDER_LINES": ['{"ID": "9"}']}
    assert 'SHOP.ORDERS {"ID":"1"}: UPDATE of SCN 6, RedoNotUnderstood: too long' in "\n".join(found.lines)
    assert question(pipeline, {**chosen, "choice": "list"}) is None
