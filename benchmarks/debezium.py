"""Measure Debezium and Redolake side by side: `python benchmarks/debezium.py [--changes 100000] [--rounds 1] [--adapter ..]`.

Five tables of 20 columns, all logged, are changed while neither runs. Then each catches up from the archived logs of one
stand-in, which runs in a process of its own. Debezium's embedded engine ends with events as JSON in its own memory. Redolake
ends with five Delta tables, and keeps and checks the redo before that. So the figures compare two ways to the same changes, not
two equal products. Counted are seconds from the start of the process and without the start (Java's and Debezium's up to the
first event; Spark's session), CPU seconds of the client's processes, and at the server the statements on V$ views and what
V$LOGMNR_CONTENTS returned. Further rounds change the tables again: Debezium's Java is a new one each time, and
Spark's goes on, warm. Maven brings Debezium, as for `make witness`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import psutil
from standin_process import Served
from statements import WORDS

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "pipelines"), str(HERE.parents[1])]
TABLES = tuple(f"orders_{n}" for n in range(5))
NUMBERS, TEXTS, MOMENTS = 8, 9, 2
PER_TRANSACTION = 100
CAPTURE, DEBEZIUM = "C##REDOLAKE", "C##DBZUSER"
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.memory": "1g",  # as Debezium's Java
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
# Beginnings of the names of Java's threads, as Linux keeps them, and what they do.
THREADS = {
    "C1 Compiler": "compiling", "C2 Compiler": "compiling", "GC Thread": "garbage", "G1 ": "garbage", "VM Thread": "garbage",
    "Executor task": "tasks", "stdout writer": "tasks", "Worker Monitor": "tasks",
}  # fmt: skip


def serve(threads: int) -> None:
    """Run a stand-in that counts each user's statements on V$ views, and what V$LOGMNR_CONTENTS returns."""
    from standin.engine.sql_session import SqlSession
    from standin.interface import Rows
    from standin.serve import standin

    counts: Counter[str] = Counter()
    execute = SqlSession.execute

    def counted(session: Any, sql: str, *arguments: Any, **named: Any) -> Any:
        outcome = execute(session, sql, *arguments, **named)
        text = sql.upper()
        if "V$" in text or "DBMS_LOGMNR" in text:
            counts[f"{session.user} {'LogMiner calls' if 'DBMS_LOGMNR' in text else 'V$ queries'}"] += 1
        if "V$LOGMNR_CONTENTS" in text and isinstance(outcome, Rows):
            counts[f"{session.user} LogMiner queries"] += 1
            outcome.batches = _weighed(outcome.batches, session.user)
        return outcome

    def _weighed(batches: Iterator[Any], user: str) -> Iterator[Any]:
        for batch in batches:
            counts[f"{user} rows"] += batch.num_rows
            counts[f"{user} bytes"] += batch.nbytes
            yield batch

    options = {"threads": threads, "supplemental": frozenset({"MIN"}), "archive_lag_target": 0, "verifier_rounds": 4096}
    with mock.patch.object(SqlSession, "execute", counted), standin(**options) as oracle:
        served = (oracle.capture_user, dict(oracle.passwords), oracle.root_dsn, oracle.pdb_dsn)
        print(json.dumps(dict(zip(Served.__slots__, served, strict=True))), flush=True)  # noqa: T201
        for _ in sys.stdin:  # each line asks for the counts since the one before
            print(json.dumps(counts), flush=True)  # noqa: T201
            counts.clear()


@dataclass(slots=True)
class Server:
    process: subprocess.Popen[str]
    served: Served

    def counts(self) -> dict[str, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found: dict[str, int] = json.loads(self.process.stdout.readline())
        return found

    def run(self, user: str, *statements: str) -> None:
        with self.served.connect(user) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()


@contextmanager
def server(threads: int) -> Iterator[Server]:
    command = [sys.executable, str(HERE), f"--serve={threads}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Server(process, Served(**json.loads(process.stdout.readline())))
        finally:
            process.stdin.close()


def create_tables(oracle: Server) -> None:
    columns = [f"n{n} NUMBER(12, {n % 3})" for n in range(NUMBERS)] + [f"t{n} VARCHAR2(100)" for n in range(TEXTS)]
    columns += ["d0 DATE", "s0 TIMESTAMP(6)"]
    for table in (*TABLES, "mark"):
        body = ", ".join(columns) if table != "mark" else "t0 VARCHAR2(9)"
        oracle.run(
            "SHOP",
            f"CREATE TABLE {table} (id NUMBER(12) PRIMARY KEY, {body})",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        )


def change(oracle: Server, changes: int, threads: int, number: int) -> int:
    """Insert half as many rows, update three tenths and delete two tenths of them; return how many changes there are. The
    tables' changes are spread over the redo threads. Rows of each round have numbers of their own."""
    choose, each = random.Random(7 + number), changes // 2 // len(TABLES)
    made, begin = 0, number * each
    binds = ", ".join(f":{n}" for n in range(1, 2 + NUMBERS + TEXTS + MOMENTS))
    for at, table in enumerate(TABLES):
        on = {"instance_name": f"FREE{1 + at % threads}"} if threads > 1 else {}
        with oracle.served.connect("SHOP", **on) as connection, connection.cursor() as cursor:
            cursor.execute("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'")
            cursor.execute("ALTER SESSION SET NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6'")
            for start in range(begin, begin + each, PER_TRANSACTION):
                rows = [_row(choose, key) for key in range(start, min(start + PER_TRANSACTION, begin + each))]
                cursor.executemany(f"INSERT INTO {table} VALUES ({binds})", rows)
                connection.commit()
                made += len(rows)
            for start in range(begin, begin + each, PER_TRANSACTION):
                end = min(start + PER_TRANSACTION, begin + each)
                middle = start + (end - start) * 3 // 5
                cursor.execute(f"UPDATE {table} SET t1 = 'shipped', n1 = n1 + 1 WHERE id >= :1 AND id < :2", [start, middle])
                made += cursor.rowcount
                cursor.execute(f"DELETE FROM {table} WHERE id >= :1 AND id < :2", [middle, end])
                made += cursor.rowcount
                connection.commit()
    return made


def _row(choose: random.Random, key: int) -> list[Any]:
    moment = f"2026-{choose.randint(1, 12):02d}-{choose.randint(1, 28):02d} 13:14:15"
    numbers = [choose.randrange(10**8) for _ in range(NUMBERS)]
    texts = [" ".join(choose.choices(WORDS, k=3)) for _ in range(TEXTS)]
    return [key, *numbers, *texts, moment, f"{moment}.123456"]


def debezium_events(oracle: Server, folder: Path, wanted: int, adapter: str) -> Iterator[list[str]]:
    """Run Debezium until it has given that many events; yield the words of each line it prints."""
    from tests.witness.debezium import jars, properties

    dsn = urlsplit(f"tcp://{oracle.served.root_dsn}")
    state = SimpleNamespace(name=dsn.path.strip("/"), pdb_name=oracle.served.pdb_dsn.rpartition("/")[2])
    source: Any = SimpleNamespace(port=dsn.port, database=SimpleNamespace(state=state))
    settings = properties(source, folder, r"SHOP\..*") | {"database.connection.adapter": adapter}
    file = folder / "debezium.properties"
    file.write_text("".join(f"{name}={value.replace(chr(92), chr(92) * 2)}\n" for name, value in settings.items()))
    log = f"-Dorg.slf4j.simpleLogger.logFile={folder / 'debezium.log'}"
    command = ["java", "-Xmx1g", log, "-cp", jars(), str(HERE.with_name("DebeziumEvents.java")), str(file), str(wanted)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.split()


def cpu_seconds() -> Counter[str]:
    """Return the CPU seconds of this process, of Spark's Python workers, and of its Java by what its threads do: what has no
    thread any more, and what is none of THREADS, is the driver's. The source's process, which is ours too, is not counted."""
    mine, spent = psutil.Process(), Counter[str]()
    servers = [child for child in mine.children() if any("--serve" in word for word in child.cmdline())]
    for process in (mine, *mine.children(recursive=True)):
        if process in servers:
            continue
        seconds = sum(process.cpu_times()[:4])
        if process.name() != "java":
            spent["client's Python" if process == mine else "Python workers"] += seconds
            continue
        for thread in process.threads():
            try:
                name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text()
            except FileNotFoundError:  # it has ended
                continue
            kind = next((kind for begin, kind in THREADS.items() if name.startswith(begin)), "driver")
            spent[f"Java: {kind}"] += thread.user_time + thread.system_time
            seconds -= thread.user_time + thread.system_time
        spent["Java: driver"] += seconds
    return spent


def spent_since(before: Counter[str]) -> Counter[str]:
    spent = cpu_seconds()
    spent.subtract(before)
    return spent


def redolake_pipeline(oracle: Server, folder: Path) -> Any:
    from redolake.config import Pipeline

    return Pipeline.model_validate(
        {
            "name": "beside",
            "source": {"connection": "oracle", "container": oracle.served.pdb_dsn.rpartition("/")[2]},
            "landing": str(folder / "landing"),
            "lake": str(folder / "lake"),
            "tables": [f"SHOP.{table.upper()}" for table in TABLES],
        }
    )


def measure(changes: int, threads: int, adapter: str, rounds: int, conf: Mapping[str, str]) -> None:
    from redolake import steps
    from redolake.apply.spark.session import open_session
    from tests.witness.debezium import GRANTS

    with tempfile.TemporaryDirectory() as name, server(threads) as oracle:
        folder = Path(name)
        (folder / "dbz").mkdir()
        create_tables(oracle)
        oracle.run(
            "SYS",
            f'CREATE USER {DEBEZIUM} IDENTIFIED BY "oracle" CONTAINER=ALL',
            *(f"GRANT {privilege} TO {DEBEZIUM} CONTAINER=ALL" for privilege in GRANTS),
        )
        oracle.run("SHOP", "INSERT INTO mark VALUES (1, 'snapshot')")
        figures_of(_with_a_mark(oracle, debezium_events(oracle, folder / "dbz", 2, adapter)))
        pipeline = redolake_pipeline(oracle, folder)
        began, before = time.perf_counter(), cpu_seconds()
        spark = open_session("local", "local[2]", {**SETTINGS, **conf})
        start = (time.perf_counter() - began, spent_since(before).total())
        steps.take_snapshot(pipeline, source=oracle.served.params, spark=spark)
        for number in range(rounds):
            made = change(oracle, changes, threads, number)
            oracle.run("SYS", "ALTER SYSTEM ARCHIVE LOG CURRENT")
            oracle.counts()
            dbz = figures_of(debezium_events(oracle, folder / "dbz", made, adapter))
            theirs = oracle.counts()
            began, before = time.perf_counter(), cpu_seconds()
            steps.run_pipeline(pipeline, until_caught_up=True, source=oracle.served.params, spark=spark)
            seconds, cpu = time.perf_counter() - began, spent_since(before)
            ours = oracle.counts()
            write(f"round {number + 1}, Spark {'warm' if number else 'cold'}: {made} changes; Debezium's events {dbz[3]}")
            print_round(made, dbz, (seconds, cpu.total()), start, (theirs, ours))
            write("Redolake's CPU: " + ", ".join(f"{kind} {seconds:.1f}" for kind, seconds in cpu.most_common()))
            start = (0.0, 0.0)
        equal = steps.verify_tables(pipeline, None, source=oracle.served.params, spark=spark).equal
        spark.stop()
    assert equal, "a Delta table differs from the source"
    write(f"{len(TABLES)} tables of {1 + NUMBERS + TEXTS + MOMENTS} columns: equal to the source")


def print_round(
    made: int,
    dbz: tuple[float, float, float, str],
    redolake: tuple[float, float],
    start: tuple[float, float],
    counts: tuple[dict[str, int], dict[str, int]],
) -> None:
    """Print one round's figures side by side; `start` is what Spark's session took, if this round opened it."""
    (first, last, cpu, _), (seconds, our_cpu) = dbz, redolake
    write(f"{'':34}{'Debezium, events':>18}{'Redolake, Delta':>18}{'ratio':>8}")
    rows = (
        ("seconds with the start", last, seconds + start[0]),
        ("seconds without the start", last - first, seconds),
        ("changes/s without the start", made / (last - first), made / seconds),
        ("CPU seconds of the client", cpu, our_cpu),
        ("CPU seconds, with Spark's start", cpu, our_cpu + start[1]),
        *(
            (what, *(counted.get(f"{user} {what}", 0) for user, counted in zip((DEBEZIUM, CAPTURE), counts, strict=True)))
            for what in COUNTED
        ),
    )
    for what, theirs, ours in rows:
        write(f"{what:34}{theirs:>18,.1f}{ours:>18,.1f}{ours / theirs if theirs else 0:>8.2f}")


def _with_a_mark(oracle: Server, lines: Iterator[list[str]]) -> Iterator[list[str]]:
    """Write a row after the snapshot's, which is streamed: the next run begins there."""
    for words in lines:
        if words == ["event"]:
            oracle.run("SHOP", "INSERT INTO mark VALUES (2, 'streamed')")
        yield words


COUNTED = ("V$ queries", "LogMiner calls", "LogMiner queries", "rows", "bytes")


def figures_of(lines: Iterator[list[str]]) -> tuple[float, float, float, str]:
    found = [words for words in lines if words[0] != "event"]
    assert found, "Debezium printed no figures"
    assert found[-1][0] == "figures", found
    first, last, cpu = map(float, found[-1][1:4])
    return first, last, cpu, found[-1][4]


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--changes", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=1, help="the first with a cold Spark, the others with a warm one")
    arguments.add_argument("--threads", type=int, default=1, help="redo threads of the source")
    arguments.add_argument("--adapter", default="logminer", choices=("logminer", "logminer_unbuffered"))
    arguments.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="settings of Spark")
    arguments.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.serve)
    else:
        measure(given.changes, given.threads, given.adapter, given.rounds, dict(one.split("=", 1) for one in given.conf))


if __name__ == "__main__":
    main()
