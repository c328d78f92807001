"""The keys of a table that are in quarantine, and what is decided of them.

A listed key whose row was read again AS OF the table's position is taken off, whoever named the row (`quarantine retry`,
`repair --key`, a backfill into the live table, a closed gap), if it is equal to the source's then. It is found as the rows
were, by the hash of its values.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from redolake.context import Run
from redolake.host import crash
from redolake.ledger import TableEntry
from redolake.reconcile.quarantine import record_open_keys
from redolake.reconcile.table_versions import app_id
from redolake.steps.proof.table_to_compare import TableToCompare, task_of
from redolake.values.canonical import HashPlan
from redolake.values.quarantine import Kind, Wrong
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A table's quarantine, and the keys in it."""

    context: Run
    entry: TableEntry
    path: str
    target: str
    app: str
    wrong: Mapping[str, Wrong]

    @property
    def table(self) -> TableId:
        return self.entry.table

    @property
    def position(self) -> int:
        assert self.entry.complete_to_scn is not None
        return int(self.entry.complete_to_scn)

    @property
    def open_keys(self) -> int:
        return sum(one.state == "open" for one in self.wrong.values())

    def record(self, kind: Kind, keys: Sequence[str], *, by: str, why: str, delta_version: int | None = None) -> None:
        """Record what is decided of keys, and how many are open now."""
        from redolake.job.quarantine import record_decision

        session = self.context.spark.session()
        record_decision(
            session, self.path, self.target, self.app, kind, keys, self.position, by=by, why=why, table=self.table,
            delta_version=delta_version,
        )  # fmt: skip
        left = (one for key, one in self.wrong.items() if key not in set(keys))
        record_open_keys(self.context, self.table, sum(one.state == "open" for one in left))


def quarantine_of(context: Run, entry: TableEntry | None) -> Quarantine | None:
    """Return a table's quarantine; None for a table without contents, or of which nothing was ever there."""
    from redolake.job.lake import has_log
    from redolake.job.quarantine import read_wrong

    if entry is None or entry.complete_to_scn is None or not has_log(context.pipeline.quarantine_path(entry.table)):
        return None
    path, target = context.pipeline.quarantine_path(entry.table), context.pipeline.target(entry.table)
    app = app_id(context, entry.table, entry.resetlogs_id or 0)
    wrong = read_wrong(context.spark.session(), path, target, app, int(entry.complete_to_scn))
    return Quarantine(context, entry, path, target, app, wrong)


@crash.writer
def take_off_list(
    one: TableToCompare, plan: HashPlan, hashes: Collection[str], delta_version: int, *, by: str, why: str
) -> tuple[str, ...]:
    """Return the keys that are taken off: those of the rows with these hashes, which the Delta version has."""
    from redolake.job.repair import name_keys

    names = [one.version.column(i).name for i in one.version.key if i] if plan.key else []
    found = quarantine_of(one.context, one.entry) if names else None
    listed = {} if found is None else {key: row for key in found.wrong if set(row := json.loads(key)) == set(names)}
    if found is None or not listed:
        return ()
    texts = tuple(tuple(row[name] for name in names) for row in listed.values())
    rows = name_keys(one.context.spark.session(), replace(task_of(one), hashing=plan), texts)
    right = tuple(key for key, row in zip(listed, rows, strict=True) if row.hash in hashes)
    if right:
        found.record("retried", right, by=by, why=why, delta_version=delta_version)
    return right
