"""All writers of a pipeline's tables in any order, each killed after any write, or overtaken by another process.

The stream, snapshots (whole and in chunks), repairs, quarantines, closed gaps, old ranges filled again, swaps with copies and
back, rebuilt histories, prune, late tasks and lost ledgers work on the same tables. What Oracle had is recorded after each
commit. After each step the rows of each Delta table are those of the SCN that its log names, and of the SCN that the ledger
names; no position goes back.
"""

from __future__ import annotations

import random
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb

from redolake import steps
from redolake.apply.delta.log import read_log
from redolake.config.keep import KeepSettings
from redolake.config.pipeline import Pipeline
from redolake.context import Run
from redolake.errors import RedolakeError, RedoLost, TableHeld
from redolake.steps.ranges.logs import LogsToRead
from redolake.steps.shown.history_views import history_of
from redolake.values.history_sql import as_of_sql
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.table_lives import killer
from tests.references.delta_table import read_delta
from tests.references.plain_lake import PlainLake
from tests.states.lost_ledger import lose_ledger
from tests.support.killed import Killed

Row = dict[str, Any]
TABLES: dict[str, tuple[str, dict[str, Any]]] = {  # their supplemental logging and their settings
    "KEYED": ("ALL", {"history": "scd2"}),
    "LEAN": ("PRIMARY KEY", {"history": "changes"}),
    "ODD": ("ALL", {"columns": {"N": 2}, "on_error": {"value": "quarantine"}}),
    "LARGE": ("ALL", {}),
}
MANY = 1_500  # rows of LARGE, which is read in chunks
FITS, UNFIT = "1.25", "1.2345"


@dataclass
class State:
    """The committed rows from `since` on, which is the SCN before the commit."""

    since: int
    rows: dict[int, tuple[Any, ...]]


@dataclass
class Begun:
    tables: tuple[str, ...]
    scn: int
    replace: bool


@dataclass
class Writers:
    shop: Shop
    spark: Any
    pipeline: Pipeline
    chance: random.Random
    names: tuple[str, ...]
    sessions: list[Any] = field(default_factory=list)
    states: dict[str, list[State]] = field(default_factory=dict)
    touched: list[set[str]] = field(default_factory=lambda: [set(), set()])
    positions: dict[str, int] = field(default_factory=dict)
    begun: list[Begun] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)  # whole copies, by table and name
    keeps_damage: set[str] = field(default_factory=set)  # tables whose damaged rows a swap has kept
    has_gap: bool = False
    may_fall: bool = False  # a snapshot was loaded: it may be AS OF a lower SCN than batches have reached
    gaps: list[tuple[int, int]] = field(default_factory=list)  # SCNs at which nobody knew what a gap had
    damaged: set[str] = field(default_factory=set)
    unfit: set[int] = field(default_factory=set)  # keys of ODD that had a value which does not fit
    came_from: dict[int, int] = field(default_factory=dict)  # by a key of a row the one before it
    next_id: int = 10
    checked: int = 0
    log: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)

    # --- the source

    @property
    def scn(self) -> int:
        return int(self.shop.oracle.database.clock.scn)

    def record(self, names: Sequence[str], since: int) -> None:
        with self.shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            for name in names:
                rows = cursor.execute(f"SELECT id, v, n FROM {name}").fetchall()
                self.states[name].append(State(since, {int(key): (v, number(n)) for key, v, n in rows}))

    def truth(self, name: str, scn: int) -> dict[int, tuple[Any, ...]]:
        states = self.states[name]
        return states[bisect_left([state.since for state in states], scn) - 1].rows

    def work(self) -> None:
        for _ in range(self.chance.randint(1, 3)):
            number = self.chance.randrange(2)
            for _ in range(self.chance.randint(1, 3)):
                self.change(number)
            if (end := self.chance.random()) < 0.75:
                self.end(number, commits=end < 0.6)

    def end(self, session: int, *, commits: bool = True) -> None:
        since, names = self.scn, sorted(self.touched[session])
        self.touched[session].clear()
        if not commits:
            self.sessions[session].rollback()
        elif names:
            self.sessions[session].commit()
            self.record(names, since)
        self.log.append(f"    session {session} {'commits' if commits else 'rolls back'} by SCN {self.scn}")

    def change(self, session: int) -> None:
        """Change a row; each session has keys of its own."""
        name = self.chance.choice(self.names)
        with self.sessions[session].cursor() as cursor:
            mine = [int(row[0]) for row in cursor.execute(f"SELECT id FROM {name} WHERE MOD(id, 2) = {session}")]
            choice = self.chance.random()
            if choice < 0.35 or not mine:
                self.next_id += 2
                key = self.next_id + session
                sql = f"INSERT INTO {name} VALUES ({key}, '{self.text()}', {self.value(name, key)})"
            elif choice < 0.6:
                key = self.chance.choice(mine)
                sql = f"UPDATE {name} SET n = {self.value(name, key)} WHERE id = {key}"
            elif choice < 0.75:
                sql = f"UPDATE {name} SET v = '{self.text()}' WHERE id = {self.chance.choice(mine)}"
            elif choice < 0.85:
                self.next_id += 2
                key = self.chance.choice(mine)
                self.came_from[self.next_id + session] = key
                if key in self.unfit:
                    self.unfit.add(self.next_id + session)
                sql = f"UPDATE {name} SET id = {self.next_id + session} WHERE id = {key}"
            else:
                sql = f"DELETE FROM {name} WHERE id = {self.chance.choice(mine)}"
            cursor.execute(sql)
        self.touched[session].add(name)
        self.log.append(f"    session {session}: {sql}")

    def text(self) -> str:
        return f"t{self.chance.randrange(1000)}"

    def value(self, name: str, key: int) -> str:
        if name == "ODD" and self.chance.random() < 0.3:
            self.unfit |= set(self.keys_before(key))  # an UPDATE of the key puts both keys into quarantine
            return UNFIT
        return f"{self.chance.randrange(1000)}.{self.chance.randrange(10, 99)}"

    def keys_before(self, key: int) -> Iterator[int]:
        """Yield the key and those that its row had before."""
        yield key
        if key in self.came_from:
            yield from self.keys_before(self.came_from[key])

    # --- the writers

    def capture(self, windows: int = 0) -> None:
        self.shop.switch_logs()
        for _ in range(windows or self.chance.randint(1, 6)):
            plan = steps.plan_next_window(Run(self.pipeline, self.shop.params))
            if plan.window is None:
                break
            records = [steps.mine_window_slice(Run(self.pipeline, self.shop.params), plan.window, n) for n in plan.slices]
            steps.land_window(Run(self.pipeline, self.shop.params), plan.window, records)

    def apply(self) -> bool:
        order = steps.prepare_batch(self.pipeline).batch
        if order is None:
            return False
        self.orders.append(order)
        self.run(order)
        self.record_batch(order)
        return True

    def run(self, order: str) -> None:
        self.may_fall |= "/loads/" in order
        steps.run_spark_job(Run(self.pipeline, spark=self.spark), order)

    def record_batch(self, order: str) -> None:
        if "/loads/" in order:
            steps.record_snapshot_load(self.pipeline, order)
        else:
            steps.record_batch(self.pipeline, order)

    def begin(self) -> None:
        """Begin a snapshot and read it; it is loaded later."""
        chosen = self.chance.sample(self.names, min(len(self.names), self.chance.randint(1, 2)))
        self.begin_and_read([f"SHOP.{name}" for name in chosen])

    def begin_and_read(self, tables: Sequence[str]) -> None:
        begun = steps.begin_snapshot(Run(self.pipeline, self.shop.params), tables, replace=True)
        for table in begun.tables:
            scn = begun.scn_of(table)

            def between(line: str) -> None:
                if "chunk 1 of" in line and self.chance.random() < 0.5:
                    self.work()
                    self.shop.oracle.faults.fail_statements(1555, "AS OF SCN", 1)

            done = steps.read_snapshot_table(Run(self.pipeline, self.shop.params, report=between), scn, table)
            if done.complete:
                self.begun.append(Begun((table,), done.scn, True))

    def load(self) -> None:
        if not self.begun:
            return
        one = self.chance.choice(self.begun[-3:])
        self.load_one(one)

    def load_one(self, one: Begun) -> None:
        order = steps.prepare_snapshot_load(self.pipeline, dict.fromkeys(one.tables, one.scn), replace=one.replace)
        self.orders.append(order)
        self.run(order)
        self.record_batch(order)
        self.begun = [other for other in self.begun if other is not one]

    def late(self) -> None:
        """Run a task of an older order, as after clearing a DAG run."""
        if self.orders:
            self.chance.choice([self.run, self.run, self.record_batch])(self.chance.choice(self.orders[-4:]))

    def resume(self) -> None:
        held = [table.table for table in steps.read_status(self.pipeline).tables if table.state == "held"]
        if held:
            steps.resume_tables(self.pipeline, [self.chance.choice(held)])

    def repair(self) -> None:
        """Damage rows by hand, find them and repair them."""
        if not self.damaged:
            name = self.chance.choice(self.names)
            self.damaged.add(name)
            path = self.target(name)
            self.spark.sql(f"UPDATE delta.`{path}` SET v = 'by hand' WHERE id % 3 = {self.chance.randrange(3)}")
            if self.chance.random() < 0.5:
                self.spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 5 = {self.chance.randrange(5)}")
        self.repair_damaged()

    def repair_damaged(self) -> None:
        for name in list(self.damaged):
            found = steps.verify_tables(self.pipeline, [f"SHOP.{name}"], source=self.shop.params, spark=self.spark)
            if found.tables and not found.tables[0].equal:
                steps.repair_table(self.pipeline, f"SHOP.{name}", reason="by hand", source=self.shop.params, spark=self.spark)
            if found.tables:
                self.damaged.discard(name)

    def retry(self) -> None:
        for session in range(2):
            self.end(session)
        self.correct_values()
        self.capture(windows=1_000)
        while self.apply():
            pass
        steps.retry_quarantine(self.pipeline, "SHOP.ODD", reason="they fit now", source=self.shop.params, spark=self.spark)

    def copy(self) -> None:
        """Make a whole copy of a table, from its version of some time."""
        name = self.chance.choice(self.names)
        start, _ = self.some_range([name])
        done = steps.copy_tables(self.pipeline, start, "now", [f"SHOP.{name}"], execute=True, spark=self.spark)
        self.copies.append((name, done.name))

    def swap(self) -> None:
        if self.copies:
            self.swap_with(*self.chance.choice(self.copies[-4:]))

    def undo_swap(self) -> None:
        if names := [name for name, _ in self.copies[-4:] if name not in self.keeps_damage]:
            self.swap_with(self.chance.choice(names), None)

    def swap_with(self, name: str, shadow: str | None) -> None:
        self.keeps_damage |= {name} & self.damaged
        steps.swap_table(self.pipeline, f"SHOP.{name}", shadow, execute=True, reason="by hand", spark=self.spark)

    def fill_live(self) -> None:
        """Read the rows of an old range again, from what landed or from the logs."""
        names = self.chance.sample(self.names, self.chance.randint(1, len(self.names)))
        start, end = self.some_range(names)
        logs = LogsToRead(source=self.shop.params) if self.chance.random() < 0.3 else None
        found = steps.backfill_live(
            self.pipeline, start, end, [f"SHOP.{name}" for name in names], execute=True, reason="again", from_logs=logs,
            source=self.shop.params, spark=self.spark,
        )  # fmt: skip
        self.log += [f"    {line}" for line in found.lines]

    def rebuild_history(self) -> None:
        name = self.chance.choice([name for name in self.names if "history" in TABLES[name][1]])
        start = self.chance.choice(["first", str(self.some_range([name])[0])])
        steps.rebuild_history(self.pipeline, f"SHOP.{name}", start, execute=True, spark=self.spark)

    def some_range(self, names: Sequence[str]) -> tuple[int, int]:
        """Return two SCNs between which something has landed, mostly after the tables were loaded."""
        with Run(self.pipeline) as context:
            landed = context.landing.windows.after()
            loaded = [int(e.snapshot_scn or 0) for e in context.ledger.tables() if e.table.name in names]
        first, last = (0, 1) if not landed else (int(landed[0].start), int(landed[-1].end))
        if self.chance.random() < 0.8:
            first = min(max([first, *(scn + 1 for scn in loaded)]), last - 1)
        start, end = sorted(self.chance.sample(range(first, last + 1), 2))
        return start, end

    def correct_values(self) -> None:
        since = self.scn
        self.shop.run_sql(f"UPDATE odd SET n = {FITS} WHERE n = {UNFIT}")
        self.record(["ODD"], since)

    def prune(self) -> None:
        landing = self.chance.choice(["0s", "1h"])
        keep = KeepSettings(landing=landing, ledger="0s", snapshots="0s", proofs="0s")  # type: ignore[arg-type]
        steps.prune_pipeline(self.pipeline.model_copy(update={"keep": keep}), execute=True, by="test")

    def lose(self) -> None:
        """Lose redo, and declare the gap."""
        self.gaps.append((self.scn, 0))
        self.shop.switch_logs()
        self.work()
        self.shop.switch_logs()
        self.shop.oracle.faults.purge_logs()
        self.work()
        self.shop.switch_logs()
        with suppress(RedoLost):
            steps.plan_next_window(Run(self.pipeline, self.shop.params))
        self.has_gap = True
        steps.recover_redo_loss(
            self.pipeline, "gap", reason="the tapes are gone", by="test", source=self.shop.params, spark=self.spark
        )

    def close(self) -> None:
        """Restore the lost logs and close the gap."""
        self.shop.oracle.faults.restore_logs()
        if not steps.read_status(self.pipeline).declared_gaps:
            return
        closed = steps.close_gap(
            self.pipeline, execute=True, reason="the tapes are back", by="test", source=self.shop.params, spark=self.spark
        )
        self.has_gap = not closed.done
        known = max(table.complete_to_scn or 0 for table in steps.read_status(self.pipeline).tables)
        self.gaps = [(start, end or known) for start, end in self.gaps] if closed.done else self.gaps
        self.log.append("    " + "; ".join(closed.lines))

    def lose_ledger(self) -> None:
        lose_ledger(self.shop.folder / "landing")

    # --- chance

    def something(self) -> None:
        weights: dict[Callable[[], Any], int] = {
            self.work: 20, self.capture: 12, self.apply: 14, self.late: 6, self.begin: 7, self.load: 8, self.resume: 5,
            self.prune: 3, self.lose_ledger: 4, self.fill_live: 6, self.copy: 6,
        }  # fmt: skip
        weights |= {self.close: 20} if self.has_gap else {self.lose: 3}
        if self.copies:
            weights |= {self.swap: 7, self.undo_swap: 3}
        if self.plain is None:
            weights |= {self.repair: 5, self.rebuild_history: 3}
            weights |= {self.retry: 4} if "ODD" in self.names else {}
        self.do(self.chance.choices([*weights], [*weights.values()])[0])

    def do(self, step: Callable[[], Any]) -> None:
        """Run a step; perhaps kill it after a write, or let another process do something then. An error is an answer too."""
        mark, is_undisturbed = len(self.log), step in (self.work, self.lose_ledger)
        self.log.append("")
        disturbed, outcome = self.chance.random(), ""
        what = ""
        try:
            if is_undisturbed or disturbed > 0.5:
                step()
            elif disturbed > 0.12 or step in (self.lose, self.close, self.prune):
                what = " (killed)"
                with mock.patch("redolake.host.crash.point", killer(self.chance.randint(1, 12))):
                    step()
            else:
                what = " (overtaken)"
                self.overtaken(step)
        except Killed:
            outcome = " -> killed"
        except RedolakeError as error:
            outcome = " -> " + " ".join(str(error).split())[:400]
        self.done[step.__name__] += not outcome
        self.tried[step.__name__] += 1
        self.log[mark] = f"{step.__name__}{what} by SCN {self.scn}{outcome}"
        self.check()

    def overtaken(self, step: Callable[[], Any]) -> None:
        """Let another process apply or load after one of the step's writes: the step has lost its lease, and may not know."""
        left = [self.chance.randint(1, 10)]
        other = self.chance.choice([self.apply, self.apply, self.load, self.late])

        def point(_: str) -> None:
            if threading.current_thread().name == "lease":
                return
            left[0] -= 1
            if left[0] == 0:
                try:
                    other()
                    self.log.append(f"    meanwhile {other.__name__}")
                except RedolakeError as error:
                    self.log.append(f"    meanwhile {other.__name__} -> {error}"[:300])

        with mock.patch("redolake.host.crash.point", point):
            step()

    # --- what must hold

    def target(self, name: str) -> str:
        return str(self.pipeline.target(TableId("SHOP", name)))

    @property
    def plain(self) -> PlainLake | None:
        return self.spark if isinstance(self.spark, PlainLake) else None

    def rows(self, name: str) -> dict[int, tuple[Any, ...]]:
        if self.plain is None:
            return {int(row["ID"]): (row["V"], number(row["N"])) for row in read_delta(self.target(name)).to_pylist()}
        return {int(key): (v, number(n)) for key, v, n in self.plain.tables[self.target(name)].rows.values()}

    def story(self) -> str:
        return "\n".join(self.log)

    def delta_position(self, name: str) -> int | None:
        if self.plain is not None:
            return max(self.plain.tables[self.target(name)].positions.values())
        log = read_log(self.target(name))
        if log is None:
            return None
        base = next(app.split("/load/")[0] for app in log.txns() if f"/SHOP.{name}/" in app and "/load/" in app)
        return log.last_txn(log.current_id(base))

    def has_repairs(self, name: str) -> bool:
        log = None if self.plain is not None else read_log(self.target(name))
        if log is None:
            return False
        base = next(app.split("/load/")[0] for app in log.txns() if "/load/" in app)
        return f"{log.current_id(base)}/repair" in log.txns()

    def check(self) -> None:
        if self.has_gap:
            return
        known = {table.table: table for table in steps.read_status(self.pipeline).tables}
        for name in self.names:
            position = self.delta_position(name)
            if position is None:
                continue
            assert self.may_fall or position >= self.positions.get(name, 0), self.story()
            self.positions[name] = position
            entry = known.get(f"SHOP.{name}")
            complete_to = None if entry is None else entry.complete_to_scn
            if name in self.damaged or self.is_mixed(name, position):
                continue
            if not self.has_repairs(name):  # which read rows AS OF the SCN that the ledger names
                self.compare(name, position)
            if complete_to is not None and complete_to >= position and entry.state == "live":
                self.compare(name, complete_to)
            self.checked += 1
        self.may_fall = False

    def is_mixed(self, name: str, position: int) -> bool:
        table = TableId("SHOP", name)
        with Run(self.pipeline) as context:
            manifests = [context.landing.snapshots.manifest(table, scn) for scn in context.landing.snapshots.scns(table)]
        return any(m is not None and m.settles_at is not None and m.scn <= position < m.settles_at for m in manifests)

    def compare(self, name: str, scn: int) -> None:
        found, wanted = self.rows(name), self.truth(name, scn)
        wrong = {key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)}
        if name == "ODD":
            wrong -= self.unfit
        if wrong:
            lines = [
                f"{name} at SCN {scn}, row {key}: {found.get(key)}, and Oracle had {wanted.get(key)}"
                for key in sorted(wrong)[:9]
            ]
            raise AssertionError("\n".join([*self.log, *lines]))

    def check_history(self, name: str) -> None:
        """Fold the history at each SCN since it began."""
        table = TableId("SHOP", name)
        path = str(self.pipeline.history_target(table))
        if read_log(path) is None:
            return
        one = history_of(table, path, self.target(name))
        assert one is not None
        rows = read_delta(path)
        first = min(row["_commit_scn"] for row in rows.to_pylist() if row["_op"] == "begin")
        last, holes = self.delta_position(name), list(before_loads(rows.to_pylist()))
        for scn in sorted({state.since for state in self.states[name]} | {first, last}):
            if not first <= scn <= last or any(start <= scn < end for start, end in [*self.gaps, *holes]):
                continue
            with duckdb.connect() as connection:
                connection.register("history", rows)
                sql = as_of_sql("history", one.columns, one.key, lambda text: f'"{text}"', scn)
                found = connection.execute(f"SELECT id, v, n FROM ({sql})").fetchall()
            folded = {int(key): (v, number(n)) for key, v, n in found}
            wanted = self.truth(name, scn)
            wrong = {key for key in folded.keys() | wanted.keys() if folded.get(key) != wanted.get(key)}
            wrong -= self.unfit if name == "ODD" else set()
            assert not wrong, "\n".join(
                [*self.log, f"history of {name} at {scn}: {[(k, folded.get(k), wanted.get(k)) for k in wrong][:5]}"]
            )


def before_loads(history: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Yield the SCNs between a history's last commit before a load and that load: no epoch has the changes of then."""
    for load in history:
        if load["_op"] == "begin" and load["_note"].startswith("the table was loaded again"):
            older = [row["_commit_scn"] for row in history if row["_epoch"] < load["_epoch"]]
            yield max((scn for scn in older if scn < load["_commit_scn"]), default=-1) + 1, load["_commit_scn"]


def number(value: Any) -> Any:
    return None if value is None else round(float(value), 6)


@contextmanager
def writers(folder: Path, seed: int, spark: Any, names: Sequence[str] = tuple(TABLES)) -> Iterator[Writers]:
    chance = random.Random(seed)
    with standin(background=False, threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, folder)
        for name in names:
            logging, _ = TABLES[name]
            shop.run_sql(
                f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, v VARCHAR2(20), n NUMBER{'' if name == 'ODD' else '(9,2)'})",
                f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA ({logging}) COLUMNS",
                *(f"INSERT INTO {name} VALUES ({n}, 'first', {n})" for n in range(1, 7)),
            )
        if "LARGE" in names:
            shop.run_sql(
                "GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS"
            )
            shop.run_sql(
                f"INSERT INTO large SELECT 100000 + LEVEL, 'some text of a row', LEVEL FROM dual CONNECT BY LEVEL <= {MANY}"
            )
        pipeline = shop.pipeline(
            tables=[{"table": f"SHOP.{name}", **({} if isinstance(spark, PlainLake) else TABLES[name][1])} for name in names],
            snapshot={"chunk_bytes": "64KiB", "sessions": 1},
            window={"max_bytes": 1, "slice_bytes": 1},
            parallel_sessions=1,
            lease_wait_minutes=0,
        )
        with spark.in_place_of_spark() if isinstance(spark, PlainLake) else nullcontext():
            made = Writers(shop, spark, pipeline, chance, tuple(names))
            made.sessions = [oracle.connect("SHOP") for _ in range(2)]
            made.states = {name: [] for name in names}
            made.record(names, 0)
            steps.take_snapshot(pipeline, source=shop.params, spark=spark)
            yield made
            for session in made.sessions:
                session.close()


def play(life: Writers, length: int, first: Sequence[Callable[[], Any]] = ()) -> None:
    """Play `first`, and as many steps more at random."""
    life.work()
    catch_up(life)
    for step in first:
        life.do(step)
    for _ in range(length):
        life.something()
    end(life)


def end(life: Writers) -> None:
    """Let everything end undisturbed: then every table is equal to the source."""
    for session in range(2):
        life.end(session)
    if "ODD" in life.names:
        life.correct_values()
    life.log.append("--- undisturbed from here")
    life.shop.oracle.faults.restore_logs()  # of a loss that was killed before its gap was declared
    catch_up(life)
    if life.has_gap:
        life.close()
        catch_up(life)
    life.repair_damaged()
    catch_up(life)
    lacking = {table for gap in steps.read_status(life.pipeline).declared_gaps for table in gap.tables}
    for table in steps.read_status(life.pipeline).tables:
        if table.state != "live" or table.table in lacking:
            life.log.append(f"    {table.table} is {table.state}: {table.error}")
            life.done["replaced"] += 1
            life.may_fall = True
            steps.take_snapshot(life.pipeline, [table.table], replace=True, source=life.shop.params, spark=life.spark)
    life.has_gap = False
    known = max(table.complete_to_scn or 0 for table in steps.read_status(life.pipeline).tables)
    life.gaps = [(start, end or known) for start, end in life.gaps]
    since = life.scn
    life.shop.run_sql("INSERT INTO keyed VALUES (1000001, 'last', 1)")
    life.record(["KEYED"], since)
    catch_up(life)
    life.check()


def catch_up(life: Writers) -> None:
    """Land and apply all that there is."""
    life.capture(windows=1_000)
    while apply_or_hold(life):
        pass


def apply_or_hold(life: Writers) -> bool:
    try:
        return life.apply()
    except TableHeld as held:
        life.log.append(f"    {held}")
        return True
