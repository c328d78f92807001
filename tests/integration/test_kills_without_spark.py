"""Kill a process with SIGKILL after any write, run it again: the tables equal the source.

Which writes those are in one run: tests/thirds.py. The processes are those of `redolake` and of the DAGs' tasks, with a
plain fold in place of Spark (tests/references/folder_lake.py): what follows a write of landing or ledger is the same either
way. Kills after Spark's own writes are in tests/e2e/test_kills_everywhere.py and, in process, in tests/integration/spark/.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.kill_workflows import (
    CATCH_UP,
    WORKFLOWS,
    KillTestbed,
    Workflow,
    dropped_transaction,
    mapped_table,
    quarantined_row,
    run_workflow,
)
from tests.e2e.kills import IN_TURN, NO_SPARK, SECONDS, ChangingSource
from tests.fixtures.shop import open_shop
from tests.thirds import third_of_this_run
from tests.unit.host.test_crash import NOT_KILLED_AT, ledger_points, named_points, spark_points, writers_of_files


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillTestbed]:
    with open_shop(tmp_path_factory.mktemp("kills")) as shop:
        yield KillTestbed(ChangingSource(shop), shop.folder, NO_SPARK)


# A transaction is dropped by its rows in Spark's carry-over, and Spark computes mappings: tests/e2e/test_kills_everywhere.py.
WITHOUT_SPARK = [workflow for workflow in WORKFLOWS if workflow not in (dropped_transaction, mapped_table, quarantined_row)]


@pytest.mark.parametrize("workflow", WITHOUT_SPARK, ids=lambda workflow: workflow.__name__)
def test_each_workflow_survives_a_kill_after_each_write(testbed: KillTestbed, workflow: Workflow) -> None:
    run_workflow(testbed, workflow, IN_TURN, testbed.folder / "killed-at", third_of_this_run())


def test_of_two_runs_at_once_one_gives_way(testbed: KillTestbed) -> None:
    copy = testbed.usable_copy()
    testbed.source.work()
    testbed.source.more()
    both = [copy.start_process(*CATCH_UP) for _ in range(2)]
    for process, _ in both:
        process.join(SECONDS)
    ends = [(process.exitcode, log.read_text()) for process, log in both]
    assert {code for code, _ in ends} <= {0, 75}, ends
    assert 0 in {code for code, _ in ends}, ends
    assert all("LeaseHeld" in said for code, said in ends if code == 75), ends

    testbed.source.finish()
    copy.catch_up()
    testbed.check(copy)


# --- No write is left out --------------------------------------------------------------------------------------------


# The workflows have no large objects, and no tables that are read again as a whole.
NOT_IN_WORKFLOWS = {
    "ledger.forget_windows": "killed in tests/integration/test_damaged_landing.py: the workflows have no damaged files",
    "ledger.discard_windows": "as ledger.forget_windows",
    "migrate": "killed in tests/contract/test_migrations.py: the workflows begin with a new ledger",
    "migrated": "as migrate",
    "ledger.read_part": "killed in tests/integration/test_recover_in_delta.py",
    "ledger.change_gap": "killed in tests/integration/test_recover_in_delta.py",
    "reread": "killed in tests/integration/test_large_objects.py",
    "whole": "killed in tests/integration/test_whole_tables.py",
    "ledger.restate_hold": "a held table's error text, which the next run writes again",
}


def test_no_write_is_left_out(testbed: KillTestbed) -> None:
    """Needs the workflows before it: only running them shows where they were killed."""
    if not {(workflow.__name__, IN_TURN) for workflow in WITHOUT_SPARK} <= testbed.done:
        pytest.skip("needs all workflows of this module in the same run")
    killed_at, chosen = (testbed.folder / "killed-at").read_text().splitlines(), third_of_this_run()
    writers = writers_of_files() - set(NOT_KILLED_AT) - {"drop_transaction"}

    assert chosen.of(named_points() | ledger_points()) - spark_points() - set(NOT_IN_WORKFLOWS) <= set(killed_at)
    assert chosen.of(writers) <= {line.partition(" ")[0] for line in killed_at}
