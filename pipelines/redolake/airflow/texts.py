"""The texts that Airflow shows beside a DAG and its tasks, made from the pipeline's settings. They contain no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from redolake.config import Pipeline
from redolake.errors import one_line
from redolake.operations import Operation

CAPTURE = """Reads the redo of **{name}** through LogMiner, one sealed SCN window per run, and lands it as Parquet.

`plan` finds the next window and ends the run if there is no new archived log. If an archived log is due, `plan` waits
*deferred* and uses no worker; after {wait_max_minutes:g} minutes it fails as overdue, and the next run waits again.
`mine` reads the slices in parallel, each in its own LogMiner session. `land` publishes the window with its manifest and
starts `{name}_apply`.

`runway` measures in parallel how long the redo that is still needed will be kept, and fails below the threshold. It does not
change the state of the run.

You can clear and run any task again: a window that has landed stays as it is. Airflow's own *Backfill* is not offered: redo has
SCNs and no dates, and each of its runs would mine the same windows. `{name}_backfill` applies an old SCN range.
"""

RECEIVE = """Receives committed transactions of **{name}** from OpenLogReplicator, one window per run, and lands them.

`receive` asks for what follows the last window, ends a window where a checkpoint of the stream proves that it is whole,
lands it and starts `{name}_apply`. It ends the run if nothing has changed. Only what has landed is confirmed, by the next run:
you can clear the task and run it again.

`runway` measures in parallel how long archived redo is kept.
"""

APPLY = """Applies the landed windows of **{name}** to its Delta tables in one Spark job, up to `batch.max_rows` change rows.

`prepare` writes the batch spec and ends the run if nothing is new. `spark` decodes changes, joins them with their commits and
merges them. `record` updates the ledger from the Delta logs and publishes an event of the asset `{name}.OWNER.NAME` for each
table that advanced. `check` fails if this batch stopped a table. Such a table is *held* while the others continue: remove the
cause, then run `redolake resume OWNER.NAME`.

Landing starts this DAG; a timetable also starts it, in case an event was lost. You can clear and run any task again: a
change is applied only above the position in the table's own Delta log.
"""

SNAPSHOT = """Loads the first contents of tables of **{name}**: reads them `AS OF` one SCN and writes each in one Delta commit.

Trigger it with the tables, or with none for all tables that have no contents yet. Apply continues from the same SCN.
`{name}_apply` triggers it for a held table where `on_ddl` says `resnapshot`.
"""

DOCTOR = """Checks the source of **{name}**: archiving, supplemental logging, privileges, tables, types, numbers. It changes
nothing there.

It fails if something would stop a run; its log has each finding with its cure.
"""

DRY_RUN = """*Dry run* is on when the form opens: the task's log and the note of the run then say what would be done. What is
done is stored with the name of who decided, and with the *Reason* where there is such a field."""
FINAL = """What cannot be undone needs the pipeline's name in *Confirm*; with *Confirm* empty, the run waits for an approval
under *Required Actions*, and whoever approves sees what the dry run shows."""
BY_TIME = "Set `{part}_schedule` in pipelines.yml to run it by time: its form is then taken as it opens."

TASKS = {
    "doctor": "Runs all checks of the source and fails if one finds an error.",
    "plan": "Chooses the next sealed SCN window. *Nothing new* ends the run. If an archived log is due, it waits deferred, "
    "without a worker; an overdue log fails the run, and the next run waits again. Lost redo fails it at once.",
    "mine": "One slice: contiguous logs of one redo thread, read by one LogMiner session into Parquet. Several, one "
    "after the other, where there are more slices than Airflow's `max_map_length`.",
    "land": "Publishes the window's manifest; the window exists only from then on.",
    "receive": "Receives the transactions after the last window and lands them. *Nothing new* ends the run; a stream with a "
    "hole fails it.",
    "runway": "Measures how long needed redo will be kept; fails below `runway.warn_below_hours`. The run neither waits for it "
    "nor fails with it.",
    "approve": "Waits until a person approves a choice that cannot be undone, unless the form has confirmed it. Ends at once "
    "for any other choice. Without an answer until the deadline it fails, and nothing is done.",
    "prepare": "Writes a spec of the Spark job to a file and returns its path.",
    "spark": "Runs the batch on Spark. A repeat finds in the Delta logs what is done and changes nothing.",
    "ended": "Records how the job has ended, and fails with what it could not do.",
    "record": "Updates the ledger from the Delta logs and the batch's manifest, and publishes an event for each table that "
    "advanced.",
    "check": "Fails if a table was held, with what happened, where, and what to do.",
    "verify": "Compares the tables one after the other and fails unless all are equal.",
    "prune": "Removes what is too old and not needed, or with *Dry run* shows it. Waits while a batch runs.",
    "mend": "Does what the form asks for, one table after the other, or with *Dry run* shows it.",
    "begin": "Chooses the SCN at which all tables are read.",
    "read": "Reads one table AS OF that SCN into Parquet. Several, one after the other, where there are more tables than "
    "Airflow's `max_map_length`.",
    "new_tables": "Lists the tables that a pattern has added and that have no contents yet; ends the run without any.",
    "held_tables": "Lists the held tables that `on_ddl` lets be snapshotted again by itself, and records an attempt for each; "
    "ends here without any.",
    "recover": "Shows what is lost, or carries out the chosen option; ends the run unless tables are to be read again.",
    "reload": "Starts the snapshot of these tables.",
}


def operations_text(operations: Mapping[str, Operation], part: str = "") -> str:
    """Return the text of the DAG of these operations, which may also run by the schedule of its part."""
    all_of = operations.values()
    rows = "".join(f"| `{name}` | {one.does} |\n" for name, one in operations.items())
    text = [f"| *Mend* | what it does |\n|---|---|\n{rows}"] if len(operations) > 2 else [one.help for one in all_of]
    text += [BY_TIME.format(part=part)] if part else [] if all(one.looks for one in all_of) else [DRY_RUN]
    text += [FINAL] if not part and any(one.final for one in all_of) else []
    return "\n\n".join(["For **{name}**, by hand or by time." if part else "For **{name}**, by hand.", *text]) + "\n"


def ticks(text: str, least: int) -> str:
    """Return a fence that is longer than any in the text."""
    return "`" * max(least, *(len(found) + 1 for found in re.findall("`+", text)), 0)


def code_block(lines: Sequence[str]) -> str:
    """Return lines as Markdown that shows them as they are."""
    text = "\n".join(lines)
    return f"{ticks(text, 3)}text\n{text}\n{ticks(text, 3)}"


def in_code(name: object) -> str:
    """Return a name as Markdown that shows it as it is."""
    text = one_line(str(name))
    pad = " " if text[:1] in "` " or text[-1:] in "` " else ""
    return f"{ticks(text, 1)}{pad}{text}{pad}{ticks(text, 1)}"


def table_row(*cells: str) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def dag_text(text: str, pipeline: Pipeline) -> str:
    rows = "".join(table_row(in_code(t.id), in_code(pipeline.target(t.id))) for t in pipeline.tables)
    below = f"below {in_code(pipeline.lake)}"
    rows += "".join(table_row(in_code(m.match), "not captured" if m.excludes else below) for m in pipeline.matches)
    settings = {"name": pipeline.name, "wait_max_minutes": pipeline.wait_max_minutes}
    return f"{text.format(**settings)}\n| table | Delta |\n|---|---|\n{rows}"
