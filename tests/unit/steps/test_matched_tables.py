"""Which tables patterns capture, announce or leave out, and what Oracle's own tables are taken for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from redolake.config import Pipeline
from redolake.records.captured import CapturedTables
from redolake.source import ListedTable
from redolake.source.table_list import is_of_queue, kind_left_out
from redolake.steps.shared.matched_tables import find_unmatched, resolve_patterns
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern


def pipeline(*tables: object, **settings: object) -> Pipeline:
    body = {"name": "p", "source": {"connection": "x"}, "landing": "/l", "lake": "/d", "tables": list(tables)}
    return Pipeline.model_validate({**body, **settings})


def listed(*names: str) -> tuple[ListedTable, ...]:
    return tuple(ListedTable(TableId.parse(name)) for name in names)


def made(of: Pipeline, *names: str, before: CapturedTables | None = None, scn: int = 10) -> CapturedTables:
    return resolve_patterns(of, listed(*names), scn, before)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("SHOP.*", "SHOP.ORDERS", True),
        ("shop.ord*", "SHOP.ORDERS", True),
        ("SHOP.*", 'SHOP."Mixed Case"', True),
        ("SHOP.ORDER?", "SHOP.ORDERS", True),
        ("SHOP.ORDER?", "SHOP.ORDER", False),
        ('SHOP."A*"', 'SHOP."A*"', True),
        ('SHOP."A*"', "SHOP.AB", False),
        ("SHOP.A$*", "SHOP.A$B", True),
        ("SHOP.A.*", None, False),
        ("SHOP", None, False),
    ],
)
def test_a_pattern_matches_whole_names_and_quoted_parts_literally(pattern: str, name: str | None, matches: bool) -> None:
    if name is None:
        with pytest.raises(ValueError, match=r"not OWNER\.PATTERN"):
            TablePattern.parse(pattern)
        return
    assert TablePattern.parse(pattern).matches(TableId.parse(name)) is matches


def test_the_first_pattern_gives_the_settings_and_an_exclusion_holds_for_all() -> None:
    of = pipeline("!A.TMP_*", {"match": "A.X*", "key": "rowid"}, {"match": "A.*", "key": "append"}, "A.XPLAIN")

    keys = {str(t.id): t.key for t in of.with_matched(map(TableId.parse, ("A.X1", "A.Y", "A.TMP_1", "B.Z"))).tables}

    assert keys == {"A.XPLAIN": "primary", "A.X1": "rowid", "A.Y": "append"}


def test_a_later_table_is_announced_with_the_scn_it_was_first_seen_at() -> None:
    first = made(pipeline("A.*"), "A.ONE", "B.OTHER")
    second = made(pipeline("A.*"), "A.ONE", "A.TWO", before=first, scn=20)
    third = made(pipeline("A.*"), "A.TWO", before=second, scn=30)

    assert (first.tables, second.tables, second.announced) == (("A.ONE",), ("A.ONE",), {"A.TWO": 20})
    assert (third.announced, third.gone, third.tables) == ({"A.TWO": 20}, {"A.ONE": 30}, ("A.ONE",))


def test_tables_of_a_new_pattern_and_with_the_setting_capture_join() -> None:
    first = made(pipeline("A.*"), "A.ONE", "B.ONE")

    assert made(pipeline("A.*", "B.*"), "A.ONE", "B.ONE", "A.TWO", before=first).tables == ("A.ONE", "B.ONE")
    assert made(pipeline("A.*", new_tables="capture"), "A.ONE", "A.TWO", before=first).tables == ("A.ONE", "A.TWO")


def test_an_excluded_table_leaves_the_list_and_a_table_named_by_itself_is_not_in_it() -> None:
    first = made(pipeline("A.*"), "A.ONE", "A.TWO", "A.THREE")

    later = made(pipeline("A.*", "!A.TWO", "A.LATE"), "A.ONE", "A.TWO", "A.THREE", "A.LATE", before=first)

    assert (later.tables, later.announced) == (("A.ONE", "A.THREE"), {})


def test_a_table_that_is_none_to_capture_is_left_out_with_the_reason() -> None:
    found = resolve_patterns(pipeline("A.*"), [ListedTable(TableId("A", "Q"), "is a queue table")], 10, None)

    assert (found.tables, found.left_out) == ((), {"A.Q": "is a queue table"})


def test_a_pattern_without_a_table_is_an_error_and_an_exclusion_a_warning() -> None:
    def severities(of: Pipeline) -> dict[str, str]:
        return {f.subject: f.severity for f in find_unmatched(of, listed("A.ONE"))}

    assert severities(pipeline("A.*", "A.X*", "!A.Y")) == {"A.X*": "error"}
    assert severities(pipeline("A.*", "!A.Y")) == {"!A.Y": "warning"}


PLAIN = {
    "table_name": "T", "temporary": "N", "external": "NO", "nested": "NO", "secondary": "N", "dropped": "NO", "iot_type": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, None),
        ({"iot_type": "IOT"}, None),
        ({"temporary": "Y"}, "temporary"),
        ({"external": "YES"}, "external"),
        ({"nested": "YES"}, "nested"),
        ({"secondary": "Y"}, "domain index"),
        ({"table_name": "BIN$qwWbGYSWJnTgQwoBDQjRhQ==$0"}, "recycle bin"),
        ({"table_name": "SYS_IOT_OVER_77", "iot_type": "IOT_OVERFLOW"}, "overflow"),
        ({"table_name": "CMP3$81274"}, "compression advisor"),
        ({"table_name": "DBMS_TABCOMP_TEMP_UNCMP"}, "compression advisor"),
        ({"table_name": "SYS_EXPORT_SCHEMA_01"}, "Data Pump"),
        ({"table_name": "SYS_IMPORT_TRANSPORTABLE_12"}, "Data Pump"),
        ({"table_name": "SYS_SQL_FILE_FULL_01"}, "Data Pump"),
        ({"table_name": "SYS_JOURNAL_93111"}, "rebuilt online"),
        ({"table_name": "SYS_FBA_HIST_93111"}, "Flashback Archive"),
        ({"table_name": "ERR$_ORDERS"}, "DML error log"),
        ({"table_name": "CMP3$81274_KEPT"}, None),
        ({"table_name": "SYS_EXPORT_SCHEMA_OF_MINE"}, None),
        ({"table_name": "SYS_JOURNAL_OF_MINE"}, None),
        ({"table_name": "ERR_ORDERS"}, None),
        ({"table_name": "err$_orders"}, None),
    ],
)
def test_tables_of_oracles_own_kinds_are_recognised(row: dict[str, str], why: str | None) -> None:
    found = kind_left_out(SimpleNamespace(**{**PLAIN, **row}))

    assert found is None if why is None else why in (found or "")


def test_the_tables_behind_a_queue_table_belong_to_it() -> None:
    queues = {TableId("A", "JOBS")}

    assert [is_of_queue(TableId("A", name), queues) for name in ("AQ$_JOBS_H", "AQ$_OTHER_H", "JOBS")] == [True, False, False]
