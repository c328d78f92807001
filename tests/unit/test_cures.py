"""Each error has a cure, and a test that does the cure from the state in which it is printed; or a reason why there is none.

tests/unit/test_printed_commands.py reads all printed commands, and tests/integration/test_cures_as_printed.py runs some.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from redolake import errors
from redolake.errors import RedolakeError

ROOT = Path(__file__).parents[2]

# Where the cure of each error is done: the error, its state, and the result after the cure are in one test.
CURED_IN = {
    "ConfigurationError": "tests/integration/test_strange_tables.py::test_a_cured_table_is_snapshotted_by_its_name",
    "FolderTaken": "tests/integration/test_pipeline.py::"
    "test_tables_whose_names_would_be_one_folder_never_write_over_each_other",
    "KeyNeeded": "tests/integration/spark/test_cures.py::test_a_new_snapshot_cures_each_of_them",
    "LakeDamaged": "tests/integration/test_damaged_files.py::"
    "test_each_damaged_delta_table_of_a_batch_is_held_and_loaded_again_and_the_sound_one_goes_on",
    "LakeFull": "tests/integration/test_lake_trouble.py::"
    "test_trouble_of_the_whole_lake_holds_no_table_and_the_next_run_goes_on",
    "LakeMissing": "tests/integration/test_lake_trouble.py::"
    "test_a_lake_that_was_emptied_on_purpose_is_filled_again_after_the_cure",
    "LakeRefused": "tests/integration/test_lake_trouble.py::"
    "test_trouble_of_the_whole_lake_holds_no_table_and_the_next_run_goes_on",
    "LandingDamaged": "tests/integration/test_damaged_files.py::"
    "test_damaged_redo_stops_before_a_row_is_merged_and_is_mined_again",
    "LandingMissing": "tests/integration/test_lake_trouble.py::"
    "test_a_landing_that_the_ledger_knows_and_that_is_not_mounted_is_one_error",
    "LandingUnwritable": "tests/integration/test_lake_trouble.py::"
    "test_a_landing_that_is_full_while_a_snapshot_is_read_holds_no_table",
    "LedgerDamaged": "tests/contract/test_ledger.py::test_a_file_that_was_refused_may_be_replaced_while_the_process_runs",
    "LedgerOutdated": "tests/contract/test_migrations.py::test_who_only_reads_is_told_to_migrate_and_reads_afterwards",
    "LogMinerFailed": "tests/integration/test_source_errors.py::"
    "test_an_error_that_passes_is_transient_and_the_statement_succeeds_later",
    "LogOverdue": "tests/integration/test_follow.py::test_a_log_that_is_not_archived_yet_is_reported_as_overdue_and_waited_for",
    "MappingFailed": "tests/integration/test_mapping.py::"
    "test_a_value_that_cannot_be_cast_holds_its_table_and_another_expression_cures_it",
    "NoDictionaryInRedo": "tests/integration/test_redo_dictionary.py::test_a_first_snapshot_waits_for_a_dictionary",
    "NotCapturable": "tests/integration/test_strange_tables.py::test_a_cured_table_is_snapshotted_by_its_name",
    "NotLogged": "tests/integration/test_lost_logging.py::"
    "test_each_table_without_the_logging_it_needs_is_held_until_it_is_restored",
    "EncodingChanged": "tests/integration/test_container_identity.py::"
    "test_another_character_set_or_time_zone_stops_every_step_until_new_snapshots",
    "PdbChanged": "tests/integration/test_container_identity.py::"
    "test_a_pdb_that_was_set_back_stops_every_step_until_new_snapshots",
    "NotReadableAsOf": "tests/integration/test_as_of.py::test_an_scn_at_which_a_table_is_not_known_is_refused_with_its_name",
    "QuarantineInTheWay": "tests/integration/test_quarantine.py::"
    "test_a_ddl_that_changes_the_key_waits_until_no_key_is_in_quarantine",
    "RedoLost": "tests/integration/test_recover.py::test_capture_continues_after_logs_are_restored",
    "RedoNotUnderstood": "tests/integration/spark/test_cures.py::test_a_new_snapshot_cures_each_of_them",
    "ReplicatorRefused": "tests/integration/test_olr.py::test_one_that_runs_already_is_not_taken_for_one_that_waits",
    "ReplicatorUnavailable": "tests/integration/test_olr.py::"
    "test_a_replicator_of_another_database_or_alias_or_none_at_all_is_said",
    "SchemaConflict": "tests/integration/spark/test_cures.py::test_each_cure_that_ends_with_resume_cures",
    "ChunksNeedOneScn": "tests/integration/test_chunks.py::test_a_ddl_between_the_chunks_begins_the_snapshot_again",
    "SnapshotPaused": "tests/integration/test_chunks.py::test_a_paused_snapshot_reads_no_further_chunk_until_it_is_resumed",
    "SnapshotTooEarly": "tests/integration/test_snapshot_begin.py::"
    "test_a_prepared_transaction_counts_from_its_start_and_must_end_where_none_is_shown",
    "SnapshotTooLarge": "tests/integration/test_resnapshot.py::"
    "test_a_table_with_more_rows_than_the_limit_stays_held_and_says_so",
    "SourceUnavailable": "tests/integration/test_follow.py::test_a_source_that_does_not_answer_is_tried_again_until_it_does",
    "SparkLost": "tests/integration/test_follow.py::test_a_lost_session_is_replaced_by_a_new_one",
    "StreamLost": "tests/integration/test_olr.py::test_nothing_is_landed_after_a_change_that_is_missing_and_a_restart_cures",
    "TableHeld": "tests/integration/spark/test_cures.py::test_each_cure_that_ends_with_resume_cures",
    "TableSetBack": "tests/integration/spark/test_cures.py::test_a_new_snapshot_cures_each_of_them",
    "TargetRefused": "tests/integration/spark/test_cures.py::test_each_cure_that_ends_with_resume_cures",
    "TextNotValid": "tests/integration/test_pipeline.py::"
    "test_text_that_is_not_valid_utf_8_holds_its_table_alone_and_is_read_by_rule",
    "ValueDoesNotFit": "tests/integration/test_pipeline.py::"
    "test_a_date_before_christ_holds_its_table_alone_and_is_text_by_rule",
    "VersionRemoved": "tests/integration/spark/test_snapshot.py::test_a_version_whose_files_vacuum_removed_is_said_to_be_gone",
    "LeaseHeld": "tests/contract/test_leases.py::test_a_second_owner_waits_until_the_lease_ends_and_gets_a_higher_token",
    "LandingUnavailable": "tests/unit/land/test_land_object_store.py::test_a_store_that_does_not_answer_is_tried_again_later",
}
# No test does the cure.
NOT_TRIED = {
    "RedolakeError": "the class of all others",
    "Transient": "a family",
    "Terminal": "a family",
    "FormatTooNew": "the cure is another version of Redolake",
    "InvariantBroken": "the cure is to report a fault",
    "LakeUnavailable": "waiting, as for the landing's store",
    "LandingConflict": "someone else's writes must end; what follows is a new attempt",
    "LedgerUnavailable": "waiting for a database",
    "MiningIncomplete": "a repeat, or another copy of the log: tests/unit/mine/test_mine_copies.py",
    "SourceBusy": "waiting for the database",
    "SourceRefused": "a GRANT: tests/integration/test_source_oracle.py runs those that doctor names",
    "SparkExhausted": "more memory",
}


# What a user can't do, or can't do without more: what to send, and where, is said by `report_with`.
NO_CURE = re.compile(
    r"^(nothing|none|do nothing|report)\b|\breport (it|this|them|the)\b|please report|^look into|^choose (it )?again", re.I
)


def error_classes() -> set[str]:
    return {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, RedolakeError)}


def test_the_cure_of_each_error_is_tried_or_it_is_said_why_not() -> None:
    assert set(CURED_IN) | set(NOT_TRIED) == error_classes()
    assert not set(CURED_IN) & set(NOT_TRIED)


def test_each_of_these_tests_exists() -> None:
    for name, test in CURED_IN.items():
        file, _, function = test.partition("::")
        functions = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}
        assert function in functions, name


def literal(node: ast.expr) -> str:
    """Return the text of a literal, with `..` in place of values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else ".." for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def cures(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what is given as a cure: by its keyword, as the third value of a Finding, or under a name that says so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "cure":
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Finding", "Trouble"):
            yield from node.args[2:3]
        elif isinstance(node, ast.Assign) and any("cure" in getattr(to, "id", "").lower() for to in node.targets):
            yield node.value
        elif isinstance(node, ast.Dict):
            yield from (value for key, value in zip(node.keys, node.values, strict=True) if key and literal(key) == "cure")


def test_a_cure_is_something_to_do() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{cure.lineno}: {text}"
        for file in (ROOT / "pipelines" / "redolake").rglob("*.py")
        for cure in cures(ast.parse(file.read_text()))
        if NO_CURE.search(text := literal(cure))
    ]
    assert found == []
    page = (ROOT / "docs/reference/errors.md").read_text()
    assert [line for line in page.splitlines() if NO_CURE.search(line.removeprefix("**Do this:** "))] == []
