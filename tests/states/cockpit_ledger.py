"""A ledger as a pipeline leaves it after some hours, for tests of what people see. Times count back from `now`."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from redolake.config import Pipeline
from redolake.config.source import SourceSettings
from redolake.ledger import Ledger, open_ledger
from redolake.ledger.shown_facts import Changes
from redolake.records.batches.carry import OpenTransaction
from redolake.records.codec import to_body
from redolake.records.gaps import DeclaredGap
from redolake.records.shown_facts import (
    Choice,
    ChoicesFact,
    FailureFact,
    LogFact,
    PlanFact,
    ProofFact,
    RedoFact,
    RunwayFact,
    SourceFact,
    StreamFact,
    StreamsFact,
    ThreadFact,
)
from redolake.records.windows import LogIdentity, WindowManifest
from redolake.values.redo import Position
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId

INCARNATION, FIRST_SCN, SCNS = 1_100_000_000, 2_000_000, 1_000
TABLES = ("SHOP.CUSTOMERS", "SHOP.ORDERS", "SHOP.ORDER_LINES", "SHOP.PAYMENTS", "SHOP.STOCK")
HELD = {
    "code": "UnsupportedDdl",
    "what": "ALTER TABLE SHOP.STOCK MOVE is not supported",
    "where": {"table": "SHOP.STOCK", "scn": 2010324},
    "cure": "`redolake snapshot SHOP.STOCK --replace` reads the table again",
}


# In SQLite the runs of a ledger are written once and copied from then on: they are hundreds of transactions.
_runs: dict[tuple[object, ...], sqlite3.Connection] = {}


@cache
def lately(module: str) -> datetime:
    """Return when a module first asked, so that its ledgers have the same runs."""
    return datetime.now(UTC)


class CockpitLedger:
    """Writes through the ledger's own interface; `at` moves its clock."""

    def __init__(
        self, folder: Path, now: datetime, tables: tuple[str, ...] = TABLES, minutes: float = 5, url: str = ""
    ) -> None:
        self.now, self.clock, self.every = now, now, timedelta(minutes=minutes)
        self.url = url or f"sqlite:///{folder}/ledger.db"
        body: dict[str, Any] = {
            "name": "shop",
            "source": {"connection": "shop_oracle"},
            "landing": str(folder / "landing"),
            "lake": str(folder / "lake"),
            "ledger": {"url": self.url},
            "tables": list(tables),
        }
        self.pipeline = Pipeline.model_validate(body)
        self.tables = [table.id for table in self.pipeline.tables]
        self.ledger: Ledger = open_ledger(self.url, "shop", lambda: self.clock)

    def at_once(self) -> AbstractContextManager[None]:
        """Return the ledger's transaction, or nothing within one."""
        return self.ledger.at_once() if self.ledger._under_way is None else nullcontext()

    def start(self) -> None:
        """Record a first snapshot of all tables."""
        self.clock = self.now - timedelta(days=1)
        with self.at_once():
            self.ledger.start_at(Position(7, INCARNATION, Scn(FIRST_SCN)))
            for table in self.tables:
                self.ledger.add_table(table, Scn(FIRST_SCN))
                self.ledger.move_table(table, ("new",), "snapshotting", snapshot_scn=Scn(FIRST_SCN))
                self.ledger.record_complete_to(table, Scn(FIRST_SCN), INCARNATION, 0)
                self.ledger.move_table(table, ("snapshotting",), "live", snapshot_scn=Scn(FIRST_SCN))

    def window(self, number: int, ends_at: datetime, *, applied: bool = True, **terms: int) -> None:
        """Record a window that was planned 20 s after its end and landed 12 s later; the batch took 9 s, 3 s after that."""
        with self.at_once():
            self._write_window(number, ends_at, applied, terms)

    def _write_window(self, number: int, ends_at: datetime, applied: bool, terms: dict[str, int]) -> None:
        start = FIRST_SCN + number * SCNS
        scns = ScnRange(Scn(start), Scn(start + SCNS))
        name = f"{INCARNATION:010d}-{start:020d}-{start + SCNS:020d}"
        self.clock = ends_at + timedelta(seconds=20)
        lease = self.ledger.lease("capture/shop", "airflow:shop_capture", 60)
        self.ledger.plan_window(name, INCARNATION, scns, {}, lease, ends_at)
        self.clock += timedelta(seconds=12)
        rows = terms.get("landed", 1200 + number % 7 * 90)
        account = {"landed": rows, "applied": rows - 40, "rolled_back": 25, "carried_out": 15, **terms}
        logs = tuple(LogIdentity(t, number, INCARNATION, start, start + SCNS) for t in (1, 2))
        slices = {"0": {"redo_bytes": 31_000_000, "seconds": 5.2}, "1": {"redo_bytes": 18_000_000, "seconds": 3.1}}
        manifest = WindowManifest(
            7, INCARNATION, start, start + SCNS, logs, ("SHOP.ORDERS",), {"SHOP.ORDERS insert": rows}, "hash", (), (),
            circumstance={"slices": slices},
        )  # fmt: skip
        self.ledger.record_landed(manifest)
        if applied:
            self.apply(name, number, account)

    def result(self, seconds: dict[str, Any], account: dict[str, int]) -> dict[str, Any]:
        """Return what a batch records of itself: all its rows are of the first table."""
        orders, at = str(self.tables[0]), (self.clock + timedelta(hours=2)).replace(tzinfo=None).isoformat()
        changes = {"inserted": 210, "updated": 90, "deleted": 4, "ddl": {"add_column": 1}, "masked": 33, "nulled": 2}
        times = {"first_commit_at": at, "last_commit_at": at}
        return {"seconds": seconds, "balances": {orders: {**account, "filtered": 7}}, "changes": {orders: {**changes, **times}}}

    def apply(self, window: str, number: int, account: dict[str, int]) -> None:
        self.clock += timedelta(seconds=3)
        end = FIRST_SCN + (number + 1) * SCNS
        batch = f"{INCARNATION:010d}-{end - SCNS:020d}-{end:020d}"
        scns = ScnRange(Scn(end - SCNS), Scn(end))
        self.ledger.prepare_batch(batch, scns, "spec")
        self.clock += timedelta(seconds=9)
        seconds = {"assemble": 3.1, "apply": 4.5, "tables": {str(table): 0.9 for table in self.tables[:5]}}
        ddl = [{}, {"add_column": 1}, {}, {}]
        changes = {t: Changes(ddl[n], inserted=210 + 7 * n, updated=90 * n, deleted=4) for n, t in enumerate(self.tables[:4])}
        self.ledger.record_windows_applied([(window, batch, account)])
        self.ledger.record_applied(batch, scns, "folder", self.result(seconds, account), changes)
        for version, table in enumerate(self.tables[:5]):
            self.ledger.record_complete_to(table, Scn(end - 1), INCARNATION, number + version)

    def run(self, windows: int = 14, lag_seconds: float = 41) -> None:
        """Record windows up to some seconds before `now`, and what the last runs have found."""
        self.clock = self.now
        if not self.url.startswith("sqlite") or self.ledger.position() is not None:  # a copy would replace what is there
            self.write_run(windows, lag_seconds)
            return
        settings = (self.now, self.every, tuple(self.tables), windows, lag_seconds)
        with closing(sqlite3.connect(make_url(self.url).database or "")) as file:
            if settings in _runs:
                _runs[settings].backup(file)
            else:
                self.write_run(windows, lag_seconds)
                file.backup(_runs.setdefault(settings, sqlite3.connect(":memory:")))

    def write_run(self, windows: int, lag_seconds: float) -> None:
        with self.at_once():
            self._write_run(windows, lag_seconds)

    def _write_run(self, windows: int, lag_seconds: float) -> None:
        self.start()
        last = self.now - timedelta(seconds=lag_seconds)
        for number in range(windows):
            self.window(number, last - (windows - 1 - number) * self.every)
        self.clock = self.now
        for number, table in enumerate(self.tables[:4]):
            for back in range(6 - number, -1, -1):
                self.clock = self.now - timedelta(hours=back, minutes=4)
                self.ledger.record_proof(table, to_body(ProofFact(FIRST_SCN + 900, 4, 1200 + number)))
        self.clock = self.now - timedelta(seconds=6)
        self.contact(windows, last)
        self.clock = self.now

    def contact(self, windows: int, edge: datetime) -> None:
        landed_to = FIRST_SCN + windows * SCNS
        threads = (self.thread(1, edge), self.thread(2, edge))
        runway = RunwayFact("enough", "shop: at least 10 hours of redo are kept", 10.4, True, 0, 90_000_000, 300, 12.0)
        facts = {
            ("source", ""): to_body(SourceFact(7200.0)),
            ("plan", ""): to_body(PlanFact("nothing", "no redo thread has a new archived log", self.now.isoformat())),
            ("redo", ""): to_body(RedoFact(INCARNATION, landed_to, landed_to + 700, threads)),
            ("runway", ""): to_body(runway),
        }
        self.ledger.record_facts(facts, forget=["source failure"])

    def thread(self, number: int, edge: datetime) -> ThreadFact:
        logs = []
        for n in range(8):
            begins, first_scn = edge - (7 - n) * self.every, FIRST_SCN + n * SCNS
            is_last = n == 7
            end, kind = (None, "online") if is_last else (first_scn + SCNS, "read")
            logs.append(LogFact(100 + n, first_scn, end, begins.isoformat(), 31_000_000, kind))
        return ThreadFact(number, f"FREE{number}", tuple(logs), 12, (edge - timedelta(hours=9)).isoformat())

    def receive(self, *, held_by: int | None = None, unproved_since: int | None = None) -> None:
        """Let two OpenLogReplicators be the source; the stream of a redo thread may hold windows back. `unproved_since`: since
        when the database was not asked."""
        streams = [{"thread": thread, "address": f"10.0.0.{thread}:5000"} for thread in (1, 2)]
        source = {"connection": "shop_oracle", "kind": "openlogreplicator", "database": "SHOP_DB", "streams": streams}
        self.pipeline = self.pipeline.model_copy(update={"source": SourceSettings.model_validate(source)})
        written = (self.now - timedelta(seconds=8)).isoformat()
        found = tuple(
            StreamFact(
                one["thread"], one["address"], FIRST_SCN + 14_000, 107, 1_048_576, written, None, one["thread"] == held_by
            )
            for one in streams
        )
        reason = "OpenLogReplicator has sent no change since the last window"
        facts = {
            ("streams", ""): to_body(StreamsFact(found, self.now.isoformat(), unproved_since)),
            ("plan", ""): to_body(PlanFact("nothing", reason, (self.now - timedelta(minutes=4)).isoformat())),
        }
        self.ledger.record_facts(facts)

    # --- what goes wrong

    def lose_redo(self) -> None:
        """Record a lost log, with the choices that the plan has listed."""
        error = {"code": "RedoLost", "what": "log 105 of redo thread 1 was deleted", "where": {}, "cure": "restore it"}
        position = {"dbid": 7, "resetlogs_id": INCARNATION, "scn": FIRST_SCN + 5 * SCNS}
        missing = [{"thread": 1, "sequence": 105, "resetlogs_id": INCARNATION, "why": "deleted from destination 1"}]
        self.ledger.record_loss(error, step="plan", position=position, missing=missing)
        choices = (
            Choice("restore", "restore 1 archived log(s), then recheck", "nothing", "redolake recover -p shop --restored"),
            Choice("snapshot", "snapshot all tables again; capture goes on from now",
                       "the history between the position and the new snapshot; a table is held until its snapshot",
                       "redolake recover -p shop snapshot"),
            Choice("gap", "declare the gap, SCN 2005000 to 2006000: the tables go on without its changes",
                       "every change committed in the gap. It stays visible until the tables are snapshotted again",
                       "redolake recover -p shop gap --reason TEXT"),
        )  # fmt: skip
        rman = ("RESTORE ARCHIVELOG SEQUENCE 105 THREAD 1;",)
        self.ledger.record_fact("choices", to_body(ChoicesFact(FIRST_SCN + 5 * SCNS, choices, rman)))

    def hold_stock(self) -> None:
        self.ledger.hold(TableId("SHOP", "STOCK"), HELD)

    def lose_the_source(self) -> None:
        since = (self.now - timedelta(minutes=7)).isoformat()
        what = "the listener does not answer (ORA-12541)"
        self.ledger.record_fact("source failure", to_body(FailureFact("SourceUnavailable", what, "start the listener", since)))

    def open_transactions(self, number: int = 3) -> None:
        opened = (
            OpenTransaction(3, f"{n + 4}.{n + 17}.{n + 2210}", 1 + n % 2, FIRST_SCN + 12_000 + n,
                            (self.now + timedelta(hours=2) - timedelta(minutes=90 // (n + 1))).replace(tzinfo=None).isoformat(),
                            120 * (n + 1), 40_000, "BATCH_USER" if n == 0 else "SHOP")
            for n in range(number)
        )  # fmt: skip
        self.ledger.replace_open_transactions("batch", opened)

    def decide(self) -> None:
        """Record a gap that two tables still lack, a dropped transaction, and a rejected choice."""
        start, end = (Position(7, INCARNATION, Scn(FIRST_SCN + n)) for n in (200, 400))
        at = (self.now - timedelta(hours=3)).isoformat()
        lacking = {str(table): FIRST_SCN for table in self.tables[1:3]}
        gap = DeclaredGap("gap", start, end, "the tape is gone", "ann", at, "log 98 of redo thread 2", lacking)
        self.ledger.record_gap(gap.name, to_body(gap))
        self.ledger.record_decision("drop", {"xid": "9.2.11", "start_scn": 2000100, "reason": "abandoned session"}, "bob")
        self.ledger.record_decision("rejected", {"choice": "gap", "reason": "the tapes are there"}, "ann, asked by bob")
