"""What a person may do about lost redo: each choice with what it costs, and the check of what was chosen. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.errors import RedoLost, Terminal
from pipelines.redo import Incarnation, LogFile, Position, RedoFacts
from pipelines.scn import Scn
from pipelines.window import MissingLog, follow_resetlogs, incarnation_at, missing_logs, next_complete_scn
from pipelines.window.incarnation import lineage


@dataclass(frozen=True, slots=True)
class Choice:
    name: str
    what: str
    costs: str
    command: str


def choices(
    pipeline: str, position: Position, facts: RedoFacts, missing: Sequence[MissingLog], gap: Position | None
) -> list[Choice]:
    """Those that can be done now, cheapest in data first."""
    recover = f"redolake recover {pipeline}"
    if not leads_on(position, facts):
        return elsewhere(pipeline, position, facts)
    rewound = is_rewound(position, facts)
    found = []
    if missing:
        found.append(
            Choice("restore", f"restore {len(missing)} archived log(s), then look again", "nothing", f"{recover} --restored")
        )
    stays = "; rows of the rewound future stay in the tables, and a changed one may hold them" if rewound else ""
    found.append(
        Choice(
            "snapshot",
            "read all tables anew; capture goes on from now" + (" (advised: SCNs were rewound)" if rewound else ""),
            "the history between the position and the new snapshot; until a table is read it is held",
            f"{recover} --snapshot",
        )
    )
    if gap is not None:
        span = f"SCN {position.scn} to {gap.scn}"
        if gap.resetlogs_id != position.resetlogs_id:
            start, end = ((p.scn, p.resetlogs_id) for p in (position, gap))
            span = "from SCN {} of incarnation {} to SCN {} of incarnation {}".format(*start, *end)
        found.append(
            Choice(
                "gap",
                f"declare the gap, {span}: the tables go on without its changes",
                "every change committed in the gap, the transactions open at its start, and what those open at "
                f"its end did before{stays}. It stays visible in status and verify until the tables are read anew",
                f"{recover} --declare-gap --reason TEXT",
            )
        )
        found.append(
            Choice(
                "position",
                f"set the position by hand, to SCN {gap.scn} or higher",
                f"the same as a gap up to that SCN{stays}. For one who knows that nothing captured changed before it",
                f"{recover} --position SCN --reason TEXT",
            )
        )
    return found


def leads_on(position: Position, facts: RedoFacts) -> bool:
    """Whether the database has, or will have, anything behind the position. Another one has not, nor one that was set back
    without RESETLOGS: once its SCNs have passed a second time, nobody can tell that their redo is another."""
    current = current_of(facts).resetlogs_id
    newer = current > position.resetlogs_id or (current == position.resetlogs_id and newest(facts) > position.scn)
    return position.dbid == facts.dbid and newer


def check_leads_on(position: Position, facts: RedoFacts) -> None:
    """Raises Terminal where no break could lead on."""
    if not leads_on(position, facts):
        here = f"database {facts.dbid}, which has written up to SCN {newest(facts)}, does not lead on from the position"
        raise Terminal(
            f"{here}: SCN {position.scn} of incarnation {position.resetlogs_id} of database {position.dbid}",
            cure="; or ".join(choice.what for choice in elsewhere("the pipeline", position, facts)),
        )


def elsewhere(pipeline: str, position: Position, facts: RedoFacts) -> list[Choice]:
    """What is left where the database at the connection does not lead on from the position."""
    another = position.dbid != facts.dbid
    return [
        Choice(
            "connection",
            f"point the connection at database {position.dbid}, which was captured before, then look again"
            if another
            else "wait, if this is a standby that lags, or point the connection at the database that is ahead; then look again",
            "nothing",
            f"redolake recover {pipeline} --restored",
        ),
        Choice(
            "anew",
            f"begin anew for this database ({facts.dbid}), under another name: rename the pipeline in pipelines.yml",
            f"the history since SCN {position.scn}. What {pipeline} has landed stays, unused; its Delta tables "
            "are replaced, or kept where `lake` is changed as well",
            "redolake doctor NEW-NAME; redolake snapshot -p NEW-NAME",
        ),
    ]


def current_of(facts: RedoFacts) -> Incarnation:
    return next(i for i in facts.incarnations if i.status == "CURRENT")


def newest(facts: RedoFacts) -> Scn:
    """How far the current incarnation shows to have written; CURRENT_SCN alone lags a little on a standby."""
    own = current_of(facts).resetlogs_id
    logs = [g for g in (*facts.archived, *facts.online) if g.resetlogs_id == own]
    return max([facts.current_scn, *(g.next_scn or g.first_scn for g in logs)])


def is_rewound(position: Position, facts: RedoFacts) -> bool:
    """Whether the database went on from before the position, by a RESETLOGS that the position's incarnation did not see."""
    line = lineage(facts.incarnations)
    later = [i for i in line if i.resetlogs_id > position.resetlogs_id]
    is_ancestor = any(i.resetlogs_id == position.resetlogs_id for i in line)
    return bool(later) and (not is_ancestor or later[0].resetlogs_scn < position.scn)


def gap_end(position: Position, facts: RedoFacts, window_end: int | None = None) -> Position | None:
    """Where a gap from the position ends at the earliest: the redo is whole from there, and it lies behind a window that
    could not be mined for no log's fault. None where no redo is whole."""
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
    """The position at `scn`, in the incarnation whose redo goes on there. Raises RedoLost where redo behind it is lost as well,
    Terminal where it is no step forward from what is landed."""
    cure = "choose another SCN: `redolake recover` tells from where on the redo is whole"
    check_leads_on(position, facts)
    if scn > newest(facts):
        raise Terminal(f"SCN {scn} lies in the future: the database has written up to {newest(facts)}", cure=cure)
    found = in_incarnation(scn, facts)
    if found is None:
        raise Terminal(f"SCN {scn} lies before every incarnation of the database", cure=cure)
    here = follow_resetlogs(position, facts)  # a RESETLOGS SCN belongs to two incarnations: a gap between them is empty
    if (found.resetlogs_id, found.scn) <= (here.resetlogs_id, here.scn):
        what = (
            f"SCN {scn} lies in what is landed already: incarnation {position.resetlogs_id} is landed up to SCN {position.scn}"
        )
        raise Terminal(what, cure=cure, incarnation=found.resetlogs_id)
    missing = missing_logs(found, facts)
    if missing:
        first = missing[0]
        whole = next_complete_scn(found, facts)
        raise RedoLost(
            f"from SCN {scn} on the redo is not whole: {len(missing)} log(s) are missing",
            cure=f"choose SCN {whole} or higher, or restore them" if whole else "restore them",
            thread=first.thread,
            sequence=first.sequence,
            why=first.why,
        )
    return found


def without(facts: RedoFacts, lost: Iterable[tuple[int, int, int]]) -> RedoFacts:
    """The facts as they are once the logs (incarnation, thread, sequence) are known to be lost although views list them."""
    gone = set(lost)

    def seen(log: LogFile) -> LogFile:
        if (log.resetlogs_id, log.thread, log.sequence) not in gone:
            return log
        return replace(log, copies=tuple(replace(copy, status="X") for copy in log.copies))

    return replace(facts, archived=tuple(map(seen, facts.archived)))


def rman_commands(missing: Sequence[MissingLog], facts: RedoFacts) -> list[str]:
    """For RMAN, connected to the database: to restore just these logs, and to make known again those whose record aged out."""
    commands = [f"CATALOG START WITH '{folder}/';  # their records aged out: the files may still be there"
                for folder in sorted({f for log in missing if not log.copies for f in folders_of(log, facts)})]  # fmt: skip
    for run in runs_of(missing):
        first, last = run[0], run[-1]
        which = (
            f"SEQUENCE {first.sequence}" if len(run) == 1 else f"FROM SEQUENCE {first.sequence} UNTIL SEQUENCE {last.sequence}"
        )
        older = "" if first.resetlogs_id == current_of(facts).resetlogs_id else " INCARNATION ALL"
        commands.append(f"RESTORE ARCHIVELOG {which} THREAD {first.thread}{older};")
    return commands


def runs_of(missing: Sequence[MissingLog]) -> list[list[MissingLog]]:
    """Adjoining sequences of a thread and incarnation together."""
    runs: list[list[MissingLog]] = []
    for log in sorted(missing, key=lambda m: (m.resetlogs_id, m.thread, m.sequence)):
        before = runs[-1][-1] if runs else None
        adjoins = before is not None and (before.resetlogs_id, before.thread, before.sequence + 1) == (
            log.resetlogs_id,
            log.thread,
            log.sequence,
        )
        if adjoins:
            runs[-1].append(log)
        else:
            runs.append([log])
    return runs


def folders_of(log: MissingLog, facts: RedoFacts) -> set[str]:
    """Where the thread's other logs lie."""
    names = [copy.name for g in facts.archived if g.thread == log.thread for copy in g.claimed]
    return {posixpath.dirname(name) for name in names if name}
