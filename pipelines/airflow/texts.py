"""The texts that Airflow shows beside a DAG and its tasks, made from the pipeline's settings. No secret is among them."""

from __future__ import annotations

from pipelines.config import Pipeline

CAPTURE = """Reads the redo of **{name}** through LogMiner, one sealed SCN window per run, and lands it as Parquet.

`plan` finds the next window and ends the run when no new archived log is there; while a log that is due has not come it is
*deferred* and holds no worker, and after {wait_warns_after_minutes:g} minutes it fails as overdue (the next run goes on
waiting). `mine` reads the slices side by side, each in a LogMiner session of its own; `land` publishes the window with its
manifest and wakes `{name}_apply`.

`runway` looks beside them how long the redo that is still to be read will be there, and fails below the threshold; the run's
own state tells about landing alone.

Any task may be cleared and run again: a window that is landed already stays as it is.
"""

APPLY = """Applies the landed windows of **{name}** to its Delta tables, as many as there are in one Spark job.

`prepare` writes the batch to a file and ends the run when nothing is new; `spark` decodes, joins with commits and merges;
`record` takes over what the Delta logs say and announces each table that advanced, as the asset `{name}.OWNER.NAME`;
`check` fails when a table was stopped in this batch. Such a table is *held* while the others go on: mend the cause, then
`redolake resume OWNER.NAME`.

Landing wakes this DAG; a timetable does so too, for an event that got lost. Any task may be cleared and run again: a change
is applied only above the position that the table's own Delta log tells.
"""

SNAPSHOT = """Loads the first contents of tables of **{name}**: reads them `AS OF` one SCN and writes each in one Delta commit.

Trigger it with the tables, or with none for those that have no contents yet. The redo goes on from the same SCN.
"""

BACKFILL = """Folds the changes that committed in an old SCN range of **{name}** into *shadow* tables beside the live ones.

Reads the landing, not the source. The live tables are not touched. `dry_run` ends after `prepare`, whose log shows the plan.
Airflow's own backfill works by dates, and redo knows none: this form takes SCNs, `from_scn` included and `to_scn` not.
"""

RECOVER = """For lost redo of **{name}**: tells what is lost and which ways lead on, and goes the one you choose.

*Look* changes nothing and fails while something is lost: it lists the missing logs, the commands that restore them, and what
each way costs. *Restored* looks again. *Snapshot*, *gap* and *position* break the chain of windows: what lies between is never
read. They cannot be taken back, so they want the pipeline's name in *Confirm*. Let `{name}_apply` finish what is landed
before.

A gap stays visible in `redolake status` and `redolake verify` until the tables are read anew.
"""

TASKS = {
    "plan": "Chooses the next sealed SCN window. *Nothing new* ends the run; a log that is due is awaited, deferred, without a "
    "worker; one that is overdue fails the run, and the next goes on waiting; lost redo fails it at once.",
    "mine": "One slice: contiguous logs of one redo thread, read by one LogMiner session into Parquet.",
    "land": "Publishes the window's manifest; only from then on the window exists.",
    "runway": "Tells how much time is left before needed redo may be deleted; fails below `runway.warn_below_hours`. The run "
    "does not wait for it and does not fail with it.",
    "prepare": "Writes what Spark has to do to a file and hands on its path.",
    "spark": "Runs the batch on Spark. A repeat finds what is done in the Delta logs and changes nothing.",
    "record": "Corrects the ledger from the Delta logs and the batch's manifest, and announces the tables that advanced.",
    "check": "Fails when a table was held, with what happened, where, and what to do.",
    "begin": "Fixes the SCN that all tables are read at.",
    "read": "Reads one table AS OF that SCN into Parquet.",
    "recover": "Tells what is lost, or goes the way that was chosen; ends the run unless tables are to be read anew.",
    "reload": "Starts the snapshot of the tables that are to be read anew.",
}


def dag_text(text: str, pipeline: Pipeline) -> str:
    rows = "".join(f"| `{t.id}` | `{pipeline.target(t.id)}` |\n" for t in pipeline.tables)
    settings = {"name": pipeline.name, "wait_warns_after_minutes": pipeline.wait_warns_after_minutes}
    return f"{text.format(**settings)}\n| table | Delta |\n|---|---|\n{rows}"
