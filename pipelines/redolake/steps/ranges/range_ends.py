"""Turn the ends of a range, as people write them, into SCNs: by the windows that have landed, and a time by the database.

The database knows a time to some 3 seconds, so a range by time is made wider by as much: it has every commit of its time. Where
the database no longer knows, a range by time has whole windows: it begins with the window in which the first time lies, and
ends with the one in which the second lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, assert_never

from redolake.context import Run, now
from redolake.errors import ConfigurationError, Finding, SourceBusy, SourceRefused, SourceUnavailable, one_line
from redolake.records.windows import WindowManifest
from redolake.source import read_scn_at
from redolake.steps.shared.scn_times import time_written
from redolake.steps.shared.shown_facts import host_clock_ahead
from redolake.values.moment import FORMS, AtWindow, Moment, parse_moment
from redolake.values.scn import ChainPosition
from redolake.values.utc import beside, utc_text

EndTimes = Mapping[ChainPosition, datetime]
Clock = Callable[[datetime], tuple[int, datetime] | str]
SECOND = timedelta(seconds=1)
PRECISION = timedelta(seconds=3)  # of TIMESTAMP_TO_SCN
# Between the time of a switch in the redo and the one that the database has for its SCN, also where clocks drift apart.
TOLERANCE = timedelta(seconds=30)
LISTED = "`redolake windows` lists what has landed"


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """`asked` is what was asked for. By the windows, the source had written `scn` by `at`, in UTC; by the database, `at` is the
    time of `scn`. `why` says why the database did not answer for a time."""

    asked: str
    scn: int
    at: str | None = None
    by: Literal["windows", "database"] = "windows"
    why: str = ""

    def __str__(self) -> str:
        meant = "" if self.asked == str(self.scn) else f", for {one_line(self.asked)}"
        why = f" (by the landed windows: {one_line(self.why)})" if self.why else ""
        if self.by == "database":
            return f"SCN {self.scn} ({utc_text(self.at)} UTC by the database){meant}"
        return f"SCN {self.scn}{beside(self.at, 'by ')}{meant}{why}"


def find_range_ends(
    context: Run,
    manifests: Sequence[WindowManifest],
    start: str | int,
    end: str | int,
    clock: Clock | None = None,
) -> tuple[RangeEnd, RangeEnd]:
    """Return both ends of a range; the second SCN is not part of it. Raises ConfigurationError with what is wrong."""
    findings = list[Finding]()
    found = [
        end_of(context, manifests, str(asked), is_last, findings, clock) for asked, is_last in ((start, False), (end, True))
    ]
    if findings or found[0] is None or found[1] is None:
        raise ConfigurationError(findings)
    return found[0], found[1]


def end_of(
    context: Run,
    manifests: Sequence[WindowManifest],
    asked: str,
    is_last: bool,
    findings: list[Finding],
    clock: Clock | None,
) -> RangeEnd | None:
    name, why = "to" if is_last else "from", ""
    try:
        moment = parse_moment(asked)
        require_past(moment, now())
    except ValueError as wrong:
        findings.append(Finding(name, str(wrong), f"write {FORMS}"))
        return None
    times = context.ledger.end_times(m.end_position for m in manifests) if isinstance(moment, datetime) else {}
    if isinstance(moment, datetime) and clock is not None:
        known = clock(time_to_ask(moment, is_last=is_last))
        if not isinstance(known, str):
            scn, known_at = known
            if not disagrees(scn, moment, manifests, times):
                return RangeEnd(asked, scn, known_at.isoformat(timespec="seconds"), "database")
            known = f"the database has SCN {scn} for it, which has landed with other times"
        why = known
    try:
        scn = scn_of(moment, manifests, times, is_last=is_last)
    except ValueError as wrong:
        findings.append(Finding(name, f"{wrong}{pruned_text(context)}{f'; {why}' if why else ''}", LISTED))
        return None
    return RangeEnd(asked, scn, time_written(context, scn - 1 if is_last else scn), why=why)


def require_past(moment: Moment, at: datetime) -> None:
    """Raise ValueError for a time in the future."""
    if isinstance(moment, datetime) and moment > at:
        raise ValueError(f"{utc_text(moment)} UTC is in the future: it is {utc_text(at)} UTC now")


def time_to_ask(at: datetime, *, is_last: bool) -> datetime:
    """Return the time to ask the database for, so that its answer is not inside the range."""
    return at + PRECISION if is_last else at - PRECISION


def disagrees(scn: int, at: datetime, manifests: Sequence[WindowManifest], times: EndTimes) -> bool:
    """Return whether landed windows show that a time lies elsewhere: the clock of the database's host changed since, as where
    summer time ended, and the database counts by today's."""
    ended = [(int(manifest.end), times[manifest.end_position]) for manifest in manifests if manifest.end_position in times]
    before = max((end for end, when in ended if when <= at - TOLERANCE), default=0)
    after = min((end for end, when in ended if when >= at + TOLERANCE), default=scn)
    return not before <= scn <= after


def database_clock(run: Run) -> Clock:
    """Return a function that asks the database for the SCN of a time; it returns a text that says why it was not answered."""

    def ask(at: datetime) -> tuple[int, datetime] | str:
        try:
            with run.connect() as oracle:
                found = read_scn_at(oracle, min(at.astimezone(UTC), now() - SECOND), host_clock_ahead(oracle))
        except (SourceUnavailable, SourceBusy, SourceRefused, ConfigurationError) as error:
            return f"the database could not be asked: {error.what}"
        return "the database does not know its SCN any more" if found is None else found

    return ask


def pruned_text(context: Run) -> str:
    """Say up to where windows were pruned; empty where none was."""
    pruned = context.landing.pruned
    if pruned is None:
        return ""
    return f"; the windows up to SCN {pruned.position.scn} were pruned, the last of them on {pruned.steps[-1].at}"


def scn_of(moment: Moment, manifests: Sequence[WindowManifest], times: EndTimes, *, is_last: bool) -> int:
    """Return the SCN with which a range begins, or at which it ends. Raises ValueError where the windows do not show it."""
    if isinstance(moment, int):
        return moment
    if not manifests:
        raise ValueError("nothing has landed yet, so only an SCN can be named")
    match moment:
        case "first":
            return manifests[0].start
        case "now":
            return manifests[-1].end
        case AtWindow(name):
            window = next((m for m in manifests if m.name == name), None)
            if window is None:
                raise ValueError(f"no window {name} has landed")
            return window.end if is_last else window.start
        case datetime():
            return scn_at_time(moment, manifests, times, is_last=is_last)
        case _:
            assert_never(moment)


def scn_at_time(at: datetime, manifests: Sequence[WindowManifest], times: EndTimes, *, is_last: bool) -> int:
    ended = [(manifest, times[manifest.end_position]) for manifest in manifests if manifest.end_position in times]
    if not ended:
        raise ValueError("no time of a landed window is known, as in a ledger that was built again: name an SCN")
    if is_last:
        last = next((manifest for manifest, when in ended if when >= at), None)
        if last is None:
            raise ValueError(f"{utc_text(at)} UTC has not landed yet: the last window ended at {utc_text(ended[-1][1])} UTC")
        return last.end
    before = [number for number, m in enumerate(manifests) if (when := times.get(m.end_position)) is not None and when <= at]
    if not before:
        raise ValueError(
            f"{utc_text(at)} UTC is before the end of the first window, {utc_text(ended[0][1])} UTC, and when it began is not "
            "known: write `first`"
        )
    return scn_before_end(manifests[before[-1]], manifests[before[-1] + 1 :])


def scn_before_end(window: WindowManifest, later: Sequence[WindowManifest]) -> int:
    """Return the last SCN that was certainly written by the time recorded for a window's end. Where no log begins at the end,
    that time is the one at which the newest log before it began (window/redo_of_threads.py)."""
    if any(log.first_scn == window.end for log in (later[0].logs if later else ())):
        return window.end
    return max((log.first_scn for log in window.logs if log.first_scn < window.end), default=window.start)
