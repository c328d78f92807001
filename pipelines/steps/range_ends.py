"""Turn the ends of a range, as people write them, into SCNs: by the windows that have landed. Oracle is not asked.

A time lies between the ends of two windows, and nothing says at which SCN. So a range by time has whole windows: it begins with
the window in which the first time lies, and ends with the one in which the second lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from pipelines.context import PipelineContext
from pipelines.errors import ConfigurationError, Finding
from pipelines.records.windows import WindowManifest
from pipelines.steps.scn_times import time_written
from pipelines.values.moment import AtEdge, AtScn, AtTime, AtWindow, Moment, parse_moment
from pipelines.values.scn import ChainPosition
from pipelines.values.utc import beside, utc_text

EndTimes = Mapping[ChainPosition, datetime]


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """`asked` is what was asked for; the source had written `scn` by `at`, in UTC."""

    asked: str
    scn: int
    at: str | None = None

    def __str__(self) -> str:
        meant = "" if self.asked == str(self.scn) else f", for {self.asked}"
        return f"SCN {self.scn}{beside(self.at, 'by ')}{meant}"


def find_range_ends(
    context: PipelineContext, manifests: Sequence[WindowManifest], start: str | int, end: str | int
) -> tuple[RangeEnd, RangeEnd]:
    """Return both ends of a range; the second SCN is not part of it. Raises ConfigurationError with what is wrong."""
    findings = list[Finding]()
    found = [end_of(context, manifests, str(asked), is_last, findings) for asked, is_last in ((start, False), (end, True))]
    if findings or found[0] is None or found[1] is None:
        raise ConfigurationError(findings)
    return found[0], found[1]


def end_of(
    context: PipelineContext, manifests: Sequence[WindowManifest], asked: str, is_last: bool, findings: list[Finding]
) -> RangeEnd | None:
    try:
        moment = parse_moment(asked)
        times = context.ledger.end_times(m.end_position for m in manifests) if isinstance(moment, AtTime) else {}
        scn = scn_of(moment, manifests, times, is_last=is_last)
    except ValueError as wrong:
        what = f"{wrong}{pruned_text(context)}"
        findings.append(Finding("to" if is_last else "from", what, "`redolake windows` lists what has landed"))
        return None
    return RangeEnd(asked, scn, time_written(context, scn - 1 if is_last else scn))


def pruned_text(context: PipelineContext) -> str:
    """Say up to where windows were pruned; empty where none was."""
    pruned = context.landing.pruned
    if pruned is None:
        return ""
    return f"; the windows up to SCN {pruned.position.scn} were pruned, the last of them on {pruned.steps[-1].at}"


def scn_of(moment: Moment, manifests: Sequence[WindowManifest], times: EndTimes, *, is_last: bool) -> int:
    """Return the SCN with which a range begins, or at which it ends. Raises ValueError where the windows do not show it."""
    if isinstance(moment, AtScn):
        return moment.scn
    if not manifests:
        raise ValueError("nothing has landed yet, so only an SCN can be named")
    match moment:
        case AtEdge("first"):
            return manifests[0].start
        case AtEdge():
            return manifests[-1].end
        case AtWindow(name):
            window = next((m for m in manifests if m.name == name), None)
            if window is None:
                raise ValueError(f"no window {name} has landed")
            return window.end if is_last else window.start
        case AtTime(at):
            return scn_at_time(at, manifests, times, is_last=is_last)
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
    before = [manifest for manifest, when in ended if when <= at]
    if not before:
        raise ValueError(
            f"{utc_text(at)} UTC is before the end of the first window, {utc_text(ended[0][1])} UTC, and when it began is not "
            "known: write `first`"
        )
    return before[-1].end
