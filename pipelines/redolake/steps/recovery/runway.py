"""Measure the runway: the time between the oldest redo that is still needed and the oldest redo that is still kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from redolake.config import Pipeline
from redolake.context import Run, now, step
from redolake.errors import Finding, NoDictionaryInRedo, RedoLost
from redolake.reconcile.ledger import proven_position
from redolake.records.codec import to_body
from redolake.records.shown_facts import RunwayFact
from redolake.source import Source, read_redo_facts
from redolake.source.runway_facts import RecoveryArea, RetentionFacts, read_retention, read_snapshot_position
from redolake.source.standby import read_lags
from redolake.steps.shared.redo_dictionary import dictionary_for
from redolake.steps.shared.shown_facts import record_redo
from redolake.values.redo import LogFile, Position, RedoDictionary
from redolake.window.runway import BlockingThread, Runway, ThreadRunway, measure, state_of
from redolake.window.runway_findings import findings, headline, in_hours, in_units

NeededBy = Literal["position", "snapshot", "dictionary"]


@dataclass(frozen=True, slots=True)
class LogReport:
    """`began_at` is a time of the database host."""

    sequence: int
    first_scn: int
    began_at: str | None


@dataclass(frozen=True, slots=True)
class ThreadRunwayReport:
    """The runway of one redo thread; see window.runway.ThreadRunway. `older_redo` is `bytes_kept` as text."""

    thread: int
    instance: str | None
    needed: LogReport | None
    needed_is_archived: bool
    oldest: LogReport | None
    hours_left: float | None
    at_least: bool
    bytes_kept: int
    older_redo: str
    unread_logs: int
    lost: str | None


@dataclass(frozen=True, slots=True)
class RunwayReport:
    """`state` is enough, low or lost; `needed_by` says what needs the oldest redo."""

    pipeline: str
    state: str
    summary: str
    standing: str
    needed_by: NeededBy
    needed_scn: int
    hours_left: float | None
    at_least: bool
    bytes_left: int
    behind_hours: float | None
    unread_bytes: int
    bytes_per_hour: int | None
    threads: tuple[ThreadRunwayReport, ...]
    held_back_by: tuple[BlockingThread, ...]
    lost: Mapping[str, object] | None
    archive_lag_target_seconds: int | None
    recovery_area: RecoveryArea | None
    warn_below_hours: float
    warn_below_bytes: int | None
    findings: tuple[Finding, ...]


@step
def measure_runway(context: Run) -> RunwayReport:
    """Measure the runway of the position, or before the first snapshot that of a snapshot taken now."""
    pipeline, position = context.pipeline, proven_position(context)  # a parallel step may be about to correct the ledger's
    with context.oracle() as oracle:
        measured_at = now().replace(tzinfo=None)
        retention = read_retention(oracle)
        if position is None:
            needed, facts = read_snapshot_position(oracle, pipeline.source.container)
        else:
            needed, facts = position, read_redo_facts(oracle)
        dictionary, refused = needed_dictionary(pipeline, oracle, position)
        lags, behind = read_lags(oracle, facts)
        refused += behind
    runway, needed_by = measure(needed, facts, retention.now), of_position(position)
    if dictionary is not None:
        begin = replace(needed, scn=dictionary.begin_scn)
        runway, needed_by = since_dictionary(runway, measure(begin, facts, retention.now)), "dictionary"
    report = runway_report(pipeline, runway, retention, needed_by, refused)
    ahead = timedelta(seconds=round((retention.now - measured_at).total_seconds()))
    context.ledger.record_fact("runway", to_body(runway_fact(report)))
    if position is not None:
        record_redo(context, position, facts, ahead, lags, is_all=True)
    return report


def of_position(position: Position | None) -> NeededBy:
    return "snapshot" if position is None else "position"


def needed_dictionary(
    pipeline: Pipeline, oracle: Source, position: Position | None
) -> tuple[RedoDictionary | None, tuple[Finding, ...]]:
    """Return the dictionary in the redo that the next window needs, or a finding if it has none."""
    if position is None:
        return None, ()
    try:
        return dictionary_for(pipeline, oracle, position.chain_position), ()
    except NoDictionaryInRedo as error:
        return None, (Finding("dictionary in the redo", error.what, error.cure),)


def since_dictionary(of_position: Runway, of_dictionary: Runway) -> Runway:
    """Return the runway of the logs from the dictionary in the redo on, which each session of LogMiner reads again. Redo that
    is not read yet counts from the position."""
    if of_position.lost is not None:
        return of_position
    lost, unread = of_dictionary.lost, {thread.thread: thread.unread for thread in of_position.threads}
    if lost is not None:
        what = f"LogMiner reads all redo from its dictionary on, and some is gone: {lost.what}"
        cure = "restore the log, or set `dictionary: online` under `source`, which goes on without loss"
        lost = RedoLost(what, cure=cure)
    threads = of_dictionary.threads
    return replace(
        of_dictionary,
        threads=tuple(replace(t, unread=unread.get(t.thread, ()), lost=None if t.lost is None else lost) for t in threads),
        behind_hours=of_position.behind_hours,
        unread_bytes=of_position.unread_bytes,
        blocking_threads=of_position.blocking_threads,
        lost=lost,
    )


def runway_fact(report: RunwayReport) -> RunwayFact:
    return RunwayFact(
        state=report.state,
        summary=report.summary,
        hours_left=report.hours_left,
        is_floor=report.at_least,
        unread_bytes=report.unread_bytes,
        bytes_per_hour=report.bytes_per_hour,
        archive_lag_target_seconds=report.archive_lag_target_seconds,
        warn_below_hours=report.warn_below_hours,
        warnings=tuple(str(finding) for finding in report.findings if finding.severity != "note"),
    )


def runway_report(
    pipeline: Pipeline, runway: Runway, retention: RetentionFacts, needed_by: NeededBy, refused: Sequence[Finding] = ()
) -> RunwayReport:
    limits = pipeline.runway
    return RunwayReport(
        pipeline=pipeline.name,
        state=state_of(runway, limits),
        summary=f"{pipeline.name}: {headline(runway, limits)}",
        standing=standing_text(runway, needed_by),
        needed_by=needed_by,
        needed_scn=int(runway.needed_scn),
        hours_left=round_down(runway.hours_left),
        at_least=runway.at_least,
        bytes_left=runway.bytes_left,
        behind_hours=round_down(runway.behind_hours),
        unread_bytes=runway.unread_bytes,
        bytes_per_hour=None if runway.bytes_per_hour is None else int(runway.bytes_per_hour),
        threads=tuple(thread_report(thread) for thread in runway.threads),
        held_back_by=tuple(replace(thread, hours=round_down(thread.hours)) for thread in runway.blocking_threads),
        lost=None if runway.lost is None else runway.lost.as_dict(),
        archive_lag_target_seconds=retention.lag_seconds,
        recovery_area=area_report(retention.recovery_area, runway.bytes_per_hour),
        warn_below_hours=limits.warn_below_hours,
        warn_below_bytes=limits.warn_below_bytes,
        findings=(
            *refused,
            *findings(runway, limits, retention.lag_seconds, pipeline.name),
            *area_findings(retention, runway.bytes_per_hour),
        ),
    )


STANDINGS: Mapping[NeededBy, str] = {
    "position": "needed from SCN",
    "dictionary": "needed from the dictionary in the redo, SCN",
    "snapshot": "no table has contents yet; a snapshot taken now needs redo from SCN",
}


def standing_text(runway: Runway, needed_by: NeededBy) -> str:
    """Return the position of the pipeline in the redo, in one line."""
    what = STANDINGS[needed_by]
    age = "" if runway.behind_hours is None else f", at most {in_hours(runway.behind_hours)} old"
    return f"{what} {runway.needed_scn}{age}; archived and not read yet: {in_units(runway.unread_bytes)}"


def area_findings(retention: RetentionFacts, bytes_per_hour: float | None) -> list[Finding]:
    """Report the space in the recovery area, because Oracle deletes archived logs early from a full one."""
    if retention.refused is not None:
        return [retention.refused]
    area = retention.recovery_area
    if area is None:
        return []
    used = f"{in_units(area.used_bytes)} of {in_units(area.limit_bytes)} used, {in_units(area.reclaimable_bytes)} reclaimable"
    full = "" if not bytes_per_hour else f"; full in {in_hours(area.free_bytes / bytes_per_hour)} at the pace of the last day"
    return [Finding("recovery area", f"{used}{full}: Oracle then deletes what is reclaimable, read or not", "", "note")]


def thread_report(thread: ThreadRunway) -> ThreadRunwayReport:
    return ThreadRunwayReport(
        thread=thread.thread,
        instance=thread.instance,
        needed=log_report(thread.needed),
        needed_is_archived=thread.is_archived,
        oldest=log_report(thread.oldest),
        hours_left=round_down(thread.hours_left),
        at_least=not thread.deleted_before,
        bytes_kept=thread.kept_bytes,
        older_redo=in_units(thread.kept_bytes),
        unread_logs=len(thread.unread),
        lost=None if thread.lost is None else thread.lost.what,
    )


def log_report(log: LogFile | None) -> LogReport | None:
    return None if log is None else LogReport(log.sequence, int(log.first_scn), time_text(log.first_at))


def area_report(area: RecoveryArea | None, bytes_per_hour: float | None) -> RecoveryArea | None:
    if area is None or not bytes_per_hour:
        return area
    return replace(area, hours_until_full=round_down(area.free_bytes / bytes_per_hour))


def round_down(hours: float | None) -> float | None:
    """Return the hours with two digits, never more than there are."""
    return None if hours is None else int(hours * 100) / 100


def time_text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(sep=" ", timespec="seconds")
