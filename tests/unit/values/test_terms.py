"""What can become of a row is one table, which every result has fields for and every face reads."""

from __future__ import annotations

from dataclasses import fields, replace

from redolake.airflow.lineage import change_facets
from redolake.cockpit.metrics import batch_rows
from redolake.cockpit.overview import account_parts
from redolake.cockpit.timeline import COLOURS
from redolake.cockpit.values import BatchLine
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.steps.apply.batch import applied_table
from redolake.values.table import TableId
from redolake.values.terms import CAME_IN, OF_ACCOUNT, REPORTED, TERMS, ChangeCounts, ReportedCounts, RowCounts, account_text
from tests.unit.cli.test_tables_of_figures import AT, ONE

NUMBERS = {term.name: 10 + number for number, term in enumerate(TERMS)}
ACCOUNT = {term.name: NUMBERS[term.name] for term in OF_ACCOUNT}


def test_results_have_a_field_for_each_term() -> None:
    assert {field.name for field in fields(RowAccount)} == {*CAME_IN, *ACCOUNT}
    assert {field.name for field in fields(ChangeCounts)} == {term.name for term in TERMS if term.counts != "read"}
    assert {term.name for term in REPORTED} == {field.name for field in fields(ReportedCounts)}


def test_an_account_adds_up_to_all_its_terms_and_each_has_a_text_and_a_colour() -> None:
    account = RowAccount(landed=sum(ACCOUNT.values()) - 1, carried_in=1, **ACCOUNT)
    parts, difference = account_parts({"landed": sum(ACCOUNT.values()), **ACCOUNT})

    assert (account.difference, difference) == (0, 0)
    assert [(part.rows, part.name) for part in parts] == [(NUMBERS[term.name], term.text) for term in OF_ACCOUNT]
    assert account_text(ACCOUNT) == ", ".join(f"{part.rows} {part.name}" for part in parts)
    assert {part.colour for part in parts} == set(COLOURS)


def test_lineage_and_metrics_report_the_same_counts() -> None:
    counts = {name: NUMBERS[name] for name in ChangeCounts.sums(())}
    done = TableResult(TableId("S", "T"), "applied", 9, balance=RowAccount(**ACCOUNT), **counts)
    batch = BatchLine(name="b", end_scn=9, landed_at=AT, applied_at=AT, read=0, rows=ACCOUNT, **counts)

    reported = {term.metric: getattr(applied_table(done), term.name) for term in REPORTED}
    assert reported.items() <= batch_rows(batch).items()
    assert {term.name: NUMBERS[term.name] for term in REPORTED} == {
        name: value
        for name, value in change_facets(applied_table(done))["redolake_changes"].__dict__.items()
        if name in NUMBERS
    }


def test_the_line_of_a_table_says_each_reported_count_that_is_not_zero() -> None:
    """A row in quarantine is news for whoever reads the log of a run."""
    quiet = TableResult(TableId("S", "T"), "applied", 9, inserted=1)
    loud = replace(quiet, nulled=2, balance=RowAccount(applied=4, quarantined=3, held=5))

    assert quiet.reported_text == "applied to SCN 9, +1 ~0 -0"
    assert loud.reported_text == "applied to SCN 9, +1 ~0 -0, 3 in quarantine, 2 NULL by rule"
    assert replace(quiet, state="held").reported_text == "held, +1 ~0 -0"


def test_counts_of_several_commits_add_up() -> None:
    one = RowCounts(inserted=2, deleted=1)

    assert one + RowCounts(updated=4, deleted=1) == RowCounts(inserted=2, updated=4, deleted=2)
    assert (one.counts_text, one.short_text, one.changed) == ("2 inserted, 0 updated, 1 deleted", "+2 ~0 -1", 3)
    assert (ONE.plus(ONE).masked, ONE.plus(ONE).inserted) == (2 * ONE.masked, 2 * ONE.inserted)
