"""The dear tests, of which a run makes a third (tests/thirds.py), each with what proves the same in every run, for less.

Functions without Spark decide what becomes of redo: a plain fold or a unit test proves them in each run. What Spark and Delta
add is proven part by part in tests/integration/spark. The tests of DEAR put both together once more, at up to two minutes of
CPU time each: Spark plans and compiles again for each form of a table.

Of a function in CASES each run makes a third of the cases, so each run takes its way; together three runs take all values.
"""

from __future__ import annotations

from collections.abc import Mapping

# By module, or by test where the others of its module are run always.
DEAR: Mapping[str, str] = {
    "tests/e2e/airflow_pages/test_forms.py": (
        "fields and refusals: tests/unit/airflow/test_forms.py, test_mend_dag.py, test_recover_dag.py; "
        "a dialog in the browser, and what a form says there: tests/e2e/airflow_pages/test_backfill_button.py; a third of the "
        "forms themselves"
    ),
    "tests/e2e/airflow_pages/test_page.py": (
        "the page in a browser: tests/unit/cockpit/test_browser.py; behind Airflow's login: tests/unit/airflow/test_page.py"
    ),
    "tests/e2e/test_cluster.py": (
        "what is packed and refused: tests/unit/host/test_worker_archive.py; workers with this package alone: every Spark test"
    ),
    "tests/e2e/test_cluster_kills.py": (
        "which errors of Spark hold nothing: tests/unit/apply/spark/test_failures.py; where rows are kept: "
        "tests/unit/apply/spark/test_kept.py"
    ),
    "tests/e2e/test_two_hosts.py": (
        "its parts in pairs. Airflow's tasks: tests/e2e/test_dags_end_to_end.py; S3 and PostgreSQL: "
        "tests/integration/test_object_store.py; Spark on S3 by Connect: tests/e2e/test_submit_and_connect.py; "
        "kills between two tables: tests/e2e/test_kills_everywhere.py; between chunks: tests/integration/test_chunks.py"
    ),
    "tests/integration/test_as_of.py": (
        "which SCNs can be read: tests/unit/steps/test_as_of_gaps.py; the views: tests/unit/steps/test_views.py; "
        "the fold of a history at each SCN: tests/integration/spark/test_history.py"
    ),
    "tests/integration/test_backfill_ranges.py": (
        "plans and refusals: tests/unit/steps/test_replay.py; the rows of a range: tests/e2e/test_backfill.py; "
        "from logs: tests/integration/test_backfill_from_logs.py; commits of each way: "
        "tests/integration/spark/test_guarded_commits.py"
    ),
    "tests/integration/test_damaged_files.py": (
        "digests, findings and cures: tests/integration/test_damaged_landing.py, tests/unit/land/test_land_damage.py; "
        "damaged Delta logs: tests/integration/spark/test_damaged_log.py"
    ),
    "tests/integration/test_damaged_logs.py": (
        "each damage is a typed error: tests/integration/spark/test_damaged_log.py; the other places: "
        "tests/unit/job/test_damaged_logs.py"
    ),
    "tests/integration/test_filled_columns.py::test_left_out_columns_are_filled_from_the_source_and_then_from_the_redo": (
        "lives with columns that are wanted later: the last test of its module"
    ),
    "tests/integration/test_filled_columns.py::test_columns_of_a_mapped_table_are_filled_as_its_mapping_makes_them": (
        "lives with columns that are wanted later: the last test of its module; mapped ones: "
        "tests/integration/test_mapping_matrix.py"
    ),
    "tests/integration/test_history.py": (
        "each change once, the columns of a DDL, damages and cuts: tests/integration/spark/test_history.py; "
        "commits: tests/integration/spark/test_guarded_commits.py; kills of generated lives with histories: "
        "tests/integration/test_table_writers.py"
    ),
    "tests/integration/test_key_logging.py": (
        "columns that the redo of an UPDATE lacks: tests/unit/apply/net/test_filled_columns.py, "
        "tests/unit/apply/net/test_missing.py; logging that is lost: tests/integration/test_lost_logging.py; lives: "
        "tests/integration/test_histories.py"
    ),
    "tests/integration/test_keyless.py": (
        "ROWIDs, appends and their comparison in Delta: tests/integration/spark/test_keyless.py; findings of keys: "
        "tests/unit/steps/test_key_findings.py"
    ),
    "tests/integration/test_lake_trouble.py": (
        "which trouble is whose: tests/unit/apply/spark/test_failures.py; a full disk: tests/e2e/test_kills_everywhere.py"
    ),
    "tests/integration/test_mapping.py": (
        "all kinds of mapping through each part: tests/integration/test_mapping_matrix.py; generated lives: "
        "tests/integration/test_mapped_lives.py; what is refused: tests/unit/reconcile/test_mappings.py; filters that "
        "Oracle evaluates: tests/unit/reconcile/test_pushed_filter.py"
    ),
    "tests/integration/test_null_by_rule.py": (
        "the rule for each type: tests/unit/values/test_null_rule.py; in Delta: tests/integration/spark/test_types.py"
    ),
    "tests/integration/test_objects_from_redo.py": (
        "the assembly: tests/integration/spark/test_assembled_objects.py, tests/unit/apply/objects/test_object_content.py, "
        "tests/unit/apply/objects/test_xml_document.py; published redo: "
        "tests/integration/spark/test_published_savepoints.py"
    ),
    "tests/integration/test_pipeline.py": (
        "capture and ledger: tests/integration/test_pipeline_without_delta.py; cures of held tables: "
        "tests/integration/spark/test_cures.py; values: tests/integration/test_type_values.py, "
        "tests/integration/spark/test_types.py; DDL: tests/integration/spark/test_followed_ddl.py"
    ),
    "tests/integration/test_quarantine.py": (
        "lives with kills, retries and decisions: tests/integration/test_quarantine_lives.py; which error goes there: "
        "tests/unit/values/test_quarantine.py; keys that are read again: tests/unit/steps/test_retried_keys.py"
    ),
    "tests/integration/test_recover_in_delta.py": (
        "the choices and their ends: tests/integration/test_recover.py; what a gap lacks: "
        "tests/unit/reconcile/test_lacked_gaps.py, tests/unit/reconcile/test_declared_gaps.py; positions of Delta tables: "
        "tests/integration/spark/test_snapshot.py"
    ),
    "tests/integration/test_table_kinds.py": (
        "partitions: tests/integration/test_partition_ddl.py; rows of index-organized tables: "
        "tests/unit/apply/net/test_index_rows.py, tests/unit/apply/net/test_rows_by_key.py; ROWIDs as keys: "
        "tests/integration/spark/test_keyless.py"
    ),
    "tests/integration/test_transactions.py": (
        "which rows are dropped: tests/integration/spark/test_dropped.py; what is open: tests/unit/steps/test_transactions.py, "
        "tests/unit/reconcile/test_dropped_transactions.py"
    ),
    "tests/integration/spark/test_batch.py::"
    "test_the_delta_log_is_listed_before_and_after_each_commit_and_a_table_without_changes_costs_no_job": (
        "what a batch costs, and not what becomes of rows; jobs of a MERGE: tests/integration/spark/test_small_tables.py"
    ),
    "tests/integration/spark/test_maintenance.py::test_a_pipeline_goes_on_after_maintenance_and_its_tables_equal_the_source": (
        "what maintenance of either side does to a pipeline: tests/integration/test_maintenance.py; files and rows: the "
        "other tests of its module, as of tests/integration/spark/test_snapshot.py"
    ),
    "tests/integration/spark/test_null_keys.py": (
        "rows with a NULL in their key: tests/unit/apply/delivery/test_rows_known_by_value.py"
    ),
    "tests/integration/spark/test_readers.py": (
        "what the readers are assumed to do: tests/assumptions/test_lake_readers.py; the values as Spark and delta-rs read "
        "them: tests/integration/spark/test_types.py; all questions: make readers"
    ),
    "tests/integration/spark/test_resnapshot.py": (
        "which policies, limits and orders: tests/integration/test_resnapshot.py; a load over newer contents: "
        "tests/integration/spark/test_snapshot.py"
    ),
    "tests/integration/spark/test_verify_buckets.py": (
        "chunks and verdicts: tests/unit/steps/test_hash_chunks.py, tests/unit/steps/test_sample.py; comparison of all rows: "
        "tests/integration/spark/test_snapshot.py"
    ),
}
CASES: Mapping[str, str] = {
    "tests/contract/test_migrations.py::"
    "test_a_killed_migration_leaves_the_ledger_as_it_was": "three databases and two states of a ledger: one transaction",
    "tests/integration/test_chunks.py::"
    "test_a_partition_that_changes_between_the_chunks_begins_the_snapshot_again": "one check of a plan's names, under four DDL",
    "tests/integration/test_chunks.py::"
    "test_a_process_that_is_killed_after_a_write_is_repeated_and_makes_the_table_equal": "one reading that goes on, six points",
    "tests/integration/test_standby_lives.py::"
    "test_a_life_on_a_standby_alone_loses_nothing": "generated lives: three or four of ten, under both readings of an SCN",
    "tests/integration/test_standby_lives.py::"
    "test_a_life_on_a_standby_loses_nothing": "generated lives: three or four of ten, under both readings of an SCN",
    "tests/integration/test_unknown_transactions.py::"
    "test_such_a_change_in_a_batch_that_ends_before_the_snapshot_is_not_forgotten": "one list of such changes",
    "tests/witness/test_debezium.py::"
    "test_the_shops_events_are_the_rows_of_the_source": "one history as three readers of Debezium see it",
    "tests/integration/test_many_cores.py::"
    "test_each_stage_with_all_rows_uses_all_cores": "one function divides by the cores, of one machine or of two workers",
    "tests/integration/spark/test_damaged_log.py::"
    "test_a_damaged_log_is_a_typed_error_and_the_load_that_it_names_succeeds": "one reader of a log finds all damages",
    "tests/integration/test_large_objects.py::"
    "test_a_generated_life_of_large_objects_equals_the_source_after_each_window": "lives under other readings of LogMiner",
    "tests/integration/test_olr.py::"
    "test_rows_of_a_partition_that_came_and_went_are_not_passed_over": "both ends under three behaviours of one stream",
    "tests/integration/test_vanished_partitions.py::"
    "test_no_other_way_to_capture_passes_over_such_rows": "two ends under six settings, of one check when a window lands",
    "tests/integration/test_whole_tables.py::"
    "test_a_table_equals_the_source_after_rows_changed_without_redo": "all DDL of this kind is one reading of keys",
    "tests/unit/airflow/test_approval.py::"
    "test_no_value_leaves_the_text_before_an_approver_or_adds_a_line_to_it": "one function writes all values into the text",
}
# Modules of which each test goes on with what those before it have left: all of them are in one third.
TOGETHER = (
    "tests/integration/test_as_of.py",
    "tests/integration/spark/test_verify_buckets.py",
)
# Tests of these modules that are run always: the shortest way through all of it.
ALWAYS = ("tests/integration/test_pipeline.py::test_every_table_equals_the_source_after_windows_over_two_redo_threads",)
