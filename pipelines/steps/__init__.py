"""The shell: one function per task, plain values in, plain values out. Every step may run twice with the same result.

Steps open the doors, call the decisions, write the ledger and say one line. They are what the DAGs and the terminal name.
"""

from pipelines.steps.applying import prepare_apply, record_apply, resume
from pipelines.steps.backfilling import backfill, backfill_prepare, backfill_record
from pipelines.steps.capturing import land, mine, plan, remine
from pipelines.steps.checking import doctor, setup_sql, validate
from pipelines.steps.recovering import break_chain, look_again, recover, recovery_text
from pipelines.steps.reporting import landed_windows, status
from pipelines.steps.running import lead_over, run, snapshot
from pipelines.steps.snapshotting import snapshot_begin, snapshot_prepare, snapshot_read, snapshot_record
from pipelines.steps.sparking import job_elsewhere, job_failure, open_spark, run_spark
from pipelines.steps.transactions import drop_transaction, list_transactions, look_up_transaction
from pipelines.steps.verifying import verify
from pipelines.steps.waiting import overdue, still_awaited
from pipelines.steps.watching import runway

__all__ = [
    "backfill",
    "backfill_prepare",
    "backfill_record",
    "break_chain",
    "doctor",
    "drop_transaction",
    "job_elsewhere",
    "job_failure",
    "land",
    "landed_windows",
    "lead_over",
    "list_transactions",
    "look_again",
    "look_up_transaction",
    "mine",
    "open_spark",
    "overdue",
    "plan",
    "prepare_apply",
    "record_apply",
    "recover",
    "recovery_text",
    "remine",
    "resume",
    "run",
    "run_spark",
    "runway",
    "setup_sql",
    "snapshot",
    "snapshot_begin",
    "snapshot_prepare",
    "snapshot_read",
    "snapshot_record",
    "status",
    "still_awaited",
    "validate",
    "verify",
]
