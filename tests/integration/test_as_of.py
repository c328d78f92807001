"""All tables as of one SCN of the source: a bank's sum over two tables is the same at every commit while the stream runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.config.union_views import UnionView
from redolake.context import Run
from redolake.errors import ConfigurationError, NotReadableAsOf
from redolake.host import crash
from redolake.lake import Lake, lake
from redolake.steps.ranges.as_of import opened_as_of, plan_read
from redolake.steps.shown.history_views import history_of
from redolake.steps.shown.views import STATEMENTS, ViewOf, view_name
from redolake.values.history_sql import as_of_sql
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows, read_delta
from tests.support.lake_readers import delta_extension
from tests.unit.steps.test_views import ODD

pytestmark = pytest.mark.spark

ACCOUNTS, SUM = ("SHOP.SAVINGS", "SHOP.CURRENTS"), 1000


class Killed(BaseException):
    """Stands for a process that ends here."""


@dataclass(slots=True)
class Bank:
    """Two tables of accounts between which money is moved; `commits` are the SCNs after each transfer."""

    shop: Shop
    spark: Any
    pipeline: Any
    commits: list[int] = field(default_factory=list)

    def transfer(self, number: int, *more: str) -> None:
        amount, account = 1 + number % 7, 1 + number % 2
        self.shop.run_sql(
            f"UPDATE savings SET amount = amount - {amount} WHERE id = {account}",
            *more,
            f"UPDATE currents SET amount = amount + {amount} WHERE id = {account}",
        )
        self.commits.append(self.scn())

    def scn(self) -> int:
        with self.shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
            return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])

    def apply(self) -> None:
        self.shop.switch_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def applied_to(self) -> int:
        return min(int(table.complete_to_scn or 0) for table in steps.read_status(self.pipeline).tables)

    def at(self, scn: int | str) -> dict[str, dict[int, int]]:
        """Return the amounts by account in both tables."""
        with Run(self.pipeline, spark=self.spark) as run, opened_as_of(run, plan_read(run, str(scn))) as (then, _):
            return {str(table): {r["ID"]: int(r["AMOUNT"]) for r in frame.collect()} for table, frame in then.items()}

    def newest(self, table: str) -> dict[int, int]:
        return {row["ID"]: int(row["AMOUNT"]) for row in delta_rows(self.pipeline.target(TableId.parse(table)))}

    def in_histories(self, scn: int) -> dict[str, dict[int, int]]:
        """Return the amounts by account as the histories of both tables say, which needs no Spark."""
        found = dict[str, dict[int, int]]()
        for name in ACCOUNTS:
            table = TableId.parse(name)
            path = str(self.pipeline.history_target(table))
            one = history_of(table, path, self.pipeline.target(table))
            assert one is not None
            with duckdb.connect() as connection:
                connection.register("history", read_delta(path))
                sql = as_of_sql("history", one.columns, one.key, lambda text: f'"{text}"', scn)
                rows = connection.execute(f"SELECT id, amount FROM ({sql})").fetchall()
            found[name] = {int(number): int(amount) for number, amount in rows}
        return found

    def check_every_commit(self) -> int:
        """See that the sum is right at each commit up to where both tables are, as their histories tell it; return how many."""
        known = [scn for scn in self.commits if scn <= self.applied_to()]
        for scn in known:
            found = self.in_histories(scn)
            assert (total(found), found) == (SUM, self.source(scn)), scn
        return len(known)

    def source(self, scn: int) -> dict[str, dict[int, int]]:
        with self.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            read = {t: cursor.execute(f"SELECT id, amount FROM {t} AS OF SCN {scn}").fetchall() for t in ACCOUNTS}
        return {table: {int(i): int(amount) for i, amount in rows} for table, rows in read.items()}


def total(tables: dict[str, dict[int, int]]) -> int:
    return sum(sum(amounts.values()) for amounts in tables.values())


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Bank]:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path_factory.mktemp("bank"))
        for table, digits in (("savings", 9), ("currents", 12)):  # a view over both has the wider type
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, amount NUMBER({digits}), note VARCHAR2(10))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            )
        shop.run_sql(
            *(f"INSERT INTO savings VALUES ({n}, 300, 's')" for n in (1, 2, 3)),
            *(f"INSERT INTO currents VALUES ({n}, {100 if n == 1 else 0}, 'c')" for n in (1, 2, 3)),
        )
        tables = [{"table": table, "history": "changes"} for table in ACCOUNTS]
        found = Bank(shop, spark, shop.pipeline(tables=tables, spark={"parallel_tables": 1}))
        steps.take_snapshot(found.pipeline, source=shop.params, spark=spark)
        yield found


def test_the_sum_is_the_same_at_each_commit_while_batches_are_applied_and_killed(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bank.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE savings SET amount = amount - 50 WHERE id = 3")  # open over the first batch
        for number in range(2):
            bank.transfer(number + 1)
        bank.apply()
        assert bank.check_every_commit() == 2
        cursor.execute("UPDATE currents SET amount = amount + 50 WHERE id = 3")
        connection.commit()
        bank.commits.append(bank.scn())
    bank.transfer(4, "INSERT INTO currents VALUES (4, 0, 'new')")
    bank.transfer(7, "DELETE FROM currents WHERE id = 4")

    for point in ("history", "merge"):  # one of the tables has its commit, and nothing says so
        with monkeypatch.context() as killing:
            killing.setenv(crash.VARIABLE, point)
            killing.setattr(crash.os, "kill", killed)
            crash._passed.clear()
            with pytest.raises(Killed):
                bank.apply()
        assert bank.check_every_commit() == 2
    assert total({table: bank.newest(table) for table in ACCOUNTS}) != SUM, "so newest versions are of two moments"
    between = bank.at("now")
    assert (total(between), between) == (SUM, bank.source(bank.applied_to()))

    bank.apply()
    assert bank.check_every_commit() == len(bank.commits) == 5
    for scn in (*bank.commits, bank.applied_to()):
        found = bank.at(scn)
        assert (total(found), found) == (SUM, bank.source(scn)), scn
    assert not list(Path(bank.pipeline.lake, "_as_of").glob("*"))
    assert not list(Path(bank.pipeline.landing, "shop", "as-of").glob("*"))
    assert steps.verify_tables(bank.pipeline, source=bank.shop.params, spark=bank.spark).equal


def killed(*_: object) -> None:
    raise Killed


def test_an_scn_at_which_a_table_is_not_known_is_refused_with_its_name(bank: Bank) -> None:
    first = min(int(t.complete_to_scn or 0) for t in steps.read_status(bank.pipeline).tables)
    with pytest.raises(NotReadableAsOf, match=rf"the table is complete to SCN {first} only") as ahead:
        bank.at(first + 1)
    with pytest.raises(NotReadableAsOf, match="had no contents yet at SCN 2000001,") as before:
        bank.at(2000001)

    assert ahead.value.cure.startswith(f"choose SCN {first} or lower")
    assert total(bank.at(first)) == SUM
    assert str(ahead.value.where["table"]) == str(before.value.where["table"]) == "SHOP.SAVINGS"


def test_tables_are_written_or_queried_as_of_a_moment_by_command_and_from_python(bank: Bank, tmp_path: Path) -> None:
    scn = bank.commits[0]
    written = steps.read_as_of(bank.pipeline, str(scn), to=str(bank.shop.folder / "then"), spark=bank.spark)
    sql = "SELECT sum(amount) AS both FROM (SELECT amount FROM SAVINGS UNION ALL SELECT amount FROM SHOP_CURRENTS)"
    asked = steps.read_as_of(bank.pipeline, "now", sql=sql, spark=bank.spark)
    config = tmp_path / "pipelines.yml"
    settings = bank.pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_defaults=True)
    config.write_text(json.dumps({"pipelines": {"shop": settings}}))
    with lake("shop", config).at(bank.spark, scn, ["SHOP.SAVINGS"]) as then:
        amounts = {row["ID"]: int(row["AMOUNT"]) for row in then.table("SHOP.SAVINGS").collect()}

    for wrong in ("SELECT nothing FROM SAVINGS", "INSERT INTO SAVINGS VALUES (1)", "SELECT 1; DROP VIEW SAVINGS"):
        with pytest.raises(ConfigurationError, match=r"--sql: not answered: \S"):
            steps.read_as_of(bank.pipeline, "now", sql=wrong, spark=bank.spark)

    assert [(t.table, t.rows, t.replayed) for t in written.tables] == [("SHOP.SAVINGS", 3, True), ("SHOP.CURRENTS", 3, True)]
    assert pq.read_table(bank.shop.folder / "then" / "shop" / "savings").num_rows == 3
    assert (asked.columns, asked.result) == (("both",), ((str(SUM),),))
    assert amounts == bank.source(scn)["SHOP.SAVINGS"]
    assert isinstance(lake("shop", config), Lake)


BOTH = "SELECT kind, id, amount FROM bank.accounts"


def test_spark_makes_the_view_of_a_table_of_any_name(bank: Bank) -> None:
    path = bank.pipeline.target(TableId("SHOP", "SAVINGS"))
    views = [ViewOf(TableId(name, name), path) for name in (*ODD, "GLOBAL_TEMP", "SPARK_CATALOG", "DEFAULT")]
    for statement in STATEMENTS["spark"](views, []):
        bank.spark.sql(statement.removesuffix(";"))

    rows = bank.spark.read.format("delta").load(path).count()
    for view in views:
        assert bank.spark.table(view_name("spark", view.table)).count() == rows


def test_views_have_one_scn_in_each_engine_that_is_here(bank: Bank) -> None:
    ends = [window.last_scn for window in steps.list_windows(bank.pipeline)]
    view = UnionView(tables=("SHOP./(SAVINGS|CURRENTS)/",), discriminator="kind", value="{1}")
    pipeline = bank.pipeline.model_copy(update={"union_views": {"bank.accounts": view}})
    spark = steps.write_views(pipeline, "spark", str(ends[0]))
    duck = steps.write_views(pipeline, "duckdb", str(ends[0]))
    for statement in spark.text.split(";\n"):
        if statement.strip():
            bank.spark.sql(statement)
    with duckdb.connect() as connection:
        connection.load_extension(delta_extension())
        connection.execute(duck.text.replace("INSTALL delta;\nLOAD delta;", ""))
        in_duckdb = connection.execute("SELECT id, amount FROM shop.savings").fetchall()
        both_in_duckdb = connection.execute(BOTH).fetchall()

    source = bank.source(ends[0])
    then = source["SHOP.SAVINGS"]
    both = {(name.partition(".")[2], i, amount) for name, rows in source.items() for i, amount in rows.items()}
    assert {row["ID"]: int(row["AMOUNT"]) for row in bank.spark.sql("SELECT * FROM shop.savings").collect()} == then
    assert {int(i): int(amount) for i, amount in in_duckdb} == then
    assert {(kind, int(i), int(amount)) for kind, i, amount in bank.spark.sql(BOTH).collect()} == both
    assert {(kind, int(i), int(amount)) for kind, i, amount in both_in_duckdb} == both
    with pytest.raises(NotReadableAsOf, match="a view cannot apply changes"):
        steps.write_views(bank.pipeline, "spark", str(bank.commits[0]))
    assert 'SELECT * FROM delta."shop"."savings$delta" FOR VERSION AS OF' in (
        steps.write_views(bank.pipeline, "trino", str(ends[0])).text
    )
