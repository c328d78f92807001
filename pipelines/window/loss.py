"""How a log that is not there is told: which, since when needed, where it was last seen, and the ways out."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import RedoLost
from pipelines.redo import LogCopy
from pipelines.scn import Scn
from pipelines.window.known import ThreadLogs

CATALOG = "if the file is still there, make it known again (RMAN: CATALOG ARCHIVELOG 'file'), else "
LOST_CURE = (
    "restore the archived log with RMAN (RESTORE ARCHIVELOG SEQUENCE {sequence} THREAD {thread}) and run again; "
    "`redolake recover` lists every missing log and the other ways on, with what each costs: new snapshots, or a declared gap"
)


@dataclass(frozen=True, slots=True)
class Hole:
    """A log without which redo is lost, needed from `scn` on."""

    sequence: int
    scn: Scn
    why: str
    older_too: bool = False  # logs before it may be needed as well, and no view says which


def loss_of(hole: Hole, known: ThreadLogs) -> RedoLost:
    copies = copies_of(hole.sequence, known)
    last = next((c for c in copies if c.name), None)
    cure = LOST_CURE.format(thread=known.thread, sequence=hole.sequence)
    return RedoLost(
        f"Redo Thread {known.thread} is inconsistent; an archive log with sequence {hole.sequence} is not available",
        cure=cure if copies else CATALOG + cure,
        thread=known.thread,
        sequence=hole.sequence,
        scn=hole.scn,
        why=hole.why,
        last_file=last.name if last else neighbour_of(hole.sequence, known),
        destination=last.dest_id if last else ", ".join(str(c.dest_id) for c in copies) or None,
    )


def copies_of(sequence: int, known: ThreadLogs) -> tuple[LogCopy, ...]:
    log = known.archived.get(sequence)
    return () if log is None else log.copies


def neighbour_of(sequence: int, known: ThreadLogs) -> str | None:
    """RMAN clears the name of what it deletes. The next log to it tells the folder and the pattern."""
    near = sorted(known.archived.values(), key=lambda g: abs(g.sequence - sequence))
    named = next(((g, c) for g in near for c in g.copies if c.name and not c.standby), None)
    return named and f"unknown; sequence {named[0].sequence} is {named[1].name} in destination {named[1].dest_id}"


def fate(copy: LogCopy) -> str:
    """What has become of one copy."""
    place = f"destination {copy.dest_id}"
    if copy.deleted or copy.status == "D":
        return f"{place}: deleted" + (f", was {copy.name}" if copy.name else "")
    if copy.standby:
        return f"{place}: sent to {copy.name}, no file of this host"
    if not copy.archived:
        return f"{place}: never completed"
    if not copy.name:
        return f"{place}: its name was cleared"
    if copy.is_claimed:
        return f"{place}: {copy.name} was archived while the log was still open"
    return f"{place}: {copy.name} has status {copy.status}"
