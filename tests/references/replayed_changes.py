"""The changes of a range (`redolake backfill --target changes`), applied one after the other in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Rows = dict[Any, dict[str, Any]]


def read_changes(spark: Any, form: str, target: str) -> list[dict[str, Any]]:
    """Return the changes in their order."""
    found = spark.read.format(form).load(target).orderBy("_commit_scn", "_seq").collect()
    return [row.asDict(recursive=True) for row in found]


def replayed(rows: Iterable[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]], key: str) -> Rows:
    """Return the rows after the changes, by their key. What a change says of the row before it must be what is there; columns
    that it does not know stay as they are."""
    table: Rows = {row[key]: dict(row) for row in rows}
    for change in changes:
        operation, before, after = change["_op"], change["before"], change["after"]
        if operation == "truncate":
            table.clear()
            continue
        old: dict[str, Any] = {}
        if before is not None:
            old = table.pop(before[key])
            assert known(before, change["_unknown_before"]).items() <= old.items(), change
        if after is not None:
            new = known(after, change["_unknown_after"])
            assert after[key] not in table, change
            table[after[key]] = {**old, **new}
            assert set(table[after[key]]) == set(after), f"the row after {change} is not known"
        assert (before is not None, after is not None) == (operation != "insert", operation != "delete"), change
    return table


def known(image: Mapping[str, Any], unknown: Iterable[str] | None) -> dict[str, Any]:
    without = frozenset(unknown or ())
    return {name: value for name, value in image.items() if name not in without}
