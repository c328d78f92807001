"""`quarantine retry` and `quarantine drop`: work off the changes that could not be applied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from redolake.errors import plain_lines
from redolake.operations.declared import Keys, OfKeys, Outcome, Table, Verdict, operation

if TYPE_CHECKING:
    from redolake.context import Run
    from redolake.steps.proof.quarantine import WorkedOff

SHOWN = 200  # changes in a log, and in what a person approves


@operation("quarantine retry", reason="Stored with the decision and in the Delta commit.", decides=True, connects=True)
def retry_quarantine(run: Run, table: Table, keys: OfKeys = ()) -> Outcome:
    """Read the rows of the keys in quarantine again AS OF the table's SCN, and merge them. Keys that are right then leave the
    quarantine."""
    from redolake import steps

    if not run.execute:
        return look(run, table, keys)
    return describe_end(steps.retry_quarantine(run, table, keys))


@operation("quarantine drop", reason="Stored with the decision.", final=True)
def drop_quarantined(run: Run, table: Table, keys: OfKeys = ()) -> Outcome:
    """Never apply the changes of keys in quarantine. Their rows stay as they are, and `verify` lists them apart."""
    from redolake import steps

    if not run.execute:
        return look(run, table, keys)
    meant = keys if run.shown is None else [json.loads(key) for key in run.shown]
    return describe_end(steps.drop_quarantined(run, table, meant))


def look(run: Run, table: str, keys: Keys) -> Outcome:
    """Return the changes of the keys; `shown` are these keys."""
    from redolake import steps

    found = steps.look_up_quarantined(run, table, keys)
    lines = [f"{c.table} {c.keys}: {c.operation} of SCN {c.commit_scn}, {c.error}: {c.reason}" for c in found.changes[:SHOWN]]
    if more := len(found.changes) - SHOWN:
        lines += [f"and {more} more changes: `redolake quarantine list {table} --output json` has all"] if more > 0 else []
    return Outcome(found, plain_lines((f"{table}: {len(found.wrong)} keys", *lines)), shown=[one.key for one in found.wrong])


def describe_end(made: WorkedOff) -> Outcome:
    return Outcome(made, (str(made),), Verdict.DIFFERS if made.left else Verdict.DONE)
