"""Describe the runway: one line for the log, and findings with their cures."""

from __future__ import annotations

from redolake.errors import Finding
from redolake.values.redo import LARGEST_LAG_SECONDS
from redolake.window.runway import ENOUGH, LOST, LOW, BlockingThread, Runway, ThreadRunway, WarningLimits, state_of

KEEP_LONGER = (
    "keep archived logs longer: a larger n in DELETE ARCHIVELOG ALL COMPLETED BEFORE 'SYSDATE-n', or a larger "
    "DB_RECOVERY_FILE_DEST_SIZE"
)
VERDICTS = {ENOUGH: "the runway is long enough", LOW: "the runway is too short", LOST: "redo is lost"}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def in_units(size: int) -> str:
    """Format a size, such as `1.5 GiB`."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{size} bytes" if unit == 0 else f"{amount:.1f} {UNITS[unit]}"


def in_hours(hours: float) -> str:
    """Format hours, rounded down: 11.97 hours are below a threshold of 12 and must not read as 12.0."""
    if 0 < hours < 1:
        return f"{int(hours * 60)} minutes"
    return f"{int(hours * 10) / 10:.1f} hours"


def headline(runway: Runway, limits: WarningLimits) -> str:
    """Return in one line whether the runway is long enough, and how long it is."""
    return f"{VERDICTS[state_of(runway, limits)]}: {how_long(runway)}"


def how_long(runway: Runway) -> str:
    if runway.lost is not None:
        return runway.lost.what
    if runway.hours_left is None:
        return "no redo thread has redo left to read"
    amount = f"{in_hours(runway.hours_left)} and {in_units(runway.bytes_left)} of redo"
    if runway.at_least:
        return f"no archived log has been deleted yet, and {amount} are kept before the oldest needed log"
    return f"{amount} are left before needed redo may be deleted"


def findings(runway: Runway, limits: WarningLimits, lag_seconds: int | None, pipeline: str) -> tuple[Finding, ...]:
    """Return all findings, the most serious first. `lag_seconds` is ARCHIVE_LAG_TARGET."""
    lost = dict.fromkeys(error for error in (*(t.lost for t in runway.threads), runway.lost) if error is not None)
    found = [Finding("redo", error.what, error.cure) for error in lost]
    if state_of(runway, limits) == LOW:
        found.append(low_finding(first_to_lose(runway), runway, limits, pipeline))
    return (*found, *(blocking_finding(blocking, lag_seconds) for blocking in runway.blocking_threads))


def first_to_lose(runway: Runway) -> ThreadRunway:
    limited = [t for t in runway.threads if t.hours_left is not None and t.deleted_before]
    return min(limited, key=lambda t: (t.hours_left or 0.0, t.thread))


def low_finding(thread: ThreadRunway, runway: Runway, limits: WarningLimits, pipeline: str) -> Finding:
    subject = f"redo thread {thread.thread}"
    if not thread.is_archived and not thread.kept:
        what = "has no archived log left, so nothing shows how long the next one will be kept"
        cure = f"{KEEP_LONGER}; if the thread is only idle, ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300"
        return Finding(subject, what, cure, "warning")
    log = "its next log" if thread.needed is None else f"log {thread.needed.sequence}"
    threshold = f"{limits.warn_below_hours:g} hours"
    if limits.warn_below_bytes is not None:
        threshold += f" or {in_units(limits.warn_below_bytes)}"
    what = (
        f"{log} is needed, and may be deleted in {in_hours(thread.hours_left or 0.0)}, after {in_units(runway.bytes_left)} of "
        f"older redo (warns below {threshold})"
    )
    return Finding(subject, what, f"make sure that {pipeline}_capture runs and keeps up; {KEEP_LONGER}", "warning")


def blocking_finding(blocking: BlockingThread, lag_seconds: int | None) -> Finding:
    """Return a warning, or a note where ARCHIVE_LAG_TARGET will switch the log or it began recently."""
    log = "its next log" if blocking.sequence is None else f"its log {blocking.sequence}"
    waiting = f"while {blocking.waiting_logs} archived log(s) of other threads wait, {in_units(blocking.waiting_bytes)}"
    since = "" if blocking.hours is None else f", begun {in_hours(blocking.hours)} ago,"
    subject, start = f"redo thread {blocking.thread}", f"holds the window back at SCN {blocking.scn}: {log}{since}"
    if blocking.reason != "open":
        cure = "check whether the archiver of that instance is stuck: its alert log, V$ARCHIVE_DEST_STATUS.ERROR"
        return Finding(subject, f"{start} is switched but not archived, {waiting}", cure, "warning")
    what = f"{start} is still open, {waiting}"
    if lag_seconds is not None and 0 < lag_seconds <= LARGEST_LAG_SECONDS:
        return Finding(subject, f"{what}; ARCHIVE_LAG_TARGET switches it every {lag_seconds} seconds", "", "note")
    if blocking.hours is not None and blocking.hours * 3600 < LARGEST_LAG_SECONDS:
        return Finding(subject, what, "", "note")
    target = "is not known" if lag_seconds is None else f"is {lag_seconds}"
    cure = "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH SID = '*'; immediately: ALTER SYSTEM ARCHIVE LOG CURRENT"
    return Finding(subject, f"{what}; ARCHIVE_LAG_TARGET {target}", cure, "warning")
