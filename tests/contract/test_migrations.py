"""The ledger's tables have a version: migrations lead from each older one to today's, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Integer, text

from redolake.errors import FormatTooNew, LeaseHeld, LedgerDamaged, LedgerOutdated, LedgerUnavailable
from redolake.host import crash
from redolake.ledger import Ledger, ledger_version, migrate, open_ledger, open_ledger_to_read
from redolake.ledger import tables as t
from redolake.values.table import TableId
from tests.contract.ledgers import NOW, START, Clock, at_once, manifest, name, plan
from tests.contract.newer import (
    NEWER,
    RELEASED,
    contents_of,
    engine,
    forget,
    make_unversioned,
    migrated,
    newer_redolake,
    newer_tables,
    run_in,
    structure_of,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def filled(url: str) -> str:
    """A ledger with a landed window, a planned one, a fact and an expired lease."""
    clock = Clock()
    ledger = open_ledger(url, "shop", clock)
    lease = ledger.lease("capture/shop", "run-1", 60)
    ledger.start_at(START)
    plan(ledger, lease, 100, 200)
    ledger.record_landed(manifest(100, 200))
    plan(ledger, lease, 200, 300)
    ledger.record_fact("plan", {"outcome": "window"})
    ledger.release_lease(lease)
    ledger.close()
    return url


def opened(url: str, clock: Clock | None = None) -> Ledger:
    return open_ledger(url, "shop", clock or Clock())


# -- the migrations and the tables


def differences(url: str) -> list[Any]:
    with engine(url) as made, made.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "version_table": t.version.name}
        return compare_metadata(MigrationContext.configure(connection, opts=options), t.metadata)


def test_the_migrations_make_the_tables_of_this_redolake(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrated(url, t.VERSION)
    assert differences(url) == []

    changed = newer_tables()
    changed.tables["redolake_losses"].append_column(Column("lines", Integer))
    monkeypatch.setattr(t, "metadata", changed)
    kinds = {difference[0] for difference in differences(url) if isinstance(difference, tuple)}
    assert {"add_table", "remove_table", "add_column"} <= kinds  # a change without a migration is seen


@pytest.mark.parametrize("newer", [False, True])
def test_a_new_ledger_has_what_the_migrations_make(url: str, second_url: str, newer: bool) -> None:
    with newer_redolake() if newer else nullcontext():
        opened(url).close()
        migrated(second_url, t.VERSION)

    made, by_migrations = structure_of(url), structure_of(second_url)
    assert made == by_migrations
    assert "redolake_windows_place" in made["redolake_windows"]["indexes"]
    assert ("redolake_news" in made) == newer


def test_the_numbers_of_the_migrations_are_one_line_up_to_the_version() -> None:
    scripts = list(ScriptDirectory.from_config(migrate.alembic_config()).walk_revisions())

    assert [script.revision for script in scripts][::-1] == [f"{n:04d}" for n in range(1, len(scripts) + 1)]
    assert scripts[0].revision == t.VERSION
    assert [Path(script.path).name[:5] for script in scripts] == [f"{script.revision}_" for script in scripts]
    assert all(script.doc for script in scripts)


# -- up to a newer version, with data in it


@pytest.mark.parametrize("before", ["released", "unversioned"])
def test_the_first_write_of_a_newer_redolake_migrates_and_keeps_every_row(filled: str, before: str) -> None:
    if before == "unversioned":
        make_unversioned(filled)
    was = contents_of(filled)
    with newer_redolake():
        ledger = opened(filled)
        assert ledger.position() == START
        assert ledger.landed_names() == {name(100, 200)}
        assert [w.name for w in ledger.windows("planned")] == [name(200, 300)]
        assert ledger.record_landed(manifest(200, 300))
        ledger.close()

    found = contents_of(filled)
    assert found["redolake_migrations"] == ["(1,)"]
    assert found["redolake_news"] == was["redolake_facts"]
    assert [f"'landed: {name(100, 200)}'" in row for row in found["redolake_windows"]] == [True, False]
    with pytest.raises(FormatTooNew, match=f"version {NEWER}, this Redolake knows {RELEASED}"):
        opened(filled)


def test_a_migrated_ledger_is_not_migrated_again(filled: str) -> None:
    with newer_redolake():
        opened(filled).close()
        before = contents_of(filled)
        opened(filled).close()
        assert contents_of(filled) == before
        assert ledger_version(filled).pending == ()


def test_who_only_reads_is_told_to_migrate_and_reads_afterwards(filled: str) -> None:
    before = structure_of(filled), contents_of(filled)
    with newer_redolake():
        with pytest.raises(LedgerOutdated, match=f"version {RELEASED}, this Redolake needs {NEWER}") as refused:
            open_ledger_to_read(filled, "shop")
        version = ledger_version(filled)
        assert "`redolake migrate`" in refused.value.cure
        assert [m.version for m in version.pending] == ["9001", "9002"]
        assert version.pending[0].what == "A note of each window that has landed."
        assert (structure_of(filled), contents_of(filled)) == before

        opened(filled).close()
        assert open_ledger_to_read(filled, "shop").position() == START


# -- ledgers from before the first release


def test_an_unversioned_ledger_that_is_whole_is_read_and_gets_its_version_with_the_first_write(filled: str) -> None:
    was = structure_of(filled), contents_of(filled)
    make_unversioned(filled)
    unversioned = structure_of(filled), contents_of(filled)

    reader = open_ledger_to_read(filled, "shop")
    assert reader.position() == START
    reader.close()
    assert [m.version for m in ledger_version(filled).pending] == ["0001"]
    assert (structure_of(filled), contents_of(filled)) == unversioned

    opened(filled).close()
    assert (structure_of(filled), contents_of(filled)) == was
    with engine(filled) as made, made.connect() as connection:  # what programs of that time look at: they know 1
        assert connection.execute(text("SELECT version FROM redolake_format")).scalar() == 2


LACKS = {
    "a table": ("DROP TABLE redolake_table_ddl", "no table redolake_table_ddl"),
    "a column": ("ALTER TABLE redolake_tables DROP COLUMN delta_version", "redolake_tables has no column delta_version"),
    "an index": ("DROP INDEX redolake_batches_latest", "redolake_batches has no index redolake_batches_latest"),
    "an older number": ("UPDATE redolake_format SET version = 0", "has lost its version"),
    "a number of no release": ("UPDATE redolake_format SET version = 2", "has lost its version"),
    "its number": ("DELETE FROM redolake_format", "has lost its version"),
}


@pytest.mark.parametrize("lack", LACKS)
def test_an_unversioned_ledger_that_is_not_whole_is_refused_and_stays_as_it_is(filled: str, lack: str) -> None:
    statement, what = LACKS[lack]
    make_unversioned(filled)
    run_in(filled, statement)
    before = structure_of(filled), contents_of(filled)

    for opening in (open_ledger, open_ledger_to_read, lambda url, _: ledger_version(url)):
        with pytest.raises(LedgerDamaged, match=what) as refused:
            opening(filled, "shop")
        assert "the files of the landing rebuild it" in refused.value.cure
        with newer_redolake(), pytest.raises((LedgerDamaged, LedgerOutdated)):
            opening(filled, "shop")
    assert (structure_of(filled), contents_of(filled)) == before


def test_an_older_ledger_that_lost_a_table_is_refused_and_not_migrated(filled: str) -> None:
    run_in(filled, "DROP TABLE redolake_decisions")
    with newer_redolake():
        before = structure_of(filled)
        with pytest.raises(LedgerDamaged, match="no table redolake_decisions"):
            opened(filled)
        assert structure_of(filled) == before


# -- others, meanwhile


def test_an_older_redolake_that_still_runs_writes_nothing_into_a_migrated_ledger(filled: str) -> None:
    older = opened(filled)
    assert older.add_table(TableId("SHOP", "ORDERS"), START.scn)
    with newer_redolake():
        opened(filled).close()
    before = contents_of(filled)

    for write in (
        lambda: older.record_landed(manifest(200, 300)),
        lambda: older.record_fact("plan", {}),
        lambda: older.lease("capture/shop", "run-2", 60),
        lambda: older.record_all_landed([manifest(200, 300)]),
        lambda: older.fact("plan"),  # reads a table that has another name by now
    ):
        with pytest.raises(FormatTooNew, match=NEWER) as refused:
            write()
        assert refused.value.cure == "use a newer Redolake"
    assert contents_of(filled) == before
    older.close()


def test_a_ledger_is_migrated_once_its_leases_have_ended_and_nobody_goes_on_with_one(filled: str) -> None:
    clock = Clock()
    older = opened(filled, clock)
    lease = older.lease("apply/other", "host-1", 60)
    before = structure_of(filled), contents_of(filled)
    with newer_redolake():
        with pytest.raises(LeaseHeld, match="host-1 holds the lease apply/other"):
            opened(filled, clock)
        assert (structure_of(filled), contents_of(filled)) == before
        clock.time = NOW + timedelta(seconds=61)
        newer = opened(filled, clock)

        for write in (lambda: newer.renew(lease, 60), lambda: newer.replace_open_transactions("b", [], lease)):
            with pytest.raises(LeaseHeld, match="taken over"):
                write()
        assert newer.lease("apply/other", "host-1", 60).token > lease.token
        newer.close()
    older.close()


def test_the_lease_of_a_process_that_is_gone_does_not_wait(filled: str) -> None:
    older = opened(filled)
    older.lease("apply/shop", "process:here:1", 60)
    older.close()
    with newer_redolake():
        open_ledger(filled, "shop", Clock(), lambda owner: owner == "process:here:1").close()


def test_of_several_that_migrate_at_once_one_does_and_the_others_go_on(filled: str) -> None:
    with newer_redolake():
        found = at_once(*[lambda: opened(filled).position()] * 4)

        assert found == [START] * 4
    assert contents_of(filled)["redolake_migrations"] == ["(1,)"]


def test_who_waits_too_long_for_a_migration_is_refused_for_now(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr("redolake.ledger.store.BUSY_SECONDS", 0.1)
    with (
        newer_redolake(),
        engine(filled) as made,
        migrate.open_locked(made),
        pytest.raises(LedgerUnavailable, match="locked") as refused,
    ):
        opened_by_another(filled)
    assert "when the other process has ended" in refused.value.cure


def opened_by_another(url: str) -> None:
    """Open the ledger over connections of its own, which wait only as long as the test says."""
    from redolake.ledger.store import kept_engine

    kept_engine.cache_clear()
    opened(url)


MIGRATE = """
import sys
from tests.contract.newer import newer_redolake
from tests.contract.test_migrations import opened
with newer_redolake():
    opened(sys.argv[1]).close()
"""


def migrate_in_a_process(url: str, crash_at: str = "") -> int:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/pipelines:{ROOT}", **({crash.VARIABLE: crash_at} if crash_at else {})}
    return subprocess.run([sys.executable, "-c", MIGRATE, url], env=env, check=False).returncode


@pytest.mark.parametrize("before", ["released", "unversioned"])
def test_a_killed_migration_leaves_the_ledger_as_it_was(filled: str, before: str) -> None:
    if before == "unversioned":
        make_unversioned(filled)
    was = structure_of(filled), contents_of(filled)

    assert migrate_in_a_process(filled, "migrate") == -signal.SIGKILL
    assert (structure_of(filled), contents_of(filled)) == was
    ledger = opened(filled)  # the older Redolake goes on with it
    assert ledger.landed_names() == {name(100, 200)}
    ledger.close()

    assert migrate_in_a_process(filled, "migrated") == -signal.SIGKILL
    assert contents_of(filled)["redolake_migrations"] == ["(1,)"]
    assert migrate_in_a_process(filled) == 0
    assert contents_of(filled)["redolake_migrations"] == ["(1,)"]


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    was = structure_of(filled), contents_of(filled)
    needed = newer_tables()
    needed.tables["redolake_windows"].append_column(Column("of_no_migration", Integer))
    with newer_redolake():
        monkeypatch.setattr(t, "metadata", needed)
        with pytest.raises(LedgerDamaged, match="no column of_no_migration"):
            opened(filled)
        monkeypatch.undo()

    assert (structure_of(filled), contents_of(filled)) == was


# -- a database that is shared


def test_a_ledger_in_airflows_database_leaves_airflows_version_alone(url: str) -> None:
    run_in(
        url,
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
        "INSERT INTO alembic_version VALUES ('5f2621c13b39')",
        "CREATE TABLE dag (dag_id VARCHAR(250) NOT NULL PRIMARY KEY)",
    )
    airflow = structure_of(url)
    ledger = opened(url)
    ledger.start_at(START)
    ledger.close()
    with newer_redolake():
        ledger = opened(url)
        assert ledger.position() == START
        ledger.close()

    found = structure_of(url)
    assert {table: found[table] for table in airflow} == airflow
    assert contents_of(url)["alembic_version"] == ["('5f2621c13b39',)"]
    assert set(found) - set(airflow) == set(newer_tables().tables)


def test_all_pipelines_of_a_database_are_migrated_together(filled: str) -> None:
    other = open_ledger(filled, "other", Clock())
    other.start_at(START)
    other.close()
    with newer_redolake():
        opened(filled).close()
        reader = open_ledger_to_read(filled, "other")
        assert reader.position() == START
        reader.close()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    forget()
