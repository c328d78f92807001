"""For generated lives and mappings the lake equals the mapping applied to the source, by plain Python, also where a load or a
batch is killed after some of its writes and repeated. The changes of a range, applied in order to the table as of its
beginning, give the table as of its end; another mapping in the middle of a life is filled."""

from __future__ import annotations

import hashlib
import hmac
import os
import random
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.hunts import EXAMPLES, hunt
from tests.generated.killed import repeat_killed
from tests.references.delta_table import delta_rows
from tests.references.replayed_changes import read_changes, replayed

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("REDOLAKE_SEED", "7"))
KEY = "a key of masks that nobody guesses"
Row = Mapping[str, Any]
Value = Callable[[Row], Any]


def null_if_any(*names: str) -> Callable[[Value], Value]:
    return lambda value: lambda row: None if any(row[name] is None for name in names) else value(row)


# Spark SQL, its type, and the same in Python.
EXPRESSIONS: tuple[tuple[str, str, Value], ...] = (
    ("a + b", "bigint", null_if_any("A", "B")(lambda row: row["A"] + row["B"])),
    ("upper(s)", "string", null_if_any("S")(lambda row: row["S"].upper())),
    ("concat(s, '-', region)", "string", null_if_any("S", "REGION")(lambda row: f"{row['S']}-{row['REGION']}")),
    ("CASE WHEN a > 5 THEN 'big' ELSE 'small' END", "string", lambda row: "big" if (row["A"] or 0) > 5 else "small"),
    ("coalesce(s, 'none')", "string", lambda row: "none" if row["S"] is None else row["S"]),
    ("length(s)", "int", null_if_any("S")(lambda row: len(row["S"]))),
    ("a IS NULL", "boolean", lambda row: row["A"] is None),
    ("`ID` % 3", "int", lambda row: row["ID"] % 3),
    ("'ERP'", "string", lambda row: "ERP"),
)
MASKS: dict[str, Callable[[str], str | None]] = {
    "hash": lambda text: hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest(),
    "redact": lambda text: "***",
    "last4": lambda text: f"****{text[-4:]}" if len(text) >= 8 else "****",
    "null": lambda text: None,
}
FILTERS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("region = 'EU'", lambda row: row["REGION"] == "EU"),
    ("region <> 'EU' OR a IS NULL", lambda row: row["REGION"] not in (None, "EU") or row["A"] is None),
    ("a BETWEEN 2 AND 7", lambda row: row["A"] is not None and 2 <= row["A"] <= 7),
    ("NOT (region IN ('EU', 'US'))", lambda row: row["REGION"] is not None and row["REGION"] not in ("EU", "US")),
    ("`ID` > 10", lambda row: row["ID"] > 10),
    ("nvl(a, 0) + nvl(b, 0) > 6", lambda row: (row["A"] or 0) + (row["B"] or 0) > 6),
)


NAMES = ("amount", "a.b", "b`c", "\N{GRINNING FACE}", "select", "x" * 200, 'it\'s "q"\\', "_change_type", "ς")
COMMENT = "it's ü \\ %s"


def made_mapping(chance: random.Random) -> tuple[dict[str, Any], Callable[[Row], bool], dict[str, Value]]:
    """Return an entry of pipelines.yml, the filter, and the columns of the lake."""
    columns: dict[str, Value] = {name: itemgetter(name) for name in ("ID", "A", "B", "S", "REGION")}
    entry: dict[str, Any] = {"table": "SHOP.T", "mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
    for number, (sql, type_, value) in enumerate(chance.sample(EXPRESSIONS, chance.randint(0, 4))):
        entry.setdefault("add", {})[f"x{number}"] = {"expression": sql, "type": type_}
        columns[f"x{number}"] = value
    if chance.random() < 0.5:
        mask = chance.choice(sorted(MASKS))
        entry["mask"] = {"S": mask}
        columns["S"] = null_if_any("S")(lambda row: MASKS[mask](row["S"]))
    elif chance.random() < 0.5:
        entry["columns"] = {"S": {"expression": "concat(s, region)", "type": "string"}}
        columns["S"] = null_if_any("S", "REGION")(lambda row: row["S"] + row["REGION"])
    with_key(chance, entry, columns)
    if chance.random() < 0.3:
        entry["transform"] = {"function": "tests.references.user_code:size_of_s", "columns": {"made": "int"}}
        columns["made"] = null_if_any("S")(lambda row: len(row["S"]))
    with_names(chance, entry, columns)
    if chance.random() < 0.7:
        text, passes = chance.choice(FILTERS)
        entry["where"] = text
        return entry, passes, columns
    return entry, lambda row: True, columns


def with_key(chance: random.Random, entry: dict[str, Any], columns: dict[str, Value]) -> None:
    """Compute the key, or mask it."""
    kind = chance.random()
    if kind < 0.3:
        entry.setdefault("columns", {})["ID"] = {"expression": "`ID` * 2", "type": "bigint", "injective": True}
        columns["ID"] = lambda row: row["ID"] * 2
    elif kind < 0.5:
        entry.setdefault("mask", {})["ID"] = "hash"
        columns["ID"] = lambda row: MASKS["hash"](str(row["ID"]))


def with_names(chance: random.Random, entry: dict[str, Any], columns: dict[str, Value]) -> None:
    """Give columns other names, comments, an order and the table another folder."""
    for old, new in zip(("A", "B", "ID"), chance.sample(NAMES, 3), strict=True):
        if chance.random() < 0.5:
            entry.setdefault("rename", {})[old] = new
            columns[new] = columns.pop(old)
    if chance.random() < 0.5:
        entry.setdefault("columns", {})["REGION"] = {"comment": COMMENT}
        entry["target"] = chance.choice(("deep/er-1/T", "ü$x"))
    entry["column_order"] = chance.sample(sorted(columns), chance.randint(0, len(columns)))


def with_more(
    chance: random.Random, entry: dict[str, Any], columns: dict[str, Value]
) -> tuple[dict[str, Any], dict[str, Value]]:
    """Return the mapping with another column, and with a mask for S, which may have had another one, an expression, or none."""
    sql, type_, value = chance.choice(EXPRESSIONS)
    mask = chance.choice(sorted(MASKS))
    shaped = {name: one for name, one in entry.get("columns", {}).items() if name != "S"}
    more = {"add": {"y": {"expression": sql, "type": type_}, **entry.get("add", {})}, "columns": shaped}
    masked = {**entry.get("mask", {}), "S": mask}
    return {**entry, **more, "mask": masked}, {**columns, "y": value, "S": null_if_any("S")(lambda row: MASKS[mask](row["S"]))}


def statement(chance: random.Random, taken: set[int]) -> str:
    """Return a statement on a table of which `taken` are the keys, and change these."""

    def literal(name: str) -> str:
        if chance.random() < 0.2:
            return "NULL"
        if name in ("A", "B"):
            return str(chance.randint(0, 9))
        return repr(
            chance.choice(("EU", "US", "AP")) if name == "REGION" else chance.choice(("x", "long text 1", "zzzz", "12345678"))
        )

    free, kind = [i for i in range(1, 25) if i not in taken], chance.random()
    if (kind < 0.4 or not taken) and free:
        new = chance.choice(free)
        taken.add(new)
        return f"INSERT INTO t VALUES ({new}, {', '.join(map(literal, ('A', 'B', 'S', 'REGION')))})"
    old = chance.choice(sorted(taken))
    if kind < 0.6:
        taken.discard(old)
        return f"DELETE FROM t WHERE id = {old}"
    sets = [f"{name} = {literal(name)}" for name in chance.sample(("A", "B", "S", "REGION"), chance.randint(1, 3))]
    if chance.random() < 0.3 and free:
        new = chance.choice(free)
        taken.discard(old)
        taken.add(new)
        sets.append(f"ID = {new}")
    return f"UPDATE t SET {', '.join(sets)} WHERE id = {old}"


def live(shop: Shop, chance: random.Random, taken: set[int], transactions: int) -> None:
    """Run transactions, of which some are rolled back."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for _ in range(transactions):
            before = set(taken)
            for _ in range(chance.randint(1, 4)):
                cursor.execute(statement(chance, taken))
            if chance.random() < 0.2:
                connection.rollback()
                taken.clear()
                taken.update(before)
            else:
                connection.commit()


def rows_of_source(shop: Shop) -> list[Row]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, a, b, s, region FROM t")
        return [dict(zip(("ID", "A", "B", "S", "REGION"), row, strict=True)) for row in cursor]


Mark = tuple[int, list[dict[str, Any]]]  # a position of the table, and its rows


def mark(pipeline: Any) -> Mark:
    (table,) = steps.read_status(pipeline).tables
    assert table.error is None
    return int(table.complete_to_scn or 0), delta_rows(pipeline.target(pipeline.tables[0].id))


def check(shop: Shop, pipeline: Any, entry: Any, passes: Callable[[Row], bool], columns: Mapping[str, Value]) -> Mark:
    """Compare the table with the mapping of the source, and return what it has."""
    wanted = [{name: value(row) for name, value in columns.items()} for row in rows_of_source(shop) if passes(row)]
    found = mark(pipeline)
    assert sorted(({name: row[name] for name in columns} for row in found[1]), key=repr) == sorted(wanted, key=repr), entry
    return found


def fill(pipeline: Any, source: Any, spark: Any) -> None:
    steps.fill_columns(pipeline, "SHOP.T", execute=True, reason="another mapping", source=source, spark=spark)


def check_changes(pipeline: Any, spark: Any, key: str, first: Mark, last: Mark) -> None:
    """See that the changes between two moments, applied to the first one's rows in their order, give those of the last one."""
    (start, began), (end, ended) = first, last
    written = steps.run_backfill(pipeline, start + 1, end + 1, execute=True, target="changes", spark=spark).recorded
    assert written is not None
    made = replayed(began, read_changes(spark, "delta", written.tables[0].target), key)
    assert sorted(made.values(), key=repr) == sorted(ended, key=repr)


@hunt
@pytest.mark.parametrize("number", range(max(1, EXAMPLES)))
def test_the_lake_equals_the_mapping_of_the_source(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("REDOLAKE_MASK_KEY", KEY)
    monkeypatch.setenv("LANDING_KEY", "a key of the landing that nobody guesses")
    chance, taken = random.Random(f"{SEED} {number}"), set[int]()
    entry, passes, columns = made_mapping(chance)
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE t (id NUMBER(9) PRIMARY KEY, a NUMBER(9), b NUMBER(9), s VARCHAR2(40), region VARCHAR2(2))",
            "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        )
        live(shop, chance, taken, 8)
        encrypted: dict[str, Any] = {"landing_key": {"variable": "LANDING_KEY"}} if number % 2 == 0 else {}
        pipeline = shop.pipeline(tables=[entry], spark={"parallel_tables": 1}, **encrypted)
        source, kills = shop.params, 0
        kills += repeat_killed(monkeypatch, chance, lambda: steps.take_snapshot(pipeline, source=source, spark=spark))
        marks, key = [[mark(pipeline)]], entry.get("rename", {}).get("ID", "ID")  # of each mapping
        for turn in range(3):
            live(shop, chance, taken, 12)
            shop.switch_logs()
            run = partial(steps.run_pipeline, pipeline, until_caught_up=True, source=source, spark=spark)
            kills += repeat_killed(monkeypatch, chance, run)
            marks[-1].append(check(shop, pipeline, entry, passes, columns))
            fields = spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id)).schema.fields
            if turn == 1:
                entry, columns = with_more(chance, entry, columns)
                pipeline = shop.pipeline(tables=[entry], spark={"parallel_tables": 1}, **encrypted)
                kills += repeat_killed(monkeypatch, chance, partial(fill, pipeline, source, spark))
                marks.append([check(shop, pipeline, entry, passes, columns)])

            assert [field.name for field in fields][: len(entry["column_order"])] == entry["column_order"]
            assert [field.metadata["comment"] for field in fields if "comment" in field.metadata] == [
                one["comment"] for one in entry.get("columns", {}).values() if "comment" in one
            ]
        for epoch in marks:
            first, last = sorted(chance.sample(range(len(epoch)), 2))
            kills += repeat_killed(monkeypatch, chance, partial(check_changes, pipeline, spark, key, epoch[first], epoch[last]))
        assert steps.verify_tables(pipeline, source=source, spark=spark).equal
        assert kills > 0
        rows = [file.name for file in (tmp_path / "landing").rglob("*.parquet")]
        assert {name.endswith(".encrypted.parquet") for name in rows} == {bool(encrypted)}
