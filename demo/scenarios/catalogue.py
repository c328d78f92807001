"""The scenarios. Each injects one fault at the source, runs the pipeline, and applies the cure as an operator would."""

from __future__ import annotations

from collections.abc import Callable

from .testbed import Testbed

Scenario = Callable[[Testbed], None]
SCENARIOS: dict[str, Scenario] = {}
ONLINE_LOGS = 3  # of each redo thread of the stand-in


def scenario(function: Scenario) -> Scenario:
    """Add a scenario, named after the function. The first line of its docstring is the summary."""
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function


def summary(name: str) -> str:
    return (SCENARIOS[name].__doc__ or "").partition("\n")[0]


def last_log(testbed: Testbed, thread: int) -> dict[str, int]:
    """Return the options that select the last archived log of a thread."""
    return {"thread": thread, "from_sequence": testbed.last_archived(thread), "to_sequence": testbed.last_archived(thread)}


# --- late redo ---


@scenario
def archiver_lags(testbed: Testbed) -> None:
    """The archiver of one redo thread lags: no window ends beyond its last archived log, until it catches up."""
    testbed.start_pipeline()
    testbed.inject("lag-archiver", thread=2)
    before = testbed.landed_scn()
    testbed.change_rows()
    testbed.say(f"redolake waits: {testbed.catch_up()}")
    testbed.say(f"landed to SCN {testbed.landed_scn() - 1} (before: {before - 1}), no further than redo thread 2 is archived")
    testbed.inject("catch-up-archiver", thread=2)
    testbed.catch_up()


@scenario
def archiver_stuck(testbed: Testbed) -> None:
    """All archive destinations are full (ORA-00257): writers wait and logons are refused, until there is room again."""
    testbed.start_pipeline()
    testbed.inject("stick-archiver")
    with testbed.blocked_writers():
        testbed.expect_transient_error()
    testbed.change_rows()
    testbed.catch_up()


# --- lost or damaged redo ---


@scenario
def log_purged(testbed: Testbed) -> None:
    """RMAN deleted a log that is still needed: capture stops and names the log, and continues after a restore."""
    testbed.start_pipeline()
    testbed.change_rows()
    log = last_log(testbed, 1)
    testbed.inject("purge-logs", **log)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **log)
    testbed.recover_restored()


@scenario
def log_record_aged_out(testbed: Testbed) -> None:
    """The control file has no record of a log whose file exists: capture stops, and continues after CATALOG."""
    testbed.start_pipeline()
    sequence = testbed.last_archived(2) + 1
    while testbed.last_archived(2) < sequence + ONLINE_LOGS:  # until V$LOG does not show it either
        testbed.change_rows()
    log = {"thread": 2, "from_sequence": sequence, "to_sequence": sequence}
    testbed.inject("age-out-records", **log)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **log)
    testbed.recover_restored()


@scenario
def log_file_deleted(testbed: Testbed) -> None:
    """A file was deleted by hand but V$ARCHIVED_LOG lists it: no window lands without it; capture continues after a restore."""
    testbed.start_pipeline()
    testbed.change_rows()
    log = last_log(testbed, 2)
    testbed.inject("remove-files", **log)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **log)
    testbed.recover_restored()


@scenario
def log_truncated(testbed: Testbed) -> None:
    """Every copy of a log is truncated: rows already read from it are discarded; capture continues after a restore."""
    testbed.start_pipeline()
    testbed.change_rows()
    log = last_log(testbed, 1)
    testbed.inject("truncate-files", **log)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **log)
    testbed.recover_restored()


@scenario
def log_overwritten(testbed: Testbed) -> None:
    """Another log has the name of a needed one: its header shows the difference; capture continues after a restore."""
    testbed.start_pipeline()
    testbed.change_rows()
    log = last_log(testbed, 1)
    testbed.inject("overwrite-files", **log)
    testbed.expect_redo_loss()
    testbed.inject("restore-logs", **log)
    testbed.recover_restored()


@scenario
def destination_unreadable(testbed: Testbed) -> None:
    """One archive destination cannot be read: capture uses the copies in the other one and does not stop."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("hide-destination", dest_id=1)
    testbed.catch_up()
    testbed.inject("show-destination", dest_id=1)
    testbed.change_rows()
    testbed.catch_up()


@scenario
def log_without_backup(testbed: Testbed) -> None:
    """A needed log was deleted and has no backup: an operator re-snapshots the tables, and capture continues from there."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("purge-logs", **last_log(testbed, 1))
    testbed.expect_redo_loss()
    testbed.recover_with_snapshot()
    testbed.change_rows()
    testbed.catch_up()


# --- redo threads ---


@scenario
def thread_reopened(testbed: Testbed) -> None:
    """An instance is stopped and started: a gap in its SCNs, none in its log sequences; capture does not stop."""
    testbed.start_pipeline()
    testbed.inject("close-thread", thread=2)
    testbed.change_rows()
    testbed.catch_up()
    testbed.inject("open-thread", thread=2)
    testbed.change_rows()
    testbed.catch_up()


@scenario
def thread_added(testbed: Testbed) -> None:
    """A third instance joins the cluster: its redo is needed from the SCN at which its thread was enabled."""
    testbed.start_pipeline()
    testbed.inject("add-thread", thread=3)
    testbed.change_rows()
    testbed.catch_up()


# --- incarnations ---


@scenario
def resetlogs(testbed: Testbed) -> None:
    """The database is opened with RESETLOGS without loss: capture reads the old incarnation to its end, then the new one."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("reset-logs")
    testbed.change_rows()
    testbed.catch_up()


@scenario
def flashback(testbed: Testbed) -> None:
    """Flashback and RESETLOGS to an SCN before the landed one: capture stops; the tables are re-snapshotted."""
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
def failover_with_loss(testbed: Testbed) -> None:
    """A standby takes over without redo that is landed here already: capture stops; the tables are re-snapshotted."""
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
    """The connection breaks in the middle of a fetch: the attempt is discarded and the slice is mined again."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("cut-network", after_rows=50)
    testbed.catch_up()


@scenario
def listener_refuses(testbed: Testbed) -> None:
    """The listener refuses clients for a while: capture tries again, with increasing pauses."""
    testbed.start_pipeline()
    testbed.change_rows()
    testbed.inject("refuse-clients", seconds=2)
    testbed.catch_up()
