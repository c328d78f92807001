"""Describe a missing log: which one, from which SCN it is needed, where it was last seen, and the cure."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.errors import RedoLost
from redolake.values.redo import LogCopy
from redolake.values.scn import Scn
from redolake.window.thread_logs import ThreadLogs

CATALOG = "if the file still exists, catalogue it (RMAN: CATALOG ARCHIVELOG 'file'), else "
STANDBY = "if the redo transport to this standby has a gap (V$ARCHIVE_GAP), run again once it is filled; else "
LOST_CURE = (
    "restore the archived log with RMAN (RESTORE ARCHIVELOG SEQUENCE {sequence} THREAD {thread}) and run again; "
    "`redolake recover` lists every missing log and the other choices with their cost: new snapshots, or a declared gap"
)


@dataclass(frozen=True, slots=True)
class Hole:
    """A log that is lost, and whose redo is needed from `scn` on."""

    sequence: int
    scn: Scn
    why: str
    older_too: bool = False  # logs before it may be needed as well, and no view says which
    may_appear: bool = False  # it has no row of V$ARCHIVED_LOG, and the row may still come


def loss_of(hole: Hole, known: ThreadLogs) -> RedoLost:
    """Return the error for the missing log."""
    copies = copies_of(hole.sequence, known)
    last = next((c for c in copies if c.name), None)
    cure = LOST_CURE.format(thread=known.thread, sequence=hole.sequence)
    return RedoLost(
        f"Redo Thread {known.thread} is inconsistent; an archive log with sequence {hole.sequence} is not available",
        cure=(STANDBY if known.is_standby else "") + (cure if copies else CATALOG + cure),
        thread=known.thread,
        sequence=hole.sequence,
        scn=hole.scn,
        why=hole.why,
        last_file=last.name if last else nearest_file(hole.sequence, known),
        destination=last.dest_id if last else ", ".join(str(c.dest_id) for c in copies) or None,
    )


def copies_of(sequence: int, known: ThreadLogs) -> tuple[LogCopy, ...]:
    """Return the log's rows of V$ARCHIVED_LOG, none where it has no row any more."""
    log = known.archived.get(sequence)
    return () if log is None else log.copies


def nearest_file(sequence: int, known: ThreadLogs) -> str | None:
    """Describe the file of the nearest log: RMAN clears the name of a deleted log, and a neighbour shows folder and pattern."""
    near = sorted(known.archived.values(), key=lambda g: abs(g.sequence - sequence))
    named = next(((g, c) for g in near for c in g.copies if c.name and not c.standby), None)
    return named and f"unknown; sequence {named[0].sequence} is {named[1].name} in destination {named[1].dest_id}"


def state_of_copy(copy: LogCopy) -> str:
    """Say why the copy cannot be mined."""
    destination = f"destination {copy.dest_id}"
    if copy.deleted or copy.status == "D":
        return f"{destination}: deleted" + (f", was {copy.name}" if copy.name else "")
    if copy.standby:
        return f"{destination}: sent to {copy.name}, not a file on this host"
    if not copy.archived and not copy.name:
        return f"{destination}: the log was cleared before it was archived (ALTER DATABASE CLEAR UNARCHIVED LOGFILE)"
    if not copy.archived:
        return f"{destination}: archiving did not complete"
    if not copy.name:
        return f"{destination}: its name was cleared"
    if copy.is_claimed:
        return f"{destination}: {copy.name} was archived while the log was still open"
    return f"{destination}: {copy.name} has status {copy.status}"
