"""`<name>_backfill` and `redolake backfill` over an old SCN range, against the stand-in: they write shadows and nothing else.

A shadow holds the rows as the changes that committed in the range leave them: the source AS OF the range's end, but only
those rows that changed in it. A plain fold stands in for Spark; with Spark: tests/e2e/kill_workflows.py, test_two_hosts.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.steps.run import capture
from tests.fixtures.airflow import configure, run_dag
from tests.fixtures.shop import Shop, open_shop
from tests.references.folder_lake import FolderLake, rows_in_folder

pytestmark = pytest.mark.airflow

Row = tuple[Any, ...]
FOLDED = [(2, "early", 20), (3, "it's", 3), (10, "long", 10), (11, None, 11), (12, "kept", 12), (50, "early", 5)]


@dataclass(slots=True)
class History:
    """Changes of SHOP.PARTS and SHOP.BINS over several windows; `scn` maps names of moments to SCNs."""

    shop: Shop
    pipeline: Pipeline
    scn: dict[str, int] = field(default_factory=dict)
    source_then: list[Row] = field(default_factory=list)  # those parts at the range's end: no AS OF reads past a later DDL

    def source(self, sql: str) -> list[Row]:
        with self.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            return [tuple(row) for row in cursor.execute(sql).fetchall()]

    def mark(self, name: str) -> None:
        """Name the SCN above every commit so far."""
        ((scn,),) = self.source("SELECT current_scn FROM v$database")
        self.scn[name] = int(scn) + 1

    def captured(self, apply: bool = True) -> int:
        """Switch the logs, land every window and apply them; return the SCN that is landed to."""
        self.shop.switch_logs()
        while capture(Run(self.pipeline, self.shop.params)).plan.window:
            pass
        if apply:
            steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark="no Spark")
        return int(steps.read_status(self.pipeline).next_start_scn or 0)

    def target(self, table: str) -> str:
        return next(self.pipeline.target(t.id) for t in self.pipeline.tables if str(t.id) == table)

    def shadow(self, start: str, end: str, table: str = "SHOP.PARTS") -> str:
        lake = self.pipeline.lake
        return self.target(table).replace(lake, f"{lake}/_shadow/{self.scn[start]}-{self.scn[end]}")

    def rows(self, path: str) -> list[Row]:
        """Return the rows of a table."""
        return sorted(tuple(row.values()) for row in rows_in_folder(path))

    def contents(self, table: str) -> dict[str, bytes]:
        """Return the files of a table in the lake."""
        return {path.name: path.read_bytes() for path in Path(self.target(table)).rglob("*")}

    def backfill(self, start: str, end: str, *tables: str) -> None:
        steps.run_backfill(self.pipeline, self.scn[start], self.scn[end], tables, execute=True, spark="no Spark")

    def range(self, start: str, end: str, *tables: str, dry_run: bool = False) -> dict[str, Any]:
        chosen = list(tables) or ["SHOP.PARTS"]
        return {"from_scn": self.scn[start], "to_scn": self.scn[end], "tables": chosen, "dry_run": dry_run}

    def files(self) -> set[Path]:
        """Return every file except the ledger's."""
        folders = (self.shop.folder / "landing", self.shop.folder / "lake")
        return {path for folder in folders for path in folder.rglob("*") if "ledger" not in path.name}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, airflow_db: None) -> Iterator[History]:
    connect = "spark-connect://127.0.0.1:1"
    with (
        pytest.MonkeyPatch.context() as patch,
        open_shop(tmp_path_factory.mktemp("backfill")) as shop,
        FolderLake().in_place_of_spark(),
    ):
        for table in ("parts", "bins", "late"):
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            )
        tables = ["SHOP.PARTS", "SHOP.BINS"]
        history = History(shop, configure(shop, patch, tables, {"mode": "connect"}, connect))
        write(history)
        # Captured from now on, but its contents were never read.
        history.pipeline = configure(shop, patch, [*tables, "SHOP.LATE"], {"mode": "connect"}, connect)
        yield history


def write(history: History) -> None:
    shop = history.shop
    shop.run_sql(*(f"INSERT INTO parts VALUES ({n}, 'early', {n})" for n in range(1, 8)))
    steps.take_snapshot(history.pipeline, source=shop.params, spark="no Spark")
    with shop.oracle.connect("SHOP", instance_name=shop.instances[1]) as before, shop.oracle.connect("SHOP") as after:
        with before.cursor() as cursor:  # begins before the range and commits in it
            cursor.execute("INSERT INTO parts VALUES (10, 'long', 10)")
            cursor.execute("UPDATE parts SET quantity = 20 WHERE id = 2")
        shop.run_sql("UPDATE parts SET quantity = 11 WHERE id = 1", "INSERT INTO bins VALUES (1, 'old', 1)")
        history.scn["from"] = history.captured()
        shop.run_sql("INSERT INTO parts VALUES (11, NULL, 11)", "UPDATE parts SET place = 'it''s', quantity = 3 WHERE id = 3")
        history.mark("inside")
        shop.run_sql(
            "DELETE FROM parts WHERE id = 4",
            "UPDATE parts SET id = 50 WHERE id = 5",
            "INSERT INTO parts VALUES (13, 'short', 13)",
            "DELETE FROM parts WHERE id = 13",
            "INSERT INTO bins VALUES (2, 'new', 2)",
        )
        history.mark("further inside")
        history.scn["middle"] = history.captured(apply=False)  # two windows, and both of them in one batch
        with after.cursor() as cursor:  # begins in the range and commits behind it
            cursor.execute("UPDATE parts SET quantity = 70 WHERE id = 7")
            cursor.execute("INSERT INTO parts VALUES (14, 'later', 14)")
        shop.run_sql(
            "INSERT INTO parts VALUES (12, 'kept', 12)",
            "SAVEPOINT doubt",
            "UPDATE parts SET quantity = -1 WHERE id = 12",
            "DELETE FROM parts WHERE id = 6",
            "ROLLBACK TO SAVEPOINT doubt",
        )
        before.commit()
        history.scn["to"] = history.captured()
        ids = ", ".join(str(row[0]) for row in FOLDED)
        history.source_then = history.source(
            f"SELECT id, place, quantity FROM parts AS OF SCN {history.scn['to'] - 1} WHERE id IN ({ids}) ORDER BY id"
        )
        after.commit()
    shop.run_sql(
        "UPDATE parts SET quantity = 99 WHERE id IN (3, 10, 12)",
        "ALTER TABLE parts ADD (shelf VARCHAR2(10))",
        "INSERT INTO parts VALUES (15, 'last', 15, 'A1')",
        "DELETE FROM parts WHERE id = 11",
    )
    history.scn["end"] = history.captured(apply=False)  # landed, and not applied yet


def test_a_dry_run_ends_after_prepare_and_writes_nothing(history: History) -> None:
    before = history.files()

    state, tasks = run_dag(history.pipeline, "backfill", history.range("from", "to", dry_run=True))

    assert (state, tasks) == ("success", {"prepare": "success", "spark": "skipped", "record": "skipped"})
    assert history.files() == before


def test_the_shadow_has_the_rows_of_the_range_live_tables_stay_and_a_repeat_is_equal(history: History) -> None:
    status, live = steps.read_status(history.pipeline), [history.contents(table) for table in ("SHOP.PARTS", "SHOP.BINS")]

    done = [run_dag(history.pipeline, "backfill", history.range("from", "to")) for _ in range(2)]

    assert done == [("success", {"prepare": "success", "spark": "success", "record": "success"})] * 2
    assert history.rows(history.shadow("from", "to")) == history.source_then == FOLDED
    assert not Path(history.shadow("from", "to", "SHOP.BINS")).exists()
    assert [history.contents(table) for table in ("SHOP.PARTS", "SHOP.BINS")] == live
    assert all(live)
    assert steps.read_status(history.pipeline) == status


def test_a_range_may_begin_and_end_within_a_window(history: History) -> None:
    history.backfill("inside", "further inside", "SHOP.PARTS", "SHOP.BINS")

    assert history.rows(history.shadow("inside", "further inside")) == [(50, "early", 5)]
    assert history.rows(history.shadow("inside", "further inside", "SHOP.BINS")) == [(2, "new", 2)]


def test_the_shadow_follows_a_ddl_in_a_range_that_is_landed_but_not_applied(history: History) -> None:
    history.backfill("to", "end", "SHOP.PARTS")

    assert history.rows(history.shadow("to", "end")) == [
        (3, "it's", 99, None),
        (7, "early", 70, None),
        (10, "long", 99, None),
        (12, "kept", 99, None),
        (14, "later", 14, None),
        (15, "last", 15, "A1"),
    ]


@pytest.mark.parametrize(
    ("start", "end", "tables", "said"),
    [
        pytest.param("to", "to", ["SHOP.PARTS"], "holds no SCN", id="an empty range"),
        pytest.param("to", "from", ["SHOP.PARTS"], "give a from-SCN below the to-SCN", id="a range turned round"),
        pytest.param("from", "beyond", ["SHOP.PARTS"], r"landed is \[\d+, {end}\)", id="more than is landed"),
        pytest.param(
            "first",
            "to",
            ["SHOP.PARTS"],
            r"a DDL at SCN \d+ changed it before it was first described.*\n.*begin at SCN \d+",
            id="older than the snapshot",
        ),
        pytest.param("from", "to", ["SHOP.NONE"], "SHOP.NONE: is no table of the pipeline.*\n.*SHOP.PARTS", id="no such table"),
        pytest.param("from", "to", ["parts"], "parts: is no table of the pipeline", id="a name without its owner"),
        pytest.param("from", "to", ["SHOP.LATE"], "no contents yet", id="a table without contents"),
    ],
)
def test_an_impossible_range_is_refused_and_writes_nothing(
    history: History, start: str, end: str, tables: list[str], said: str
) -> None:
    first = steps.list_windows(history.pipeline)[0].from_scn
    scns = {**history.scn, "beyond": history.scn["end"] + 1, "first": first}
    before = history.files()

    for dry_run in (True, False):
        with pytest.raises(ConfigurationError) as refused:
            steps.prepare_backfill(history.pipeline, scns[start], scns[end], tables, dry_run)
        assert refused.match(said.replace("{end}", str(history.scn["end"])))

    assert history.files() == before


def test_a_refused_range_fails_the_run_at_prepare(history: History) -> None:
    state, tasks = run_dag(history.pipeline, "backfill", {**history.range("from", "to"), "to_scn": history.scn["end"] + 1})

    assert (state, tasks) == ("failed", {"prepare": "failed", "spark": "upstream_failed", "record": "upstream_failed"})


# --- From the terminal ------------------------------------------------------------------------------------------------


def redolake(*arguments: object) -> tuple[int, str]:
    """Run the command in this process; as one of its own: tests/e2e/test_kills_everywhere.py."""
    done = CliRunner().invoke(app, ["backfill", *map(str, arguments)])
    return done.exit_code, done.stdout


def test_the_terminal_shows_the_plan_and_executes_it_on_request(history: History) -> None:
    order = ("--from", history.scn["from"], "--to", history.scn["middle"], "shop.parts", "--output", "json")

    planned, executed = redolake(*order, "--dry-run"), redolake(*order, "--execute")

    assert [planned[0], executed[0]] == [0, 0]
    plan, done = json.loads(planned[1]), json.loads(executed[1])
    assert (plan["batch"], plan["tables"]) == (None, ["SHOP.PARTS"])
    assert "insert(s)" in plan["plan"]
    assert plan["details"]["tables"][0]["changes"] == {"insert": 2, "update": 2, "delete": 2}
    assert [(t["table"], t["inserted"], t["target"]) for t in done["tables"]] == [
        ("SHOP.PARTS", 3, history.shadow("from", "middle"))
    ]
    assert len(history.rows(history.shadow("from", "middle"))) == 3


def test_the_terminal_reports_a_refused_range_by_exit_code_and_as_json(history: History) -> None:
    code, output = redolake("--from", 5, "--to", 5, "--output", "json")

    assert code == 2
    assert [f["what"] for f in json.loads(output)["findings"]] == ["[5, 5) holds no SCN"]
