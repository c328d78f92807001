"""`redolake migrate`, and what the other commands say of a ledger that an older Redolake has left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from redolake.cli import app
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.records.handover import FirstPosition
from redolake.values.redo import Encoding
from tests.contract.newer import NEWER, RELEASED, contents_of, forget, make_unversioned, newer_redolake, run_in
from tests.states.cockpit_ledger import CockpitLedger, lately

READ_ONLY = (
    "status", "windows", "tables", "explain-lag", "metrics", "plan", "tx list", "schema log SHOP.ORDERS", "validate", "doctor",
)  # fmt: skip


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CockpitLedger]:
    """A pipeline as this Redolake leaves it, and its file."""
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://user:secret@127.0.0.1:1/FREE")
    found = CockpitLedger(tmp_path, lately(__name__))
    found.run()
    at = found.ledger.position()
    assert at is not None
    record = FirstPosition(at.dbid, at.resetlogs_id, int(at.scn), Encoding())
    Landing(str(tmp_path / "landing"), "shop").files.write_record_once(layout.HANDOVER, record)
    found.ledger.close()
    run_in(found.url, "UPDATE redolake_leases SET owner = NULL")
    body = found.pipeline.model_dump(mode="json", exclude_unset=True) | {"retry": {"attempts": 1}, "lease_wait_minutes": 0}
    (tmp_path / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    yield found
    forget()


def run(words: str) -> tuple[int, str]:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def migrated(words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(f"{words} -o json")[1])
    return found


def test_a_current_ledger_needs_nothing(made: CockpitLedger) -> None:
    assert run("migrate --dry-run") == run("migrate")
    code, said = run("migrate")

    assert code == 0
    assert said.replace("\n", "").startswith(f"The ledger has version {RELEASED}, which this Redolake needs (sqlite:///")


def test_migrate_says_from_which_version_to_which_it_goes(made: CockpitLedger) -> None:
    with newer_redolake():
        code, said = run("migrate --dry-run")
        assert (code, f"is to be migrated from version {RELEASED} to {NEWER}" in said) == (3, True)
        assert "9001 A note of each window that has landed." in said
        checked = migrated("migrate --dry-run")
        assert (checked["from_version"], checked["to_version"], checked["done"]) == (RELEASED, NEWER, False)

        done = migrated("migrate")
        assert (done["from_version"], done["to_version"], done["done"]) == (RELEASED, NEWER, True)
        assert done["migrations"] == checked["migrations"]
        assert migrated("migrate") == {**done, "from_version": NEWER, "migrations": [], "done": False}
        assert run("migrate --dry-run")[0] == 0


def test_migrate_gives_an_unversioned_ledger_its_version(made: CockpitLedger) -> None:
    make_unversioned(made.url)

    assert [line["version"] for line in migrated("migrate")["migrations"]] == ["0001"]  # type: ignore[attr-defined]
    assert migrated("migrate")["from_version"] == RELEASED


def test_migrate_waits_for_who_writes_and_then_says_to_try_again(made: CockpitLedger) -> None:
    made.clock = datetime.now(UTC)
    made.ledger.lease("apply/shop", "airflow:shop_apply", 600)
    made.ledger.close()
    with newer_redolake():
        code, said = run("migrate")

        assert (code, "airflow:shop_apply holds the lease apply/shop" in said) == (75, True)
        assert run("migrate --dry-run")[0] == 3


def test_a_pipeline_without_a_ledger_gets_none(made: CockpitLedger) -> None:
    ledger = Path(made.url.removeprefix("sqlite:///"))
    ledger.unlink()

    assert run("migrate")[1].startswith("There is no ledger yet")
    assert not ledger.exists()


@pytest.mark.parametrize("command", READ_ONLY)
def test_a_command_that_reads_does_not_migrate_and_says_what_does(made: CockpitLedger, command: str) -> None:
    before = contents_of(made.url)
    with newer_redolake():
        code, said = run(command)

    assert "redolake migrate" in said
    assert code in {1, 2} or command == "validate"
    assert contents_of(made.url) == before
