"""Choose the dictionary in the redo that a window is mined with, and find all logs from it to the window's end.

LogMiner takes names from the newest dictionary that ends before the window, and follows DDL from there. So each session reads
the logs of every redo thread in between again, and none of them may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redolake.errors import NoDictionaryInRedo, RedoLost
from redolake.values.redo import Position, RedoDictionary, RedoFacts, Window
from redolake.values.scn import ChainPosition, ScnRange
from redolake.window.gate import Lost, cover_all
from redolake.window.incarnation import Branch, locate
from redolake.window.log_state import Current, Wait
from redolake.window.plan import find_overlapping, partial

BUILD = "BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
# Twice, because the first window begins one log before the one that a snapshot is taken in.
CURE = (
    f"run {BUILD} in the root, then ALTER SYSTEM ARCHIVE LOG CURRENT twice: windows that begin after it use it. For redo from "
    "before it, set `dictionary: online` under `source`"
)


def newest_before(dictionaries: Sequence[RedoDictionary], position: ChainPosition) -> RedoDictionary:
    """Return the newest dictionary of the position's incarnation that ends before it. Raises NoDictionaryInRedo.

    LogMiner may leave out rows from before its dictionary, or show them under later names.
    """
    start = position.scn
    own = [one for one in dictionaries if one.resetlogs_id == position.resetlogs_id and one.end_scn <= start]
    if not own:
        raise NoDictionaryInRedo(
            "`dictionary: redo` is set, and no archived log before the window contains a complete dictionary",
            cure=CURE,
            scn=start,
        )
    return max(own, key=lambda one: one.end_scn)


def with_dictionary(window: Window, dictionary: RedoDictionary, facts: RedoFacts) -> Window:
    """Return the window with `dictionary_logs`. `facts` show all logs from the dictionary on.

    Raises NoDictionaryInRedo if a log is missing."""
    branch = locate(Position(window.dbid, window.resetlogs_id, dictionary.begin_scn), facts)
    coverages = cover_all(branch, facts) if isinstance(branch, Branch) else ()
    short = [coverage for coverage in partial(coverages) if coverage.covered_to < window.scns.end]
    if not isinstance(branch, Branch) or short:
        raise NoDictionaryInRedo(
            f"LogMiner needs all redo from log {dictionary.first_sequence} of redo thread {dictionary.thread}, with the "
            f"dictionary, to the window: {why(branch if not isinstance(branch, Branch) else short[0].obstacle)}",
            cure=f"restore the missing logs, or {CURE}",
            thread=dictionary.thread,
            sequence=dictionary.first_sequence,
            scn=dictionary.begin_scn,
        )
    needed = ScnRange(dictionary.begin_scn, window.scns.end)
    logs = {log for coverage in coverages for log in find_overlapping(coverage.logs, needed)}
    own_first = sorted(logs, key=lambda log: (log.thread != dictionary.thread, log.thread, log.sequence))
    return replace(window, dictionary_logs=tuple(own_first))


def why(obstacle: RedoLost | Lost | Wait | Current) -> str:
    if isinstance(obstacle, Lost):
        obstacle = obstacle.error
    return obstacle.what if isinstance(obstacle, RedoLost) else obstacle.reason if isinstance(obstacle, Wait) else str(obstacle)
