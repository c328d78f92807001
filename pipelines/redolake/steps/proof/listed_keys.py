"""Take keys off a table's quarantine whose rows were read again AS OF the table's position, and are equal to the source's.

Whoever named the rows (`quarantine retry`, `repair --key`, a backfill into the live table, a closed gap): a listed key among
them is right then. It is found as the rows were, by the hash of its values.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from redolake.context.spark import Spark
from redolake.host import crash
from redolake.reconcile.quarantine import record_open_keys
from redolake.reconcile.table_versions import app_id
from redolake.steps.proof.table_to_compare import TableToCompare, task_of
from redolake.values.canonical import HashPlan


@crash.writer
def take_off_list(
    one: TableToCompare, plan: HashPlan, spark: Spark, hashes: Collection[str], delta_version: int, *, by: str, why: str
) -> tuple[str, ...]:
    """Return the keys that are taken off: those of the rows with these hashes, which the Delta version has."""
    from redolake.job.lake import has_log
    from redolake.job.quarantine import read_wrong, record_decision
    from redolake.job.repair import name_keys

    context, table = one.context, one.version.table
    path, target = context.pipeline.quarantine_path(table), context.pipeline.target(table)
    names = [one.version.column(i).name for i in one.version.key if i]
    if not names or not has_log(path):
        return ()
    app, scn = app_id(context, table, one.entry.resetlogs_id or 0), int(one.scn)
    wrong = read_wrong(spark.session(), path, target, app, scn)
    listed = {key: row for key in wrong if set(row := json.loads(key)) == set(names)}
    if not listed:
        return ()
    texts = tuple(tuple(row[name] for name in names) for row in listed.values())
    rows = name_keys(spark.session(), replace(task_of(one), hashing=plan), texts)
    right = [key for key, row in zip(listed, rows, strict=True) if row.hash in hashes]
    if right:
        record_decision(
            spark.session(), path, target, app, "retried", right, scn, by=by, why=why, table=table, delta_version=delta_version
        )
        record_open_keys(context, table, sum(state.state == "open" for key, state in wrong.items() if key not in set(right)))
    return tuple(right)
