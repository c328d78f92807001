"""What MERGE makes of the target's rows. DuckDB runs the statement, translated by sqlglot: it is the same in both."""

from __future__ import annotations

from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from redolake.apply.delta.merge import NO_ROW, merge_sql
from redolake.apply.delta.sql import table_at
from redolake.apply.key_range import KeyRange
from redolake.apply.target import NetColumns, TargetColumn
from redolake.values.target_options import TargetOptions

ID, NAME, PHOTO = TargetColumn(1, "ID", "int"), TargetColumn(2, "the name", "string"), TargetColumn(3, "PHOTO", "string")
COLUMNS = (ID, NAME, PHOTO)
PLAIN = TargetOptions(metadata_columns=())
MARKING = TargetOptions(deletes="mark")
FAILS = -1  # stands for the error that fails the MERGE
ROWS = [(1, "one", "p1"), (2, "two", "p2"), (3, None, None)]


def merged(
    changes: list[dict[str, Any]], has: NetColumns, options: TargetOptions = PLAIN, rows: list[tuple[Any, ...]] = ROWS
) -> list[tuple[Any, ...]]:
    """Return the target's rows after a MERGE of the changes into `rows`."""
    own = {"_commit_scn": "bigint", "_deleted": "boolean"}
    types = {"op": "text", "is_read": "boolean", "is_whole": "boolean", "lacks": "boolean", "k1": "int", "a1": "int", **own}
    names = sorted({name for change in changes for name in change})
    with duckdb.connect() as db:
        added = "".join(f", {name} {own[name]}" for name in options.own_columns)
        db.execute(f'CREATE TABLE target ("ID" int, "the name" text, "PHOTO" text{added})')
        db.executemany(f"INSERT INTO target VALUES ({', '.join('?' for _ in rows[0])})", rows)
        db.execute(f"CREATE TABLE net ({', '.join(f'{name} {type_of(name, types)}' for name in names)})")
        for change in changes:
            db.execute(f"INSERT INTO net VALUES ({', '.join('?' for _ in names)})", [change.get(name) for name in names])
        db.execute(for_duckdb(merge_sql("/lake/t", "net", COLUMNS, has, options)))
        return sorted(db.execute("SELECT * FROM target").fetchall(), key=repr)


def for_duckdb(sql: str) -> str:
    """Translate the statement. DuckDB names no table on the left of SET, and evaluates an error where none is due."""
    merge = sqlglot.parse_one(sql.replace(table_at("/lake/t"), "target").replace(NO_ROW, f"'{FAILS}'"), read="spark")
    for update in merge.find_all(exp.Update):
        for assignment in update.expressions:
            assignment.this.set("table", None)
    return merge.sql("duckdb")


def type_of(name: str, types: dict[str, str]) -> str:
    return "boolean" if name.startswith("u") else types.get(name, "text")


def change(op: str, key: int | None, *values: Any, **more: Any) -> dict[str, Any]:
    given = {f"a{number}": value for number, value in enumerate((key, *values), 1)}
    return {"op": op, "k1": key, **given, **more}


def test_each_net_change_gives_its_row_or_removes_it() -> None:
    changes = [
        change("U", 1, "ONE", None),
        change("D", 2, None, None),
        change("U", 4, "four", "p4"),
        change("D", 5, None, None),
    ]

    assert merged(changes, NetColumns(key=[1])) == [(1, "ONE", None), (3, None, None), (4, "four", "p4")]


def test_a_key_that_is_null_is_no_row_of_the_target_without_whole_rows() -> None:
    rows = [(None, "nobody", None), *ROWS]

    assert (None, "nobody", None) in merged([change("D", None, None, None)], NetColumns(key=[1]), rows=rows)


def test_a_column_that_the_redo_lacks_keeps_the_targets_value() -> None:
    has = NetColumns(key=[1], missing=[2])
    changes = [change("U", 1, None, "new", u2=True, lacks=True), change("U", 2, "TWO", "new", u2=False, lacks=False)]

    assert merged(changes, has) == [(1, "one", "new"), (2, "TWO", "new"), (3, None, None)]


def test_a_new_row_needs_all_its_columns() -> None:
    has = NetColumns(key=[1], missing=[2])

    assert (4, "four", None) in merged([change("U", 4, "four", None, u2=False, lacks=False)], has)
    assert (FAILS, None, "new") in merged([change("U", 4, None, "new", u2=True, lacks=True)], has)


def test_large_objects_are_set_where_they_were_read() -> None:
    has = NetColumns(key=[1], objects=[3])
    changes = [change("U", 1, "ONE", None, is_read=False), change("U", 2, "TWO", "new", is_read=True)]

    assert merged(changes, has) == [(1, "ONE", "p1"), (2, "TWO", "new"), (3, None, None)]


def test_a_change_of_objects_alone_sets_them_and_the_filled_columns() -> None:
    changes = [change("O", 1, "not set", "new", is_read=True), change("O", 9, "no", "row", is_read=True)]

    assert merged(changes, NetColumns(key=[1], objects=[3]))[0] == (1, "one", "new")
    assert merged(changes, NetColumns(key=[1], filled=[2])) == [(1, "not set", "p1"), *ROWS[1:]]
    assert merged(changes, NetColumns(key=[1], objects=[3], filled=[2]))[0] == (1, "not set", "new")


def test_the_metadata_columns_are_those_of_the_change() -> None:
    rows = [(*row, 10) for row in ROWS]
    changes = [change("U", 1, "ONE", None, _commit_scn=20), change("U", 4, "four", None, _commit_scn=30)]

    found = merged(changes, NetColumns(key=[1]), TargetOptions(), rows)

    assert {row[0]: row[3] for row in found} == {1: 20, 2: 10, 3: 10, 4: 30}


def test_metadata_columns_of_a_change_of_objects_alone_are_set() -> None:
    rows = [(*row, 10) for row in ROWS]
    changes = [change("O", 1, None, "new", is_read=True, _commit_scn=20)]

    assert merged(changes, NetColumns(key=[1], objects=[3]), TargetOptions(), rows)[0] == (1, "one", "new", 20)


MARKED_ROWS = [(1, "one", "p1", 10, False), (2, "two", "p2", 10, True)]


def test_a_marked_row_stays_with_its_values() -> None:
    changes = [change("D", 1, None, None, _commit_scn=20, _deleted=True)]

    found = merged(changes, NetColumns(key=[1]), MARKING, MARKED_ROWS)

    assert found == [(1, "one", "p1", 20, True), MARKED_ROWS[1]]


def test_a_removed_row_that_a_shadow_never_had_leaves_its_key_there() -> None:
    changes = [change("D", key, None, None, _commit_scn=20, _deleted=True) for key in (1, 7)]
    has = NetColumns(key=[1], keeps_removed=True)

    assert merged(changes, has, MARKING, MARKED_ROWS) == [
        (1, "one", "p1", 20, True), MARKED_ROWS[1], (7, None, None, 20, True),
    ]  # fmt: skip


def test_a_marked_row_has_no_values_that_a_change_could_keep() -> None:
    has = NetColumns(key=[1], missing=[2])
    both = [change("U", key, None, "new", u2=True, lacks=True, _commit_scn=20, _deleted=False) for key in (1, 2)]

    assert merged(both[:1], has, MARKING, MARKED_ROWS)[0] == (1, "one", "new", 20, False)
    assert merged(both[1:], has, MARKING, MARKED_ROWS)[1] == (2, str(FAILS), "new", 20, False)


WHOLE = NetColumns(key=[1], has_whole=True)
NULLED = [(None, "a", "p"), (None, "b", None), (1, "one", "p1")]


def test_a_row_without_a_key_is_removed_by_all_its_values_and_never_matched_as_new() -> None:
    removed = [change("D", None, "b", None, is_whole=True)]
    added = [change("U", None, "a", "p", is_whole=True)]
    keyed = [change("U", 1, "ONE", None, is_whole=False)]

    assert merged(removed, WHOLE, rows=NULLED) == [(1, "one", "p1"), (None, "a", "p")]
    assert merged(added, WHOLE, rows=NULLED).count((None, "a", "p")) == 2
    assert merged(keyed, WHOLE, rows=NULLED)[0] == (1, "ONE", None)
    assert merged([change("D", None, "b", "p", is_whole=True)], WHOLE, rows=NULLED) == sorted(NULLED, key=repr)


def test_a_row_without_a_key_that_is_marked_already_is_not_marked_again() -> None:
    rows = [(None, "a", None, 10, True), (None, "a", "other", 10, False)]
    changes = [change("D", None, "a", None, is_whole=True, _commit_scn=20, _deleted=True)]

    assert merged(changes, WHOLE, MARKING, rows) == sorted(rows, key=repr)
    assert merged(changes, WHOLE, MARKING, [(None, "a", None, 10, False)]) == [(None, "a", None, 20, True)]


def test_only_rows_within_the_range_of_the_keys_are_looked_at() -> None:
    has = NetColumns(key=[1], within=KeyRange(ID, 2, 3))

    assert merged([change("D", key, None, None) for key in (1, 2, 3)], has) == [(1, "one", "p1")]


def test_all_columns_of_the_key_find_the_row() -> None:
    changes = [{**change("D", 1, None, None), "k2": "other"}, {**change("D", 2, None, None), "k2": "two"}]

    assert merged(changes, NetColumns(key=[1, 2])) == [ROWS[0], ROWS[2]]
