"""Each value in each JSON object of the ledger may be another than was written: what people are shown then is a typed error
of the ledger, or a page, and never an error of Python."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from redolake.cli.cockpit import verdict
from redolake.cockpit import Overview
from redolake.cockpit.metrics import prometheus_text
from redolake.cockpit.overview import read_overview
from redolake.cockpit.render import Pages
from redolake.errors import LandingDamaged, RedolakeError
from redolake.ledger import tables as t
from redolake.records.codec import to_body
from redolake.records.shown_facts import DropFact, DropsFact, QuarantineFact, SnapshotFact
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableVersion
from tests.states.cockpit_ledger import FIRST_SCN, CockpitLedger

NOW = datetime(2026, 5, 1, 14, 0, tzinfo=UTC)
WRONG = ("nonsense", 10**30, {}, "2026-05-01T10:00:00")

STATES = ("loss", "away", "stream")
Path_ = tuple[str | int, ...]


def filled(folder: Path, state: str) -> CockpitLedger:
    """Return a ledger that has every fact that people are shown."""
    made = CockpitLedger(folder, NOW, tables=("SHOP.ORDERS", "SHOP.STOCK"))
    made.run(windows=1)
    made.hold_stock()
    made.open_transactions(1)
    made.decide()
    {"loss": made.lose_redo, "away": made.lose_the_source, "stream": lambda: made.receive(held_by=1, unproved_since=5)}[state]()
    orders = made.tables[0]
    version = TableVersion(
        orders, Scn(FIRST_SCN), 1, 1, (Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False),), (1,), 2
    )
    made.ledger.record_version(orders, Scn(FIRST_SCN), to_body(replace(version, dropped_at=FIRST_SCN + 10)), "ddl")
    made.ledger.record_facts(
        {
            ("snapshot", str(orders)): to_body(
                SnapshotFact("reading", FIRST_SCN, 5, 1.0, NOW.isoformat(), 4, 2, 0, 10, 5, 7.0)
            ),
            ("quarantine", str(orders)): to_body(QuarantineFact(3)),
            ("drops", ""): to_body(DropsFact((DropFact("1.2.3", FIRST_SCN + 5, (str(orders),)),))),
        }
    )
    made.ledger._engine.dispose()
    return made


def paths(body: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Yield where each value in a JSON object is; of a list only its first."""
    inner = body.items() if isinstance(body, dict) else [(0, body[0])] if isinstance(body, list) and body else ()
    for part, value in inner:
        yield (*at, part)
        yield from paths(value, (*at, part))


def changed(body: Any, path: Path_, value: Any) -> Any:
    body = inner = deepcopy(body)
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return body


def documents(file: Path, seen: set[Any]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield the JSON objects of the ledger, one of each kind: table, column, row and object."""
    with closing(sqlite3.connect(file)) as database:
        for table in t.metadata.sorted_tables:
            for column in (one.name for one in table.columns if isinstance(one.type, t.Document)):
                for row, text in database.execute(f"SELECT rowid, {column} FROM {table.name} WHERE {column} IS NOT NULL"):
                    body = json.loads(text)
                    kind = (table.name, column, body.get("record"), tuple(sorted(body)))
                    if kind not in seen:
                        seen.add(kind)
                        yield table.name, column, row, body


def show(made: CockpitLedger) -> Overview:
    found = read_overview(made.pipeline, made.url, NOW)
    verdict(found)
    prometheus_text([found])
    Pages("/redolake", "", ["shop"], NOW).pipeline(found, [])
    return found


@pytest.mark.slow
def test_what_is_shown_of_a_wrong_value_is_a_typed_error_of_the_ledger(tmp_path: Path) -> None:
    seen, wrong = set[Any](), dict[str, str]()
    for state in STATES:
        (tmp_path / state).mkdir()
        made = filled(tmp_path / state, state)
        show(made)
        wrong |= wrong_values(made, list(documents(tmp_path / state / "ledger.db", seen)))

    assert not wrong, "\n".join(f"{where}: {what}" for where, what in wrong.items())
    assert len(seen) == 20, "a kind of fact is new here, or is no longer shown"


def wrong_values(made: CockpitLedger, bodies: list[tuple[str, str, int, Any]]) -> dict[str, str]:
    """Show the ledger with each value of the objects changed, and return what ended untyped."""
    file, wrong = make_url(made.url).database or "", dict[str, str]()

    def put(table: str, column: str, row: int, body: Any) -> None:
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (json.dumps(body), row))

    for table, column, row, body in bodies:
        for path in paths(body):
            for value in WRONG:
                put(table, column, row, changed(body, path, value))
                where = f"{table}.{column} {body.get('record', '')} {path} = {value!r}"
                try:
                    show(made)
                except LandingDamaged as error:
                    wrong[where] = f"blames a file of the landing: {error}"[:200]
                except RedolakeError:
                    pass
                except Exception as error:
                    wrong[where] = f"{type(error).__name__}: {error}"[:200]
        put(table, column, row, body)
    return wrong
