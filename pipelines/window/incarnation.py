"""Which incarnation a position belongs to, and where its redo ends: at the RESETLOGS of the next one, if there is one.

A RESETLOGS at or after the position is followed; one before it has rewound what was already landed, and is a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.errors import RedoLost
from pipelines.redo import Incarnation, Position, RedoFacts
from pipelines.scn import Scn

SNAPSHOT_CURE = (
    "`redolake recover` tells the ways on, with what each costs: new snapshots of the tables are advised; a declared gap "
    "leaves rows of the rewound future in them"
)


@dataclass(frozen=True, slots=True)
class Branch:
    """Where to go on: the incarnation to mine, its position, and the SCN at which it ends (None: it is the current one)."""

    incarnation: Incarnation
    position: Scn
    ends_at: Scn | None


def lineage(incarnations: tuple[Incarnation, ...]) -> list[Incarnation]:
    """The current incarnation's ancestors and itself, oldest first."""
    current = [i for i in incarnations if i.status == "CURRENT"]
    line = current[:1]
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


def newest_scn(branch: Branch, facts: RedoFacts) -> Scn:
    """Up to where the branch goes. CURRENT_SCN alone may lag: it differs a little by RAC node, and by standby."""
    if branch.ends_at is not None:
        return branch.ends_at
    own = branch.incarnation.resetlogs_id
    logs = [g.next_scn or g.first_scn for g in (*facts.archived, *facts.online) if g.resetlogs_id == own]
    return max([facts.current_scn, *logs, *(h.next_scn or h.first_scn for h in facts.history if h.resetlogs_id == own)])


def set_back(position: Scn, newest: Scn) -> RedoLost:
    """A position in the future. Once its SCNs have passed a second time, nobody could tell that their redo is another."""
    what = f"the position, SCN {position}, is ahead of all that the database has written, which ends at SCN {newest}"
    cure = (
        "look where the connection leads: a standby that lags catches up, then run again; a database that was restored without "
        "RESETLOGS, or a copy of it, has lost changes that were landed. `redolake recover` tells the ways on"
    )
    return RedoLost(what, cure=cure, scn=position, newest_scn=newest)


def incarnation_at(scn: Scn, facts: RedoFacts) -> Incarnation | None:
    """The incarnation, of the current one and its ancestors, whose redo goes on at `scn`."""
    return next((i for i in reversed(lineage(facts.incarnations)) if i.resetlogs_scn <= scn), None)


def follow_resetlogs(position: Position, facts: RedoFacts) -> Position:
    """The same place in the incarnation whose redo goes on there: another one exactly at a RESETLOGS."""
    found = find_branch(position, facts)
    return Position(position.dbid, found.incarnation.resetlogs_id, found.position) if isinstance(found, Branch) else position


def next_branch(branch: Branch, facts: RedoFacts) -> Branch | None:
    """Where mining goes on when the branch is done with; None after the current incarnation."""
    if branch.ends_at is None:
        return None
    found = find_branch(Position(facts.dbid, branch.incarnation.resetlogs_id, branch.ends_at), facts)
    return found if isinstance(found, Branch) else None


def find_branch(position: Position, facts: RedoFacts) -> Branch | RedoLost:
    """The branch of `position`, one step on when the position stands exactly at a RESETLOGS."""
    if position.dbid != facts.dbid:
        cure = "point the connection at the database that was captured before; `redolake recover` tells the ways on"
        return RedoLost(
            f"the position is one of database {position.dbid}, but this is database {facts.dbid}", cure=cure, scn=position.scn
        )
    line = lineage(facts.incarnations)
    at = next((n for n, i in enumerate(line) if i.resetlogs_id == position.resetlogs_id), None)
    if at is None:
        what = f"the incarnation of the position (resetlogs id {position.resetlogs_id}) is not among the database's ancestors"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn)
    while at + 1 < len(line) and line[at + 1].resetlogs_scn == position.scn:
        at += 1
    incarnation = line[at]
    if position.scn < incarnation.resetlogs_scn:
        what = f"SCN {position.scn} lies before incarnation {incarnation.resetlogs_id} began at {incarnation.resetlogs_scn}"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn)
    if at + 1 == len(line):
        return Branch(incarnation, position.scn, None)
    ends_at = line[at + 1].resetlogs_scn
    if ends_at < position.scn:
        what = f"RESETLOGS at SCN {ends_at}, before the position {position.scn}: changes that were landed have been rewound"
        return RedoLost(what, cure=SNAPSHOT_CURE, scn=position.scn, resetlogs_scn=ends_at)
    return Branch(incarnation, position.scn, ends_at)
