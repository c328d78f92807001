"""The shell: one function per task, plain values in, plain values out. Every step may run twice with the same result.

A step opens ledger, landing and source, calls the decisions, and records the outcome. The DAGs and the terminal call what is
exported here.
"""

from redolake.context import Run
from redolake.context.spark import open_spark
from redolake.steps.apply.batch import approve_ddl, look_up_held, prepare_batch, record_batch, resume_tables
from redolake.steps.apply.transactions import drop_transaction, list_transactions, look_up_transaction
from redolake.steps.capture.receive import receive_next_window
from redolake.steps.capture.remine import discard_windows, remine_window
from redolake.steps.capture.windows import AlreadyLanded, land_window, mine_window_slice, plan_next_window
from redolake.steps.checks.doctor import examine
from redolake.steps.checks.key_findings import find_equal_keys
from redolake.steps.checks.validation import package_findings, validate
from redolake.steps.follow import follow_pipeline
from redolake.steps.plan_edit import plan_edit
from redolake.steps.proof.fill_columns import fill_columns
from redolake.steps.proof.quarantine import drop_quarantined, list_quarantine, look_up_quarantined, retry_quarantine
from redolake.steps.proof.repair import ReadAgain, look_up_rows, repair_table
from redolake.steps.proof.verify import list_proofs, verify_tables
from redolake.steps.ranges.as_of import read_as_of
from redolake.steps.ranges.close_gap import GapClosing, close_gap
from redolake.steps.ranges.history_prune import prune_histories
from redolake.steps.ranges.history_rebuild import rebuild_history
from redolake.steps.ranges.live import LiveBackfill, backfill_live
from redolake.steps.ranges.logs import LogsToRead, logs_to_read
from redolake.steps.ranges.replay import range_of, refuse_unused
from redolake.steps.ranges.shadows import prepare_backfill, record_backfill, run_backfill
from redolake.steps.ranges.swap import Copies, SwappedTable, copy_tables, swap_table
from redolake.steps.recovery.recover import cost_of, declare_gap, inspect_redo_loss, recheck_redo_loss, recovery_text
from redolake.steps.recovery.runway import measure_runway
from redolake.steps.run import mend_by_snapshot, recover_redo_loss, run_pipeline, take_snapshot
from redolake.steps.selftest import run_selftest
from redolake.steps.setup.init import count_tables, find_source, find_tables, open_unconfigured, propose_pipeline
from redolake.steps.setup.migrate import migrate_ledger
from redolake.steps.setup.olr_config import check_olr_file, describe_olr_file, write_olr_config
from redolake.steps.setup.setup_sql import write_setup_sql
from redolake.steps.shared.decisions import record_rejection
from redolake.steps.shared.folders import find_shared
from redolake.steps.shared.matched_tables import joined_tables
from redolake.steps.shared.spark_jobs import external_spark_job, read_job_failure, run_spark_job
from redolake.steps.shared.status import list_windows, read_complete_to, read_status
from redolake.steps.shared.wait import AwaitedLog, is_source_back, is_still_awaited, log_overdue
from redolake.steps.shown.column_lineage import read_column_lineage
from redolake.steps.shown.history_views import write_history_views
from redolake.steps.shown.schema_versions import list_versions, schema_at, schema_difference
from redolake.steps.shown.stats import read_stats
from redolake.steps.shown.views import write_views
from redolake.steps.shown.ways import look_up_ways
from redolake.steps.snapshots.begin import begin_snapshot
from redolake.steps.snapshots.chunk_progress import pause_snapshots, read_chunked_tables, read_snapshot_progress
from redolake.steps.snapshots.load import prepare_snapshot_load, record_snapshot_load
from redolake.steps.snapshots.read import read_snapshot_table
from redolake.steps.snapshots.refused_tables import capturable_tables
from redolake.steps.snapshots.resnapshot import begin_resnapshots
from redolake.steps.upkeep.maintenance import (
    describe_maintenance,
    describe_rules,
    look_up_maintenance,
    prepare_maintenance,
    record_maintenance,
    run_maintenance,
)
from redolake.steps.upkeep.prune import describe_pruned, prune_pipeline

__all__ = [
    "AlreadyLanded",
    "AwaitedLog",
    "Copies",
    "GapClosing",
    "LiveBackfill",
    "LogsToRead",
    "ReadAgain",
    "Run",
    "SwappedTable",
    "approve_ddl",
    "backfill_live",
    "begin_resnapshots",
    "begin_snapshot",
    "capturable_tables",
    "check_olr_file",
    "close_gap",
    "copy_tables",
    "cost_of",
    "count_tables",
    "declare_gap",
    "describe_maintenance",
    "describe_olr_file",
    "describe_pruned",
    "describe_rules",
    "discard_windows",
    "drop_quarantined",
    "drop_transaction",
    "examine",
    "external_spark_job",
    "fill_columns",
    "find_equal_keys",
    "find_shared",
    "find_source",
    "find_tables",
    "follow_pipeline",
    "inspect_redo_loss",
    "is_source_back",
    "is_still_awaited",
    "joined_tables",
    "land_window",
    "list_proofs",
    "list_quarantine",
    "list_transactions",
    "list_versions",
    "list_windows",
    "log_overdue",
    "logs_to_read",
    "look_up_held",
    "look_up_maintenance",
    "look_up_quarantined",
    "look_up_rows",
    "look_up_transaction",
    "look_up_ways",
    "measure_runway",
    "mend_by_snapshot",
    "migrate_ledger",
    "mine_window_slice",
    "open_spark",
    "open_unconfigured",
    "package_findings",
    "pause_snapshots",
    "plan_edit",
    "plan_next_window",
    "prepare_backfill",
    "prepare_batch",
    "prepare_maintenance",
    "prepare_snapshot_load",
    "propose_pipeline",
    "prune_histories",
    "prune_pipeline",
    "range_of",
    "read_as_of",
    "read_chunked_tables",
    "read_column_lineage",
    "read_complete_to",
    "read_job_failure",
    "read_snapshot_progress",
    "read_snapshot_table",
    "read_stats",
    "read_status",
    "rebuild_history",
    "receive_next_window",
    "recheck_redo_loss",
    "record_backfill",
    "record_batch",
    "record_maintenance",
    "record_rejection",
    "record_snapshot_load",
    "recover_redo_loss",
    "recovery_text",
    "refuse_unused",
    "remine_window",
    "repair_table",
    "resume_tables",
    "retry_quarantine",
    "run_backfill",
    "run_maintenance",
    "run_pipeline",
    "run_selftest",
    "run_spark_job",
    "schema_at",
    "schema_difference",
    "swap_table",
    "take_snapshot",
    "validate",
    "verify_tables",
    "write_history_views",
    "write_olr_config",
    "write_setup_sql",
    "write_views",
]
