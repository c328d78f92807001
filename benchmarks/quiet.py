"""Measure a run over a window without changes beside one over a window with a change of each table:
`python benchmarks/quiet.py [--tables 5] [--rounds 4]`.

Each run is a process `redolake run` as a scheduler starts it, with a Spark of its own where it needs one. The windows have
transactions of other tables too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.standin_process import Served, standin_process

OTHERS = 50  # transactions of another table in each window


def write_file(folder: Path, tables: int) -> Path:
    pipeline = {
        "source": {"connection": "oracle_bench", "container": "FREEPDB1"},
        "landing": str(folder / "landing"),
        "lake": str(folder / "lake"),
        "schedule": None,
        "tables": [f"SHOP.T{number}" for number in range(tables)],
    }
    file = folder / "pipelines.yml"
    file.write_text(json.dumps({"pipelines": {"bench": pipeline}}))
    return file


def change(oracle: Served, tables: int, key: int) -> None:
    """Change a row of each of so many tables, end transactions of another one, and switch the log."""
    with oracle.connect("SHOP") as connection, oracle.connect("SYS") as system, connection.cursor() as cursor:
        for number in range(tables):
            cursor.execute(f"INSERT INTO t{number} VALUES (:1, 'x')", [key])
        for number in range(OTHERS):
            cursor.execute("INSERT INTO others VALUES (:1)", [key * OTHERS + number])
            connection.commit()
        system.cursor().execute("ALTER SYSTEM ARCHIVE LOG CURRENT")


def timed_run(file: Path, env: dict[str, str]) -> float:
    """Run `redolake run`; return its seconds."""
    began = time.monotonic()
    command = [str(Path(sys.executable).with_name("redolake")), "run", "--config", str(file)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.monotonic() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tables", type=int, default=5)
    arguments.add_argument("--rounds", type=int, default=4)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name, standin_process() as oracle:
        params, file = oracle.params, write_file(Path(name), given.tables)
        extra = {"extra": {"dsn": params.dsn}}
        connection = {"conn_type": "oracle", "login": params.user, "password": params.password, **extra}
        env = {**os.environ, "AIRFLOW_CONN_ORACLE_BENCH": json.dumps(connection)}
        with oracle.connect("SHOP") as session, session.cursor() as cursor:
            for table in ("others (id NUMBER(12)", *(f"t{n} (id NUMBER(12), v VARCHAR2(10)" for n in range(given.tables))):
                cursor.execute(f"CREATE TABLE {table}, PRIMARY KEY (id))")
                cursor.execute(f"ALTER TABLE {table.partition(' ')[0]} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        change(oracle, given.tables, 0)
        timed_run(file, env)
        found: dict[str, list[float]] = {"without changes": [], "with a change of each table": []}
        for turn in range(1, given.rounds + 1):
            for number, (what, figures) in enumerate(found.items()):
                change(oracle, given.tables * number, 2 * turn + number)
                figures.append(timed_run(file, env))
                sys.stderr.write(f"{what}: {figures[-1]:.1f} s\n")
    for what, figures in found.items():
        sys.stdout.write(f"{what}: {median(figures):.1f} s ({min(figures):.1f} to {max(figures):.1f})\n")


if __name__ == "__main__":
    main()
