"""Which commits of others in a Delta log changed rows that we have not seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redolake.apply.delta.commit import text_of
from redolake.apply.delta.log import read_log

MINE = "shop/SHOP.ORDERS/1"
ADD = {"add": {"path": "x", "dataChange": True}}


def ours(app: str = MINE, **note: object) -> list[dict[str, object]]:
    return [{"commitInfo": {"operation": "MERGE", "userMetadata": text_of(note)}}, {"txn": {"appId": app, "version": 9}}, ADD]


def others(operation: str = "DELETE", *, change: bool = True) -> list[dict[str, object]]:
    return [{"commitInfo": {"operation": operation}}, {"remove": {"path": "x", "dataChange": change}}]


def upkeep(**note: object) -> list[dict[str, object]]:
    return [
        {"commitInfo": {"operation": "OPTIMIZE", "userMetadata": text_of({"upkeep": "x", **note})}},
        *others(change=False)[1:],
    ]


SETTING = [{"commitInfo": {"operation": "SET TBLPROPERTIES", "userMetadata": text_of({"settings": "x"})}}]
CASES = {
    "after our last commit": ([ours(), others(), others("UPDATE")], [(1, "DELETE"), (2, "UPDATE")]),
    "between what was checked and our commit": ([ours(), others(), ours(checked=0)], [(1, "DELETE")]),
    "on both sides of it": ([ours(), others(), ours(checked=0), others("WRITE")], [(1, "DELETE"), (3, "WRITE")]),
    "known before our commit": ([ours(), others(), ours(checked=1)], []),
    "before a repair, which has read it": ([ours(), others(), ours(f"{MINE}/repair", checked=1)], []),
    "before a commit of an older release": ([ours(), others(), ours()], []),
    "before a load, which replaces it": ([ours(), others(), ours(f"{MINE}/load/2-t")], []),
    "settings of ours hide nothing": ([ours(), others(), SETTING, ours(checked=0), SETTING], [(1, "DELETE")]),
    "rows moved to other files": ([ours(), others("OPTIMIZE", change=False), ours(checked=0)], []),
    "rows moved by REORG": ([ours(), others("REORG", change=False)], []),
    "a write that calls itself no change": ([ours(), others("WRITE", change=False)], [(1, "WRITE")]),
    "one that does not say what it is": ([ours(), others(change=False)[1:]], [(1, "")]),
    "one that does not say whether it changes rows": (
        [ours(), [*others("OPTIMIZE")[:1], {"add": {"path": "x"}}]],
        [(1, "OPTIMIZE")],
    ),
    "another captured table": ([ours(), ours("shop/SHOP.OTHERS/1"), ours(checked=0)], [(1, "MERGE")]),
    "a history's cut of an older release": (
        [ours(), [{"commitInfo": {"operation": "WRITE", "userMetadata": text_of({"history_begins": 7})}}, ADD]],
        [],
    ),
    "upkeep of ours that checked": ([ours(), others(), upkeep(checked=0)], [(1, "DELETE")]),
    "upkeep of ours that knew it": ([ours(), others(), ours(checked=1), upkeep(checked=2)], []),
    "upkeep of ours that found rows of others": ([ours(), others(), upkeep()], [(1, "DELETE")]),
    "another incarnation is ours": ([ours("shop/SHOP.ORDERS/7"), ours(checked=0)], []),
}


@pytest.mark.parametrize("case", CASES)
def test_each_commit_of_others_is_seen_until_one_of_ours_has_checked_it(tmp_path: Path, case: str) -> None:
    commits, found = CASES[case]

    assert foreign(tmp_path, commits) == found


def test_commits_of_others_are_seen_when_log_retention_has_removed_ours(tmp_path: Path) -> None:
    assert foreign(tmp_path, [ours(), others("UPDATE"), others()], kept_from=2) == [(2, "DELETE")]


@pytest.mark.parametrize("left", [others("OPTIMIZE", change=False), SETTING, upkeep()])
def test_commits_that_log_retention_has_removed_after_ours_are_not_taken_for_none(tmp_path: Path, left: list[object]) -> None:
    """Others changed rows, and compacted the table. Only that is left."""
    ((version, what),) = foreign(tmp_path, [ours(), others(), left], kept_from=2)  # type: ignore[list-item]

    assert (version, "log retention" in what) == (2, True)


def test_a_table_at_rest_that_is_only_maintained_is_known_by_what_that_has_checked(tmp_path: Path) -> None:
    assert foreign(tmp_path, [ours(), upkeep(checked=0), upkeep(checked=1)], kept_from=2) == []


def foreign(table: Path, commits: list[list[dict[str, object]]], kept_from: int = 0) -> list[tuple[int, str]]:
    (table / "_delta_log").mkdir()
    for number, actions in enumerate(commits):
        text = "\n".join(map(json.dumps, actions))
        (table / "_delta_log" / f"{number:020d}.json").write_text(text)
    if kept_from:
        (table / "_delta_log" / f"{kept_from - 1:020d}.checkpoint.parquet").write_bytes(b"")
        for number in range(kept_from):
            (table / "_delta_log" / f"{number:020d}.json").unlink()
    log = read_log(str(table))
    assert log is not None
    return log.foreign_writes("shop/SHOP.ORDERS/")
