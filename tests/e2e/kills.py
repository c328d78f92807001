"""A source that keeps changing, pipelines that copy it in separate processes, and the checks after kills.

The processes run `redolake` as a terminal does. They are forked from one that has imported everything, so they start at once.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from redolake.config import Pipeline, load_configuration
from redolake.context import Run
from redolake.host import crash
from redolake.host.crash import VARIABLE
from redolake.land.landing import Landing
from redolake.land.windows import Windows
from tests.fixtures.disk import nothing_waits_for_the_disk
from tests.fixtures.ledger import ledgers_share_compiled_statements
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows
from tests.references.folder_lake import FolderLake, rows_in_folder
from tests.thirds import EVERY

BOTH = ("parts", "bins")
TABLES = [f"SHOP.{table.upper()}" for table in BOTH]
MEANWHILE = ("nothing", "more landed", "ledger lost", "ledger older")
IN_TURN = "one after the other"
# On the Connect server, which starts new Python workers for each session; so no process releases it.
SESSION = str(uuid.uuid4())
NO_SPARK = "sc://no-spark"  # the remote of copies whose lake is tests/references/folder_lake.py
SECONDS = 600.0  # of a machine that has much else to do

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "tests.e2e.kill_server",
        __name__,
        # What steps, libraries and patches import when they need it.
        "redolake.job.comparison",
        "redolake.job.job",
        "pyarrow.dataset",
        "pydantic.dataclasses",
        "pyspark.sql.connect.session",
        "sqlglot.generators.duckdb",
        "tests.references.source_comparison",
        "typer._adapters",
    ]
)


# --- What the processes do -------------------------------------------------------------------------------------------


def begin(work: Callable[..., Any], arguments: tuple[Any, ...], env: dict[str, str], log: str, points: Container[str]) -> None:
    from pyspark.sql.connect.client.core import SparkConnectClient

    os.environ.update(env)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    SparkConnectClient.release_session = lambda _: None
    with ExitStack() as around:
        around.enter_context(nothing_waits_for_the_disk())
        around.enter_context(ledgers_share_compiled_statements())
        if env["REDOLAKE_SPARK_REMOTE"] == NO_SPARK:
            around.enter_context(FolderLake().in_place_of_spark())
        around.enter_context(killed_only_at(points))
        work(*arguments)


@contextmanager
def killed_only_at(points: Container[str]) -> Iterator[None]:
    is_new = crash.is_new
    with mock.patch.object(crash, "is_new", lambda name, killed_at: name in points and is_new(name, killed_at)):
        yield


def redolake(*arguments: str) -> None:
    from tests.e2e.kill_server import COMMAND

    COMMAND(list(arguments))


def capture_all(name: str) -> None:
    """Land every sealed window, as the capture DAG does, and apply nothing."""
    from redolake import steps

    pipeline = configured_pipeline(name)
    while window := (found := steps.plan_next_window(pipeline)).window:
        steps.land_window(pipeline, window, [steps.mine_window_slice(pipeline, window, n) for n in found.slices])


def read_snapshot_again(name: str, table: str, answer: str) -> None:
    """Run the first half of the snapshot DAG with `replace`; write its SCN to the file `answer`."""
    from redolake import steps

    begun = steps.begin_snapshot(configured_pipeline(name), [table], replace=True)
    steps.read_snapshot_table(configured_pipeline(name), begun.scn, table)
    Path(answer).write_text(str(begun.scn))


def load(name: str, table: str, scn: int) -> None:
    """Run the second half of that DAG."""
    from redolake import steps

    pipeline = configured_pipeline(name)
    batch = steps.prepare_snapshot_load(pipeline, {table: scn}, replace=True)
    steps.run_spark_job(Run(pipeline, spark=steps.open_spark(pipeline)), batch)
    steps.record_snapshot_load(pipeline, batch)


def begin_first_snapshot(name: str) -> None:
    """Run the first step of the first snapshot; capture can begin after it."""
    from redolake import steps

    steps.begin_snapshot(configured_pipeline(name), TABLES)


def pause_no_more(name: str) -> None:
    """Let chunks be read again, without reading any."""
    from redolake import steps

    steps.pause_snapshots(configured_pipeline(name), [], paused=False)


def prepare(name: str, answer: str) -> None:
    from redolake import steps

    Path(answer).write_text(steps.prepare_batch(configured_pipeline(name)).batch)


def configured_pipeline(name: str) -> Pipeline:
    return load_configuration(Path(os.environ["REDOLAKE_CONFIG"])).pipelines[name]


# --- The source ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ChangingSource:
    """Two tables, changed on two redo threads. `work` leaves a transaction open, which `finish` commits. `changing`: the tables
    that change; one where two would prove nothing more."""

    shop: Shop
    changing: tuple[str, ...] = BOTH
    steps: Iterable[int] = field(default_factory=lambda: count(1))
    open_one: Any = None
    to_drop: list[str] = field(default_factory=lambda: ["spare"])

    def __post_init__(self) -> None:
        for table in BOTH:
            self.shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(2000), quantity NUMBER(9), spare NUMBER(5))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(f"INSERT INTO {table} (id, place, quantity) VALUES ({n}, 'first', {n})" for n in range(1, 10)),
            )
        self.shop.switch_logs()

    def change(self, base: int, instance: int) -> None:
        """Make every kind of change, a partial rollback and a key update in one transaction on one redo thread."""
        with self.shop.oracle.connect("SHOP", instance_name=self.shop.instances[instance]) as connection:
            cursor = connection.cursor()
            for table in self.changing:
                for n in range(1, 6):
                    cursor.execute(f"INSERT INTO {table} (id, place, quantity) VALUES ({base + n}, 'it''s {n}', {n})")
                cursor.execute(f"UPDATE {table} SET quantity = quantity + {base} WHERE id IN (1, {base + 1})")
                cursor.execute(f"DELETE FROM {table} WHERE id = {base + 2}")
                cursor.execute(f"UPDATE {table} SET id = {base + 90}, place = NULL WHERE id = {base + 3}")
                cursor.execute("SAVEPOINT doubt")
                cursor.execute(f"DELETE FROM {table} WHERE id = {base + 4}")
                cursor.execute(f"UPDATE {table} SET quantity = -1 WHERE id = 2")
                cursor.execute("ROLLBACK TO SAVEPOINT doubt")
            connection.commit()

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def work(self, ddl: bool = False) -> None:
        self.finish_open()
        base = next(self.steps) * 1000
        self.change(base, 0)
        self.open_one = self.shop.oracle.connect("SHOP")
        for table in self.changing:
            self.open_one.cursor().execute(f"INSERT INTO {table} (id, place, quantity) VALUES ({base + 500}, 'open', 1)")
            self.open_one.cursor().execute(f"UPDATE {table} SET place = 'open' WHERE id = {base + 5}")
        self.shop.switch_logs()
        self.change(base + 100, 1)
        if ddl:
            self.finish_open()
            self.shop.run_sql(*(f"ALTER TABLE parts DROP COLUMN {name}" for name in self.to_drop))
            self.to_drop = [f"note_{base}", f"mark_{base}"]
            self.shop.run_sql(
                f"ALTER TABLE parts ADD (note_{base} VARCHAR2(10) DEFAULT 'none', mark_{base} NUMBER(5))",
                f"UPDATE parts SET note_{base} = 'noted', mark_{base} = 7 WHERE id IN (1, {base + 90})",
            )
        self.shop.switch_logs()

    def finish_open(self) -> None:
        if self.open_one is not None:
            self.open_one.commit()
            self.open_one.close()
            self.open_one = None

    def more(self) -> None:
        self.change(next(self.steps) * 1000, 1)
        self.shop.switch_logs()

    def much(self) -> None:
        """Insert more than the limit of the full-disk test lets a file hold; the text does not compress."""
        some = random.Random(1)
        base = next(self.steps) * 1000
        rows = [(base + n, some.randbytes(900).hex()) for n in range(400)]
        with self.shop.oracle.connect("SHOP") as connection:
            for table in self.changing:
                connection.cursor().executemany(f"INSERT INTO {table} (id, place, quantity) VALUES (:1, :2, 1)", rows)
            connection.commit()
        self.shop.switch_logs()

    def finish(self) -> None:
        self.finish_open()
        self.more()


# --- A pipeline that copies it ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class PipelineCopy:
    """A pipeline with its own landing, ledger and lake."""

    name: str
    source: ChangingSource
    folder: Path
    remote: str
    logs: Iterable[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.configure()

    def configure(
        self, window_bytes: str = "48KiB", tables: Sequence[Any] = TABLES, *, few_changes: str | None = None, **more: Any
    ) -> None:
        """`few_changes` says who merges them; by default the process that is killed."""
        settings = self.source.shop.pipeline(
            self.name,
            tables=list(tables),
            landing=str(self.folder / "landing"),
            lake=str(self.folder / "lake"),
            spark={"mode": "connect", **({} if few_changes is None else {"few_changes": few_changes})},
            window={"max_bytes": window_bytes, "slice_bytes": "24KiB" if window_bytes == "48KiB" else window_bytes},
            **more,
        )
        body = {"pipelines": {self.name: settings.model_dump(exclude={"name"}, exclude_unset=True)}}
        self.settings.write_text(yaml.safe_dump(body))

    @property
    def settings(self) -> Path:
        return self.folder / "pipelines.yml"

    @property
    def pipeline(self) -> Pipeline:
        return load_configuration(self.settings).pipelines[self.name]

    @property
    def windows(self) -> Windows:
        return Landing(self.pipeline.landing, self.name).windows

    def environment(self, remote: str) -> dict[str, str]:
        oracle = self.source.shop.oracle
        user = oracle.capture_user
        return {
            "AIRFLOW_CONN_ORACLE_SHOP": f"oracle://{quote(user)}:{oracle.passwords[user]}@{oracle.root_dsn}",
            "REDOLAKE_CONFIG": str(self.settings),
            "REDOLAKE_SPARK_REMOTE": remote,
        }

    def start_process(
        self,
        work: Callable[..., Any],
        *arguments: Any,
        crash_at: str = "",
        points: Container[str] = EVERY,
        remote: str | None = None,
    ) -> tuple[Any, Path]:
        log = self.folder / f"{next(self.logs):03d}.log"
        env = self.environment(self.remote if remote is None else remote) | ({VARIABLE: crash_at} if crash_at else {})
        process = processes.Process(target=begin, args=(work, arguments, env, str(log), points))
        process.start()
        return process, log

    @property
    def shared_session(self) -> str:
        return NO_SPARK if self.remote == NO_SPARK else f"{self.remote}/;session_id={SESSION}"

    def run_process(
        self, work: Callable[..., Any], *arguments: Any, crash_at: str = "", points: Container[str] = EVERY
    ) -> tuple[int, str]:
        """Run a process to its end; return its exit code and its output."""
        process, log = self.start_process(work, *arguments, crash_at=crash_at, points=points, remote=self.shared_session)
        process.join(SECONDS)
        assert process.exitcode is not None, f"{work.__name__} does not end: {log.read_text()[-2000:]}"
        return process.exitcode, log.read_text()

    def repeat_until_done(
        self,
        killed_at: Path,
        meanwhile: Callable[[], None],
        work: Callable[..., Any],
        *arguments: Any,
        points: Container[str] = EVERY,
        codes: tuple[int, ...] = (0,),
    ) -> int:
        """Repeat the work until it ends; each attempt is killed at the first of `points` that `killed_at` does not list yet."""
        while (found := self.run_process(work, *arguments, crash_at=str(killed_at), points=points))[0] == -signal.SIGKILL:
            meanwhile()
        code, said = found
        used = killed_at.read_text().splitlines() if killed_at.exists() else []
        assert code in codes, f"exit {code} after the kills at {used[-8:]}: {said[-2500:]}"
        return code

    def succeed(self, work: Callable[..., Any], *arguments: Any, codes: tuple[int, ...] = (0,)) -> str:
        code, said = self.run_process(work, *arguments)
        assert code in codes, f"exit {code}: {said[-1500:]}"
        return said

    def catch_up(self, codes: tuple[int, ...] = (0,)) -> str:
        return self.succeed(redolake, "run", "--until-caught-up", codes=codes)

    # --- its lake ---

    def rows_at(self, path: str) -> list[dict[str, Any]]:
        return delta_rows(path) if self.remote != NO_SPARK else rows_in_folder(path)

    # --- its ledger ---

    def ledger_files(self) -> list[Path]:
        return sorted((self.folder / "landing").glob("redolake-ledger.db*"))

    def keep_ledger(self) -> None:
        kept = self.folder / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for file in self.ledger_files():
            shutil.copy(file, kept)

    def lose_ledger(self) -> None:
        for file in self.ledger_files():
            file.unlink()

    def put_back_ledger(self) -> None:
        """Restore the older ledger; before the first one was kept, that is none."""
        self.lose_ledger()
        for file in (self.folder / "kept").glob("*"):
            shutil.copy(file, self.folder / "landing")

    def data_files(self) -> set[Path]:
        return set((self.folder / "lake").rglob("*.parquet"))

    def chunks(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "landing").rglob("chunk-*.json"))

    # --- what must hold ---

    def check_landing(self) -> None:
        """Check that windows and declared gaps form one chain, and that every file of a manifest exists with its rows."""
        landing = self.folder / "landing" / self.name
        places = [json.loads(file.read_text()) for file in sorted((landing / "chain").iterdir())]
        windows = {(body["start"], body["end"]): body for body in places if body["record"] == "window manifest"}
        for file in (landing / "windows").glob("*/manifest.json"):
            body = json.loads(file.read_text())
            assert windows.pop((body["start"], body["end"])) == body
            rows = sum(pq.read_metadata(file.parent / name).num_rows for name in body["files"])
            assert rows == sum(part["landed_rows"] for part in body["circumstance"]["slices"].values())
        assert windows == {}, "they have a place in the chain, and no manifest"
        ends = [
            (b["start"]["scn"], b["end"]["scn"]) if b["record"] == "declared gap" else (b["start"], b["end"]) for b in places
        ]
        assert all(before[1] == after[0] for before, after in pairwise(ends)), ends

    def landed_from(self, scn: int) -> Counter[tuple[Any, ...]]:
        """Return the landed redo rows from `scn` on, counted."""
        rows: Counter[tuple[Any, ...]] = Counter()
        for manifest in self.windows.after():
            for file in self.windows.files_of(manifest):
                found = pq.read_table(file, columns=["scn", "thread", "rs_id", "ssn", "xid", "operation_code", "sql_redo"])
                rows.update(tuple(row.values()) for row in found.filter(pc.field("scn") >= scn).to_pylist())
        return rows

    def check_batches(self) -> None:
        """Check that the batches follow the chain to its end."""
        landing = self.folder / "landing" / self.name
        places = [json.loads(file.read_text()) for file in sorted((landing / "chain").iterdir())]
        breaks = {body["start"]["scn"]: body["end"]["scn"] for body in places if body["record"] == "declared gap"}
        manifests = sorted(f for f in (landing / "batches").glob("*/manifest.json") if f.parent.name.count("-") == 2)
        batches = [(body["start"], body["end"]) for body in (json.loads(file.read_text()) for file in manifests)]
        assert all(breaks.get(before[1], before[1]) == after[0] for before, after in pairwise(batches)), batches
        assert batches[-1][1] == places[-1]["end"], "what is landed is not all applied"


# --- Kills after each write ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class KillSequence:
    """Run a workflow's processes until they end by themselves, with a kill after each write not killed at before.

    `killed_at` lists the points already used; `between` is what happens between a kill and the repeat. `points` are those to
    kill at, by default all.
    """

    copy: PipelineCopy
    killed_at: Path
    between: str
    turns: Iterator[int]
    points: Container[str] = EVERY

    def run(self, work: Callable[..., Any], *arguments: Any, codes: tuple[int, ...] = (0,)) -> int:
        return self.copy.repeat_until_done(self.killed_at, self.meanwhile, work, *arguments, points=self.points, codes=codes)

    def run_in_rounds(self, before: Callable[[], None], work: Callable[..., Any], *arguments: Any) -> None:
        """Repeat `before` and the work until no write is left to kill at."""
        known = -1
        while known < len(self.used()):
            known = len(self.used())
            before()
            self.run(work, *arguments)

    def kill_again_at(self, *points: str) -> None:
        """Kill again at points of earlier workflows whose state differs in this one."""
        kept = [line for line in self.used() if line not in points and line.partition(" ")[0] not in points]
        self.killed_at.write_text("".join(f"{line}\n" for line in kept))

    def used(self) -> list[str]:
        return self.killed_at.read_text().splitlines() if self.killed_at.exists() else []

    def meanwhile(self) -> None:
        event = MEANWHILE[next(self.turns) % len(MEANWHILE)] if self.between == IN_TURN else self.between
        if event == "more landed":
            self.copy.source.more()
            self.copy.succeed(capture_all, self.copy.name, codes=(0, 1))  # 1: redo is lost
        elif event == "ledger lost":
            self.copy.lose_ledger()
        elif event == "ledger older":
            self.copy.put_back_ledger()
