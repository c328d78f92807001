"""The ledger of each released version is opened by today's Redolake, and by a newer one: nothing in it is lost."""

from __future__ import annotations

import pytest

from redolake.ledger import ledger_version, open_ledger, open_ledger_to_read
from redolake.ledger.reading import LedgerReading
from tests.contract.ledgers import Clock
from tests.contract.newer import contents_of, make_unversioned, migrated, newer_redolake, structure_of
from tests.released.state import ROOT, put_ledger, releases


@pytest.fixture(params=releases())
def released(request: pytest.FixtureRequest, url: str) -> str:
    put_ledger(request.param, url, ROOT)
    return url


def reading_of(url: str) -> LedgerReading:
    reader = open_ledger_to_read(url, "shop", Clock())
    try:
        return reader.reading()
    finally:
        reader.close()


def test_the_ledger_of_a_release_is_opened_with_all_that_is_in_it(released: str) -> None:
    was = contents_of(released)
    open_ledger(released, "shop", Clock()).close()
    found = reading_of(released)

    assert contents_of(released) == was
    assert found.position is not None
    assert {window.state for window in found.windows} == {"applied"}
    assert len(found.windows) == 3
    assert [(str(table.table), table.state) for table in found.tables] == [
        ("SHOP.EVENTS", "live"), ("SHOP.NOTES", "live"), ("SHOP.PARTS", "live"),
    ]  # fmt: skip
    assert [x.rows for x in found.open_transactions] == [2]  # an INSERT, and its large object
    assert found.changes
    assert found.last_batch is not None
    assert {"source", "plan", "redo"} <= set(found.facts)
    assert [decision.who for decision in found.decisions] == ["ann"]


@pytest.mark.parametrize("unversioned", [False, True])
def test_the_ledger_of_a_release_is_migrated_with_data_in_it(released: str, unversioned: bool) -> None:
    was, windows = contents_of(released), len(reading_of(released).windows)
    if unversioned:
        make_unversioned(released)
    with newer_redolake():
        open_ledger(released, "shop", Clock()).close()
        reader = open_ledger_to_read(released, "shop")
        assert len(reader.landed_names()) == windows
        reader.close()

    found = contents_of(released)
    changed = {"redolake_windows", "redolake_news", "redolake_migrations", "redolake_facts"}
    assert {table: rows for table, rows in found.items() if table not in changed} == {
        table: rows for table, rows in was.items() if table not in changed
    }
    assert found["redolake_news"] == was["redolake_facts"]
    assert len(found["redolake_windows"]) == windows
    assert all("'landed: " in row for row in found["redolake_windows"])


def test_the_migrations_up_to_a_release_still_make_its_tables(released: str, second_url: str) -> None:
    """A migration that was released is never changed: another one follows it."""
    version = ledger_version(released).found
    assert version is not None
    migrated(second_url, version)

    assert structure_of(second_url) == structure_of(released)
