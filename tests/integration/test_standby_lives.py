"""Lives of a pipeline on a standby: transactions over snapshots, apply that lags or stops, logs that come late or not in order,
switchovers. Both readings of an SCN that is not applied. Without Spark and Delta."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from redolake import steps
from redolake.cockpit.metrics import prometheus_text
from redolake.cockpit.overview import read_overview
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import RedolakeError, RedoLost, SnapshotTooEarly, SourceUnavailable, Transient
from redolake.host.statements import statement
from redolake.source import ConnectParams
from redolake.source import oracle as oracle_source
from redolake.steps.follow import follow_pipeline
from redolake.steps.shared.status import standby_lines
from standin.interface import OraError
from standin.serve import standin
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_standby import ASKED
from tests.integration.test_vanished_partitions import created, held, rows
from tests.references.plain_lake import PlainLake

NO_SPARK = "no Spark"
TABLES = ("a", "b")
STEPS = 30
AGAIN = {"on_ddl": {"unknown_ddl": "resnapshot"}, "resnapshot": {"attempts": 9, "pause_minutes": 0}}


@dataclass(slots=True)
class StandbyShop(Shop):
    """The pipeline's connection leads to one host and `primary` to the other, whichever roles they have; or it names none."""

    names_primary: bool = True
    leads_to: str | None = None  # the service of the connection, if it is not the standby's
    other_primary: ConnectParams | None = None

    @property
    def params(self) -> ConnectParams:
        own = super(StandbyShop, self).params
        primary = self.other_primary or own
        return replace(own, dsn=self.leads_to or self.oracle.standby_root_dsn, primary=primary if self.names_primary else None)

    @property
    def writes_to(self) -> str:
        return self.oracle.standby_pdb_dsn if self.oracle.database.standby.is_primary else self.oracle.pdb_dsn

    def run_sql(self, *statements: str, user: str = "SHOP") -> None:
        with self.oracle.connect(user, dsn=self.writes_to) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def switch_logs(self) -> None:
        with self.oracle.database.lock:
            self.oracle.database.archive_current()


@dataclass
class Life:
    shop: StandbyShop
    pipeline: Pipeline
    choose: random.Random
    writers: list[Any] = field(default_factory=list)
    old: list[Any] = field(default_factory=list)  # since before the first snapshot, and committed at a switchover or the end
    keys: int = 0
    failed_over: bool = False
    is_closed: bool = False  # redo thread 2
    taken: list[str] = field(default_factory=list)

    @property
    def faults(self) -> Any:
        return self.shop.oracle.faults

    def begin(self) -> None:
        if len(self.writers) < 3:
            self.writers.append(self.shop.oracle.connect("SHOP", dsn=self.shop.writes_to))
        self.change()

    def begin_old(self) -> None:
        """Begin transactions whose redo is in older logs than those that a snapshot mines of itself."""
        for _ in TABLES:
            self.old.append(self.shop.oracle.connect("SHOP", dsn=self.shop.writes_to))
            self.change_in(self.old[-1])
        for _ in range(4):
            self.shop.switch_logs()

    def end_old(self) -> None:
        while self.old:
            with self.old.pop() as writer:
                writer.commit()

    def change(self) -> None:
        if self.writers:
            self.change_in(self.choose.choice(self.writers))

    def change_in(self, writer: Any) -> None:
        """Change a row that no other transaction has."""
        self.keys += 1
        with writer.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"INSERT INTO {table} VALUES ({self.keys}, {self.keys}, 'new')")
                cursor.execute(f"UPDATE {table} SET a = 'changed' WHERE id = {self.keys}")

    def end(self) -> None:
        if self.writers:
            with self.writers.pop(self.choose.randrange(len(self.writers))) as writer:
                writer.commit() if self.choose.random() < 0.7 else writer.rollback()

    def lag(self) -> None:
        self.faults.lag_apply(self.choose.randrange(1, 300))

    def stop(self) -> None:
        self.faults.stop_apply()

    def by_logs(self) -> None:
        self.faults.apply_archived_logs()

    def gap(self) -> None:
        thread = self.choose.choice((1, 2))
        self.faults.leave_gap(thread, self.shop.oracle.database.state.threads[thread].current.sequence)
        self.shop.switch_logs()

    def hold_transport(self) -> None:
        self.faults.stop_transport(self.choose.choice((1, 2)))

    def heal(self) -> None:
        self.faults.catch_up_apply()
        self.faults.start_apply()
        self.faults.fetch_gap()
        self.faults.resume_transport(1)
        self.faults.resume_transport(2)
        if self.choose.random() < 0.5:
            self.faults.apply_in_real_time()
        else:
            self.shop.switch_logs()

    def capture(self) -> None:
        """Capture and apply. Read again what a failover has undone, as a person would; what a gap lacks comes later."""
        how: dict[str, Any] = {"source": self.shop.params, "spark": NO_SPARK}
        try:
            steps.run_pipeline(self.pipeline, until_caught_up=True, **how)
        except RedoLost as error:
            self.taken.append(str(error.what))
            if self.failed_over and "RESETLOGS" in error.what:
                steps.recover_redo_loss(self.pipeline, "snapshot", reason="a failover", by="a test", **how)
        except SourceUnavailable:
            if not self.shop.oracle.database.standby.old_primary_is_lost:
                raise

    def snapshot(self) -> None:
        """Read a table again; while it waits for the standby, that catches up."""
        table = f"SHOP.{self.choose.choice(TABLES).upper()}"
        try:
            steps.take_snapshot(self.pipeline, [table], replace=True, source=self.shop.params, spark=NO_SPARK)
        except (SnapshotTooEarly, Transient, RedoLost) as error:
            self.taken.append(f"{type(error).__name__}: {error.what}")

    def switch_over(self) -> None:
        self.heal()
        self.faults.reinstate()
        self.open_thread()
        self.end_old()
        self.drop_writers()
        self.faults.switch_over()

    def fail_over(self) -> None:
        """Lose the host of the primary, with the redo that had not arrived; later it comes back as a standby."""
        self.faults.reinstate()
        self.open_thread()
        try:
            self.faults.fail_over(moves=True)
        except OraError as error:  # before the stand-in's flashback logs
            self.taken.append(str(error))
            return
        self.drop_writers()
        self.failed_over = True

    def drop_writers(self) -> None:
        """End those whose sessions have ended."""
        for writer in (*self.writers, *self.old):
            with suppress(Exception):
                writer.close()
        self.writers.clear()
        self.old.clear()

    def prepare(self) -> None:
        """Make what is open branches of distributed transactions, which stay so until they end, over any redo."""
        self.faults.prepare_transactions(listed=self.choose.random() < 0.5)

    def close_thread(self) -> None:
        """Shut the second instance down, and switch its log as the first one does."""
        if not self.is_closed:
            self.end_old()
            while self.writers:
                self.end()
            self.faults.close_thread(2)
            self.is_closed = True
        self.faults.switch_closed_thread(2)

    def open_thread(self) -> None:
        if self.is_closed:
            self.faults.open_thread(2)
            self.is_closed = False

    def step(self) -> None:
        often: list[Callable[[], None]] = [self.begin, self.change, self.end, self.capture, self.shop.switch_logs]
        seldom: list[Callable[[], None]] = [
            self.lag, self.stop, self.by_logs, self.gap, self.hold_transport, self.heal, self.snapshot, self.switch_over,
            self.fail_over, self.faults.reinstate, self.prepare, self.close_thread, self.open_thread,
        ]  # fmt: skip
        chosen = self.choose.choice(often if self.choose.random() < 0.6 else seldom)
        self.taken.append(chosen.__name__)
        chosen()


def born(shop: StandbyShop, seed: int, **settings: Any) -> Life:
    for table in TABLES:
        shop.run_sql(*created(table), f"INSERT INTO {table} VALUES (0, 0, 'old')")
    shop.switch_logs()  # a failover goes back to the end of an archived log
    return Life(shop, shop.pipeline(tables=["SHOP.A", "SHOP.B"], **settings), random.Random(seed))


def check_end(life: Life, lake: PlainLake) -> None:
    """Let everything arrive and end, and compare."""
    life.heal()
    life.faults.reinstate()
    life.open_thread()
    life.faults.apply_in_real_time()
    life.end_old()
    while life.writers:
        life.end()
    life.shop.switch_logs()
    life.shop.switch_logs()
    life.capture()
    undone = [table for table, why in held(life.pipeline).items() if "a RESETLOGS has set the database back" in why]
    if life.failed_over and undone:  # as the cure says
        steps.take_snapshot(life.pipeline, undone, replace=True, source=life.shop.params, spark=NO_SPARK)
        life.shop.switch_logs()
        life.capture()
    for table in TABLES:
        with life.shop.oracle.connect("SHOP", dsn=life.shop.writes_to) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT id, k, a FROM {table}")
            there = {key: (str(k), a) for key, k, a in cursor.fetchall()}
        assert held(life.pipeline) == {}, life.taken
        assert rows(lake, life.pipeline, table) == there, life.taken


@pytest.mark.parametrize("keeps", ["both", "switched over"])
def test_a_transaction_that_is_much_older_than_the_first_snapshot_is_whole(tmp_path: Path, lake: PlainLake, keeps: str) -> None:
    with open_shop(tmp_path) as opened:
        life = born(StandbyShop(opened.oracle, opened.folder), 0)
        if keeps == "switched over":
            life.switch_over()
        life.begin()
        for _ in range(4):
            life.shop.switch_logs()
        counted = life.shop.oracle.count_statements()
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        by_name = {name: counted.get("FREE", {}).get(statement(name), 0) for name in ASKED}
        if keeps == "both":  # doctor's check, the handover, and nothing else, whatever the tables have
            assert by_name == dict(zip(ASKED, (2, 2, 3, 2, 2, 2), strict=True))
        assert sum(by_name.values()) == sum(counted.get("FREE", {}).values())
        life.change()
        life.writers[0].commit()
        check_end(life, lake)
        assert counted.get("FREE", {}).keys() <= set(map(statement, ASKED))  # capture asks the standby alone


def test_while_the_primary_is_away_a_table_without_contents_waits_and_the_others_are_captured(
    tmp_path: Path, lake: PlainLake
) -> None:
    with open_shop(tmp_path) as opened:
        shop = StandbyShop(opened.oracle, opened.folder)
        life = born(shop, 0)
        only_a = shop.pipeline(tables=["SHOP.A"])
        steps.take_snapshot(only_a, source=shop.params, spark=NO_SPARK)
        shop.run_sql("INSERT INTO a VALUES (1, 1, 'new')", "INSERT INTO b VALUES (1, 1, 'new')")
        shop.switch_logs()
        assert shop.params.primary is not None
        nowhere = replace(shop.params.primary, dsn=shop.params.primary.dsn.replace("/FREE", "/NOWHERE"))
        reported: list[str] = []
        away = replace(shop.params, primary=nowhere)
        steps.run_pipeline(life.pipeline, until_caught_up=True, source=away, spark=NO_SPARK, report=reported.append)
        assert any("NOWHERE" in text for text in map(str, reported))
        assert set(rows(lake, only_a, "a")) == {0, 1}
        check_end(life, lake)


@pytest.mark.parametrize("reads", ["refused", "older"])
@pytest.mark.parametrize("seed", range(5))
def test_a_life_on_a_standby_loses_nothing(
    tmp_path: Path, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, seed: int, reads: str
) -> None:
    with open_shop(tmp_path, unapplied_reads=reads, private_strands=seed % 2 == 1) as opened:
        life = born(StandbyShop(opened.oracle, opened.folder), seed, **AGAIN)
        monkeypatch.setattr(oracle_source, "sleep", lambda _: life.heal())
        life.begin_old()
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        for _ in range(STEPS):
            life.step()
        check_end(life, lake)


# --- An SCN that is not applied yet is waited for, with a word ----------------------------------------------------------


def verify(life: Life, said: list[str]) -> bool:
    return steps.verify_tables(life.pipeline, source=life.shop.params, spark=NO_SPARK, report=said.append).equal


def repair(life: Life, said: list[str]) -> bool:
    how: dict[str, Any] = {"execute": True, "reason": "a test", "report": said.append}
    return not steps.repair_table(
        life.pipeline, "SHOP.A", [{"ID": "0"}], source=life.shop.params, spark=NO_SPARK, **how
    ).why_not


def snapshot(life: Life, said: list[str]) -> bool:
    """Read a table again, as `mend`, `snapshot --replace` and `recover` do."""
    steps.take_snapshot(life.pipeline, ["SHOP.A"], replace=True, source=life.shop.params, spark=NO_SPARK, report=said.append)
    return held(life.pipeline) == {}


def follow(life: Life, said: list[str]) -> bool:
    """`run --follow` with a new table, which is asked to stop once it has waited."""
    stop = Event()

    def report(line: str) -> None:
        said.append(line)
        if line.startswith("waiting up to"):
            stop.set()

    life.shop.run_sql(*created("c"))
    pipeline = life.shop.pipeline(tables=["SHOP.A", "SHOP.B", "SHOP.C"])
    follow_pipeline(Run(pipeline, life.shop.params, NO_SPARK, report), stop)
    return held(pipeline) == {}


@pytest.mark.parametrize("command", [verify, repair, snapshot, follow])
def test_a_command_waits_for_a_standby_and_says_so(
    tmp_path: Path, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, command: Callable[[Life, list[str]], bool]
) -> None:
    """The pipeline was moved from the primary to the standby, which has not applied what is in the lake already."""
    with open_shop(tmp_path, unapplied_reads="older") as opened:
        life = born(StandbyShop(opened.oracle, opened.folder), 0)
        life.shop.leads_to = life.shop.oracle.root_dsn
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.stop()
        life.begin()
        life.writers.pop().commit()
        life.shop.switch_logs()
        life.capture()
        life.shop.leads_to = None
        said: list[str] = []
        monkeypatch.setattr(oracle_source, "sleep", lambda _: life.heal())
        assert command(life, said)
        (waited,) = {line for line in said if line.startswith("waiting up to")}
        assert "redo apply is not running: it is READ ONLY" in waited
        check_end(life, lake)


# --- Databases that are no standby, or not its primary ------------------------------------------------------------------


def become(role: str) -> Callable[[Life, ExitStack], None]:
    def convert(life: Life, ends: ExitStack) -> None:
        life.faults.convert_standby(role)
        ends.callback(life.faults.convert_to_physical)

    return convert


def mounted(life: Life, ends: ExitStack) -> None:
    life.faults.mount_standby()
    ends.callback(life.faults.open_standby)


def primary_of(**options: Any) -> Callable[[Life, ExitStack], None]:
    def name_it(life: Life, ends: ExitStack) -> None:
        if not options:  # as the primary that the failover has replaced comes back
            life.faults.fail_over(moves=True)
        other = ends.enter_context(standin(background=False, **options))
        life.shop.other_primary = ConnectParams(other.capture_user, other.passwords[other.capture_user], other.root_dsn)

    return name_it


def cascaded(life: Life, _: ExitStack) -> None:
    """`primary` is the standby that the redo comes through."""
    life.shop.other_primary = replace(life.shop.params, primary=None)


def switched_over(life: Life, _: ExitStack) -> None:
    """`primary` still names the database that is a standby now, and the connection was changed to lead there too."""
    life.switch_over()
    life.shop.leads_to = life.shop.oracle.root_dsn


ITSELF = "name the connection of the primary itself"
# How it comes about, what is said, what is to be done, and whether capture stops too: it needs no primary.
WRONG: dict[str, tuple[Callable[[Life, ExitStack], None], str, str, bool]] = {
    "a mounted standby": (mounted, "ORA-01033", "ALTER DATABASE OPEN READ ONLY", True),
    "a snapshot standby": (become("SNAPSHOT STANDBY"), "is a SNAPSHOT STANDBY", "connect to the primary or", True),
    "a logical standby": (become("LOGICAL STANDBY"), "is a LOGICAL STANDBY", "connect to the primary or", True),
    "a primary of another DBID": (primary_of(dbid=7), "its DBID is 7", "name the connection of this standby's primary", False),
    "a standby that forwards the redo": (cascaded, "which is a PHYSICAL STANDBY", ITSELF, False),
    "wrong roles after a switchover": (switched_over, "which is a PHYSICAL STANDBY", ITSELF, False),
    "two primaries after a failover": (primary_of(), "has left two primaries", "let a DBA end the one", False),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_database_is_refused_with_what_to_do_and_nothing_is_lost(tmp_path: Path, lake: PlainLake, what: str) -> None:
    comes_about, says, cure, stops = WRONG[what]
    with open_shop(tmp_path) as opened:
        life = born(StandbyShop(opened.oracle, opened.folder), 0)
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.begin()
        life.writers.pop().commit()
        life.shop.switch_logs()
        with ExitStack() as ends:
            comes_about(life, ends)
            with pytest.raises(RedolakeError, match=says) as caught:
                steps.take_snapshot(life.pipeline, ["SHOP.A"], replace=True, source=life.shop.params, spark=NO_SPARK)
            assert cure in str(caught.value)
            found = steps.examine(Run(life.pipeline, life.shop.params)).findings
            assert [cure in one.cure for one in found if says in one.what and one.severity != "note"] == [True]
            with pytest.raises(RedolakeError, match=says) if stops else nullcontext():
                steps.run_pipeline(life.pipeline, until_caught_up=True, source=life.shop.params, spark=NO_SPARK)
        life.shop.other_primary = life.shop.leads_to = None
        life.begin()
        check_end(life, lake)


# --- No primary is named ------------------------------------------------------------------------------------------------


def begin_alone(opened: Shop, seed: int = 0, **settings: Any) -> Life:
    """Return a life whose pipeline knows the standby alone, with transactions that are older than the oldest log."""
    life = born(StandbyShop(opened.oracle, opened.folder, names_primary=False), seed, **settings)
    life.begin_old()
    life.faults.purge_logs()
    return life


def hold_of(pipeline: Pipeline, table: str) -> dict[str, Any]:
    return next(one for one in steps.read_status(pipeline).tables if one.table == f"SHOP.{table.upper()}").where or {}


def test_the_lags_of_the_standby_are_terms_of_the_latency_and_in_the_status(
    tmp_path: Path, lake: PlainLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_shop(tmp_path) as opened:
        life = born(StandbyShop(opened.oracle, opened.folder, names_primary=False), 0)
        monkeypatch.setattr(oracle_source, "sleep", lambda _: life.heal())
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.begin()
        life.end()
        life.shop.switch_logs()
        life.capture()
        life.lag()
        life.shop.switch_logs()
        life.capture()
        lags = steps.read_status(life.pipeline).lags
        assert lags.keys() == {"apply lag", "transport lag"}
        found = read_overview(life.pipeline, life.pipeline.ledger_url, datetime.now(UTC))
        shown = {term.name: term.seconds for term in found.latency.terms if term.name in lags}
        assert shown == lags
        assert 'term="apply lag"' in prometheus_text([found])
        behind, began = standby_lines(steps.read_status(life.pipeline))
        assert "apply lag" in behind
        assert "0 have committed. Whether others" in began


def gone_scn(life: Life) -> int | None:
    doubt = steps.read_status(life.pipeline).doubt
    assert doubt is not None
    return doubt.gone_scn


def test_a_primary_that_is_named_later_shows_where_the_last_doubt_has_gone(tmp_path: Path, lake: PlainLake) -> None:
    with open_shop(tmp_path) as opened:
        life = begin_alone(opened)
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.capture()
        assert gone_scn(life) is None
        life.shop.names_primary = True
        steps.examine(steps.Run(life.pipeline, life.shop.params))
        assert gone_scn(life) is None, "the primary shows transactions that are older than the redo"
        while life.old:
            with life.old.pop() as writer:
                writer.rollback()
        steps.examine(steps.Run(life.pipeline, life.shop.params))
        found = gone_scn(life)
        assert found is not None
        life.capture()
        assert gone_scn(life) == found
        life.shop.names_primary = False
        check_end(life, lake)
        assert gone_scn(life) == found


def test_without_a_primary_nothing_is_asked_there_and_an_older_transaction_holds_its_tables(
    tmp_path: Path, lake: PlainLake
) -> None:
    with open_shop(tmp_path) as opened:
        life = begin_alone(opened)
        counted = life.shop.oracle.count_statements()
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.begin()
        life.end()
        life.shop.switch_logs()
        life.capture()
        assert held(life.pipeline) == {}
        life.end_old()
        life.begin()
        life.shop.switch_logs()
        life.capture()
        assert set(held(life.pipeline)) == {"SHOP.A", "SHOP.B"}
        assert hold_of(life.pipeline, "a")["policy"] == "unknown_ddl"
        steps.take_snapshot(life.pipeline, ["SHOP.A", "SHOP.B"], replace=True, source=life.shop.params, spark=NO_SPARK)
        check_end(life, lake)
        assert not {"FREE"} & counted.keys()


MEANWHILE: dict[str, dict[str, Any]] = {
    "it is prepared": {},
    "a thread is closed": {},
    "the redo of open transactions comes late": {"private_strands": True},
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_an_older_transaction_holds_its_tables_though(tmp_path: Path, lake: PlainLake, what: str) -> None:
    with open_shop(tmp_path, **MEANWHILE[what]) as opened:
        is_closed = what == "a thread is closed"
        if is_closed:
            opened.oracle.faults.close_thread(2)
        life = begin_alone(opened)
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        if what == "it is prepared":
            life.faults.prepare_transactions(listed=False)
        life.end_old()
        life.begin()
        life.shop.switch_logs()
        if is_closed:
            life.faults.switch_closed_thread(2)
        life.capture()
        assert set(held(life.pipeline)) == {"SHOP.A", "SHOP.B"}
        steps.take_snapshot(life.pipeline, ["SHOP.A", "SHOP.B"], replace=True, source=life.shop.params, spark=NO_SPARK)
        if is_closed:
            life.faults.open_thread(2)
        check_end(life, lake)


def test_transactions_that_the_kept_logs_show_from_their_start_hold_nothing(tmp_path: Path, lake: PlainLake) -> None:
    with open_shop(tmp_path) as opened:
        life = born(StandbyShop(opened.oracle, opened.folder, names_primary=False), 0)
        life.begin_old()
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.end_old()
        check_end(life, lake)


def test_an_older_transaction_that_is_rolled_back_holds_nothing(tmp_path: Path, lake: PlainLake) -> None:
    with open_shop(tmp_path) as opened:
        life = begin_alone(opened)
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        while life.old:
            with life.old.pop() as writer:
                writer.rollback()
        check_end(life, lake)


@pytest.mark.parametrize("reads", ["refused", "older"])
@pytest.mark.parametrize("seed", range(5))
def test_a_life_on_a_standby_alone_loses_nothing(
    tmp_path: Path, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, seed: int, reads: str
) -> None:
    with open_shop(tmp_path, unapplied_reads=reads, private_strands=seed % 2 == 1) as opened:
        life = begin_alone(opened, seed, **AGAIN)
        monkeypatch.setattr(oracle_source, "sleep", lambda _: life.heal())
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        for _ in range(STEPS):
            life.step()
        check_end(life, lake)


# Both readings of an SCN that is not applied, before the first window and after it.
ROLES = [("switch over", "before", "refused"), ("switch over", "later", "older"), ("fail over", "before", "older"),
         ("fail over", "later", "refused")]  # fmt: skip


@pytest.mark.parametrize(("change", "when", "reads"), ROLES)
def test_a_pipeline_of_a_standby_alone_goes_on_when_it_becomes_the_primary_and_back(
    tmp_path: Path, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, change: str, when: str, reads: str
) -> None:
    with open_shop(tmp_path, unapplied_reads=reads) as opened:
        life = begin_alone(opened, **AGAIN)
        monkeypatch.setattr(oracle_source, "sleep", lambda _: life.heal())
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.begin()
        life.end()
        life.begin()
        life.shop.switch_logs()
        if when == "later":
            life.capture()
        life.switch_over() if change == "switch over" else life.fail_over()
        life.begin()
        life.end()
        steps.run_pipeline(life.pipeline, until_caught_up=True, source=life.shop.params, spark=NO_SPARK)
        if change == "switch over":  # older transactions have committed before, and the tables were read again with a list
            assert steps.read_status(life.pipeline).doubt is None
        else:
            assert gone_scn(life) is not None, "the primary itself shows what is open"
        life.faults.reinstate()
        life.switch_over()
        life.begin()
        life.end()
        check_end(life, lake)


def test_a_snapshot_of_a_standby_alone_that_a_failover_has_undone_is_not_gone_on_from(tmp_path: Path, lake: PlainLake) -> None:
    """Redo that no log contained is gone, and its SCNs are assigned again: the snapshot has rows that the source lacks now."""
    with open_shop(tmp_path) as opened:
        life = begin_alone(opened)
        life.begin()
        life.writers.pop().commit()
        steps.take_snapshot(life.pipeline, source=life.shop.params, spark=NO_SPARK)
        life.fail_over()
        life.begin()
        life.end()
        with pytest.raises(RedoLost, match="RESETLOGS at SCN"):
            steps.run_pipeline(life.pipeline, until_caught_up=True, source=life.shop.params, spark=NO_SPARK)
