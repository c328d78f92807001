"""List a person's choices after lost redo, each with its cost, and check the chosen one. Pure functions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace

from redolake.errors import RedoLost, Terminal
from redolake.records.shown_facts import Choice
from redolake.values.redo import LogFile, Position, RedoFacts
from redolake.values.scn import Scn
from redolake.window import MissingLog, follow_resetlogs, incarnation_at, missing_logs, next_complete_scn
from redolake.window.incarnation import lineage


def choices(
    pipeline: str, position: Position, facts: RedoFacts, missing: Sequence[MissingLog], gap: Position | None
) -> list[Choice]:
    """Return the choices that are possible now, those that lose least first."""
    recover = f"redolake recover -p {pipeline}"
    if not continues_from(position, facts):
        return other_database_choices(pipeline, position, facts)
    rewound = is_rewound(position, facts)
    found = []
    if missing:
        found.append(
            Choice("restore", f"restore {len(missing)} archived log(s), then recheck", "nothing", f"{recover} --restored")
        )
    found.append(snapshot_choice(recover, "the position", " (advised: a RESETLOGS undid landed changes)" if rewound else ""))
    if gap is not None:
        stay = "; rows that the RESETLOGS undid stay in the tables, and a change of one of them may hold its table"
        found += gap_choices(recover, position, gap, stay if rewound else "")
    return found


def snapshot_choice(recover: str, since: str, advice: str = "") -> Choice:
    return Choice(
        "snapshot",
        f"snapshot all tables again; capture goes on from now{advice}",
        f"the history between {since} and the new snapshot; a table is held until its snapshot",
        f"{recover} snapshot --execute --yes --reason TEXT",
    )


def pdb_choices(pipeline: str, position: Position) -> list[Choice]:
    """Return the choices where the PDB was set back alone, or is another one: no redo continues the tables."""
    recover = f"redolake recover -p {pipeline}"
    return [
        snapshot_choice(recover, f"SCN {position.scn}"),
        Choice(
            "connection",
            "connect to the pluggable database that was captured, then recheck",
            "nothing",
            f"{recover} --restored",
        ),
    ]


def gap_choices(recover: str, position: Position, gap: Position, undone: str) -> list[Choice]:
    """Return the choices that continue after the lost redo without a snapshot. `undone` is what they cost besides after a
    RESETLOGS that undid landed changes."""
    span = f"SCN {position.scn} to {gap.scn - 1}"
    if gap.resetlogs_id != position.resetlogs_id:
        start, end = (
            f"SCN {scn} of incarnation {edge.resetlogs_id}" for scn, edge in ((position.scn, position), (gap.scn - 1, gap))
        )
        span = f"from {start} to {end}"
    return [
        Choice(
            "gap",
            f"declare the gap, {span}: the tables go on without its changes",
            "every change committed in the gap, the transactions open at its start, and what the transactions open at its end "
            f"did before{undone}. The gap stays visible in status and verify until the tables are snapshotted again",
            f"{recover} gap --reason TEXT --execute --yes",
        ),
        Choice(
            "position",
            f"set the position by hand, to SCN {gap.scn} or higher",
            f"the same as a gap that ends before that SCN{undone}. Choose it only if no captured table changed before that SCN",
            f"{recover} position --scn SCN --reason TEXT --execute --yes",
        ),
    ]


def continues_from(position: Position, facts: RedoFacts) -> bool:
    """Return whether the database can have redo after the position.

    Another database cannot, nor one restored to an earlier SCN without RESETLOGS: it assigns the same SCNs again, and nothing
    shows that their redo differs.
    """
    current = facts.current_incarnation.resetlogs_id
    newer = current > position.resetlogs_id or (current == position.resetlogs_id and newest(facts) > position.scn)
    return position.dbid == facts.dbid and newer


def check_continues_from(position: Position, facts: RedoFacts) -> None:
    """Raise Terminal where the database has no redo after the position, so that no declared gap helps."""
    if not continues_from(position, facts):
        here = f"database {facts.dbid}, which has written up to SCN {newest(facts)}, has no redo after the position"
        raise Terminal(
            f"{here}: SCN {position.scn} of incarnation {position.resetlogs_id} of database {position.dbid}",
            cure="; or ".join(choice.what for choice in other_database_choices("the pipeline", position, facts)),
        )


def other_database_choices(pipeline: str, position: Position, facts: RedoFacts) -> list[Choice]:
    """Return the choices where the connected database has no redo after the position."""
    another = position.dbid != facts.dbid
    return [
        Choice(
            "connection",
            f"connect to database {position.dbid}, which was captured before, then recheck"
            if another
            else "wait, if this is a lagging standby, or connect to the database that is ahead; then recheck",
            "nothing",
            f"redolake recover -p {pipeline} --restored",
        ),
        Choice(
            "new-pipeline",
            f"start over with this database ({facts.dbid}) under another name: rename the pipeline in pipelines.yml",
            f"the history since SCN {position.scn}. The landing of {pipeline} stays unused; its Delta tables are replaced, "
            "or kept if `lake` is changed too",
            "redolake doctor -p NEW-NAME; redolake snapshot -p NEW-NAME",
        ),
    ]


def newest(facts: RedoFacts) -> Scn:
    """Return the highest SCN known in the current incarnation; CURRENT_SCN alone lags on a standby."""
    own = facts.current_incarnation.resetlogs_id
    logs = [g for g in (*facts.archived, *facts.online) if g.resetlogs_id == own]
    return max([facts.current_scn, *(g.next_scn or g.first_scn for g in logs)])


def is_rewound(position: Position, facts: RedoFacts) -> bool:
    """Return whether a RESETLOGS before the position undid landed changes."""
    line = lineage(facts.incarnations)
    later = [i for i in line if i.resetlogs_id > position.resetlogs_id]
    is_ancestor = any(i.resetlogs_id == position.resetlogs_id for i in line)
    return bool(later) and (not is_ancestor or later[0].resetlogs_scn < position.scn)


def gap_end(position: Position, facts: RedoFacts, window_end: int | None = None) -> Position | None:
    """Return the earliest end of a gap that starts at the position; None where no redo is complete.

    The redo is complete from there on. `window_end` is the end of a window that cannot be mined although its logs are there.
    """
    start = position
    if is_rewound(position, facts):
        later = next(i for i in lineage(facts.incarnations) if i.resetlogs_id > position.resetlogs_id)
        start = Position(facts.dbid, later.resetlogs_id, later.resetlogs_scn)
    elif window_end is not None:
        start = replace(position, scn=Scn(max(position.scn, window_end)))
    scn = next_complete_scn(start, facts)
    return None if scn is None else in_incarnation(scn, facts)


def in_incarnation(scn: int, facts: RedoFacts) -> Position | None:
    found = incarnation_at(Scn(scn), facts)
    return None if found is None else Position(facts.dbid, found.resetlogs_id, Scn(scn))


def checked_position(position: Position, scn: int, facts: RedoFacts) -> Position:
    """Return the position at `scn`, in the incarnation that continues there.

    Raises RedoLost if redo after it is lost as well, Terminal if it is not after the landed redo.
    """
    cure = "choose another SCN: `redolake recover` shows the SCN from which the redo is complete"
    check_continues_from(position, facts)
    if scn > newest(facts):
        raise Terminal(f"SCN {scn} is in the future: the redo of the database ends at {newest(facts)}", cure=cure)
    found = in_incarnation(scn, facts)
    if found is None:
        raise Terminal(f"SCN {scn} lies before every incarnation of the database", cure=cure)
    here = follow_resetlogs(position, facts)  # a RESETLOGS SCN belongs to two incarnations: a gap between them is empty
    if found.chain_position <= here.chain_position:
        what = f"SCN {scn} is landed already: incarnation {position.resetlogs_id} is landed up to SCN {position.scn}"
        raise Terminal(what, cure=cure, incarnation=found.resetlogs_id)
    missing = missing_logs(found, facts)
    if missing:
        first = missing[0]
        complete_from = next_complete_scn(found, facts)
        raise RedoLost(
            f"the redo from SCN {scn} on is incomplete: {len(missing)} log(s) are missing",
            cure=f"choose SCN {complete_from} or higher, or restore them" if complete_from else "restore them",
            thread=first.thread,
            sequence=first.sequence,
            why=first.why,
        )
    return found


def without(facts: RedoFacts, lost: Iterable[tuple[int, int, int]]) -> RedoFacts:
    """Return the facts with these logs (incarnation, thread, sequence) marked as lost, although the views list them."""
    gone = set(lost)

    def mark(log: LogFile) -> LogFile:
        if (log.resetlogs_id, log.thread, log.sequence) not in gone:
            return log
        return replace(log, copies=tuple(replace(copy, status="X") for copy in log.copies))

    return replace(facts, archived=tuple(map(mark, facts.archived)))


def rman_commands(missing: Sequence[MissingLog], facts: RedoFacts) -> list[str]:
    """Return the RMAN commands that restore exactly these logs, and catalogue those whose record aged out."""
    commands = [f"CATALOG START WITH '{folder}/';  # the records of these logs aged out; the files may still exist"
                for folder in sorted({f for log in missing if not log.copies for f in folders_of(log, facts)})]  # fmt: skip
    for run in runs_of(missing):
        first, last = run[0], run[-1]
        which = (
            f"SEQUENCE {first.sequence}" if len(run) == 1 else f"FROM SEQUENCE {first.sequence} UNTIL SEQUENCE {last.sequence}"
        )
        older = "" if first.resetlogs_id == facts.current_incarnation.resetlogs_id else " INCARNATION ALL"
        commands.append(f"RESTORE ARCHIVELOG {which} THREAD {first.thread}{older};")
    return commands


def runs_of(missing: Sequence[MissingLog]) -> list[list[MissingLog]]:
    """Group consecutive sequences of one thread and incarnation."""
    runs: list[list[MissingLog]] = []
    for log in sorted(missing, key=lambda m: (m.resetlogs_id, m.thread, m.sequence)):
        before = runs[-1][-1] if runs else None
        is_next = before is not None and (before.resetlogs_id, before.thread, before.sequence + 1) == (
            log.resetlogs_id,
            log.thread,
            log.sequence,
        )
        if is_next:
            runs[-1].append(log)
        else:
            runs.append([log])
    return runs


def folders_of(log: MissingLog, facts: RedoFacts) -> set[str]:
    """Return the folders of the thread's available logs."""
    names = [copy.name for g in facts.archived if g.thread == log.thread for copy in g.claimed]
    return {posixpath.dirname(name) for name in names if name}
