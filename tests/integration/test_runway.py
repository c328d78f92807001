"""The runway of a stand-in whose logs are purged, or of which one redo thread is idle.

The stand-in uses the machine's clock, so the tests set the start times of logs in its control file.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from redolake import cli, steps
from redolake.cli import monitoring, output
from redolake.context import Run
from redolake.land import layout
from redolake.records.handover import FirstPosition
from redolake.values.redo import Encoding
from standin.model import ArchiveDestination

SETTINGS = """
pipelines:
  shop:
    source: {{connection: runway_oracle, container: FREEPDB1}}
    landing: {folder}/landing
    lake: {folder}/lake
    retry: {{attempts: 1}}
    runway: {{warn_below_hours: 12}}
    tables: [SHOP.ORDERS]
"""
EVERY_TEN_HOURS = (50, 40, 30, 20, 10)  # ages of logs 1 to 5 of each thread; the last has just been switched


@pytest.fixture
def pipeline(shop):
    return shop.pipeline(tables=["SHOP.ORDERS"])


def switch(shop, *hours_ago, threads=(1, 2)):
    """Write one log per number, which began that many hours ago; the current log has just begun."""
    database = shop.oracle.database
    for hours in hours_ago:
        for thread in threads:
            with database.lock:
                current = database.state.threads[thread].current
                current.first_at = database.clock.second() - timedelta(hours=hours)
            database.switch_log(thread)


def first_scn(shop, sequence, thread=1):
    state = shop.oracle.database.state
    current = state.threads[thread].current
    known = {copy.sequence: copy.first_scn for copy in state.archived if copy.thread == thread}
    return {**known, current.sequence: current.first_scn}[sequence]


def stand_at(shop, pipeline, scn):
    state = shop.oracle.database.state
    start = FirstPosition(state.dbid, state.incarnation.resetlogs_id, scn, Encoding())
    with Run(pipeline) as context:
        context.landing.files.write_record_once(layout.HANDOVER, start)


def measured(shop, pipeline):
    return steps.measure_runway(pipeline, source=shop.params)


def severities(answer):
    return [(finding.subject, finding.severity) for finding in answer.findings]


def test_before_the_first_snapshot_redo_is_needed_from_the_oldest_open_transaction(shop, pipeline):
    switch(shop, 50, 40)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE idle (x NUMBER)")
        cursor.execute("INSERT INTO idle VALUES (1)")
        switch(shop, 30, 20, 10)
        with_it = measured(shop, pipeline)
        connection.commit()
    without = measured(shop, pipeline)

    assert (with_it.needed_by, with_it.threads[0].needed.sequence) == ("snapshot", 2)
    assert without.threads[0].needed.sequence == 5


def test_without_a_purge_there_is_no_limit_and_no_warning(shop, pipeline):
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 3))

    answer = measured(shop, pipeline)

    assert (answer.state, answer.at_least, answer.findings) == ("enough", True, ())


def test_the_time_left_shrinks_with_every_purged_log_until_redo_is_lost(shop, pipeline):
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 5) + 1)

    left = []
    for sequence in range(1, 6):
        shop.oracle.faults.purge_logs(from_sequence=sequence, to_sequence=sequence)
        answer = measured(shop, pipeline)
        left.append((answer.state, round(answer.hours_left)))

    assert left == [("enough", 20), ("low", 10), ("low", 0), ("low", 0), ("lost", 0)]
    assert "sequence 5 is not available" in answer.summary
    assert "RESTORE ARCHIVELOG" in answer.findings[0].cure


def test_the_thread_with_the_least_time_left_is_named(shop, pipeline):
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 5, thread=2))
    shop.oracle.faults.purge_logs(thread=1, from_sequence=1, to_sequence=1)
    shop.oracle.faults.purge_logs(thread=2, from_sequence=1, to_sequence=3)

    answer = measured(shop, pipeline)

    assert [round(thread.hours_left) for thread in answer.threads] == [20, 0]
    assert [f.subject for f in answer.findings] == ["redo thread 2"]


def test_a_log_deleted_in_one_destination_is_still_available(shop, pipeline, tmp_path):
    (tmp_path / "second").mkdir()
    shop.oracle.database.state.destinations.append(ArchiveDestination(2, str(tmp_path / "second")))
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 5) + 1)
    shop.oracle.faults.purge_logs(dest_id=1)
    shop.oracle.faults.purge_logs(dest_id=2, to_sequence=1)

    answer = measured(shop, pipeline)

    assert (answer.state, round(answer.hours_left)) == ("enough", 20)


def test_an_idle_thread_that_holds_the_window_back_is_a_warning_unless_archive_lag_target_switches_it(shop, pipeline):
    switch(shop, 50, 40)
    stand_at(shop, pipeline, first_scn(shop, 2) + 1)
    switch(shop, 30, 20, 10, threads=[1])
    shop.oracle.database.state.threads[2].current.first_at -= timedelta(hours=30)

    idle = measured(shop, pipeline)
    shop.run_sql("ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 1800 SCOPE = BOTH", user="SYS")
    bounded = measured(shop, pipeline)

    (held,) = idle.held_back_by
    assert (held.thread, held.sequence, held.reason, held.waiting_logs) == (2, 3, "open", 2)
    assert severities(idle) == [("redo thread 2", "warning")]
    assert "ARCHIVE_LAG_TARGET is 0" in idle.findings[0].what
    assert severities(bounded) == [("redo thread 2", "note")]


def test_a_lagging_archiver_holds_the_window_back(shop, pipeline):
    switch(shop, 50, 40)
    stand_at(shop, pipeline, first_scn(shop, 2) + 1)
    shop.oracle.faults.lag_archiver(2)
    switch(shop, 30, 20, 10)

    (held,) = measured(shop, pipeline).held_back_by

    assert (held.thread, held.sequence, held.reason) == (2, 3, "not archived")


def test_the_recovery_area_is_reported_or_else_the_missing_grant(shop, pipeline):
    switch(shop, 5, 4, 3)
    state = shop.oracle.database.state
    without = measured(shop, pipeline)
    state.parameters["db_recovery_file_dest"] = str(Path(state.destinations[0].path))
    state.parameters["db_recovery_file_dest_size"] = str(2**20)
    readable = measured(shop, pipeline)
    user = shop.oracle.capture_user
    shop.run_sql(f"REVOKE SELECT ON SYS.V_$RECOVERY_FILE_DEST FROM {user} CONTAINER = ALL", user="SYS")
    refused = measured(shop, pipeline)

    assert without.recovery_area is None
    area = readable.recovery_area
    assert area.limit_bytes == 2**20
    assert 0 < area.used_bytes < 2**20
    assert area.hours_until_full > 0
    assert "of 1.0 MiB used" in readable.findings[0].what
    assert refused.findings[0].cure == f"GRANT SELECT ON SYS.V_$RECOVERY_FILE_DEST TO {user}"
    assert refused.state == "enough"


@pytest.fixture
def terminal(shop, tmp_path, monkeypatch):
    """`terminal(*options)` returns the exit code and output of `redolake runway`."""
    file = tmp_path / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=tmp_path))
    where = shop.params
    user = where.user.replace("#", "%23")
    monkeypatch.setenv("AIRFLOW_CONN_RUNWAY_ORACLE", f"oracle://{user}:{where.password}@{where.dsn}")

    def run(*options):
        result = CliRunner().invoke(cli.app, ["runway", "--config", str(file), *options])
        return result.exit_code, result.output

    return run


def test_the_exit_code_shows_whether_enough_time_is_left(shop, pipeline, terminal, monkeypatch):
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 5) + 1)
    shop.oracle.faults.purge_logs(to_sequence=1)
    enough = terminal("--output", "json")
    shop.oracle.faults.purge_logs(to_sequence=2)
    low = terminal("--output", "json")
    monkeypatch.setenv("AIRFLOW_CONN_RUNWAY_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")
    unknown = terminal("--output", "json")

    assert [code for code, _ in (enough, low, unknown)] == [0, 1, 2]
    assert [json.loads(text)["state"] for _, text in (enough, low)] == ["enough", "low"]
    assert json.loads(unknown[1])["error"]["code"] == "SourceUnavailable"


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_truncated_in_a_narrow_terminal(shop, pipeline, terminal, monkeypatch, width):
    from rich.console import Console

    for module in (monitoring, output):
        monkeypatch.setattr(module, "console", Console(width=width))
    switch(shop, *EVERY_TEN_HOURS)
    stand_at(shop, pipeline, first_scn(shop, 5) + 1)
    shop.oracle.faults.purge_logs(to_sequence=2)
    switch(shop, 5, 4, threads=[1])

    code, shown = terminal()

    assert code == 1
    assert all(len(line) <= width for line in shown.splitlines() if line.startswith(("│", "┃", "└", "┏")))
    for part in ("1 FREE1", "2 FREE2", "log 5 is needed", "do this: make sure that shop_capture runs", "holds the window back"):
        assert part in shown
