"""Lost redo is kept until it is cleared, and declared gaps for good."""

from __future__ import annotations

from tests.contract.ledgers import LATER, NOW, name

LOST = {"code": "RedoLost", "what": "log 7 is gone", "where": {"thread": 1, "sequence": 7}, "cure": "redolake recover"}
HERE, THERE = {"dbid": 1, "resetlogs_id": 2, "scn": 2**53 + 1}, {"dbid": 1, "resetlogs_id": 2, "scn": 2**53 + 9}


def test_a_loss_is_kept_until_it_is_cleared(ledger, other):
    assert ledger.loss() is None

    ledger.record_loss(LOST, step="plan", position=HERE, missing=[{"thread": 1, "sequence": 7}, {"thread": 1, "sequence": 8}])
    kept = ledger.loss()

    assert (kept.error, kept.step, kept.position, kept.since) == (LOST, "plan", HERE, NOW)
    assert other.loss() is None
    assert ledger.clear_loss()
    assert not ledger.clear_loss()
    assert ledger.loss() is None


def test_a_loss_recorded_again_keeps_its_time_and_every_missing_log(ledger, clock):
    ledger.record_loss(LOST, step="plan", position=HERE, missing=[{"thread": 1, "sequence": 7}, {"thread": 1, "sequence": 8}])

    clock.time = LATER
    again = ledger.record_loss(
        LOST, step="mine", position=HERE, missing=[{"thread": 1, "sequence": 8}, {"thread": 1, "sequence": 9}]
    )

    assert (again.since, again.step) == (NOW, "mine")
    assert list(again.missing) == [{"thread": 1, "sequence": 7}, {"thread": 1, "sequence": 8}, {"thread": 1, "sequence": 9}]
    assert ledger.loss() == again


def test_a_loss_at_another_position_is_another_loss(ledger, clock):
    ledger.record_loss(LOST, step="plan", position=HERE, missing=[{"thread": 1, "sequence": 7}])

    clock.time = LATER
    other = ledger.record_loss(LOST, step="plan", position=THERE, missing=[{"thread": 1, "sequence": 9}])

    assert (other.since, list(other.missing)) == (LATER, [{"thread": 1, "sequence": 9}])


def test_declared_gaps_are_written_once_and_listed_in_the_order_of_the_chain(ledger, other):
    assert ledger.record_gap(name(200, 300), {"kind": "gap"})
    assert ledger.record_gap(name(100, 150), {"kind": "position"})
    assert not ledger.record_gap(name(200, 300), {"kind": "other"})

    assert list(ledger.gaps().items()) == [(name(100, 150), {"kind": "position"}), (name(200, 300), {"kind": "gap"})]
    assert other.gaps() == {}
