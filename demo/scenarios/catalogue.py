"""The scenarios: each goes wrong at the source in one named way, lets the pipeline meet it, and cures it as a person would."""

from __future__ import annotations

from collections.abc import Callable

from demo.scenarios.testbed import Testbed

Scenario = Callable[[Testbed], None]
SCENARIOS: dict[str, Scenario] = {}
ONLINE_LOGS = 3  # of each redo thread of the stand-in


def scenario(function: Scenario) -> Scenario:
    """Its name is the function's, its summary the first line of the docstring."""
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function


def summary(name: str) -> str:
    return (SCENARIOS[name].__doc__ or "").partition("\n")[0]


def last_logs(testbed: Testbed, thread: int) -> dict[str, int]:
    return {"thread": thread, "from_sequence": testbed.last_archived(thread), "to_sequence": testbed.last_archived(thread)}


# --- redo that is late ---


@scenario
def archiver_lags(testbed: Testbed) -> None:
    """The archiver of one redo thread falls behind: nothing passes it; with the log, all goes on."""
    testbed.start_pipeline()
    testbed.inject("lag-archiver", thread=2)
    before = testbed.landed_scn()
    testbed.change_rows()
    testbed.say(f"redolake waits: {testbed.catch_up()}")
    testbed.say(f"landed to SCN {testbed.landed_scn()}, where it was {before}: no further than redo thread 2 is archived")
    testbed.inject("catch-up-archiver", thread=2)
    testbed.catch_up()


@scenario
def archiver_stuck(testbed: Testbed) -> None:
    """All archive destinations are full (ORA-00257): writers hang, logons are refused; when there is room, all goes on."""
    testbed.start_pipeline()
    testbed.inject("stick-archiver")
    with testbed.blocked_writers():
        testbed.expect_transient_error()
    testbed.change_rows()
    testbed.catch_up()


# --- redo that is gone, or not what it should be ---


@scenario
def purged_behind_the_reader(testbed: Testbed) -> None:
    """RMAN has deleted a log that is still needed: capture stops and names it; restored, it goes on."""
    testbed.start_pipeline()
    testbed.change_rows()
    lost = last_logs(testbed, 1)
    testbed.inject("purge-logs", **lost)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **lost)
    testbed.recover_restored()


@scenario
def aged_out_of_the_control_file(testbed: Testbed) -> None:
    """The control file has forgotten a log whose file is there: capture stops; catalogued, it goes on."""
    testbed.start_pipeline()
    sequence = testbed.last_archived(2) + 1
    while testbed.last_archived(2) < sequence + ONLINE_LOGS:  # V$LOG has forgotten it too
        testbed.change_rows()
    lost = {"thread": 2, "from_sequence": sequence, "to_sequence": sequence}
    testbed.inject("age-out-records", **lost)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **lost)
    testbed.recover_restored()


@scenario
def deleted_but_listed(testbed: Testbed) -> None:
    """A file was removed by hand, V$ARCHIVED_LOG still lists it: no window lands without it; restored, it goes on."""
    testbed.start_pipeline()
    testbed.change_rows()
    lost = last_logs(testbed, 2)
    testbed.inject("remove-files", **lost)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **lost)
    testbed.recover_restored()


@scenario
def truncated(testbed: Testbed) -> None:
    """Every copy of a log is cut short: what was read of it is thrown away; restored, it goes on."""
    testbed.start_pipeline()
    testbed.change_rows()
    lost = last_logs(testbed, 1)
    testbed.inject("truncate-files", **lost)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **lost)
    testbed.recover_restored()


@scenario
def overwritten(testbed: Testbed) -> None:
    """Another log lies under the name of one that is needed: its header tells; restored, it goes on."""
    testbed.start_pipeline()
    testbed.change_rows()
    lost = last_logs(testbed, 1)
    testbed.inject("overwrite-files", **lost)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **lost)
    testbed.recover_restored()


@scenario
def destination_unreadable(testbed: Testbed) -> None:
    """One archive destination cannot be read: the copies of the other one are taken, and nothing stops."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("hide-destination", dest_id=1)
    testbed.catch_up()
    testbed.inject("show-destination", dest_id=1)
    testbed.change_rows()
    testbed.catch_up()


@scenario
def gone_for_good(testbed: Testbed) -> None:
    """A log that is needed was deleted and no backup has it: a person has the tables read anew, and it goes on from there."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("purge-logs", **last_logs(testbed, 1))
    testbed.expect_redo_loss()
    testbed.recover_with_snapshot()
    testbed.change_rows()
    testbed.catch_up()


# --- threads that come and go ---


@scenario
def thread_reopened(testbed: Testbed) -> None:
    """An instance is shut down and started again: a gap in its SCNs, none in its sequences, and nothing stops."""
    testbed.start_pipeline()
    testbed.inject("close-thread", thread=2)
    testbed.change_rows()
    testbed.catch_up()
    testbed.inject("open-thread", thread=2)
    testbed.change_rows()
    testbed.catch_up()


@scenario
def thread_added(testbed: Testbed) -> None:
    """A third instance joins the cluster: its redo counts from the SCN it was enabled at."""
    testbed.start_pipeline()
    testbed.inject("add-thread", thread=3)
    testbed.change_rows()
    testbed.catch_up()


# --- incarnations ---


@scenario
def resetlogs(testbed: Testbed) -> None:
    """The database is opened with RESETLOGS and nothing is lost: the old incarnation is read to its end, then the new one."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("reset-logs")
    testbed.change_rows()
    testbed.catch_up()


@scenario
def rewound(testbed: Testbed) -> None:
    """Flashed back and opened with RESETLOGS before what is landed: capture stops; the tables are read anew."""
    testbed.start_pipeline()
    back_to = testbed.landed_scn()
    testbed.change_rows()
    testbed.catch_up()
    testbed.inject("reset-logs", to_scn=back_to)
    testbed.change_rows()
    testbed.expect_redo_loss()
    testbed.recover_with_snapshot()
    testbed.change_rows()
    testbed.catch_up()


@scenario
def failover_with_a_lost_tail(testbed: Testbed) -> None:
    """The standby takes over without redo that was landed here already: capture stops; the tables are read anew."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.catch_up()
    testbed.inject("fail-over", logs_behind=1)
    testbed.change_rows()
    testbed.expect_redo_loss()
    testbed.recover_with_snapshot()
    testbed.change_rows()
    testbed.catch_up()


# --- the network ---


@scenario
def network_cut(testbed: Testbed) -> None:
    """The connection breaks in the middle of a fetch: the attempt is thrown away, and the slice is mined again."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("cut-network", after_rows=50)
    testbed.catch_up()


@scenario
def listener_refuses(testbed: Testbed) -> None:
    """The listener turns clients away for a while: tried again, with longer pauses each time."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("refuse-clients", seconds=2)
    testbed.catch_up()
