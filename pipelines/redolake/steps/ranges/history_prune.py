"""Remove what the histories of rows say of times before `keep.history`, or show how much that is.

The landing is not concerned: a history is read from itself alone, so it keeps no window (reconcile/needed.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from redolake.apply.history_cut import HistoryCut
from redolake.apply.lake_tables import read_log
from redolake.context import Run, now, step
from redolake.errors import ConfigurationError, Finding, Terminal, one_line
from redolake.steps.shared.leases import apply_lease_renewed
from redolake.steps.shared.named_tables import named_tables
from redolake.values.table import TableId

FARTHEST_ZONE = timedelta(hours=14)  # ahead of UTC: how far the clock of the database may be


def limit_of(kept: timedelta) -> datetime:
    """Return the time, by the database's clock, before which nothing need be kept. Its zone is not known, so it is early."""
    return (now() - kept - FARTHEST_ZONE).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class ShorterHistory:
    """`older` of `rows` rows of a table's history are of times before SCN `begins_at`; None where none is. `before` is the time
    that `keep.history` means, by the database's clock."""

    table: str
    begins_at: int | None = None
    older: int = 0
    rows: int = 0
    done: bool = False
    before: str = ""

    def __str__(self) -> str:
        if self.begins_at is None:
            return one_line(f"{self.table}: its history has nothing that is older")
        what = f"{self.older} of {self.rows} rows of its history {'were' if self.done else 'are'} of times before"
        end = "it begins there now, with the rows of then" if self.done else "they are replaced by the rows of then"
        return one_line(f"{self.table}: {what} SCN {self.begins_at}; {end}")


@step
def prune_histories(
    run: Run, tables: Sequence[str] | None = None, *, shown: Mapping[str, Sequence[Any]] | None = None
) -> tuple[ShorterHistory, ...]:
    """Return what is older, or was. `shown` is what a person approved, by table: the time, the SCN and the number of rows; then
    that is removed and nothing else.

    Raises ConfigurationError without `keep.history` and for a named table without a history, LeaseHeld while a batch runs, and
    Terminal where it is not what was shown."""
    from redolake.apply.epochs import damage_in
    from redolake.job.history_prune import older_history, shorten_history

    kept = run.pipeline.keep.history
    if kept is None:
        raise ConfigurationError([Finding("keep.history", "is not set, so histories are kept for ever", "set it, e.g. `365d`")])
    chosen = [(table, run.pipeline.history_target(table)) for table in named_tables(run, tables)]
    lacking = [str(table) for table, path in chosen if path is None]
    if lacking and tables:
        raise ConfigurationError([Finding(", ".join(lacking), "has no history", "leave it out")])
    begun = {t: path for t, path in chosen if path is not None and read_log(path, damage_in(t, path)) is not None}
    paths = {table: (path, run.pipeline.target(table)) for table, path in begun.items()}
    if shown is not None:
        paths = {table: path for table, path in paths.items() if str(table) in shown}
        if gone := sorted({*shown} - {*map(str, paths)}):
            raise Terminal(
                f"the history of {', '.join(gone)} is not there any more", cure="look again, and decide of the others"
            )
    found, limit, says = list[ShorterHistory](), limit_of(kept), {"by": run.decided_by, "reason": run.reason}
    with apply_lease_renewed(run) if run.execute else nullcontext() as writer:
        for table, (path, target) in paths.items():
            session = run.spark.session()
            if shown is not None:
                limit = datetime.fromisoformat(shown[str(table)][0])
            cut, one = older_history(session, path, limit), ShorterHistory(str(table))
            if shown is not None:
                check_shown(table, cut, shown[str(table)])
            if cut is not None:
                one = ShorterHistory(str(table), cut.scn, cut.older, cut.rows, run.execute, limit.isoformat())
                if writer is not None:
                    what = {"table": str(table), "from_scn": cut.scn, **says}
                    run.ledger.record_decision("prune history", what, says["by"])
                    shorten_history(session, path, target, limit, run.name, table, writer.check, says=says)
            found.append(one)
            run.report(str(one))
    return tuple(found)


def check_shown(table: TableId, cut: HistoryCut | None, shown: Sequence[Any]) -> None:
    """Raise Terminal where something else would be removed than was shown to who decided."""
    _, scn, older = shown
    if cut is None or (cut.scn, cut.older) != (scn, older):
        rows = 0 if cut is None else cut.older
        raise Terminal(
            f"{rows} rows of its history would be removed, and {older} before SCN {scn} were shown",
            cure="look again, and decide of these",
            table=table,
        )
