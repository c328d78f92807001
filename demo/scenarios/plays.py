"""The scenarios: each goes wrong at the source in one named way, lets the pipeline meet it, and cures it as a person would."""

from __future__ import annotations

from collections.abc import Callable

from demo.scenarios.stage import Stage

Play = Callable[[Stage], None]
SCENARIOS: dict[str, Play] = {}
ONLINE_LOGS = 3  # of each redo thread of the stand-in


def scenario(play: Play) -> Play:
    """Its name is the function's, its summary the first line of the docstring."""
    SCENARIOS[play.__name__.replace("_", "-")] = play
    return play


def summary(name: str) -> str:
    return (SCENARIOS[name].__doc__ or "").partition("\n")[0]


def last_logs(stage: Stage, thread: int) -> dict[str, int]:
    return {"thread": thread, "from_sequence": stage.archived(thread), "to_sequence": stage.archived(thread)}


# --- redo that is late ---


@scenario
def archiver_lags(stage: Stage) -> None:
    """The archiver of one redo thread falls behind: nothing passes it; with the log, all goes on."""
    stage.begin()
    stage.pull("lag-archiver", thread=2)
    before = stage.landed()
    stage.work()
    stage.say(f"redolake waits: {stage.go_on()}")
    stage.say(f"landed to SCN {stage.landed()}, where it was {before}: no further than redo thread 2 is archived")
    stage.pull("catch-up-archiver", thread=2)
    stage.go_on()


@scenario
def archiver_stuck(stage: Stage) -> None:
    """All archive destinations are full (ORA-00257): writers hang, logons are refused; when there is room, all goes on."""
    stage.begin()
    stage.pull("stick-archiver")
    with stage.writers_that_wait():
        stage.tries()
    stage.work()
    stage.go_on()


# --- redo that is gone, or not what it should be ---


@scenario
def purged_behind_the_reader(stage: Stage) -> None:
    """RMAN has deleted a log that is still needed: capture stops and names it; restored, it goes on."""
    stage.begin()
    stage.work()
    lost = last_logs(stage, 1)
    stage.pull("purge-logs", **lost)
    stage.stops_lost()
    stage.pull("restore-logs", **lost)
    stage.restored()


@scenario
def aged_out_of_the_control_file(stage: Stage) -> None:
    """The control file has forgotten a log whose file is there: capture stops; catalogued, it goes on."""
    stage.begin()
    sequence = stage.archived(2) + 1
    while stage.archived(2) < sequence + ONLINE_LOGS:  # V$LOG has forgotten it too
        stage.work()
    lost = {"thread": 2, "from_sequence": sequence, "to_sequence": sequence}
    stage.pull("age-out-records", **lost)
    stage.stops_lost()
    stage.pull("restore-logs", **lost)
    stage.restored()


@scenario
def deleted_but_listed(stage: Stage) -> None:
    """A file was removed by hand, V$ARCHIVED_LOG still lists it: no window lands without it; restored, it goes on."""
    stage.begin()
    stage.work()
    lost = last_logs(stage, 2)
    stage.pull("remove-files", **lost)
    stage.stops_lost()
    stage.pull("restore-logs", **lost)
    stage.restored()


@scenario
def truncated(stage: Stage) -> None:
    """Every copy of a log is cut short: what was read of it is thrown away; restored, it goes on."""
    stage.begin()
    stage.work()
    lost = last_logs(stage, 1)
    stage.pull("truncate-files", **lost)
    stage.stops_lost()
    stage.pull("restore-logs", **lost)
    stage.restored()


@scenario
def overwritten(stage: Stage) -> None:
    """Another log lies under the name of one that is needed: its header tells; restored, it goes on."""
    stage.begin()
    stage.work()
    lost = last_logs(stage, 1)
    stage.pull("overwrite-files", **lost)
    stage.stops_lost()
    stage.pull("restore-logs", **lost)
    stage.restored()


@scenario
def destination_unreadable(stage: Stage) -> None:
    """One archive destination cannot be read: the copies of the other one are taken, and nothing stops."""
    stage.begin()
    stage.work()
    stage.pull("hide-destination", dest_id=1)
    stage.go_on()
    stage.pull("show-destination", dest_id=1)
    stage.work()
    stage.go_on()


@scenario
def gone_for_good(stage: Stage) -> None:
    """A log that is needed was deleted and no backup has it: a person has the tables read anew, and it goes on from there."""
    stage.begin()
    stage.work()
    stage.pull("purge-logs", **last_logs(stage, 1))
    stage.stops_lost()
    stage.read_anew()
    stage.work()
    stage.go_on()


# --- threads that come and go ---


@scenario
def thread_reopened(stage: Stage) -> None:
    """An instance is shut down and started again: a gap in its SCNs, none in its sequences, and nothing stops."""
    stage.begin()
    stage.pull("close-thread", thread=2)
    stage.work()
    stage.go_on()
    stage.pull("open-thread", thread=2)
    stage.work()
    stage.go_on()


@scenario
def thread_added(stage: Stage) -> None:
    """A third instance joins the cluster: its redo counts from the SCN it was enabled at."""
    stage.begin()
    stage.pull("add-thread", thread=3)
    stage.work()
    stage.go_on()


# --- incarnations ---


@scenario
def resetlogs(stage: Stage) -> None:
    """The database is opened with RESETLOGS and nothing is lost: the old incarnation is read to its end, then the new one."""
    stage.begin()
    stage.work()
    stage.pull("reset-logs")
    stage.work()
    stage.go_on()


@scenario
def rewound(stage: Stage) -> None:
    """Flashed back and opened with RESETLOGS before what is landed: capture stops; the tables are read anew."""
    stage.begin()
    back_to = stage.landed()
    stage.work()
    stage.go_on()
    stage.pull("reset-logs", to_scn=back_to)
    stage.work()
    stage.stops_lost()
    stage.read_anew()
    stage.work()
    stage.go_on()


@scenario
def failover_with_a_lost_tail(stage: Stage) -> None:
    """The standby takes over without redo that was landed here already: capture stops; the tables are read anew."""
    stage.begin()
    stage.work()
    stage.go_on()
    stage.pull("fail-over", logs_behind=1)
    stage.work()
    stage.stops_lost()
    stage.read_anew()
    stage.work()
    stage.go_on()


# --- the network ---


@scenario
def network_cut(stage: Stage) -> None:
    """The connection breaks in the middle of a fetch: the attempt is thrown away, and the slice is mined again."""
    stage.begin()
    stage.work()
    stage.pull("cut-network", after_rows=50)
    stage.go_on()


@scenario
def listener_refuses(stage: Stage) -> None:
    """The listener turns clients away for a while: tried again, with longer pauses each time."""
    stage.begin()
    stage.work()
    stage.pull("refuse-clients", seconds=2)
    stage.go_on()
