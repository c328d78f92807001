"""A snapshot starts only where V$TRANSACTION shows every open transaction, and some seconds after the last DDL."""

from __future__ import annotations

from collections import namedtuple
from datetime import datetime, timedelta

import pytest

from redolake.errors import SnapshotTooEarly, SourceBusy, SourceRefused
from redolake.records.readers import OpenTransactions
from redolake.source import handover
from redolake.source.facts import ActiveTransaction
from redolake.source.handover import (
    Handover,
    read_handover,
    read_handover_and_tables,
    require_known_starts,
)
from redolake.values.scn import Scn

Prepared = namedtuple("Prepared", "local_tran_id con_id")
LISTED = (ActiveTransaction("5.1.99", Scn(100), 3),)


@pytest.mark.parametrize("prepared", [Prepared("6.1.7", 3), Prepared("5.1.99", 4)], ids=["unlisted", "another PDB's"])
def test_a_prepared_transaction_without_a_known_start_must_end_before_a_snapshot(prepared):
    require_known_starts([Prepared("5.1.99", 3)], LISTED)
    with pytest.raises(SnapshotTooEarly, match="in doubt") as caught:
        require_known_starts([Prepared("5.1.99", 3), prepared], LISTED)

    assert f"COMMIT FORCE '{prepared.local_tran_id}'" in caught.value.cure


Current = namedtuple("Current", "current_scn")
Side = namedtuple("Side", "inst_id dbid db_unique_name database_role open_mode resetlogs_scn current_scn")
STANDBY = Side(1, 7, "STBY", "PHYSICAL STANDBY", "READ ONLY WITH APPLY", 1, 150)
PRIMARY = Side(1, 7, "PROD", "PRIMARY", "READ WRITE", 1, 200)


class Host:
    """A source that answers each statement with the next of its answers."""

    pdb_only, names_primary = False, True

    def __init__(self, answers, partner=None):
        self.answers, self.partner, self.reached = {name: list(rows) for name, rows in answers.items()}, partner, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def use_container(self, name):
        pass

    def primary(self, retry=None):
        return self.partner

    def query(self, name, **binds):
        return self.answers[name].pop(0)

    def reach(self, scn):
        self.reached.append(scn)


def pair(*standby):
    instances = [
        [PRIMARY, PRIMARY._replace(inst_id=2, current_scn=190)],
        [PRIMARY, PRIMARY._replace(inst_id=2, current_scn=210)],
    ]
    primary = Host({"instances": instances, "active_transactions": [[]], "prepared_transactions": [[]]})
    return Host({"database": [[row] for row in standby]}, primary)


def test_the_lowest_scn_of_the_primarys_instances_begins_and_the_highest_is_the_snapshots():
    source = pair(STANDBY, STANDBY)
    assert read_handover(source, None) == Handover(Scn(190), (), Scn(210))
    assert source.reached == [210]


@pytest.mark.parametrize("now", [STANDBY._replace(database_role="PRIMARY"), STANDBY._replace(resetlogs_scn=160)])
def test_a_change_of_roles_while_the_standby_catches_up_gives_no_snapshot(now):
    with pytest.raises(SnapshotTooEarly, match="of another branch"):
        read_handover(pair(STANDBY, now), None)


def alone(*standby, scn=180):
    """Return a standby whose primary may not be asked."""
    source = Host({"database": [[row] for row in standby], "current_scn": [[Current(scn)]]})
    source.names_primary = False
    return source


def test_where_a_primary_shows_what_is_open_no_landed_window_is_read_for_it():
    def landed():
        raise AssertionError("years of windows may be landed")

    assert read_handover(pair(STANDBY, STANDBY), None, landed).is_listed
    shown = {"database": [[PRIMARY]], "current_scn": [[Current(200)], [Current(201)]]}
    primary = Host({**shown, "active_transactions": [[]], "prepared_transactions": [[]]})
    primary.names_primary = False
    assert read_handover(primary, None, landed) == Handover(Scn(200), (), Scn(201))


def test_without_a_primary_the_snapshot_is_after_all_that_is_landed_and_its_transactions_are_not_listed():
    source = alone(STANDBY, STANDBY)
    assert read_handover(source, None, lambda: OpenTransactions(170, 120)) == Handover(Scn(120), (), Scn(180), is_listed=False)
    assert source.reached == [170]
    assert read_handover(alone(STANDBY, STANDBY), None) == Handover(Scn(180), (), Scn(180), is_listed=False)


@pytest.mark.parametrize("now", [STANDBY._replace(database_role="PRIMARY"), STANDBY._replace(resetlogs_scn=160)])
def test_a_change_of_roles_meanwhile_gives_no_snapshot_without_a_primary_either(now):
    with pytest.raises(SnapshotTooEarly, match="of another branch"):
        read_handover(alone(STANDBY, now), None)


@pytest.mark.parametrize(
    ("here", "says"),
    [
        (STANDBY._replace(open_mode="MOUNTED"), "is MOUNTED"),
        (STANDBY._replace(database_role="SNAPSHOT STANDBY"), "a SNAPSHOT STANDBY"),
        (STANDBY._replace(database_role="LOGICAL STANDBY"), "a LOGICAL STANDBY"),
        (STANDBY._replace(database_role="FAR SYNC"), "a FAR SYNC"),
    ],
)
def test_a_database_whose_rows_or_redo_are_not_the_primarys_is_refused_without_a_primary(here, says):
    with pytest.raises(SourceRefused, match=says) as caught:
        read_handover(alone(here), None)
    assert caught.value.cure


DDL_AT = datetime(2026, 1, 1, 12, 0, 0)


class Clock:
    """A source whose SCNs have a time; a pause lets it pass. Without `starts_at`, Oracle knows no time of the SCN."""

    def __init__(self, starts_at, per_pause=1.0):
        self.at, self.per_pause, self.pauses = starts_at, per_pause, 0

    def use_container(self, name):
        pass

    def query(self, name, **binds):
        if self.at is None:
            raise SourceRefused("ORA-08181", ora_code=8181)
        return [namedtuple("row", "scn_at")(self.at)]

    def pause(self, seconds):
        self.pauses += 1
        self.at = (self.at or DDL_AT) + timedelta(seconds=seconds * self.per_pause)


def settled(source, monkeypatch, ddl_at=DDL_AT):
    found = Handover(Scn(90), (), Scn(100))
    monkeypatch.setattr(handover, "read_tables_around", lambda *_: (found, lambda scn: {}, ddl_at))
    monkeypatch.setattr(handover, "sleep", source.pause)
    assert read_handover_and_tables(source, [], None) == (found, {})
    return source


@pytest.mark.parametrize(("seconds_after", "pauses"), [(5, 0), (4, 1), (0, 1), (-20, 5)])
def test_the_scn_of_a_snapshot_is_chosen_again_until_it_is_seconds_after_the_last_ddl(monkeypatch, seconds_after, pauses):
    source = settled(Clock(DDL_AT + timedelta(seconds=seconds_after)), monkeypatch)

    assert source.pauses == pauses


def test_an_scn_whose_time_oracle_does_not_know_yet_is_waited_for(monkeypatch):
    assert settled(Clock(None), monkeypatch).pauses == 1


def test_a_snapshot_of_no_existing_table_waits_for_nothing(monkeypatch):
    assert settled(Clock(None), monkeypatch, ddl_at=None).pauses == 0


def test_waiting_for_the_end_of_ddl_has_a_deadline(monkeypatch):
    monkeypatch.setattr(handover, "SETTLE_DEADLINE_SECONDS", -1)

    with pytest.raises(SourceBusy, match="LAST_DDL_TIME, 2026-01-01 12:00:00, is not 5 s before"):
        settled(Clock(DDL_AT), monkeypatch)
