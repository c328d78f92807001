"""What the server that forks the processes of tests/e2e/kills.py does once: it builds the command `redolake`, compiles the
statements of the ledger, builds the readers of all records, and leaves all of that out of garbage collections.
"""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.main import get_command

from redolake.cli import app
from redolake.records.codec import decode, to_file
from tests.fixtures.disk import nothing_waits_for_the_disk
from tests.fixtures.ledger import ledgers_share_compiled_statements
from tests.states.cockpit_ledger import CockpitLedger
from tests.unit.records.samples import RECORDS

COMMAND = get_command(app)


def compile_statements() -> None:
    """Write and read a ledger. Its connections end before a process is forked."""
    with TemporaryDirectory() as folder, nothing_waits_for_the_disk(), ledgers_share_compiled_statements():
        made = CockpitLedger(Path(folder), datetime.now(UTC))
        made.write_run(1, 41)
        made.open_transactions()
        ledger, table = made.ledger, made.tables[0]
        for read in (
            ledger.applied_names, ledger.landed_names, ledger.position, ledger.loss, ledger.gaps, ledger.tables, ledger.windows,
            ledger.open_transactions, ledger.described_tables, ledger.all_versions,
        ):  # fmt: skip
            read()
        ledger.decisions("drop")
        ledger.fact("plan")
        ledger.table(table)
        ledger.versions(table)
        ledger.time_written(0)
        ledger.close()


def read_records() -> None:
    for record in RECORDS:
        decode(type(record), to_file(record), "a sample")


def collect_little() -> None:
    """Let no process look through what was imported, and copy its pages by that: it took half of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


compile_statements()
read_records()
collect_little()
