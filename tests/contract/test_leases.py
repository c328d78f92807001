"""One owner at a time holds a lease, and one that has lost it can write nothing."""

from __future__ import annotations

from datetime import timedelta
from multiprocessing import get_context

import pytest

from redolake.errors import LeaseHeld
from redolake.ledger import open_ledger
from redolake.ledger.entries import Lease
from tests.contract.ledgers import LATER, NOW, START, Clock, at_once, plan


def test_a_second_owner_waits_until_the_lease_ends_and_gets_a_higher_token(ledger, capture, clock):
    clock.time = NOW + timedelta(seconds=59)
    with pytest.raises(LeaseHeld, match="run-1 holds the lease shop/capture"):
        ledger.lease("shop/capture", "run-2", 60)

    clock.time = NOW + timedelta(seconds=60)
    taken = ledger.lease("shop/capture", "run-2", 60)

    assert taken.token > capture.token


def test_a_released_lease_is_free_and_its_token_is_not_given_again(ledger, capture):
    assert ledger.release_lease(capture)
    taken = ledger.lease("shop/capture", "run-2", 60)

    assert taken.token > capture.token
    assert not ledger.release_lease(capture)
    with pytest.raises(LeaseHeld):
        ledger.renew(capture, 60)


def test_a_renewed_lease_lasts_longer(ledger, capture, clock):
    clock.time = NOW + timedelta(seconds=50)
    ledger.renew(capture, 600)

    clock.time = NOW + timedelta(seconds=600)
    with pytest.raises(LeaseHeld):
        ledger.lease("shop/capture", "run-2", 60)


def test_a_writer_whose_lease_was_taken_over_can_write_nothing(ledger, capture, clock):
    ledger.start_at(START)
    plan(ledger, capture, 100, 200)
    clock.time = LATER
    ledger.lease("shop/capture", "run-2", 60)

    for write in (
        lambda: plan(ledger, capture, 200, 300),
        lambda: ledger.renew(capture, 60),
        lambda: ledger.replace_open_transactions("b", [], capture),
    ):
        with pytest.raises(LeaseHeld, match="taken over"):
            write()
    assert [w.state for w in ledger.windows()] == ["planned"]
    assert ledger.position() == START


def test_a_new_lease_of_the_same_owner_ends_its_earlier_one(ledger, capture):
    again = ledger.lease("shop/capture", "run-1", 60)

    assert again.token > capture.token
    with pytest.raises(LeaseHeld):
        plan(ledger, capture, 100, 200)


def test_of_several_owners_that_take_a_lease_at_once_one_gets_it(ledger):
    results = at_once(*[lambda n=n: ledger.lease("shop/apply", f"run-{n}", 60) for n in range(4)])

    assert len([r for r in results if isinstance(r, Lease)]) == 1
    assert len([r for r in results if isinstance(r, LeaseHeld)]) == 3


def _want_lease(url: str, owner: str) -> str:
    try:
        return open_ledger(url, "shop", Clock()).lease("shop/apply", owner, 60).owner
    except LeaseHeld:
        return "held"


def test_of_two_processes_that_take_a_lease_one_gets_it(url, ledger):
    with get_context("spawn").Pool(2) as pool:
        results = pool.starmap(_want_lease, [(url, "run-1"), (url, "run-2")])

    assert sorted(results) in (["held", "run-1"], ["held", "run-2"])
