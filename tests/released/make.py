"""Keep the state of this version: `python -m tests.released.make` runs a small pipeline and writes tests/released/<version>.

It is run for a release, from the checkout of its tag, and then never again: what is kept is what that release has written.
Until a version is released, `--again` replaces what is kept of it.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from redolake import steps
from redolake.apply.spark.session import open_session
from redolake.records.codec import encode, format_of, noun_of
from standin.serve import SCRIPTS
from tests.fixtures.spark import ONE_JAVA_ON_DISK, QUIET
from tests.released.life import COMMIT, Life, open_life
from tests.released.state import HERE, ROOT, copy_files, keep_ledger, keep_structure, pipeline_in
from tests.unit.records.samples import IN_LEDGER, RECORDS

TABLES = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), price NUMBER(12,2), at TIMESTAMP)",
    "CREATE TABLE notes (id NUMBER(9) PRIMARY KEY, body CLOB)",
    "CREATE TABLE events (what VARCHAR2(20), amount NUMBER(9))",
    *(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" for name in ("parts", "notes", "events")),
    "INSERT INTO parts VALUES (1, 'first', 1.5, TIMESTAMP '2026-01-02 03:04:05.678')",
    "INSERT INTO parts VALUES (2, 'Zürich', -2.25, NULL)",
    "INSERT INTO notes VALUES (1, 'a note of some words')",
    "INSERT INTO events VALUES ('begun', 1)",
    COMMIT,
)
FIRST_WINDOW = (
    "UPDATE parts SET price = 7 WHERE id = 1",
    "INSERT INTO parts VALUES (3, 'third', 3, TIMESTAMP '2026-02-03 00:00:00')",
    "DELETE FROM parts WHERE id = 2",
    "UPDATE notes SET body = 'another text' WHERE id = 1",
    "INSERT INTO events VALUES ('went on', 2)",
    COMMIT,
)
AFTER_A_DDL = (
    "ALTER TABLE parts ADD (colour VARCHAR2(10) DEFAULT 'grey')",
    "INSERT INTO parts VALUES (4, 'fourth', 4, NULL, 'red')",
    COMMIT,
)


def live(life: Life, spark: Any) -> None:
    """Snapshot, three windows, a DDL, one transaction that is dropped and one that is still open at the end."""
    pipeline = pipeline_in(life.shop)
    life.say(*TABLES)
    steps.take_snapshot(pipeline, source=life.shop.params, spark=spark, report=lambda _: life.shop.oracle.database.tick())
    life.say(*FIRST_WINDOW)
    life.say("INSERT INTO notes VALUES (10, 'still open')", session="long")
    life.say("INSERT INTO events VALUES ('never', 99)", session="forgotten")
    follow(life, pipeline, spark)
    forgotten = max(steps.list_transactions(pipeline).open, key=lambda found: found.start_scn)
    steps.drop_transaction(pipeline, forgotten.xid, reason="a session that nobody ends", by="ann")
    life.say(*AFTER_A_DDL)
    follow(life, pipeline, spark)
    life.say("UPDATE parts SET place = 'moved' WHERE id = 3", COMMIT)
    follow(life, pipeline, spark)
    assert [table.state for table in steps.read_status(pipeline).tables] == ["live"] * 3


def follow(life: Life, pipeline: Any, spark: Any) -> None:
    life.switch()
    steps.run_pipeline(pipeline, until_caught_up=True, source=life.shop.params, spark=spark)


def keep(folder: Path, kept: Path, life: Life) -> None:
    url = f"sqlite:///{folder}/ledger.db"
    for file in [path for path in folder.rglob(".*.crc")]:  # Hadoop's own, which it may do without
        file.unlink()
    copy_files(folder, kept, str(folder), ROOT)
    keep_ledger(url, kept, str(folder))
    keep_structure(kept)
    shutil.copy(SCRIPTS / "cdb.sql", kept)
    (kept / "source.json").write_text(json.dumps(life.as_list(), indent=1, ensure_ascii=False) + "\n")
    for record in (*RECORDS, *IN_LEDGER):  # each kind, also those that no small run writes
        made = kept / "records" / f"{noun_of(type(record)).replace(' ', '-')}-{format_of(type(record))}.json"
        made.parent.mkdir(exist_ok=True)
        made.write_text(encode(record))


def main() -> None:
    kept = HERE / version("redolake")
    if kept.exists() and "--again" not in sys.argv:
        sys.exit(f"{kept} is there already: what a release has written stays as it is")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    settings = {**QUIET, **ONE_JAVA_ON_DISK}
    with TemporaryDirectory(prefix="redolake-") as folder:
        spark = open_session("local", "local[2]", {**settings, "spark.sql.warehouse.dir": f"{folder}/warehouse"})
        with open_life(Path(folder)) as life, mock.patch("socket.gethostname", return_value="host"):
            live(life, spark)
            keep(Path(folder), kept, life)
        spark.stop()


if __name__ == "__main__":
    main()
