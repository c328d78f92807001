"""Find the incarnation of a position and the SCN at which its redo ends: the RESETLOGS of the next incarnation, if any.

A RESETLOGS at or after the position is followed. One before it undid changes that were landed, and is a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from redolake.errors import RedoLost
from redolake.values.redo import Incarnation, Position, RedoFacts
from redolake.values.scn import Scn
from redolake.window.end import End

SNAPSHOT_CURE = (
    "run `redolake recover`, which lists the choices and their cost: new snapshots of the tables are advised; a declared gap "
    "leaves rows in them that the RESETLOGS undid"
)


@dataclass(frozen=True, slots=True)
class Branch:
    """The incarnation to mine from `position` on. It ends at the next RESETLOGS; the current incarnation has an open end."""

    incarnation: Incarnation
    position: Scn
    ends_at: Scn | End


def lineage(incarnations: tuple[Incarnation, ...]) -> list[Incarnation]:
    """Return the current incarnation and its ancestors, oldest first."""
    line = [i for i in incarnations if i.status == "CURRENT"]
    while line:
        child = line[0]
        parents = [
            i
            for i in incarnations
            if i.status != "ORPHAN" and i.resetlogs_scn == child.prior_resetlogs_scn and i.resetlogs_scn < child.resetlogs_scn
        ]
        if not parents:
            break
        line.insert(0, parents[0])
    return line


def log_history_reaches(branch: Branch, facts: RedoFacts) -> bool:
    """Return whether V$LOG_HISTORY shows every log that was switched after the branch's position, of any redo thread.

    The control file reuses the oldest records first. So a record of a log that ended before the position proves that no later
    one is gone. Logs of older incarnations ended before.
    """
    own = branch.incarnation.resetlogs_id
    return any(
        0 < h.resetlogs_id < own or (h.resetlogs_id == own and h.next_scn is not None and h.next_scn <= branch.position)
        for h in facts.history
    )


def newest_scn(branch: Branch, facts: RedoFacts) -> Scn:
    """Return the highest SCN known in the branch. CURRENT_SCN alone may lag: it differs by RAC node and on a standby."""
    if branch.ends_at is not End.OPEN:
        return branch.ends_at
    own = branch.incarnation.resetlogs_id
    logs = [g.next_scn or g.first_scn for g in (*facts.archived, *facts.online) if g.resetlogs_id == own]
    return max([facts.current_scn, *logs, *(h.next_scn or h.first_scn for h in facts.history if h.resetlogs_id == own)])


def incarnation_at(scn: Scn, facts: RedoFacts) -> Incarnation | None:
    """Return the newest incarnation, of the current one and its ancestors, that began at or before `scn`."""
    return next((i for i in reversed(lineage(facts.incarnations)) if i.resetlogs_scn <= scn), None)


def follow_resetlogs(position: Position, facts: RedoFacts) -> Position:
    """Return the position in the incarnation that continues there: another one only if it stands exactly at a RESETLOGS."""
    found = find_branch(position, facts)
    return Position(position.dbid, found.incarnation.resetlogs_id, found.position) if isinstance(found, Branch) else position


def next_branch(branch: Branch, facts: RedoFacts) -> Branch | None:
    """Return the branch that begins where this one ends; None after the current incarnation."""
    if branch.ends_at is End.OPEN:
        return None
    found = find_branch(Position(facts.dbid, branch.incarnation.resetlogs_id, branch.ends_at), facts)
    return found if isinstance(found, Branch) else None


def locate(position: Position, facts: RedoFacts) -> Branch | RedoLost:
    """Return the branch of `position`, or the loss if the database never wrote up to it.

    A database restored without RESETLOGS assigns the same SCNs a second time. Their redo is other redo, and nothing would
    show it once the database has passed the position again.
    """
    branch = find_branch(position, facts)
    if not isinstance(branch, Branch):
        return branch
    newest = newest_scn(branch, facts)
    if branch.position <= newest:
        return branch
    what = f"the position, SCN {branch.position}, is ahead of all redo of the database, which ends at SCN {newest}"
    cure = (
        "check which database the connection reaches. If a standby lags, let it catch up and run again. A database that was "
        "restored without RESETLOGS, or a copy of it, lacks changes that were landed: run `redolake recover`"
    )
    return RedoLost(what, cure=cure, scn=branch.position, newest_scn=newest)


def find_branch(position: Position, facts: RedoFacts) -> Branch | RedoLost:
    """Return the branch of `position`: the next incarnation's if the position stands exactly at a RESETLOGS."""
    if position.dbid != facts.dbid:
        what = f"the position belongs to database {position.dbid}, but the connection reaches database {facts.dbid}"
        cure = "connect to the database that was captured before, or run `redolake recover`"
        return RedoLost(what, cure=cure, scn=position.scn)
    line = lineage(facts.incarnations)
    at = next((n for n, i in enumerate(line) if i.resetlogs_id == position.resetlogs_id), None)
    if at is None:
        what = f"the position's incarnation (resetlogs id {position.resetlogs_id}) is not an ancestor of the current one"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn)
    while at + 1 < len(line) and line[at + 1].resetlogs_scn == position.scn:
        at += 1
    incarnation = line[at]
    if position.scn < incarnation.resetlogs_scn:
        what = f"SCN {position.scn} lies before incarnation {incarnation.resetlogs_id} began at {incarnation.resetlogs_scn}"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn)
    if at + 1 == len(line):
        return Branch(incarnation, position.scn, End.OPEN)
    ends_at = line[at + 1].resetlogs_scn
    if ends_at < position.scn:
        what = f"RESETLOGS at SCN {ends_at}, before the position {position.scn}, undid changes that were landed"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn, resetlogs_scn=ends_at)
    return Branch(incarnation, position.scn, ends_at)
