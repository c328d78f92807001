"""`prune` and `optimize`: keep a pipeline small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolake.errors import plain_lines
from redolake.operations.declared import AnyTables, Outcome, Verdict, operation

if TYPE_CHECKING:
    from redolake.config import Pipeline
    from redolake.context import Run
    from redolake.records.maintenance import MaintenanceResult


@operation("prune", reason="Stored with what was removed.", final=True)
def prune(run: Run) -> Outcome:
    """Remove what is older than `keep` says and nothing needs any more; name what stays, and why.

    What an open transaction, a held table or another promise still needs stays. Without `keep`, only files of killed attempts
    go.
    """
    from redolake import steps

    found = steps.prune_pipeline(run, shown=run.shown)
    return Outcome(found, plain_lines(steps.describe_pruned(found)), shown=found.shown, is_all=not found.kinds)


def record(pipeline: Pipeline, batch: str) -> Outcome:
    """Return what the job of a maintenance has done."""
    from redolake import steps

    return describe(steps.record_maintenance(pipeline, batch))


@operation("optimize", record=record)
def optimize(run: Run, tables: AnyTables = ()) -> Outcome:
    """Rewrite Delta tables with many small files (OPTIMIZE), and remove what `keep.delta_history` need not keep (VACUUM)."""
    from redolake import steps

    if not run.execute:
        found = steps.look_up_maintenance(run.pipeline, tables)
        lines = (*found, steps.describe_rules(run.configured)) if found else (NO_CONTENTS,)
        return Outcome({"tables": found}, lines, is_all=not found)
    if run.apart:
        prepared = steps.prepare_maintenance(run.pipeline, tables)
        return Outcome(prepared, prepared.tables or (NO_CONTENTS,), rest=prepared.batch)
    return describe(steps.run_maintenance(run, tables))


NO_CONTENTS = "No table has contents."


def describe(found: MaintenanceResult) -> Outcome:
    from redolake import steps

    failed = any(one.error for one in found.tables)
    return Outcome(found, plain_lines(steps.describe_maintenance(found)), Verdict.DIFFERS if failed else Verdict.DONE)
