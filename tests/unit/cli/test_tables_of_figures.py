"""Tables of figures in the terminal can be read at 80 columns, with no word cut."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.console import RenderableType

from redolake.cli.output import column_widths, console, grid
from redolake.cli.quarantine import quarantine_text
from redolake.cli.stats import StatsBy, stats_text
from redolake.ledger.batch_stats import RowStats
from redolake.steps.proof.quarantine import QuarantinedChange, QuarantineList
from redolake.steps.shown.stats import BatchStats, PipelineStats, TableStats

AT = datetime(2026, 5, 1, 10, 4, 20, tzinfo=UTC)
ROWS = {"landed": 190_000, "applied": 60_000, "filtered": 2, "quarantined": 1, "undone": 4, "before_position": 40, "held": 9}
ONE = RowStats(
    {"add_column": 1, "rename_column": 2},
    ROWS,
    AT,
    AT,
    107.287,
    inserted=120_000,
    updated=30,
    deleted=4,
    masked=60_000,
    nulled=3,
)
FOUND = PipelineStats(
    "shop", AT, ONE, (TableStats("SHOP.ORDER_ITEMS", 12, ONE),), (BatchStats("b", 2_000_000, 2_000_708, 1, AT, AT, ONE),)
)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.cli.output.console.width", 80)


def shown(what: RenderableType) -> str:
    with console.capture() as captured:
        console.print(what)
    return captured.get()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("by", StatsBy)
def test_statistics_are_whole_in_a_terminal_of_80_columns(by: StatsBy) -> None:
    text = shown(stats_text(FOUND, by))
    cells = {cell.strip() for line in text.splitlines() for cell in line.replace("┃", "│").split("│")}

    assert max(map(len, text.splitlines())) <= 80
    assert {"inserted", "updated", "deleted", "masked", "read", "of these"} <= cells
    assert {"120000", "30", "4", "60000", "3", "190000"} <= cells
    account = "60000 applied, 2 filtered, 1 in quarantine, 4 undone, 40 before the snapshot, 9 held"
    assert account in " ".join(text.replace("│", " ").split())
    assert "1 add_column, 2 rename_column" in cells
    assert {"2026-05-01", "10:04:20"} <= {word for cell in cells for word in cell.split()}
    assert ("SHOP.ORDER_ITEMS" if by is StatsBy.table else "2000000-2000708") in cells


def test_terms_that_are_zero_are_not_shown() -> None:
    plain = RowStats(inserted=1, rows={"landed": 1, "applied": 1})
    text = shown(stats_text(PipelineStats("shop", AT, plain, (TableStats("SHOP.A", 1, plain),), ()), StatsBy.table))

    assert "applied" in text
    assert not {"masked", "NULL", "filtered", "quarantine", "DDL"} & set(text.split())


@pytest.mark.usefixtures("narrow")
def test_the_reason_of_a_change_in_quarantine_is_one_text_below_the_table() -> None:
    reason = "the redo cannot be decoded: column V: the value has more decimals than decimal(38,2) (ORDER_ID 6, ROWID AAA)"
    change = QuarantinedChange(
        "SHOP.ORDERS", '{"ORDER_ID":"6"}', "open", "RedoNotUnderstood", reason, "UPDATE", 5, 2_000_707, None, None, None, None
    )
    text = shown(quarantine_text(QuarantineList(1, 0, (change, change))))

    assert max(map(len, text.splitlines()[:6])) <= 80
    assert f'SHOP.ORDERS {{"ORDER_ID":"6"}} at SCN 2000707: RedoNotUnderstood: {reason}' in " ".join(text.split())
    assert text.count("RedoNotUnderstood") == 1


@pytest.mark.usefixtures("narrow")
def test_a_table_that_is_too_wide_for_the_terminal_still_has_all_its_columns() -> None:
    names = [f"column_number_{n}" for n in range(9)]
    text = shown(grid("", names, [[n for n in range(9)]]))

    assert max(map(len, text.splitlines())) <= 80
    assert all(str(n) in text for n in range(9))


@pytest.mark.parametrize("room", range(14, 60))
def test_columns_use_the_room_and_cut_no_word(room: int) -> None:
    texts = [["name", "SHOP.ORDERS"], ["n", "12"], ["statement", "ALTER TABLE orders ADD x NUMBER"]]
    widths = column_widths(texts, [False, False, False], room)

    if widths == [None] * 3:
        assert room < 11 + 2 + 9 - 1 or room >= 11 + 2 + 31  # of words up to ten letters, or where all of it fits
    else:
        known = [width for width in widths if width is not None]
        assert sum(known) == room
        assert all(b >= min(10, len(word)) for b, column in zip(known, texts, strict=True) for word in column[1].split())


@pytest.mark.usefixtures("narrow")
def test_a_title_is_not_broken_at_the_width_of_its_table() -> None:
    title = "AS OF SCN 2032095 (by 2026-05-01 10:04:20 UTC)"
    assert shown(grid(title, ("id",), [(1,)])).splitlines()[0] == title
