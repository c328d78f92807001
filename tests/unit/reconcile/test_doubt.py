"""What is in doubt after a hand-over on a standby alone: its words, when it has gone, and that each surface reads one fact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from redolake.cockpit import read_overview
from redolake.cockpit.render import Pages
from redolake.context import Run
from redolake.land import layout
from redolake.reconcile.doubt import DOUBT_CURE, doubt_of, doubt_text, is_doubtful, settle
from redolake.records.codec import to_body
from redolake.records.readers import OpenTransactions
from redolake.records.shown_facts import DoubtFact, RedoFact
from redolake.records.snapshots import RedoNeededFrom
from redolake.records.split import SplitTransaction, SplitTransactions
from redolake.steps.checks.doctor import doubt_notes
from redolake.steps.shared.status import read_status, standby_lines
from redolake.values.scn import ChainPosition
from tests.unit.reconcile.pipeline_on_disk import FIRST, ORDERS, PipelineOnDisk, corrected_table

BEGIN = ChainPosition(FIRST, 100)
NOTHING_SHOWN = DoubtFact(FIRST, 100)


def ended(xid: str, scn: int | None) -> SplitTransaction:
    return SplitTransaction(1, xid, 1, None if scn is None else ChainPosition(FIRST, scn).name)


def test_the_doubt_counts_what_has_committed_without_a_start_and_names_what_has_not() -> None:
    state = SplitTransactions((), (ended("1.1.1", 140), ended("2.2.2", None), ended("3.3.3", 160)))
    assert doubt_of(state, BEGIN, None) == DoubtFact(FIRST, 100, 2, 160, ("2.2.2",))


@pytest.mark.parametrize(
    ("fact", "says", "never"),
    [
        (
            NOTHING_SHOWN,
            ["before SCN 100", "0 have committed.", "Whether others are open is not known"],
            ["the last at", "gone"],
        ),
        (replace(NOTHING_SHOWN, committed=2, last_scn=160), ["2 have committed, the last at SCN 160."], ["may be open"]),
        (replace(NOTHING_SHOWN, open=("2.2.2",)), ["0 have committed, and 2.2.2 may be open."], ["others may"]),
        (replace(NOTHING_SHOWN, open=tuple("123456")), ["and 1, 2, 3, 4, 5 and others may be open."], ["6"]),
        (
            replace(NOTHING_SHOWN, gone_scn=170),
            ["None is open since SCN 170: once tables are complete to it, no doubt is left"],
            ["not known"],
        ),
    ],
)
def test_the_words_of_a_doubt(fact: DoubtFact, says: list[str], never: list[str]) -> None:
    text = doubt_text(fact)
    assert [part for part in says if part not in text] == []
    assert [part for part in never if part in text] == []


@pytest.mark.parametrize(
    ("listed", "gone"),
    [
        (OpenTransactions(at=200, oldest=100), 200),  # began where the redo begins
        (OpenTransactions(at=200, oldest=200), 200),
        (OpenTransactions(at=200, oldest=99), None),  # one is older than all redo that was read
        (None, None),  # nobody lists them
    ],
)
def test_the_last_doubt_has_gone_where_no_open_transaction_is_older_than_the_redo(
    listed: OpenTransactions | None, gone: int | None
) -> None:
    found = settle(replace(NOTHING_SHOWN, open=("2.2.2",)), listed)
    assert (found.gone_scn, found.open) == (gone, () if gone else ("2.2.2",))
    assert settle(replace(NOTHING_SHOWN, gone_scn=150), listed).gone_scn == 150, "it stays where it was seen first"


@pytest.mark.parametrize(("is_listed", "gone", "doubtful"), [(True, None, False), (False, None, True), (False, 100, False)])
def test_a_table_is_in_doubt_if_it_was_read_before_and_nobody_listed_what_was_open(
    on_disk: PipelineOnDisk, context: Run, is_listed: bool, gone: int | None, doubtful: bool
) -> None:
    """It was read AS OF SCN 120."""
    entry = corrected_table(context)
    on_disk.write(layout.snapshot_since(ORDERS, 120, BEGIN), RedoNeededFrom(100, is_listed))
    assert is_doubtful(context, [entry], gone) is doubtful


def shown(on_disk: PipelineOnDisk) -> dict[str, str]:
    """Return what each surface says of the hand-over, with the cure where it has one."""
    now = datetime(2026, 5, 1, tzinfo=UTC)
    found = read_overview(on_disk.pipeline, on_disk.pipeline.ledger_url, now)
    (on_page,) = Pages("/redolake", "", ["shop"], now).pipeline(found, []).split("Hand-over: ")[1:] or [""]
    return {
        "status": "".join(standby_lines(read_status(on_disk.pipeline))),
        "page": on_page.partition("</p>")[0],
        "doctor": "".join(one.what + one.cure for one in doubt_notes(on_disk.pipeline, SimpleNamespace(names_primary=False))),
    }


def of_status(text: str) -> str:
    return f"Hand-over: {text}"


def of_page(text: str) -> str:
    return f"{text.replace('&', '&amp;')}."


def of_doctor(text: str) -> str:
    return text if "no doubt is left" in text else text + DOUBT_CURE


SURFACES: dict[str, Callable[[str], str]] = {"status": of_status, "page": of_page, "doctor": of_doctor}


@pytest.mark.parametrize(
    "fact", [None, replace(NOTHING_SHOWN, committed=1, last_scn=160), replace(NOTHING_SHOWN, gone_scn=170)]
)
def test_status_doctor_and_the_page_say_the_same_and_nothing_without_a_doubt(
    on_disk: PipelineOnDisk, context: Run, fact: DoubtFact | None
) -> None:
    corrected_table(context)
    context.ledger.record_fact("redo", to_body(RedoFact(FIRST, 200, 210, ())))
    if fact is not None:
        context.ledger.record_fact("doubt", to_body(fact))
    text = "" if fact is None else doubt_text(fact)
    assert shown(on_disk) == {name: says(text) if text else "" for name, says in SURFACES.items()}
    assert read_status(on_disk.pipeline).doubt == fact, "and so does --output json"
