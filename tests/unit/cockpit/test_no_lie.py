"""Generated states of the ledger, judged by a plain reference: no sentence, colour or metric says more than is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from redolake.cli.cockpit import verdict
from redolake.cockpit import Overview
from redolake.cockpit.metrics import prometheus_text
from redolake.cockpit.overview import overview_of
from redolake.cockpit.render import Pages
from redolake.config import Pipeline
from redolake.ledger.entries import Loss, TableEntry
from redolake.ledger.reading import FactRow, LedgerReading, WindowRow
from redolake.records.batches.carry import OpenTransaction
from redolake.records.codec import to_body
from redolake.records.gaps import DeclaredGap
from redolake.records.proofs import ProvedHistory
from redolake.records.shown_facts import (
    DropFact,
    DropsFact,
    FailureFact,
    PlanFact,
    ProofFact,
    QuarantineFact,
    RunwayFact,
    SnapshotFact,
    SourceFact,
    StreamsFact,
)
from redolake.values.redo import Position
from redolake.values.scn import Scn
from redolake.values.table import TableId

NOW = datetime(2026, 5, 1, 14, 0, tzinfo=UTC)
HEAD, INCARNATION, SNAPSHOT = 100_000, 7, 50_000  # one SCN is one second
LOSS = Loss({"what": "log 5 is gone", "cure": "c", "code": "RedoLost"}, "plan", {"scn": 5}, [], NOW)


def time_of(scn: int) -> datetime:
    return NOW - timedelta(seconds=HEAD - scn)


@dataclass(frozen=True)
class Compared:
    """A comparison, `ago` seconds old, AS OF the SCN of its time."""

    ago: int
    says: str  # equal, differs, error, sample, repaired, quarantine, history

    @property
    def scn(self) -> int:
        return HEAD - self.ago

    def body(self) -> dict[str, Any]:
        fact = ProofFact(
            self.scn, 3, 10,
            missing_rows=2 if self.says == "differs" else 0,
            error="NotCompared" if self.says == "error" else None,
            share={"sample": 0.1, "repaired": 0.0}.get(self.says, 1.0),
            quarantined_keys=3 if self.says == "quarantine" else 0,
            history=ProvedHistory(missing_rows=1) if self.says == "history" else None,
        )  # fmt: skip
        return {**to_body(fact), "at": time_of(self.scn).isoformat()}


@dataclass(frozen=True)
class Made:
    """A table of the ledger, in plain words. `lag` in seconds is None for a table without contents."""

    state: str = "live"
    lag: int | None = 40
    listed: bool = True
    dropped: bool = False
    gaps: frozenset[int] = frozenset()
    lacks_drop: bool = False
    quarantined: int = 0
    proofs: tuple[Compared, ...] = ()  # newest first
    reading: bool = False  # a snapshot of it was begun
    loaded: int | None = None  # seconds since its last load, where that is known; after a RESETLOGS, proofs have higher SCNs

    # --- the reference: what is so

    @property
    def counts(self) -> bool:
        return self.listed and not self.dropped

    @property
    def known_wrong(self) -> bool:
        decided = [p.says for p in self.proofs if p.says not in ("error", "sample")]
        histories = [p.says for p in self.proofs if p.says == "history"]
        return bool(decided and decided[0] == "differs") or bool(histories)

    @property
    def is_right(self) -> bool:
        has_contents = self.state == "live" and self.lag is not None
        return has_contents and not (self.gaps or self.lacks_drop or self.quarantined or self.known_wrong)

    @property
    def is_proved(self) -> bool:
        """The newest comparison that counts is of the whole table, equal, and of contents after every gap that it lacks."""
        counting = [p for p in self.proofs if p.says != "sample"]
        if not counting or self.state != "live" or self.known_wrong:
            return False
        is_newer = self.loaded is None or counting[0].ago <= self.loaded
        return is_newer and counting[0].says == "equal" and all(counting[0].scn > GAPS[n][1] for n in self.gaps)


# Declared gaps: the first SCN, the last one, and when they were declared, as an SCN.
GAPS = ((HEAD - 9_000, HEAD - 8_001), (HEAD - 600, HEAD - 301))


@dataclass(frozen=True)
class World:
    tables: tuple[Made, ...]
    window_lag: int | None = 40  # of the newest applied window
    plan: str | None = "nothing"
    lost: bool = False
    away: bool = False
    paused: bool = False
    runway: tuple[str, bool] | None = ("enough", True)  # its state, and whether it is a floor
    unproved: bool = False
    known: Mapping[int, bool] = field(default_factory=dict)  # by table: whether the time of its position is known
    contact: int | None = 0  # how long ago a run has asked Oracle, in seconds; None where the ledger was rebuilt since
    unaccounted: int = 0  # change rows of the newest window that became nothing
    opened: tuple[int | None, ...] = ()  # ages of the open transactions, None where LogMiner did not see them begin
    waits: int | None = None  # seconds since a window has landed that is not applied

    def name(self, number: int) -> str:
        return f"SHOP.T{number}"

    def pipeline(self) -> Pipeline:
        listed = [self.name(n) for n, table in enumerate(self.tables) if table.listed] or ["SHOP.OTHER"]
        source: dict[str, Any] = {"connection": "shop_oracle"}
        if self.unproved:
            streams = [{"thread": 1, "address": "10.0.0.1:5000"}]
            source = {"kind": "openlogreplicator", "database": "SHOP_DB", "streams": streams, "connection": "shop_oracle"}
        body = {"name": "shop", "source": source, "landing": "/landing", "lake": "/lake", "tables": listed}
        return Pipeline.model_validate(body)

    def reading(self) -> LedgerReading:
        ids = [TableId.parse(self.name(n)) for n in range(len(self.tables))]
        entries = tuple(entry_of(ids[n], table) for n, table in enumerate(self.tables))
        end = None if self.window_lag is None else HEAD - self.window_lag + 1
        windows = () if end is None else (window_of(end, self.unaccounted),)
        if self.waits is not None:
            landed = NOW - timedelta(seconds=self.waits)
            windows = (replace(window_of(HEAD), state="landed", landed_at=landed, applied_at=None, account=None), *windows)
        return LedgerReading(
            read_at=NOW, position=Position(1, INCARNATION, Scn(end or SNAPSHOT)), position_at=None, windows=windows,
            older_windows=False, window_counts={} if self.waits is None else {"landed": 1}, tables=entries,
            contents_at={
                ids[n]: time_of(HEAD - t.lag)
                for n, t in enumerate(self.tables)
                if t.lag is not None and self.known.get(n, True)
            },
            changes={}, changed_at={}, ddl={}, batches=(), batch_under_way=None, batch_starts={}, lease_owner=None,
            lease_until=None, open_count=len(self.opened), open_rows=0,
            open_transactions=tuple(opened_at(n, age) for n, age in enumerate(self.opened)),
            loss=LOSS if self.lost else None,
            gaps=self.gaps(), decisions=(), facts=self.facts(ids),
            dropped_at={ids[n]: HEAD - 100 for n, table in enumerate(self.tables) if table.dropped},
        )  # fmt: skip

    def gaps(self) -> tuple[DeclaredGap, ...]:
        return tuple(
            DeclaredGap(
                "gap", Position(1, INCARNATION, Scn(first)), Position(1, INCARNATION, Scn(last + 1)), "why", "ann",
                time_of(last).isoformat(), "log 5",
                {self.name(n): SNAPSHOT for n, table in enumerate(self.tables) if number in table.gaps},
            )
            for number, (first, last) in enumerate(GAPS)
        )  # fmt: skip

    def facts(self, ids: Sequence[TableId]) -> dict[str, dict[str, FactRow]]:
        found: dict[str, dict[str, FactRow]] = {}
        if self.contact is not None:
            asked = NOW - timedelta(seconds=self.contact)
            found["source"] = {"": FactRow(to_body(SourceFact(0.0)), asked)}
            if self.plan is not None:
                found["plan"] = {"": FactRow(to_body(PlanFact(self.plan, "r", asked.isoformat(), 1, 9)), asked)}
        if self.away:
            failure = FailureFact("SourceUnavailable", "no listener", "start it", NOW.isoformat())
            found["source failure"] = {"": FactRow(to_body(failure), NOW)}
        if self.runway is not None:
            state, is_floor = self.runway
            hours = {"enough": 20.0, "low": 3.0, "lost": 0.0}[state]
            runway = RunwayFact(state, "s", 0.31 if is_floor else hours, is_floor, 0, None, 0, 12.0)
            found["runway"] = {"": FactRow(to_body(runway), NOW)}
        if self.unproved:
            found["streams"] = {"": FactRow(to_body(StreamsFact((), NOW.isoformat(), 99)), NOW)}
        lacking = tuple(str(ids[n]) for n, table in enumerate(self.tables) if table.lacks_drop)
        if lacking:
            found["drops"] = {"": FactRow(to_body(DropsFact((DropFact("1.2.3", SNAPSHOT + 5, lacking),))), NOW)}
        for n, table in enumerate(self.tables):
            name = str(ids[n])
            if table.proofs:
                found.setdefault("proofs", {})[name] = FactRow({"proofs": [p.body() for p in table.proofs]}, NOW)
            if table.quarantined:
                found.setdefault("quarantine", {})[name] = FactRow(to_body(QuarantineFact(table.quarantined)), NOW)
            if table.loaded is not None and not table.reading:
                loaded = FactRow(to_body(SnapshotFact("loaded", SNAPSHOT)), NOW - timedelta(seconds=table.loaded))
                found.setdefault("snapshot", {})[name] = loaded
            if table.reading:
                found.setdefault("snapshot", {})[name] = FactRow(to_body(SnapshotFact("reading", HEAD - 5)), NOW)
        return found


def entry_of(table: TableId, made: Made) -> TableEntry:
    has = made.lag is not None
    return TableEntry(
        table, made.state, Scn(SNAPSHOT),  # type: ignore[arg-type]
        snapshot_scn=Scn(SNAPSHOT) if has else None,
        complete_to_scn=Scn(HEAD - made.lag) if made.lag is not None else None,
        error={"code": "X", "what": "w", "cure": "c"} if made.state == "held" else None,
        resetlogs_id=INCARNATION if has else None,
    )  # fmt: skip


def window_of(end: int, unaccounted: int = 0) -> WindowRow:
    at, account = time_of(end), {"landed": 1 + unaccounted, "applied": 1}
    return WindowRow("w", INCARNATION, end - 50, end, "applied", at, at, at, at, "b", 1, 1, 1, 1.0, account)


def opened_at(number: int, age: int | None) -> OpenTransaction:
    first_at = None if age is None else (NOW - timedelta(seconds=age)).replace(tzinfo=None).isoformat()
    return OpenTransaction(3, f"1.2.{number}", 1, SNAPSHOT + number, first_at, 1, 100, "SHOP")


COMPARED = st.builds(
    Compared,
    st.integers(10, 20_000),
    st.sampled_from(["equal", "differs", "error", "sample", "repaired", "quarantine", "history"]),
)


@st.composite
def made_tables(draw: st.DrawFn) -> Made:
    state = draw(st.sampled_from(["live", "live", "live", "held", "snapshotting", "new"]))
    may_lack = state == "new" or (state in ("snapshotting", "held") and draw(st.booleans()))
    lag = None if may_lack else draw(st.integers(5, 3_000))
    proofs = sorted(draw(st.lists(COMPARED, max_size=3, unique_by=lambda p: p.ago)), key=lambda p: p.ago)
    return Made(
        state, lag, draw(st.sampled_from([True, True, True, False])), draw(st.sampled_from([False, False, False, True])),
        draw(st.frozensets(st.integers(0, 1), max_size=2)) if lag is not None else frozenset(),
        lag is not None and draw(st.sampled_from([False, False, True])),
        draw(st.sampled_from([0, 0, 0, 3])) if lag is not None else 0,
        tuple(proofs) if lag is not None else (),
        state == "snapshotting" and draw(st.booleans()),
        draw(st.none() | st.integers(0, 20_000)) if state == "live" and lag is not None else None,
    )  # fmt: skip


WORLDS = st.builds(
    World,
    st.lists(st.just(Made()) | made_tables(), min_size=1, max_size=5).map(tuple),
    st.none() | st.integers(5, 5_000),
    st.sampled_from([None, "nothing", "wait", "window"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]),
    st.none() | st.sampled_from([("enough", True), ("enough", False), ("low", False), ("lost", False)]),
    st.sampled_from([False, False, True]),
    st.dictionaries(st.integers(0, 4), st.booleans(), max_size=2),
    st.sampled_from([0, 0, 30, 5_000, -5_000, None]),  # negative: a clock was set back
    st.sampled_from([0, 0, 0, 2]),
    st.lists(st.none() | st.integers(0, 9_000), max_size=2).map(tuple),
    st.none() | st.integers(0, 5_000),
)


def metrics_of(found: Overview) -> dict[str, float]:
    lines = [line for line in prometheus_text([found]).splitlines() if not line.startswith("#")]
    return {name.replace('pipeline="shop",', "").replace('{pipeline="shop"}', ""): float(value)
            for name, _, value in (line.rpartition(" ") for line in lines)}  # fmt: skip


def number(text: str) -> int:
    return int(text.replace(",", ""))


@settings(max_examples=400, deadline=None)
@given(WORLDS)
@example(World((Made(gaps=frozenset({1}), proofs=(Compared(9_000, "equal"),)), Made(proofs=(Compared(50, "equal"),)))))
@example(World((Made(lag=4),), window_lag=600))  # right after a snapshot of a quiet database
@example(World((Made("snapshotting", None, reading=True), Made("new", None)), window_lag=None))
@example(World((*[Made("held")] * 3, *[Made()] * 5)))
@example(World((Made(proofs=(Compared(900, "equal"),), loaded=300),)))  # proved before it was loaded after a RESETLOGS
@example(World((Made(),), contact=-5_000))
def test_no_summary_says_more_than_the_ledger_knows(world: World) -> None:
    pipeline = world.pipeline()
    found = overview_of(pipeline, world.reading(), NOW, paused=world.paused)
    terminal = verdict(found).plain
    page = Pages("/redolake", "", ["shop"], NOW).pipeline(found, [])
    metrics = metrics_of(found)
    captured = [table for table in world.tables if table.counts]
    right = [table for table in captured if table.is_right]
    live = {n: t for n, t in enumerate(world.tables) if t.counts and t.state == "live" and t.lag is not None}
    behind = max((t.lag or 0 for t in live.values()), default=None)

    said = re.search(r"Right up to|Received up to|Complete up to", terminal)
    assert said is None or len(right) == len(captured), terminal
    if counted := re.search(r"([\d,]+) of ([\d,]+) tables? (?:is|are) (?:right|received) up to", terminal):
        assert (number(counted[1]), number(counted[2])) == (len(right), len(captured)), terminal
    if shown := re.search(r"up to [^.]*?SCN ([\d,]+)", terminal):
        assert behind is not None, terminal
        assert number(shown[1]) == HEAD - behind, "the SCN shown is the last that each live table has"
    if proved := re.search(r"([\d,]+) of ([\d,]+) tables? proved equal", terminal):
        assert (number(proved[1]), number(proved[2])) == (sum(t.is_proved for t in captured), len(captured)), terminal

    has_contents = any(table.lag is not None or table.state == "held" for table in captured)
    is_reading = any(table.state == "snapshotting" or table.reading for table in captured)
    assert not (found.health.state == "not started" and (has_contents or is_reading)), terminal
    is_perfect = len(right) == len(captured) and (world.runway is None or world.runway[0] == "enough") and not world.unproved
    assert found.health.tone != "good" or is_perfect, terminal
    assert found.health.state != "on time" or len(right) == len(captured), terminal
    assert found.health.tone == "bad" or not any(table.known_wrong for table in captured), terminal
    assert f'class="verdict {found.health.tone}"' in page
    least_known: bool = behind is not None and all(world.known.get(n, True) for n, t in live.items() if t.lag == behind)
    is_late = least_known and behind is not None and behind > 300
    waits_long = found.health.lag_seconds is None and world.waits is not None and world.waits > 300
    is_asked = world.contact is not None and abs(world.contact) <= 900
    others_hide_it = world.lost or world.away or world.paused or (world.plan == "wait" and world.contact is not None)
    assert not (found.health.state == "late" and least_known and is_asked and not is_late), terminal
    assert found.health.state not in ("on time", "incomplete", "wrong") or (is_asked and not waits_long), terminal
    missing = world.unaccounted if world.window_lag is not None else 0
    assert not missing or found.health.tone == "bad", terminal
    assert not missing or "not accounted for" in terminal or found.health.state in ("not started", "snapshotting"), terminal
    assert not missing or found.health.state != "on time", terminal
    assert not is_late or found.health.state == "late" or others_hide_it, terminal
    for n, table in enumerate(world.tables):
        line = next(one for one in found.tables if one.table == world.name(n))
        assert line.tone != "good" or table.is_right, "the dot of its row"

    assert metrics["redolake_health" + f'{{state="{found.health.state}"}}'] == 1
    assert metrics.get("redolake_applied_scn") == (None if behind is None else HEAD - behind)
    assert not least_known or metrics.get("redolake_lag_seconds") == behind
    is_floor = world.runway is None or world.runway[1]
    assert ("redolake_runway_hours" in metrics) == (not is_floor), "a floor is no measure"
    assert metrics.get("redolake_runway_short") == (None if world.runway is None else world.runway[0] != "enough")
    assert metrics["redolake_declared_gaps"] == sum(
        any(n in t.gaps for t in world.tables if t.counts) for n in range(len(GAPS))
    )
    assert metrics["redolake_tables_right"] == len(right)
    ages = [age for age in world.opened if age is not None]
    assert metrics["redolake_open_transactions"] == len(world.opened)
    assert metrics.get("redolake_oldest_transaction_seconds") == (max(ages, default=None) if world.opened else 0)
    assert metrics["redolake_waiting_windows"] == (world.waits is not None)
    asked = metrics.get("redolake_source_contact_age_seconds")
    assert asked == world.contact, "where nobody has asked, no age is known"
    wrong = [t for t in captured if "differs" in [p.says for p in t.proofs if p.says not in ("error", "sample")][:1]]
    assert metrics["redolake_tables_differing"] == len(wrong)
    assert metrics["redolake_quarantined_keys"] == sum(t.quarantined for t in captured)
    assert metrics.get('redolake_tables{state="held"}', 0) == sum(t.state == "held" for t in captured)
