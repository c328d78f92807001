"""The same facts for a monitor and for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
import yaml
from typer.testing import CliRunner

from redolake.cli import app
from redolake.cli.cockpit import verdict
from redolake.cli.output import console
from redolake.cockpit.metrics import HELP, prometheus_text
from redolake.cockpit.overview import read_overview
from redolake.errors import one_line
from redolake.records.codec import to_body
from redolake.records.shown_facts import DropFact, DropsFact, ProofFact, QuarantineFact
from redolake.values.table import TableId
from tests.states.cockpit_ledger import CockpitLedger

SAMPLE = re.compile(r'([a-z_]+)\{([a-z_]+="[^"\n]*"(?:,[a-z_]+="[^"\n]*")*)\} (-?[0-9.e+-]+)')


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[CockpitLedger]:
    made = CockpitLedger(tmp_path, datetime.now(UTC))
    body = made.pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
    (tmp_path / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    yield made
    made.ledger.close()


def run(tmp_path: Path, *arguments: str, columns: int = 200) -> tuple[int, str]:
    """Run a command in a terminal of so many columns: the console keeps the width of the first test that made it."""
    with mock.patch.object(console, "_width", columns):
        found = CliRunner().invoke(app, [*arguments, "--config", str(tmp_path / "pipelines.yml")])
    return found.exit_code, found.output


def test_metrics_are_in_the_format_of_prometheus_and_each_is_described(shop: CockpitLedger, tmp_path: Path) -> None:
    shop.run()
    shop.hold_stock()
    shop.lose_redo()

    code, output = run(tmp_path, "metrics")

    samples = [line for line in output.splitlines() if not line.startswith("#")]
    found = {(match[1], match[2]): float(match[3]) for line in samples if (match := SAMPLE.fullmatch(line))}
    assert (code, len(found)) == (0, len(samples))
    assert {name for name, _ in found} <= set(HELP)
    assert found["redolake_tables", 'pipeline="shop",state="held"'] == 1
    assert found["redolake_health", 'pipeline="shop",state="stopped"'] == 1
    assert found["redolake_missing_logs", 'pipeline="shop"'] == 1
    assert 41 <= found["redolake_lag_seconds", 'pipeline="shop"'] < 100
    assert found["redolake_latency_seconds", 'pipeline="shop",term="mine"'] == 12
    assert found["redolake_window_rows", 'pipeline="shop"'] == 1200 + 13 % 7 * 90
    assert found["redolake_window_redo_bytes", 'pipeline="shop"'] == 49_000_000
    assert found["redolake_rows_changed", 'pipeline="shop",kind="deleted"'] == 14 * 4 * 4
    assert found["redolake_ddl_changes", 'pipeline="shop",kind="add_column"'] == 14
    assert found["redolake_ddl_changes", 'pipeline="shop",kind="truncate"'] == 0
    assert found["redolake_batch_seconds", 'pipeline="shop",part="merge"'] == 4.5
    rows = {kind: found["redolake_batch_rows", f'pipeline="shop",kind="{kind}"'] for kind in ("inserted", "masked", "filtered")}
    assert rows == {"inserted": 210, "masked": 33, "filtered": 7}
    moments = [
        found["redolake_batch_timestamp_seconds", f'pipeline="shop",event="{event}"']
        for event in ("first_commit", "last_commit", "landed", "applied")
    ]
    assert moments[0] == moments[1] == moments[3] > moments[2]


def test_a_pipeline_that_never_began_has_metrics_too(shop: CockpitLedger, tmp_path: Path) -> None:
    code, output = run(tmp_path, "metrics")

    assert code == 0
    assert 'redolake_health{pipeline="shop",state="not started"} 1' in output
    assert "redolake_lag_seconds{" not in output


def test_explain_lag_says_the_sentence_first_and_then_each_term(shop: CockpitLedger, tmp_path: Path) -> None:
    shop.run()

    code, output = run(tmp_path, "explain-lag")
    _, body = run(tmp_path, "explain-lag", "--output", "json")

    assert code == 0
    assert output.startswith("shop: on time. Right up to ")
    assert re.search(r"mine +│ 12 s +│ 12 s", output)
    assert [term["name"] for term in json.loads(body)["latency"]["terms"]] == ["log open", "archive", "mine", "wait", "apply"]


def test_tables_lists_held_ones_first_with_the_cure(shop: CockpitLedger, tmp_path: Path) -> None:
    shop.run()
    shop.hold_stock()

    code, output = run(tmp_path, "tables")
    _, body = run(tmp_path, "tables", "--search", "order", "--output", "json")

    assert code == 0
    assert output.index("SHOP.STOCK") < output.index("SHOP.CUSTOMERS")
    assert "do this: `redolake snapshot SHOP.STOCK --replace -c " in output
    assert [table["table"] for table in json.loads(body)] == ["SHOP.ORDERS", "SHOP.ORDER_LINES"]


def test_in_80_columns_the_list_of_tables_cuts_no_word(shop: CockpitLedger, tmp_path: Path) -> None:
    shop.run()
    _, output = run(tmp_path, "tables", columns=80)
    words = {word for line in output.splitlines() for word in line.replace("┃", "│").replace("│", " ").split()}

    assert max(map(len, output.splitlines())) <= 80
    assert {"SHOP.CUSTOMERS", "SHOP.ORDER_LINES", "complete", "inserted,", "comparison"} <= words


def test_status_says_the_sentence_first_and_no_open_transaction_is_said_in_words(shop: CockpitLedger, tmp_path: Path) -> None:
    _, status = run(tmp_path, "status")
    _, listed = run(tmp_path, "tx", "list")

    assert status.startswith("shop: not started. The ledger knows of no table with contents.")
    assert "No transaction is open." in listed


NAMES = ("A\nB", "A\n  do this: redolake recover --yes", "\x1b[2JA", "A\u202eB", "`A`", "A|'B", "A\u2028B")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_adds_a_line_to_what_is_said_of_a_pipeline(tmp_path: Path, name: str) -> None:
    table = TableId("SHOP", name)
    shop = CockpitLedger(tmp_path, datetime.now(UTC), tables=(str(table), "SHOP.ORDERS"))
    shop.run(windows=1)
    shop.ledger.record_facts(
        {
            ("drops", ""): to_body(DropsFact((DropFact("1.2.3", 2_000_005, (str(table),)),))),
            ("quarantine", str(table)): to_body(QuarantineFact(3)),
            ("proofs", str(table)): {"proofs": [{**to_body(ProofFact(9, 4, 2, missing_rows=1)), "at": shop.now.isoformat()}]},
        }
    )
    hold = {"code": "X", "what": "w", "cure": "c", "where": {"table": str(table)}}
    shop.ledger.hold(table, hold)
    found = read_overview(shop.pipeline, shop.url, shop.now)
    shop.ledger.close()

    said = verdict(found).plain.split("\n")
    assert len(said) == 3
    assert one_line(str(table)) in said[1]
    health = found.health
    assert all(line.isprintable() for line in (*said, health.sentence, *health.more, health.cure))
    assert all(SAMPLE.fullmatch(line) for line in prometheus_text([found]).split("\n") if line and line[0] != "#")
