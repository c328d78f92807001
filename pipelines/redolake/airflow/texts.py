"""The texts that Airflow shows beside a DAG and its tasks, made from the pipeline's settings. They contain no secret."""

from __future__ import annotations

from redolake.config import Pipeline

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

BACKFILL = """Applies the changes that committed in an old range of **{name}** to *shadow* tables beside the live ones, reads
the rows of *live* tables again that the range has touched, or makes whole *copies*, which `{name}_swap` puts in their place.

It reads what has landed, or archived logs again. *Dry run* ends after `prepare`, whose log shows the plan: what is read, what
the range crosses, and what will not be known. The range begins with *From* and ends before *To*; each is an SCN, a time with
its zone, `first`, `now` or the name of a window. One run works at a time, behind the stream; mark it as failed to cancel it,
and a repeat goes on. Airflow's own backfill starts its runs by dates, each of which would do the same: it is not offered.
"""

RECOVER = """For lost redo of **{name}**: shows what is lost and what each option costs, and carries out the one you choose.

*Show* changes nothing and fails while redo is lost: it lists the missing logs, the commands that restore them, and the cost of
each option. *Restored* checks again. *Snapshot*, *gap* and *position* declare a gap: redo between its ends is never read.
They cannot be undone: write the pipeline's name in *Confirm*, or leave it empty; the run then waits for an approval under
*Required Actions*, and does nothing without one. Let `{name}_apply` finish what has landed first.

A declared gap stays visible in `redolake status` and `redolake verify` until the tables are read again, or the gap is closed:
once its logs were restored, *closing* shows what that takes, and *close* does it, with a *Reason*.
"""

VERIFY = """Compares tables of **{name}** with the source, cell by cell: Oracle `AS OF` the SCN each is complete to, Delta at
its version of that SCN. Apply continues meanwhile.

It reads each table from Oracle once. The results stay in the ledger, with SCN and Delta version, and are shown on the page
*Redolake*. Set `verify_schedule` in pipelines.yml to run it by time.
"""

REPAIR = """Reads the rows of **{name}** again that the last comparison of a table found, `AS OF` the SCN that it is complete
to, and merges them in one Delta commit that contains the reason. Then it compares these rows once more.

Other rows stay as they are, and no row becomes older: apply waits meanwhile. A table that is held because another writer has
changed its rows goes on afterwards. Let `{name}_verify` find the rows first.
"""

SWAP = """Puts a whole copy of a table of **{name}** in the live table's place, in one Delta commit. What it replaces is kept as
another copy, as long as `keep.shadows` says: *undo* puts it back.

`{name}_backfill` with the target *copy* makes the copy, and its log has the name. The copy is brought to the table's own
position first, so no row becomes older; apply waits meanwhile. *Dry run* only shows what it takes. Let `{name}_verify` prove
the table afterwards.
"""

FILL_COLUMNS = """Fills columns that tables of **{name}** lack and pipelines.yml wants now: those that were left out, those that
it computes, and those that it computes in another way.

What they are made of is read of all rows `AS OF` the table's own position, and they are added in one Delta commit; the other
columns are not read. Apply waits meanwhile, and goes on from the same position. *Dry run* only shows which columns. Let
`{name}_verify` prove the tables afterwards.
"""

RESUME = """Lets held tables of **{name}** continue from their own positions, once the cause is removed.

A table whose cause is still there is held again, and nothing is lost. If the cause stays in the redo, as an unsupported DDL
does, read the table again instead: `{name}_snapshot` with *Replace*.

A choice for the *DDL* cannot be undone: write the pipeline's name in *Confirm*, or leave it empty; the run then waits for an
approval under *Required Actions*.
"""

DOCTOR = """Checks the source of **{name}**: archiving, supplemental logging, privileges, tables, types, numbers. It changes
nothing there.

It fails if something would stop a run; its log has each finding with its cure.
"""

MAINTAIN = """Removes what is older than `keep` in pipelines.yml says and nothing needs any more: landed windows of **{name}**,
batches, snapshots' rows, shadow tables, files of killed attempts.

What an open transaction, a held table or another promise still needs stays; the log says what, and why. Without `keep`, only
files of killed attempts go. Then Delta tables with many small files are rewritten (OPTIMIZE), and with `keep.delta_history`
files of older versions are removed (VACUUM). Set `maintain_schedule` in pipelines.yml to run it by time.
"""

DROP = """Drops an open transaction of **{name}**: its rows are never applied, however it ends.

*list* shows the open transactions, *show* what dropping one costs: both change nothing. *drop* cannot be undone. It needs a
reason, and the pipeline's name in *Confirm*; with *Confirm* empty, the run waits for an approval under *Required Actions*. The
reason is stored with the name of who decided. If the transaction commits, its tables lack its changes until
`{name}_snapshot` reads them again with *Replace*.
"""

QUARANTINE = """Works off the changes of **{name}** that could not be applied and were put aside (`on_error`).

*list* shows them in the task's log: key, SCN, operation, reason. *retry* reads the rows of the keys again AS OF each table's
own position, merges them, and takes the keys out that are right then; a key that is still wrong fails the run with the reason.
*drop* decides that the changes are never applied: the rows stay as they are, and `verify` lists their keys apart. It needs the
pipeline's name in *Confirm*; with *Confirm* empty, the run waits for an approval under *Required Actions*. Retry and drop need
a reason, which is stored with the name of who decided.
"""

TASKS = {
    "doctor": "Runs all checks of the source and fails if one finds an error.",
    "drop": "Lists the open transactions, shows what dropping one costs, or drops it.",
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
    "record": "Updates the ledger from the Delta logs and the batch's manifest, and publishes an event for each table that "
    "advanced.",
    "check": "Fails if a table was held, with what happened, where, and what to do.",
    "repair": "Reads the rows again that the last comparison found, merges them, and compares them once more.",
    "swap": "Brings the copy to the table's position, keeps the table's rows as another copy, and puts the copy's rows in "
    "their place.",
    "fill": "Reads the columns AS OF the table's position and adds them, or with *Dry run* shows which ones.",
    "quarantine": "Lists the changes in quarantine, reads their rows again, or drops them.",
    "verify": "Compares the tables one after the other and fails unless all are equal.",
    "prune": "Removes what is too old and not needed, or with *Dry run* shows it. Waits while a batch runs.",
    "maintained": "Reports what OPTIMIZE and VACUUM did, and fails for the tables that could not be maintained.",
    "resume": "Releases the chosen tables; the next batch catches each up from its own position.",
    "begin": "Chooses the SCN at which all tables are read.",
    "read": "Reads one table AS OF that SCN into Parquet. Several, one after the other, where there are more tables than "
    "Airflow's `max_map_length`.",
    "new_tables": "Lists the tables that a pattern has added and that have no contents yet; ends the run without any.",
    "held_tables": "Lists the held tables that `on_ddl` lets be snapshotted again by itself, and records an attempt for each; "
    "ends here without any.",
    "recover": "Shows what is lost, or carries out the chosen option; ends the run unless tables are to be read again.",
    "reload": "Starts the snapshot of these tables.",
}


def dag_text(text: str, pipeline: Pipeline) -> str:
    rows = "".join(f"| `{t.id}` | `{pipeline.target(t.id)}` |\n" for t in pipeline.tables)
    below = f"below `{pipeline.lake}`"
    rows += "".join(f"| `{m.match}` | {'not captured' if m.excludes else below} |\n" for m in pipeline.matches)
    settings = {"name": pipeline.name, "wait_max_minutes": pipeline.wait_max_minutes}
    return f"{text.format(**settings)}\n| table | Delta |\n|---|---|\n{rows}"
