"""How each table of a pipeline is, as its ledger knows it: what the page, the terminal, metrics and `redolake mend` speak of.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from redolake.config import Pipeline
from redolake.config.tables import default_path
from redolake.ledger.entries import TableEntry
from redolake.ledger.reading import FactRow, LedgerReading
from redolake.records.batches.manifest import HistoryFact
from redolake.records.codec import from_body, parts_of
from redolake.records.shown_facts import DropsFact, ProofFact, QuarantineFact, SnapshotFact
from redolake.values.amounts import done_of, duration, pace, percent, size
from redolake.values.table import TableId
from redolake.values.terms import RowCounts

Tone = Literal["good", "notice", "bad", "quiet"]
WORST_FIRST: tuple[Tone, ...] = ("bad", "notice", "good", "quiet")

# Why a captured table is not as the source. Each is a fact of the ledger, and none is left out of a summary.
Fault = Literal["differs", "history differs", "gap", "dropped", "held", "quarantine", "not loaded"]
FAULT_TONES: Mapping[Fault, Tone] = {
    "differs": "bad",
    "history differs": "bad",
    "gap": "notice",
    "dropped": "notice",
    "held": "notice",
    "quarantine": "notice",
    "not loaded": "notice",
}


def worst(tones: Iterable[Tone]) -> Tone:
    """Return the tone that comes first: a fact that is bad is not hidden by others that are good."""
    return min(tones, key=WORST_FIRST.index)


@dataclass(frozen=True, slots=True)
class OpenGap:
    """A declared gap that a table still lacks. The SCNs are the first and the last that were not read."""

    first_scn: int
    last_scn: int
    at: datetime


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The history of a table's rows: its kind by the configuration, and how far it is; `state` is None where none has begun."""

    kind: str
    state: HistoryFact | None


@dataclass(frozen=True, slots=True)
class TableLine(RowCounts):
    """`inserted`, `updated` and `deleted` are rows of the last 24 hours; `behind` is true where others are further. A table
    that is no longer `listed` in pipelines.yml, or was dropped in Oracle at `dropped_at`, keeps its Delta table as it is. It
    lacks the changes of `gaps` and `dropped_transactions`. `loaded` is its last snapshot."""

    table: str
    target: str
    state: str
    complete_to_scn: int | None
    delta_version: int | None
    behind: bool
    changed_at: datetime | None
    proofs: tuple[ProofFact, ...]
    snapshot: str
    code: str | None = None
    error: str | None = None
    where: str = ""
    cure: str = ""
    held_at: datetime | None = None
    complete_to_at: datetime | None = None  # when the source wrote that SCN; None where no step recorded it
    listed: bool = True
    quarantined_keys: int = 0
    nulled: int = 0  # values that are NULL by rule, by the last comparison of all rows, else by the load
    history: HistoryLine | None = None
    snapshot_scn: int | None = None
    dropped_at: int | None = None
    gaps: tuple[OpenGap, ...] = ()
    dropped_transactions: tuple[str, ...] = ()
    loaded: SnapshotFact | None = None
    loaded_at: datetime | None = None  # None while a snapshot is under way

    @property
    def is_captured(self) -> bool:
        """Whether the table is expected to be as the source is."""
        return self.listed and self.dropped_at is None

    @property
    def counted_as(self) -> str:
        return self.state if self.is_captured else "not listed" if not self.listed else "dropped"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return why the table is not as the source, as far as the ledger knows; none for a table that is not captured."""
        if not self.is_captured:
            return ()
        has: Mapping[Fault, bool] = {
            "differs": self.differs,
            "history differs": self.history_differs,
            "gap": bool(self.gaps),
            "dropped": bool(self.dropped_transactions),
            "held": self.state == "held",
            "quarantine": self.quarantined_keys > 0,
            "not loaded": self.state in ("new", "snapshotting") or (self.state == "live" and self.complete_to_scn is None),
        }
        return tuple(fault for fault, is_so in has.items() if is_so)

    @property
    def tone(self) -> Tone:
        if not self.is_captured:
            return "quiet"
        if self.state == "held":
            return "bad"
        return worst(["notice" if self.behind else "good", *(FAULT_TONES[fault] for fault in self.faults)])

    @property
    def state_text(self) -> str:
        """Return the state with all that makes it less than it says."""
        beside = {
            "behind": self.behind,
            "lacks a gap": bool(self.gaps),
            "lacks a dropped transaction": bool(self.dropped_transactions),
            "dropped in Oracle": self.dropped_at is not None,
            "not listed": not self.listed,
        }
        return ", ".join([self.state, *(words for words, is_so in beside.items() if is_so)])

    @property
    def proof_word(self) -> str:
        """Return what the comparison that counts found, and whether the contents have changed since other than by redo."""
        last = self.proof
        if last is None:
            return "not compared yet"
        is_old = last.has_equal_rows and self._is_older(last)
        return f"{last.word}, before the last gap or snapshot" if is_old else last.word

    def _is_older(self, proof: ProofFact) -> bool:
        """Return whether a proof is of older contents. After a RESETLOGS its SCN may be higher than that of a later load."""
        scn = proof.scn
        if scn is None:
            return False
        if self.loaded_at is not None and proof.when < self.loaded_at:
            return True
        return scn < (self.snapshot_scn or 0) or any(proof.when <= gap.at or scn < gap.last_scn for gap in self.gaps)

    @property
    def proved(self) -> ProofFact | None:
        """The last comparison, if it proves that the present contents are equal: of all rows and keys, and of no contents from
        before a declared gap or a snapshot."""
        last = self.proof
        if last is None or self.state != "live" or not self.is_captured or self.history_differs:
            return None
        is_whole = last.has_equal_rows and last.share == 1 and not last.quarantined_keys and last.scn is not None
        return last if is_whole and not self._is_older(last) else None

    @property
    def proof(self) -> ProofFact | None:
        """The comparison that counts: the newest, but for samples that found nothing. A repair has a share of 0."""
        return next(self._counting, None)

    @property
    def differs(self) -> bool:
        """Whether the last comparison that came to an end found rows that differ."""
        found = next((proof for proof in self._counting if proof.error is None), None)
        return found is not None and not found.has_equal_rows

    @property
    def history_differs(self) -> bool:
        """Whether the last comparison of its history found that it says something else than the table."""
        found = next((proof.history for proof in self.proofs if proof.history is not None), None)
        return found is not None and not found.is_equal

    @property
    def _counting(self) -> Iterator[ProofFact]:
        return (p for p in self.proofs if p.share in (0, 1) or p.error or not p.has_equal_rows)


# --- From the ledger


def one(reading: LedgerReading, kind: str, name: str = "") -> FactRow | None:
    return reading.facts.get(kind, {}).get(name)


def table_lines(pipeline: Pipeline, reading: LedgerReading) -> list[TableLine]:
    """Return all tables: held ones first, then those that others have passed, then by name."""
    listed = {entry.table for entry in reading.tables if is_listed(pipeline, entry.table)}
    furthest = max((entry.position for entry in reading.tables if entry.state == "live"), default=None)
    gaps = lacked_gaps(reading)
    lake = pipeline.lake.rstrip("/")
    targets = {table.id: f"{lake}/{table.path}" for table in pipeline.tables}
    lines = [
        table_line(
            entry,
            reading,
            targets.get(entry.table) or f"{lake}/{default_path(entry.table)}",  # of a pattern
            furthest is not None and entry.position < furthest,
            entry.table in listed,
            history_line(pipeline, reading, entry.table) if entry.table in listed else None,
            gaps.get(str(entry.table), ()),
        )
        for entry in reading.tables
    ]
    rank = {"held": 0, "snapshotting": 1, "new": 2, "dropped": 5, "not listed": 6}
    return sorted(lines, key=lambda line: (rank.get(line.counted_as, 4), not line.behind, line.table))


def lacked_gaps(reading: LedgerReading) -> dict[str, tuple[OpenGap, ...]]:
    """Return the declared gaps that each table lacks, by its name."""
    found: dict[str, tuple[OpenGap, ...]] = {}
    for gap in reading.gaps:
        opened = OpenGap(int(gap.start.scn), int(gap.last_position.scn), datetime.fromisoformat(gap.at))
        for name in reading.lacking_tables(gap):
            found[name] = (*found.get(name, ()), opened)
    return found


def is_listed(pipeline: Pipeline, table: TableId) -> bool:
    """Return whether `tables` names the table, or a pattern of it matches. The page reads the ledger alone, which does not have
    the tables that patterns have matched."""
    return table in pipeline.by_id or pipeline.match_of(table) is not None


def history_line(pipeline: Pipeline, reading: LedgerReading, table: TableId) -> HistoryLine | None:
    """Return what is known of the table's history; None for a table without one."""
    kind, fact = pipeline.settings(table).history, one(reading, "history", str(table))
    if kind == "none":
        return None
    return HistoryLine(kind, None if fact is None else from_body(HistoryFact, fact.body, f"the history of {table}"))


def table_line(
    entry: TableEntry,
    reading: LedgerReading,
    target: str,
    is_behind: bool,
    listed: bool,
    history: HistoryLine | None,
    gaps: tuple[OpenGap, ...],
) -> TableLine:
    changes, hold = reading.changes.get(entry.table), entry.hold
    fact, loaded = one(reading, "snapshot", str(entry.table)), reading.snapshot_of(entry.table)
    return TableLine(
        table=str(entry.table),
        target=target,
        state=entry.state,
        complete_to_scn=entry.complete_to_scn,
        delta_version=entry.delta_version,
        behind=is_behind and entry.state == "live" and listed,
        changed_at=reading.changed_at.get(entry.table),
        proofs=proofs_of(reading, str(entry.table)),
        snapshot=snapshot_text(reading, entry),
        code=hold.get("code"),
        error=hold.get("what"),
        where=", ".join(f"{name} {value}" for name, value in (hold.get("where") or {}).items() if name != "table"),
        cure=hold.get("cure") or "",
        held_at=entry.held_at,
        complete_to_at=reading.contents_at.get(entry.table),
        listed=listed,
        quarantined_keys=quarantined_keys(reading, entry),
        nulled=values_nulled(reading, entry),
        history=history,
        snapshot_scn=entry.snapshot_scn,
        dropped_at=reading.dropped_at.get(entry.table),
        gaps=gaps,
        dropped_transactions=lacked_drops(reading, entry),
        loaded=loaded,
        loaded_at=fact.at if fact is not None and loaded is not None and loaded.state == "loaded" else None,
        **(changes or RowCounts()).counts,
    )


def lacked_drops(reading: LedgerReading, entry: TableEntry) -> tuple[str, ...]:
    """Return the dropped transactions whose changes the table lacks: it was not read again since their end."""
    fact = one(reading, "drops")
    found = () if fact is None else from_body(DropsFact, fact.body, "the dropped transactions in the ledger").drops
    return tuple(drop.xid for drop in found if str(entry.table) in drop.tables and (entry.snapshot_scn or -1) < drop.end_scn)


def quarantined_keys(reading: LedgerReading, entry: TableEntry) -> int:
    """Return how many keys are in quarantine, by the last batch or command that looked."""
    fact = one(reading, "quarantine", str(entry.table))
    return 0 if fact is None else from_body(QuarantineFact, fact.body, f"the quarantine of {entry.table}").keys


def values_nulled(reading: LedgerReading, entry: TableEntry) -> int:
    """Return how many values were NULL by rule when all rows were last compared, or else when they were loaded."""
    compared = (p.nulled for p in proofs_of(reading, str(entry.table)) if p.error is None and p.share == 1)
    loaded = reading.snapshot_of(entry.table)
    return next(compared, 0 if loaded is None else loaded.nulled)


def proofs_of(reading: LedgerReading, table: str) -> tuple[ProofFact, ...]:
    """Return the comparisons of a table, newest first."""
    fact = one(reading, "proofs", table)
    return () if fact is None else proofs_in(fact.body, table)


def proofs_in(body: Mapping[str, Any], table: str) -> tuple[ProofFact, ...]:
    """Return the comparisons in a fact of the ledger, newest first."""
    found = (from_body(ProofFact, each, f"a proof of {table}") for each in parts_of(body, "proofs"))
    return tuple(one for one in found if one.at is not None)


def snapshot_text(reading: LedgerReading, entry: TableEntry) -> str:
    """Say how far a snapshot in progress is; nothing once the table is live."""
    fact, found = one(reading, "snapshot", str(entry.table)), reading.snapshot_of(entry.table)
    if fact is None or found is None:
        return ""
    if found.state == "loaded" or (entry.state == "live" and entry.snapshot_scn == found.scn):
        return ""
    for_seconds = duration((reading.read_at - fact.at).total_seconds())
    if found.state == "read":
        return f"{found.rows or 0:,} rows read in {duration(found.seconds)}, loading for {for_seconds}"
    how_fast = pace(found.rows_per_second, found.seconds_left)
    if found.chunks is not None:
        how_many = f"{found.chunks_read or 0:,} of {found.chunks:,} chunks"
        share = "" if found.share is None else f" ({percent(found.share)})"
        of_bytes = "" if found.bytes is None else f", {size(found.bytes_read)} of {size(found.bytes)}{share},"
        return f"{how_many}{of_bytes} read AS OF SCN {found.scn:,}, the last {for_seconds} ago{how_fast}"
    if found.rows is not None:
        return f"{done_of(found.rows, found.expected)} rows read AS OF SCN {found.scn:,}, {for_seconds} ago{how_fast}"
    return f"being read AS OF SCN {found.scn:,} for {for_seconds}" if found.state == "reading" else "waits to be read"
